"""minilite.Cancel: a token ends the runs that have it, whether they have begun or not."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest
from built import custom_chain, floats, one_signature, ready, relu_chain, run
from interpreter.test_threads import Blocked, endless_loop, long_node
from processes import patience

import minilite
from minilite.engine.engine import engine_of
from minilite.errors import InputError, InputTypeError, KernelError, StateError
from minilite.format.builder import ModelBuilder

BEFORE = "^the run was cancelled before its first node$"


def counting() -> tuple[minilite.Interpreter, list[int]]:
    """An interpreter whose first node notes that it ran."""
    ran: list[int] = []

    def note(_: Any, x: Any) -> Any:
        ran.append(len(x))
        return x

    interpreter = ready(custom_chain("Note"), custom_ops={"Note": note})
    interpreter.set_tensor(0, floats(1, 2, 3, 4))
    return interpreter, ran


def test_token_set_before_the_run_ends_it_before_its_first_node() -> None:
    interpreter, ran = counting()
    token = minilite.Cancel()
    token.cancel()
    for call in (lambda: interpreter.invoke(cancel=token), lambda: interpreter.run(floats(1, 2, 3, 4), cancel=token)):
        with pytest.raises(KernelError, match=BEFORE):
            call()
    assert ran == []
    interpreter.invoke()  # the token was of the other runs alone
    interpreter.invoke(cancel=minilite.Cancel())
    assert ran == [4, 4]


def test_token_ends_calls_of_signatures_and_of_real_numbers() -> None:
    token, ones = minilite.Cancel(), np.ones((1, 4), np.float32)
    interpreter = minilite.Interpreter(model_content=one_signature())
    runner = interpreter.get_signature_runner()
    calls = [lambda **cancel: runner(a=ones, **cancel), lambda **cancel: interpreter.run_real(ones, **cancel)]
    for call in calls:
        for unset in (None, minilite.Cancel()):
            assert [y.tolist() for y in call(cancel=unset).values()] == [y.tolist() for y in call().values()]
    token.cancel()
    for call in calls:
        with pytest.raises(KernelError, match=BEFORE):
            call(cancel=token)
        with pytest.raises(InputTypeError, match=r"must be a minilite\.Cancel$"):
            call(cancel=ones)
    with pytest.raises(InputTypeError, match="takes its arrays by name"):
        runner(ones, cancel=token)
    with pytest.raises(InputError, match="Invalid number of inputs"):
        runner(cancel=token)


def test_inputs_of_signatures_may_be_named_cancel() -> None:
    b = ModelBuilder()
    g = b.subgraph("main")
    x = g.input("x", (2,))
    y = g.node("RELU", [x], out=("y", (2,)))
    g.output(y)
    b.signature("serving_default", {"cancel": x}, {"y": y})
    runner = minilite.Interpreter(model_content=b.build()).get_signature_runner()
    assert runner(cancel=floats(-1, 2))["y"].tolist() == [0, 2]
    with pytest.raises(InputError, match="Got value of type Cancel"):
        runner(cancel=minilite.Cancel())


def test_cancel_with_nothing_running_has_no_effect() -> None:
    interpreter, ran = counting()
    interpreter.cancel()
    interpreter.invoke(cancel=minilite.Cancel())
    assert ran == [4]


def test_token_stays_set() -> None:
    token = minilite.Cancel()
    assert not token.cancelled
    assert repr(token) == "<minilite.Cancel, not cancelled>"
    for _ in range(2):
        token.cancel()
        assert token.cancelled
    assert repr(token) == "<minilite.Cancel, cancelled>"


def test_token_ends_a_run_between_nodes() -> None:
    token = minilite.Cancel()
    blocked = Blocked()
    plain = blocked.interpreter.invoke
    blocked.interpreter.invoke = lambda: plain(cancel=token)  # type: ignore[method-assign, assignment]
    with blocked:
        token.cancel()
    assert isinstance(blocked.error, KernelError)
    assert str(blocked.error) == "subgraph 0, node 1 (RELU 'z'): the run was cancelled"
    plain()
    assert blocked.interpreter.get_tensor(2).tolist() == [2, 4, 6, 8]


def test_cancel_ends_a_run_that_has_a_token() -> None:
    blocked = Blocked()
    plain = blocked.interpreter.invoke
    blocked.interpreter.invoke = lambda: plain(cancel=minilite.Cancel())  # type: ignore[method-assign, assignment]
    with blocked as interpreter:
        interpreter.cancel()
    assert isinstance(blocked.error, KernelError)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("make", [endless_loop, long_node])
def test_token_ends_long_runs(make: Any, threads: int) -> None:
    interpreter, again = make()
    engine_of(interpreter).shared.set_threads(threads)
    token = minilite.Cancel()
    timer = threading.Timer(0.1, token.cancel)
    timer.start()
    with pytest.raises(KernelError, match="the run was cancelled"):
        interpreter.invoke(cancel=token)
    timer.join()
    again()


def test_one_token_for_many_runs() -> None:
    token, errors = minilite.Cancel(), []

    def invoke(interpreter: minilite.Interpreter) -> None:
        try:
            interpreter.invoke(cancel=token)
        except KernelError as error:
            errors.append(str(error))

    interpreters = [endless_loop()[0] for _ in range(3)]
    threads = [threading.Thread(target=invoke, args=(interpreter,)) for interpreter in interpreters]
    for thread in threads:
        thread.start()
    token.cancel()
    for thread in threads:
        thread.join(patience(60))
    assert len(errors) == 3


def test_signal_handler_may_set_it() -> None:
    interpreter, _ = endless_loop()
    token = minilite.Cancel()
    before = signal.signal(signal.SIGALRM, lambda *_: token.cancel())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KernelError, match="the run was cancelled"):
            interpreter.invoke(cancel=token)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_refused() -> None:
    interpreter = ready(relu_chain())
    for wrong in (True, "token", object()):
        with pytest.raises(InputTypeError, match=r"must be a minilite\.Cancel$"):
            interpreter.invoke(cancel=wrong)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="allocate_tensors"):
        minilite.Interpreter(model_content=relu_chain()).invoke(cancel=minilite.Cancel())
    assert run(interpreter, np.ones(interpreter.get_input_details()[0]["shape"], np.float32))
