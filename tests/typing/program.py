"""A user's program, checked by mypy and pyright: lines marked "wrong" are errors, and no others are."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import minilite
from minilite import InputError, Interpreter, MiniliteError, OpResolverType, SignatureRunner, load_model
from minilite.details import TensorDetails
from minilite.interpreter import InterpreterWithCustomOps, load_delegate


def made(path: Path, mapped: mmap.mmap) -> list[Interpreter]:
    """Models come from paths, bytes and Models."""
    content = path.read_bytes()
    return [
        Interpreter(path),
        Interpreter(str(path), num_threads=2),
        Interpreter(model_content=content),
        Interpreter(model_content=bytearray(content)),
        Interpreter(model_content=memoryview(content)),
        Interpreter(model_content=mapped),
        Interpreter(load_model(path), planner="tflite", in_place="none", load="copy"),
        Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF),
        InterpreterWithCustomOps(None, model_path=path),
        Interpreter(path, planner="fastest"),  # wrong
        Interpreter(path, load="later"),  # wrong
        Interpreter(path, num_threads="2"),  # wrong
        Interpreter(path, in_places="wide"),  # wrong
    ]


def used(interpreter: Interpreter) -> float:
    """Uses details, resizes, runs and reads."""
    detail: TensorDetails = interpreter.get_input_details()[0]
    index: int = detail["index"]
    shape: NDArray[np.int32] = detail["shape"]
    scale, zero_point = detail["quantization"]
    interpreter.resize_tensor_input(index, shape)
    interpreter.resize_tensor_input(detail, [1, 2])
    interpreter.resize_tensor_input("x", (1, np.int64(2)), strict=True)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, np.zeros(shape, detail["dtype"]))
    interpreter.invoke()
    view: Callable[[], NDArray[np.float32]] = interpreter.tensor("y")
    found = interpreter.run({"x": [1.0, 2.0]}, out={"y": np.zeros(2, np.float32)})["y"]
    plan = interpreter.plan_for({"x": (1, 4)})
    bound: int = plan.arena_bytes
    interpreter.bind_tensor("x", None)
    detail["shapes"]  # wrong
    print(interpreter.plan.arena_bytes)  # wrong
    interpreter.resize_tensor_input(index, 3.5)  # wrong
    interpreter.allocate_tensor()  # wrong
    interpreter.run(x=np.zeros(2, np.float32))  # wrong
    text: str = interpreter.arena_bytes  # wrong
    return float(found.sum() + view().sum()) + bound + scale + zero_point + len(text)


def by_signature(interpreter: Interpreter) -> NDArray[np.float32]:
    """Runners, copies, errors."""
    runner: SignatureRunner = interpreter.get_signature_runner("serve")
    other: Interpreter = interpreter.clone()
    with other as inner:
        inner.trim()
    try:
        load_delegate("libdelegate.so")
    except InputError as error:
        names: tuple[str, ...] = error.tensors
        print(names)
    except MiniliteError:
        raise
    print(minilite.__version__, minilite.get_include())
    return runner(x=np.zeros(4, np.float32))["y"]


def own(node: object, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """An operator in Python."""
    return x * 2


def with_own(path: Path) -> Interpreter:
    """Operators of the caller's."""
    Interpreter(path, custom_ops={"Double": 3})  # wrong
    return Interpreter(path, custom_ops={"Double": own})
