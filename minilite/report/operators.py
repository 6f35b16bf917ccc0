"""Prints docs/operators.md from the operators' rows: python -m minilite.report.operators > docs/operators.md."""

from __future__ import annotations

from collections.abc import Iterator

from minilite._native.kernels import find_kernel, kernel_types, match_kernel
from minilite.ops import operators
from minilite.ops_shared.operator import Operator
from minilite.ops_shared.types import written_out
from minilite.terminal import say

_HEAD = """\
# Operators

Every operator that runs, with its versions, its operands and their types, written as in [kernel.h](../csrc/kernel.h):
`?` after a name or type means that the operand may be absent, `...` that more like it may follow, `|` one or the other.
Types are f32, f16, bf16, f64 (floats), s8 to s64 (signed integers), u8 to u64 (unsigned), s4, s2, u4 (4 and 2 bits),
b8 (bool), c64, c128 (complex). *numpy* after types means that no C kernel takes some or all of them; the numpy
reference runs there. `python -m minilite.report.operators` prints this page from the rows of the operators.

| operator | versions | takes | types |
|---|---|---|---|"""
_RULES = """
## How results are rounded

[numerics.md](numerics.md) explains the terms, and says where results differ from LiteRT's on purpose. Results are
compared with those of BUILTIN_REF, unless the rule names other kernels.

| operator | types of its first input | rule |
|---|---|---|"""


def _versions(row: Operator) -> str:
    return f"{row.versions[0]} to {row.versions[-1]}" if len(row.versions) > 1 else str(row.versions[0])


def _types(row: Operator) -> str:
    """Returns the signatures; those that differ only in the type of the first input are merged, with a letter T."""
    marks = {text: _numpy(row, text) for text in row.types}
    alike: dict[tuple[str, str], list[str]] = {}
    for text in row.types:
        kind = text.split()[0].rstrip("?.")
        pattern = " ".join("T" + word[len(kind) :] if word.rstrip("?.") == kind else word for word in text.split())
        alike.setdefault((pattern, marks[text]), []).append(kind)
    lines = []
    for (pattern, mark), kinds in alike.items():
        if len(kinds) > 2 and "->" not in kinds:
            lines.append(f"`{pattern}`{mark}, T = {', '.join(kinds)}")
        else:
            lines += [f"`{text}`{mark}" for text in row.types if text.split()[0].rstrip("?.") in kinds]
    return "<br>".join(dict.fromkeys(lines))


def _numpy(row: Operator, signature: str) -> str:
    """Returns the mark of a signature that runs in numpy, in part or as a whole."""
    kernel = find_kernel(row.kernel)
    assert kernel is not None
    table = kernel_types(kernel)
    if any(text in (signature, "*") and has_eval for text, has_eval in table) or row.reference is None:
        return ""
    matched = [match_kernel(kernel, *sides) for sides in written_out(signature)]
    return "" if all(found >= 0 and table[found][1] for found in matched) else " *numpy*"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def lines() -> Iterator[str]:
    """Yields the page as Markdown, line by line."""
    rows = [row for _, row in sorted(operators().items())]
    yield _HEAD
    for row in rows:
        yield f"| {row.name} | {_versions(row)} | `{_cell(row.takes)}` | {_cell(_types(row))} |"
    yield _RULES
    seen: list[object] = []
    for row in rows:
        if row.rounding and row.rounding not in seen:
            alike = ", ".join(other.name for other in rows if other.rounding == row.rounding)
            seen.append(row.rounding)
            for types, rule in row.rounding.items():
                yield f"| {alike} | {types} | {_cell(rule)} |"


if __name__ == "__main__":
    say("\n".join(lines()))
