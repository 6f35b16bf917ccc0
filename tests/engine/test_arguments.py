"""Names of tensors in calls, the ways to call run, and the arrays that fit a tensor."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from built import floats, one_signature, ready, relu_chain

import minilite
from minilite.engine.tensor_arguments import tensor_number
from minilite.errors import InputError, InputTypeError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

# Tensors --------------------------------------------------------------------------------------------------------------


def keys(interpreter: minilite.Interpreter) -> list[Any]:
    """The first input in every form that is taken."""
    return [0, np.int32(0), np.array(0), "x", interpreter.get_input_details()[0], np.uint8(0)]


def test_tensors_by_number_name_and_details() -> None:
    interpreter = ready(relu_chain())
    for count, key in enumerate(keys(interpreter), 1):
        interpreter.resize_tensor_input(key, (count,))
        interpreter.allocate_tensors()
        interpreter.set_tensor(key, np.full(count, -1, np.float32))
        interpreter.invoke()
        assert interpreter.get_tensor(key).tolist() == interpreter.tensor(key)().tolist() == [-1] * count
        output = interpreter.get_output_details()[0]
        assert interpreter.get_tensor(output).tolist() == interpreter.get_tensor("y2").tolist() == [0] * count
        if not isinstance(key, (dict, np.ndarray)):
            assert interpreter.plan_for({key: (7,)}).shape(3) == (7,)


def test_bind_by_number_name_and_details() -> None:
    for key in keys(ready(relu_chain())):
        interpreter = minilite.Interpreter(model_content=relu_chain())
        array = floats(-1, 2, -3, 4)
        interpreter.bind_tensor(key, array)
        interpreter.allocate_tensors()
        interpreter.invoke()
        assert interpreter.get_tensor("y2").tolist() == [0, 2, 0, 4]


def test_names_of_inputs_go_before_all_others() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("same", (1,))
    hidden = graph.node("RELU", [x], out=("same", (1,)))
    twins = [graph.node("RELU", [hidden], out=("twin", (1,))) for _ in range(2)]
    graph.output(graph.node("ADD", twins, out=("sum", (1,))))
    interpreter = minilite.Interpreter(model_content=builder.build())
    assert tensor_number(interpreter.model.subgraphs[0], "same") == 0
    with pytest.raises(
        InputError, match=r"^there are 2 tensors called 'twin', must be 1: give a number, one of \[2, 3\]$"
    ):
        interpreter.get_tensor("twin")


def test_names_are_looked_up_in_the_given_subgraph() -> None:
    builder = ModelBuilder()
    first, second = builder.subgraph("first"), builder.subgraph("second")
    first.output(first.input("x", (1,)))
    second.input("p", (1,))
    second.constant("c", floats(5))
    interpreter = minilite.Interpreter(model_content=builder.build())
    assert interpreter.get_tensor("c", 1).tolist() == [5]
    with pytest.raises(InputError, match="there is no tensor 'c': inputs are x, outputs are x"):
        interpreter.get_tensor("c")


def test_messages_list_a_few_names_only() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(*[graph.input(f"{number}{'x' * 400}", (1,)) for number in range(300)])
    with pytest.raises(InputTypeError) as caught:
        minilite.Interpreter(model_content=builder.build()).get_tensor("nope")
    assert "and 292 more" in str(caught.value)
    assert len(str(caught.value)) < 1500


# run ------------------------------------------------------------------------------------------------------------------


def pair() -> minilite.Interpreter:
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (1,), signature=(-1,)), graph.input("b", (1,), signature=(-1,))
    graph.output(graph.node("ADD", [a, b], out=("sum", (1,))), graph.node("RELU", [a], out=("relu", (1,))))
    return minilite.Interpreter(model_content=builder.build())


def test_run_takes_arrays_in_order_or_by_name_or_number() -> None:
    interpreter = pair()
    a, b = floats(-1, 2), floats(5, 6)
    for inputs in ((a, b), ({"a": a, "b": b},), ({1: b, 0: a},), ({"b": b, 0: a},)):
        found = interpreter.run(*inputs)
        assert {name: array.tolist() for name, array in found.items()} == {"sum": [4, 8], "relu": [0, 2]}
    single = minilite.Interpreter(model_content=relu_chain())
    assert single.run(floats(-1, 2, 3))["y2"].tolist() == [0, 2, 3]


def test_numbers_of_pythons_take_the_tensors_width() -> None:
    """Python's numbers have no width of their own; arrays have one, and are not converted."""
    interpreter = ready(relu_chain())
    for given in ([1, -2, 3.5], (1, -2, 3.5), [1, 2]):
        found = interpreter.run(given)["y2"]
        assert (found.tolist(), found.dtype) == ([max(x, 0) for x in given], np.float32)
    assert ready(one_signature()).get_signature_runner()(a=[[1, -2, 3, 4]])["b"].tolist() == [[1, 0, 3, 4]]
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2,), TensorType.INT8, signature=(-1,), quantization=Quantization((0.5,), (0,)))
    graph.output(graph.node("RELU", [x], out=("y", (2,), TensorType.INT8, Quantization((0.5,), (0,)))))
    small = ready(builder.build())
    assert small.run([-128, 127, 5])["y"].tolist() == [0, 127, 5]
    for refused in ([128], [-129, 0], [0.5], [1e9]):
        with pytest.raises(InputError, match="quantize real values x with"):
            small.run(refused)
    with pytest.raises(InputError, match="expected type FLOAT32"):
        interpreter.run(np.array([1.0]))


def test_run_writes_to_arrays_of_the_caller() -> None:
    interpreter = pair()
    total = np.zeros((2, 2), np.float32)[:, 0]  # any strides will do
    found = interpreter.run(floats(-1, 2), floats(5, 6), out={"sum": total})
    assert found["sum"] is total
    assert total.tolist() == [4, 8]
    assert found["relu"].flags.owndata


@pytest.mark.parametrize(
    ("inputs", "out", "text"),
    [
        ((floats(1),), None, "got 1 arrays, inputs are a, b: one array per input"),
        ((floats(1),) * 3, None, "got 3 arrays, inputs are a, b: one array per input"),
        (({"a": floats(1)},), None, "got inputs ['a'], the model takes ['a', 'b']"),
        (({"a": floats(1), "b": floats(1), "c": floats(1)},), None, "there is no tensor 'c': inputs are a, b"),
        (({"a": floats(1), "sum": floats(1)},), None, "got inputs ['a', 'sum'], the model takes ['a', 'b']"),
        (({"a": floats(1), 99: floats(1)},), None, "got inputs ['a'], the model takes ['a', 'b']"),
        ((floats(1), floats(1)), {"nope": floats(1)}, "out has 'nope', outputs are sum, relu"),
        ((floats(1), floats(1)), {"sum": np.zeros(1)}, "out['sum'] is of dtype float64, must be a writable array of dtype"),
        ((floats(1), floats(1)), {"sum": [0.0]}, "out['sum'] is of type list, must be a writable array of dtype float32"),
        ((floats(1), floats(1)), {"sum": floats(1, 2)}, "out['sum'] is of shape (2,), the output is of shape (1,)"),
        ((floats(1), floats(1)), floats(1), "out is of type ndarray, must map names of outputs to arrays"),
        ((floats(1), [[1.0], [2.0, 3.0]]), None, "Cannot set tensor: Failed to convert value into readable tensor: tensor 1"),
    ],
)  # fmt: skip
def test_run_refuses(inputs: Any, out: Any, text: str) -> None:
    interpreter = pair()
    with pytest.raises(InputError, match="^" + re.escape(text)):
        interpreter.run(*inputs, out=out)
    assert interpreter.run(floats(1), floats(2))["sum"].tolist() == [3]


# Arrays that fit ------------------------------------------------------------------------------------------------------


def quantized(kind: TensorType, *scales: float, zero_points: tuple[int, ...]) -> minilite.Interpreter:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2, len(scales)), kind, quantization=Quantization(scales, zero_points, 1))
    graph.output(graph.node("RESHAPE", [x, graph.constant("flat", np.array([-1], np.int32))], out=("y", (4,), kind)))
    return ready(builder.build())


@pytest.mark.parametrize(
    ("kind", "scale", "zero_point"),
    [(TensorType.INT8, 1 / 255, -128), (TensorType.UINT8, 0.5, 3), (TensorType.INT16, 2.0**-15, 0)],
)
@pytest.mark.parametrize("wrong", [np.float32, np.float64, np.int64])
def test_advice_for_quantized_tensors_is_to_quantize(
    kind: TensorType, scale: float, zero_point: int, wrong: Any
) -> None:
    """Runs the code in the message; it gives the integers for these real values."""
    interpreter = quantized(kind, scale, zero_points=(zero_point,))
    scale = float(np.float32(scale))
    x = np.array([[0.25], [1.0]]) * (20 if wrong is np.int64 else 1)
    with pytest.raises(InputError) as caught:
        interpreter.set_tensor(0, x.astype(wrong))
    advice = str(caught.value).split("quantize real values x with ")[1]
    value = eval(advice, {"np": np, "x": x})
    interpreter.set_tensor(0, value)
    limits = np.iinfo(value.dtype)
    assert np.array_equal(value, np.clip(np.round(x / scale + zero_point), limits.min, limits.max))


def test_advice_for_pixels() -> None:
    """Pixels are not real values: pixel 200 becomes 72 if pixel 255 becomes 127."""
    interpreter = quantized(TensorType.INT8, 1 / 255, zero_points=(-128,))
    p = np.array([[200], [0]], np.uint8)
    with pytest.raises(InputError) as caught:
        interpreter.set_tensor(0, p)
    advice = str(caught.value).split("become int8 with ")[1]
    interpreter.set_tensor(0, eval(advice, {"p": p}))
    assert interpreter.get_tensor(0).tolist() == [[72], [-128]]


def test_advice_for_channels_names_scales() -> None:
    with pytest.raises(InputError, match=r"by channel with np\.round\(x / scales \+ zero_points\)\.clip\(-128, 127\)"):
        quantized(TensorType.INT8, 0.5, 0.25, zero_points=(0, 0)).set_tensor(0, np.zeros((2, 2)))


def test_advice_for_tensors_without_a_scale_is_to_convert() -> None:
    with pytest.raises(InputError, match=r"; convert it with \.astype\('float32'\)$"):
        ready(relu_chain()).set_tensor(0, np.zeros(4))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "NoneType"),
        (b"hello", "bytes"),
        (object(), "object"),
        ({"x": 1}, "dict"),
        (["a", "b"], "list"),
        (np.array([1, None]), "ndarray of object"),
    ],
)
def test_non_numbers_get_no_advice_to_convert(value: Any, named: str) -> None:
    with pytest.raises(InputError) as caught:
        ready(relu_chain()).set_tensor(0, value)
    assert str(caught.value) == (
        f"Cannot set tensor: Got value of type {named} but expected type FLOAT32 for input 0, name: x; "
        "pass an array of numbers of shape (4,)"
    )


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ((1, 3, 8, 6), "; channels come last: transpose it with .transpose(0, 2, 3, 1)"),
        ((1, 8, 7, 3), "; for another size resize_tensor_input and allocate_tensors come first"),
    ],
)
def test_shapes_are_both_named_and_channels_first_is_seen(shape: tuple[int, ...], advice: str) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("RELU", [graph.input("image", (1, 8, 6, 3))], out=("y", (1, 8, 6, 3))))
    interpreter, image = ready(builder.build()), np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with pytest.raises(InputError) as caught:
        interpreter.set_tensor(0, image)
    assert str(caught.value).endswith(f": shape {shape} where (1, 8, 6, 3) is allocated{advice}")
    if "transpose" in advice:
        interpreter.set_tensor(0, image.transpose(0, 2, 3, 1))


def test_a_model_in_the_place_of_a_path() -> None:
    data = relu_chain()
    for source in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        interpreter: minilite.Interpreter = minilite.Interpreter(source)  # type: ignore[arg-type]
        assert interpreter.run(floats(-1, 1))["y2"].tolist() == [0, 1]
    with pytest.raises(minilite.ModelNotFoundError, match=r"'nope\.tflite'"):
        minilite.Interpreter(b"nope.tflite")
    with pytest.raises(minilite.ModelFormatError) as caught:
        minilite.Interpreter(bytes(100_000))
    assert len(str(caught.value)) < 300


# Shapes and values that say too little --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (5, r"^Shape should be 1D instead of 0: tensor 0 \('x'\), got 5: give every dimension, as in \(4,\)$"),
        ("4", "^Shape should be 1D instead of 0: tensor 0 .*got '4': give every"),
        ([[1], [2, 3]], "^Shape should be 1D instead of 2"),
        (
            (None,),
            r"^the shape \(None,\) of tensor 0 \('x'\) is not of whole numbers: give every dimension, as in \(4,\)$",
        ),
        ((1.5,), r"^the shape \(1\.5,\) of tensor 0 \('x'\) is not of whole numbers"),
        (np.array([np.nan]), r"^the shape array\(\[nan\]\) of tensor 0 \('x'\) is not of whole numbers"),
        (("four",), r"^the shape \('four',\) of tensor 0 \('x'\) is not of whole numbers"),
    ],
)
def test_resize_takes_shapes_and_refuses_other_values(size: Any, message: str) -> None:
    interpreter = ready(relu_chain())
    with pytest.raises(InputError, match=message):
        interpreter.resize_tensor_input(0, size)
    for taken in ((2.0,), np.array([2.0]), ("2",), np.array([2], np.uint8), [np.int64(2)]):  # as in LiteRT
        interpreter.resize_tensor_input(0, taken)  # type: ignore[arg-type]
        interpreter.allocate_tensors()
        assert interpreter.get_tensor(0).shape == (2,)


@pytest.mark.parametrize("value", [None, "text", object(), {1: 2}, np.array(["a"])])
def test_arrays_of_no_numbers_are_refused_before_their_shape_is_read(value: Any) -> None:
    interpreter = ready(one_signature())
    name = "ndarray of <U1" if isinstance(value, np.ndarray) else type(value).__name__
    text = (
        rf"^Cannot set tensor: Got value of type {name} but expected type FLOAT32 for input 0, name: x; pass an array"
    )
    inputs = [lambda: interpreter.run({"x": value}), lambda: interpreter.get_signature_runner()(a=value)]
    for call in inputs + ([] if isinstance(value, dict) else [lambda: interpreter.run(value)]):
        with pytest.raises(InputError, match=text):
            call()
    assert interpreter.get_tensor(0).shape == (1, 4)


def test_a_missing_or_spare_first_dimension_is_named() -> None:
    interpreter = ready(one_signature())
    with pytest.raises(
        InputError, match=r"shape \(4,\) where \(1, 4\) is allocated; add the first dimension with x\[None\]$"
    ):
        interpreter.set_tensor(0, np.zeros(4, np.float32))
    with pytest.raises(InputError, match=r"is allocated; take the first dimension off with x\[0\]$"):
        interpreter.set_tensor(0, np.zeros((1, 1, 4), np.float32))
    with pytest.raises(InputError, match=r"shape \(3,\) where \(1, 4\) is allocated$"):
        interpreter.set_tensor(0, np.zeros(3, np.float32))


def test_signatures_take_arrays_by_name() -> None:
    with pytest.raises(InputTypeError, match=r"^a signature takes its arrays by name: a=\.\.\.$"):
        ready(one_signature()).get_signature_runner()(np.zeros((1, 4), np.float32))


def test_memory_that_is_not_there_is_stated() -> None:
    huge = (2**31 - 1, 2**18)
    fresh = minilite.Interpreter(model_content=relu_chain())
    fresh.resize_tensor_input(0, huge)
    with pytest.raises(minilite.ArenaError, match=r"^the arena needs \d+ bytes, the system refused them$"):
        fresh.allocate_tensors()
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(0, huge)
    with pytest.raises(minilite.ArenaError, match=r"^the arena needs \d+ bytes, has \d+, the system refused more$"):
        interpreter.allocate_tensors()
    interpreter.invoke()
