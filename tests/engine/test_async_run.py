"""run_async: runs in a thread, which a cancelled task ends."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Any

import numpy as np
import pytest
from built import custom_chain, floats, ready
from interpreter.test_threads import long_node
from processes import in_subprocess, patience

from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def test_result_is_that_of_run() -> None:
    interpreter = ready(custom_chain("Twice"), custom_ops={"Twice": lambda _, x: x * 2})
    found = asyncio.run(interpreter.run_async(floats(1, 2, 3, 4)))
    assert np.array_equal(found["z"], [2, 4, 6, 8])
    with pytest.raises(InputError):
        asyncio.run(interpreter.run_async({"none": floats(1)}))


def test_tasks_of_one_interpreter_do_not_meet() -> None:
    interpreter = ready(custom_chain("Same"), custom_ops={"Same": lambda _, x: x})

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(interpreter.run_async(floats(n, 1, 2, 3)) for n in range(50)))

    assert [found["z"][0] for found in asyncio.run(all_of_them())] == list(range(50))


def test_cancelled_tasks_end_or_are_right() -> None:
    """1000 of them, at random moments, before their start too."""
    first = ready(custom_chain("Slow"), custom_ops={"Slow": _slow})
    clones = [first, first.clone(), first.clone()]
    rng = random.Random(0)
    outcomes = {"cancelled": 0, "right": 0}

    async def one(number: int) -> None:
        task = asyncio.ensure_future(clones[number % 3].run_async(floats(number, 1, 2, 3)))
        for _ in range(rng.randrange(40)):
            await asyncio.sleep(0)
        task.cancel()
        try:
            assert (await task)["z"][0] == number
            outcomes["right"] += 1
        except asyncio.CancelledError:
            outcomes["cancelled"] += 1

    async def all_of_them() -> None:
        for start in range(0, 1000, 20):
            await asyncio.gather(*(one(number) for number in range(start, start + 20)))

    asyncio.run(all_of_them())
    assert sum(outcomes.values()) == 1000
    assert outcomes["cancelled"]
    for interpreter in clones:
        assert np.array_equal(interpreter.run(floats(1, 2, 3, 4))["z"], floats(1, 2, 3, 4))


def _slow(_: Any, x: Any) -> Any:
    time.sleep(0.0002)
    return x


def test_task_that_is_cancelled_before_it_begins_never_begins() -> None:
    begun, go, ran = threading.Event(), threading.Event(), [0]

    def note(_: Any, x: Any) -> Any:
        ran[0] += 1
        begun.set()
        assert go.wait(patience(60))
        return x

    interpreter = ready(custom_chain("Note"), custom_ops={"Note": note})

    async def two() -> None:
        tasks = [asyncio.ensure_future(interpreter.run_async(floats(1, 2, 3, 4))) for _ in range(2)]
        while not begun.is_set():
            await asyncio.sleep(0)
        tasks[1].cancel()
        for _ in range(10):
            await asyncio.sleep(0)  # the loop passes it on
        go.set()
        await asyncio.wait(tasks)
        assert tasks[1].cancelled()
        assert not tasks[0].cancelled()

    asyncio.run(two())
    assert ran == [1]


def test_timeout_ends_the_kernel() -> None:
    """The loop goes on meanwhile, and the interpreter is free afterwards."""
    interpreter, pixel = long_node()
    turns = 0

    async def limited() -> None:
        nonlocal turns
        task = asyncio.ensure_future(interpreter.run_async(np.ones((1, 512, 512, 32), np.float32)))
        while not task.done() and turns < 20:
            await asyncio.sleep(0.001)
            turns += 1
        await asyncio.wait_for(task, 0.001)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(limited())
    assert turns == 20
    assert pixel() == [33.0] * 4


LEFT = """
import asyncio, threading
from test_async_run import endless, floats

interpreter = endless()
if {daemon}:
    threading.Thread(target=lambda: asyncio.run(interpreter.run_async(floats(1))), daemon=True).start()
else:
    loop = asyncio.new_event_loop()
    task = loop.create_task(interpreter.run_async(floats(1)))
while not interpreter._engine.shared or not interpreter._engine.shared.sequence[0] & 1:
    if not {daemon}:
        loop.run_until_complete(asyncio.sleep(0))
print("runs")
"""


def endless() -> Any:
    """A loop whose condition is always true."""
    builder = ModelBuilder()
    main, test, body = builder.subgraph("main"), builder.subgraph("test"), builder.subgraph("body")
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.output(main.node("WHILE", [main.input("x", (1,))], out=[("y", (1,))], options=options)[0])
    below = test.constant("below", floats(-1))
    test.output(test.node("GREATER", [test.input("x", (1,)), below], out=("more", (1,), TensorType.BOOL)))
    body.output(body.node("ABS", [body.input("x", (1,))], out=("z", (1,))))
    return ready(builder.build())


@pytest.mark.parametrize("daemon", [True, False])
def test_a_process_exits_while_a_run_goes_on(*, daemon: bool) -> None:
    """Its event loop is in a daemon thread, or has been left."""
    outcome = in_subprocess(LEFT.format(daemon=daemon), seconds=60)
    assert outcome.status == 0, outcome.output
    assert "runs" in outcome.output
