"""Operations by name, for benchmarks that count or compare instead of timing: each prepared once, then called again and again."""

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


def _set_tensor(make: Make) -> Operation:
    interpreter, source, _ = common.ready("chain 1", make)
    values = np.full((1, common.WIDTH), 0.5, np.float32)
    return lambda: interpreter.set_tensor(source, values)


def _get_tensor(make: Make) -> Operation:
    interpreter, _, target = common.ready("chain 1", make)
    return lambda: interpreter.get_tensor(target)


RUNS: dict[str, Callable[[Make], Operation]] = {
    "invoke, chain 1": _invoke("chain 1"),
    "invoke, chain 100": _invoke("chain 100"),
    "invoke, conv": _invoke("conv"),
    "invoke, layers float32": _invoke("layers float32"),
    "invoke, layers int8": _invoke("layers int8"),
}
"""Those that need no more than a model's bytes and `invoke`."""

API: dict[str, Callable[[Make], Operation]] = {
    **RUNS,
    "set_tensor": _set_tensor,
    "get_tensor": _get_tensor,
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
"""Those that LiteRT has as well."""

ALL: dict[str, Callable[[Make], Operation]] = {
    **API,
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
        )
    },
}
"""Those that the history is told by."""
EVERY = {**ALL, **HISTORY}
