"""Operators of bfloat16: minilite and LiteRT agree, between two CASTs, because LiteRT's Python API takes no bfloat16
arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import BUILTIN, check

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

ALONE, TWO = ("FLOOR", "LOGISTIC", "NEG", "ROUND", "TANH"), ("ATAN2", "GREATER", "LESS")
BF16 = TensorType.BFLOAT16


@pytest.mark.parametrize("op", [*ALONE, *TWO])
def test_between_casts(op: str) -> None:
    rng = np.random.default_rng(1)
    special = np.array([0, -0.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e30, 1e-30], np.float32)
    x = np.concatenate([special, rng.normal(size=500).astype(np.float32) * 4])
    arrays = [x] if op in ALONE else [x, rng.permutation(x)]
    builder = ModelBuilder()
    g = builder.subgraph()
    inputs = [g.input(f"x{i}", x.shape) for i in range(len(arrays))]
    short = [g.node("CAST", [t], out=(f"s{i}", x.shape, BF16), version=7) for i, t in enumerate(inputs)]
    truth = op in ("GREATER", "LESS")
    y: Any = g.node(op, short, out=("y", x.shape, TensorType.BOOL if truth else BF16), version=1)
    g.output(y if truth else g.node("CAST", [y], out=("wide", x.shape), version=7))
    tolerance = 2.0**-8 if op == "LOGISTIC" else 0.0  # LiteRT rounds each step of it to bfloat16
    check(builder.build(), arrays, oracle=BUILTIN, tolerance=tolerance)
