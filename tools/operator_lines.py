"""What an operator costs in lines: its row and reference, its kernel, its tests.

    python tools/operator_lines.py [--all]

A family's three places (minilite/ops, csrc/kernels or csrc/control, tests/ops) are counted and divided by the operators
that the family has; what serves all families (ops_shared, rules, simd, math, support) is nobody's. "lines" are all
lines, "code" those that are neither empty nor comments, docstrings or imports. Prints the medians over the operators,
by place and in all, and with --all each family.
"""

from __future__ import annotations

import ast
import pathlib
import re
import statistics
import sys

from minilite.ops import operators
from minilite.ops._families import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLACES = ("row and reference", "kernel", "tests")


def code_of_python(text: str) -> int:
    """Lines that say something: no docstrings, comments, imports, empty lines."""
    idle: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        said = [node] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
            and body
        ):
            said.append(body[0])
        for part in said:
            idle.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if number not in idle and line.strip() and not line.strip().startswith("#"))


def code_of_c(text: str) -> int:
    """Lines that say something: no comments, includes, empty lines."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return sum(1 for line in bare.splitlines() if line.strip() and not line.startswith("#include"))


def files_of(family: str) -> tuple[list[pathlib.Path], ...]:
    """Those of each place."""
    kernels = []
    for folder in ("kernels", "control"):
        at = ROOT / "csrc" / folder
        kernels += [path for path in (at / f"{family}.c", at / f"{family}.h") if path.exists()]
        kernels += sorted(path for path in (at / family).rglob("*") if path.suffix in (".c", ".h"))
    return [ROOT / f"minilite/ops/{family}.py"], kernels, [ROOT / f"tests/ops/test_{family}.py"]


def lines_of(path: pathlib.Path) -> tuple[int, int]:
    """All lines, and those of code."""
    text = path.read_text()
    return len(text.splitlines()), (code_of_python if path.suffix == ".py" else code_of_c)(text)


def main() -> None:
    families: dict[str, list[str]] = {}
    for op in operators():
        families.setdefault(FAMILIES[op], []).append(op)
    costs: dict[str, list[tuple[float, float]]] = {}
    for family, ops in sorted(families.items()):
        sums = [
            tuple(sum(part) for part in zip((0, 0), *map(lines_of, files), strict=True)) for files in files_of(family)
        ]
        costs[family] = [(lines / len(ops), code / len(ops)) for lines, code in sums]
    print(f"{'median of operators':24}{'lines':>7}{'code':>7}")
    for place, name in enumerate((*PLACES, "in all")):
        each = [
            tuple(sum(part[kind] for part in (cost if name == "in all" else [cost[place]])) for kind in (0, 1))
            for family, cost in costs.items()
            for _ in families[family]
        ]
        print(f"{name:24}" + "".join(f"{statistics.median(e[kind] for e in each):7.0f}" for kind in (0, 1)))
    if "--all" in sys.argv[1:]:
        print(f"\n{'family':24}{'ops':>4}{'row':>6}{'kernel':>7}{'tests':>6}{'lines':>7}{'code':>6}")
        for family, cost in sorted(costs.items(), key=lambda item: sum(part[0] for part in item[1])):
            parts = "".join(f"{part[0]:{width}.0f}" for part, width in zip(cost, (6, 7, 6), strict=True))
            print(
                f"{family:24}{len(families[family]):4}{parts}{sum(p[0] for p in cost):7.0f}{sum(p[1] for p in cost):6.0f}"
            )


if __name__ == "__main__":
    main()
