"""Seeded models and arrays that several benchmarks share, and what makes them importable at every commit.

Nothing of minilite is imported before a benchmark needs it, and what a commit does not have yet makes a benchmark not
applicable there (NotImplementedError, which asv shows as n/a) instead of failed.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

WIDTH = 16
_Suite = TypeVar("_Suite", bound=type)


@contextlib.contextmanager
def if_there() -> Iterator[None]:
    """Turns whatever is raised inside into n/a: the version at hand cannot do that yet."""
    try:
        yield
    except Exception as error:
        message = f"not there yet: {type(error).__name__}: {error}"[:200]
        raise NotImplementedError(message) from error


def suite(cls: _Suite) -> _Suite:
    """A class whose track_* functions give nan, asv's n/a, where they raise NotImplementedError: asv knows that of setup only."""

    def quiet(track: Any) -> Any:
        @functools.wraps(track)
        def run(*arguments: Any) -> Any:
            try:
                return track(*arguments)
            except NotImplementedError:
                return math.nan

        return run

    for name, track in list(vars(cls).items()):
        if name.startswith("track_"):
            setattr(cls, name, quiet(track))
    return cls


def builder(description: str) -> Any:
    """A ModelBuilder. Raises: ImportError where there is none."""
    from minilite.format.builder import ModelBuilder

    return ModelBuilder(description=description)


def interpreter(**options: Any) -> Any:
    """A minilite Interpreter."""
    from minilite import Interpreter

    return Interpreter(**options)


def counter(of: Any, *names: str) -> int:
    """An interpreter's counter by the first of these names that it has. Raises: NotImplementedError when it has none."""
    counters = getattr(of, "counters", None) or {}
    for name in names:
        if name in counters:
            return int(counters[name])
    message = f"no counter {' or '.join(names)}"
    raise NotImplementedError(message)


@functools.cache
def chain(nodes: int) -> bytes:
    """`nodes` ADDs of one row of 16 floats, one after the other: next to no arithmetic, so what is left is overhead."""
    rng = np.random.default_rng(nodes)
    graph = (made := builder(f"{nodes} ADDs")).subgraph()
    x = graph.input("x", (1, WIDTH), signature=(-1, WIDTH))
    step = graph.constant("step", rng.uniform(-1, 1, (1, WIDTH)).astype(np.float32))
    for n in range(nodes):
        x = graph.node("ADD", [x, step], out=(f"y{n}", (1, WIDTH)))
    graph.output(x)
    return bytes(made.build())


@functools.cache
def conv_net(side: int = 32) -> bytes:
    """A small fully convolutional network on (batch, height, width, 3): 11 nodes, 1 / 4 of the input's side at the end."""
    rng = np.random.default_rng(0)
    graph = (made := builder("conv net")).subgraph()
    x = graph.input("image", (1, side, side, 3), signature=(-1, -1, -1, 3))
    depth = 3

    def conv(name: str, filters: int, size: int, stride: int) -> None:
        nonlocal x, depth, side
        side = -(-side // stride)
        weights = rng.normal(0, 0.3, (filters, size, size, depth)).astype(np.float32)
        bias = rng.normal(0, 0.1, filters).astype(np.float32)
        inputs = [x, graph.constant(f"{name}/weights", weights), graph.constant(f"{name}/bias", bias)]
        options = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "fused_activation_function": "RELU"}
        x = graph.node("CONV_2D", inputs, out=(name, (1, side, side, filters)), options=options)
        depth = filters

    def depthwise(name: str) -> None:
        nonlocal x
        weights = rng.normal(0, 0.3, (1, 3, 3, depth)).astype(np.float32)
        inputs = [
            x,
            graph.constant(f"{name}/weights", weights),
            graph.constant(f"{name}/bias", np.zeros(depth, np.float32)),
        ]
        options = {
            "padding": "SAME",
            "stride_h": 1,
            "stride_w": 1,
            "depth_multiplier": 1,
            "fused_activation_function": "RELU6",
        }
        x = graph.node("DEPTHWISE_CONV_2D", inputs, out=(name, (1, side, side, depth)), options=options)

    conv("stem", 8, 3, 2)
    for block in range(3):
        depthwise(f"block{block}/depthwise")
        skip = x
        conv(f"block{block}/pointwise", 8, 1, 1)
        x = graph.node("ADD", [x, skip], out=(f"block{block}/sum", (1, side, side, 8)))
    conv("head", 10, 1, 2)
    graph.output(x)
    return bytes(made.build())


def model(name: str) -> bytes:
    """A model by the name that stands in the benchmarks' parameters: "chain N" or "conv"."""
    return conv_net() if name == "conv" else chain(int(name.split()[1]))


def shape(name: str, step: int) -> tuple[int, ...]:
    """The `step`-th input shape of a model."""
    return (1, 32 + 2 * step, 32 + 2 * step, 3) if name == "conv" else (1 + step, WIDTH)


def ready(name: str, make: Any = interpreter) -> tuple[Any, int, int]:
    """An allocated interpreter whose input is filled, that has run once; and the numbers of its input and output."""
    made = make(model_content=model(name), num_threads=1)
    made.allocate_tensors()
    source, target = made.get_input_details()[0], made.get_output_details()[0]
    values = np.random.default_rng(0).uniform(-1, 1, tuple(source["shape"])).astype(np.float32)
    made.set_tensor(source["index"], values)
    made.invoke()
    return made, int(source["index"]), int(target["index"])


def resize(of: Any, index: int, to: tuple[int, ...]) -> None:
    """What a resize takes, in LiteRT's calls."""
    of.resize_tensor_input(index, to)
    of.allocate_tensors()
