"""Outcomes: what a comparison says of each output in the units of its user: error, steps, greatest class, decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minilite.errors import shortened
from minilite.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minilite.comparison.result import Row


class Tally(NamedTuple):
    """An output over several inputs."""

    name: str
    inputs: int
    largest: float
    """The largest absolute error in real numbers."""
    step: float
    """The scale of the output where it is quantized; 0 if it is not in either model."""
    classes: tuple[int, ...]
    """The numbers of the inputs, from 0, whose greatest class differs; only of outputs with scores."""
    has_classes: bool
    decisions: tuple[int, ...]
    """The numbers of the inputs of which a score is above the threshold in one run alone."""
    incomparable: int
    """The number of inputs for which the outputs cannot be compared, because of their shapes."""


def tallies(runs: Sequence[Sequence[Row]], threshold: float | None = None) -> list[Tally]:
    """Returns the outputs of several comparisons of the same models, each over all inputs."""
    outputs = [[row for row in rows if row.is_output] for rows in runs]
    return [_tally(each, threshold) for each in zip(*outputs, strict=True)]


def _tally(rows: Sequence[Row], threshold: float | None) -> Tally:
    there = [row.difference for row in rows if row.difference is not None]
    classes = tuple(n for n, row in enumerate(rows) if row.best is not None and row.best[0] != row.best[1])
    decisions = () if threshold is None else tuple(n for n, row in enumerate(rows) if _crosses(row, threshold))
    return Tally(
        rows[0].name,
        len(rows),
        max((found.largest for found in there), default=0.0),
        rows[0].step,
        classes,
        any(row.best is not None for row in rows),
        decisions,
        len(rows) - len(there),
    )


def _crosses(row: Row, threshold: float) -> bool:
    """True if the scores above the threshold are not the same in both."""
    return bool(row.scores) and any((a >= threshold) != (b >= threshold) for a, b in row.scores)


def outcome_lines(found: Sequence[Tally], threshold: float | None = None, names: Sequence[str] = ()) -> Iterator[str]:
    """Yields a line for each output; `names` are those of the inputs."""
    for each in found:
        parts = [f"greatest error {each.largest:.3g}"]
        if each.step and each.largest:
            parts[0] += f" ({each.largest / each.step:.3g} steps of {each.step:.3g})"
        if each.has_classes:
            parts.append(_share("the greatest class", each.classes, each.inputs, names))
        if threshold is not None:
            parts.append(_share(f"a decision at {threshold:g}", each.decisions, each.inputs, names))
        if each.incomparable:
            parts.append(f"{count(each.incomparable, 'input')} not compared")
        over = f" over {count(each.inputs, 'input')}" if each.inputs > 1 else ""
        yield f"output '{shortened(each.name)}'{over}: {', '.join(parts)}"


def _share(what: str, differing: Sequence[int], inputs: int, names: Sequence[str]) -> str:
    if inputs == 1:
        return f"{what} {'differs' if differing else 'is the same'}"
    if not differing:
        return f"{what} is the same in all"
    first = f", first in {names[differing[0]]}" if names else ""
    return f"{what} differs in {len(differing)} ({100 * len(differing) / inputs:.3g} %{first})"
