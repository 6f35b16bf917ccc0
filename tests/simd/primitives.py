"""The primitives of each level that this machine has, called with numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minilite._core import ffi, lib

Place = Callable[[NDArray], NDArray]
"""Where a test puts a primitive's operands: see guarded.py."""


def _levels() -> Iterator[tuple[str, Any]]:
    i = 0
    while simd := lib.ml_simd_at(i):
        yield ffi.string(simd.level).decode(), simd
        i += 1


SIMD: dict[str, Any] = dict(_levels())
"""The table of each level, ascending."""
PRIMITIVES = [name for name, field in ffi.typeof("ml_simd").fields if field.type.kind == "function"]
"""The names of the list, csrc/simd/primitives.def."""


def pointer(array: NDArray | None, kind: str) -> Any:
    return ffi.NULL if array is None else ffi.cast(kind, array.ctypes.data)


def pack_f32(simd: Any, w: NDArray) -> NDArray:
    """Weights (n, k) as this level's panels, (panels, k, panel)."""
    n, k = w.shape
    panel = simd.matmul_f32_panel
    packed = np.full((-(-n // panel), k, panel), np.nan, np.float32)
    simd.pack_f32(pointer(w, "float *"), n, k, pointer(packed, "float *"))
    return packed


def matmul_f32(
    simd: Any,
    a: NDArray,
    packed: NDArray,
    n: int,
    *,
    bias: NDArray | None = None,
    y: NDArray | None = None,
    low: float = -np.inf,
    high: float = np.inf,
    few: bool = False,
    packed_k: int = 0,
) -> NDArray:
    """Rows of `a`, (rows, k) or (rows, pieces, k) with any strides, times weights packed for n outputs; into `y` if
    given. By few_f32 the weights are (n, pieces * k)."""
    if a.ndim == 2:
        a = a[:, None, :]
    rows, pieces, k = a.shape
    y = np.empty((rows, n), np.float32) if y is None else y
    assert all(array.size == 0 or array.strides[-1] == 4 for array in (a, y))
    args = ffi.new(
        "ml_matmul_f32_args *",
        {
            "a": pointer(a, "float *"),
            "rows": rows,
            "a_stride": a.strides[0] // 4,
            "pieces": pieces,
            "piece_stride": a.strides[1] // 4,
            "k": k,
            "n": n,
            "packed": pointer(packed, "float *"),
            "bias": pointer(bias, "float *"),
            "y": pointer(y, "float *"),
            "y_stride": y.strides[0] // 4,
            "packed_k": packed_k,
            "low": low,
            "high": high,
        },
    )
    (simd.few_f32 if few else simd.matmul_f32)(args)
    return y


TYPES = {"s8": 9, "u8": 3, "s4": 17}
"""Types of weights, numbered as in files."""


def packed_bytes(n: int, pieces: int, k: int) -> int:
    """Bytes of packed weights (n, pieces * k): panels of 64 outputs, the last of a multiple of 16, groups of four
    inputs."""
    return -(-n // 16) * 16 * pieces * -(-k // 4) * 4


def pack_s8(
    simd: Any,
    w: NDArray,
    *,
    pieces: int = 1,
    kind: str = "s8",
    n: int | None = None,
    k: int | None = None,
    first: int = 0,
    steps: tuple[int, int, int, int] | None = None,
    place: Place = np.asarray,
) -> tuple[NDArray, NDArray]:
    """Weights (n, pieces * k), or n outputs at `steps` (output, period, period's, input), packed; and their sums."""
    n, k = w.shape[0] if n is None else n, (w.shape[-1] // pieces) if k is None else k
    output, period, of_period, of_input = steps or (pieces * k, n + 1, 0, 1)
    packed, sums = place(np.full(packed_bytes(n, pieces, k), 99, np.int8)), place(np.full(n, 99, np.int32))
    args = ffi.new(
        "ml_pack_s8_args *",
        {
            "w": pointer(w, "void *"),
            "first": first,
            "type": TYPES[kind],
            "output_step": output,
            "period": period,
            "period_step": of_period,
            "input_step": of_input,
            "n": n,
            "pieces": pieces,
            "k": k,
            "packed": pointer(packed, "int8_t *"),
            "sums": pointer(sums, "int32_t *"),
        },
    )
    simd.pack_s8(args)
    return packed, sums


def _matmul_s8_args(
    a: NDArray,
    packed: NDArray,
    n: int,
    bias: NDArray | None = None,
    factors: NDArray | None = None,
    columns: NDArray | None = None,
    y: NDArray | None = None,
    flip: int = 0,
) -> Any:
    if a.ndim == 2:
        a = a[:, None, :]
    rows, pieces, k = a.shape
    assert a.size == 0 or a.strides[2] == 1
    return ffi.new(
        "ml_matmul_s8_args *",
        {
            "a": pointer(a, "uint8_t *"),
            "rows": rows,
            "a_stride": a.strides[0],
            "pieces": pieces,
            "piece_stride": a.strides[1],
            "k": k,
            "n": n,
            "flip": flip,
            "packed": pointer(packed, "int8_t *"),
            "bias": pointer(bias, "int32_t *"),
            "factors": pointer(factors, "int32_t *"),
            "columns": pointer(columns, "int32_t *"),
            "y": pointer(y, "int32_t *"),
            "y_stride": 0 if y is None else y.strides[0] // 4,
        },
    )


def matmul_s8(
    simd: Any,
    a: NDArray,
    packed: NDArray,
    n: int,
    *,
    bias: NDArray | None = None,
    factors: NDArray | None = None,
    columns: NDArray | None = None,
    y: NDArray | None = None,
    flip: int = 0,
) -> NDArray:
    """Rows of bytes `a`, (rows, k) or (rows, pieces, k) with any strides, times weights packed for n outputs; into `y`
    if given."""
    y = np.empty((len(a), n), np.int32) if y is None else y
    assert y.size == 0 or y.strides[1] == 4
    simd.matmul_s8(_matmul_s8_args(a, packed, n, bias, factors, columns, y, flip))
    return y


def requantize_args(
    mantissas: NDArray | None,
    shifts: NDArray | None,
    y: NDArray,
    sums: NDArray | None = None,
    bias: NDArray | None = None,
    zero: int = 0,
    low: int = -128,
    high: int = 127,
    limit: int = 0,
    reals: NDArray | None = None,
) -> Any:
    assert y.size == 0 or y.strides[1] == 1
    return ffi.new(
        "ml_requantize_args *",
        {
            "sums": pointer(sums, "int32_t *"),
            "rows": y.shape[0],
            "sums_stride": 0 if sums is None else sums.strides[0] // 4,
            "n": y.shape[1],
            "bias": pointer(bias, "int32_t *"),
            "mantissas": pointer(mantissas, "int32_t *"),
            "shifts": pointer(shifts, "int32_t *"),
            "reals": pointer(reals, "double *"),
            "y": pointer(y, "int8_t *"),
            "y_stride": y.strides[0],
            "zero": zero,
            "low": low,
            "high": high,
            "limit": limit,
        },
    )


def requantize(
    simd: Any,
    sums: NDArray,
    mantissas: NDArray,
    shifts: NDArray,
    *,
    bias: NDArray | None = None,
    y: NDArray | None = None,
    zero: int = 0,
    low: int = -128,
    high: int = 127,
    limit: int = 0,
) -> NDArray:
    """Rows of int32 sums, (rows, n), as bytes; into `y` if given."""
    y = np.empty(sums.shape, np.int8) if y is None else y
    assert y.size == 0 or sums.strides[1] == 4
    simd.requantize(requantize_args(mantissas, shifts, y, sums, bias, zero, low, high, limit))
    return y


def product_s8(
    simd: Any,
    a: NDArray,
    packed: NDArray,
    mantissas: NDArray | None,
    shifts: NDArray | None,
    y: NDArray,
    *,
    bias: NDArray | None = None,
    factors: NDArray | None = None,
    columns: NDArray | None = None,
    zero: int = 0,
    low: int = -128,
    high: int = 127,
    limit: int = 0,
    flip: int = 0,
    reals: NDArray | None = None,
) -> NDArray:
    """matmul_s8 followed by requantize (or by requantize_f64 if there are reals), into `y`; `a` may be lines of rows,
    (lines, rows, pieces, k)."""
    lines = a if a.ndim == 4 else a[None]
    sums = _matmul_s8_args(lines[0], packed, y.shape[1], bias, factors, columns, flip=flip)
    simd.product_s8(
        simd,
        sums,
        requantize_args(mantissas, shifts, y, zero=zero, low=low, high=high, limit=limit, reals=reals),
        len(lines),
        lines.strides[0],
    )
    return y


def requantize_f64(
    simd: Any, sums: NDArray, reals: NDArray, y: NDArray, *, zero: int = 0, low: int = -128, high: int = 127
) -> NDArray:
    """Rows of int32 sums, (rows, n), as bytes in `y`."""
    args = ffi.new(
        "ml_requantize_f64_args *",
        {
            "sums": pointer(sums, "int32_t *"),
            "rows": sums.shape[0],
            "sums_stride": sums.strides[0] // 4,
            "n": sums.shape[1],
            "reals": pointer(reals, "double *"),
            "y": pointer(y, "int8_t *"),
            "y_stride": y.strides[0],
            "zero": zero,
            "low": low,
            "high": high,
        },
    )
    simd.requantize_f64(args)
    return y


def _scale_s32_args(
    scales: NDArray,
    weights: NDArray,
    y: NDArray,
    *,
    bias: NDArray | None = None,
    low: float = -np.inf,
    high: float = np.inf,
    weights_first: bool = False,
) -> Any:
    return ffi.new(
        "ml_scale_s32_args *",
        {
            "rows": y.shape[0],
            "n": y.shape[1],
            "scales": pointer(scales, "float *"),
            "weights": pointer(weights, "float *"),
            "bias": pointer(bias, "float *"),
            "y": pointer(y, "float *"),
            "y_stride": y.strides[0] // 4,
            "low": low,
            "high": high,
            "weights_first": weights_first,
        },
    )


def scale_s32(simd: Any, sums: NDArray, scales: NDArray, weights: NDArray, y: NDArray, **scaling: Any) -> NDArray:
    """Rows of int32 sums, (rows, n), as floats in `y`; `scaling` as _scale_s32_args takes it."""
    args = _scale_s32_args(scales, weights, y, **scaling)
    args.sums, args.sums_stride = pointer(sums, "int32_t *"), sums.strides[0] // 4
    simd.scale_s32(args)
    return y


def product_f32(
    simd: Any,
    a: NDArray,
    packed: NDArray,
    scales: NDArray,
    weights: NDArray,
    y: NDArray,
    *,
    start: NDArray | None = None,
    factors: NDArray | None = None,
    columns: NDArray | None = None,
    flip: int = 0,
    **scaling: Any,
) -> NDArray:
    """matmul_s8, whose bias is `start`, followed by scale_s32, into `y`; `a` may be lines of rows, (lines, rows,
    pieces, k)."""
    lines = a if a.ndim == 4 else a[None]
    sums = _matmul_s8_args(lines[0], packed, y.shape[1], start, factors, columns, flip=flip)
    args = _scale_s32_args(scales, weights, y, **scaling)
    simd.product_f32(simd, sums, args, len(lines), lines.strides[0])
    return y


def map_f32(simd: Any, function: str, x: NDArray, y: NDArray | None = None, a: float = 0.0, b: float = 0.0) -> NDArray:
    """A function of each of some floats, named without ML_MAP_; into `y` if given, which may be x."""
    y = np.empty_like(x) if y is None else y
    args = {"x": pointer(x, "float *"), "y": pointer(y, "float *"), "n": x.size, "a": a, "b": b}
    simd.map_f32(ffi.new("ml_map_f32_args *", {**args, "function": getattr(lib, f"ML_MAP_{function}")}))
    return y


def zip_f32(
    simd: Any, function: str, a: NDArray, b: NDArray, y: NDArray, *, low: float = -np.inf, high: float = np.inf
) -> NDArray:
    """A function of two floats, named without ML_ZIP_; rows (rows, n) of `y`, of an input also (1, n), (rows, 1) or (1,
    1)."""
    rows, n = y.shape
    kind = 1 if a.shape[1] == 1 != n else 2 if b.shape[1] == 1 != n else 0
    args = {
        "a": pointer(a, "float *"), "b": pointer(b, "float *"), "y": pointer(y, "float *"), "n": n, "rows": rows,
        "a_row": 0 if a.shape[0] == 1 else a.shape[1], "b_row": 0 if b.shape[0] == 1 else b.shape[1],
        "function": getattr(lib, f"ML_ZIP_{function}"), "kind": kind, "low": low, "high": high,
    }  # fmt: skip
    simd.zip_f32(ffi.new("ml_zip_f32_args *", args))
    return y


def fold_f32(simd: Any, function: str, x: NDArray, y: NDArray, *, across: bool) -> NDArray:
    """Rows of `x` taken into y: one number a row, or all rows into one; named without ML_FOLD_."""
    rows, n = x.shape
    args = {"x": pointer(x, "float *"), "y": pointer(y, "float *"), "n": n, "rows": rows, "stride": x.strides[0] // 4}
    simd.fold_f32(
        ffi.new("ml_fold_f32_args *", {**args, "function": getattr(lib, f"ML_FOLD_{function}"), "across": across})
    )
    return y


def softmax_f32(simd: Any, x: NDArray, y: NDArray, *, beta: float = 1.0, logs: bool = False) -> NDArray:
    """A row; y may be x."""
    args = {"x": pointer(x, "float *"), "y": pointer(y, "float *"), "n": x.size, "beta": beta, "logs": logs}
    simd.softmax_f32(ffi.new("ml_softmax_f32_args *", args))
    return y


def rows_f32(simd: Any, name: str, x: NDArray, w: NDArray) -> NDArray:
    """dot_rows (x @ w.T) or mix_rows (x @ w), of rows that may lie apart."""
    n = w.shape[0] if name == "dot_rows" else w.shape[1]
    y = np.empty((len(x), n), np.float32)
    args = {"x": pointer(x, "float *"), "rows": len(x), "x_stride": x.strides[0] // 4, "w": pointer(w, "float *"),
            "w_stride": w.strides[0] // 4, "k": x.shape[1], "n": n, "y": pointer(y, "float *"), "y_stride": n}  # fmt: skip
    getattr(simd, f"{name}_f32")(ffi.new("ml_rows_f32_args *", args))
    return y


def block_panel(w: NDArray, scales: NDArray, bits: int) -> NDArray:
    """A panel of weights (outputs, k) in blocks as simd.h says it: the scales of a block are (outputs, blocks)."""
    outputs, k = w.shape
    parts = []
    for scale, block in zip(scales.T, np.split(w, scales.shape[1], axis=1), strict=True):
        steps = block.T.astype(np.int8).view(np.uint8)
        if bits == 4:
            steps = (steps[::2] & 15) | (steps[1::2] << 4)
        parts += [scale.astype(np.float32).view(np.uint8), steps.reshape(-1)]
    assert outputs == lib.ML_BLOCK_PANEL
    assert k % scales.shape[1] == 0
    return np.concatenate(parts)


def blocks_f32(simd: Any, name: str, panel: NDArray, sizes: tuple[int, int, int], x: NDArray | None = None) -> NDArray:
    """dot_blocks of a row x, or unpack_blocks to panels; sizes are k, the block and the bits."""
    k, block, bits = sizes
    y = np.full(lib.ML_BLOCK_PANEL * (k if x is None else 1), np.nan, np.float32)
    args = {"panel": pointer(panel, "uint8_t *"), "k": k, "block": block, "bits": bits,
            "x": ffi.NULL if x is None else pointer(x, "float *"), "y": pointer(y, "float *")}  # fmt: skip
    getattr(simd, f"{name}_f32")(ffi.new("ml_blocks_f32_args *", args))
    return y
