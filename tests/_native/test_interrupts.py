"""An interrupt (Ctrl-C, no memory) at any line of any call leaves a usable interpreter: all memory is freed exactly
once, and Python and C know the same."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import pathlib
import pickle
import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import numpy as np
import pytest
from built import one_signature, relu_chain, zeros
from processes import in_subprocess, patience
from support.interrupts import Interrupt, interrupted

import minilite
from minilite._core import ffi, lib
from minilite._native import owned
from minilite._native.status import fresh_error
from minilite.engine import async_run
from minilite.engine.engine import engine_of
from minilite.engine.session import CHANGES
from minilite.litert.compiled_model import CompiledModel, TensorBuffer

NATIVE = ("_native/", "engine/session.py")


def used(interpreter: minilite.Interpreter, size: int) -> None:
    """Resizes, fills, runs and reads; results are right, and no view is left."""
    x = np.arange(size, dtype=np.float32) - 1
    interpreter._safe_to_run()  # gives up what sessions keep for the next view
    interpreter.resize_tensor_input(0, [size])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    output = interpreter.get_output_details()[0]["index"]
    assert interpreter.get_tensor(output).tolist() == np.maximum(x, 0).tolist()
    assert interpreter.usage.views == 0


def test_a_view_is_pinned_once_or_not_at_all() -> None:
    """Unpinned twice, the memory would be freed while it is in use; never unpinned, it would stay for ever."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    used(interpreter, 4)
    seen = set()
    for turn, place in enumerate(interrupted(lambda: interpreter.tensor(0)()[0], NATIVE)):
        seen.add(place.partition(":")[0])
        used(interpreter, 3 + turn % 3)
    assert any("pinned_buffer" in place for place in seen)


def test_destructors_run_no_line_of_python() -> None:
    """An interrupt in a line of a destructor would be swallowed, and the memory would stay."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    used(interpreter, 4)
    lines: list[str] = []

    def ends(action: Callable[[], object]) -> Any:
        return list(interrupted(action, ("",), opcodes=False))

    views = [interpreter.tensor(0)()]
    engine_of(interpreter).main._owners.clear()  # type: ignore[union-attr]
    lines += ends(views.clear)
    assert interpreter.usage.views == 0
    held: list[Any] = [interpreter, interpreter.plan, interpreter.get_state()]
    del interpreter
    lines += ends(held.clear)
    lines += ends(gc.collect)
    assert lines == []


FEW: dict[str, Callable[[minilite.Interpreter], object]] = {
    "set": lambda one: one.set_tensor(0, zeros(4)),
    "get": lambda one: one.get_tensor(3),
    "view": lambda one: one.tensor(0)(),
    "invoke": minilite.Interpreter.invoke,
    "resize": lambda one: (one.resize_tensor_input(0, [6]), one.allocate_tensors()),
    "bind": lambda one: (one.bind_tensor(0, zeros(4)), one.allocate_tensors()),
    "bind another": lambda one: (one.bind_tensor(0, zeros(4)), one.bind_tensor(0, zeros(4)), one.allocate_tensors()),
    "close": minilite.Interpreter.close,
}
"""Calls of few lines, interrupted at each instruction."""
MANY: dict[str, Callable[[minilite.Interpreter], object]] = {
    "run": lambda one: one.run(zeros(5)),
    "clone": lambda one: one.clone().run(zeros(3)),
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "state": lambda one: one.set_state(one.get_state()),
    "until": lambda one: one.run(zeros(4), until="y0"),
    "since": lambda one: one.run(since={"y0": zeros(4)}),
    "trim": minilite.Interpreter.trim,
    "plan": lambda one: (one.plan_for({"x": (9,)}), one.plan, one.memory),
    "run_async": lambda one: asyncio.run(one.run_async(zeros(4))),
}
"""Calls of many lines, interrupted at each line."""
PARTS = ("_native/", "engine/", "interpreter.py")


@pytest.mark.parametrize("name", [*FEW, *MANY])
def test_an_interpreter_is_usable_after_an_interrupt_anywhere(name: str) -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    action = {**FEW, **MANY}[name]
    used(interpreter, 4)
    turn = 0
    for turn, _ in enumerate(interrupted(lambda: action(interpreter), PARTS, opcodes=name in FEW), 1):
        interpreter.bind_tensor(0, None)
        used(interpreter, 5 + turn % 3)
        assert not engine_of(interpreter).session()._arrays
        used(interpreter, 4)
    assert turn > 3


def test_a_first_use_that_is_interrupted_forgets_no_request() -> None:
    after, interrupt = 0, None
    while interrupt is None or interrupt.where is not None:
        interpreter = minilite.Interpreter(model_content=relu_chain(), num_threads=2)
        interpreter.resize_tensor_input(0, [7])
        interrupt = Interrupt(after, PARTS, opcodes=False)
        interrupt.during(interpreter.allocate_tensors)
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, zeros(7))
        interpreter.invoke()
        assert interpreter.get_tensor(3).shape == (7,), interrupt.where
        after += 3
    assert after > 100


def test_a_first_binding_that_is_interrupted_can_be_made() -> None:
    """Also if the interrupt comes in the loop over all subgraphs, which keeps nothing until it ends."""
    after, interrupt = 0, None
    while interrupt is None or interrupt.where is not None:
        interpreter = minilite.Interpreter(model_content=relu_chain(1))
        interpreter.allocate_tensors()
        interrupt = Interrupt(after, PARTS, opcodes=False)
        interrupt.during(lambda one=interpreter: one.bind_tensor(0, zeros(4)))  # type: ignore[misc]
        interpreter.bind_tensor(0, np.ones(4, np.float32))
        interpreter.allocate_tensors()
        interpreter.invoke()
        assert interpreter.get_tensor(1).tolist() == [1] * 4, interrupt.where
        after += 1
    assert after > 5


def test_one_thread_binds_while_others_read() -> None:
    """Each call is served, or refused with an error of the family; it goes on until each was served."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    interpreter.allocate_tensors()
    odd: list[Exception] = []

    def put() -> None:
        interpreter.set_tensor(0, zeros(int(interpreter.get_input_details()[0]["shape"][0])))

    def bind(turn: int) -> None:
        size = 1 + turn % 3
        interpreter.bind_tensor(0, zeros(size) if turn % 2 else None)
        interpreter.resize_tensor_input(0, [size])
        interpreter.allocate_tensors()

    reads = (lambda: interpreter.get_tensor(0), lambda: interpreter.tensor(0)(), put)
    served, bound = [0] * len(reads), threading.Event()

    def tried(call: Callable[[], object]) -> bool:
        try:
            call()
        except minilite.MiniliteError:
            return False
        except Exception as error:  # noqa: BLE001 - it is what the test looks for
            odd.append(error)
        return True

    def binder() -> None:
        turn, end = 0, time.monotonic() + patience(60)
        while turn < 400 or (not all(served) and time.monotonic() < end):
            tried(functools.partial(bind, turn))
            turn += 1
        bound.set()

    def reader(number: int) -> None:
        while not bound.is_set():
            served[number] += tried(reads[number])

    threads = [threading.Thread(target=binder)]
    threads += [threading.Thread(target=reader, args=(number,)) for number in range(len(reads))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert odd == []
    assert all(served), served
    interpreter.bind_tensor(0, None)
    used(interpreter, 4)


NO_MEMORY = """
import _testcapi
import minilite
from minilite._core import ffi, lib
from minilite._native import owned
from minilite.engine import async_run
from minilite.engine.engine import engine_of
from minilite.engine.session import CHANGES
from minilite.litert.compiled_model import CompiledModel, TensorBuffer
from test_interrupts import FEW, relu_chain, used

interpreter = minilite.Interpreter(model_content=relu_chain())
for name in ("set", "get", "view", "invoke", "resize", "close"):
    failed = 0
    while True:
        used(interpreter, 4)
        ended = False
        _testcapi.set_nomemory(failed, failed + 1)
        try:
            FEW[name](interpreter)
            ended = True
        except (MemoryError, minilite.MiniliteError, SystemError):
            pass
        finally:
            _testcapi.remove_mem_hooks()
        used(interpreter, 5 + failed % 3)
        if ended and failed > 60:
            break
        failed += 1
print("fine")
"""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="needs CPython's test module")
def test_an_interpreter_is_usable_after_a_memory_error_anywhere() -> None:
    pytest.importorskip("_testcapi")
    outcome = in_subprocess(NO_MEMORY, seconds=120)
    assert outcome.status == 0, outcome.output
    assert outcome.output.endswith("fine\n")


ALL = ("_native/", "engine/", "interpreter.py", "signature.py", "litert/", "recording/")


def rows(count: int) -> Any:
    return np.arange(4 * count, dtype=np.float32).reshape(count, 4) - 3


def check(found: Any, x: Any) -> None:
    assert found.tolist() == np.maximum(x, 0).tolist()


def test_a_signature_is_usable_after_an_interrupt_anywhere() -> None:
    interpreter = minilite.Interpreter(model_content=one_signature())
    count = 2

    def called(rows_of: int) -> None:
        x = rows(rows_of)
        check(interpreter.get_signature_runner("serving_default")(a=x)["b"], x)

    turn = 0
    for turn, _ in enumerate(interrupted(lambda: called(count), ALL, opcodes=False), 1):  # noqa: B023
        count = 2 + turn % 3
        called(count)
        assert interpreter.usage.views == 0
    assert turn > 20


def test_a_compiled_model_is_usable_after_an_interrupt_anywhere() -> None:
    """A later run does not write the buffers of an interrupted one."""
    model = CompiledModel.from_buffer(one_signature())
    mine = np.empty((2, 4), np.float32)
    output = TensorBuffer.create_from_host_memory(mine)

    def run(count: int, outputs: list[TensorBuffer] | None = None) -> list[TensorBuffer]:
        model.resize_input_tensor(0, (count, 4))
        inputs = model.create_input_buffers(0)
        made = model.create_output_buffers(0) if outputs is None else outputs
        inputs[0].write(rows(count))
        model.run_by_index(0, inputs, made)
        return made

    def right(count: int) -> None:
        check(run(count)[0].read((count, 4), np.float32), rows(count))

    turn = 0
    for turn, _ in enumerate(interrupted(lambda: (run(3), run(2, [output])), ALL, opcodes=False), 1):
        mine[:] = 7
        right(2)
        assert (mine == 7).all()
        right(2 + turn % 3)
    assert turn > 100


def test_an_interpreter_is_usable_after_an_interrupt_of_a_recording(tmp_path: pathlib.Path) -> None:
    """After the interrupt no call is noted, another recording can begin, and no unfinished file is left."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    path, turn = tmp_path / "calls.npz", 0
    recorder: Any = None

    def recorded() -> None:
        nonlocal recorder
        recorder = interpreter.recording(path)
        with recorder:
            interpreter.run(zeros(4))

    for turn, where in enumerate(interrupted(recorded, ALL, opcodes=False), 1):
        engine = engine_of(interpreter)
        if engine.listener is not None:
            assert "__exit__" in where  # at its first line, before it could do anything
            recorder.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        used(interpreter, 4 + turn % 3)
        assert engine.listener is None
        assert not any(
            (vars(session).keys() - {"invoke_unchecked"}) & set(CHANGES) for session in engine.sessions.values()
        )
        left = [each.name for each in tmp_path.iterdir()]
        if left:
            assert left == ["calls.npz"]
            assert minilite.replay(path, relu_chain()).agrees
            path.unlink()
    assert turn > 200


def test_an_interrupted_run_async_ends() -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    used(interpreter, 4)
    turn = 0
    for turn, _ in enumerate(interrupted(lambda: asyncio.run(interpreter.run_async(zeros(4))), ALL, opcodes=False), 1):
        assert not wait(tuple(async_run._under_way), 60).not_done
        assert not async_run._under_way
        used(interpreter, 4 + turn % 3)
        assert asyncio.run(interpreter.run_async(zeros(3)))["y2"].tolist() == [0] * 3
    assert turn > 10


def test_objects_of_c_are_owned_before_they_are_made() -> None:
    """A cell that the call fills owns the object from the start; an object that got its owner after the call could be
    lost in between."""
    for path in (pathlib.Path(minilite.__file__).parent / "_native").glob("*.py"):
        text = path.read_text()
        assert re.findall(r'ffi\.new\("(ml_\w+) \*\*"', text) == [], path.name
        if path.name != "owned.py":
            assert re.findall(r"ffi\.gc\(.*", text) == (
                ['ffi.gc(ffi.cast("ml_error *", address), lib.ml_error_free)'] if path.name == "state.py" else []
            )


def test_a_cell_frees_what_it_holds_once() -> None:
    for kind, make in (("store", lib.ml_store_new), ("cancel", lib.ml_cancel_new)):
        end = getattr(lib, f"ml_{kind}_end")
        cell = owned.empty(f"ml_{kind} **", end)
        assert make(cell, fresh_error()) == lib.ML_OK
        assert cell[0] != ffi.NULL
        end(cell)
        assert cell[0] == ffi.NULL
        end(cell)
        del cell
    gc.collect()


class Counts(ctypes.Structure):
    """The memory that the C library has allocated: struct mallinfo2."""

    _fields_ = (("before", ctypes.c_size_t * 7), ("in_use", ctypes.c_size_t), ("after", ctypes.c_size_t * 2))


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only this C library counts what is allocated")
def test_objects_of_c_are_not_lost_by_interrupts() -> None:
    allocated = ctypes.CDLL(None).mallinfo2
    allocated.restype = Counts
    file = minilite.load_model(pathlib.Path(minilite.__file__).with_name("data") / "digits.tflite").file
    assert file is not None

    def made() -> None:
        interpreter = minilite.Interpreter(model_content=bytes(file.data))
        interpreter.allocate_tensors()
        assert interpreter.plan is not None

    def growth() -> int:
        before = allocated().in_use
        for _ in interrupted(made, ("_native/",)):
            pass
        gc.collect()
        return int(allocated().in_use) - before

    growth()
    # A file, a graph, a plan, a state: each is larger. What is lost is lost in every round, a table that grows is not.
    assert min(growth() for _ in range(3)) < 2000
