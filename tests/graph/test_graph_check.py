"""Descriptions of graphs that lowering never writes: csrc/graph/check.c refuses each wrong number before it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import Array, floats, ready, run

import minilite
from minilite._core import ffi, lib
from minilite._native import graph
from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

Change = Callable[["Description"], None]
X, W, SUM, Y, NAMES = range(5)


def model() -> bytes:
    """x + w -> LEAKY_RELU -> y, and a constant of strings."""
    builder = ModelBuilder()
    main = builder.subgraph()
    main.input("x", (4,))
    main.constant("w", floats(1, 2, 3, 4))
    total = main.node("ADD", [X, W], out=("sum", (4,)))
    main.output(main.node("LEAKY_RELU", [total], out=("y", (4,)), options={"alpha": 0.5}))
    main.constant("names", np.array([b"a", b"bc"]), TensorType.STRING)
    return builder.build()


class Description:
    """The description in use, with copies of its tables, so that they can be changed."""

    def __init__(self, of: Any) -> None:
        self.of, self._kept = of, list[Any]()
        self.tensors = self._copied("tensors", "ml_tensor_def", of.subgraphs[0].n_tensors)
        self.nodes = self._copied("nodes", "ml_node_def", of.subgraphs[0].n_nodes)
        self.io = self._copied("io", "int32_t", of.n_io)
        self.subgraph = self._copied("subgraphs", "ml_subgraph_def", of.n_subgraphs)[0]

    def _copied(self, name: str, kind: str, count: int) -> Any:
        copy = ffi.new(f"{kind}[]", count)
        ffi.memmove(copy, getattr(self.of, name), ffi.sizeof(copy))
        setattr(self.of, name, copy)
        self._kept.append(copy)
        return copy


class Broken:
    """The C library, but descriptions are changed before graphs are made of them."""

    def __init__(self, change: Change) -> None:
        self.change, self.used = change, list[Description]()

    def __getattr__(self, name: str) -> Any:
        return getattr(lib, name)

    def ml_graph_new(self, description: Any, *others: Any) -> int:
        self.used.append(Description(description))
        self.change(self.used[-1])
        return int(lib.ml_graph_new(description, *others))


def put(path: str, value: Any) -> Change:
    """Sets a member, as `nodes[0].typed`."""

    def change(d: Description) -> None:
        owner, _, name = path.rpartition(".")
        target: Any = d
        for part in owner.split("."):
            member, _, index = part.partition("[")
            target = getattr(target, member)
            target = target[int(index[:-1])] if index else target
        setattr(target, name, value)

    return change


def operand(node: int, which: int, value: int) -> Change:
    """Sets an operand of a node: inputs, then outputs."""

    def change(d: Description) -> None:
        d.io[d.nodes[node].io_start + which] = value

    return change


def dims(tensor: int, *values: int) -> Change:
    def change(d: Description) -> None:
        d.tensors[tensor].shape.rank = len(values)
        d.tensors[tensor].shape.dims[0 : len(values)] = values

    return change


def variable(then: Change) -> Change:
    def change(d: Description) -> None:
        d.tensors[W].data, d.tensors[W].flags = ffi.NULL, lib.ML_TENSOR_VARIABLE
        then(d)

    return change


MOST = 2**31 - 1
COUNTS = "impossible counts"
BROKEN: dict[str, tuple[Change, str]] = {
    **{f"of.{name} {value}": (put(f"of.{name}", value), COUNTS) for name, value in (
        ("n_subgraphs", 0), ("root", -1), ("root", 1), ("n_io", -1), ("params_bytes", -1), ("n_resources", -1),
        ("n_quantizations", -1), ("store", ffi.NULL), ("simd", ffi.NULL),
    )},
    "no tensors": (put("subgraph.n_tensors", -1), "subgraph 0 has -1 tensors"),
    "no nodes": (put("subgraph.n_nodes", -1), "tensors and -1 nodes"),
    "inputs start": (put("subgraph.inputs_start", -1), "the inputs -1 to 0 are out of range"),
    "inputs": (put("subgraph.n_inputs", -1), "the inputs .* are out of range"),
    "inputs begin after the end": (put("subgraph.inputs_start", MOST), "the inputs .* are out of range"),
    "an input without a number": (
        lambda d: d.io.__setitem__(d.subgraph.inputs_start, -1), "the inputs refers to number -1",
    ),
    "an output without a number": (
        lambda d: d.io.__setitem__(d.subgraph.outputs_start, -1), "the outputs refers to number -1",
    ),
    "more outputs than there are": (put("subgraph.n_outputs", 1000), "the outputs .* are out of range"),
    "rank": (put("tensors[1].shape.rank", -1), "has rank -1, at most"),
    "ranks": (put("tensors[1].shape.rank", 100), "has rank 100, at most"),
    "quantization": (put("tensors[1].quantization", -2), "refers to quantization -2 of"),
    "quantizations": (put("tensors[1].quantization", MOST), f"refers to quantization {MOST} of"),
    "a negative dimension": (dims(W, -4), "a constant, has the shape .*: no dimension may be negative"),
    "a negative variable": (variable(dims(W, 3, -4)), "a variable, has the shape .*: no dimension may be negative"),
    "too many elements": (variable(dims(W, MOST, MOST, MOST)), "may be negative or overflow"),
    "too many elements of nothing": (variable(dims(W, 0, MOST, MOST, MOST)), "may be negative or overflow"),
    "few bytes": (put("tensors[1].bytes", 15), "a constant of shape .*, has 15 bytes, needs 16"),
    "few bytes of strings": (put("tensors[4].bytes", 3), "a constant, "),
    "an input": (operand(0, 0, 5), "its inputs refers to number 5, there are 5"),
    "an absent input": (operand(0, 0, -2), "its inputs refers to number -2"),
    "an output": (operand(0, 2, 5), "its outputs refers to number 5"),
    "an absent output": (operand(0, 2, -1), "its outputs refers to number -1"),
    "a constant output": (operand(0, 2, W), "its output 0, is a constant: no node may compute it"),
    "an input as output": (operand(0, 2, X), "its output 0, is an input of its subgraph: no node"),
    "an output twice": (operand(1, 1, SUM), "its output 0, is computed by another node already: no node"),
    "a variable output": (variable(operand(1, 1, W)), "its output 0, is a variable: no node"),
    "an input too early": (operand(0, 0, Y), "its input 0, is read before any node computes it"),
    "an output of nothing": (put("subgraph.n_nodes", 1), "output 0 of subgraph 0, is computed by no node"),
    "many inputs": (put("nodes[0].n_inputs", 1 << 20), "it has 1048576 inputs"),
    "many outputs": (put("nodes[0].n_outputs", 1 << 20), "1048576 outputs, at most"),
    "no inputs": (put("nodes[0].n_inputs", -1), "its inputs .* are out of range"),
    "no outputs": (put("nodes[0].n_outputs", -1), "its outputs .* are out of range"),
    "subgraphs": (put("nodes[1].n_subgraphs", 100), "its subgraphs .* are out of range"),
    "a subgraph": (put("nodes[0].n_subgraphs", 2), "its subgraphs refers to number"),
    "operands": (put("nodes[0].io_start", -1), "its inputs .* are out of range"),
    "parameters": (put("nodes[1].params_start", -8), "bytes of parameters are out of range"),
    "parameters after the end": (put("nodes[1].params_start", MOST), "bytes of parameters are out of range"),
    "parameters beyond the end": (
        lambda d: setattr(d.nodes[1], "params_start", d.of.params_bytes - 1), "bytes of parameters are out of range",
    ),
    "few parameters": (put("of.params_bytes", 1), "bytes of parameters are out of range"),
    "no kernel": (put("nodes[0].kernel", ffi.NULL), "there is no kernel at address 0"),
    "a row": (put("nodes[0].typed", 1000), "it takes row 1000 of its kernel's table of"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_descriptions_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, words = BROKEN[name]
    broken = Broken(change)
    monkeypatch.setattr(graph, "lib", broken)
    with pytest.raises(MiniliteError, match=words):
        ready(model())
    assert broken.used


def result(interpreter: minilite.Interpreter) -> Array:
    return run(interpreter, floats(-3, -2, 0, 1))[0]


def test_harmless_changes_of_descriptions_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted are: no change, a negative dimension of a tensor that is neither variable nor constant, a node without
    flags."""
    for change in (lambda _: None, dims(SUM, -1), put("nodes[0].flags", 0)):
        monkeypatch.setattr(graph, "lib", Broken(change))
        assert result(ready(model())).tolist() == [-1, 0, 3, 5]


def sparse(node: int, number: int) -> Change:
    """The constant w is sparse, and an operand of a node."""

    def change(d: Description) -> None:
        d.tensors[W].flags |= lib.ML_TENSOR_SPARSE
        operand(node, number, W)(d)

    return change


@pytest.mark.parametrize("number", [0, 1])
def test_sparse_operands_that_stay_are_refused(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "lib", Broken(sparse(0, number)))
    with pytest.raises(MiniliteError, match=f"its input {number}, is sparse: only dense ones are supported"):
        ready(model())
