"""Nodes on images that end where memory does: kernels tell the primitives of each level which elements after those that
they need may be touched, too."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from built import bound, run
from guarded import at_end
from numpy.typing import NDArray
from support.node import Given, OneNode, const, scaled, values

from minilite._native.kernels import level_names

CHANNELS = (1, 3, 5, 8, 16, 21, 40)


def images(kind: str) -> list[tuple[NDArray, tuple[Any, Any]]]:
    """Two images of odd sides, of each number of channels, and their quantization."""
    rng = np.random.default_rng(0)
    return [(values(rng, kind, (2, 7, 23, n), 1.0), scaled(rng, kind, 0.02, 0.2)) for n in CHANNELS]


def same_at_each_level(node: OneNode, image: NDArray) -> None:
    """The output of a node, bound as its input is, has the bits of the scalar level, and nothing else is touched."""
    plain = bound(node.model, {}, level="scalar")
    (wanted,) = run(plain, image)
    ends = [detail["index"] for detail in (*plain.get_input_details(), *plain.get_output_details())]
    for level in level_names():
        x, y = at_end(image), at_end(np.zeros_like(wanted))
        bound(node.model, {ends[0]: x, ends[-1]: y}, level=level).invoke()
        np.testing.assert_array_equal(y, wanted, err_msg=f"{level}, {image.shape}")


@pytest.mark.parametrize("op", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pools(op: str, kind: str, padding: str) -> None:
    for (image, scale), size, stride in itertools.product(images(kind), (2, 3), (1, 2)):
        options = {
            "padding": padding,
            "stride_h": stride,
            "stride_w": stride,
            "filter_height": size,
            "filter_width": size,
        }
        same_at_each_level(
            OneNode(op, [Given(image, quantization=scale)], options, quantization=scale, version=2), image
        )


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
@pytest.mark.parametrize("size", [(14, 47), (3, 9), (7, 24)])
def test_bilinear_resizing(kind: str, size: tuple[int, int]) -> None:
    for (image, scale), half in itertools.product(images(kind), (False, True)):
        options = {"align_corners": False, "half_pixel_centers": half}
        given = [Given(image, quantization=scale), const(size)]
        same_at_each_level(OneNode("RESIZE_BILINEAR", given, options, quantization=scale, version=3), image)
