"""Single operators beside LiteRT's (XNNPACK where it takes them), interleaved in one process: CPU time of the calling thread.

usage: python -m asv_bench.single_operators [--low] [NAME...]

Prints, for each, microseconds of a run on either side, and LiteRT's over ours, the fastest rounds' and the medians': above 1 minilite
is ahead. `least` is what the ratio ought to be, and rows below it have a mark; `--low` prints those alone. Then what moves: multiply-adds
a second, or bytes, each operand's once, and their share of this core's peak, which is that of a copy of as many bytes, or of the
level's product of matrices. Beyond 100 % operands are read more than written, or lie nearer than a copy's. A NAME stands for all
rows that begin so. Nodes with weights are those of the tests (tests/support/weighted.py).
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from asv_bench.benchmarks import timing
from asv_bench.benchmarks.operators import SINGLES, model, ready
from asv_bench.every_operator import TESTS, quiet

ROUNDS, SLICE = 21, 2_000_000
"""Rounds of each, and the nanoseconds that a side's turn takes at least."""
LEAST = {
    r"(ELU|HARD_SWISH|LEAKY_RELU|LOGISTIC|TANH|GELU|RELU6?|QUANTIZE) s8": 2.5,
    r"(MAX_POOL_2D|AVERAGE_POOL_2D|RESIZE)|(MUL|SOFTMAX) s8|DEPTHWISE_CONV_2D.* (s8|u8)$": 2.0,
}
"""How many times LiteRT's speed names that begin so are to have; all others once."""


class Row(NamedTuple):
    """A node, timed: microseconds of rounds, multiply-adds and bytes of a run, and the least seconds they take at the core's peaks."""

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
    def least(self) -> float:
        return next((least for names, least in LEAST.items() if re.match(names, self.name)), 1.0)

    def __str__(self) -> str:
        ours, theirs = min(self.ours), min(self.theirs)
        median = statistics.median(self.theirs) / statistics.median(self.ours)
        rate = f"{self.macs / ours / 1e3:8.1f} GMAC/s" if self.macs else f"{self.nbytes / ours / 1e3:8.1f} GB/s  "
        mark = "<" if self.ratio < self.least else " "
        times = f"{ours:12.2f} {theirs:10.2f} {self.ratio:7.2f} {median:7.2f} {self.least:6.1f} {mark}"
        return f"{self.name:36} {times} {self.nbytes / 1024:8.0f} {rate} {1e8 * self.peak / ours:6.0f} %"


HEAD = f"{'':36} {'minilite us':>12} {'LiteRT us':>10} {'best':>7} {'median':>7} {'least':>6}   {'KiB':>8} {'rate':>15} {'of peak':>8}"


def layers() -> dict[str, Callable[[], Any]]:
    """Nodes with weights, on the shapes of the layers that kernels are judged by."""
    from support.large_nodes import VERSIONS, family
    from support.weighted import Layer, window_options

    found: dict[str, Callable[[], Any]] = {}
    types = {"f32": "f32 f32 f32", "s8": "s8 s8 s32", "u8": "u8 u8 s32", "hybrid": "f32 s8 f32"}

    def add(op: str, name: str, x: Any, w: Any, options: Any, kinds: str = "f32 s8 u8 hybrid") -> None:
        for kind in kinds.split():
            found[f"{op} {name} {kind}"] = lambda kind=kind: Layer(
                op, types[kind], x, w, options, per_channel=kind in ("s8", "hybrid") and op != "FULLY_CONNECTED", version=VERSIONS[op]
            )  # fmt: skip

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
    for adj in (False, True):
        shapes = ((12, 128, 64), (12, 64, 128))
        found[f"BATCH_MATMUL 12x128x64x128{' adj_y' * adj} f32"] = lambda adj=adj: family("batch_matmul").matmul(
            __import__("numpy").random.default_rng(1), "f32 f32 f32", shapes, (False, adj))[0]  # fmt: skip
    return found


def compare(name: str, content: bytes, arrays: list[Any], rates: dict[Any, float]) -> Row:
    """A row; `rates` keeps what the core does at best, of products and of copies of so many bytes."""
    from ai_edge_litert.interpreter import Interpreter

    import minilite
    from minilite._native.rates import byte_rate, copy_rate, float_rate
    from minilite.report.profile import node_times

    ours = minilite.Interpreter(model_content=content, num_threads=1)
    sides = [ready(lambda **_: ours, content, arrays), ready(Interpreter, content, arrays)]
    mine, theirs = timing.in_turn(sides, ROUNDS, SLICE)
    level, node = minilite_level(ours), node_times(ours._session(), range(1))[0]

    def rate(key: Any, measure: Callable[[Any], float]) -> float:
        return rates.setdefault(key, 0.0) or rates.update({key: measure(key)}) or rates[key]

    size = 1 << max(12, node.nbytes.bit_length() - 1)
    size = min(1 << 27, size * 3 // 2 if node.nbytes >= size * 5 // 4 else size)
    peak = node.nbytes / rate(size, copy_rate)
    if node.macs:
        peak = max(peak, node.macs / rate(("bytes" if node.bytewise else "floats"), lambda key: (byte_rate if key == "bytes" else float_rate)(level)))  # fmt: skip
    return Row(name, [t / 1000 for t in mine], [t / 1000 for t in theirs], node.macs, node.nbytes, peak)


def minilite_level(interpreter: Any) -> str:
    """Of instructions, in which its kernels run."""
    return str(interpreter.plan.level)


def main() -> int:
    """1 if a row is below what it ought to be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--low", action="store_true", help="only rows that are below what they ought to be")
    args = parser.parse_args()
    sys.path[:0] = [str(TESTS), str(TESTS / "ops")]
    weighted = layers()
    rates: dict[Any, float] = {}
    low = 0
    print(HEAD)
    for name in [*SINGLES, *weighted]:
        if args.names and not any(name == given or name.startswith(given + " ") for given in args.names):
            continue
        with quiet():
            made = weighted[name]() if name in weighted else None
            content, arrays = (made.model, made.arrays) if made else model(SINGLES[name])
            row = compare(name, content, arrays, rates)
        low += row.ratio < row.least
        if row.ratio < row.least or not args.low:
            print(row, flush=True)
    print(f"{low} below what they ought to be")
    return int(low > 0)


if __name__ == "__main__":
    sys.exit(main())
