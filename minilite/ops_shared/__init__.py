"""Code that operators share: rows, types, fixed point, windows, recurrent steps. The operators are in minilite/ops."""
