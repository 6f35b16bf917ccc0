"""Measures the peak rates of one core: multiply-adds of matrix products, bytes copied."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite._core import ffi
from minilite._native.graph import choose_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_TRIES = 15
_ROWS, _K, _COLUMNS = 84, 256, 64
"""Sizes of a matrix product whose operands fit the first-level cache, and which all tiles divide."""
_PAGE, _LINE = 4096, 64
"""A processor compares the low bits of addresses, those within a page, to find out whether a load needs what a store
before it has written."""


def arrays_apart(*specs: tuple[tuple[int, ...], Any]) -> list[Array]:
    """Ones of these shapes and types, whose addresses are evenly spread modulo 4096: two are 2048 apart.

    Separate arrays are often 0 or 16 bytes apart modulo 4096. Then each load seems to need the store before it, and a
    copy takes up to ten times as long.
    """
    sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in specs]
    buffer = np.empty(sum(sizes) + _PAGE * (len(sizes) + 1), np.uint8)
    found: list[Array] = []
    start = -buffer.ctypes.data % _PAGE
    for place, ((shape, kind), size) in enumerate(zip(specs, sizes, strict=True)):
        wanted = _PAGE * place // len(specs) // _LINE * _LINE
        start += (wanted - buffer.ctypes.data - start) % _PAGE
        found.append(buffer[start : start + size].view(kind).reshape(shape))
        found[-1][:] = 1
        start += size
    return found


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
    shapes = ((_ROWS, _K), (columns, _K), (_ROWS, columns))
    arrays = arrays_apart(*((shape, np.float32) for shape in shapes))
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
    arrays = arrays_apart(((_ROWS, _K), np.uint8), ((_K * _COLUMNS,), np.int8), ((_ROWS, _COLUMNS), np.int32))
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
    source, target = arrays_apart(((half,), np.uint8), ((half,), np.uint8))
    return 2 * half / best_seconds(lambda: np.copyto(target, source), max(1, (1 << 21) // half))
