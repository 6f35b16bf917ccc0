"""Measures loading, the first run, runs, resizing and memory of a model, alone or in turns with LiteRT."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.comparison import litert_process
from minilite.engine.engine import engine_of
from minilite.engine.sizes import Axis, other_sizes
from minilite.errors import InputError
from minilite.interpreter import Interpreter
from minilite.progress import Progress, silent
from minilite.terminal import say

if TYPE_CHECKING:
    from minilite.format.model import Array

ROUNDS = 10
"""The number of interpreters that are made and measured, and the largest number of new sizes."""
_MAKE, _ALLOCATE, _FIRST, _RUN, _NEW, _SEEN = "load", "allocate", "first_run", "run", "resize_new", "resize_seen"
"""The steps that are measured. Resizing is resize_tensor_input and allocate_tensors."""

Shapes = Mapping[int, tuple[int, ...]]


class Runtime(NamedTuple):
    """A runtime that has LiteRT's class Interpreter."""

    name: str
    make: Callable[[], Any]
    """Makes an interpreter of the model."""
    memory: Sequence[str]
    """Arguments of Python, to which the inputs' shapes are added, for a process that loads and runs the model and
    prints its peak in bytes."""


class Case(NamedTuple):
    """The arrays and sizes that runtimes are measured on."""

    arrays: Mapping[int, Array]
    """The array of each input, by number."""
    sizes: Sequence[Shapes]
    """The shapes of inputs to resize to, one after the other; empty if the model takes fewer than two other sizes."""

    @property
    def shapes(self) -> Shapes:
        """The shapes of the arrays."""
        return {index: array.shape for index, array in self.arrays.items()}


class Bench(NamedTuple):
    """The seconds of each step of each runtime, measured in turns."""

    names: tuple[str, ...]
    samples: Mapping[str, tuple[Array, ...]]
    """The seconds by step, an array per runtime; sample i of all runtimes was measured in the same round."""
    peak_bytes: tuple[int | None, ...]
    """The peak memory of a process that loads the model and runs it on arrays of these shapes; None if the system does
    not report it."""
    sizes: Sequence[Shapes]
    notes: tuple[str, ...]

    def ratio(self, step: str) -> tuple[float, float, float] | None:
        """Divides the second runtime's time by the first's: the median over rounds, and its quartiles; None if there is
        one runtime, or the step was not measured."""
        found = self.samples.get(step, ())
        if len(found) < 2:
            return None
        low, median, high = np.percentile(found[1] / found[0], (25, 50, 75))
        return float(median), float(low), float(high)


def bench(
    model: str,
    *,
    arrays: Mapping[int, Array],
    litert: bool = False,
    threads: int = 1,
    level: str | None = None,
    runs: int = 100,
    axis: Axis | None = None,
    signature: str | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Measures a model, or its signature of this key, on arrays by input, alone or in turns with LiteRT and its default
    delegates. `axis` is the axis that is resized, by default the first of which the model takes other sizes. Raises:
    InputError if LiteRT is not installed, or is asked for a signature, which it resizes, fills and runs in one call; if
    no input has the axis; what loading and running the model raises."""
    if litert and signature is not None:
        message = (
            f"signature '{signature}' cannot be measured beside LiteRT, which resizes, fills and runs it in one call"
        )
        raise InputError(message)
    show = progress or silent
    runtimes = [_ours(model, threads, level, signature), *([_litert(model, threads)] if litert else [])]
    case = Case(arrays, _sizes(runtimes[0].make(), arrays, axis))
    notes = (
        [] if case.sizes else [f"resizing was not measured: the model takes no other {axis or 'size'} of its inputs"]
    )
    samples: dict[str, tuple[Array, ...]] = {}
    for _ in show([0], "loading", None):
        samples |= _lives(runtimes, case)
    ready = [_ready(runtime.make(), case) for runtime in runtimes]
    samples[_RUN] = _in_turn([one.invoke for one in ready], show(range(runs), "run"))
    if case.sizes:
        try:
            samples |= _resizing(ready, case)
        except (RuntimeError, ValueError) as error:  # errors of LiteRT, and of minilite
            notes.append(f"resizing was not measured: {' '.join(str(error).split())}")
    peaks = tuple(_peak(runtime, case.shapes) for runtime in show(runtimes, "process"))
    return Bench(tuple(one.name for one in runtimes), samples, peaks, case.sizes, tuple(notes))


def _ours(model: str, threads: int, level: str | None, signature: str | None) -> Runtime:
    def make() -> Interpreter:
        return Interpreter(model, num_threads=threads, level=level, signature=signature)

    name = f"minilite {level}" if level else "minilite"
    return Runtime(name, make, ("-m", __name__, "minilite", model, json.dumps([threads, level, signature])))


def _litert(model: str, threads: int) -> Runtime:
    try:
        module, version = litert_process.find()
    except ImportError as error:
        raise InputError(str(error)) from None

    def make() -> Any:
        return module.Interpreter(model_path=model, num_threads=threads)

    return Runtime(version, make, ("-m", __name__, "litert", model, json.dumps([threads])))


def _sizes(interpreter: Interpreter, arrays: Mapping[int, Array], axis: Axis | None) -> list[Shapes]:
    """Returns sizes other than the arrays' that the model takes, at most one per round; none unless there are two to
    alternate between."""
    shapes = {index: array.shape for index, array in arrays.items()}
    found = other_sizes(interpreter.plan_for, engine_of(interpreter).graph, shapes, ROUNDS, axis)
    return list(found) if len(found) > 1 else []


def _seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - started) / 1e9


def _in_turn(calls: Sequence[Callable[[], Any]], rounds: Any) -> tuple[Array, ...]:
    """Returns the seconds of each call, an array per call; each round calls all of them, and begins with the next
    one."""
    found: list[list[float]] = [[] for _ in calls]
    for number in rounds:
        order = range(len(calls)) if number % 2 == 0 else reversed(range(len(calls)))
        for place in order:
            found[place].append(_seconds(calls[place]))
    return tuple(np.array(each) for each in found)


def _ready(interpreter: Any, case: Case) -> Any:
    """Returns the interpreter with its inputs set, after a run."""
    _resize(interpreter, case.shapes)
    _feed(interpreter, case)
    interpreter.invoke()
    return interpreter


def _feed(interpreter: Any, case: Case) -> None:
    for index, array in case.arrays.items():
        interpreter.set_tensor(index, array)


def _resize(interpreter: Any, shapes: Shapes) -> None:
    for index, shape in shapes.items():
        interpreter.resize_tensor_input(index, shape)
    interpreter.allocate_tensors()


def _lives(runtimes: Sequence[Runtime], case: Case) -> dict[str, tuple[Array, ...]]:
    """Measures the steps that happen once per interpreter."""
    found: dict[str, list[list[float]]] = {step: [[] for _ in runtimes] for step in (_MAKE, _ALLOCATE, _FIRST)}
    for number in range(ROUNDS + 1):
        for place, runtime in enumerate(runtimes):
            gc.collect()
            interpreters: list[Any] = []
            times = {_MAKE: _seconds(lambda: interpreters.append(runtime.make()))}  # noqa: B023 - called at once
            (interpreter,) = interpreters
            times[_ALLOCATE] = _seconds(lambda: _resize(interpreter, case.shapes))  # noqa: B023
            _feed(interpreter, case)
            times[_FIRST] = _seconds(interpreter.invoke)
            if number:  # the first round loads libraries
                for step, seconds in times.items():
                    found[step][place].append(seconds)
    return {step: tuple(map(np.array, each)) for step, each in found.items()}


def _resizing(ready: Sequence[Any], case: Case) -> dict[str, tuple[Array, ...]]:
    """Measures resizing to sizes that are new, then between the first two, which are known by then."""
    new: list[list[float]] = [[] for _ in ready]
    seen: list[list[float]] = [[] for _ in ready]
    for into, rounds in ((new, case.sizes), (seen, [case.sizes[i % 2] for i in range(2 * ROUNDS)])):
        for shapes in rounds:
            for place, interpreter in enumerate(ready):
                into[place].append(_seconds(lambda: _resize(interpreter, shapes)))  # noqa: B023
    return {_NEW: tuple(map(np.array, new)), _SEEN: tuple(map(np.array, seen))}


def _peak(runtime: Runtime, shapes: Shapes) -> int | None:
    """Measures the peak memory in a process of its own, so that nothing else counts. Raises: InputError if that process
    fails."""
    command = [sys.executable, *runtime.memory, json.dumps(list(shapes.items()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{runtime.name} failed in a process of its own: {done.stderr.strip().splitlines()[-1:]}"
        raise InputError(message)
    found: int | None = json.loads(done.stdout.splitlines()[-1])
    return found


def _print_peak(which: str, model: str, options: str, shapes: str) -> None:
    """Prints the bytes by which loading a model and running it on inputs of these shapes raises the process's peak."""
    runtime = (_ours if which == "minilite" else _litert)(model, *json.loads(options))
    before = _memory("VmRSS")
    interpreter = runtime.make()
    _resize(interpreter, dict(json.loads(shapes)))
    interpreter.invoke()
    peak = _memory("VmHWM")
    say(json.dumps(peak - before if peak is not None and before is not None else None))


def _memory(which: str) -> int | None:
    """Reads bytes of memory from /proc, because the peak of `resource` includes the process that started this one."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        return None
    found = re.search(rf"^{which}:\s*(\d+) kB$", status, re.MULTILINE)
    return 1024 * int(found[1]) if found else None


def bench_facts(found: Bench) -> dict[str, Any]:
    """Returns the result as plain values, with times in seconds."""
    runtimes = []
    for place, name in enumerate(found.names):
        steps = {step: _statistics(each[place]) for step, each in found.samples.items()}
        runtimes.append({"name": name, "steps": steps, "peak_bytes": found.peak_bytes[place]})
    ratios = {
        step: dict(zip(("median", "low", "high"), ratio, strict=True))
        for step in found.samples
        if (ratio := found.ratio(step)) is not None
    }
    return {"runtimes": runtimes, "ratios": ratios, "notes": list(found.notes)}


def _statistics(samples: Array) -> dict[str, float]:
    names = ("least", "median", "p90", "p99")
    return dict(zip(names, map(float, np.percentile(samples, (0, 50, 90, 99))), strict=True))


if __name__ == "__main__":
    _print_peak(*sys.argv[1:])
