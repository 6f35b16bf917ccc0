"""EMBEDDING_LOOKUP, EMBEDDING_LOOKUP_SPARSE, HASHTABLE_LOOKUP: C kernels, numpy references and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS, REFERENCE, check, run_minilite
from support.node import Given, OneNode, Out, const, counting, kind_of, values

from minilite.errors import KernelError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import NOT_QUANTIZED, Quantization


def lookup(ids: Any, table: Any, kind: str, to: str, scales: Any = (), constant: bool = True) -> OneNode:
    q = Quantization(tuple(scales), (0,) * len(scales)) if scales else NOT_QUANTIZED
    given = [np.asarray(ids, np.int32), Given(table, constant, q, kind)]
    return OneNode("EMBEDDING_LOOKUP", given, kind=to, version=5)


def every_lookup(rng: Any, inputs: Any, outputs: Any) -> Any:
    table = values(rng, inputs[1], (7, 8))
    scales = (0.37,) if inputs[1] != outputs[0] else ()
    return lookup([3, 0, 6, 3], table, inputs[1], outputs[0], scales), {}


def sparse(ids: Any, places: Any, shape: Any, combiner: str, constant: bool = True) -> OneNode:
    weights = (np.arange(len(ids)) + 0.5).astype(np.float32)
    given = [np.array(ids, np.int32), np.array(places, np.int32).reshape(len(ids), len(shape))]
    given += [Given(np.array(shape, np.int32), constant), weights, counting((5, 3, 2))]
    return OneNode("EMBEDDING_LOOKUP_SPARSE", given, {"combiner": combiner}, kind="f32")


def every_sparse(rng: Any, inputs: Any, outputs: Any) -> Any:
    return sparse([1, 3, 0], [[0, 0], [2, 1], [2, 0]], [4, 2], "MEAN"), {"tolerance": 64 * EPS}


EVERY_TYPE = {
    "EMBEDDING_LOOKUP": every_lookup,
    "EMBEDDING_LOOKUP_SPARSE": every_sparse,
    "HASHTABLE_LOOKUP": Case([[1234, -292, -11, 0], [-11, 0, 1234], (3, 2)]),
}


def every_key(rng: Any, inputs: Any, outputs: Any) -> Case:
    return Case([[1234, -292, -11, 0], [-11, 0, 1234], (3,) if inputs[2] == "string" else (3, 2)])


EVERY_TYPE["HASHTABLE_LOOKUP"] = every_key


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("kind", ["s8", "u8", "s4", "s2"])
@pytest.mark.parametrize("to", ["f32", "f16"])
def test_reals(kind: str, to: str, constant: bool) -> None:
    rng = np.random.default_rng(2)
    ids = rng.integers(0, 9, 700)
    for shape in ((9, 1), (9, 7), (9, 16), (9, 2, 6), (9, 33), (9, 1100), (9, 1027)):
        table = values(rng, kind, shape)
        oracle = (
            None if kind == "s2" or (kind == "s4" and np.prod(shape[1:]) % 2) else REFERENCE
        )  # rows of whole bytes alone
        for scales in ((0.0173,), tuple(rng.uniform(0.01, 2, 9).astype(np.float32).tolist())):
            lookup(ids, table, kind, to, scales, constant).check(oracle=oracle)


class Blocks:
    """A table of 4 or 2 bits with a scale for each block of a row."""

    def __init__(self, kind: str, to: str, block: int, scales: Any, width: int = 24) -> None:
        self.table = values(np.random.default_rng(block), kind, (5, width))
        self.arrays = [np.array([4, 0, 3, 3], np.int32)]
        builder = ModelBuilder()
        g = builder.subgraph()
        ids, at = g.input("ids", (4,), kind_of("s32")), g.constant("scales", scales)
        q = Quantization(block_size=block, scales_tensor=at)
        table = g.constant("table", self.table, kind_of(kind), quantization=q)
        g.output(g.node("EMBEDDING_LOOKUP", [ids, table], out=("y", (4, width), kind_of(to)), version=5))
        self.model = builder.build()


@pytest.mark.parametrize("block", [2, 8, 24])
@pytest.mark.parametrize("kind", ["s4", "s2"])
@pytest.mark.parametrize("to", ["f32", "f16"])
def test_blocks(kind: str, to: str, block: int) -> None:
    scales = np.random.default_rng(1).uniform(0.01, 2, (5, 24 // block)).astype(np.float16)
    made = Blocks(kind, to, block, scales)
    whole = kind == "s4" or block % 4 == 0  # LiteRT begins each block at a byte
    [y] = check(made.model, made.arrays, oracle=REFERENCE if whole else None)
    expected = made.table * np.repeat(scales.astype(np.float32), block, axis=1)
    np.testing.assert_array_equal(y, expected[made.arrays[0]].astype(y.dtype))


def test_blocks_refused() -> None:
    for block, scales, error, message in (
        (
            7,
            np.ones((5, 3), np.float16),
            ShapeError,
            "5 rows of 24 elements do not make whole blocks of 7, of which 15 have",
        ),
        (8, np.ones((5, 2), np.float16), ShapeError, "do not make whole blocks of 8, of which 10 have a scale"),
        (
            8,
            np.ones((5, 3), np.int32),
            UnsupportedOpError,
            "'scales', the scales of 'table', must be a constant of f16",
        ),
    ):
        made = Blocks("s4", "f32", block, scales)
        with pytest.raises(error, match=message):
            run_minilite(made.model, made.arrays)


@pytest.mark.parametrize("ids", [[], [0], [4, 4, 0, 1], list(range(5)) * 200])
def test_rows(ids: Any) -> None:
    for kind in ("f32", "s8", "s64"):
        table = values(np.random.default_rng(3), kind, (5, 3, 2))
        lookup(ids, table, kind, kind).check()


@pytest.mark.parametrize(("at", "value"), [(299, 5), (1, -1), (0, 2**31 - 1)])
def test_ids_outside(at: int, value: int) -> None:
    ids = np.zeros(300, np.int32)
    ids[at] = value
    table = counting((5, 3), np.int8)
    lookup(ids, table, "s8", "s8").refused(KernelError, f"index {at} is {value}, expected 0 to 4")
    lookup(ids, table, "s8", "f32", (0.1,)).refused(KernelError, f"index {at} is {value}, expected 0 to 4")


def test_lookup_refused() -> None:
    table = counting((5, 3), np.int8)
    lookup([[0]], table, "s8", "s8").refused(ShapeError, r"must be a vector, its shape is \(1, 1\)")
    lookup([0], table[0], "s8", "s8").refused(ShapeError, "the table has rank 1, expected 2 or more")
    lookup([0], table, "s8", "f32").refused(UnsupportedOpError, "'c1' must have a scale", by_litert=False)
    given = [np.zeros(1, np.int32), Given(table, True, Quantization((0.1,), (3,)))]
    OneNode("EMBEDDING_LOOKUP", given, kind="f32").refused(UnsupportedOpError, "has the zero point 3, must be 0")
    lookup([0], counting((5, 3)), "f32", "f16").refused(UnsupportedOpError, "types s32 f32 -> f16", by_litert=False)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("combiner", ["SUM", "MEAN", "SQRTN"])
def test_sparse(combiner: str, constant: bool) -> None:
    for ids, places, shape in (
        ([1, 3, 0], [[0, 0], [2, 0], [2, 1]], [3, 2]),
        ([1, 3, 0, 4], [[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0]], [2, 2, 2]),
        ([4], [[1, 0]], [2, 1]),
        ([4, 2], [[0], [1]], [2]),
    ):
        sparse(ids, places, shape, combiner, constant).check(tolerance=64 * EPS)


def test_sparse_refused() -> None:
    sparse([1, 5], [[0, 0], [1, 0]], [2, 2], "SUM").refused(KernelError, "index 1 is 5, expected 0 to 4")
    words = "index 2 of row 1 is outside dimension 0 of size 2"
    sparse([1, 2], [[0, 0], [2, 0]], [2, 2], "SUM").refused(KernelError, words, by_litert=False)  # LiteRT leaves it out
    sparse([1, 2], [[0, 0], [1, 0]], [-2, 2], "SUM").refused(ShapeError, "dense shape is -2", by_litert=False)
    given = [const([1]), const([[0, 0]]), const([2]), const([1], np.float32), const(np.ones((2, 2)), np.float32)]
    node = OneNode("EMBEDDING_LOOKUP_SPARSE", given, kind="f32")
    node.refused(ShapeError, "the dense shape has rank 1, rows of indices have 2 numbers")


@pytest.mark.parametrize("kind", ["f32", "s8", "string"])
def test_keys(kind: str) -> None:
    rng = np.random.default_rng(4)
    keys = np.unique(rng.integers(-50, 50, 40)).astype(np.int32)
    wanted = rng.integers(-60, 60, 200).astype(np.int32)
    table = values(rng, kind, (len(keys),) if kind == "string" else (len(keys), 3))
    given = [wanted, keys, Given(table, kind=kind)]
    OneNode("HASHTABLE_LOOKUP", given, outs=[Out(kind), Out("u8")]).check()


def test_keys_refused() -> None:
    given = [const([1]), const([1, 2]), counting((3, 2))]
    node = OneNode("HASHTABLE_LOOKUP", given, outs=[Out("f32"), Out("u8")])
    node.refused(ShapeError, r"keys of shape \(2\) do not match a table of \(3, 2\)")
    given = [const([1]), const(np.zeros(0)), counting((0, 2))]
    y = OneNode("HASHTABLE_LOOKUP", given, outs=[Out("f32"), Out("u8")]).check(oracle=None)  # LiteRT refuses it
    np.testing.assert_array_equal(y, [[0, 0]])
