"""LESS against numpy and LiteRT, bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import check, run_minilite
from elementwise import ALL_BYTES, BOOL, FLOAT32, INT8, INT16, INT32, INT64, UINT8, one_node, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED

SHAPES: list[tuple[Any, Any]] = [
    ((), ()), ((33,), (33,)), ((17,), ()), ((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((2, 1, 4, 1), (1, 3, 1, 5)), ((0,), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("kind", [FLOAT32, INT16, INT32, INT64, INT8, UINT8])
def test_broadcasts(kind: TensorType) -> None:
    rng = np.random.default_rng(7)
    for left, right in SHAPES:
        a, b = values(rng, kind, left), values(rng, kind, right)
        if kind in (INT32, INT64):
            a, b = a % 5, b % 5
        check(one_node("LESS", [(a, scaled(rng, kind, 1e-3, 0.9)), (b, scaled(rng, kind, 1e-3, 0.9))], BOOL), [a, b])


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_all_pairs_of_bytes(kind: TensorType) -> None:
    rng = np.random.default_rng(7)
    a, b = (x.view(numpy_type(kind)) for x in (ALL_BYTES.reshape(256, 1), ALL_BYTES))
    for _ in range(5):
        check(one_node("LESS", [(a, scaled(rng, kind, 1e-3, 0.9)), (b, scaled(rng, kind, 1e-3, 0.9))], BOOL), [a, b])


def test_nan_and_infinity() -> None:
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0], np.float32)
    check(one_node("LESS", [(a[:, None], NOT_QUANTIZED), (a, NOT_QUANTIZED)], BOOL), [a[:, None], a])


def test_refusals() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    with pytest.raises(ShapeError, match=r"LESS 'y'\): shapes \(2, 3\) and \(2, 4\) do not broadcast"):
        run_minilite(one_node("LESS", [(a, NOT_QUANTIZED), (b, NOT_QUANTIZED)], BOOL), [a, b])
    mixed = one_node("LESS", [(a, NOT_QUANTIZED), (a.astype(np.int32), NOT_QUANTIZED)], BOOL)
    with pytest.raises(UnsupportedOpError, match="input types FLOAT32 and INT32 differ"):
        run_minilite(mixed, [a, a.astype(np.int32)])
