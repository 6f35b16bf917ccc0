"""DENSIFY: compressed rows and blocks, against LiteRT and against the array they were made from."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from built import agree, ready
from support.compare import check, run_minilite
from support.sparse import blocks, compressed, csr, model, sparse, vector

import minilite
from minilite._core import ffi
from minilite._native.state import Place
from minilite._native.status import STORAGES
from minilite.engine.engine import engine_of
from minilite.engine.place import completed
from minilite.errors import ArenaError, UnsupportedOpError
from minilite.format._model_tree import model_tree
from minilite.format._writer import write_tree
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import read_model


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("form", [compressed, blocks])
def test_forms(dtype: Any, form: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        x = sparse(rng, dtype)
        np.testing.assert_array_equal(check(model(*form(x), x.shape), [])[0], x)


def with_levels(x: Any, order: tuple[int, ...], formats: tuple[str, ...], kind: str) -> tuple[Any, dict[str, Any]]:
    """Levels of these formats, in an order of dimensions; `kind` is the type of segments and indices."""
    turned, entries = x.transpose(order), [()]
    levels: list[dict[str, Any]] = []
    for size, form in zip(turned.shape, formats, strict=True):
        if form == "DENSE":
            levels.append(dense(size))
            entries = [(*entry, i) for entry in entries for i in range(size)]
            continue
        segments, indices, below = [0], list[int](), list[Any]()
        for entry in entries:
            found = [i for i in range(size) if turned[(*entry, i)].any()]
            indices += found
            below += [(*entry, i) for i in found]
            segments.append(len(indices))
        levels.append({**csr(segments, indices), "array_segments_type": kind, "array_indices_type": kind})
        entries = below
    stored = np.array([turned[entry] for entry in entries], x.dtype)
    return stored, {"traversal_order": list(order), "block_map": [], "dim_metadata": levels}


def never(_: object) -> None:
    raise AssertionError("this is done in C")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("kind", ["Int32Vector", "Uint16Vector", "Uint8Vector"])
def test_all_levels_are_followed_in_c(order: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minilite.engine.lower_nodes.finish", never)
    x = sparse(np.random.default_rng(6), np.float16)[:6, :6].reshape(3, 4, 3)
    x[1] = 0
    for formats in itertools.product(("DENSE", "SPARSE_CSR"), repeat=3):
        stored, sparsity = with_levels(x, order, formats, kind)
        np.testing.assert_array_equal(run_minilite(model(stored, sparsity, x.shape), [])[0], x)
    np.testing.assert_array_equal(run_minilite(model(*blocks(x[0], (2, 3)), (4, 3)), [])[0], x[0])


def test_dense_forms_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """C takes what is allowed, and leaves the rest to Python, which refuses it."""
    x = sparse(np.random.default_rng(7), np.float32)
    b = ModelBuilder()
    g = b.subgraph()
    for i in range(2):
        stored, sparsity = compressed(x)
        g.output(
            g.node("DENSIFY", [g.constant(f"c{i}", stored, shape=x.shape, sparsity=sparsity)], out=(f"y{i}", x.shape))
        )
    y = minilite.Interpreter(b.build(), max_bytes=1 << 20)
    y.allocate_tensors()
    left = engine_of(y).program().lowered.lowering.dense_left
    assert left == (1 << 20) - 2 * x.nbytes
    with pytest.raises(ArenaError, match=f"it needs {x.nbytes} bytes, must be at most {x.nbytes - 1}"):
        minilite.Interpreter(b.build(), max_bytes=2 * x.nbytes - 1).allocate_tensors()


def test_forms_that_do_not_fit_are_refused() -> None:
    stored, sparsity = compressed(np.eye(4, dtype=np.float32))
    for key, values in (
        ("array_indices", [0, 1, 2, 4]),
        ("array_segments", [0, 1, 2, 9, 4]),
        ("array_segments", [0, 4]),
    ):
        wrong = {**sparsity["dim_metadata"][1], key: vector(values)}
        broken = {**sparsity, "dim_metadata": [sparsity["dim_metadata"][0], wrong]}
        with pytest.raises(UnsupportedOpError, match="does not fit its shape"):
            run_minilite(model(stored, broken, (4, 4)), [])
    with pytest.raises(UnsupportedOpError, match="stores 3 values, its sparse form has 4"):
        run_minilite(model(stored[:3], sparsity, (4, 4)), [])


def dense(size: int) -> dict[str, Any]:
    return {"format": "DENSE", "dense_size": size}


def test_forms_take_no_more_than_the_file() -> None:
    """Sizes that a file states take no memory unless the file has values for them."""
    huge: list[tuple[Any, str]] = [
        ([dense(2**31 - 1), dense(4)], "a level has 2147483647 entries, the file has values and segments for 65536"),
        ([dense(4), dense(2**20)], "a level has 4194304 entries"),
        ([csr([0, 300], range(300)), csr(range(0, 90_300, 300), range(300))], "segments reach beyond 300 indices"),
        ([csr([0, 300], [0] * 300), csr([0, 300] * 300, range(300))], "segments reach beyond|a level has"),
    ]
    tracemalloc.start()
    for levels, text in huge:
        sparsity = {"traversal_order": [0, 1], "block_map": [], "dim_metadata": levels}
        with pytest.raises(UnsupportedOpError, match=f"the sparse form of 'c' does not fit its shape: .*({text})"):
            run_minilite(model(np.ones(4, np.int8), sparsity, (2**31 - 1, 2**31 - 1)), [])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_dense_forms_that_memory_cannot_hold() -> None:
    one = {"traversal_order": [0, 1], "block_map": [], "dim_metadata": [csr([0, 1], [0]), csr([0, 1], [0])]}
    rule = "it needs 4611686014132420609 bytes, must be at most 1073741824, or more by max_bytes"
    with pytest.raises(
        ArenaError, match=rf"^subgraph 0, node 0 \(DENSIFY 'y'\): 'c' cannot be made dense: {rule}$"
    ) as caught:
        run_minilite(model(np.ones(1, np.int8), one, (2**31 - 1, 2**31 - 1)), [])
    assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, "DENSIFY")


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_sparse_constants_are_dequantized_dense(dtype: Any) -> None:
    """LiteRT reads beyond the values of such constants. In minilite all their readers get the dense array."""
    x = sparse(np.random.default_rng(8), dtype)
    stored, sparsity = compressed(x)
    b = ModelBuilder()
    g = b.subgraph()
    scale = Quantization((0.5,), (3,)) if dtype == np.int8 else NOT_QUANTIZED
    c = g.constant("c", stored, shape=x.shape, sparsity=sparsity, quantization=scale)
    g.output(g.node("DEQUANTIZE", [c], out=("y", x.shape)))
    expected = (x.astype(np.float32) - 3) * 0.5 if dtype == np.int8 else x.astype(np.float32)
    for reference in (False, True):
        np.testing.assert_array_equal(run_minilite(b.build(), [], reference=reference)[0], expected)


@pytest.mark.parametrize("op", ["DENSIFY", "DEQUANTIZE", "RESHAPE"])
def test_sparse_constants_have_whole_bytes(op: str) -> None:
    b = ModelBuilder()
    g = b.subgraph()
    sparsity = compressed(np.eye(2, dtype=np.int8))[1]
    c = g.constant("c", np.ones(2, np.uint8), TensorType.INT4, shape=(2, 2), sparsity=sparsity)
    kind = TensorType.FLOAT32 if op == "DEQUANTIZE" else TensorType.INT4
    g.output(g.node(op, [c], out=("y", (2, 2), kind), options={"new_shape": (2, 2)} if op == "RESHAPE" else {}))
    text = "'c' is a sparse constant of type INT4, must have whole bytes|types s4 -> s4"
    with pytest.raises(UnsupportedOpError, match=text):
        run_minilite(b.build(), [])


@pytest.mark.parametrize("sparse", ["x", "y"])
def test_sparsity_of_non_constants_is_ignored(sparse: str) -> None:
    """LiteRT, too, passes over the sparsity of inputs and of what nodes compute."""
    b = ModelBuilder()
    g = b.subgraph()
    g.output(g.node("NEG", [g.input("x", (2, 2))], out=("y", (2, 2))))
    tree = model_tree(b.model())
    tree["subgraphs"][0]["tensors"]["xy".index(sparse)]["sparsity"] = compressed(np.eye(2, dtype=np.float32))[1]
    model = write_tree(tree)
    assert [tensor.sparsity for tensor in read_model(model).subgraphs[0].tensors] == [None, None]
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    np.testing.assert_array_equal(agree(model, [x])[0][0], -x)
    interpreter = ready(model)
    assert interpreter.get_tensor_details()["xy".index(sparse)]["sparsity_parameters"] == {}
    assert interpreter.get_tensor(0).shape == (2, 2)


@pytest.mark.parametrize("kind", [kind for kind in TensorType if kind != TensorType.VARIANT])
@pytest.mark.parametrize("sparse", [False, True])
def test_arrays_of_objects_are_never_views_of_bytes(kind: TensorType, sparse: bool) -> None:
    """An array of objects over bytes of the file would take them for pointers."""
    stated = {"type": int(kind), "shape": {"rank": 1, "dims": [3]}, "shaped": True, "storage": STORAGES.index("arena")}
    now = ffi.new("ml_place_now *", {"tensor": stated, "data": ffi.cast("void *", 4096), "bytes": 64, "settled": True})
    place = Place(now)
    tensor = Tensor(0, "t", kind, (3,), sparsity={} if sparse else None)
    found = completed(tensor, place)
    assert found.dtype.hasobject == (kind == TensorType.STRING)
    assert found.encoded == TensorType.STRING or not found.dtype.hasobject
