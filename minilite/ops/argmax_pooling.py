"""MaxPoolingWithArgmax2D, MaxUnpooling2D: maxima of windows with their positions, and the reverse; custom operators of
MediaPipe's models."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from minilite.errors import KernelError
from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.window import Axis


def pool_options(data: bytes) -> Mapping[str, Any]:
    """The options as a C struct: padding, strides, the window, an activation. Raises: ValueError."""
    if len(data) < 20:
        message = f"custom options of {len(data)} bytes, expected 20 or more"
        raise ValueError(message)
    padding, stride_w, stride_h, filter_w, filter_h = struct.unpack_from("<5i", data)
    return {
        "padding": {1: "SAME", 2: "VALID"}.get(padding, str(padding)),
        "stride_w": stride_w,
        "stride_h": stride_h,
        "filter_w": filter_w,
        "filter_h": filter_h,
        "activation": struct.unpack_from("<i", data, 20)[0] if len(data) >= 24 else 0,
    }


@reference(
    "MaxPoolingWithArgmax2D",
    rounding={
        "": ("exact; of equal elements the first, NaN exceeds nothing (oracle: XNNPACK, LiteRT itself has no kernel)"),
    },
    options=pool_options,
)
def pool(node: OpNode, x: Array) -> tuple[Array, Array]:
    """Adjacent windows; positions are counted down the columns. Outside the input, the nearest element inside is
    used."""
    o = node.options
    same = o["padding"] == "SAME"
    down, across = (
        Axis.of(size, o[f"filter_{side}"], o[f"filter_{side}"], 1, same)
        for size, side in zip(x.shape[1:3], "hw", strict=True)
    )
    rows, columns = (
        np.clip(np.arange(a.out)[:, None] * a.stride - a.before + np.arange(a.taps), 0, a.size - 1)
        for a in (down, across)
    )
    y = np.zeros((x.shape[0], down.out, across.out, x.shape[3]), x.dtype)
    which = np.zeros(y.shape, np.int32)
    for tap in range(down.taps * across.taps):
        seen = x[:, rows[:, tap % down.taps]][:, :, columns[:, tap // down.taps]]
        better = (seen > y) | (tap == 0)
        y, which = np.where(better, seen, y), np.where(better, np.int32(tap), which)
    return y, which.view(numpy_type(node.outputs[1].type))


@reference(
    "MaxUnpooling2D",
    rounding={
        "": ("exact; of equal elements the first, NaN exceeds nothing (oracle: XNNPACK, LiteRT itself has no kernel)"),
    },
    options=pool_options,
)
def unpool(node: OpNode, x: Array, indices: Array) -> Array:
    """Zeros except for one element per window. Raises: KernelError."""
    high, wide = node.options["filter_h"], node.options["filter_w"]
    which = indices.view(np.int32)
    wrong = ((which < 0) | (which >= high * wide)).ravel()
    if wrong.any():
        at = int(wrong.argmax())
        message = f"index {at} is {which.flat[at]}, expected 0 to {high * wide - 1}"
        raise KernelError(message)
    windows = np.where(which[..., None] == np.arange(high * wide), x[..., None], np.float32(0))
    batch, rows, columns, depth = x.shape
    split = windows.reshape(batch, rows, columns, depth, wide, high).transpose(0, 1, 5, 2, 4, 3)
    return np.ascontiguousarray(split.reshape(batch, rows * high, columns * wide, depth))
