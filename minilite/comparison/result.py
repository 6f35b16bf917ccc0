"""Comparison: the result of a comparison, with a row per output of a node, the first that diverges, and the worst."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite.comparison import text
from minilite.errors import coordinates

if TYPE_CHECKING:
    from minilite.comparison.measure import Difference


class Row(NamedTuple):
    """A tensor of the first run and its counterpart in the second."""

    node: int
    """The number of the node that computes the tensor in the first model; -1 for an input."""
    op: str
    """The operator of that node; "" for an input."""
    tensor: int
    """The tensor's number in the first model."""
    name: str
    other: int
    """The tensor's number in the second model; -1 if there is none."""
    other_name: str
    types: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    is_output: bool
    difference: Difference | None
    """The difference of the values; None if they cannot be compared: `note` says why."""
    note: str
    changes: tuple[str, ...]
    """The differences of the node between the models: constants, quantization, options."""
    diverges: bool | None
    """True if the values differ by more than the limit; None if there is no limit for them."""
    step: float = 0.0
    """The largest scale of an output that is quantized as one; 0 for other tensors."""
    best: tuple[int, int] | None = None
    """The numbers of the greatest scores of an output that has a score per class."""
    scores: tuple[tuple[float, float], ...] = ()
    """The real numbers of an output of at most 2000 elements."""
    run: int = 0
    """The number of the run in a recording, from 1 on."""
    subgraph: int = 0

    @property
    def where(self) -> str:
        """Names the node: ``subgraph 0, node 5 (CONV_2D 'conv_5')``."""
        where = coordinates(self.subgraph, self.node, self.op, self.name) if self.node >= 0 else f"input '{self.name}'"
        return f"run {self.run}, {where}" if self.run else where


class Comparison(NamedTuple):
    """Two runs on the same inputs, tensor by tensor in the order of the first's nodes. It prints as a table."""

    models: tuple[str, str]
    """The names of the files without their folders; "" if a model was not given as a path."""
    labels: tuple[str, str]
    """The runtime and level of each: ``minilite avx2``, ``ai-edge-litert 2.1.0, without default delegates, ...``."""
    inputs: str
    """The source of the inputs, in words."""
    tolerance: float | None
    """The largest error that passes, as a share of the tensor's largest absolute value; None: see `rule`."""
    rule: str
    """The differences that count as divergence, in words."""
    rows: tuple[Row, ...]
    """The rows of the tensors, inputs first."""
    unmatched: tuple[int, int]
    """Counts of the computed tensors that only the first model has, and that only the second has."""
    delegated: tuple[Row, ...] = ()
    """The outputs compared with LiteRT's with its default delegates, if the second is LiteRT."""
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> Row | None:
        """The first row that diverges."""
        return next((row for row in self.rows if row.diverges), None)

    @property
    def first_change(self) -> Row | None:
        """The first node whose constants, scales, options or operators differ between the models."""
        return next((row for row in self.rows if row.changes), None)

    @property
    def worst(self) -> Row | None:
        """The row with the largest error relative to its values (norm by norm); None if all are equal."""
        apart = [row for row in self.rows if row.difference is not None and row.difference.differing]
        return max(apart, key=lambda row: _size(row.difference), default=None)

    @property
    def agrees(self) -> bool:
        """True if nothing diverges. Differences without a rule (see `rule`) do not count: give a tolerance."""
        return not any(row.diverges for row in (*self.rows, *self.delegated))

    def __str__(self) -> str:
        return text.comparison_text(self, None)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks: the models, the verdict, a table of tensors."""
        return text.comparison_html(self)

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as plain values; NaN and infinity are None."""
        first, change, worst = self.first, self.first_change, self.worst
        return {
            "models": list(self.models),
            "labels": list(self.labels),
            "inputs": self.inputs,
            "tolerance": self.tolerance,
            "rule": self.rule,
            "agrees": self.agrees,
            "first": self.rows.index(first) if first is not None else None,
            "first_change": self.rows.index(change) if change is not None else None,
            "worst": self.rows.index(worst) if worst is not None else None,
            "rows": [_row_facts(row) for row in self.rows],
            "delegated": [_row_facts(row) for row in self.delegated],
            "unmatched": list(self.unmatched),
            "notes": list(self.notes),
        }


def _size(difference: Difference | None) -> tuple[float, float]:
    assert difference is not None
    return difference.relative, difference.mean


def _row_facts(row: Row) -> dict[str, Any]:
    found = row.difference
    return {
        "run": row.run,
        "subgraph": row.subgraph,
        "node": row.node,
        "op": row.op,
        "tensor": row.tensor,
        "name": row.name,
        "other": row.other,
        "other_name": row.other_name,
        "types": list(row.types),
        "shapes": [list(shape) for shape in row.shapes],
        "is_output": row.is_output,
        "elements": found.elements if found else None,
        "differing": found.differing if found else None,
        "largest": _finite(found.largest) if found else None,
        "mean": _finite(found.mean) if found else None,
        "relative": _finite(found.relative) if found else None,
        "cosine": _finite(found.cosine) if found else None,
        "magnitude": found.magnitude if found else None,
        "at": list(found.at) if found else None,
        "values": [_plain(value) for value in found.values] if found else None,
        "steps": [{"least": b.least, "most": b.most, "elements": b.elements} for b in found.steps] if found else [],
        "note": row.note,
        "step": row.step or None,
        "best": list(row.best) if row.best is not None else None,
        "changes": list(row.changes),
        "diverges": row.diverges,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, complex):
        return [_finite(value.real), _finite(value.imag)]
    if isinstance(value, float):
        return _finite(value)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
