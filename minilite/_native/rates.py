"""Measures the peak rates of one core: multiply-adds of matrix products, bytes copied."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minilite._core import ffi
from minilite._native.graph import choose_level

_TRIES = 15
_ROWS, _K, _COLUMNS = 84, 256, 64
"""Sizes of a matrix product whose operands fit the first-level cache, and which all tiles divide."""


def best_seconds(work: Callable[[], None], times: int = 1) -> float:
    """The least CPU time of one call, over some tries of many calls each."""
    found = []
    for _ in range(_TRIES):
        started = time.thread_time_ns()
        for _ in range(times):
            work()
        found.append((time.thread_time_ns() - started) / times)
    return max(1.0, min(found)) / 1e9


def float_rate(level: str) -> float:
    """Multiply-adds of float32 per second, by the level's matrix product on operands in the first-level cache."""
    simd = choose_level(level)
    panel = simd.matmul_f32_panel
    columns = -(-_COLUMNS // panel) * panel
    arrays = [np.ones(shape, np.float32) for shape in ((_ROWS, _K), (columns, _K), (_ROWS, columns))]
    a, packed, y = (ffi.from_buffer("float[]", array) for array in arrays)
    arguments: dict[str, Any] = {
        "a": a, "rows": _ROWS, "a_stride": _K, "pieces": 1, "k": _K, "n": columns, "packed": packed, "y": y,
        "y_stride": columns, "low": -np.inf, "high": np.inf,
    }  # fmt: skip
    product = ffi.new("ml_matmul_f32_args *", arguments)
    return float(_ROWS * _K * columns / best_seconds(lambda: simd.matmul_f32(product), 20))


def byte_rate(level: str) -> float:
    """Multiply-adds of bytes per second, by the level's matrix product on operands in the first-level cache."""
    simd = choose_level(level)
    arrays = [
        np.ones((_ROWS, _K), np.uint8),
        np.ones(_K * _COLUMNS, np.int8),
        np.ones((_ROWS, _COLUMNS), np.int32),
    ]
    a, packed, y = (
        ffi.from_buffer(f"{kind}[]", x) for kind, x in zip(("uint8_t", "int8_t", "int32_t"), arrays, strict=True)
    )
    arguments: dict[str, Any] = {
        "a": a, "rows": _ROWS, "a_stride": _K, "pieces": 1, "k": _K, "n": _COLUMNS, "packed": packed, "y": y,
        "y_stride": _COLUMNS,
    }  # fmt: skip
    product = ffi.new("ml_matmul_s8_args *", arguments)
    return float(_ROWS * _K * _COLUMNS / best_seconds(lambda: simd.matmul_s8(product), 20))


def copy_rate(nbytes: int) -> float:
    """Bytes per second, read and written, of copies whose source and target have `nbytes` together."""
    half = max(nbytes // 2, 4096)
    source, target = np.ones(half, np.uint8), np.empty(half, np.uint8)
    return 2 * half / best_seconds(lambda: np.copyto(target, source), max(1, (1 << 21) // half))
