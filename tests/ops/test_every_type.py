"""Every operator in every combination of types that its row names: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from support.cases import check_types

from minilite.format.dtypes import TensorType
from minilite.ops import operators
from minilite.ops_shared.types import written_out

FAMILIES = {path.stem for path in pathlib.Path(__file__).parent.glob("test_*.py")} - {pathlib.Path(__file__).stem}
ROWS = [row for row in operators().values() if row.reference is not None]


def cases() -> dict[str, Any]:
    """EVERY_TYPE of all families."""
    found = [getattr(importlib.import_module(family), "EVERY_TYPE", {}) for family in sorted(FAMILIES)]
    return {op: case for family in found for op, case in family.items()}


def combinations(signatures: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """The types of inputs and outputs, spelled as in rows, in every combination."""
    for signature in signatures:
        for sides in written_out(signature):
            yield tuple(tuple(TensorType(code).suffix for code in side) for side in sides)


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [(row.name, *pair) for row in ROWS for pair in combinations(row.types)],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_runs(op: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
    assert op in cases(), f"no test of a family has {op} in EVERY_TYPE"
    check_types(op, cases()[op], inputs, outputs)


def test_no_case_is_idle() -> None:
    assert set(cases()) <= {row.name for row in ROWS}
