"""Operations by name, for benchmarks that count or compare instead of timing: each is prepared once and then called
repeatedly."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from . import common, dynamic_family

Operation = Callable[[], Any]
Make = Callable[..., Any]


def _invoke(name: str) -> Callable[[Make], Operation]:
    return lambda make: common.ready(name, make)[0].invoke


def _load(name: str) -> Callable[[Make], Operation]:
    def prepare(make: Make) -> Operation:
        content = common.model(name)
        return lambda: make(model_content=content, num_threads=1).allocate_tensors()

    return prepare


def _load_kept(*, cached: bool) -> Callable[[Make], Operation]:
    def prepare(make: Make) -> Operation:
        with common.since("0.18.0"):
            kept = common.Kept()
        return lambda: kept.loaded(cached=cached, make=make)

    return prepare


def _resize(name: str, kind: str) -> Callable[[Make], Operation]:
    def prepare(make: Make) -> Operation:
        if kind == "new":
            places = common.new_sizes(name, make)
            return lambda: common.resize(*next(places))
        interpreter, source, _ = common.ready(name, make)
        steps = itertools.cycle([1, 0] if kind == "seen" else [0])
        for step in (1, 0):
            common.resize(interpreter, source, common.shape(name, step))
        return lambda: common.resize(interpreter, source, common.shape(name, next(steps)))

    return prepare


def _dynamic(form: str, nodes: int, percent: int, turns: int) -> Callable[[Make], Operation]:
    def prepare(make: Make) -> Operation:
        runner = dynamic_family.Runner(dynamic_family.draw(form, nodes, percent), make)
        turn = itertools.cycle(range(turns))
        for _ in range(turns):
            runner.run(next(turn))
        return lambda: runner.run(next(turn))

    return prepare


def _plan(strategy: str, records: int) -> Callable[[Make], Operation]:
    def prepare(_: Make) -> Operation:
        from minilite import memory

        lot = random.Random(records)
        starts = [lot.randrange(records) for _ in range(records)]
        wanted = [
            memory.UsageRecord(i, lot.randrange(1, 1 << 20), first, first + lot.randrange(records // 10))
            for i, first in enumerate(starts)
        ]
        return lambda: memory.plan(wanted, strategy)

    return prepare


def _call(name: str, rows: int = 1) -> Callable[[Make], Operation]:
    """A call on a graph of one node, whose tensors have rows of 64 bytes."""

    def prepare(make: Make) -> Operation:
        interpreter, source, target = common.ready("chain 1", make)
        common.resize(interpreter, source, (rows, common.WIDTH))
        values = np.full((rows, common.WIDTH), 0.5, np.float32)
        interpreter.set_tensor(source, values)
        interpreter.invoke()
        calls: dict[str, Operation] = {
            "set_tensor": lambda: interpreter.set_tensor(source, values),
            "get_tensor": lambda: interpreter.get_tensor(target),
            "get_input_details": interpreter.get_input_details,
            "view": interpreter.tensor(target),
        }
        return calls[name]

    return prepare


def _run(make: Make) -> Operation:
    """A call from an array to an array: `run` of minilite, and the calls of LiteRT that do the same."""
    interpreter, source, target = common.ready("chain 1", make)
    values = np.full((1, common.WIDTH), 0.5, np.float32)

    def steps() -> Any:
        interpreter.set_tensor(source, values)
        interpreter.invoke()
        return interpreter.get_tensor(target)

    if make is not common.interpreter:
        return steps
    run = interpreter.run  # an error if it was renamed
    return lambda: run({"x": values})


def _signature(make: Make) -> Operation:
    """A signature's runner."""
    graph = (made := common.builder("one ADD with a signature")).subgraph()
    x = graph.input("x", (1, common.WIDTH), signature=(-1, common.WIDTH))
    y = graph.node("ADD", [x, x], out=("y", (1, common.WIDTH)))
    graph.output(y)
    made.signature("serving_default", inputs={"x": x}, outputs={"y": y})
    interpreter = make(model_content=made.build(), num_threads=1)
    runner, values = interpreter.get_signature_runner(), np.full((1, common.WIDTH), 0.5, np.float32)
    runner(x=values)
    return lambda: runner(x=values)


RUNS: dict[str, Callable[[Make], Operation]] = {
    "invoke, chain 1": _invoke("chain 1"),
    "invoke, chain 100": _invoke("chain 100"),
    "invoke, conv": _invoke("conv"),
    "invoke, layers float32": _invoke("layers float32"),
    "invoke, layers int8": _invoke("layers int8"),
}
"""Operations that need only a model's bytes and `invoke`."""

API: dict[str, Callable[[Make], Operation]] = {
    **RUNS,
    "set_tensor": _call("set_tensor"),
    "get_tensor": _call("get_tensor"),
    **{
        f"resize {kind}, {name}": _resize(name, kind)
        for name in ("conv", "chain 100")
        for kind in ("same", "seen", "new")
    },
    "load, conv": _load("conv"),
    "load, chain 100": _load("chain 100"),
    **{
        f"dynamic {form}, {turns} sizes": _dynamic(form, 50, 50, turns)
        for form in dynamic_family.FORMS
        for turns in (1, 2, 16)
    },
}
"""Operations that LiteRT has as well."""

CALLS: dict[str, Callable[[Make], Operation]] = {
    **{
        f"{call}, {rows * 64 // 1024} KiB": _call(call, rows)
        for call in ("set_tensor", "get_tensor")
        for rows in (32, 1024, 16384)
    },
    "get_input_details": _call("get_input_details"),
    "view": _call("view"),
    "signature runner": _signature,
    "run, chain 1": _run,
}
"""Further calls of one node's model, beside LiteRT's."""

ALL: dict[str, Callable[[Make], Operation]] = {
    **API,
    "resize new, weights 1000": _resize("weights 1000", "new"),
    "load, weights 1000": _load("weights 1000"),
    "load, wide": _load_kept(cached=False),
    "load with a cache, wide": _load_kept(cached=True),
    **{f"plan {strategy}, 126 records": _plan(strategy, 126) for strategy in ("default", "greedy_by_size", "tflite")},
}

HISTORY: dict[str, Callable[[Make], Operation]] = {
    "dynamic branches of 200, 2 sizes": _dynamic("branches", 200, 100, 2),
    **{
        name: API[name]
        for name in (
            "resize new, conv",
            "resize new, chain 100",
            "resize seen, conv",
            "resize seen, chain 100",
            "load, conv",
            "load, chain 100",
            "invoke, layers float32",
            "invoke, layers int8",
            "invoke, chain 1",
            "invoke, chain 100",
            "set_tensor",
            "get_tensor",
            "dynamic chain, 16 sizes",
            "dynamic loop, 16 sizes",
            "dynamic branches, 16 sizes",
        )
    },
    "plan default, 126 records": _plan("default", 126),
}
"""The operations of the history."""
EVERY = {**ALL, **HISTORY}
