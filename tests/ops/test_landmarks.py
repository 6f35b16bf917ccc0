"""Landmarks2TransformMatrix, TransformTensorBilinear, TransformLandmarks: C kernels and numpy references agree with
each other and with what MediaPipe's rules say of single points. LiteRT has none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.node import OneNode, Out, const, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError

EPS = 1e-5
OPTIONS = {
    "subset_idxs": [0, 1, 2, 3, 5, 5],
    "left_rotation_idx": 0,
    "right_rotation_idx": 2,
    "target_rotation_radians": 0.0,
    "output_height": 8,
    "output_width": 16,
    "scale_x": 1.5,
    "scale_y": 1.25,
}


def node(op: str, given: Any, shape: Any = None, **options: Any) -> OneNode:
    custom = bytes(flexbuffers.Dumps(options)) if options else b""
    return OneNode(op, given, outs=[Out("f32", shape=shape)], version=2, custom=custom)


def matrix(x: Any, **options: Any) -> OneNode:
    return node("Landmarks2TransformMatrix", [x], **{**OPTIONS, **options})


def crop(x: Any, by: Any, height: int, width: int) -> OneNode:
    given = [x, np.asarray(by, np.float32)]
    return node("TransformTensorBilinear", given, output_height=height, output_width=width)


def points(x: Any, by: Any) -> OneNode:
    return node("TransformLandmarks", [x, np.asarray(by, np.float32)])


def placed(a: float, b: float, x: float, c: float, d: float, y: float) -> Any:
    """Returns the matrix that maps places in the crop to places in the image."""
    return np.array([[[a, b, 0, x], [c, d, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]]], np.float32)


EVERY_TYPE = {
    "Landmarks2TransformMatrix": lambda rng, *_: (
        matrix(values(rng, "f32", (1, 7, 3), 20.0)),
        {"oracle": None, "tolerance": EPS},
    ),
    "TransformTensorBilinear": lambda rng, *_: (
        crop(values(rng, "f32", (1, 9, 12, 3)), placed(0.8, -0.3, 2, 0.2, 0.7, 1), 6, 10),
        {"oracle": None},
    ),
    "TransformLandmarks": lambda rng, *_: (
        points(values(rng, "f32", (1, 7, 3)), values(rng, "f32", (1, 4, 4))),
        {"oracle": None},
    ),
}


@pytest.mark.parametrize("rotation", [0.0, 0.7, -2.5])
@pytest.mark.parametrize("seed", range(4))
def test_matrix_maps_the_crop_to_the_points(seed: int, rotation: float) -> None:
    """The crop's middle is the middle of what is around the points, its axes point along and across the line between
    two."""
    x = values(np.random.default_rng(seed), "f32", (1, 7, 3), 20.0)
    m = matrix(x, target_rotation_radians=rotation).check(oracle=None, tolerance=EPS)[0].astype(np.float64)
    assert m[2:].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    line = (x[0, 2, :2] - x[0, 0, :2]).astype(np.float64)
    angle = np.arctan2(line[1], line[0]) - rotation
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    subset = x[0, OPTIONS["subset_idxs"], :2].astype(np.float64)
    wide, high = np.ptp(subset @ along), np.ptp(subset @ across)
    seen = [(subset @ axis, axis) for axis in (along, across)]
    middle = sum((s.min() + s.max()) / 2 * axis for s, axis in seen)
    np.testing.assert_allclose(m[:2] @ [8, 4, 0, 1], middle, atol=1e-4)
    np.testing.assert_allclose(m[:2] @ [16, 4, 0, 1], middle + along * wide * 1.5 / 2, atol=1e-4)
    np.testing.assert_allclose(m[:2] @ [8, 8, 0, 1], middle + across * high * 1.25 / 2, atol=1e-4)


def bilinear(image: Any, x: float, y: float) -> Any:
    """An image of (height, width, channels) between the middles of its pixels; zeros outside."""
    if not (0 <= x <= image.shape[1] - 1 and 0 <= y <= image.shape[0] - 1):
        return np.zeros(image.shape[2])
    left, top = int(x), int(y)
    total = np.zeros(image.shape[2])
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (x - left if j else 1 - x + left) * (y - top if i else 1 - y + top)
        if weight:
            total += weight * image[top + i, left + j]
    return total


def test_crop() -> None:
    rng = np.random.default_rng(1)
    x = values(rng, "f32", (1, 9, 12, 3))
    for by in (placed(0.75, -0.25, 2, 0.25, 0.5, 1), placed(1.5, 0, -1, 0, 1.5, -1), placed(0, 0.5, 3, -0.5, 0, 7)):
        y = crop(x, by, 6, 10).check(oracle=None)[0]
        m = by[0].astype(np.float64)
        for i in range(6):
            for j in range(10):
                place = m[:2] @ [j + 0.5, i + 0.5, 0, 1] - 0.5
                np.testing.assert_allclose(y[i, j], bilinear(x[0].astype(np.float64), *place), atol=1e-5)


def test_the_whole_image() -> None:
    x = values(np.random.default_rng(1), "f32", (1, 5, 4, 2))
    np.testing.assert_array_equal(crop(x, placed(1, 0, 0, 0, 1, 0), 5, 4).check(oracle=None), x)
    flipped = crop(x, placed(-1, 0, 4, 0, 1, 0), 5, 4).check(oracle=None)
    np.testing.assert_array_equal(flipped, x[:, :, ::-1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38])
def test_places_far_away(value: float) -> None:
    x = np.ones((1, 5, 4, 2), np.float32)
    for at in range(2):
        by = placed(1, 0, 0, 0, 1, 0)
        by[0, at, 3] = value
        assert not crop(x, by, 3, 3).check(oracle=None).any()


@pytest.mark.parametrize("size", [2, 3])
def test_points(size: int) -> None:
    rng = np.random.default_rng(1)
    x, by = values(rng, "f32", (1, 20, size)), placed(0.75, -0.25, 2, 0.25, 0.5, 1)
    y = points(x, by).check(oracle=None)
    np.testing.assert_allclose(y[..., 0], 0.75 * x[..., 0] - 0.25 * x[..., 1] + 2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y[..., 1], 0.25 * x[..., 0] + 0.5 * x[..., 1] + 1, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(y[..., 2:], x[..., 2:])


def test_nothing() -> None:
    points(np.zeros((1, 0, 3), np.float32), np.eye(4)).check(oracle=None)
    assert not crop(np.zeros((1, 0, 3, 2), np.float32), np.eye(4), 2, 2).check(oracle=None).any()
    crop(np.zeros((1, 3, 3, 0), np.float32), np.eye(4), 2, 2).check(oracle=None)


def test_threads() -> None:
    x = values(np.random.default_rng(1), "f32", (1, 90, 120, 3))
    same_for_any_number_of_threads(crop(x, placed(0.75, -0.25, 2, 0.25, 0.5, 1), 200, 150))


def test_refused() -> None:
    x = np.zeros((1, 6, 3), np.float32)
    matrix(x[0]).refused(ShapeError, r"landmarks must be \(1, points, 3\), their shape is \(6, 3\)")
    matrix(x, right_rotation_idx=6).refused(ShapeError, "the options name point 6, the input has 6 points")
    matrix(x, subset_idxs=[0, 7]).refused(ShapeError, "the options name point 7, the input has 6 points")
    for wrong in ([], [-1], 3, [0.5]):
        matrix(x, subset_idxs=wrong).refused(UnsupportedOpError, "option subset_idxs")
    matrix(x, scale_x=0.0).refused(UnsupportedOpError, "option scale_x is 0, must be above 0")
    image = np.zeros((1, 3, 3, 1), np.float32)
    crop(image, np.zeros(12), 2, 2).refused(ShapeError, "the matrix must have 16 numbers, it has 12")
    crop(np.zeros((2, 3, 3, 1), np.float32), np.eye(4), 2, 2).refused(ShapeError, "the image must be")
    crop(image, np.eye(4), 0, 2).refused(UnsupportedOpError, "option output_height is 0")
    points(x[..., :1], np.eye(4)).refused(ShapeError, "landmarks must be")
    first = OneNode("TransformLandmarks", [x, const(np.eye(4), np.float32)], kind="f32", version=1, custom=b"")
    first.refused(UnsupportedOpError, "version 1")
