"""Landmarks2TransformMatrix, TransformTensorBilinear, TransformLandmarks: a crop around points, rotated upright; and
its points mapped back to the image. Custom operators of MediaPipe's models, in their second version.

Source of the rules: MediaPipe, mediapipe/util/tflite/operations. LiteRT has no kernels for them."""

from __future__ import annotations

import numpy as np

from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


def _crop_size(node: OpNode) -> tuple[int, int]:
    """(height, width)."""
    return int(node.options["output_height"]), int(node.options["output_width"])


@reference(
    "Landmarks2TransformMatrix",
    rounding={
        "": "in float64, rounded once (no oracle: the rule is MediaPipe's)",
    },
    options=scalars,
)
def matrix(node: OpNode, x: Array) -> Array:
    """The matrix from pixels of the crop to the image: moves to its middle, scales, rotates, moves to the points."""
    options, (height, width) = node.options, _crop_size(node)
    left, right = int(options["left_rotation_idx"]), int(options["right_rotation_idx"])
    points = x[0, :, :2].astype(np.float64)
    across = points[right] - points[left]
    turn = options["target_rotation_radians"] - np.arctan2(across[1], across[0])
    upright = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    turned = points[list(options["subset_idxs"])] @ upright.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    size = np.array([width, height])
    scale = np.array([options["scale_x"], options["scale_y"]]) * (high - low) / size
    y = np.eye(4)
    y[:2, :2] = upright.T * scale
    y[:2, 3] = upright.T @ ((low + high) / 2) - y[:2, :2] @ (size / 2)
    return y.astype(np.float32)[None]


@reference(
    "TransformTensorBilinear",
    rounding={
        "": "places in float32, values in float64, rounded once (no oracle: the rule is MediaPipe's)",
    },
    options=scalars,
)
def crop(node: OpNode, x: Array, matrix: Array) -> Array:
    """Maps centres of pixels to centres of pixels, with bilinear interpolation; zeros outside the image."""
    height, width = _crop_size(node)
    rows = matrix.reshape(-1)[:8].reshape(2, 4)
    wide = rows.astype(np.float64)
    offsets = (wide[:, 3] + (wide[:, 0] * 0.5 + wide[:, 1] * 0.5 - 0.5)).astype(np.float32)
    down, across = np.mgrid[:height, :width].astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        ax, ay = (row[0] * across + row[1] * down + offset for row, offset in zip(rows, offsets, strict=True))
        inside = (ax >= 0) & (ax <= np.float32(x.shape[2] - 1)) & (ay >= 0) & (ay <= np.float32(x.shape[1] - 1))
    ax, ay = np.where(inside, ax, 0), np.where(inside, ay, 0)
    left, top = ax.astype(np.int64), ay.astype(np.int64)
    y = np.zeros((height, width, x.shape[3]), np.float64)
    if inside.any():
        right, bottom = np.minimum(left + 1, x.shape[2] - 1), np.minimum(top + 1, x.shape[1] - 1)
        fx, fy = (part.astype(np.float64)[..., None] for part in (ax - left, ay - top))
        image = x[0].astype(np.float64)
        upper = (1 - fx) * image[top, left] + fx * image[top, right]
        lower = (1 - fx) * image[bottom, left] + fx * image[bottom, right]
        y = np.where(inside[..., None], (1 - fy) * upper + fy * lower, 0)
    return y.astype(np.float32)[None]


@reference(
    "TransformLandmarks",
    rounding={
        "": "in float32 (no oracle: the rule is MediaPipe's)",
    },
)
def points(node: OpNode, x: Array, matrix: Array) -> Array:  # noqa: ARG001
    """Maps the first two numbers of each point by the first two rows; a third number does not change."""
    y = x.copy()
    for k, row in enumerate(matrix.reshape(-1)[:8].reshape(2, 4)):
        y[..., k] = row[0] * x[..., 0] + row[1] * x[..., 1] + row[3]
    return y
