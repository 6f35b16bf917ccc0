"""Seeded models and arrays that several benchmarks share; importable at every commit.

Nothing of minilite is imported before a benchmark needs it. Benchmarks use public names alone, and say from which
version on it can do what they measure: on an older one they are not applicable (NotImplementedError, which asv shows as
n/a), from there on whatever goes wrong is a failure, a name that was changed among them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import itertools
import math
import pathlib
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

WIDTH = 16
_Suite = TypeVar("_Suite", bound=type)


class NotYetError(NotImplementedError):
    """The version at hand is older than what is measured. Other NotImplementedErrors are about the machine."""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


@functools.cache
def distribution() -> importlib.metadata.Distribution | None:
    """The package that is imported, minilite-runtime, or minilite up to 0.7.0: the first on the path."""
    names = ("minilite-runtime", "minilite")
    found = (importlib.metadata.distributions(name=name, path=[path]) for path in sys.path for name in names)
    return next(itertools.chain.from_iterable(found), None)


def older(version: str) -> bool:
    """True if the minilite at hand is older than a version, by its own number, or is not installed."""
    found = distribution()
    return found is None or _numbers(found.version) < _numbers(version)


@contextlib.contextmanager
def since(version: str) -> Iterator[None]:
    """Turns an exception inside into n/a on what is older than a version, the first that can do that; "0.4.0" is the
    first that can do most."""
    try:
        yield
    except NotImplementedError:
        raise
    except Exception as error:
        if not older(version):
            raise
        message = f"not there yet: {type(error).__name__}: {error}"[:200]
        raise NotYetError(message) from error


def suite(cls: _Suite) -> _Suite:
    """A class whose track_* functions give nan, asv's n/a, where they raise NotImplementedError: asv knows that of
    setup only."""

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


PAGE = 4096


def placed(array: Any, place: int) -> Any:
    """A copy of an array that begins `place` bytes after the beginning of a page. Copies between arrays that lie less
    than 64 bytes apart modulo a page take up to ten times as long, and numpy's own lie anywhere."""
    buffer = np.empty(array.nbytes + 2 * PAGE, np.uint8)
    start = (place - buffer.ctypes.data) % PAGE
    found = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def builder(description: str) -> Any:
    """A ModelBuilder. Raises: ImportError where there is none."""
    from minilite.format.builder import ModelBuilder

    return ModelBuilder(description=description)


def interpreter(**options: Any) -> Any:
    """A minilite Interpreter."""
    from minilite import Interpreter

    return Interpreter(**options)


def counter(of: Any, name: str, version: str = "0.4.0") -> int:
    """An interpreter's counter, which it has from a version on. Raises: NotYetError where it is older and has none."""
    with since(version):
        return int(of.counters[name])


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
def weights_each(nodes: int) -> bytes:
    """`nodes` FULLY_CONNECTED of one row of 16 floats, one after the other, each with weights of its own: what a size
    costs that is in proportion to the number of packed weights shows here."""
    rng = np.random.default_rng(nodes)
    graph = (made := builder(f"{nodes} FULLY_CONNECTED")).subgraph()
    x = graph.input("x", (1, WIDTH), signature=(-1, WIDTH))
    for n in range(nodes):
        weights = graph.constant(f"w{n}", rng.uniform(-0.25, 0.25, (WIDTH, WIDTH)).astype(np.float32))
        x = graph.node("FULLY_CONNECTED", [x, weights], out=(f"y{n}", (1, WIDTH)))
    graph.output(x)
    return bytes(made.build())


@functools.cache
def wide() -> bytes:
    """Four FULLY_CONNECTED of one row of 256 floats, half of whose weights are stored as halves: nearly all of loading
    is packing."""
    rng = np.random.default_rng(2)
    graph = (made := builder("4 FULLY_CONNECTED of 256 x 256")).subgraph()
    x = graph.input("x", (1, 256), signature=(-1, 256))
    for n in range(4):
        values = rng.uniform(-0.1, 0.1, (256, 256)).astype(np.float16 if n % 2 else np.float32)
        weights = graph.constant(f"w{n}", values)
        if n % 2:
            weights = graph.node("DEQUANTIZE", [weights], out=(f"floats{n}", (256, 256)))
        x = graph.node("FULLY_CONNECTED", [x, weights], out=(f"y{n}", (1, 256)))
    graph.output(x)
    return bytes(made.build())


class Kept:
    """A file of `wide`, and a folder that has its packed weights, until it is dropped."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory()
        self.file = f"{self._place.name}/wide.tflite"
        self.folder = f"{self._place.name}/packed"
        pathlib.Path(self.file).write_bytes(wide())
        self.loaded(cached=True)

    def loaded(self, *, cached: bool, make: Any = interpreter) -> Any:
        """An interpreter of the file that is allocated: with what the folder has, or packed."""
        made = make(model_path=self.file, num_threads=1, cache_dir=self.folder if cached else "")
        made.allocate_tensors()
        return made


@functools.cache
def conv_net(side: int = 32) -> bytes:
    """A small fully convolutional network on (batch, height, width, 3): 11 nodes, 1 / 4 of the input's side at the
    end."""
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


@functools.cache
def layers(kind: str, side: int = 28) -> bytes:
    """Six convolutions, half of them depthwise, 1.4 million multiply-adds: nearly all arithmetic; "float32" or "int8"
    per channel."""
    from minilite.format.dtypes import TensorType
    from minilite.format.model import Quantization

    integers = kind == "int8"
    rng = np.random.default_rng(1)
    graph = (made := builder(f"layers, {kind}")).subgraph()
    step = Quantization((0.05,), (0,)) if integers else Quantization()
    type_ = TensorType.INT8 if integers else TensorType.FLOAT32

    def constants(name: str, shape: tuple[int, ...], along: int) -> list[int]:
        many = shape[along]
        if not integers:
            weights, bias = rng.normal(0, 0.2, shape).astype(np.float32), rng.normal(0, 0.1, many).astype(np.float32)
            return [graph.constant(f"{name}/weights", weights), graph.constant(f"{name}/bias", bias)]
        by = Quantization((0.01,) * many, (0,) * many, along)
        sums = Quantization((0.05 * 0.01,) * many, (0,) * many)
        weights, bias = rng.integers(-127, 128, shape).astype(np.int8), rng.integers(-999, 999, many).astype(np.int32)
        named = graph.constant(f"{name}/weights", weights, quantization=by)
        return [named, graph.constant(f"{name}/bias", bias, quantization=sums)]

    x, depth = graph.input("image", (1, side, side, 16), type_, quantization=step), 16
    for block, (filters, stride) in enumerate(((32, 1), (64, 2), (128, 2))):
        options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "RELU"}
        spread = {**options, "depth_multiplier": 1, "stride_h": stride, "stride_w": stride}
        side = -(-side // stride)
        name, out = f"depthwise{block}", (1, side, side, depth)
        read = [x, *constants(name, (1, 3, 3, depth), 3)]
        x = graph.node("DEPTHWISE_CONV_2D", read, out=(name, out, type_, step), options=spread)
        name, out = f"conv{block}", (1, side, side, filters)
        read = [x, *constants(name, (filters, 1, 1, depth), 0)]
        x, depth = graph.node("CONV_2D", read, out=(name, out, type_, step), options=options), filters
    graph.output(x)
    return bytes(made.build())


def model(name: str) -> bytes:
    """A model by its name in the benchmarks' parameters: "chain N", "weights N", "conv", "layers TYPE",
    "large layers TYPE"."""
    if name == "conv":
        return conv_net()
    kind, _, detail = name.rpartition(" ")
    if kind == "weights":
        return weights_each(int(detail))
    return chain(int(detail)) if kind == "chain" else layers(detail, 112 if kind == "large layers" else 28)


def shape(name: str, step: int) -> tuple[int, ...]:
    """The `step`-th input shape of "chain N", "weights N" or "conv"."""
    return (1, 32 + 2 * step, 32 + 2 * step, 3) if name == "conv" else (1 + step, WIDTH)


def ready(name: str, make: Any = interpreter, threads: int = 1) -> tuple[Any, int, int]:
    """An allocated interpreter whose input is filled, that has run once; and the numbers of its input and output."""
    made = make(model_content=model(name), num_threads=threads)
    made.allocate_tensors()
    source, target = made.get_input_details()[0], made.get_output_details()[0]
    rng, dims = np.random.default_rng(0), tuple(source["shape"])
    values = rng.uniform(-1, 1, dims) if source["dtype"] == np.float32 else rng.integers(-127, 128, dims)
    made.set_tensor(source["index"], values.astype(source["dtype"]))
    made.invoke()
    return made, int(source["index"]), int(target["index"])


def resize(of: Any, index: int, to: tuple[int, ...]) -> None:
    """A resize, in LiteRT's calls."""
    of.resize_tensor_input(index, to)
    of.allocate_tensors()


NEW_SIDES = 32
"""`new_sizes` has as many sizes as this squared."""


def new_sizes(name: str, make: Any = interpreter) -> Iterator[tuple[Any, int, tuple[int, ...]]]:
    """Yields the arguments of `resize` without end, each time for a size that its interpreter has never had, in
    scattered order.

    Each interpreter starts from the largest size, so that memory for all of them is there; another one takes over after
    1024 sizes, which adds a few per cent to their time.
    """
    while True:
        made, source, _ = ready(name, make)
        steps = random.Random(0).sample(range(NEW_SIDES**2), NEW_SIDES**2)
        sides = [divmod(step, NEW_SIDES) for step in steps]
        sizes = [(1, 32 + h, 32 + w, 3) for h, w in sides] if name == "conv" else [(2 + step, WIDTH) for step in steps]
        sizes.remove(largest := max(sizes))
        resize(made, source, largest)
        yield from ((made, source, size) for size in sizes)
