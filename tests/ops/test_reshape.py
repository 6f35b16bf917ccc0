"""RESHAPE, SHAPE: C kernels, numpy references and LiteRT (BUILTIN_REF) agree; what LiteRT refuses is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import Case
from support.compare import REFERENCE, run_litert
from support.node import Given, OneNode, const, counting, dtype_of, quantized, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)


def every_type(rng: Any, inputs: Any, outputs: Any) -> Case:
    """A shape of s64 leaves it to the options. LiteRT's Python cannot set complex128, 2 bits or resources."""
    oracle = None if inputs[0] in ("c128", "s2", "resource") else REFERENCE
    if len(inputs) == 1:
        return Case([(2, 3)], {"out_type": {"s32": "INT32", "s64": "INT64"}[outputs[0]]}, oracle=oracle)
    return Case([(5, 3), [3, 5]], {"new_shape": [3, 5] if inputs[1] == "s64" else []}, oracle=oracle)


def squeezed(rng: Any, inputs: Any, outputs: Any) -> Case:
    """Removes one of two dimensions of 1."""
    oracle = None if inputs[0] == "c128" else REFERENCE
    return Case([(3, 1, 5, 1)], {"squeeze_dims": [-1]}, oracle=oracle)


def expanded(rng: Any, inputs: Any, outputs: Any) -> Any:
    """Input and output have one scale: none here."""
    axis = Given(np.array([1], dtype_of(inputs[1])), constant=True)
    node = OneNode("EXPAND_DIMS", [Given(values(rng, inputs[0], (3, 5)), kind=inputs[0]), axis])
    return node, {"oracle": None if inputs[0] in ("c128", "s2") else REFERENCE}


def ranked(rng: Any, inputs: Any, outputs: Any) -> Case:
    """Three dimensions."""
    return Case([(3, 1, 5)], oracle=None if inputs[0] == "c128" else REFERENCE)


EVERY_TYPE = {
    "RESHAPE": every_type,
    "SHAPE": every_type,
    "SQUEEZE": squeezed,
    "EXPAND_DIMS": expanded,
    "RANK": ranked,
}
RESHAPES = [
    # from, to, result
    ((4, 6), [24], (24,)),
    ((4, 6), [2, 3, 4], (2, 3, 4)),
    ((4, 6), [-1, 4], (6, 4)),
    ((4, 6), [2, -1, 2], (2, 6, 2)),
    ((1,), [], ()),
    ((), [1, 1], (1, 1)),
    ((), [-1], (1,)),
    ((0, 3), [0], (0,)),
    ((0, 3), [-1], (0,)),
    ((0, 3), [0, -1], (0, 3)),
    ((0, 3), [5, -1], (5, 0)),
    ((0, 3), [0, 5], (0, 5)),
    ((2, 0, 3), [-1, 0, 2], (3, 0, 2)),
]

REFUSED = [
    ((4, 6), [5, -1], r"reshape from \(4, 6\), 24 elements, to \(5, -1\), 20 elements"),
    ((4, 6), [3, 4], r"reshape from \(4, 6\), 24 elements, to \(3, 4\), 12 elements"),
    ((4, 6), [0, -1], r"24 elements, to \(0, -1\), 0 elements"),
    ((0, 3), [2], r"0 elements, to \(2\), 2 elements"),
    ((4, 6), [-1, -1], "dimensions 0 and 1 of the new shape are both -1"),
    ((4, 6), [-2, 12], "dimension 0 of the new shape is -2, expected -1 or more"),
    ((4, 6), [INT_MIN, 12], "is -2147483648"),
    ((4, 6), [INT_MAX] * 4, "24 elements, to .*, more than 144115188075855871 elements"),
    ((4, 6), [INT_MAX, INT_MAX, -1], "24 elements, to .*, more than 144115188075855871 elements"),
    ((4, 6), [INT_MAX, INT_MAX, INT_MAX, -1], "24 elements, to .*, more than 144115188075855871 elements"),
    ((0, 1 << 20, 1 << 20), [0, -1], r"to \(0, -1\): dimension 1 would be 1099511627776"),
]


@pytest.mark.parametrize(("old", "new", "result"), RESHAPES)
def test_shape_in_options_constant_or_computed(old: Any, new: Any, result: Any) -> None:
    x = counting(old)
    if new != [0]:  # [0] means a scalar in options
        assert OneNode("RESHAPE", [x], {"new_shape": new}).check().shape == result
    assert OneNode("RESHAPE", [x, const(new)]).check().shape == result
    if new:
        assert OneNode("RESHAPE", [x, np.array(new, np.int32)]).check().shape == result


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_refused(old: Any, new: Any, message: str) -> None:
    x = counting(old)
    OneNode("RESHAPE", [x], {"new_shape": new}).refused(ShapeError, message)
    OneNode("RESHAPE", [x, const(new)]).refused(ShapeError, message)
    OneNode("RESHAPE", [x, np.array(new, np.int32)]).refused(ShapeError, message)


def test_scalar_of_old_files() -> None:
    one = counting((1,))
    assert OneNode("RESHAPE", [one], {"new_shape": [0]}).check().shape == ()
    assert OneNode("RESHAPE", [one]).check().shape == ()
    OneNode("RESHAPE", [one, const([0])]).refused(ShapeError, "1 elements, to .0., 0 elements")
    OneNode("RESHAPE", [counting((0, 3))], {"new_shape": [0]}).refused(ShapeError, "0 elements, to .., 1 elements")


def test_a_shape_that_is_no_int32_vector_leaves_it_to_the_options() -> None:
    x, options = counting((4, 6)), {"new_shape": [2, 12]}
    for shape in (const([3, 8], np.int64), const([[3, 8]]), const(3)):
        assert OneNode("RESHAPE", [x, shape], options).check().shape == (2, 12)
    assert OneNode("RESHAPE", [x, np.array([3, 8], np.int64)], options).check().shape == (2, 12)


def test_types_refused() -> None:
    x = counting((2, 3))
    OneNode("RESHAPE", [x], {"new_shape": [6]}, kind=TensorType.INT32).refused(
        UnsupportedOpError, "types f32 -> s32 of x shape", by_litert=False
    )  # LiteRT moves the bytes, whatever the types
    OneNode("RESHAPE", [x, const([6]), const([6])]).refused(UnsupportedOpError, "3 inputs, it takes at most 2")


def test_more_dimensions_than_supported() -> None:
    node = OneNode("RESHAPE", [counting((4, 6)), const([1] * 8 + [24])])
    node.refused(ShapeError, "9 dimensions, at most 8", by_litert=False)  # LiteRT has no limit


@given(st.lists(st.integers(0, 5), max_size=5), st.randoms(use_true_random=False))
def test_random(shape: list[int], random: Any) -> None:
    new = list(shape)
    random.shuffle(new)
    if new and random.random() < 0.5:
        new[random.randrange(len(new))] = -1
    node = OneNode("RESHAPE", [counting(shape), const(new)])
    try:
        run_litert(node.model, node.arrays)
    except (RuntimeError, ValueError):
        node.refused(ShapeError, "reshape from")
    else:
        node.check()


def test_resize_and_change_of_the_shape_between_runs() -> None:
    node = OneNode("RESHAPE", [counting((4, 6)), np.array([24], np.int32)])
    interpreter = minilite.Interpreter(model_content=node.model)
    x, shape = (detail["index"] for detail in interpreter.get_input_details())
    y = interpreter.get_output_details()[0]["index"]
    for size, wish in (((4, 6), [3, 8]), ((2, 3), [3, -1]), ((0, 3), [7, 0]), ((8, 8), [4, 16]), ((8, 8), [2, -1, 2])):
        interpreter.resize_tensor_input(x, size)
        interpreter.resize_tensor_input(shape, (len(wish),))
        interpreter.allocate_tensors()
        interpreter.set_tensor(x, counting(size))
        for again in (wish, wish[::-1], wish):
            interpreter.set_tensor(shape, np.array(again, np.int32))
            interpreter.invoke()
            np.testing.assert_array_equal(
                interpreter.get_tensor(y), counting(size).reshape(interpreter.get_tensor(y).shape)
            )
            assert interpreter.get_tensor(y).ndim == len(wish)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 5), (1, 2, 3, 4, 5, 6, 7, 8)])
@pytest.mark.parametrize("kind", [TensorType.INT32, TensorType.INT64])
def test_shape(shape: Any, kind: TensorType) -> None:
    node = OneNode("SHAPE", [counting(shape)], {"out_type": kind.name}, kind=kind)
    # LiteRT's Python cannot read the empty shape of a scalar: "Invalid tensor size"
    assert node.check(oracle=REFERENCE if shape else None).tolist() == list(shape)


def test_shape_refused() -> None:
    x = counting((2, 3))
    OneNode("SHAPE", [x], {"out_type": "FLOAT32"}).refused(UnsupportedOpError, "types f32 -> f32 of x -> y")
    OneNode("SHAPE", [x], {"out_type": "INT64"}, kind=TensorType.INT32).refused(
        UnsupportedOpError, "out_type INT64 for an output of type s32", by_litert=False
    )  # LiteRT changes the output's type


def test_a_computed_shape_is_known_before_the_run() -> None:
    """SHAPE -> STRIDED_SLICE -> PACK -> RESHAPE, as Keras writes Flatten: nothing is left to the run."""
    builder = ModelBuilder()
    g = builder.subgraph()
    x = g.input("x", (1, 2, 3), signature=(-1, -1, 3))
    shape = g.node("SHAPE", [x], out=("shape", (3,), TensorType.INT32), options={"out_type": "INT32"})
    one = [g.constant(f"i{i}", np.array([i], np.int32)) for i in range(2)]
    options = {"shrink_axis_mask": 1}
    batch = g.node("STRIDED_SLICE", [shape, one[0], one[1], one[1]], out=("b", (), TensorType.INT32), options=options)
    rest = g.constant("rest", np.array(-1, np.int32))
    target = g.node("PACK", [batch, rest], out=("t", (2,), TensorType.INT32), options={"values_count": 2, "axis": 0})
    g.output(g.node("RESHAPE", [x, target], out=("y", (1, 6))))
    interpreter = minilite.Interpreter(model_content=builder.build())
    for size in ((1, 2, 3), (4, 5, 3), (2, 0, 3)):
        interpreter.resize_tensor_input(0, size)
        interpreter.allocate_tensors()
        batch_of, columns = size[0], size[1] * 3
        assert interpreter.get_output_details()[0]["shape"].tolist() == [batch_of, columns]
        interpreter.set_tensor(0, counting(size))
        interpreter.invoke()
        np.testing.assert_array_equal(
            interpreter.get_tensor(interpreter.get_output_details()[0]["index"]),
            counting(size).reshape(batch_of, columns),
        )


@pytest.mark.parametrize(
    ("shape", "dims", "result"),
    [
        ((1, 3, 1, 2), [], (3, 2)),
        ((1, 3, 1, 2), [0], (3, 1, 2)),
        ((1, 3, 1, 2), [-2, 0], (3, 2)),
        ((1, 1), [], ()),
        ((0, 1), [1], (0,)),
    ],
)
def test_squeeze(shape: Any, dims: Any, result: Any) -> None:
    assert OneNode("SQUEEZE", [counting(shape)], {"squeeze_dims": dims}).check().shape == result


def test_squeeze_refused() -> None:
    x = counting((1, 3))
    OneNode("SQUEEZE", [x], {"squeeze_dims": [1]}).refused(ShapeError, "squeezed dimension 1 has size 3, expected 1")
    OneNode("SQUEEZE", [x], {"squeeze_dims": [2]}).refused(ShapeError, "axis 2, expected -2 to 1")


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_expand_dims(axis: int, kind: Any) -> None:
    x = counting((2, 3))
    result = np.expand_dims(x, axis).shape
    assert OneNode("EXPAND_DIMS", [x, const(axis, kind)]).check().shape == result
    assert OneNode("EXPAND_DIMS", [x, np.array([axis], kind)]).check().shape == result


def test_expand_dims_refused() -> None:
    scaled = OneNode("EXPAND_DIMS", [quantized(counting((2, 3), np.int8), 0.5, 1), const(0)])
    scaled.refused(UnsupportedOpError, "scale and zero point .0.5, 1. of the input do not match .0, 0. of the output")
    x = counting((2, 3))
    OneNode("EXPAND_DIMS", [x, const(3)]).refused(ShapeError, "axis 3, expected -3 to 2")
    OneNode("EXPAND_DIMS", [x, const([0, 1])]).refused(ShapeError, "axis has the shape .2., expected one element")


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 5)])
def test_rank(shape: Any) -> None:
    assert OneNode("RANK", [counting(shape)], kind=TensorType.INT32).check() == len(shape)
