"""minilite and other runtimes on the same work, interleaved in one process; as ratios, because times of different days
cannot be compared.

A ratio is minilite's cost over the other's, the median over rounds: below 1 minilite is ahead. "minilite" itself is a
second interpreter of its own, which shows what noise there is. CPU time of the calling thread, one thread each.
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

from . import common, operations, timing

RUNTIMES = ["minilite", "litert", "litert-builtin", "tflite-micro"]
ROUNDS, SLICE = 15, 1_000_000
"""Rounds of each case, and the nanoseconds that a side's turn takes at least."""


def litert(**options: Any) -> Any:
    """LiteRT's interpreter with its default delegate, XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(**options)


def _litert_builtin(**options: Any) -> Any:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    chosen = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return Interpreter(experimental_op_resolver_type=chosen, **options)


def _micro(case: str) -> operations.Operation:
    """tflite-micro's `invoke`, the one operation it has in common with the others."""
    if importlib.util.find_spec("tflite_micro") is None:
        message = "tflite-micro is not installed"
        raise NotImplementedError(message)
    from tflite_micro.python.tflite_micro import runtime

    content = common.model(case.removeprefix("invoke, "))
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=1 << 20)
    keeps: Callable[[], Any] = interpreter.invoke
    return keeps


def _prepare(case: str, runtime: str) -> operations.Operation:
    if runtime == "tflite-micro":
        if case not in operations.RUNS:
            message = "tflite-micro can only invoke"
            raise NotImplementedError(message)
        return _micro(case)
    make = {"minilite": common.interpreter, "litert": litert, "litert-builtin": _litert_builtin}[runtime]
    return {**operations.API, **operations.CALLS}[case](make)


def ratio(case: str, runtime: str) -> float:
    """minilite's cost of a case over a runtime's. Raises: what the runtime raises where it cannot do that."""
    with common.since("0.4.0"):
        ours = _prepare(case, "minilite")
    theirs = _prepare(case, runtime)
    mine, others = timing.in_turn((ours, theirs), ROUNDS, SLICE)
    return statistics.median(one / max(1.0, other) for one, other in zip(mine, others, strict=True))


@common.suite
class Ratio:
    """minilite's cost over a runtime's, where the runtime can do that."""

    params = [[*operations.API, *operations.CALLS], RUNTIMES]
    param_names = ["operation", "runtime"]
    unit = "minilite / runtime"
    timeout = 120

    def track_ratio(self, operation: str, runtime: str) -> float:
        return ratio(operation, runtime)
