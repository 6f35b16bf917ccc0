"""DENSIFY: compressed rows and blocks, against LiteRT and against the array they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import agree, ready
from support.compare import check, run_minilite
from support.sparse import blocks, compressed, model, sparse, vector

from minilite._native.state import Place
from minilite.engine.target import target_at
from minilite.errors import UnsupportedOpError
from minilite.format._model_tree import model_tree
from minilite.format._writer import write_tree
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.reader import read_model


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("form", [compressed, blocks])
def test_forms(dtype: Any, form: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        x = sparse(rng, dtype)
        np.testing.assert_array_equal(check(model(*form(x), x.shape), [])[0], x)


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


@pytest.mark.parametrize("sparse", ["x", "y"])
def test_what_is_no_constant_is_dense(sparse: str) -> None:
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
def test_arrays_of_objects_never_lie_over_bytes(kind: TensorType, sparse: bool) -> None:
    """Whatever a file says: its bytes would be taken for pointers."""
    place = Place(0, (3,), int(kind), "arena", 64, 4096, 0, settled=True, moves=False)
    tensor = Tensor(0, "t", kind, (3,), sparsity={} if sparse else None)
    target = target_at(tensor, place, None)
    assert target.dtype.hasobject == (kind == TensorType.STRING)
    assert target.encoded == TensorType.STRING or not target.dtype.hasobject
