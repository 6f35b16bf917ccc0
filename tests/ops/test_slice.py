"""STRIDED_SLICE: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree, and with numpy's own slicing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import Case
from support.compare import REFERENCE, check
from support.node import Given, OneNode, const, counting, values

import minilite
from minilite.errors import KernelError, ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)


def node(x: Any, begin: Any, end: Any, strides: Any, *, known: bool = True, **options: Any) -> OneNode:
    """One slice; with `known=False`, begin, end and strides are graph inputs."""
    entries = [const(v) if known else np.array(v, np.int32) for v in (begin, end, strides)]
    return OneNode("STRIDED_SLICE", [x, *entries], options)


def oracle(result: Any, known: bool) -> Any:
    """LiteRT, unless its Python cannot read the result, which is empty and has a shape from the run."""
    return REFERENCE if known or result.size > 0 else None


def every_type(rng: Any, inputs: Any, outputs: Any) -> Case:
    """Runs of one, two and three elements, backwards too. LiteRT slices no complex128."""
    takes = ([0, 1, 0], [0, 4, 0], [[1, 1, 1], [1, 2, 1], [2, 2, -1]][rng.integers(3)])
    options = {"begin_mask": 5, "end_mask": 5}
    return Case([(3, 5, 3), *takes], options, oracle=None if inputs[0] == "c128" else REFERENCE)


BY_LITERT = "f32 f16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64 s4 string"
EVERY_TYPE = {
    "STRIDED_SLICE": every_type,
    "SLICE": Case([(3, 5, 3), [1, 0, 1], [2, -1, 2]], litert=BY_LITERT),
    "REVERSE_V2": Case([(3, 5, 3), [0, 1]], litert="f32 f16 s8 u8 b8 s16 s32 s64"),
}


X = counting((4, 6))
CUBE = counting((2, 3, 2, 3, 2))

SLICES: list[tuple[Any, Any, Any, Any, dict[str, Any], Any]] = [
    # input, begin, end, strides, options, what numpy makes of it
    (X, [1, 0], [3, 6], [1, 2], {}, X[1:3, 0:6:2]),
    (X, [3, 5], [0, -7], [-1, -2], {}, X[3:0:-1, 5::-2]),
    (X, [-3, -1], [-1, -4], [1, -1], {}, X[-3:-1, -1:-4:-1]),
    (X, [2, 3], [1, 1], [1, 1], {"begin_mask": 3, "end_mask": 2}, X[:1, :]),
    (X, [2, 3], [1, 1], [-1, -2], {"begin_mask": 3, "end_mask": 3}, X[::-1, ::-2]),
    (X, [2], [1], [1], {}, X[2:1]),
    (X, [], [], [], {}, X),
    (X, [INT_MIN, 0], [INT_MAX, 6], [1, 1], {}, X),
    (X, [INT_MAX, 0], [INT_MIN, 6], [-1, 1], {}, X[::-1]),
    (X, [3, 0], [INT_MIN, 6], [-INT_MAX, INT_MAX], {}, X[3:4, 0:1]),
    (X, [1, 2], [2, 3], [1, 1], {"shrink_axis_mask": 1}, X[1, 2:3]),
    (X, [-1, -2], [0, 0], [1, 1], {"shrink_axis_mask": 3}, X[-1, -2]),
    (X, [2, 0], [9, 6], [5, 1], {"shrink_axis_mask": 1}, X[2]),
    (X, [2, 0], [9, 6], [1, 1], {"shrink_axis_mask": 1, "begin_mask": 1}, X[0]),
    (X, [-9, 0], [9, 6], [1, 1], {"shrink_axis_mask": 1}, X[0]),  # numpy refuses, LiteRT clamps
    (X, [0, 1], [0, 3], [1, 1], {"ellipsis_mask": 1}, X[..., 1:3]),
    (X, [0, 1], [0, 3], [1, 1], {"new_axis_mask": 1}, X[None, 1:3]),
    (X, [0, 0, 1], [0, 0, 4], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}, X[..., None, 1:4]),
    (X, [0, 1], [0, 2], [1, 1], {"new_axis_mask": 1, "shrink_axis_mask": 1}, X[None, 1:2]),
    (CUBE, [1, 0, 2], [2, 0, 0], [1, 1, -1], {"ellipsis_mask": 2}, CUBE[1:2, ..., 2:0:-1]),
    (CUBE, [1, 0, 0], [0, 0, 0], [1, 1, 1], {"ellipsis_mask": 2, "shrink_axis_mask": 5}, CUBE[1, ..., 0]),
    (CUBE, [0, 0], [1, 1], [1, 1], {"new_axis_mask": 2}, CUBE[0:1, None]),
    (CUBE, [0, 2, 0, 2, 1], [2, 0, 2, 0, -9], [1, -1, 1, -2, -1], {}, CUBE[:, 2:0:-1, :, 2:0:-2, 1::-1]),
    (CUBE.reshape(1, 2, 3, 2, 3, 2), [0, 1], [1, 2], [1, 1], {}, CUBE[None, 1:2]),
    (counting(()), [], [], [], {}, counting(())),
    (counting(()), [0], [1], [1], {"new_axis_mask": 1}, counting((1,))),
    (counting((0, 3)), [0, 0], [0, 2], [1, 1], {}, counting((0, 2))),
    (counting((0, 3)), [0, 1], [9, 2], [-1, 1], {"begin_mask": 1}, counting((0, 1))),
    (X, [1, 2], [2, 3], [1, 1], {"offset": True}, X[1:3, 2:5]),
    (X, [-2, 2], [2, 3], [1, 1], {"offset": True}, X[2:4, 2:5]),
    (X, [0, 0], [3, 5], [1, 2], {"offset": True}, X[0:3, 0:5:2]),
    (X, [1, 2], [0, 3], [1, 1], {"offset": True}, X[1:1, 2:5]),
    (X, [1, 2], [1, 3], [1, 1], {"offset": True, "shrink_axis_mask": 1}, X[1, 2:5]),
]


@pytest.mark.parametrize("known", [True, False], ids=["constant", "computed"])
@pytest.mark.parametrize(("x", "begin", "end", "strides", "options", "result"), SLICES)
def test_table(x: Any, begin: Any, end: Any, strides: Any, options: Any, result: Any, known: bool) -> None:
    model = node(x, begin, end, strides, known=known, **options)
    np.testing.assert_array_equal(model.check(oracle=oracle(result, known)), result)


def test_an_ellipsis_covers_one_dimension_at_least() -> None:
    """numpy lets it cover none; LiteRT then ignores the last entries, and so do we."""
    y = node(X, [0, 1, 2], [0, 2, 5], [1, 1, 1], ellipsis_mask=1).check()
    np.testing.assert_array_equal(y, X[:, 1:2])
    y = node(X, [1, 2, 0], [2, 5, 0], [1, 1, 1], ellipsis_mask=4).check()
    np.testing.assert_array_equal(y, X[1:2, 2:5])
    y = node(X, [1, 0, 1], [0, 0, 2], [1, 1, 1], ellipsis_mask=2, shrink_axis_mask=5).check()
    np.testing.assert_array_equal(y, X[1])


@st.composite
def slices(draw: Any) -> Any:
    """An input's shape, entries, masks, and the numpy key that says the same."""
    shape = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    ellipsis_at = draw(st.integers(-4, len(shape) - 1))
    begin, end, strides, key = [], [], [], []
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    axis = 0
    while axis < len(shape):
        bit = 1 << len(begin)
        entry = draw(st.tuples(st.integers(-8, 8), st.integers(-8, 8), st.integers(-3, 3).filter(bool)))
        if axis == ellipsis_at:
            masks["ellipsis_mask"] |= bit
            width = draw(st.integers(1, len(shape) - axis))
            axis, ellipsis_at = axis + width, -1
            key.append(Ellipsis)
        elif len(begin) < 6 and draw(st.integers(0, 5)) == 0:
            masks["new_axis_mask"] |= bit
            key.append(None)
        elif shape[axis] and draw(st.integers(0, 4)) == 0:
            masks["shrink_axis_mask"] |= bit
            entry = (draw(st.integers(-shape[axis], shape[axis] - 1)), entry[1], abs(entry[2]))
            key.append(entry[0])
            axis += 1
        else:
            open_begin, open_end = draw(st.booleans()), draw(st.booleans())
            masks["begin_mask"] |= bit * open_begin
            masks["end_mask"] |= bit * open_end
            key.append(slice(None if open_begin else entry[0], None if open_end else entry[1], entry[2]))
            axis += 1
        for side, value in zip((begin, end, strides), entry, strict=True):
            side.append(value)
    return shape, begin, end, strides, masks, tuple(key)


@given(slices(), st.booleans(), st.sampled_from([np.float32, np.int8, np.int64]))
def test_like_numpy(case: Any, known: bool, dtype: Any) -> None:
    shape, begin, end, strides, masks, key = case
    x = counting(shape, dtype)
    model = node(x, begin, end, strides, known=known, **masks)
    np.testing.assert_array_equal(model.check(oracle=oracle(x[key], known)), x[key])


@given(st.lists(st.integers(INT_MIN, INT_MAX), min_size=3, max_size=3), st.integers(0, 15), st.booleans())
def test_any_values(values: list[int], masks: int, known: bool) -> None:
    """Whatever the values, a result as numpy's or an error."""
    begin, end, stride = values
    options = {
        "begin_mask": masks & 1,
        "end_mask": masks >> 1 & 1,
        "offset": bool(masks & 4),
        "shrink_axis_mask": masks >> 3,
    }
    model = node(X, [begin], [end], [stride], known=known, **options)
    try:
        check(model.model, model.arrays, oracle=None)  # LiteRT reads out of bounds on some
    except (ShapeError, KernelError) as error:
        assert "STRIDED_SLICE" in str(error)  # noqa: PT017


REFUSED: list[tuple[Any, Any, Any, Any, dict[str, Any], str, bool]] = [
    # input, begin, end, strides, options, message, whether LiteRT refuses too (else it reads or leaves garbage)
    (X, [0], [1], [0], {}, "stride 0 of entry 0 is not supported", True),
    (X, [0], [4], [INT_MIN], {}, "stride -2147483648 of entry 0", True),
    (X, [0, 0], [1], [1], {}, "begin has 2 entries, end has 1", True),
    (X, [0, 0], [1, 1], [1], {}, "begin has 2 entries, strides has 1", False),
    (X, [[0]], [[1]], [[1]], {}, r"begin has the shape \(1, 1\), expected a vector", True),
    (X, [0, 0, 0], [1, 1, 1], [1, 1, 1], {}, "begin has 3 entries, the input has rank 2", False),
    (X, [4], [5], [1], {"shrink_axis_mask": 1}, "index 4 is outside dimension 0 of size 4", False),
    (X, [INT_MAX], [5], [1], {"shrink_axis_mask": 1}, "index 4 is outside dimension 0 of size 4", False),
    (counting((0, 3)), [0], [1], [1], {"shrink_axis_mask": 1}, "index 0 is outside dimension 0 of size 0", False),
    (X, [2], [1], [-1], {"shrink_axis_mask": 1}, "entry 0 shrinks dimension 0 with stride -1", False),
    (X, [0, 0, 1], [0, 0, 2], [1, 1, 1], {"ellipsis_mask": 3}, "entry 1 is a second ellipsis", False),
    (X, [3, 0], [2, 6], [1, 1], {"offset": True}, "indices 3 to 4 lie outside dimension 0 of size 4", False),
    (X, [0, 0], [INT_MAX, 6], [1, 1], {"offset": True}, "indices 0 to 2147483646 lie outside dimension 0", False),
    (X, [0] * 8, [1] * 8, [1] * 8, {"new_axis_mask": 127}, "more than 8 dimensions", False),  # a limit of ours
    (X, [0] * 32, [1] * 32, [1] * 32, {"new_axis_mask": 3}, "32 entries, at most 31", True),
]


@pytest.mark.parametrize("known", [True, False], ids=["constant", "computed"])
@pytest.mark.parametrize(("x", "begin", "end", "strides", "options", "message", "by_litert"), REFUSED)
def test_refused(
    x: Any, begin: Any, end: Any, strides: Any, options: Any, message: str, by_litert: bool, known: bool
) -> None:
    late = not known and ("index" in message or "indices" in message) and "INT" not in message
    error = (ShapeError, KernelError) if late else ShapeError
    node(x, begin, end, strides, known=known, **options).refused(error, message, by_litert=by_litert)


def test_types_refused() -> None:
    index = const([0], np.int64)
    OneNode("STRIDED_SLICE", [X, index, index, index]).refused(
        UnsupportedOpError, "types f32 s64 s64 s64 -> f32 .* are not supported, f32 s32 s32 s32 -> f32 are"
    )
    i = const([0])
    OneNode("STRIDED_SLICE", [X, i, i, i], kind=TensorType.INT32).refused(
        UnsupportedOpError, "types f32 s32 s32 s32 -> s32"
    )
    OneNode("STRIDED_SLICE", [X, i, i]).refused(UnsupportedOpError, r"input 3 \(strides\) is absent")


@pytest.mark.parametrize("offset", [False, True])
def test_a_begin_computed_at_run_time_leaves_the_shape_known(offset: bool) -> None:
    """x[i] and, with `offset`, x[i : i + 2]: the shape does not depend on i, so nothing is planned again."""
    begin, end = np.array([1, 0], np.int32), const([2, 6] if offset else [0, 0])
    options: dict[str, Any] = {"offset": True} if offset else {"shrink_axis_mask": 1, "begin_mask": 2, "end_mask": 2}
    model = OneNode("STRIDED_SLICE", [X, begin, end, const([1, 1])], options)
    interpreter = minilite.Interpreter(model_content=model.model)
    interpreter.allocate_tensors()
    y = interpreter.get_output_details()[0]
    assert y["shape"].tolist() == ([2, 6] if offset else [6])
    interpreter.set_tensor(0, X)
    for i in (0, 2, 1, -1):
        interpreter.set_tensor(1, np.array([i, 0], np.int32))
        if offset and i == -1:
            with pytest.raises(KernelError, match="indices 3 to 4 lie outside dimension 0 of size 4"):
                interpreter.invoke()
            continue
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_tensor(y["index"]), X[i : i + 2] if offset else X[i])
    interpreter.set_tensor(1, np.array([4, 0], np.int32))
    with pytest.raises(KernelError, match="dimension 0 of size 4"):
        interpreter.invoke()


def test_resized() -> None:
    interpreter = minilite.Interpreter(model_content=node(X, [1, -1], [-1, 0], [2, -2]).model)
    for shape in ((4, 6), (9, 5), (1, 1), (0, 3), (7, 0), (4, 6)):
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, counting(shape))
        interpreter.invoke()
        y = interpreter.get_output_details()[0]
        np.testing.assert_array_equal(interpreter.get_tensor(y["index"]), counting(shape)[1:-1:2, -1:0:-2])


@pytest.mark.parametrize("known", [(True, True), (False, True), (True, False), (False, False)])
@pytest.mark.parametrize(("begin", "size"), [([1, 2], [2, 3]), ([0, 0], [4, 6]), ([3, 1], [-1, -1]), ([2, 5], [1, 0])])
def test_slice(begin: Any, size: Any, known: Any) -> None:
    entries = [const(v) if k else np.array(v, np.int32) for v, k in zip((begin, size), known, strict=True)]
    ends = [b + n if n >= 0 else d for b, n, d in zip(begin, size, X.shape, strict=True)]
    expected = X[begin[0] : ends[0], begin[1] : ends[1]]
    result = OneNode("SLICE", [X, *entries]).check(oracle=oracle(expected, all(known)))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("known", [True, False])
def test_slices_of_nibbles(known: bool) -> None:
    """Runs that begin in either half of a byte, longer and shorter than one."""
    x = values(np.random.default_rng(6), "s4", (5, 7, 3))
    for begin in itertools.product((0, 1, 2), (0, 1, 3), (0, 1)):
        for size in ((1, 1, 1), (2, 3, 1), (3, 2, 2), (1, 4, 2)):
            start = const(begin) if known else np.array(begin, np.int32)
            y = OneNode("SLICE", [Given(x, kind="s4"), start, const(size)], kind="s4").run()
            expected = x[tuple(slice(b, b + n) for b, n in zip(begin, size, strict=True))]
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("begin", "size", "message"),
    [
        ([1, 0], [4, 6], "4 indices from 1 on lie outside dimension 0 of size 4"),
        ([0, 0], [5, 6], "size 5 of dimension 0, expected -1 to 4"),
        ([0, 0], [4, -2], "size -2 of dimension 1, expected -1 to 6"),
        ([0, 0, 0], [4, 6, 1], "begin has the shape .3., the input rank 2"),
    ],
)
def test_slice_refused(begin: Any, size: Any, message: str) -> None:
    OneNode("SLICE", [X, const(begin), const(size)]).refused(ShapeError, message)
    OneNode("SLICE", [X, np.array(begin, np.int32), np.array(size, np.int32)]).refused(ShapeError, message)


def test_slice_begins_outside_in_the_run() -> None:
    OneNode("SLICE", [X, np.array([3, -1], np.int32), const([1, 1])]).refused(
        KernelError, "1 indices from -1 on lie outside dimension 1 of size 6", by_litert=False
    )  # LiteRT reads what lies before the input
    OneNode("SLICE", [X, np.array([4, 0], np.int32), const([1, 1])]).refused(
        KernelError, "1 indices from 4 on lie outside dimension 0", by_litert=False
    )  # LiteRT reads what lies after it


@pytest.mark.parametrize("kind", ["f32", "s4", "string"])
def test_slice_of_no_elements_checks_a_computed_begin(kind: str) -> None:
    nothing = Given(values(np.random.default_rng(8), kind, (5, 0)), kind=kind)
    OneNode("SLICE", [nothing, np.array([7, 0], np.int32), const([2, 0])], kind=kind).refused(
        KernelError, "2 indices from 7 on lie outside dimension 0 of size 5", by_litert=kind == "f32"
    )  # LiteRT's Python cannot give it other types


@pytest.mark.parametrize("kind", ["f32", "string"])
def test_a_row_of_no_rows_is_refused(kind: str) -> None:
    """The output has elements, the input has none, and begin is computed."""
    rows = Given(values(np.random.default_rng(8), kind, (0, 3)), kind=kind)
    entries = [np.array([0, 0], np.int32), const([0, 0]), const([1, 1])]
    options = {"shrink_axis_mask": 1, "begin_mask": 2, "end_mask": 2}
    OneNode("STRIDED_SLICE", [rows, *entries], options, kind=kind).refused(
        KernelError, "index 0 is outside dimension 0 of size 0", by_litert=False
    )  # LiteRT reads what is not there


@pytest.mark.parametrize("axes", [[0], [1, 2], [-1], [0, 1, 2, 3, 4], [3, 1], []])
def test_reverse(axes: Any) -> None:
    for entries in (const(axes), np.array(axes, np.int32)):
        result = OneNode("REVERSE_V2", [CUBE, entries]).check(oracle=None)
        np.testing.assert_array_equal(result, np.flip(CUBE, tuple(axes)))


@pytest.mark.parametrize("kind", ["s8", "f16", "f32", "s64"])
def test_reversed_runs(kind: str) -> None:
    """Elements of 1 to 8 bytes, one or some, of all lengths."""
    rng = np.random.default_rng(4)
    for n in [1, 2, 3, *range(14, 36), 67]:
        for shape, axes in (((n,), [0]), ((3, n), [1]), ((3, n), [0, 1]), ((n, 2), [0]), ((2, n, 4), [1])):
            x = values(rng, kind, shape)
            OneNode("REVERSE_V2", [x, const(axes)]).check(oracle=None if len(axes) > 1 else REFERENCE)


def test_reverse_refused() -> None:
    OneNode("REVERSE_V2", [X, const([2])]).refused(ShapeError, "axis 2, expected -2 to 1")
    OneNode("REVERSE_V2", [X, const([1, -1])]).refused(ShapeError, "dimension 1 appears twice in axes", by_litert=False)
