"""Two threads on one interpreter, calls from within a run, cancelling it, and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import F32, custom_chain, floats, graph_with, loop, ready, run
from processes import TESTS, comes_true, patience
from support.system import needs_system
from support.weighted import window_options

import minilite
from minilite import KernelError, StateError
from minilite._native.status import LOCKED
from minilite.engine.engine import engine_of
from minilite.engine.session import Session
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

# Threads and signals --------------------------------------------------------------------------------------------------


class Blocked:
    """A run in a thread of its own that waits inside a custom operator until it is let go."""

    def __init__(self, answer: Any = None) -> None:
        self.inside, self.go = threading.Event(), threading.Event()
        self.answer = answer
        self.error: BaseException | None = None
        self.interpreter = ready(custom_chain("Wait"), custom_ops={"Wait": self.wait})
        self.thread = threading.Thread(target=self.invoke)

    def wait(self, node: Any, x: Any) -> Any:
        self.inside.set()
        assert self.go.wait(patience(60))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return 2 * x

    def invoke(self) -> None:
        try:
            self.interpreter.invoke()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def __enter__(self) -> minilite.Interpreter:
        self.interpreter.set_tensor(0, floats(1, 2, 3, 4))
        self.thread.start()
        assert self.inside.wait(patience(60))
        return self.interpreter

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self.thread.join(patience(60))
        assert not self.thread.is_alive()


class Overtaken:
    """A sequence as a copy under the GIL reads it: between its first and its second look a call of another thread
    runs."""

    def __init__(self, session: Any, call: Callable[[], Any]) -> None:
        self.session, self.call, self.looks = session, call, 0
        self.number = session._sequence[0]

    def __getitem__(self, _: int) -> int:
        self.looks += 1
        if self.looks == 2:
            self.call()
            self.number += 2
        return int(self.number)


def refused_calls(interpreter: minilite.Interpreter) -> list[Any]:
    def resize() -> None:
        interpreter.resize_tensor_input(0, (9,))
        interpreter.allocate_tensors()

    return [
        interpreter.invoke,
        lambda: interpreter.set_tensor(0, floats(9, 9, 9, 9)),
        lambda: interpreter.get_tensor(2),
        lambda: interpreter.tensor(2)(),
        lambda: interpreter.plan_for({0: (8,)}),
        interpreter.trim,
        interpreter.reset_all_variables,
        interpreter.reset_resources,
        resize,
    ]


def test_two_threads_on_one_interpreter() -> None:
    with (blocked := Blocked()) as interpreter:
        for call in refused_calls(interpreter):
            with pytest.raises(StateError, match=r"^the interpreter is running in another call: one call at a time$"):
                call()
    assert blocked.error is None
    interpreter.resize_tensor_input(0, (4,))
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


def test_a_refused_thread_does_not_disturb_the_running_one() -> None:
    with (
        (blocked := Blocked(answer=KeyError("the first thread's"))) as interpreter,
        pytest.raises(StateError, match="running"),
    ):
        interpreter.invoke()
    assert isinstance(blocked.error, KeyError)


def test_cancel_after_a_refused_call_says_cancelled() -> None:
    with (blocked := Blocked()) as interpreter:
        with pytest.raises(StateError, match="running"):
            interpreter.invoke()
        interpreter.cancel()
    assert isinstance(blocked.error, KernelError)
    assert str(blocked.error) == "subgraph 0, node 1 (RELU 'z'): the run was cancelled"
    blocked.interpreter.invoke()
    assert blocked.interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


def test_calls_from_within_a_custom_operator_are_refused() -> None:
    found: list[str] = []

    def nosy(node: Any, x: Any) -> Any:
        for call in refused_calls(interpreter):
            with pytest.raises(StateError) as caught:
                call()
            found.append(str(caught.value))
        return x

    interpreter = ready(custom_chain("Nosy"), custom_ops={"Nosy": nosy})
    run(interpreter, floats(1, 2, 3, 4))
    assert len(found) == 9
    assert set(found) == {"the interpreter is running in another call: one call at a time"}


def test_threads_that_come_first_at_once_get_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def slowly(*arguments: Any) -> Session:
        made.append(threading.get_ident())
        time.sleep(0.1)  # the others come meanwhile
        return Session(*arguments)

    monkeypatch.setattr("minilite.engine.engine.Session", slowly)
    interpreter = minilite.Interpreter(model_content=custom_chain("Same"), custom_ops={"Same": lambda node, x: x})
    barrier, found = threading.Barrier(4), []

    def first_use() -> None:
        barrier.wait()
        found.append(engine_of(interpreter).session())

    threads = [threading.Thread(target=first_use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_an_interpreter_that_runs_shows_as_running() -> None:
    with (blocked := Blocked()) as interpreter:
        assert repr(interpreter).splitlines()[0] == "<Interpreter: 2 nodes, 3 tensors, running>"
        for ask in (lambda: interpreter.arena_bytes, lambda: interpreter.counters):
            with pytest.raises(StateError, match="running"):
                ask()
    assert blocked.error is None
    assert (
        repr(interpreter).splitlines()[0] == f"<Interpreter: 2 nodes, 3 tensors, arena {interpreter.arena_bytes} bytes>"
    )


needs_lock = pytest.mark.skipif(not LOCKED, reason="without the global lock every copy takes a turn")


@needs_lock
@pytest.mark.skipif(np.__version__ < "2", reason="all copies are made in C: numpy lets go of the GIL")
@pytest.mark.parametrize("kind", ["get", "set"])
def test_a_small_copy_overtaken_by_a_call_is_repeated(kind: str) -> None:
    interpreter = ready(custom_chain("Same"), custom_ops={"Same": lambda node, x: x})
    session = engine_of(interpreter).session()
    interpreter.set_tensor(0, floats(1, 2, 3, 4))
    assert interpreter.get_tensor(0).tolist() == [1, 2, 3, 4]
    place = session.state.place(0)
    session._sequence = Overtaken(session, lambda: session.state.write(0, place, floats(9, 9, 9, 9)))
    if kind == "get":
        assert interpreter.get_tensor(0).tolist() == [9, 9, 9, 9]
    else:
        interpreter.set_tensor(0, floats(5, 6, 7, 8))
        assert session.state.read(0, place, found := floats(0, 0, 0, 0))
        assert found.tolist() == [5, 6, 7, 8]
    assert session._sequence.looks >= 2


@needs_system
@needs_lock
@pytest.mark.parametrize("elements", [4, 1000, 1 << 14, 1 << 18, 1 << 19])
def test_an_output_overtaken_by_a_call_is_copied_again(elements: int) -> None:
    """Copies by numpy, through a bytearray, by numpy without the lock, and in C are whole and owned, whatever their
    size."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("RELU", [graph.input("x", (elements,))], out=("y", (elements,))))
    interpreter = ready(builder.build())
    session, values = engine_of(interpreter).session(), np.arange(elements, dtype=np.float32)
    interpreter.set_tensor(0, values)
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(1), values)
    session._sequence = Overtaken(session, lambda: (interpreter.set_tensor(0, values + 1), interpreter.invoke()))
    found = interpreter.get_tensor(1)
    assert found.flags.writeable
    interpreter.invoke()
    if session._sequence.looks > 1:  # the longest are copied in C, under a turn
        assert np.array_equal(found, values + 1)
        found[:] = 0
        assert np.array_equal(interpreter.get_tensor(1), values + 1)
    else:
        assert elements == 1 << 19


def test_a_copy_of_a_tensor_that_keeps_moving_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"custom_ops": {"Same": lambda node, x: x}, "experimental_preserve_all_tensors": True}
    interpreter = ready(custom_chain("Same"), **options)
    monkeypatch.setattr(engine_of(interpreter).session().state, "read", lambda *_: False)
    interpreter.invoke()
    with pytest.raises(StateError, match="moves all the time"):
        interpreter.get_tensor(1)


def test_two_interpreters_of_one_model_in_two_threads() -> None:
    with (blocked := Blocked()) as interpreter:
        other = interpreter.clone()
        other.allocate_tensors()
        blocked.go.set()
        assert run(other, floats(4, 3, 2, 1))[0].tolist() == [8, 6, 4, 2]
    assert blocked.error is None
    assert interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


# Ctrl-C ---------------------------------------------------------------------------------------------------------------


def endless_loop() -> tuple[minilite.Interpreter, Callable[[], Any]]:
    """A WHILE that never ends, and a run of it without a turn."""
    same = [("flag", (), TensorType.BOOL), ("x", (4,), F32)]
    model = loop(same, lambda g, x: x[0], lambda g, x: [x[0], g.node("RELU", [x[1]], out=("y", (4,)))])
    interpreter = ready(model)
    interpreter.set_tensor(0, np.array(True))
    return interpreter, lambda: run(interpreter, np.array(False), floats(0, 1, 2, 3))[1].tolist()


def long_node() -> tuple[minilite.Interpreter, Callable[[], Any]]:
    """A convolution of some seconds (5e11 products), and one of a pixel."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 512, 512, 32), signature=(1, -1, -1, 32))
        weights, bias = g.constant("w", np.ones((64, 31, 31, 32), np.float32)), g.constant("b", np.ones(64, np.float32))
        options = window_options("SAME", dilation=(2, 2))
        return [g.node("CONV_2D", [x, weights, bias], out=("y", (1, 512, 512, 64)), options=options)]

    interpreter = ready(graph_with(build))

    def pixel() -> Any:
        interpreter.resize_tensor_input(0, (1, 1, 1, 32))
        interpreter.allocate_tensors()
        return run(interpreter, np.ones((1, 1, 1, 32), np.float32))[0][0, 0, 0, :4].tolist()

    return interpreter, pixel


def run_until_interrupted(interpreter: minilite.Interpreter, again: Callable[[], Any]) -> None:
    """Says when it runs, when it was interrupted, and what comes of a run after that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in children of background jobs
    turns = engine_of(interpreter).shared.sequence

    def watch() -> None:
        while not turns[0] & 1:
            time.sleep(0.001)
        print("running", flush=True)

    try:
        threading.Thread(target=watch, daemon=True).start()
        interpreter.invoke()
    except KeyboardInterrupt:
        print("interrupted", time.time(), flush=True)
    print(again(), flush=True)


def interrupt(what: str, again: str) -> float:
    """Seconds from Ctrl-C to the answer of a run in a process of its own, which can run again afterwards."""
    code = f"import sys; sys.path[:0] = {[str(TESTS), str(TESTS / 'interpreter')]}; import test_threads as t; "
    code += f"t.run_until_interrupted(*t.{what}())"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        guard = threading.Timer(patience(60), process.kill)
        guard.start()
        try:
            assert process.stdout.readline() == "running\n"
            sent = time.time()
            process.send_signal(signal.SIGINT)
            word, when = process.stdout.readline().split()
            assert (word, process.stdout.readline()) == ("interrupted", again)
        finally:
            guard.cancel()
            process.kill()
    return float(when) - sent


@pytest.mark.parametrize(
    ("what", "again"), [("endless_loop", "[0.0, 1.0, 2.0, 3.0]\n"), ("long_node", "[33.0, 33.0, 33.0, 33.0]\n")]
)
def test_ctrl_c(what: str, again: str) -> None:
    """Within 0.2 s, unless the machine is busy elsewhere: then another try counts."""
    assert comes_true(lambda: interrupt(what, again) < 0.2, seconds=30)
