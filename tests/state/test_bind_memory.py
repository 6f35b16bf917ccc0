"""Tensors bound to memory that does not belong to numpy: shared, mapped, or of another interpreter; it stays alive."""

from __future__ import annotations

import gc
import pathlib
from multiprocessing import shared_memory
from typing import Any

import numpy as np
import pytest
from built import bound, floats, ready, relu_chain, run

import minilite


def test_shared_memory_cannot_close_under_a_binding() -> None:
    block = shared_memory.SharedMemory(create=True, size=16)
    try:
        array: Any = np.ndarray((4,), np.float32, buffer=block.buf)
        interpreter = bound(relu_chain(), {3: array})
        del array
        other = shared_memory.SharedMemory(block.name)
        run(interpreter, floats(-1, 2, 3, 4))
        assert np.frombuffer(other.buf, np.float32, 4).tolist() == [0, 2, 3, 4]
        other.close()
        with pytest.raises(BufferError):
            block.close()
        assert run(interpreter, floats(1, 2, 3, 4))[0].tolist() == [1, 2, 3, 4]
        interpreter.bind_tensor(3, None)
        interpreter.allocate_tensors()
        assert run(interpreter, floats(5, 2, 3, 4))[0].tolist() == [5, 2, 3, 4]
        block.close()
    finally:
        block.unlink()


def test_memory_mapped_files(tmp_path: pathlib.Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    floats(-1, 2, 3, 4).tofile(source)
    x = np.memmap(source, np.float32, "r", shape=(4,))
    y: Any = np.memmap(target, np.float32, "w+", shape=(4,))
    interpreter = bound(relu_chain(), {"x": x, 3: y})
    interpreter.invoke()
    y.flush()
    assert np.fromfile(target, np.float32).tolist() == [0, 2, 3, 4]
    assert type(interpreter.get_tensor(3)) is np.ndarray


def test_buffers_are_kept_alive() -> None:
    memory = bytearray(16)
    interpreter = bound(relu_chain(), {0: floats(1, 2, 3, 4), 3: np.frombuffer(memory, np.float32)})
    gc.collect()
    interpreter.invoke()
    assert np.frombuffer(memory, np.float32).tolist() == [1, 2, 3, 4]
    with pytest.raises(BufferError):
        memory.append(0)
    view = interpreter.tensor(3)()
    del interpreter
    gc.collect()
    assert view.tolist() == [1, 2, 3, 4]


def test_one_interpreter_feeds_another() -> None:
    first = ready(relu_chain())
    second = bound(relu_chain(), {"x": first.tensor(3)()})
    run(first, floats(-1, 2, 3, 4))
    second.invoke()
    assert second.get_tensor(3).tolist() == [0, 2, 3, 4]
    del first
    gc.collect()
    second.invoke()


class Lying(np.ndarray):  # type: ignore[type-arg]
    """An array that says something else of itself than numpy does."""

    @property
    def __array_interface__(self) -> Any:  # type: ignore[override]
        return {"data": (64, False), "shape": (4,), "typestr": "<f4", "version": 3}

    ctypes = dtype = shape = flags = nbytes = property(lambda _: None)  # type: ignore[assignment]


def test_a_subclass_of_arrays_is_bound_as_numpy_knows_it() -> None:
    """Its own word for its address would be written to."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    memory = np.full(4, -1, np.float32)
    interpreter.bind_tensor(0, memory.view(Lying))
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.arange(4, dtype=np.float32))
    assert memory.tolist() == [0, 1, 2, 3]
    with pytest.raises(minilite.InputError, match="got float64, must be float32"):
        interpreter.bind_tensor(0, np.zeros(4).view(Lying))
