"""Random graphs on minilite and on LiteRT, which has to give the same: integers to the bit, floats within a bound.

    python tests/trust differ [--seed 0] [--count 1000] [--seconds 0] [--only NUMBER] [--file MODEL]

A graph has 5 to 60 nodes over floats, quantized and plain integers and booleans, a dynamic shape or a loop whose carry
grows in some; it runs at three sizes of its batch, on LiteRT's reference kernels (and on its optimized ones where those
have no kernel). LiteRT runs in a child that is replaced after a crash, which counts as its own. Prints each graph that
differs with its number, which makes it again; `minilite compare` and --file then tell the first node that parts.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from support import apart
from support.compare import BUILTIN, REFERENCE, run_litert, run_minilite
from support.drawn import Draw, attempt

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, array_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

F32, S8, U8, S16, S32, B8 = (getattr(TensorType, n) for n in ("FLOAT32", "INT8", "UINT8", "INT16", "INT32", "BOOL"))
BATCHES = (2, 1, 5)
"""The file's batch, and those that it is resized to."""
BOUND = 1e-4
"""The tolerance of floats: the difference by the largest value, over a whole graph; tests hold single operators to a
few ULP."""
FAILURES = ("DIFFERS", "REFUSED", "unmade", "MINILITE ENDED")
REPORTED = (*FAILURES, "LiteRT ended")
MOST_ELEMENTS = 4096


class Value(NamedTuple):
    """A tensor that may be read. Its first dimension is the batch."""

    tensor: int
    rest: tuple[int, ...]
    """Its other dimensions."""
    kind: TensorType
    quantization: Quantization = NOT_QUANTIZED
    exact: bool = True
    """True if its floats are equal bit for bit on both; functions that jump are applied only to such values."""


class Graph(Draw):
    """A graph under construction."""

    def __init__(self, seed: int, number: int) -> None:
        super().__init__(seed, number)
        self.builder = ModelBuilder()
        self.g = self.builder.subgraph("main")
        self.values: list[Value] = []
        self.ops: list[str] = []
        self.inputs = int(self.rng.integers(1, 4))
        for name in ("x", "y", "z")[: self.inputs]:
            kind = self.one(F32, F32, S8, S32, U8, S16)
            rest = self.one((4,), (6,), (4, 4, 3), (3, 5), (2, 3, 2))
            q = self.quantization(kind)
            self.values.append(Value(self.g.input(name, (BATCHES[0], *rest), kind, signature=(-1, *rest), quantization=q),
                                     rest, kind, q))  # fmt: skip

    def quantization(self, kind: TensorType) -> Quantization:
        """A random scale of a quantized type."""
        if kind not in (S8, U8, S16):
            return NOT_QUANTIZED
        zero = {S8: int(self.rng.integers(-100, 100)), U8: int(self.rng.integers(20, 230)), S16: 0}[kind]
        return Quantization((float(np.float32(self.rng.uniform(0.005, 0.1))),), (zero,))

    def any(self, *kinds: TensorType, rank: int = 0, exact: bool = False) -> Value:
        """A value of one of the kinds. Raises: LookupError."""
        fit = [v for v in self.values if (not kinds or v.kind in kinds) and (not rank or len(v.rest) + 1 == rank)]
        fit = [v for v in fit if v.exact or not exact]
        return fit[-1 - int(self.rng.integers(min(len(fit), 6)))]

    def constant(self, array: Any, kind: TensorType = S32, q: Quantization = NOT_QUANTIZED) -> int:
        """A constant."""
        number: int = self.g.constant(f"c{len(self.ops)}_{self.rng.integers(1 << 30)}", np.asarray(array, array_type(kind)), kind,
                                      quantization=q)  # fmt: skip
        return number

    def add(self, op: str, inputs: Sequence[int], rest: Sequence[int], like: Value, **more: Any) -> Value:
        """Adds a node with one output, like the value `like` except for the fields in `more`."""
        kind, q, exact = more.pop("kind", like.kind), more.pop("q", None), more.pop("exact", like.exact)
        if np.prod(rest, dtype=np.int64) > MOST_ELEMENTS:
            raise LookupError
        q = like.quantization if q is None else q
        tensor = self.g.node(op, list(inputs), out=(f"t{len(self.ops)}", (BATCHES[0], *rest), kind, q), **more)
        self.ops.append(op)
        self.values.append(Value(tensor, tuple(rest), kind, q, exact))
        return self.values[-1]


# Steps ----------------------------------------------------------------------------------------------------------------


def unary(g: Graph) -> None:
    x = g.any(F32, S8, S32)
    if x.kind == F32:
        op = g.one("RELU", "RELU6", "ABS", "NEG", "TANH", "LOGISTIC", "LEAKY_RELU", "HARD_SWISH", "SQUARE")
        options = {"alpha": 0.25} if op == "LEAKY_RELU" else {}
        g.add(op, [x.tensor], x.rest, x, exact=x.exact and op in ("RELU", "RELU6", "ABS", "NEG"), options=options)
    elif x.kind == S8:
        op = g.one("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "TANH", "LOGISTIC")
        fixed = {"TANH": Quantization((1 / 128,), (0,)), "LOGISTIC": Quantization((1 / 256,), (-128,))}
        options = {"alpha": 0.25} if op == "LEAKY_RELU" else {}
        g.add(op, [x.tensor], x.rest, x, q=fixed.get(op, g.quantization(S8)), options=options)
    else:
        g.add(g.one("ABS", "NEG"), [x.tensor], x.rest, x)


def jump(g: Graph) -> None:
    x = g.any(F32, exact=True)
    g.add(g.one("FLOOR", "SIGN"), [x.tensor], x.rest, x)


def binary(g: Graph) -> None:
    x = g.any(F32, S8, U8, S16, S32)
    fit = [v for v in g.values if v.kind == x.kind and v.rest == x.rest]
    y = g.one(*fit)
    op = g.one("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")
    q: Quantization | None = g.quantization(x.kind)
    if op in ("MAXIMUM", "MINIMUM"):
        if x.quantization != y.quantization or x.kind in (U8, S16):
            raise LookupError
        q = None
    options = (
        {"fused_activation_function": g.one("NONE", "NONE", "RELU")}
        if op in ("ADD", "SUB", "MUL") and x.kind == F32
        else {}
    )
    if x.kind == S16 and op in ("ADD", "SUB"):
        options["pot_scale_int16"] = False
    g.add(op, [x.tensor, y.tensor], x.rest, x, q=q, exact=x.exact and y.exact and op != "MUL", options=options)


def with_row(g: Graph) -> None:
    """Broadcasting a constant over the last dimension."""
    x = g.any(F32, S32)
    row = g.constant(g.rng.integers(-3, 4, x.rest[-1:]), x.kind)
    g.add(g.one("ADD", "SUB", "MAXIMUM", "MINIMUM"), [x.tensor, row], x.rest, x)


def compared(g: Graph) -> None:
    """A comparison that chooses between two values."""
    x = g.any(F32, S32, exact=True)
    y = g.one(*[v for v in g.values if v.kind == x.kind and v.rest == x.rest and v.exact])
    mask = g.add(
        g.one("LESS", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"), [x.tensor, y.tensor], x.rest, x, kind=B8, q=NOT_QUANTIZED
    )
    if g.one(True, False):
        mask = g.add("LOGICAL_NOT", [mask.tensor], x.rest, mask)
    g.add("SELECT_V2", [mask.tensor, x.tensor, y.tensor], x.rest, x)


def reshaped(g: Graph) -> None:
    x = g.any(F32, S8, U8, S32, S16)
    size = int(np.prod(x.rest))
    rest = g.one((size,), (1, size), (*x.rest, 1), (size, 1, 1))
    if len(rest) > 4:
        raise LookupError
    g.add("RESHAPE", [x.tensor, g.constant([-1, *rest])], rest, x, options={"new_shape": (-1, *rest)})


def transposed(g: Graph) -> None:
    x = g.any(F32, S8, S32, U8)
    order = [0, *(1 + g.rng.permutation(len(x.rest)))]
    g.add("TRANSPOSE", [x.tensor, g.constant(order)], [x.rest[k - 1] for k in order[1:]], x)


def sliced(g: Graph) -> None:
    x = g.any(F32, S8, S32, U8)
    begin = [int(g.rng.integers(0, n)) for n in x.rest]
    end = [int(g.rng.integers(b + 1, n + 1)) for n, b in zip(x.rest, begin, strict=True)]
    step = [int(g.rng.integers(1, 3)) for _ in x.rest]
    rest = [-(-(e - b) // s) for b, e, s in zip(begin, end, step, strict=True)]
    numbers = [g.constant([0, *begin]), g.constant([0, *end]), g.constant([1, *step])]
    options = {"begin_mask": 1, "end_mask": 1}  # SLICE of a whole dimension is refused by LiteRT once it is resized
    g.add("STRIDED_SLICE", [x.tensor, *numbers], rest, x, options=options)


def joined(g: Graph) -> None:
    x = g.any(F32, S8, S32)
    fit = [v for v in g.values if v.kind == x.kind and v.rest[1:] == x.rest[1:] and v.quantization == x.quantization
           and len(v.rest) == len(x.rest)]  # fmt: skip
    parts = [x, *(g.one(*fit) for _ in range(int(g.rng.integers(1, 3))))]
    rest = (sum(p.rest[0] for p in parts), *x.rest[1:])
    g.add("CONCATENATION", [p.tensor for p in parts], rest, x, options={"axis": 1}, exact=all(p.exact for p in parts))


def padded(g: Graph) -> None:
    x = g.any(F32, S8, S32)
    if len(x.rest) > 3:
        raise LookupError
    pads = g.rng.integers(0, 3, (len(x.rest), 2))
    rest = [n + int(p.sum()) for n, p in zip(x.rest, pads, strict=True)]
    g.add("PAD", [x.tensor, g.constant([[0, 0], *pads.tolist()])], rest, x)


def moved(g: Graph) -> None:
    """TILE, REVERSE_V2, GATHER, EXPAND_DIMS."""
    x = g.any(F32, S8, S32)
    op = g.one("TILE", "REVERSE_V2", "GATHER", "EXPAND_DIMS")
    if op == "TILE":
        times = [int(n) for n in g.rng.integers(1, 3, len(x.rest))]
        g.add(op, [x.tensor, g.constant([1, *times])], [a * b for a, b in zip(x.rest, times, strict=True)], x)
    elif op == "REVERSE_V2":
        g.add(op, [x.tensor, g.constant([int(g.rng.integers(1, len(x.rest) + 1))])], x.rest, x)
    elif op == "GATHER":
        places = g.rng.integers(0, x.rest[0], int(g.rng.integers(1, 5)))
        g.add(op, [x.tensor, g.constant(places)], (len(places), *x.rest[1:]), x, options={"axis": 1})
    elif len(x.rest) < 3:
        g.add(op, [x.tensor, g.constant(1)], (1, *x.rest), x)


def reduced(g: Graph) -> None:
    x = g.any(F32, S32, S8)
    axis = int(g.rng.integers(1, len(x.rest) + 1))
    op = g.one("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN") if x.kind != S8 else g.one("REDUCE_MAX", "REDUCE_MIN")
    if x.kind == S32 and op == "MEAN":
        raise LookupError
    rest = [1 if k + 1 == axis else n for k, n in enumerate(x.rest)]
    exact = x.exact and op.startswith("REDUCE")
    g.add(op, [x.tensor, g.constant([axis])], rest, x, options={"keep_dims": True}, exact=exact)


def largest(g: Graph) -> None:
    x = g.any(F32, S8, exact=True)
    g.add("ARG_MAX", [x.tensor, g.constant(len(x.rest))], x.rest[:-1], x, kind=S32, q=NOT_QUANTIZED,
          options={"output_type": "INT32"})  # fmt: skip
    if len(x.rest) == 1:
        g.values.pop()


def weighted(g: Graph) -> None:
    """FULLY_CONNECTED."""
    x = g.any(F32, S8, rank=2)
    out, depth = int(g.rng.integers(1, 9)), x.rest[0]
    if x.kind == F32:
        w = g.constant(g.rng.normal(size=(out, depth)) * 0.5, F32)
        bias = g.constant(g.rng.normal(size=out), F32) if g.one(True, False) else -1
        g.add("FULLY_CONNECTED", [x.tensor, w, bias], (out,), x, exact=False)
        return
    scale = float(np.float32(g.rng.uniform(0.01, 0.1)))
    w = g.constant(g.rng.integers(-127, 128, (out, depth)), S8, Quantization((scale,), (0,)))
    bias = g.constant(
        g.rng.integers(-500, 500, out),
        S32,
        Quantization((float(np.float32(scale) * np.float32(x.quantization.scales[0])),), (0,)),
    )
    g.add("FULLY_CONNECTED", [x.tensor, w, bias], (out,), x, q=g.quantization(S8))


def convolved(g: Graph) -> None:
    """CONV_2D, DEPTHWISE_CONV_2D and pools."""
    x = g.any(F32, S8, rank=4)
    op = g.one("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D")
    height, width, depth = x.rest
    k, stride, padding = int(g.rng.integers(1, 4)), int(g.rng.integers(1, 3)), g.one("SAME", "VALID")
    if k > min(height, width):
        raise LookupError
    sizes = [-(-n // stride) if padding == "SAME" else (n - k) // stride + 1 for n in (height, width)]
    options = {
        "stride_h": stride,
        "stride_w": stride,
        "padding": padding,
        "fused_activation_function": g.one("NONE", "RELU"),
    }
    if "POOL" in op:
        options |= {"filter_height": k, "filter_width": k}
        g.add(op, [x.tensor], (*sizes, depth), x, options=options, exact=x.exact and op == "MAX_POOL_2D")
        return
    out = int(g.rng.integers(1, 7)) if op == "CONV_2D" else depth
    shape = (out, k, k, depth) if op == "CONV_2D" else (1, k, k, depth)
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    if op != "CONV_2D":
        options["depth_multiplier"] = 1
    if x.kind == F32:
        w, bias = g.constant(g.rng.normal(size=shape) * 0.3, F32), g.constant(g.rng.normal(size=out), F32)
        g.add(op, [x.tensor, w, bias], (*sizes, out), x, options=options, exact=False)
        return
    scales = tuple(float(np.float32(s)) for s in g.rng.uniform(0.01, 0.1, out))
    w = g.constant(g.rng.integers(-127, 128, shape), S8, Quantization(scales, (0,) * out, 0 if op == "CONV_2D" else 3))
    products = tuple(float(np.float32(s) * np.float32(x.quantization.scales[0])) for s in scales)
    bias = g.constant(g.rng.integers(-500, 500, out), S32, Quantization(products, (0,) * out, 0))
    g.add(op, [x.tensor, w, bias], (*sizes, out), x, options=options, q=g.quantization(S8))


def soft(g: Graph) -> None:
    x = g.any(F32, S8)
    q = Quantization((1 / 256,), (-128,)) if x.kind == S8 else None
    g.add("SOFTMAX", [x.tensor], x.rest, x, q=q, options={"beta": 1.0}, exact=x.kind == S8)


def converted(g: Graph) -> None:
    """QUANTIZE, DEQUANTIZE, CAST."""
    x = g.any(F32, S8, S32, U8, S16, exact=True)
    if x.kind == F32:
        kind = g.one(S8, U8, S16)
        g.add("QUANTIZE", [x.tensor], x.rest, x, kind=kind, q=g.quantization(kind))
    elif x.kind == S32:
        g.add("CAST", [x.tensor], x.rest, x, kind=F32, options={"in_data_type": "INT32", "out_data_type": "FLOAT32"})
    else:
        g.add("DEQUANTIZE", [x.tensor], x.rest, x, kind=F32, q=NOT_QUANTIZED)


def rescaled(g: Graph) -> None:
    x = g.any(S8, U8)
    g.add("QUANTIZE", [x.tensor], x.rest, x, q=g.quantization(x.kind))


def grown(g: Graph) -> None:
    """A loop whose carry gets one more row of zeros in each turn, so that later nodes have another batch."""
    x = g.any(F32)
    test, body = g.builder.subgraph("test"), g.builder.subgraph("body")
    carries = [("n", (), S32), ("v", (BATCHES[0], *x.rest), F32)]
    for graph in (test, body):
        for carry in carries:
            graph.input(*carry)
    start = g.constant(0)
    outs = [("n_out", (), S32), (f"t{len(g.ops)}", (BATCHES[0], *x.rest), F32)]
    calls = {"cond_subgraph_index": test.index, "body_subgraph_index": body.index}
    made = g.g.node("WHILE", [start, x.tensor], out=outs, options=calls)
    turns = int(g.rng.integers(0, 4))
    test.output(test.node("LESS", [0, test.constant("turns", np.array(turns, np.int32))], out=("go", (), B8)))
    after = body.node("ADD", [0, body.constant("one", np.array(1, np.int32))], out=("after", (), S32))
    row = body.constant("row", np.zeros((1, *x.rest), np.float32))
    more = body.node("CONCATENATION", [1, row], out=("more", (BATCHES[0] + 1, *x.rest)), options={"axis": 0})
    body.output(after, body.node("ABS", [more], out=("kept", (BATCHES[0] + 1, *x.rest))))
    g.ops.append("WHILE")
    g.g.output(g.g.node("NEG", [made[1]], out=("negated", (BATCHES[0], *x.rest))))


def found(g: Graph) -> None:
    """WHERE: the places of values above zero, which are known only in the run."""
    x = g.any(F32, S32, exact=True)
    zero = g.constant(np.zeros(1), x.kind)
    mask = g.g.node("GREATER", [x.tensor, zero], out=(f"m{len(g.ops)}", (BATCHES[0], *x.rest), B8))
    places = g.g.node("WHERE", [mask], out=(f"w{len(g.ops)}", (1, 1 + len(x.rest)), TensorType.INT64))
    g.ops += ["GREATER", "WHERE"]
    g.g.output(g.g.node("CAST", [places], out=(f"k{len(g.ops)}", (1, 1 + len(x.rest)), S32),
                        options={"in_data_type": "INT64", "out_data_type": "INT32"}))  # fmt: skip


STEPS: tuple[Callable[[Graph], None], ...] = (
    unary, unary, jump, binary, binary, binary, with_row, compared, reshaped, transposed, sliced, joined, padded, moved,
    moved, reduced, largest, weighted, weighted, convolved, convolved, soft, converted, rescaled,
)  # fmt: skip


class Drawn(NamedTuple):
    """A graph, its operators, and its inputs at each size."""

    model: bytes
    ops: list[str]
    inputs: list[list[Any]]


def drawn(seed: int, number: int) -> Drawn:
    """The graph of that number."""
    g = Graph(seed, number)
    wanted = int(g.rng.integers(5, 61))
    for _ in range(4 * wanted):
        if len(g.ops) >= wanted:
            break
        try:
            g.one(*STEPS)(g)
        except (LookupError, ValueError):
            continue
    for extra in (grown, found):
        try:
            if g.rng.random() < 0.2:
                extra(g)
        except (LookupError, ValueError):
            continue
    outputs = {v.tensor for v in g.values[-3:]} | {g.one(*g.values).tensor}
    g.g.output(*sorted(outputs))
    arrays = [[_array(g.rng, value, batch) for value in g.values[: g.inputs]] for batch in BATCHES]
    return Drawn(g.builder.build(), g.ops, arrays)


def _array(rng: np.random.Generator, value: Value, batch: int) -> Any:
    shape, dtype = (batch, *value.rest), array_type(value.kind)
    if value.kind == F32:
        return (rng.integers(-12, 13, shape) * 0.25).astype(dtype)
    if value.kind == S32:
        return rng.integers(-9, 10, shape).astype(dtype)
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


# Judging --------------------------------------------------------------------------------------------------------------


def differs(theirs: Sequence[Any], ours: Sequence[Any]) -> str:
    """The first output that differs, and how; empty if none does."""
    for number, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {number}: {a.dtype} {a.shape}, found {b.dtype} {b.shape}"
        if a.dtype.kind != "f":
            if not np.array_equal(a, b):
                return f"output {number}: {int((a != b).sum())} of {a.size} integers differ"
        elif a.size:
            finite = np.isfinite(a)
            if not np.array_equal(finite, np.isfinite(b)):
                return f"output {number}: not finite in other places"
            if finite.any():
                off = float(np.abs(a[finite] - b[finite]).max() / max(1.0, float(np.abs(a[finite]).max())))
                if off > BOUND:
                    return f"output {number}: floats differ by {off:.2g}"
    return ""


def judged(graph: Drawn) -> tuple[str, str]:
    """Compares the two at all sizes: a word, and details."""
    words = set()
    for arrays in graph.inputs:
        ours = attempt(lambda arrays=arrays: run_minilite(graph.model, arrays))
        theirs = attempt(lambda arrays=arrays: run_litert(graph.model, arrays, REFERENCE))
        if isinstance(theirs, Exception):
            theirs = attempt(lambda arrays=arrays: run_litert(graph.model, arrays, BUILTIN))
        if isinstance(ours, Exception):
            if not isinstance(theirs, Exception):
                return "REFUSED", f"{type(ours).__name__}: {ours}"[:300]
            words.add("both refuse")
        elif isinstance(theirs, Exception):
            words.add("LiteRT refuses")
        elif text := differs(theirs, ours):
            others = {
                "as LiteRT's optimized kernels": attempt(
                    lambda arrays=arrays: run_litert(graph.model, arrays, BUILTIN)
                ),
                "as LiteRT with all tensors kept": attempt(
                    lambda arrays=arrays: run_litert(graph.model, arrays, experimental_preserve_all_tensors=True)
                ),
            }
            alike = [w for w, o in others.items() if not isinstance(o, Exception) and not differs(o, ours)]
            if not alike:
                return "DIFFERS", f"batch {len(arrays[0])}: {text}"
            words.add(alike[0])
        else:
            words.add("equal")
    return min(words) if "equal" not in words or len(words) > 1 else "equal", ""


def answer_of(seed: int, number: int) -> tuple[str, str]:
    """Compares the two on a graph."""
    graph = attempt(lambda: drawn(seed, number))
    return ("unmade", repr(graph)[:300]) if isinstance(graph, Exception) else judged(graph)


def runs_alone(seed: int, number: int) -> bool:
    """True if a child that runs minilite alone comes to its end."""

    def work(number: int) -> None:
        graph = attempt(lambda: drawn(seed, number))
        if isinstance(graph, Drawn):
            for arrays in graph.inputs:
                attempt(lambda arrays=arrays: run_minilite(graph.model, arrays))

    return not any(isinstance(found, apart.Ended) for _, found in apart.answers(work, [number]))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--file", type=Path, help="where --only writes the model")
    given = parser.parse_args(arguments)
    if given.only is not None:
        graph = drawn(given.seed, given.only)
        if given.file:
            given.file.write_bytes(graph.model)
        print(" ".join(graph.ops))
        print(*judged(graph))
        return 0
    total: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + given.seconds
    numbers = range(sys.maxsize if given.seconds else given.count)
    for number, found in apart.answers(lambda number: answer_of(given.seed, number), numbers):
        word, text = found if not isinstance(found, apart.Ended) else ("LiteRT ended", "")
        if isinstance(found, apart.Ended) and not runs_alone(given.seed, number):
            word = "MINILITE ENDED"
        total[word] += 1
        if word in REPORTED:
            print(f"--seed {given.seed} --only {number}: {word} {text}", flush=True)
        if given.seconds and time.monotonic() > end:
            break
    print(", ".join(f"{word} {count}" for word, count in sorted(total.items())))
    print(
        f"seed {given.seed}: {sum(total.values())} graphs, {total['DIFFERS']} differ, {total['REFUSED']} refused by minilite alone"
    )
    return 1 if any(total[word] for word in FAILURES) else 0
