"""Single operators beside LiteRT's (XNNPACK where it takes them), interleaved in one process: CPU time of the calling
thread.

usage: python -m asv_bench.single_operators [--low] [--many] [NAME...]

Prints, for each, microseconds of a run on either side, and LiteRT's over ours, the fastest rounds' and the medians':
above 1 minilite is ahead. `least` is what the ratio ought to be, and rows both of whose ratios are below it have a
mark; `--low` prints those alone. Then what moves: multiply-adds a second, or bytes, each operand's once, and their
share of this core's peak, which is that of a copy of as many bytes, or of the level's product of matrices. Beyond 100 %
operands are read more than written, or lie nearer than a copy's. A NAME means all rows that begin so. Nodes with
weights are those of the tests (tests/support/weighted.py).

With --many, the nodes are those of many_nodes.py: of each class the rows, the geometric mean and the lowest ratio, and
then the rows that are below 0.95 by the fastest rounds and by the medians. So that LiteRT, too, works at an older level
of instructions: `python -m asv_bench.older_processor avx2 python -m asv_bench.single_operators --many`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import math
import os
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asv_bench import many_nodes
from asv_bench.benchmarks import timing
from asv_bench.benchmarks.operators import SINGLES, model, ready

TESTS = Path(__file__).resolve().parents[1] / "tests"
ROUNDS, FEW_ROUNDS, SLICE = 21, 9, 2_000_000
"""Rounds of each, of each of many, and the nanoseconds that a side's turn takes at least."""
BELOW = 0.95
"""A ratio that many rows are listed below: what is above differs by noise."""
LEAST = {
    r"(ELU|HARD_SWISH|LEAKY_RELU|LOGISTIC|TANH|GELU|RELU6?|QUANTIZE) s8": 2.5,
    "attention .* 1x": 1.2,
    r"(MAX_POOL_2D|AVERAGE_POOL_2D|RESIZE)|(MUL|SOFTMAX) s8|DEPTHWISE_CONV_2D.* (s8|u8)$": 2.0,
}
"""The least ratio that rows whose names begin so are to have; all others 1."""


class Row(NamedTuple):
    """A node, timed: microseconds of rounds, multiply-adds and bytes of a run, and the least seconds they take at the
    core's peaks."""

    name: str
    ours: list[float]
    theirs: list[float]
    macs: int
    nbytes: int
    peak: float

    @property
    def ratio(self) -> float:
        """LiteRT's fastest round over ours."""
        return min(self.theirs) / min(self.ours)

    @property
    def median(self) -> float:
        return statistics.median(self.theirs) / statistics.median(self.ours)

    @property
    def least(self) -> float:
        return next((least for names, least in LEAST.items() if re.match(names, self.name)), 1.0)

    @property
    def is_low(self) -> bool:
        """Ratios of the fastest rounds and of the medians: two figures of a noisy machine."""
        return round(max(self.ratio, self.median), 2) < self.least

    @property
    def of_peak(self) -> float:
        """Per cent."""
        return 1e8 * self.peak / min(self.ours)

    def __str__(self) -> str:
        ours, theirs = min(self.ours), min(self.theirs)
        rate = f"{self.macs / ours / 1e3:8.1f} GMAC/s" if self.macs else f"{self.nbytes / ours / 1e3:8.1f} GB/s  "
        mark = "<" if self.is_low else " "
        times = f"{ours:12.2f} {theirs:10.2f} {self.ratio:7.2f} {self.median:7.2f} {self.least:6.1f} {mark}"
        return f"{self.name:36} {times} {self.nbytes / 1024:8.0f} {rate} {self.of_peak:6.0f} %"


HEAD = f"{'':36} {'minilite us':>12} {'LiteRT us':>10} {'best':>7} {'median':>7} {'least':>6}   {'KiB':>8} {'rate':>15} {'of peak':>8}"


def layers() -> dict[str, Callable[[], Any]]:
    """Nodes with weights, on the shapes of the layers that kernels are judged by."""
    from support.large_nodes import VERSIONS
    from support.weighted import Layer, window_options

    found: dict[str, Callable[[], Any]] = {}
    types = {"f32": "f32 f32 f32", "s8": "s8 s8 s32", "u8": "u8 u8 s32", "hybrid": "f32 s8 f32"}

    def add(op: str, name: str, x: Any, w: Any, options: Any, kinds: str = "f32 s8 u8 hybrid") -> None:
        for kind in kinds.split():
            each = kind in ("s8", "hybrid") and op != "FULLY_CONNECTED"
            found[f"{op} {name} {kind}"] = functools.partial(
                Layer, op, types[kind], x, w, options, per_channel=each, version=VERSIONS[op]
            )

    for side, n, to in ((56, 64, 128), (14, 256, 256), (7, 960, 320), (112, 16, 24)):
        add("CONV_2D", f"1x1 {side} {n}->{to}", (1, side, side, n), (to, 1, 1, n), window_options("SAME"))
    for side, n, to, stride in ((56, 64, 64, 1), (28, 128, 128, 1), (32, 16, 16, 1), (224, 3, 32, 2)):
        options = window_options("SAME", (stride, stride))
        add("CONV_2D", f"3x3 {side} {n}->{to} /{stride}", (1, side, side, n), (to, 3, 3, n), options)
    for side, n, size, stride in ((112, 32, 3, 1), (112, 32, 3, 2), (14, 512, 3, 1), (14, 512, 3, 2), (28, 120, 5, 1)):
        options = window_options("SAME", (stride, stride), depth_multiplier=1)
        name = f"{size}x{size} {side} {n} /{stride}"
        add("DEPTHWISE_CONV_2D", name, (1, side, side, n), (1, size, size, n), options, "f32 s8 u8")
    for rows, n, to in ((1, 1024, 1000), (1, 256, 256), (32, 768, 3072), (32, 256, 256)):
        add("FULLY_CONNECTED", f"{rows}x{n}->{to}", (rows, n), (to, n), {})
    for name, adj in {"12x128x64x128": False, "12x128x64x128 adj_y": True}.items():
        found[f"BATCH_MATMUL {name} f32"] = functools.partial(products, adj)
    for kind, kv_heads in (("MHA", 8), ("GQA", 2), ("MQA", 1)):
        for tokens, keys in ((1, 64), (1, 256), (1, 1024), (128, 128), (128, 1024)):
            found[f"attention {kind} {tokens}x{keys}"] = functools.partial(attention, tokens, keys, kv_heads)
    return found


def attention(tokens: int, keys: int, kv_heads: int) -> Any:
    """odml.scaled_dot_product_attention of eight heads with a mask."""
    from support.attention import one_attention

    return one_attention(np.random.default_rng(1), tokens, keys, 8, kv_heads, 64, mask=(1, 1, tokens, keys))


def products(adj: bool) -> Any:
    """The product of two batches of matrices, the second one's turned or not."""
    from support.large_nodes import family

    shapes = ((12, 128, 64), (12, 64, 128))
    return family("batch_matmul").matmul(np.random.default_rng(1), "f32 f32 f32", shapes, (False, adj))[0]


class Core:
    """The best rates of this core at a level, measured at first use."""

    def __init__(self) -> None:
        self.measured: dict[Any, float] = {}

    def rate(self, key: Any, measure: Callable[[Any], float]) -> float:
        if key not in self.measured:
            self.measured[key] = measure(key if isinstance(key, int) else key[1])
        return self.measured[key]

    def seconds(self, node: Any, level: str) -> float:
        """The least that a node's products and bytes take, whichever binds."""
        from minilite._native.rates import byte_rate, copy_rate, float_rate

        size = 1 << max(12, node.nbytes.bit_length() - 1)
        size = size * 3 // 2 if node.nbytes >= size * 5 // 4 else size
        least = float(node.nbytes / self.rate(size, copy_rate))
        if not node.macs:
            return least
        products = byte_rate if node.bytewise else float_rate
        return max(least, node.macs / self.rate((node.bytewise, level), products))


def compare(name: str, content: bytes, arrays: list[Any], core: Core, rounds: int = ROUNDS) -> Row:
    """A row of the table."""
    from ai_edge_litert.interpreter import Interpreter

    import minilite

    interpreter = minilite.Interpreter(model_content=content, num_threads=1)
    sides = [ready(lambda **_: interpreter, content, arrays), ready(Interpreter, content, arrays)]
    ours, theirs = ([time / 1000 for time in side] for side in timing.in_turn(sides, rounds, SLICE))
    node = interpreter.profile(1).nodes[0]
    return Row(name, ours, theirs, node.macs, node.nbytes, core.seconds(node, interpreter.plan.level))


def rows(names: Sequence[str] = ()) -> Iterator[Row]:
    """The rows, each measured when it is asked for; of names that begin so, where some are given."""
    if str(TESTS) not in sys.path:
        sys.path[:0] = [str(TESTS), str(TESTS / "ops")]
    weighted, core = layers(), Core()
    for name in [*SINGLES, *weighted]:
        if names and not any(name == given or name.startswith(given + " ") for given in names):
            continue
        with quiet():
            made = weighted[name]() if name in weighted else None
            content, arrays = (made.model, made.arrays) if made else model(SINGLES[name])
            row = compare(name, content, arrays, core)
        yield row


def measure_many(names: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of many nodes, by class; of names or classes that begin so, where some are given."""
    found: dict[str, list[Row]] = collections.defaultdict(list)
    core = Core()
    for node in many_nodes.nodes():
        if names and not any(node.name.startswith(given) or node.kind.startswith(given) for given in names):
            continue
        with quiet():
            content, arrays = node.make()
            found[node.kind].append(compare(node.name, content, arrays, core, FEW_ROUNDS))
    return found


def by_class(found: dict[str, list[Row]]) -> Iterator[tuple[str, int, float, float, int]]:
    """Each class, and all: its name, rows, geometric mean of ratios, the lowest one, and how many are below."""
    for kind, of in [*found.items(), ("all", [row for rows in found.values() for row in rows])]:
        mean = math.exp(statistics.fmean(math.log(row.median) for row in of))
        yield kind, len(of), mean, min(row.median for row in of), sum(is_below(row) for row in of)


def is_below(row: Row) -> bool:
    """True if minilite is slower, judged by the fastest rounds and by the medians."""
    return max(row.ratio, row.median) < BELOW


def lowest(found: dict[str, list[Row]]) -> list[Row]:
    """The rows below, the lowest first."""
    return sorted(filter(is_below, [row for rows in found.values() for row in rows]), key=lambda row: row.median)


def many(names: Sequence[str]) -> None:
    """Prints many nodes by class, and those where minilite is slower."""
    found = measure_many(names)
    print(f"{'':28} {'rows':>5} {'mean':>6} {'lowest':>7} {'below':>6}")
    for kind, count, mean, least, below in by_class(found):
        print(f"{kind:28} {count:5} {mean:6.2f} {least:7.2f} {below:6}")
    print(f"\n{HEAD}")
    for row in lowest(found):
        print(row)


def many_table() -> str:
    """The same for a document: classes, and then the rows below."""
    import minilite

    sys.path[:0] = [str(TESTS), str(TESTS / "ops")]
    found = measure_many(())
    interpreter = minilite.Interpreter(model_content=model(SINGLES["RELU"])[0])
    interpreter.allocate_tensors()
    lines = [
        f"Level {interpreter.plan.level}:",
        "",
        "| class | nodes | mean | lowest | below 0.95 |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {kind} | {count} | {mean:.2f} | {least:.2f} | {below} |"
        for kind, count, mean, least, below in by_class(found)
    ]
    lines += ["", "Those below 0.95:", "", "| node | minilite us | LiteRT us | ratio |", "|---|---:|---:|---:|"]
    lines += [
        f"| {row.name} | {min(row.ours):.1f} | {min(row.theirs):.1f} | {row.median:.2f} |" for row in lowest(found)
    ]
    return "\n".join(lines)


def table() -> str:
    """All rows for a document: LiteRT's time over minilite's by the medians, bold where below what it ought to be."""
    lines = ["| operator | LiteRT / minilite | aim | KiB | rate | of peak |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows():
        ours = min(row.ours)
        ratio = f"**{row.median:.2f}**" if row.is_low else f"{row.median:.2f}"
        rate = f"{row.macs / ours / 1e3:.1f} GMAC/s" if row.macs else f"{row.nbytes / ours / 1e3:.1f} GB/s"
        cells = [row.name, ratio, f"{row.least:g}", f"{row.nbytes / 1024:.0f}", rate, f"{row.of_peak:.0f} %"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@contextlib.contextmanager
def quiet() -> Any:
    """Silences standard error, including what LiteRT writes to the file descriptor itself."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def main() -> int:
    """1 if a row is below what it ought to be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--low", action="store_true", help="only rows that are below what they ought to be")
    parser.add_argument("--many", action="store_true", help="nodes of many shapes, by class")
    args = parser.parse_args()
    sys.path[:0] = [str(TESTS), str(TESTS / "ops")]
    if args.many:
        many(args.names)
        return 0
    print(HEAD)
    low = 0
    for row in rows(args.names):
        low += row.is_low
        if row.is_low or not args.low:
            print(row, flush=True)
    print(f"{low} below what they ought to be")
    return int(low > 0)


if __name__ == "__main__":
    sys.exit(main())
