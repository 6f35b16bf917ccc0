"""Prints a comparison as text: a table per node, the first divergence, the worst tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minilite.comparison.measure import steps_text
from minilite.comparison.outcomes import outcome_lines, tallies
from minilite.names import short_names
from minilite.text import Cell, count, cut, html_table, markup, shape_text, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minilite.comparison.result import Comparison, Row

_HEADER = ("run", "node", "operator", "tensor", "name", "shape", "largest", "mean", "cosine", "steps", "")
_DELEGATED = "outputs beside LiteRT with its default delegates (XNNPACK):"
_NAME = 32
"""The largest number of characters of a tensor's name in the table."""


def comparison_text(found: Comparison, width: int | None) -> str:
    """Returns the comparison as text with lines of at most `width` characters."""
    lines = [wrapped(f"{name}: {label}" if name else label, width) for name, label in _sides(found)]
    lines.append(wrapped(f"inputs: {found.inputs}", width))
    lines.append(_table(found.rows, width))
    lines += [wrapped(line, width) for line in _verdict(found)]
    if found.delegated:
        lines.append(wrapped(_DELEGATED, width))
        lines.append(_table(found.delegated, width))
    lines += [wrapped(f"note: {note}", width) for note in found.notes]
    return "\n".join(lines)


def comparison_html(found: Comparison) -> str:
    """Returns the comparison as HTML, with names escaped."""
    lines = [f"{name}: {label}" if name else label for name, label in _sides(found)]
    lines += [f"inputs: {found.inputs}", *_verdict(found), *(f"note: {note}" for note in found.notes)]
    rows = html_table(_HEADER, _lines(found.rows))
    return f"<p>{'<br>'.join(markup(line) for line in lines)}</p>{rows}{_delegated(found)}"


def _delegated(found: Comparison) -> str:
    if not found.delegated:
        return ""
    return f"<p>{_DELEGATED}</p>{html_table(_HEADER, _lines(found.delegated))}"


def _sides(found: Comparison) -> Iterable[tuple[str, str]]:
    return zip(found.models, found.labels, strict=True)


def _table(rows: Iterable[Row], width: int | None) -> str:
    return table(_HEADER, _lines(rows), width=width, spare=("shape", "steps", "mean", "operator"))


def _lines(rows: Iterable[Row]) -> list[list[Cell]]:
    each = [*rows]
    names = short_names({row.tensor: row.name for row in each if row.tensor >= 0})
    return [_cells(row, names.get(row.tensor, row.name)) for row in each]


def _cells(row: Row, name: str) -> list[Cell]:
    found = row.difference
    words = ["diverges"] if row.diverges else []
    words += [row.note] if row.note else []
    words += ["changed"] if row.changes else []
    shape = shape_text(row.shapes[0])
    start: list[Cell] = [
        row.run or None,
        row.node if row.node >= 0 else None,
        row.op or ("call" if row.tensor < 0 else "input"),
        row.tensor if row.tensor >= 0 else None,
        cut(name, _NAME),
        shape,
    ]
    if found is None:
        return [*start, None, None, None, None, "; ".join(words)]
    if not found.differing:
        return [*start, "0", "0", "1", None, "; ".join(words)]
    steps = steps_text(found.steps) if found.steps else ""
    return [*start, number(found.largest), number(found.mean), _cosine(found.cosine), steps, "; ".join(words)]


def number(value: float) -> str:
    """Formats a number with three digits: ``1.23e-05``, ``0.125``; ``inf``."""
    return f"{value:.3g}" if math.isfinite(value) else "inf"


def _cosine(value: float) -> str:
    return f"{value:.6f}" if math.isfinite(value) else "-"


def _verdict(found: Comparison) -> Iterable[str]:
    first, change, worst = found.first, found.first_change, found.worst
    compared = sum(row.difference is not None for row in found.rows)
    apart = sum(row.diverges is True for row in found.rows)
    yield f"{count(compared, 'tensor')} compared, {apart} diverge ({found.rule})"
    if change is not None:
        changed = sum(bool(row.changes) for row in found.rows)
        yield f"the models differ in {count(changed, 'place')}, first at {change.where}: {'; '.join(change.changes)}"
    if first is not None:
        yield f"first divergence: {first.where}{_detail(first)}"
    if worst is not None and worst.difference is not None:
        share = number(worst.difference.relative)
        yield f"largest error relative to its values: {worst.where}: {share}{_detail(worst)}"
    elif compared:
        yield "all of them are equal"
    if worst is not None and len({row.run for row in found.rows}) < 2:
        yield from outcome_lines(tallies([found.rows]))
    for which, missing in zip(("first", "second"), found.unmatched, strict=True):
        if missing:
            yield f"the {which} has {count(missing, 'computed tensor')} that the other has not"


def _detail(row: Row) -> str:
    found = row.difference
    if found is None:
        return f": {row.note}"
    a, b = (f"{value:.9g}" if isinstance(value, float) else repr(value) for value in found.values)
    place = ", ".join(map(str, found.at))
    return f": {found.differing} of {found.elements} values differ, most at [{place}]: {a} against {b}"
