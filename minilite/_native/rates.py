"""Measures the peak rates of one core: multiply-adds of matrix products, bytes copied."""

from __future__ import annotations

import math
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
_CACHED = (84, 256, 64)
"""Rows, values of a row and outputs of a matrix product whose operands stay in a near cache, and which all tiles
divide."""
_WORK = 20 * math.prod(_CACHED)
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


def float_rate(level: str, sizes: tuple[int, int, int] = _CACHED) -> float:
    """Multiply-adds of float32 per second, by the level's matrix product of (rows, values of a row, outputs)."""
    simd = choose_level(level)
    rows, k, columns = sizes
    panel = simd.matmul_f32_panel
    packed_columns = -(-columns // panel) * panel
    shapes = ((rows, k), (packed_columns, k), (rows, columns))
    arrays = arrays_apart(*((shape, np.float32) for shape in shapes))
    a, packed, y = (ffi.from_buffer("float[]", array) for array in arrays)
    arguments: dict[str, Any] = {
        "a": a, "rows": rows, "a_stride": k, "pieces": 1, "k": k, "n": columns, "packed": packed, "y": y,
        "y_stride": columns, "low": -np.inf, "high": np.inf,
    }  # fmt: skip
    product = ffi.new("ml_matmul_f32_args *", arguments)
    return _products_rate(sizes, lambda: simd.matmul_f32(product))


def byte_rate(level: str, sizes: tuple[int, int, int] = _CACHED) -> float:
    """The same of bytes."""
    simd = choose_level(level)
    rows, k, columns = sizes
    packed_bytes = -(-columns // 16) * 16 * -(-k // 4) * 4
    arrays = arrays_apart(((rows, k), np.uint8), ((packed_bytes,), np.int8), ((rows, columns), np.int32))
    a, packed, y = (
        ffi.from_buffer(f"{kind}[]", x) for kind, x in zip(("uint8_t", "int8_t", "int32_t"), arrays, strict=True)
    )
    arguments: dict[str, Any] = {
        "a": a, "rows": rows, "a_stride": k, "pieces": 1, "k": k, "n": columns, "packed": packed, "y": y,
        "y_stride": columns,
    }  # fmt: skip
    product = ffi.new("ml_matmul_s8_args *", arguments)
    return _products_rate(sizes, lambda: simd.matmul_s8(product))


def _products_rate(sizes: tuple[int, int, int], work: Callable[[], None]) -> float:
    """Multiply-adds per second; small products are repeated, so that calling them takes no part."""
    macs = math.prod(sizes)
    return macs / best_seconds(work, max(1, _WORK // macs))


def copy_rate(nbytes: int) -> float:
    """Bytes per second, read and written, of copies whose source and target have `nbytes` together."""
    half = max(nbytes // 2, 4096)
    source, target = arrays_apart(((half,), np.uint8), ((half,), np.uint8))
    return 2 * half / best_seconds(lambda: np.copyto(target, source), max(1, (1 << 21) // half))
