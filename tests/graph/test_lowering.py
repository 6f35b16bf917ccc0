"""csrc/graph/lower.c and options.c: names in messages, constants that become others, what is left to Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import floats, graph_with, ready, relu_chain, run

from minilite import UnsupportedOpError
from minilite._core import ffi, lib
from minilite.format._spec import operator_names
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

TWO = Quantization((0.5, 0.25), (0, 0), 0)


@pytest.mark.parametrize("name", ["", "n" * 300])
def test_names_in_messages(name: str) -> None:
    """Long ones are cut."""
    builder = ModelBuilder()
    g = builder.subgraph()
    x = g.input(name, (2,), TensorType.INT8, quantization=TWO)
    g.output(g.node("RELU", [x], out=("y", (2,), TensorType.INT8, TWO)))
    with pytest.raises(UnsupportedOpError, match=f"'{name[:60]}") as caught:
        ready(builder.build())
    assert len(str(caught.value)) < 400


def test_types_are_matched_for_each_node() -> None:
    """The answer for the types of the node before is not taken for types that differ in the last operand alone."""

    def build(g: ModelBuilder) -> list[int]:
        which = g.input("which", (2,), TensorType.BOOL)  # type: ignore[attr-defined]
        floats_of, ints_of = (g.input(k, (2,), TensorType[k]) for k in ("FLOAT32", "INT32"))  # type: ignore[attr-defined]
        outs = []
        for n, (x, y, kind) in enumerate(
            ((floats_of, floats_of, "FLOAT32"), (ints_of, ints_of, "INT32"), (ints_of, floats_of, "FLOAT32"))
        ):
            out = (f"y{n}", (2,), TensorType[kind])
            outs.append(g.node("SELECT", [which, x, y], out=out))  # type: ignore[attr-defined]
        return outs

    with pytest.raises(UnsupportedOpError, match="types b8 s32 f32"):
        ready(graph_with(build))


@pytest.mark.parametrize("shape", [(4,), (1,) * 7 + (4,), (1,) * 8 + (4,)], ids=len)
def test_half_floats_of_any_rank_become_floats(shape: tuple[int, ...]) -> None:
    """Arrays of more dimensions than the core has run by the numpy reference: their values are right, their shape is
    refused."""

    def build(g: ModelBuilder) -> list[int]:
        halves = g.constant("h", np.arange(4, dtype=np.float16).reshape(shape))  # type: ignore[attr-defined]
        wide = g.node("DEQUANTIZE", [halves], out=("w", shape))  # type: ignore[attr-defined]
        return [g.node("RESHAPE", [wide, g.constant("s", np.int32([4]))], out=("y", (4,)))]  # type: ignore[attr-defined]

    model = graph_with(build)
    if len(shape) > 8:
        with pytest.raises(UnsupportedOpError, match="dimensions"):
            ready(model)
    else:
        assert run(ready(model))[0].tolist() == floats(0, 1, 2, 3).tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("dimension", [None, 0, 1, 2])
def test_integers_become_floats_in_c(dtype: type, dimension: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the numpy reference computes them; no tensor or node becomes an object of Python."""

    def never(_: object) -> None:
        raise AssertionError("this is done in C")

    monkeypatch.setattr("minilite.engine.lower_nodes.finish", never)
    rng = np.random.default_rng(3)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max + 1, (2, 3, 4)).astype(dtype)
    count = 1 if dimension is None else x.shape[dimension]
    scales = rng.random(count).astype(np.float32) + np.float32(0.01)
    points = rng.integers(-5, 6, count) if dtype is np.int8 else np.full(count, 7 if dtype is np.uint8 else 0)
    builder = ModelBuilder()
    g = builder.subgraph()
    q = Quantization(tuple(scales.tolist()), tuple(points.tolist()), dimension or 0)
    g.output(g.node("DEQUANTIZE", [g.constant("c", x, quantization=q)], out=("y", x.shape)))
    along = [1, 1, 1]
    if dimension is not None:
        along[dimension] = count
    wanted = scales.reshape(along) * (x.astype(np.int32) - points.reshape(along)).astype(np.float32)
    (found,) = run(ready(builder.build()))
    assert found.dtype == np.float32
    assert found.tobytes() == wanted.tobytes()


def test_rows_of_builtin_operators_are_found_by_code() -> None:
    """Also when an operator is looked for again, and then only in its family."""
    found = 0
    for code, name in enumerate(operator_names()):
        for version in (*range(12), (1 << 31) - 1) * 2:
            row = lib.ml_kernel_of(name.encode(), len(name), False, version)
            assert lib.ml_kernel_of_builtin(code, name.encode(), len(name), version) == row
            found += row != ffi.NULL
    assert found > 1000
    assert lib.ml_kernel_of_builtin(10_000, b"ADD", 3, 1) == lib.ml_kernel_of(b"ADD", 3, False, 1)


def test_loading_makes_no_object_of_the_subgraph() -> None:
    interpreter = ready(relu_chain())
    subgraphs: Any = interpreter.model.subgraphs
    assert subgraphs._made == [None]
    interpreter.set_tensor(0, floats(1, 2, 3, 4))
    assert subgraphs._made == [subgraphs[0]]
