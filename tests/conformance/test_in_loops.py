"""A sample of every operator inside a WHILE body, and under every planning strategy: the same as the node alone."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.in_loop import check_in_loop
from support.litert_types import cases, named

from minilite.memory import strategies
from minilite.ops import operators

KNOWN = cases()
ROWS = [row for row in operators().values() if row.name in KNOWN]


def sample(op: str, text: Any, types: Any) -> Any:
    """The case's node in these types."""
    rng = np.random.default_rng(zlib.crc32(repr((op, types)).encode()))
    case = text if isinstance(text, Case) else text(rng, *types)
    return case.node(op, rng, *types) if isinstance(case, Case) else case[0]


@pytest.mark.parametrize("op", [row.name for row in ROWS])
def test_one_type(op: str) -> None:
    """With the default strategy alone."""
    check_in_loop(sample(op, KNOWN[op], next(named(operators()[op]))), ["default"])


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_strategy(row: Any) -> None:
    """Every planning strategy, with one combination for each line of types."""
    for types in named(row):
        check_in_loop(sample(row.name, KNOWN[row.name], types), list(strategies()))
