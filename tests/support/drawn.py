"""Nodes drawn at random: an operator's types, shapes, options, scales, constants and values depend on a seed.

    PYTHONPATH=tests python -m support.drawn [--seed 1] [--count 20] [OPERATOR ...]

runs each on LiteRT and on minilite, in children of this process, and prints a line for each node that differs, or that
LiteRT alone runs, and a table of how many of each operator agree. DRAWN has a function for each operator.
"""

from __future__ import annotations

import argparse
import collections
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from support import apart
from support.compare import BUILTIN, REFERENCE, compare, run_litert, run_minilite
from support.litert_types import TESTS
from support.node import Array, Given, OneNode, Out, dtype_of, kind_of, scaled, values

from minilite.format.dtypes import element_bits
from minilite.format.quantization import NOT_QUANTIZED, Quantization

ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3.4e38, -3.4e38, 0.5, -0.5, 2.5)
PLAIN = ("f32", "f16", "f64", "s8", "u8", "b8", "s16", "u16", "s32", "u32", "s64", "u64", "c64", "c128", "string")
"""Types whose arrays LiteRT's Python takes."""


class Draw:
    """Choices of one case."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *options: Any) -> Any:
        """Draws one of the arguments."""
        return options[int(self.rng.integers(len(options)))]

    def often(self, chance: float) -> bool:
        """True with that probability."""
        return bool(self.rng.random() < chance)

    def number(self, least: int, most: int) -> int:
        """From least to most, both included."""
        return int(self.rng.integers(least, most, endpoint=True))

    def shape(self, least: int = 0, most: int = 5, size: int = 6) -> tuple[int, ...]:
        """A shape of so many dimensions; one in thirty has no elements."""
        shape = [self.number(1, size) for _ in range(self.number(least, most))]
        if shape and self.often(1 / 30):
            shape[self.number(0, len(shape) - 1)] = 0
        if shape and self.often(0.1):
            shape[-1] = self.number(1, 70)
        return tuple(shape)

    def pair(self, most: int = 5) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast."""
        shape = self.shape(0, most)
        if self.often(0.4):
            return shape, shape
        parts = []
        for _ in range(2):
            part = [1 if self.often(0.3) else n for n in shape]
            parts.append(tuple(part[self.number(0, len(part)) if self.often(0.3) else 0 :]))
        return parts[0], parts[1]

    def kind(self, message: str) -> str:
        """Draws one of the given types; now and then any plain one."""
        return str(self.one(*PLAIN)) if self.often(0.05) else str(self.one(*message.split()))

    def scale(self, kind: str, low: float = 1e-3, high: float = 0.5) -> Quantization:
        """A random scale and zero point; for s16 the zero point is 0."""
        return scaled(self.rng, kind, low, high)

    def array(self, kind: str, shape: Sequence[int], spread: float | None = None) -> Array:
        """Values over the type's range, at its ends alone, or near 0; floats with some odd ones."""
        x = values(self.rng, kind, shape, self.one(0.1, 3.0, 100.0) if spread is None else spread)
        dtype = x.dtype
        if dtype.kind == "f" and spread is None and self.often(0.3):
            with np.errstate(all="ignore"):
                x = np.where(self.rng.random(shape) < 0.2, self.rng.choice(ODD, shape), x).astype(dtype)
        if dtype.kind in "iu" and self.often(0.3):
            bits = element_bits(kind_of(kind))
            least, most = np.iinfo(dtype).min >> max(0, 8 - bits), np.iinfo(dtype).max >> max(0, 8 - bits)
            ends = np.array([least, most, least + 1, most - 1, 0, 1], dtype)
            x = self.rng.choice(ends, shape) if self.often(0.5) else self.rng.integers(0, 4, shape).astype(dtype)
        return np.asarray(x)

    def given(
        self, kind: str, shape: Sequence[int], q: Quantization | None = None, constant: float = 0.15, **rest: Any
    ) -> Given:
        """An operand of random values, which is resized now and then."""
        return self.of(self.array(kind, shape, **rest), kind, self.scale(kind) if q is None else q, constant)

    def of(
        self, array: Any, kind: str, q: Quantization = NOT_QUANTIZED, constant: float = 0.5, resized: float = 0.15
    ) -> Given:
        """The array as a constant or as a graph input; the latter now and then has another shape in the file."""
        array = np.asarray(array) if kind == "string" else np.asarray(array, dtype_of(kind))
        if self.often(constant):
            return Given(array, True, q, kind)
        other = tuple(1 for _ in array.shape) if self.often(resized) else None
        return Given(array, False, q, kind, other)

    def numbers(self, given: Sequence[int] | int, *kinds: str, constant: float = 0.6) -> Given:
        """Axes, shapes, indices: of one of these types, known or not."""
        return self.of(given, self.one(*(kinds or ("s32",))), constant=constant)

    def axis(self, rank: int) -> int:
        """Draws one of `rank` dimensions, counted from either end; seldom one that does not exist."""
        if self.often(0.03):
            return self.one(rank, -rank - 1)
        return self.number(-rank, rank - 1) if rank else 0

    def activation(self) -> str:
        """A fused activation."""
        return str(self.one("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1"))


DrawNode = Callable[[Draw], OneNode]


def version_of(d: Draw, op: str) -> int:
    """Mostly the operator's first version, which LiteRT's reference kernels have; now and then another one."""
    from minilite.ops import operators

    versions = operators()[op].versions
    if d.often(0.9):
        return versions.start
    return d.number(versions.start, versions.stop - 1)


def node(d: Draw, op: str, inputs: Sequence[Any], options: dict[str, Any] | None = None, **rest: Any) -> OneNode:
    """The node, of one of the operator's versions."""
    return OneNode(op, inputs, options, version=rest.pop("version", 0) or version_of(d, op), **rest)


def out(d: Draw, kind: str, q: Quantization | None = None) -> list[Out]:
    """One output."""
    return [Out(kind, d.scale(kind) if q is None else q)]


# Running --------------------------------------------------------------------------------------------------------------


def attempt(run: Callable[[], Any]) -> Any:
    """Returns the result of `run`, or the error that it raises."""
    try:
        return run()
    except Exception as error:  # noqa: BLE001  whatever either answers with is compared
        return error


def finite(x: Array) -> Array:
    """The numbers with infinities replaced by the largest one, as some of LiteRT's kernels do."""
    return np.clip(x, -np.finfo(x.dtype).max, np.finfo(x.dtype).max) if x.dtype.kind == "f" else x


def near(expected: Sequence[Array], found: Sequence[Array], bound: float) -> str:
    """The differences beyond the bound, which is relative to the largest finite number; empty if there are none."""
    try:
        tolerance = 0.0
        for x in expected:
            if x.dtype.kind in "fc" and x.size:
                size = np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
                step = 2.0**-10 if x.dtype == np.float16 else 0.0
                tolerance = max(tolerance, max(bound, step) * float(size[np.isfinite(size)].max(initial=0)))
        with np.errstate(all="ignore"):
            compare([finite(x) for x in expected], [finite(x) for x in found], tolerance, "")
    except AssertionError as error:
        return " ".join(str(error).split())[:170]
    return ""


BOUND = 1e-5


def judged(one: OneNode) -> tuple[str, str]:
    """Compares the two runtimes: a word, and details."""
    ours = attempt(lambda: run_minilite(one.model, one.arrays))
    slow = attempt(lambda: run_minilite(one.model, one.arrays, reference=True))
    theirs = attempt(lambda: run_litert(one.model, one.arrays, REFERENCE))
    if isinstance(theirs, Exception):
        theirs = attempt(lambda: run_litert(one.model, one.arrays, BUILTIN))
    if isinstance(ours, Exception) or isinstance(slow, Exception):
        if isinstance(ours, Exception) != isinstance(slow, Exception):
            return "HALF", f"{type(ours).__name__} {ours} | {type(slow).__name__} {slow}"[:300]
        return ("refused", "") if isinstance(theirs, Exception) else ("REFUSED", str(ours).replace("\n", " ")[:240])
    if message := near(slow, ours, BOUND):
        return "NUMPY", message
    if isinstance(theirs, Exception):
        return "ours", str(theirs).replace("\n", " ")[:160]
    message = near(theirs, ours, BOUND)
    if message:
        other = attempt(lambda: run_litert(one.model, one.arrays, BUILTIN))
        if not isinstance(other, Exception) and not near(other, ours, BOUND):
            return "optimized", message
    return ("DIFFERS", message) if message else ("agrees", "")


def made(op: str, seed: int, number: int) -> OneNode:
    """Node `number` of the operator."""
    if str(TESTS) not in sys.path:  # those of recurrent operators make nodes by their tests' classes
        sys.path.insert(0, str(TESTS))
    from support.drawn_all import DRAWN

    return DRAWN[op](Draw(zlib.crc32(op.encode()), seed, number))


def answers(op: str, seed: int, count: int) -> Iterator[tuple[int, str, str]]:
    """(number, word, details) of each node of the operator. If a child process ends, that is an answer too."""

    def work(number: int) -> tuple[str, str]:
        one = attempt(lambda: made(op, seed, number))
        return ("unmade", repr(one)[:200]) if isinstance(one, Exception) else judged(one)

    for number, found in apart.answers(work, range(count)):
        yield number, *(("ended", "") if isinstance(found, apart.Ended) else found)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--all", action="store_true", help="print every node")
    parser.add_argument("operators", nargs="*")
    message = parser.parse_args()
    from support.drawn_all import DRAWN

    for op in message.operators or DRAWN:
        counts: collections.Counter[str] = collections.Counter()
        for number, word, text in answers(op, message.seed, message.count):
            counts[word] += 1
            if message.all or word.isupper() or word in ("ended", "unmade"):
                print(f"    {op} {number}: {word} {text}", flush=True)
        print(f"{op}: " + ", ".join(f"{word} {n}" for word, n in sorted(counts.items())), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
