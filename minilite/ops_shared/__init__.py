"""What operators share: what a row is, types, fixed point, checks, windows; minilite/ops has the operators
themselves."""
