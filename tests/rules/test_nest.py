"""The nest of copies (csrc/rules/nest.c), tested by operators that cover its special cases, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import bound
from support.node import OneNode, const, counting


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int64])
@pytest.mark.parametrize("rows", [2, 3, 15, 17, 64, 67, 4096])
def test_matrices(rows: int, dtype: Any) -> None:
    """Sides shorter than a tile, tiles that repeat the ones before, rows a whole way of the cache apart."""
    for columns in (2, 3, 4, 9, 16, 31, 66):
        x = np.arange(2 * rows * columns).astype(dtype).reshape(2, rows, columns)
        for perm in ([0, 2, 1], [2, 0, 1]):
            found = OneNode("TRANSPOSE", [x, const(perm)]).run()
            np.testing.assert_array_equal(found, x.transpose(perm))


@pytest.mark.parametrize("run", [*range(1, 18), 31, 32, 33, 63, 64, 65, 130])
def test_runs(run: int) -> None:
    """Every length that is moved in a way of its own: taken, reversed, and put between values."""
    x = counting((3, 4, 2 * run), np.uint8)
    begin, end = const([2, 1, run // 2]), const([-4, 4, run // 2 + run])
    taken = OneNode("STRIDED_SLICE", [x, begin, end, const([-1, 2, 1])]).run()
    np.testing.assert_array_equal(taken, x[::-1, 1::2, run // 2 : run // 2 + run])
    x = counting((3, 2, run), np.uint8)
    for before, after in ((0, 1), (1, 0), (2, 15), (40, 30), (0, 65), (300, 77)):
        paddings = [[1, 0], [0, 1], [before, after]]
        found = OneNode("PADV2", [x, const(paddings), const(7, np.uint8)]).run()
        np.testing.assert_array_equal(found, np.pad(x, paddings, constant_values=7))


@pytest.mark.parametrize("value", [np.uint8(77), np.int16(-77), np.float32(0.1), np.int64(-(2**40))], ids=str)
def test_fills_of_every_width(value: Any) -> None:
    x = counting((5,), value.dtype)
    for before in (0, 1, 3, 4, 7, 100, 5000):
        for after in (0, 2, 9, 4097):
            found = OneNode("PADV2", [x, const([[before, after]]), const(value, value.dtype)]).run()
            np.testing.assert_array_equal(found, np.pad(x, (before, after), constant_values=value))


def written(node: OneNode, shape: tuple[int, ...], dtype: Any) -> Any:
    """The output, made in the middle of an array whose other bytes must stay."""
    count = int(np.prod(shape))
    whole = np.full(count + 200, 99, dtype)
    start = -whole.ctypes.data % 64 // whole.itemsize + 64 // whole.itemsize
    place = whole[start : start + count].reshape(shape)
    interpreter = bound(node.model, {"y": place})
    for detail, array in zip(interpreter.get_input_details(), node.arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    assert (np.delete(whole, np.s_[start : start + count]) == 99).all()
    return place


def test_padding_of_nothing_stays_in_its_output() -> None:
    paddings = const([[7, 0], [2, 0]])
    node = OneNode("PADV2", [np.zeros((0, 3), np.float32), paddings, const(3, np.float32)])
    assert (written(node, (7, 5), np.float32) == 3).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int64])
@pytest.mark.parametrize("narrow", [2, 3, 5, 7, 9])
def test_moves_of_whole_vectors_stay_in_their_output(narrow: int, dtype: Any) -> None:
    for length in (*range(2, 20), 33, 50):
        for shape in ((narrow, length), (length, narrow)):
            x = counting(shape, dtype)
            np.testing.assert_array_equal(written(OneNode("TRANSPOSE", [x, const([1, 0])]), shape[::-1], dtype), x.T)
