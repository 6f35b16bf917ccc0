"""Many items: what a Predictor adds to single runs, what a second worker brings and takes, and snapshots of a model's
state."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from . import apart, common

ROUNDS, SECONDS = 9, 0.1
"""Rounds of one worker and two in turn, and the length of a turn."""
WIDE, DEEP = 1024, 8
"""The model that is mostly weights: so many products of a row with a square matrix, 32 MiB of float32."""
FURTHER = 4
"""Workers after the first one whose memory is measured."""


def stream(variables: int, size: int) -> bytes:
    """`variables` resource variables of `size` floats, each assigned from the input."""
    made = common.builder("stream")
    graph = made.subgraph()
    x = graph.input("x", (size,))
    for number in range(variables):
        options = {"container": "", "shared_name": f"v{number}"}
        handle = graph.node("VAR_HANDLE", [], out=(f"h{number}", (), 13), options=options)
        graph.node("ASSIGN_VARIABLE", [handle, x])
    graph.output(graph.node("RELU", [x], out=("y", (size,))))
    return bytes(made.build())


@common.suite
class Predict:
    """A call of 64 rows of a tiny model."""

    params = [[1, 16, "auto"]]
    param_names = ["batch"]

    def setup(self, batch: Any) -> None:
        made = common.builder("rows")
        graph = made.subgraph()
        graph.output(graph.node("RELU", [graph.input("x", (1, 64))], out=("y", (1, 64))))
        self.rows = {"x": np.ones((64, 64), np.float32)}
        with common.since("0.10.0"):
            from minilite import Predictor

            self.predictor = Predictor(bytes(made.build()), batch=batch)
            self.predictor(self.rows)

    def time_rows(self, _: Any) -> None:
        self.predictor(self.rows)


@common.suite
class State:
    """A snapshot, and putting one back."""

    params = [[1, 10], [16, 65536]]
    param_names = ["variables", "floats"]

    def setup(self, variables: int, size: int) -> None:
        with common.since("0.10.0"):
            self.interpreter = common.interpreter(model_content=stream(variables, size))
            self.interpreter.run(np.ones(size, np.float32))
            self.state = self.interpreter.get_state()

    def time_get(self, *_: int) -> None:
        self.interpreter.get_state()

    def time_set(self, *_: int) -> None:
        self.interpreter.set_state(self.state)


def runs_per_second(runs: Sequence[Any]) -> float:
    """Work of threads together, each of which calls one of the functions until their turn ends."""
    found, gate = [0.0] * len(runs), threading.Barrier(len(runs))

    def call(number: int) -> None:
        run, count = runs[number], 0
        gate.wait()
        begun = time.perf_counter()
        while (took := time.perf_counter() - begun) < SECONDS:
            run()
            count += 1
        found[number] = count / took

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(runs))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(found)


def answer(run: Any, link: Connection) -> None:
    """A process that runs for a turn whenever it is asked to, and ends when it gets None."""
    run()
    while link.recv() is not None:
        link.send(runs_per_second([run]))


class Processes:
    """Workers, forked or started, that have run once and wait."""

    def __init__(self, run: Any, count: int, method: str = "fork") -> None:
        if method not in multiprocessing.get_all_start_methods():
            message = "processes cannot be forked here"
            raise NotImplementedError(message)
        context: Any = multiprocessing.get_context(method)
        pipes = [context.Pipe() for _ in range(count)]
        self.links = [ours for ours, _ in pipes]
        self.all = [context.Process(target=answer, args=(run, theirs), daemon=True) for _, theirs in pipes]
        for each in self.all:
            each.start()

    def rate(self, count: int) -> float:
        """Runs per second of so many of them."""
        for link in self.links[:count]:
            link.send(count)
        return float(sum(link.recv() for link in self.links[:count]))

    def end(self) -> None:
        """Lets them end."""
        for link in self.links:
            link.send(None)
        for each in self.all:
            each.join()


@common.suite
class Two:
    """Runs per second of two workers at once, as a multiple of one: clones in two threads, or two processes."""

    params = [["clones", "processes"], ["layers int8", "large layers float32"]]
    param_names = ["workers", "model"]
    unit = "times"

    def track_runs(self, workers: str, model: str) -> float:
        first = common.ready(model)[0]
        if workers == "processes":
            both = Processes(first.invoke, 2)
            pairs = [(both.rate(2), both.rate(1)) for _ in range(ROUNDS)]
            both.end()
        else:
            with common.since("0.4.0"):
                other = first.clone()
            other.allocate_tensors()
            other.invoke()
            calls = [first.invoke, other.invoke]
            pairs = [(runs_per_second(calls), runs_per_second(calls[:1])) for _ in range(ROUNDS)]
        return statistics.median(two / one for two, one in pairs)


class Call:
    """A call of a Predictor with a row, which can be sent to a process."""

    def __init__(self, predictor: Any) -> None:
        self.predictor = predictor

    def __call__(self) -> None:
        """Makes the call."""
        self.predictor({"x": np.ones((1, WIDE), np.float32)})


def weights() -> bytes:
    """A model that is mostly weights."""
    rng = np.random.default_rng(0)
    graph = (made := common.builder("weights")).subgraph()
    x = graph.input("x", (1, WIDE))
    for number in range(DEEP):
        values = rng.normal(0, 0.03, (WIDE, WIDE)).astype(np.float32)
        x = graph.node("FULLY_CONNECTED", [x, graph.constant(f"w{number}", values), -1], out=(f"y{number}", (1, WIDE)))
    graph.output(x)
    return bytes(made.build())


def shared_bytes(process: int) -> int:
    """The proportional set size of a process: of a page that n processes share, 1 / n."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        message = "the system does not tell what processes share"
        raise NotImplementedError(message) from error
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("Pss:")))


def bytes_of(path: str, method: str, count: str) -> int:
    """Memory that this process and so many workers take together, each of which has called a Predictor of the file."""
    from minilite import Predictor

    call = Call(Predictor(path, batch=1))
    call()
    workers = Processes(call, int(count), method)
    workers.rate(int(count))
    found = sum(map(shared_bytes, [os.getpid(), *(each.pid or 0 for each in workers.all)]))
    workers.end()
    return found


@common.suite
class FurtherWorker:
    """The bytes that one more process adds to all together: forked from one that has called the Predictor of a model
    with 32 MiB of weights, or started."""

    params = ["fork", "spawn"]
    param_names = ["method"]
    unit = "bytes"
    timeout = 120

    def track_bytes(self, method: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "weights.tflite")
            with common.since("0.10.0"):
                path.write_bytes(weights())
                few, many = (
                    apart.call("batches", "bytes_of", str(path), method, str(count)) for count in (1, 1 + FURTHER)
                )
        return float(many - few) / FURTHER
