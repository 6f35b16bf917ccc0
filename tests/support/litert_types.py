"""Finds the types in which LiteRT runs an operator, but which minilite's row does not name.

    PYTHONPATH=tests python -m support.litert_types [--places] [OPERATOR ...]

prints a line for each: the operator and its types. The tests' own cases are the nodes, with the type of all operands of
one type exchanged for each other type there is; `--places` also exchanges one operand's alone, which for the most part
finds where LiteRT does not look at a type. LiteRT runs in a child, for some of them end it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import pathlib
import resource
import signal
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from support import apart
from support.cases import Case
from support.compare import BUILTIN, REFERENCE
from support.node import OneNode, kind_of
from support.peer import interpreter as litert

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.ops import operators
from minilite.ops_shared.operator import Operator
from minilite.ops_shared.types import written_out

Types = tuple[tuple[str, ...], tuple[str, ...]]
"""The types of inputs and of outputs."""

OTHERS = tuple(kind.suffix for kind in TensorType if kind.suffix not in ("resource", "variant"))
MOST_BYTES, MOST_SECONDS = 8 << 30, 60
"""The memory and time that a child may take; one that takes more is ended."""
MOST_PLACES = 6
"""The largest number of inputs of nodes in which single types are exchanged."""
TESTS = pathlib.Path(__file__).resolve().parents[1] / "ops"


def cases() -> dict[str, Any]:
    """EVERY_TYPE of all families' tests."""
    sys.path.insert(0, str(TESTS))
    stems = sorted(path.stem for path in TESTS.glob("test_*.py") if path.stem != "test_every_type")
    found = [getattr(importlib.import_module(stem), "EVERY_TYPE", {}) for stem in stems]
    return {op: case for family in found for op, case in family.items()}


def spelled(types: Types) -> str:
    """ "f32 s32 -> f32"."""
    return " -> ".join(" ".join(side) for side in types)


def named(row: Operator) -> Iterator[Types]:
    """The first combination of each line of a row's types."""
    for text in row.types:
        for sides in written_out(text):
            inputs, outputs = (tuple(TensorType(code).suffix for code in side) for side in sides)
            yield inputs, outputs
            break


def exchanged(types: Types, *, places: bool) -> Iterator[Types]:
    """The types with one of them exchanged for each other one: wherever it occurs, and with `places` also at each
    single place."""
    inputs, outputs = types
    for other in OTHERS:
        for one in dict.fromkeys((*inputs, *outputs)):
            yield tuple(other if k == one else k for k in inputs), tuple(other if k == one else k for k in outputs)
        if not places or other.startswith("f8") or len(inputs) > MOST_PLACES:
            continue
        for at in range(len(inputs)):
            yield (*inputs[:at], other, *inputs[at + 1 :]), outputs
        for at in range(len(outputs)):
            yield inputs, (*outputs[:at], other, *outputs[at + 1 :])


def requested(row: Operator, *, places: bool = False) -> list[Types]:
    """Types that the row refuses, near those that it names."""
    codes = {kind.suffix: int(kind) for kind in TensorType}
    tried = dict.fromkeys(other for types in named(row) for other in exchanged(types, places=places))
    return [types for types in tried if row.refusal(*([codes[kind] for kind in side] for side in types))]


def node_of(op: str, message: Any, types: Types) -> OneNode | None:
    """The case's node in these types, or one that it makes in types of the row's with those exchanged; None where
    neither can be."""
    for begin in (types, *named(operators()[op])):
        rng = np.random.default_rng(zlib.crc32(repr((op, types)).encode()))
        with contextlib.suppress(Exception):
            case = message if isinstance(message, Case) else message(rng, *begin)
            node = case.node(op, rng, *begin) if isinstance(case, Case) else case[0]
            node = node if has(node, types) else node.retyped(rng, *types)
            if has(node, types):
                return node
    return None


def has(node: OneNode, types: Types) -> bool:
    """True if the node has these types: some cases ignore what they are given."""
    from minilite import load_model

    graph = load_model(node.model).subgraphs[0]
    found = graph.nodes[0]
    inputs = [graph.tensors[i].type for i in found.inputs if i >= 0]
    outputs = [graph.tensors[i].type for i in found.outputs]
    return [inputs, outputs] == [[kind_of(kind) for kind in side] for side in types]


def text_of(interpreter: Any, tensor: int) -> str:
    """LiteRT's Python name of a tensor's type; empty if it has none."""
    try:
        return str(interpreter._interpreter.TensorType(tensor, 0))
    except ValueError:
        return ""


@functools.cache
def text_of_type(kind: str) -> str:
    """LiteRT's Python name of this type."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.input("x", (2,), kind_of(kind)))
    return text_of(litert.Interpreter(model_content=builder.build(), experimental_op_resolver_type=BUILTIN), 0)


def litert_runs(node: OneNode, types: Types) -> bool:
    """True if LiteRT gets to the end, by its optimized kernels or by the reference ones."""
    return any(runs_by(resolver, node, types) for resolver in (BUILTIN, REFERENCE))


def runs_by(resolver: Any, node: OneNode, types: Types) -> bool:
    """True if these kernels run the node, and give the outputs no other types. LiteRT takes no arrays of some types:
    such inputs stay as they are."""
    try:
        interpreter = litert.Interpreter(model_content=node.model, experimental_op_resolver_type=resolver)
        interpreter.allocate_tensors()
        for index, array in zip(interpreter._interpreter.InputIndices(), node.arrays, strict=True):
            with contextlib.suppress(ValueError):
                interpreter.set_tensor(index, array)
        interpreter.invoke()
        for index, kind in zip(interpreter._interpreter.OutputIndices(), types[1], strict=True):
            if text_of(interpreter, index) != text_of_type(kind):
                return False
    except (RuntimeError, ValueError, TypeError):
        return False
    return True


def runs(op: str, message: Any, all_types: Sequence[Types]) -> Iterator[Types]:
    """Yields the types that LiteRT runs. It runs in children of this process; types that end a child do not count as
    run."""

    def begin() -> None:
        apart.silent()
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))  # shapes that it reads beyond a tensor

    def work(number: int) -> bool:
        signal.alarm(MOST_SECONDS)
        node = node_of(op, message, all_types[number])
        return node is not None and litert_runs(node, all_types[number])

    return (all_types[number] for number, found in apart.answers(work, range(len(all_types)), begin) if found is True)


def main() -> None:
    table, known = operators(), cases()
    places = "--places" in sys.argv
    for op in [message for message in sys.argv[1:] if message != "--places"] or sorted(set(known) & set(table)):
        for types in runs(op, known[op], requested(table[op], places=places)):
            print(op, spelled(types), flush=True)


if __name__ == "__main__":
    main()
