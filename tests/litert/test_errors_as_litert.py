"""The error for every misuse of the interpreter, compared with LiteRT's."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import floats, one_signature, ready, relu_chain, run, signed
from support.peer import interpreter as oracle

import minilite
from minilite import interpreter as ours

# Misuse: each call is made on LiteRT too, and ours raises an error that is an instance of what LiteRT raises ----------


def allocated(kind: Any, model: bytes | None = None) -> Any:
    interpreter = kind(model_content=relu_chain() if model is None else model)
    interpreter.allocate_tensors()
    return interpreter


def holding_a_view(kind: Any) -> Any:
    interpreter = allocated(kind)
    view = interpreter.tensor(0)()
    interpreter.resize_tensor_input(0, (9,))
    interpreter.allocate_tensors()
    return view


def resized_not_allocated(kind: Any) -> Any:
    interpreter = allocated(kind)
    interpreter.resize_tensor_input(0, (9,))
    return interpreter


def there_and_back(kind: Any) -> Any:
    interpreter = resized_not_allocated(kind)
    interpreter.resize_tensor_input(0, (4,))
    return interpreter


def runner_of(kind: Any) -> Any:
    return ours.SignatureRunner if kind is minilite.Interpreter else oracle.SignatureRunner


ZEROS = np.zeros(4, np.float32)
MISUSE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "empty path": (lambda kind: kind(""), "`model_path` or `model_content` must be specified."),
    "empty bytes": (lambda kind: kind(model_content=b""), "`model_path` or `model_content` must be specified."),
    "both": (lambda kind: kind("/nope", relu_chain()), "Can't both provide `model_path` and `model_content`"),
    "directory": (lambda kind: kind("/"), "Could not open '/'"),
    "garbage": (lambda kind: kind(model_content=b"garbage" * 20), ""),
    "truncated": (lambda kind: kind(model_content=relu_chain()[:200]), ""),
    "number as path": (lambda kind: kind(5), ""),
    "str as bytes": (lambda kind: kind(model_content="TFL3"), ""),
    "minus one thread": (lambda kind: kind(model_content=relu_chain(), num_threads=-1), "num_threads should >= 1"),
    "invoke after resize": (lambda kind: resized_not_allocated(kind).invoke(), "Invoke called on model that is not ready"),
    "early view": (
        lambda kind: kind(model_content=relu_chain()).tensor(0)(),
        "Tensor data is null. Run allocate_tensors() first",
    ),
    "scalar": (
        lambda kind: allocated(kind).set_tensor(0, 1),
        "Cannot set tensor: Got value of type INT64 but expected type FLOAT32 for input 0, name: x",
    ),
    "rank": (
        lambda kind: allocated(kind).set_tensor(0, np.zeros((1, 4), np.float32)),
        "Cannot set tensor: Dimension mismatch. Got 2 but expected 1 for input 0",
    ),
    "dimension": (
        lambda kind: allocated(kind).set_tensor(0, np.zeros(5, np.float32)),
        "Cannot set tensor: Dimension mismatch. Got 5 but expected 4 for dimension 0 of input 0",
    ),
    "set, index": (lambda kind: allocated(kind).set_tensor(9999, ZEROS), "Invalid tensor index 9999 exceeds max tensor index"),
    "set, index below": (lambda kind: allocated(kind).set_tensor(-1, ZEROS), "Invalid tensor index -1 exceeds max tensor index"),
    "get, index below": (lambda kind: allocated(kind).get_tensor(-1), "Invalid tensor index -1 exceeds max tensor index"),
    "get, index None": (lambda kind: allocated(kind).get_tensor(None), "takes the number, the name or the details"),
    "get, all details": (
        lambda kind: allocated(kind).get_tensor(allocated(kind).get_input_details()),
        "takes the number, the name or the details of a tensor: got a list of 1 details, take one of them",
    ),
    "resize, name": (lambda kind: allocated(kind).resize_tensor_input("nope", (3,)), "there is no tensor 'nope'"),
    "get, resized": (
        lambda kind: resized_not_allocated(kind).get_tensor(0),
        "Tensor data is null. Run allocate_tensors() first: tensor 0 ('x') was resized to (9,)",
    ),
    "view, resized": (lambda kind: resized_not_allocated(kind).tensor(0)(), "Tensor data is null. Run allocate_tensors()"),
    "set, resized": (lambda kind: resized_not_allocated(kind).set_tensor(0, np.zeros(9, np.float32)), "Cannot set tensor: "),
    "get, resized there and back": (lambda kind: there_and_back(kind).get_tensor(0), "Tensor data is null. Run allocate"),
    "ragged": (
        lambda kind: allocated(kind).set_tensor(0, [[1.0], [2.0, 3.0]]),
        "Cannot set tensor: Failed to convert value into readable tensor: tensor 0 ('x'): ",
    ),
    "resolver, number": (
        lambda kind: kind(model_content=relu_chain(), experimental_op_resolver_type=17),
        "Unrecognized passed in op resolver type: 17",
    ),
    "resolver, value": (
        lambda kind: kind(model_content=relu_chain(), experimental_op_resolver_type=2),
        "Unrecognized passed in op resolver type: 2",
    ),
    "file as bytes": (
        lambda kind: kind(model_content=io.StringIO("a model")),
        "the file was opened as text, must be opened in binary mode: open(path, 'rb')",
    ),
    "get, index float": (lambda kind: allocated(kind).get_tensor(1.0), ""),
    "view, index": (lambda kind: allocated(kind).tensor(9999)(), "Invalid tensor index 9999 exceeds max tensor index"),
    "get, subgraph": (lambda kind: allocated(kind).get_tensor(0, 5), "Invalid subgraph index 5 exceeds max subgraph index"),
    "details, subgraph": (lambda kind: allocated(kind).get_tensor_details(5), ""),
    "details, index": (lambda kind: allocated(kind)._get_tensor_details(99, 0), "Invalid tensor index 99 exceeds max tensor"),
    "resize, index below": (lambda kind: allocated(kind).resize_tensor_input(-1, (3,)), "tensor_index"),
    "resize, nested": (lambda kind: allocated(kind).resize_tensor_input(0, [[2, 3]]), "Shape should be 1D instead of 2"),
    "resize, strict rank": (
        lambda kind: kind(model_content=one_signature()).resize_tensor_input(0, (2,), strict=True),
        "Attempting to resize tensor 0 ('x') from rank 2 to rank 1",
    ),
    "held view": (holding_a_view, "There is at least 1 reference to internal data"),
    "no signature": (
        lambda kind: kind(model_content=relu_chain()).get_signature_runner(),
        "SignatureDef signature_key is None and model has 0 Signatures. None is only allowed when the model has 1 SignatureDef",
    ),
    "runner of nothing": (lambda kind: runner_of(kind)(), "None interpreter provided"),
    "runner without a key": (lambda kind: runner_of(kind)(kind(model_content=signed())), "None signature_key provided"),
    "runner of no signature": (
        lambda kind: runner_of(kind)(kind(model_content=signed()), "zzz"),
        'Invalid signature_key provided: "zzz".',
    ),
    "which signature": (
        lambda kind: kind(model_content=signed()).get_signature_runner(),
        "SignatureDef signature_key is None and model has 2 Signatures. None is only allowed when the model has 1 SignatureDef",
    ),
    "signature, dtype": (
        lambda kind: kind(model_content=one_signature()).get_signature_runner()(a=np.zeros((1, 4))),
        "Cannot set tensor: Got value of type FLOAT64 but expected type FLOAT32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name: str) -> None:
    call, text = MISUSE[name]
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - any: it says what ours has to be
        call(oracle.Interpreter)
    with pytest.raises(theirs.type) as caught:
        call(minilite.Interpreter)
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)
    if issubclass(theirs.type, (ValueError, RuntimeError)):
        assert isinstance(caught.value, minilite.MiniliteError)


def test_missing_file_is_also_file_not_found() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        minilite.Interpreter("/nope.tflite")
    assert str(caught.value) == "Could not open '/nope.tflite': no such file or directory"


def test_big_endian_is_refused() -> None:
    with pytest.raises(minilite.InputError, match=r"byte order '>'.*\.astype\('float32'\)$") as caught:
        ready(relu_chain()).set_tensor(0, ZEROS.astype(">f4"))
    assert caught.value.tensors == ("x",)


def test_errors_leave_the_interpreter_usable() -> None:
    interpreter = ready(relu_chain())
    for call in (
        lambda: interpreter.set_tensor(0, np.zeros(4)),
        lambda: interpreter.set_tensor(77, ZEROS),
        lambda: interpreter.resize_tensor_input(0, (-1,)),
        lambda: interpreter.resize_tensor_input(0, (2,) * 9),
        lambda: interpreter.get_tensor(0, 3),
        lambda: interpreter.run({"y": ZEROS}),
        lambda: interpreter.run({"x": np.zeros(4)}),
    ):
        with pytest.raises(minilite.InputError):
            call()
        assert run(interpreter, floats(-1, 2, 3, -4))[0].tolist() == [0, 2, 3, 0]


def test_options_that_do_not_exist() -> None:
    with pytest.raises(minilite.InputError, match=r"^planner is 'nope', must be one of default, "):
        minilite.Interpreter(model_content=relu_chain(), planner="nope")
    with pytest.raises(minilite.InputError, match=r"^in_place is 'nope', must be one of none, tflite, wide$"):
        minilite.Interpreter(model_content=relu_chain(), in_place="nope")


def test_delegates() -> None:
    for promised in (ValueError, OSError):
        with pytest.raises(promised, match=r"delegates are not supported, got 'libedgetpu\.so'"):
            ours.load_delegate("libedgetpu.so")
    with pytest.raises(ValueError, match="delegates are not supported, got 1"):
        minilite.Interpreter(model_content=relu_chain(), experimental_delegates=[object()])
    assert minilite.Interpreter(model_content=relu_chain(), experimental_delegates=[])
