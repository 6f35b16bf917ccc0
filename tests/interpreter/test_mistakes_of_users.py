"""55 mistakes that a new user would make: each error is one line that suffices by itself, and begins like LiteRT's."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import custom_chain, one_signature, relu_chain, zeros
from support.foreign import FOREIGN
from support.peer import interpreter as oracle

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.interpreter import InterpreterWithCustomOps

IMAGE = np.zeros((1, 4, 4, 3), np.float32)
LONG = "node" * 60


def image(kind: TensorType = TensorType.FLOAT32) -> bytes:
    """image -> RELU -> y, with a scale where it is of integers."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    scale = Quantization((0.5,), (3,)) if kind == TensorType.INT8 else NOT_QUANTIZED
    x = graph.input("image", IMAGE.shape, kind, quantization=scale)
    graph.output(graph.node("RELU", [x], out=("y", IMAGE.shape, kind, scale)))
    return builder.build()


def convolution() -> bytes:
    """A node with a name of 240 characters, which takes three channels."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("image", IMAGE.shape, signature=(-1,) * 4)
    weights = graph.constant("w", np.ones((2, 1, 1, 3), np.float32))
    graph.output(graph.node("CONV_2D", [x, weights], out=(LONG, (1, 4, 4, 2)), options={"stride_w": 1, "stride_h": 1}))
    return builder.build()


def dense() -> bytes:
    """A row of 42 to three values."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, weights = graph.input("x", (1, 42), signature=(-1, -1)), graph.constant("w", np.ones((3, 42), np.float32))
    graph.output(graph.node("FULLY_CONNECTED", [x, weights, -1], out=("y", (1, 3))))
    return builder.build()


def unresolved() -> bytes:
    """Four nodes of two custom operators, Blur and Sharpen."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    tensor = graph.input("x", (4,))
    for number in range(4):
        tensor = graph.node(("Blur", "Sharpen")[number % 2], [tensor], out=(f"y{number}", (4,)), custom=True)
    graph.output(tensor)
    return builder.build()


def made(kind: Any, model: bytes | None = None, **options: Any) -> Any:
    return kind(model_content=relu_chain() if model is None else model, **options)


def ready(kind: Any, model: bytes | None = None, **options: Any) -> Any:
    interpreter = made(kind, model, **options)
    interpreter.allocate_tensors()
    return interpreter


def resize(kind: Any, shape: Any, model: bytes | None = None, tensor: Any = 0, **options: Any) -> None:
    interpreter = ready(kind, model)
    interpreter.resize_tensor_input(tensor, shape, **options)
    interpreter.allocate_tensors()


def file(kind: Any, folder: Path, what: str) -> Any:
    path = folder / "m.tflite"
    path.write_bytes(FOREIGN[what][0])
    return kind(str(path))


def foo(function: Any) -> Callable[[Any, Path], Any]:
    """An interpreter that runs a custom operator."""
    return lambda kind, _: ready(kind, custom_chain("Foo"), custom_ops={"Foo": function}).invoke()


SET, FLAT = "Cannot set tensor: ", "The model is not a valid Flatbuffer buffer: "
WHICH = "takes the number, the name or the details of a tensor"
NAMES = "inputs are x, outputs are y2"
IDENTIFIER = "file identifier at byte 4 is b'{}', a .tflite file has b'TFL3': it looks like "
INT8 = "expected type INT8 for input 0, name: image; quantize real values x with np.round(x / 0.5 + 3).clip(-128, 127).astype('int8')"
SIGNATURE = "ResizeInputTensorStrict only allows mutating unknown dimensions identified by -1."
ROWS: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    # Arguments in place of a model
    "nothing": (lambda kind, _: kind(), "`model_path` or `model_content` must be specified. Neither is, or it is empty: a path or a model's bytes come first, as in Interpreter('model.tflite')"),
    "bytes that are no model": (lambda kind, _: kind(b"\0page" * 2000), FLAT + "file identifier at byte 4 is b'e\\x00pa', a .tflite file has b'TFL3'"),
    "a list": (lambda kind, _: kind(["m.tflite"]), "model_path is of type list, must be a path, a model's bytes, an open file or a Model"),
    "a file of text": (lambda kind, _: kind(io.StringIO("m")), "the file was opened as text, must be opened in binary mode: open(path, 'rb')"),
    "no such file": (lambda kind, folder: kind(str(folder / "m.tflite")), "Could not open '{folder}/m.tflite': no such file or directory"),
    "a folder": (lambda kind, folder: kind(str(folder)), "Could not open '{folder}': is a directory: a .tflite file is wanted"),
    "a page": (lambda kind, folder: file(kind, folder, "page"), FLAT + "'{folder}/m.tflite': " + IDENTIFIER.format("OCTY") + "an HTML page, perhaps of a download that failed"),
    "a pointer": (lambda kind, folder: file(kind, folder, "pointer"), FLAT + "'{folder}/m.tflite': " + IDENTIFIER.format("ion ") + "a Git LFS pointer, the model has to be fetched: git lfs pull"),
    "an archive": (lambda kind, folder: file(kind, folder, "zip"), FLAT + "'{folder}/m.tflite': " + IDENTIFIER.format("\\x14\\x00\\x00\\x00") + "a bundle (.task or .zip) of 1 model, a/model.tflite: ':a/model.tflite' after its path is the first one"),
    "another format": (lambda kind, folder: file(kind, folder, "h5"), FLAT + "'{folder}/m.tflite': " + IDENTIFIER.format("\\r\\n\\x1a\\n") + "an HDF5 file, such as Keras's .h5, which has to be converted to .tflite: tf.lite.TFLiteConverter.from_keras_model"),
    "half a file": (lambda kind, folder: file(kind, folder, "half"), FLAT + "'{folder}/m.tflite': Model.operator_codes at byte 452: lies beyond the file's 242 bytes; the file ends at byte 242, its tables reach to byte 456: truncated?; it has to be fetched again"),
    # The other arguments of the constructor
    "no such argument": (lambda kind, _: made(kind, threads=2), "Interpreter.__init__() got an unexpected keyword argument 'threads': near it is num_threads"),
    "no threads": (lambda kind, _: made(kind, num_threads=0), "num_threads should >= 1, got 0"),
    "threads in quotes": (lambda kind, _: made(kind, num_threads="2"), "type of num_threads should be int, got str"),
    "a resolver by name": (lambda kind, _: made(kind, experimental_op_resolver_type="BUILTIN_REF"), "Unrecognized passed in op resolver type: BUILTIN_REF: takes a member, such as OpResolverType.BUILTIN_REF"),
    "a planner misspelt": (lambda kind, _: made(kind, planner="exakt"), "planner is 'exakt', must be one of default, naive, tflite, greedy_by_size, greedy_by_breadth, exact, strip_packing, tflm, equality, greedy_in_order, shared_greedy_by_size, shared_greedy_by_size_improved, shared_greedy_by_breadth, min_cost_flow"),
    "registerers": (lambda kind, _: (InterpreterWithCustomOps if kind is minilite.Interpreter else oracle.InterpreterWithCustomOps)(["Registerer"], model_content=relu_chain()), "Looking up symbol 'Registerer' failed: custom_op_registerers are C++ and cannot be loaded: give Python functions, as in custom_ops={'Name': function}"),
    # Before allocate_tensors
    "invoked early": (lambda kind, _: made(kind).invoke(), "Invoke called on model that is not ready: allocate_tensors() has to come first"),
    "set early": (lambda kind, _: made(kind).set_tensor(0, zeros(4)), SET + "Tensor is unallocated. Try calling allocate_tensors() first"),
    "read early": (lambda kind, _: made(kind).get_tensor(0), "Tensor data is null. Run allocate_tensors() first: tensor 0 ('x') has no memory"),
    # Values to set
    "floats for int8": (lambda kind, _: ready(kind, image(TensorType.INT8)).set_tensor(0, IMAGE), SET + "Got value of type FLOAT32 but " + INT8),
    "uint8 for int8": (lambda kind, _: ready(kind, image(TensorType.INT8)).set_tensor(0, IMAGE.astype(np.uint8)), SET + "Got value of type UINT8 but " + INT8 + "; pixels p and values quantized to uint8 become int8 with (p.astype('int16') - 128).astype('int8')"),
    "None": (lambda kind, _: ready(kind).set_tensor(0, None), SET + "Got value of type NoneType but expected type FLOAT32 for input 0, name: x; pass an array of numbers of shape (4,)"),
    "a path": (lambda kind, _: ready(kind).set_tensor(0, "cat.png"), SET + "Got value of type str but expected type FLOAT32 for input 0, name: x; pass an array of numbers of shape (4,), not a path: read the file first"),
    "float64": (lambda kind, _: ready(kind).set_tensor(0, np.zeros(4)), SET + "Got value of type FLOAT64 but expected type FLOAT32 for input 0, name: x; convert it with .astype('float32')"),
    "a list of integers": (lambda kind, _: ready(kind).set_tensor(0, [1, 2, 3, 4]), SET + "Got value of type INT64 but expected type FLOAT32 for input 0, name: x; convert it with np.array(x, 'float32')"),
    "channels first": (lambda kind, _: ready(kind, image()).set_tensor(0, IMAGE.transpose(0, 3, 1, 2)), SET + "Dimension mismatch. Got 3 but expected 4 for dimension 1 of input 0, name: image: shape (1, 3, 4, 4) where (1, 4, 4, 3) is allocated; channels come last: transpose it with .transpose(0, 2, 3, 1)"),
    "no batch": (lambda kind, _: ready(kind, image()).set_tensor(0, IMAGE[0]), SET + "Dimension mismatch. Got 3 but expected 4 for input 0, name: image: shape (4, 4, 3) where (1, 4, 4, 3) is allocated; add the first dimension with x[None]"),
    "another size": (lambda kind, _: ready(kind, image()).set_tensor(0, np.zeros((1, 8, 8, 3), np.float32)), SET + "Dimension mismatch. Got 8 but expected 4 for dimension 1 of input 0, name: image: shape (1, 8, 8, 3) where (1, 4, 4, 3) is allocated; for another size resize_tensor_input and allocate_tensors come first"),
    "set by a name": (lambda kind, _: ready(kind).set_tensor("y", zeros(4)), f"there is no tensor 'y': {NAMES}"),
    "set by a dict": (lambda kind, _: ready(kind).set_tensor({"x": 1}, zeros(4)), WHICH + ": got a dict without 'index'; run({name: array}) takes arrays by name"),
    "swapped": (lambda kind, _: ready(kind).set_tensor(zeros(4), 0), WHICH + " first, then the array: got an array of shape (4,) in place of the tensor"),
    # Values to read
    "read by a name": (lambda kind, _: ready(kind).get_tensor("output"), f"there is no tensor 'output': {NAMES}"),
    "read by a number": (lambda kind, _: ready(kind).get_tensor(9999), "Invalid tensor index 9999 exceeds max tensor index 3"),
    "details by a name": (lambda kind, _: ready(kind).get_tensor_details("x"), "subgraph_index takes the number of a subgraph, 0 is the main one: got 'x'"),
    # Other sizes
    "no such tensor": (lambda kind, _: resize(kind, (3,), tensor=99), "tensor_index < context_.tensors_size && tensor_index >= 0 was not true: tensor_index is 99, the model has tensors 0 to 3"),
    "None in a shape": (lambda kind, _: resize(kind, (None,)), "the shape (None,) of tensor 0 ('x') is not of whole numbers: give every dimension, as in (4,)"),
    "-1 in a shape": (lambda kind, _: resize(kind, (-1,)), "BytesRequired number of elements overflowed: tensor 0 ('x') cannot take the shape (-1,), dimensions are 0 to 2147483647"),
    "a number for a shape": (lambda kind, _: resize(kind, 5), "Shape should be 1D instead of 0: tensor 0 ('x'), got 5: give every dimension, as in (4,)"),
    "a fixed dimension": (lambda kind, _: resize(kind, (2, 5), one_signature(), strict=True), f"Attempting to resize dimension 1 of tensor 0 with value 4 to 5. {SIGNATURE}"),
    "five channels": (lambda kind, _: resize(kind, (1, 4, 4, 5), convolution()), f"subgraph 0, node 0 (CONV_2D '{LONG[:29]}..{LONG[-29:]}'): filter depth 3 does not match input depth 5"),
    "43 values": (lambda kind, _: resize(kind, (1, 43), dense()), "subgraph 0, node 0 (FULLY_CONNECTED 'y'): input of shape (1, 43) does not split into rows of the weights' depth 42"),
    # Operators that are not there, and the user's own
    "an unknown operator": (lambda kind, _: ready(kind, custom_chain("Blur")), "Encountered unresolved custom op: Blur, custom_ops is empty: subgraph 0, node 0 (Blur 'y')"),
    "unknown operators": (lambda kind, _: ready(kind, unresolved()), "4 nodes of 2 operators are not supported:\n  Blur x2 (subgraph 0, nodes 0, 2): Encountered unresolved custom op: Blur, custom_ops is empty\n  Sharpen x2 (subgraph 0, nodes 1, 3): Encountered unresolved custom op: Sharpen, custom_ops is empty"),
    "an operator that raises": (foo(lambda node, x: {}["missing key"]), "'missing key'"),
    "no function": (foo(3), "custom_ops['Foo'] is of type int, must be a function or a kernel"),
    "no node": (foo(lambda x: x), "subgraph 0, node 0 (Foo 'y'): custom_ops['Foo'] takes (x), must take the node and its 1 input"),
    "nothing returned": (foo(lambda node, x: None), "subgraph 0, node 0 (Foo 'y'): the function gave None, the node has 1 output"),
    "a list of operators": (lambda kind, _: made(kind, custom_ops=["Foo"]), "custom_ops is of type list, must map names of operators to functions"),
    "an operator of TensorFlow": (lambda kind, _: ready(kind, custom_chain("FlexErf")), "Select TensorFlow op(s), included in the given model, is(are) not supported by this interpreter: convert the model without tf.lite.OpsSet.SELECT_TF_OPS, or give functions in custom_ops: subgraph 0, node 0 (FlexErf 'y')"),
    # Signatures, run, bind_tensor
    "no such signature": (lambda kind, _: made(kind, one_signature()).get_signature_runner("zzz"), 'Invalid signature_key provided: "zzz". The model has serving_default'),
    "too few arrays": (lambda kind, _: made(kind, one_signature()).get_signature_runner()(), "Invalid number of inputs provided for running a SignatureDef, expected 1 vs provided 0: takes a"),
    "no such argument of a signature": (lambda kind, _: made(kind, one_signature()).get_signature_runner()(foo=zeros(4)), "Invalid Input name (foo) for SignatureDef: takes a"),
    "run by keywords": (lambda kind, _: made(kind).run(x=zeros(4)), "Interpreter.run() got an unexpected keyword argument 'x': arrays go by name in a dict, run({'x': array})"),
    "bound as float64": (lambda kind, _: made(kind).bind_tensor("x", np.zeros(4)), "cannot bind tensor 0 ('x'): got float64, must be float32"),
}  # fmt: skip
OURS = {"a planner misspelt", "an operator that raises", "no function", "no node", "nothing returned", "a list of operators", "run by keywords", "bound as float64", "registerers"}  # fmt: skip
"""Uses that LiteRT does not know, or accepts."""
OTHERWISE = {"bytes that are no model", "a list", "a file of text", "a folder", "registerers", "None", "a path", "set by a name", "set by a dict", "swapped", "read by a name", "read by a number", "details by a name", "None in a shape", "five channels", "43 values", "unknown operators"}  # fmt: skip
"""Where LiteRT's words say nothing of what is wrong: its bindings' types, places in its sources, its delegate's
tensors."""


def test_wrong_uses_number_55() -> None:
    assert len(ROWS) == 55


@pytest.mark.parametrize("name", ROWS)
def test_the_answer_suffices(name: str, tmp_path: Path) -> None:
    call, message = ROWS[name]
    with pytest.raises((minilite.MiniliteError, KeyError)) as caught:
        call(minilite.Interpreter, tmp_path)
    assert str(caught.value) == message.replace("{folder}", str(tmp_path))


@pytest.mark.parametrize("name", [name for name in ROWS if name not in OURS])
def test_litert_raises_the_same_class_and_begins_so(name: str, tmp_path: Path) -> None:
    call, _ = ROWS[name]
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - any: it says what ours has to be
        call(oracle.Interpreter, tmp_path)
    with pytest.raises(theirs.type) as caught:
        call(minilite.Interpreter, tmp_path)
    if name not in OTHERWISE:
        words = re.sub(r"^tflite/\S+ ", "", str(theirs.value))  # a place in its sources
        assert str(caught.value).startswith(re.split(r"\.(?=\D|$)|\n", words)[0].rstrip())
