"""Mistakes of new users: each error is one line that names the argument, says what it is, and what to do."""

from __future__ import annotations

import io
import mmap
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import custom_chain, ready, relu_chain
from PIL import Image
from support.media import png

import minilite
from minilite import Interpreter, load_model
from minilite.errors import InputError, InputTypeError, MiniliteError, ShapeError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.reader import read_model


def image_model(kind: TensorType = TensorType.FLOAT32, shape: tuple[int, ...] = (1, 4, 4, 3)) -> bytes:
    """A convolution that wants three channels in the last place."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("image", shape, kind, signature=(-1, -1, -1, 3))
    weights = graph.constant("w", np.ones((2, 1, 1, 3), np.float32))
    if kind != TensorType.FLOAT32:
        x = graph.node("CAST", [x], out=("cast", shape))
    graph.output(graph.node("CONV_2D", [x, weights], out=("y", (1, 4, 4, 2)), options={"stride_w": 1, "stride_h": 1}))
    return builder.build()


CLASS = "model_path is of type "
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "number": (lambda: Interpreter(3), CLASS + "int, must be a path"),
    "interpreter": (lambda: Interpreter(ready(relu_chain())), "or a Model, such as its .model; .clone() makes another"),
    "array of floats": (lambda: Interpreter(np.zeros(40)), "the array is of float64: a model's bytes are of uint8"),
    "path as content": (lambda: Interpreter(model_content="m.tflite"), "must be a model's bytes; a path or a Model comes first"),
    "Model as content": (lambda: Interpreter(model_content=load_model(relu_chain())), "a path or a Model comes first"),
    "list as content": (lambda: Interpreter(model_content=[1]), "model_content is of type list, must be a model's bytes"),
    "load None": (lambda: load_model(None), "path is of type NoneType, must be a path or a model's bytes"),
    "load list": (lambda: load_model(["m.tflite"]), "path is of type list, must be a path or a model's bytes"),
    "load array": (lambda: load_model(np.zeros(3)), "path is of type ndarray, must be a path"),
}  # fmt: skip


def gaps() -> memoryview:
    return memoryview(relu_chain() * 2)[::2]


def released() -> memoryview:
    view = memoryview(relu_chain())
    view.release()
    return view


def unmapped() -> mmap.mmap:
    memory = mmap.mmap(-1, 4096)
    memory.close()
    return memory


GONE = "the memory of the model's bytes is gone: "
UNREADABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "gaps": (gaps, "the model's bytes have gaps between them, strides (2,): must be contiguous, as bytes(it) is"),
    "released": (released, f"{GONE}operation forbidden on released memoryview object"),
    "unmapped": (unmapped, f"{GONE}mmap closed or invalid"),
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("read", [lambda it: Interpreter(model_content=it), Interpreter, load_model, read_model])
def test_bytes_that_cannot_be_read(name: str, read: Callable[[Any], Any]) -> None:
    content, text = UNREADABLE[name]
    if read is load_model and name == "unmapped":
        text = "path is of type mmap, must be a path or a model's bytes"
    with pytest.raises(InputError) as caught:
        read(content())
    assert str(caught.value) == text


def test_bytes_in_several_dimensions_and_other_elements_are_read() -> None:
    data = relu_chain() + bytes(-len(relu_chain()) % 4)
    for view in (memoryview(data).cast("B", (2, len(data) // 2)), memoryview(data).cast("i")):
        for read in (lambda it: Interpreter(model_content=it).model, load_model, read_model):
            assert read(view) == read_model(data)
    for nothing in (np.array(3, np.uint8), memoryview(np.zeros((0, 3), np.uint8))):
        with pytest.raises(MiniliteError, match=r"the model has 1 bytes|specified. Neither is, or it is empty"):
            Interpreter(model_content=nothing)


def closed() -> io.BytesIO:
    file = io.BytesIO(relu_chain())
    file.close()
    return file


def read() -> io.BytesIO:
    file = io.BytesIO(relu_chain())
    file.read()
    return file


BOTH = "Can't both provide `model_path` and `model_content`: leave one of them out"
CONSTRUCTED: dict[str, tuple[Callable[[], Any], str]] = {
    "closed file": (lambda: Interpreter(closed()), "the file is closed, must be open while it is read: within its `with`, or give its path"),
    "closed content": (lambda: Interpreter(model_content=closed()), "the file is closed, must be open while it is read: within its `with`, or give its path"),
    "read file": (lambda: Interpreter(read()), f"the file has been read already, up to its end at byte {len(relu_chain())}: file.seek(0) goes back to the start"),
    "threads second": (lambda: Interpreter("m.tflite", 4), f"{BOTH}, the second came as 4: threads are num_threads=4"),
    "Model and threads": (lambda: Interpreter(load_model(relu_chain()), 4), f"{BOTH}, the second came as 4: threads are num_threads=4"),
    "Model and content": (lambda: Interpreter(load_model(relu_chain()), relu_chain()), BOTH),
    "a function of numpy's": (lambda: Interpreter(custom_chain("Sinh"), custom_ops={"Sinh": np.sinh}), "custom_ops['Sinh'] is numpy's sinh, must take the node first: lambda node, *x: np.sinh(*x)"),
    "one delegate": (lambda: Interpreter(relu_chain(), experimental_delegates=object()), "delegates are not supported, got one of type object: all nodes run without experimental_delegates"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_arguments_of_the_constructor_that_do_not_go_together(name: str) -> None:
    call, text = CONSTRUCTED[name]
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("name", MODELS)
def test_wrong_models_are_refused_in_one_line(name: str) -> None:
    call, text = MODELS[name]
    with pytest.raises(InputTypeError) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


FIRST = "takes the number, the name or the details of a tensor"
PIXELS = np.zeros((1, 4, 4, 3), np.float32)
ARGUMENTS: dict[str, tuple[Callable[[Interpreter], Any], str]] = {
    "swapped shape": (lambda i: i.resize_tensor_input([1, 4, 4, 3], 0), FIRST + " first, then what is to be done to it: got a list"),
    "a shape for shapes": (lambda i: i.plan_for((1, 4, 4, 3)), "shapes is of type tuple, must map names or numbers of tensors"),
    "all details": (lambda i: i.set_tensor(i.get_input_details(), PIXELS), "take one of them, as in get_input_details()[0]"),
    "None": (lambda i: i.get_tensor(None), FIRST + ": got NoneType"),
    "float": (lambda i: i.get_tensor(0.0), FIRST + ": got float"),
    "quoted": (lambda i: i.get_tensor("0"), "there is no tensor '0': inputs are image, outputs are y; a number is given without quotes: 0"),
    "Path": (lambda i: i.run(pathlib.Path("cat.png")), "pass an array of numbers, not a path: read the file first"),
    "pixels": (
        lambda i: i.set_tensor(0, PIXELS.astype(np.uint8)),
        "convert it with .astype('float32'), and scale pixels as the model was trained, often to x / 255 or x / 127.5 - 1",
    ),
    "path for real numbers": (lambda i: i.run_real("cat.png"), "pass an array of numbers, not a path: read the file first"),
    "words for real numbers": (lambda i: i.run_real(["cat"]), "Got value of type"),
    "image": (lambda i: i.set_tensor(0, Image.open(io.BytesIO(png(np.zeros((4, 4, 3), np.uint8))))), "scale pixels"),
    "two batches": (lambda i: i.set_tensor(0, PIXELS[None]), "; take the first dimension off with x[0]"),
    "grey": (lambda i: i.set_tensor(0, PIXELS[..., :1]), "make three channels of a grey one with np.repeat(x, 3, axis=-1)"),
    "transparent": (lambda i: i.set_tensor(0, np.zeros((1, 4, 4, 4), np.float32)), "take the fourth channel off with x[..., :3]"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments_are_refused_in_one_line(name: str) -> None:
    call, text = ARGUMENTS[name]
    with pytest.raises(InputError) as caught:
        call(ready(image_model()))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "remedy", "mend"),
    [
        (PIXELS[0], "; add the first dimension with x[None]", lambda x: x[None]),
        (PIXELS[None], "; take the first dimension off with x[0]", lambda x: x[0]),
        (np.zeros((1, 3, 4, 4)), "; channels come last: transpose it with", lambda x: x.transpose(0, 2, 3, 1)),
        (PIXELS[..., :1], "; make three channels of a grey one", lambda x: np.repeat(x, 3, axis=-1)),
        (np.zeros((1, 4, 4, 4)), "; take the fourth channel off", lambda x: x[..., :3]),
        (np.zeros((1, 4, 4, 7)), ": subgraph 0, node 0 (CONV_2D 'y')", lambda x: x[..., :3]),
    ],
)
def test_run_says_which_input_a_node_refuses_and_how_to_mend_it(
    array: Any, remedy: str, mend: Callable[[Any], Any]
) -> None:
    interpreter, array = ready(image_model()), array.astype(np.float32)
    with pytest.raises(ShapeError) as caught:
        interpreter.run(array)
    assert str(caught.value).startswith(
        f"input 'image' is of shape {array.shape}, the model's is (-1, -1, -1, 3){remedy}"
    )
    assert caught.value.op == "CONV_2D"
    assert interpreter.run(mend(array))["y"].shape == (1, 4, 4, 2)


def test_channels_that_should_come_first() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("RELU", [graph.input("x", (1, 3, 8, 6))], out=("y", (1, 3, 8, 6))))
    with pytest.raises(InputError, match=r"channels come first: transpose it with .transpose\(0, 3, 1, 2\)$"):
        ready(builder.build()).set_tensor(0, np.zeros((1, 8, 6, 3), np.float32))


def test_a_node_that_refuses_the_models_own_shapes_is_named_alone() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, y = graph.input("x", (2,)), graph.input("y", (3,))
    graph.output(graph.node("ADD", [x, y], out=("z", (2,))))
    with pytest.raises(ShapeError) as caught:
        Interpreter(builder.build()).run(np.zeros(2, np.float32), np.zeros(3, np.float32))
    assert str(caught.value).startswith("subgraph 0, node 0 (ADD 'z'): ")


def test_advice_for_pictures_in_integer_models_is_to_cast() -> None:
    with pytest.raises(minilite.InputError) as caught:
        ready(image_model(TensorType.INT32)).set_tensor(0, PIXELS.astype(np.uint8))
    assert str(caught.value).endswith("convert it with .astype('int32')")
