"""Each row's window: what patches of a node's output compute, prepared by themselves, is the whole bit for bit."""

from __future__ import annotations

import contextlib
import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.drawn import Draw
from support.drawn_all import DRAWN
from support.drawn_weighted import conv, depthwise, pool, transpose_conv
from support.node import Array, Given, OneNode, Out, const, scaled, values

import minilite
from minilite._native.kernels import find_row, level_names, operator_rows
from minilite._native.tiles import Patch, patch_of

GRIDS = ((2, 1), (4, 1), (1, 2), (2, 2), (3, 3))
WITH_WINDOW = sorted(row.op for row in operator_rows() if row.has_window)


class Way(NamedTuple):
    """A way in which kernels run."""

    level: str
    threads: int


WAYS = [Way(level, threads) for level in level_names() for threads in (1, 2)]


def interpreter_of(one: OneNode, way: Way) -> minilite.Interpreter:
    return minilite.Interpreter(model_content=one.model, num_threads=way.threads, level=way.level)


def run(interpreter: minilite.Interpreter, arrays: Sequence[Array]) -> Array:
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return np.asarray(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


def steps(size: int, parts: int) -> list[tuple[int, int]]:
    return [(k * size // parts, (k + 1) * size // parts) for k in range(parts)]


def rectangles(shape: Sequence[int], grid: tuple[int, int]) -> Iterator[Any]:
    yield from itertools.product(steps(shape[1], grid[0]), steps(shape[2], grid[1]))


def cut(array: Array, rectangle: Any) -> Array:
    """A part of an array; the whole of one that has no rows and columns."""
    if array.ndim < 3:
        return array
    (top, bottom), (left, right) = rectangle
    return np.ascontiguousarray(array[:, top:bottom, left:right])


def computed(one: OneNode, patch: Patch, way: Way) -> Array:
    """The patch, computed by a model of tensors of its size alone with the parameters that the window gives."""
    given = [
        value and value._replace(array=cut(value.array, rectangle), shape=None)
        for value, rectangle in zip(one.given, patch.inputs, strict=True)
    ]
    outs = [out._replace(shape=None) for out in one.outs]
    part = OneNode(one.op, given, one.options, outs=outs, version=one.version, custom=one.custom)
    interpreter = interpreter_of(part, way)
    if patch.params:
        interpreter._engine.program().graph(0).params(0)[:] = patch.params
    return run(interpreter, part.arrays)


def patches(one: OneNode, way: Way, most: int = 1) -> int:
    """Compares the patches of up to `most` grids with the whole; returns how many grids the node could be cut by."""
    interpreter = interpreter_of(one, way)
    whole = run(interpreter, one.arrays)
    plan = interpreter.plan
    assert plan is not None
    found = 0
    for grid in GRIDS:
        if whole.ndim not in (3, 4) or whole.shape[1] < grid[0] or whole.shape[2] < grid[1] or found == most:
            continue
        places = list(rectangles(whole.shape, grid))
        needs = [patch_of(plan, 0, rectangle, len(one.given)) for rectangle in places]
        if any(patch is None for patch in needs):
            continue
        found += 1
        for rectangle, patch in zip(places, needs, strict=True):
            assert patch is not None
            assert all(a <= b and c >= d for (a, c), (b, d) in zip(patch.out, rectangle, strict=True))
            part = computed(one, patch, way)
            expected = cut(whole, patch.out)
            where = f"{one.op} {one.options} {way}, {grid}, patch {patch}"
            assert part.shape == expected.shape, where
            assert part.tobytes() == expected.tobytes(), f"{where}: {np.argwhere(part != expected)[:4]}"
    return found


def drawn(op: str) -> Iterator[OneNode]:
    """Nodes of the operator at random."""
    if op == "Convolution2DTransposeBias":
        yield from (custom(seed) for seed in range(8))
        return
    for number in range(400):
        d = Draw(zlib.crc32(op.encode()), 41, number)
        with contextlib.suppress(Exception):  # some draws are refused by the builder
            yield DRAWN[op](d)


def custom(seed: int) -> OneNode:
    rng = np.random.default_rng(seed)
    same, stride_w, stride_h = seed % 2 + 1, *(int(n) for n in rng.integers(1, 4, 2))
    x, w, b = (values(rng, "f32", shape) for shape in ((1, 5, 6, 3), (4, 3, 2, 3), (4,)))
    if same == 1:
        sides = (5 * stride_h, 6 * stride_w)
    else:
        sides = (4 * stride_h + 3, 5 * stride_w + 2)
    options = np.array([same, stride_w, stride_h], np.int32).tobytes()
    given = [x, const(w, np.float32), const(b, np.float32)]
    return OneNode("Convolution2DTransposeBias", given, outs=[Out("f32", shape=(1, *sides, 4))], custom=options)


def runs(one: OneNode) -> bool:
    """False for nodes that are refused, and for those whose values numpy computes."""
    try:
        interpreter = interpreter_of(one, WAYS[0])
        return run(interpreter, one.arrays).size > 0
    except (minilite.MiniliteError, ValueError):
        return False


@pytest.mark.parametrize("op", WITH_WINDOW)
def test_patches_are_the_whole(op: str) -> None:
    """Nodes are drawn at random; they run at each level and with 1 and 2 threads."""
    ways = itertools.cycle(WAYS)
    found = 0
    for one in drawn(op):
        if runs(one):
            found += sum(patches(one, next(ways)) for _ in range(3))
        if found >= 24:
            return
    assert found >= (3 if find_row(op).custom else 8), f"only {found} grids of {op}"


class Wide(Draw):
    """Draws as many channels and pixels as larger forms of kernels want."""

    def number(self, least: int, most: int) -> int:
        return super().number(least, {9: 70, 20: 70, 8: 24}.get(most, most))


WIDE = {
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise,
    "TRANSPOSE_CONV": transpose_conv,
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D", "f32 f32 s8"),
}


@pytest.mark.parametrize("op", WIDE)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.level}-{way.threads}")
def test_wide_patches_are_the_whole(op: str, way: Way) -> None:
    found = 0
    for number in itertools.count():
        one = WIDE[op](Wide(zlib.crc32(op.encode()), 43, number, WAYS.index(way)))
        if runs(one):
            found += patches(one, way, 2)
        if found >= 10:
            return


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.level}-{way.threads}")
def test_a_patch_of_one_window_is_summed_like_the_whole(way: Way) -> None:
    """A window that covers an image of its own is summed by other code."""
    x = values(np.random.default_rng(1), "f32", (1, 22, 22, 40))
    options = {"padding": "VALID", "filter_height": 11, "filter_width": 11, "stride_h": 11, "stride_w": 11}
    assert patches(OneNode("AVERAGE_POOL_2D", [x], options), way, len(GRIDS)) == 3


def test_an_operator_over_the_image_is_not_cut() -> None:
    """Its output may have as many pixels as its input."""
    x = np.ones((1, 4, 4, 4), np.float32)
    for axis, cut_at in ((1, False), (2, False), (3, True)):
        one = OneNode("ARG_MAX", [x, const(axis)], outs=[Out("s32")])
        assert bool(patches(one, WAYS[0])) is cut_at
        joined = OneNode("CONCATENATION", [x, x], {"axis": axis})
        assert bool(patches(joined, WAYS[0])) is cut_at


def test_a_node_with_other_inputs_is_not_cut() -> None:
    """A node into which others were fused has more than in the file."""
    interpreter = interpreter_of(OneNode("ABS", [np.zeros((1, 4, 4, 1), np.float32)]), WAYS[0])
    run(interpreter, [np.zeros((1, 4, 4, 1), np.float32)])
    assert interpreter.plan is not None
    part = (0, 2), (0, 4)
    assert patch_of(interpreter.plan, 0, part, 1) is not None
    assert patch_of(interpreter.plan, 0, part, 0) is None
    assert patch_of(interpreter.plan, 7, part, 1) is None


def test_a_node_of_numpy_is_not_cut() -> None:
    one = OneNode("LOGISTIC", [Given(np.zeros((1, 4, 4, 1), np.uint16), kind="bf16")], kind="bf16")
    assert patches(one, WAYS[0]) == 0


def test_hybrid_nodes_are_not_cut() -> None:
    """Their scale is that of the whole image."""
    rng = np.random.default_rng(0)
    w = const(values(rng, "s8", (3, 3, 3, 2)), np.int8, scaled(rng, "s8")._replace(zero_points=(0,)))
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    one = OneNode("CONV_2D", [values(rng, "f32", (1, 8, 8, 2)), w], options)
    assert patches(one, WAYS[0]) == 0


def test_depth_to_space_is_cut_between_blocks() -> None:
    one = OneNode("DEPTH_TO_SPACE", [np.zeros((1, 4, 4, 9), np.float32)], {"block_size": 3})
    interpreter = interpreter_of(one, WAYS[0])
    run(interpreter, one.arrays)
    assert interpreter.plan is not None
    patch = patch_of(interpreter.plan, 0, ((4, 7), (0, 3)), 1)
    assert patch is not None
    assert (patch.out, patch.inputs) == (((3, 9), (0, 3)), (((1, 3), (0, 1)),))
