#!/usr/bin/env python3
"""Eight threads on one interpreter, any mix of calls: each is served, or refused for a true reason.

    python tools/hammer.py [--seconds 60] [--threads 8] [--seed 0] [--calls invoke,get,...]

Prints how often each call had which outcome. Ends with status 1 when a call raised anything else, 2 when the process
did not come to an end; a crash ends it by its signal, with the stack of every thread.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import functools
import random
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import minilite
from minilite.format.builder import ModelBuilder, SubgraphBuilder
from minilite.format.dtypes import TensorType

SIZES = (1, 7, 100, 10_000, 300_000)
TURNS = 3
GRACE = 60  # seconds that the last calls may take

# The model ------------------------------------------------------------------------------------------------------------


def variable(graph: SubgraphBuilder) -> int:
    """The handle of the variable that all signatures share."""
    handle: int = graph.node("VAR_HANDLE", [], out=("v", (), TensorType.RESOURCE), options={"shared_name": "total"})
    return handle


def count_up(graph: SubgraphBuilder, init: SubgraphBuilder) -> int:
    """Adds 1 to the variable, which CALL_ONCE sets to 0; the sum."""
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": init.index})
    handle, one = variable(graph), graph.constant("one", np.ones(1, np.float32))
    old = graph.node("READ_VARIABLE", [handle], out=("old", (1,)))
    total: int = graph.node("ADD", [old, one], out=("total", (1,)))
    graph.node("ASSIGN_VARIABLE", [handle, total])
    return total


def counting_loop(graph: SubgraphBuilder, test: SubgraphBuilder, body: SubgraphBuilder, x: int) -> int:
    """TURNS turns of x = RELU(x + 1)."""
    carries: list[tuple[str, Sequence[int], TensorType]] = [
        ("n", (), TensorType.INT32),
        ("x", (4,), TensorType.FLOAT32),
    ]
    for subgraph in (test, body):
        for carry in carries:
            subgraph.input(*carry)
    calls = {"cond_subgraph_index": test.index, "body_subgraph_index": body.index}
    start = graph.constant("start", np.array(0, np.int32))
    outs = [("n_out", (), TensorType.INT32), ("looped", (4,), TensorType.FLOAT32)]
    result: int = graph.node("WHILE", [start, x], out=list(outs), options=calls)[1]
    limit = test.constant("limit", np.array(TURNS, np.int32))
    test.output(test.node("LESS", [0, limit], out=("go_on", (), TensorType.BOOL)))
    after = body.node("ADD", [0, body.constant("one", np.array(1, np.int32))], out=("after", (), TensorType.INT32))
    more = body.node("ADD", [1, body.constant("step", np.ones(1, np.float32))], out=("more", (4,)))
    body.output(after, body.node("RELU", [more], out=("next", (4,))))
    return result


def model() -> bytes:
    """x (any number of floats) -> a loop's result, the places of positive values, a count of runs; and a second
    signature.

    It has what runs, resizes and readers could get in each other's way with: a loop, a tensor of dynamic shape, a
    variable tensor, a variable that two signatures share, and a node that the pool's threads share.
    """
    builder = ModelBuilder()
    main, other = builder.subgraph("main"), builder.subgraph("other")
    test, body, init = builder.subgraph("condition"), builder.subgraph("body"), builder.subgraph("init")
    x = main.input("x", (4,), signature=(-1,))
    looped = counting_loop(main, test, body, x)
    zero = main.constant("zero", np.zeros(1, np.float32))
    mask = main.node("LESS", [zero, x], out=("mask", (4,), TensorType.BOOL))
    places = main.node("WHERE", [mask], out=("places", (4, 1), TensorType.INT64))
    kept = main.node("RELU", [main.variable("kept", (4,))], out=("kept_out", (4,)))
    runs = count_up(main, init)
    main.output(looped, places, kept, runs)
    y = other.input("y", (4,), signature=(-1,))
    weights = other.constant("weights", np.ones((4, 1), np.float32))
    rows = other.node("FULLY_CONNECTED", [y, weights], out=("rows", (4, 4)))
    clipped, total = other.node("RELU", [rows], out=("clipped", (4, 4))), count_up(other, init)
    other.output(clipped, total)
    init.node("ASSIGN_VARIABLE", [variable(init), init.constant("zero", np.zeros(1, np.float32))])
    builder.signature("loop", {"x": x}, {"looped": looped, "places": places, "kept": kept, "runs": runs}, main)
    builder.signature("clip", {"y": y}, {"clipped": clipped, "total": total}, other)
    return builder.build()


# What a call may be refused for ---------------------------------------------------------------------------------------


class Reason(NamedTuple):
    """A refusal that is in order: its class, and what its text says."""

    name: str
    kind: type[BaseException]
    words: str


BUSY = Reason("busy", minilite.StateError, "running")
VIEW = Reason("view held", minilite.StateError, r"\bview\b|reference to internal data")
UNREADY = Reason("not ready", minilite.StateError, "not ready|allocate_tensors|released|no memory|no tensors")
OTHER_SIZE = Reason("other size", minilite.InputError, "[Dd]imension mismatch|shape")
CANCELLED = Reason("cancelled", minilite.KernelError, "cancelled")


def outcome(error: BaseException, reasons: Sequence[Reason]) -> str | None:
    """The name of the reason that the error gives; None when it gives none of these."""
    for reason in reasons:
        if isinstance(error, reason.kind) and re.search(reason.words, str(error)):
            return reason.name
    return None


# The calls ------------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """Something to do with the interpreter, and why it may be refused."""

    do: Callable[[minilite.Interpreter, random.Random], object]
    reasons: tuple[Reason, ...]


def ramp(size: int) -> Any:
    return np.arange(size, dtype=np.float32) - np.float32(size // 2)


def check(found: Any, x: Any) -> None:
    """The outputs for x, from an interpreter that nobody else has."""
    expected = np.maximum(np.maximum(x + 1, 0) + 1, 0) + (TURNS - 2)
    if not np.array_equal(found["looped"], expected) or not np.array_equal(found["places"], np.argwhere(x > 0)):
        raise AssertionError(f"wrong results for {x.size} values")


def resize(i: minilite.Interpreter, dice: random.Random) -> None:
    i.resize_tensor_input(0, (dice.choice(SIZES),))
    i.allocate_tensors()


def set_input(i: minilite.Interpreter, _: random.Random) -> None:
    i.set_tensor(0, ramp(int(i.get_input_details()[0]["shape"][0])))


def get(i: minilite.Interpreter, dice: random.Random) -> None:
    i.get_tensor(dice.choice(i.get_output_details())["index"])


def view(i: minilite.Interpreter, dice: random.Random) -> None:
    held = i.tensor(0)()
    float(held[-1])
    if dice.random() < 0.1:
        time.sleep(0.001)


def details(i: minilite.Interpreter, dice: random.Random) -> None:
    dice.choice((i.get_input_details, i.get_output_details, i.get_tensor_details, i.get_ops_details))()


def counters(i: minilite.Interpreter, _: random.Random) -> None:
    if min(i.counters.values()) < 0 or i.arena_bytes < 0:
        raise AssertionError("a count below 0")
    repr(i)


def plan(i: minilite.Interpreter, _: random.Random) -> None:
    now = i.plan
    if now is not None and (now.lower_bound > now.arena_bytes or not now.records()):
        raise AssertionError("a plan below its bound")


def plan_for(i: minilite.Interpreter, dice: random.Random) -> None:
    size = dice.choice(SIZES)
    if i.plan_for({"x": (size,)}).shape(0) != (size,):
        raise AssertionError("a plan for another size")


def run(i: minilite.Interpreter, dice: random.Random) -> None:
    i.run({"x": ramp(dice.choice(SIZES))})


def signature(i: minilite.Interpreter, dice: random.Random) -> None:
    key, name = dice.choice((("loop", "x"), ("clip", "y")))
    i.get_signature_runner(key)(**{name: ramp(dice.choice(SIZES))})


def clone(i: minilite.Interpreter, dice: random.Random) -> None:
    x = ramp(dice.choice(SIZES[:-1]))
    check(i.clone().run({"x": x}), x)


CALLS = {
    "invoke": Call(lambda i, _: i.invoke(), (BUSY, VIEW, UNREADY, CANCELLED)),
    "resize": Call(resize, (BUSY, VIEW)),
    "set": Call(set_input, (BUSY, UNREADY, OTHER_SIZE)),
    "get": Call(get, (BUSY, UNREADY)),
    "view": Call(view, (BUSY, UNREADY)),
    "details": Call(details, (BUSY,)),
    "counters": Call(counters, (BUSY,)),
    "plan": Call(plan, (BUSY,)),
    "plan_for": Call(plan_for, (BUSY,)),
    "trim": Call(lambda i, _: i.trim(), (BUSY, VIEW)),
    "run": Call(run, (BUSY, VIEW, UNREADY, OTHER_SIZE, CANCELLED)),
    "signature": Call(signature, (BUSY, VIEW, UNREADY, OTHER_SIZE, CANCELLED)),
    "reset": Call(lambda i, _: i.reset_all_variables(), (BUSY,)),
    "clone": Call(clone, (BUSY,)),
    "cancel": Call(lambda i, _: i.cancel(), ()),
}

# The threads ----------------------------------------------------------------------------------------------------------


class Tally:
    """Outcomes by call, and the tracebacks of what should not have happened; each thread has its own."""

    def __init__(self) -> None:
        self.outcomes: collections.Counter[tuple[str, str]] = collections.Counter()
        self.faults: collections.Counter[str] = collections.Counter()

    def note(self, name: str, error: BaseException | None) -> None:
        reason = "served" if error is None else outcome(error, CALLS[name].reasons)
        self.outcomes[name, reason or f"WRONG {type(error).__name__}"] += 1
        if error is not None and reason is None:
            self.faults[f"{name}: " + "".join(traceback.format_exception(error))] += 1


def hammer(interpreter: minilite.Interpreter, names: Sequence[str], end: float, seed: str, tally: Tally) -> None:
    """Makes calls at random until `end`."""
    dice = random.Random(seed)
    while time.monotonic() < end:
        name = dice.choice(names)
        try:
            CALLS[name].do(interpreter, dice)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            tally.note(name, error)
        else:
            tally.note(name, None)


def in_the_end(interpreter: minilite.Interpreter) -> None:
    """With the threads gone, the interpreter does what it always did."""
    for size in SIZES:
        check(interpreter.get_signature_runner("loop")(x=ramp(size)), ramp(size))


def report(tallies: Sequence[Tally], names: Sequence[str]) -> int:
    """Prints all outcomes; how many faults there were."""
    outcomes = sum((tally.outcomes for tally in tallies), collections.Counter[tuple[str, str]]())
    faults = sum((tally.faults for tally in tallies), collections.Counter[str]())
    for name in names:
        counts = sorted((count, what) for (call, what), count in outcomes.items() if call == name)
        print(f"{name:10}", ", ".join(f"{what} {count}" for count, what in reversed(counts)) or "-")
    for text, count in faults.most_common(10):
        print(f"\n{count} times {text}", end="")
    print(f"\n{sum(outcomes.values())} calls, {sum(faults.values())} answered wrongly")
    return sum(faults.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", default=",".join(CALLS), help="which calls, separated by commas (all)")
    given = parser.parse_args(arguments)
    names = given.calls.split(",")
    if unknown := set(names) - set(CALLS):
        parser.error(f"no such call: {', '.join(sorted(unknown))}; there are {', '.join(CALLS)}")
    faulthandler.enable()
    faulthandler.dump_traceback_later(given.seconds + GRACE, exit=True)
    interpreter = minilite.Interpreter(model_content=model(), num_threads=2)
    interpreter.allocate_tensors()
    tallies, end = [Tally() for _ in range(given.threads)], time.monotonic() + given.seconds
    threads = [
        threading.Thread(target=functools.partial(hammer, interpreter, names, end, f"{given.seed}:{k}", tally))
        for k, tally in enumerate(tallies)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    faults = report(tallies, names)
    in_the_end(interpreter)
    faulthandler.cancel_dump_traceback_later()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
