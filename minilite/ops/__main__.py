"""The families of the operators, printed from their rows: python -m minilite.ops > minilite/ops/_families.py."""

from __future__ import annotations

from minilite.ops import family, family_names


def families() -> str:
    """The text of _families.py."""
    modules = {name: module for module in family_names() for name in family(module)}
    pairs = "\n".join(f"{name} {modules[name]}" for name in sorted(modules))
    return f'''"""Which module has which operators. Printed from their rows by `python -m minilite.ops`: do not edit."""

FAMILIES = """
{pairs}
"""
"""A line an operator: one long string is read faster than a dict of many."""
'''


if __name__ == "__main__":
    print(families(), end="")
