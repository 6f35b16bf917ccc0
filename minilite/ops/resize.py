"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: change height and width."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import round_half_away
from minilite.ops_shared.operator import OpNode, reference


def _scale(node: OpNode, size: int, out: int) -> np.float32:
    corners = node.options["align_corners"] and out > 1
    return np.float32(size - corners) / np.float32(out - corners)


def _real(node: OpNode, size: int, out: int) -> tuple[Array, Array, Array]:
    """For each output row: the two input rows that it lies between, and the weight of the second."""
    i, scale = np.arange(out, dtype=np.float32), _scale(node, size, out)
    half = np.float32(0.5)
    at = (i + half) * scale - half if node.options["half_pixel_centers"] else i * scale
    first = np.clip(np.floor(at).astype(np.int32), 0, size - 1)
    return first, np.clip(np.ceil(at).astype(np.int32), 0, size - 1), at - first.astype(np.float32)


def _fixed(node: OpNode, size: int, out: int) -> tuple[Array, Array, Array]:
    """The same with weights in 1024ths, as in TFLite's integer kernel."""
    corners = int(bool(node.options["align_corners"] and out > 1))
    scale = (1024 * (size - corners) + (out - corners) // 2) // (out - corners)
    at = np.arange(out, dtype=np.int64) * scale
    if node.options["half_pixel_centers"]:
        at += scale // 2 - 512
    first = np.clip(np.trunc(at / 1024).astype(np.int64), 0, size - 1)
    return first, np.clip(np.trunc((at + 1023) / 1024).astype(np.int64), 0, size - 1), at - 1024 * first


@reference(
    "RESIZE_BILINEAR",
    rounding={
        "f32": "four products in float32",
        "u8": "the same, rounded half up",
        "s8 s16": "parts of 1024, the sum rounded half away from zero",
    },
)
def bilinear(node: OpNode, x: Array, size: Array) -> Array:
    """Each output is blended from the four inputs around it."""
    height, width = (int(s) for s in size)
    real = x.dtype in (np.float32, np.uint8)
    find, one = (_real, np.float32(1)) if real else (_fixed, 1024)
    top, bottom, down = find(node, x.shape[1], height)
    left, right, across = find(node, x.shape[2], width)
    wide: Any = x.astype(np.float32 if real else np.int64)
    down, across = down[:, np.newaxis, np.newaxis], across[:, np.newaxis]
    total = (
        wide[:, top][:, :, left] * (one - down) * (one - across)
        + wide[:, bottom][:, :, left] * down * (one - across)
        + wide[:, top][:, :, right] * (one - down) * across
        + wide[:, bottom][:, :, right] * down * across
    )
    if real:
        return np.asarray((total if x.dtype == np.float32 else total + np.float32(0.5)).astype(x.dtype))
    rounded = total + np.where(total > 0, 1 << 19, -(1 << 19))
    return np.asarray((np.sign(rounded) * (np.abs(rounded) >> 20)).astype(x.dtype))


def _nearest(node: OpNode, size: int, out: int) -> Array:
    half = np.float32(0.5 if node.options["half_pixel_centers"] else 0.0)
    at = (np.arange(out, dtype=np.float32) + half) * _scale(node, size, out)
    steps = round_half_away(at) if node.options["align_corners"] else np.floor(at)
    return np.clip(steps.astype(np.int64), 0, size - 1)


@reference("RESIZE_NEAREST_NEIGHBOR")
def nearest(node: OpNode, x: Array, size: Array) -> Array:
    """Each output is the input nearest to it."""
    rows, columns = (_nearest(node, x.shape[i + 1], int(size[i])) for i in range(2))
    return np.ascontiguousarray(x[:, rows][:, :, columns])
