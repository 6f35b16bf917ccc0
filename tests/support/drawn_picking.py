"""Nodes at random of operators that pick and place elements by indices, or sort, search and choose."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.drawn import Draw, DrawNode, node, out
from support.drawn_moving import ANY, MOST
from support.node import OneNode, Out

from minilite.format.quantization import NOT_QUANTIZED, Quantization


def indices(d: Draw, count: int, shape: Any, outside: float = 0.1, least: int = 0) -> Any:
    """Indices below `count`; now and then one or another outside."""
    found = d.rng.integers(0, max(count, 1), shape)
    if found.size and d.often(outside):
        found.flat[d.number(0, found.size - 1)] = d.one(-1, count, count + 7, -count - 1, 2**31 - 1, -(2**31))
    return found


def gather(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(1, 5)
    axis = d.number(-len(shape), len(shape) - 1)
    batch = d.number(0, axis % len(shape)) if d.often(0.4) else 0
    wanted = (*shape[:batch], *d.shape(0, 3))
    if kind == "s4":  # LiteRT takes rows of an odd number of elements to begin at whole bytes
        shape, axis = (*shape[:-1], 2, 2 * shape[-1]), axis if axis >= 0 else axis - 1
        batch = min(batch, axis % len(shape))
        wanted = (*shape[:batch], *wanted[batch:])
    x = d.given(kind, shape)
    word = d.one("s32", "s64", "s16")
    found = (
        np.clip(indices(d, shape[axis], wanted), -32768, 32767) if word == "s16" else indices(d, shape[axis], wanted)
    )
    numbers = d.of(found, word)
    if batch and d.often(0.2) and len(wanted):
        batch -= len(wanted)
    return node(d, "GATHER", [x, numbers], {"axis": axis, "batch_dims": batch}, outs=out(d, kind, x.quantization))


def gather_nd(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY), d.shape(1, 5)
    depth = d.number(0 if d.often(0.1) else 1, len(shape))
    outer = d.shape(0, 3)
    found = np.stack([indices(d, n, outer, 0.05) for n in shape[:depth]], -1) if depth else np.zeros((*outer, 0), int)
    word = d.one("s32", "s64", "s16")
    found = np.clip(found, -32768, 32767) if word == "s16" else found
    x = d.given(kind, shape)
    return node(d, "GATHER_ND", [x, d.of(found, word)], outs=out(d, kind, x.quantization))


def scatter_nd(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 b8 s32 s64"), d.shape(1, 4)
    depth, outer = d.number(1, len(shape)), d.shape(0, 2)
    found = np.stack([indices(d, n, outer, 0.05) for n in shape[:depth]], -1)
    updates = d.given(kind, (*outer, *shape[depth:]), NOT_QUANTIZED, spread=3.0)
    return node(d, "SCATTER_ND", [d.of(found, "s32"), updates, d.numbers(shape)], outs=out(d, kind, NOT_QUANTIZED))


def dynamic_update_slice(d: Draw) -> OneNode:
    kind, shape = d.kind(ANY.replace(" string", "")), d.shape(0, 5)
    part = [d.number(0 if d.often(0.05) else min(1, n), n) for n in shape]
    starts = [d.number(-3, n + 3) for n in shape]
    x = d.given(kind, shape)
    inputs = [x, d.given(kind, part, x.quantization), d.numbers(starts, "s32", "s64")]
    return node(d, "DYNAMIC_UPDATE_SLICE", inputs, outs=out(d, kind, x.quantization))


def select(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind = d.kind("f32 f16 s8 u8 b8 s16 s32 s64 u32 f64")
        shape = d.shape(0, 5)
        parts = [shape] * 3
        if op == "SELECT_V2" and d.often(0.6):
            parts = [tuple(1 if d.often(0.3) else n for n in shape) for _ in range(3)]
            parts = [part[d.number(0, len(part)) if d.often(0.2) else 0 :] for part in parts]
        elif op == "SELECT" and d.often(0.3) and shape:
            parts[0] = d.one((), shape[:1])
        q = d.scale(kind)
        inputs = [d.given("b8", parts[0]), d.given(kind, parts[1], q), d.given(kind, parts[2], q)]
        made = (
            np.broadcast_shapes(*parts) if op == "SELECT_V2" else parts[1]
        )  # LiteRT looks at it where all is one number
        return node(d, op, inputs, outs=[Out(kind, q, made)])

    return draw


def one_hot(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 b8 s32 s64"), d.shape(0, 4)
    deep = d.number(0 if d.often(0.1) else 1, 6)
    found = d.of(indices(d, deep, shape, 0.4), d.one("s32", "s64"), constant=0.2)
    on = d.given(kind, (), NOT_QUANTIZED)
    inputs = [found, d.numbers(deep), on, d.given(kind, (), NOT_QUANTIZED)]
    return node(d, "ONE_HOT", inputs, {"axis": d.number(-1, len(shape))}, outs=out(d, kind, NOT_QUANTIZED))


def sparse_to_dense(d: Draw) -> OneNode:
    kind, shape, word = d.kind("f32 s8 u8 s32 s64"), d.shape(1, 4), d.one("s32", "s64")
    count = d.number(0, 4)
    places = sorted(int(i) for i in d.rng.permutation(int(np.prod(shape)))[:count])
    found = np.array([np.unravel_index(i, shape) for i in places], int).reshape(len(places), len(shape))
    if found.size and d.often(0.1):
        found[0, 0] = d.one(-1, shape[0])
    if len(shape) == 1 and d.often(0.5):
        found = found[:, 0]
    given = d.given(kind, () if d.often(0.3) else (len(places),), NOT_QUANTIZED)
    inputs = [d.of(found, word), d.numbers(shape, word), given, d.given(kind, (), NOT_QUANTIZED)]
    return node(d, "SPARSE_TO_DENSE", inputs, outs=out(d, kind, NOT_QUANTIZED))


def topk(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 s16 s32 s64"), d.shape(1, 4, 9)
    word, made = d.one("s32", "s16"), d.one("s32", "s16")
    k = d.number(0, shape[-1] + d.often(0.05))
    x = d.given(kind, shape, spread=3.0)
    return node(d, "TOPK_V2", [x, d.numbers(k, word)], outs=[Out(kind, x.quantization), Out(made)])


def where(d: Draw) -> OneNode:
    kind = d.kind("b8 f32 s8 u8 s32 s64 u32")
    x = d.given(kind, d.shape(0, 5), NOT_QUANTIZED)
    return node(d, "WHERE", [x], outs=out(d, "s64"))


def unique(d: Draw) -> OneNode:
    kind, made = d.one("f32", "s8", "u8", "s16", "s32", "s64"), d.one("s32", "s64")
    x = d.given(kind, d.shape(1, 1, 30), spread=2.0)
    if kind == "f32" or d.often(0.5):
        x = x._replace(array=(x.array % 5).astype(x.array.dtype))
    text = {"idx_out_type": "INT32" if made == "s32" else "INT64"}
    return node(d, "UNIQUE", [x], text, outs=[Out(kind, x.quantization), Out(made)])


def segment_sum(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s32"), d.shape(1, 4)
    ids = np.cumsum(d.rng.integers(0, 2, shape[0]))
    ids = ids - (ids[0] if ids.size else 0)
    if ids.size and d.often(0.1):
        ids[0] = -1
    return node(d, "SEGMENT_SUM", [d.given(kind, shape, spread=2.0), d.of(ids, "s32")])


def unsorted(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        kind, shape = d.kind("f32 s32"), d.shape(1, 4)
        count = d.number(0, 6)
        ids = indices(d, max(count, 1), shape[: d.number(1, len(shape)) if d.often(0.3) else 1], 0.1)
        return node(d, op, [d.given(kind, shape, spread=2.0), d.of(ids, "s32"), d.numbers(count)])

    return draw


def embedding_lookup(d: Draw) -> OneNode:
    kind = d.kind("f32 s8 u8 s4 s32 s16 f16")
    shape = (d.number(1, 9), *d.shape(1, 3))
    ids = d.of(indices(d, shape[0], (d.number(0 if d.often(0.1) else 1, 5),)), "s32", constant=0.3)
    if kind == "s4":
        shape = (*shape[:-1], 2 * shape[-1])
    if kind == "s4" or (kind in ("s8", "u8") and d.often(0.7)):
        q = Quantization(tuple(float(s) for s in d.rng.uniform(0.01, 0.1, shape[0])), (0,) * shape[0], 0)
        q = q if d.often(0.5) else Quantization((0.05,), (0,))
        return node(d, "EMBEDDING_LOOKUP", [ids, d.given(kind, shape, q, constant=0.8)], outs=out(d, "f32"))
    q = d.scale(kind)
    return node(d, "EMBEDDING_LOOKUP", [ids, d.given(kind, shape, q, constant=0.6)], outs=out(d, kind, q))


def embedding_sparse(d: Draw) -> OneNode:
    rows, count = d.number(1, 4), d.number(1, 6)
    places = np.sort(d.rng.integers(0, rows, count))
    found = np.stack([places, np.arange(count)], 1)
    table = d.given("f32", (7, *d.shape(1, 2)), spread=2.0)
    ids = d.of(indices(d, 7, (count,), 0.1), "s32")
    inputs = [ids, d.of(found, "s32"), d.numbers([rows, count]), d.given("f32", (count,), spread=2.0), table]
    return node(d, "EMBEDDING_LOOKUP_SPARSE", inputs, {"combiner": d.one("SUM", "MEAN", "SQRTN")}, outs=out(d, "f32"))


def hashtable_lookup(d: Draw) -> OneNode:
    kind, rows = d.kind("f32 s32 s8 string"), d.number(1, 9)
    keys = np.sort(d.rng.permutation(30)[:rows])
    wanted = d.rng.integers(0, 30, d.number(1, 6))
    table = d.given(kind, (rows, *(d.shape(0, 2) if kind != "string" else ())), NOT_QUANTIZED)
    outs = [Out(kind, NOT_QUANTIZED), Out("u8")]
    return node(d, "HASHTABLE_LOOKUP", [d.of(wanted, "s32"), d.of(keys, "s32"), table], outs=outs)


def matrix_diag(d: Draw) -> OneNode:
    kind = d.kind("f32 s8 u8 s16 s32 s64")
    x = d.given(kind, d.shape(1, 4))
    return node(d, "MATRIX_DIAG", [x], outs=out(d, kind, x.quantization))


def matrix_set_diag(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 s8 u8 s16 s32 s64"), d.shape(2, 5)
    x = d.given(kind, shape)
    diagonals = (*shape[:-2], min(shape[-2:]))
    diagonal = d.given(kind, (int(np.prod(diagonals)) + 1, 1) if d.often(0.1) else diagonals, x.quantization)
    return node(d, "MATRIX_SET_DIAG", [x, diagonal], outs=out(d, kind, x.quantization))


def window(d: Draw, op: str, kind: str, shape: Any, start: Any) -> Any:
    sizes, strides, dilations = ([d.number(1, 3) for _ in shape] for _ in range(3))
    return sizes, strides, [1 if d.often(0.6) else n for n in dilations]


def reduce_window(d: Draw) -> OneNode:
    kind, shape = d.kind("f32 f64 s8 u8 s16 s32 s64 b8"), d.shape(1, 4, 7)
    rule = d.one("ALL", "ANY") if kind == "b8" else d.one("ADD", "MUL", "MINIMUM", "MAXIMUM")
    numbers = [d.of(n, "s64", constant=0.95) for n in window(d, "", kind, shape, None)]
    x = d.given(kind, shape, NOT_QUANTIZED, spread=2.0)
    inputs = [x, d.given(kind, (), NOT_QUANTIZED, spread=2.0), *numbers]
    return node(d, "REDUCE_WINDOW", inputs, {"reduce_function": rule}, outs=out(d, kind, NOT_QUANTIZED))


def stablehlo_gather(d: Draw) -> OneNode:
    kind, shape = d.kind(MOST), tuple(d.number(1, 6) for _ in range(d.number(2, 4)))
    batch = d.number(1, 2)
    mapped = sorted(int(i) for i in d.rng.permutation(len(shape))[: d.number(1, len(shape))])
    sizes = [1 if d.often(0.4) else d.number(min(n, 1), n) for n in shape]
    gone = [i for i in range(len(shape)) if sizes[i] == 1 and d.often(0.5)]
    count = len(shape) - len(gone)
    rank = batch + count
    offsets = sorted(int(i) for i in d.rng.permutation(rank)[:count])
    outer = tuple(d.number(1, 4) for _ in range(batch))
    found = np.stack([indices(d, shape[i], outer, 0.3) for i in mapped], -1)
    text = {
        "offset_dims": offsets, "collapsed_slice_dims": gone, "start_index_map": mapped, "index_vector_dim": batch,
        "slice_sizes": sizes, "indices_are_sorted": False,
    }  # fmt: skip
    x = d.given(kind, shape)
    outs = [Out(kind, x.quantization, shape=(1,) * rank)]
    return node(d, "STABLEHLO_GATHER", [x, d.of(found, d.one("s32", "s64"), constant=0.3)], text, outs=outs)


def suppression(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        count = d.number(1, 12)
        corner = d.rng.uniform(0, 1, (count, 2))
        boxes = np.concatenate([corner, corner + d.rng.uniform(0.1, 0.7, (count, 2))], 1)
        scores = d.rng.permutation(count) / count
        numbers = [d.of(d.number(0, count + 2), "s32"), d.of(d.one(0.5, 0.2, 0.9), "f32"), d.of(d.one(0.0, 0.3), "f32")]
        outs = [Out("s32"), Out("s32")]
        if op[-1] == "5":
            numbers.append(d.of(d.one(0.0, 0.5, 0.1), "f32"))
            outs.insert(1, Out("f32"))
        return node(d, op, [d.of(boxes, "f32", constant=0.2), d.of(scores, "f32", constant=0.2), *numbers], outs=outs)

    return draw


def lsh(d: Draw) -> OneNode:
    seeds = d.rng.normal(size=(d.number(1, 4), d.number(1, 9)))
    shape = d.shape(1, 3)
    weights = [d.given("f32", shape[:1], spread=1.0)] if d.often(0.4) else []
    text = {"type": d.one("SPARSE", "DENSE")}
    inputs = [d.of(seeds, "f32", constant=0.9), d.given(d.kind("f32 s32 s8 s64"), shape, NOT_QUANTIZED), *weights]
    return node(d, "LSH_PROJECTION", inputs, text, outs=out(d, "s32"))


def skip_gram(d: Draw) -> OneNode:
    words = " ".join("".join(d.one(*"abcxyz") for _ in range(d.number(1, 4))) for _ in range(d.number(1, 9)))
    text = {"ngram_size": d.number(1, 4), "max_skip_size": d.number(0, 3), "include_all_ngrams": d.often(0.5)}
    return node(d, "SKIP_GRAM", [d.of(np.array([words.encode()], object)[0], "string")], text, outs=out(d, "string"))


def random(op: str) -> DrawNode:
    def draw(d: Draw) -> OneNode:
        text = {"seed": d.number(0, 99), "seed2": d.number(1, 99)}
        if op == "MULTINOMIAL":
            given = [d.given("f32", (d.number(1, 3), d.number(1, 6)), spread=2.0), d.numbers(d.number(1, 20))]
            return node(d, op, given, text, outs=out(d, d.one("s32", "s64")))
        shape = [2 * n for n in d.shape(1, 4)]
        return node(d, op, [d.numbers(shape)], text, outs=out(d, "f32"))

    return draw


PICKING: dict[str, DrawNode] = {
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "SCATTER_ND": scatter_nd,
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "SELECT": select("SELECT"),
    "SELECT_V2": select("SELECT_V2"),
    "ONE_HOT": one_hot,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "TOPK_V2": topk,
    "WHERE": where,
    "UNIQUE": unique,
    "SEGMENT_SUM": segment_sum,
    **{f"UNSORTED_SEGMENT_{rule}": unsorted(f"UNSORTED_SEGMENT_{rule}") for rule in ("MAX", "MIN", "PROD", "SUM")},
    "EMBEDDING_LOOKUP": embedding_lookup,
    "EMBEDDING_LOOKUP_SPARSE": embedding_sparse,
    "HASHTABLE_LOOKUP": hashtable_lookup,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
    "REDUCE_WINDOW": reduce_window,
    "STABLEHLO_GATHER": stablehlo_gather,
    "NON_MAX_SUPPRESSION_V4": suppression("NON_MAX_SUPPRESSION_V4"),
    "NON_MAX_SUPPRESSION_V5": suppression("NON_MAX_SUPPRESSION_V5"),
    "LSH_PROJECTION": lsh,
    "SKIP_GRAM": skip_gram,
    **{op: random(op) for op in ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL")},
}
