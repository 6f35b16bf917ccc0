"""Whether a model's operators run here, one line each: the text behind `minilite inspect --check`."""

from __future__ import annotations

from collections.abc import Sequence

from minilite.engine.program import Program
from minilite.errors import UnsupportedOperator, UnsupportedOpError
from minilite.format.model import Model
from minilite.report.text import Cell, count, cut, table

_FIRST = 3
"""How many nodes of an operator are named."""

Places = Sequence[tuple[int, int]]


def check(model: Model, title: str) -> tuple[str, bool]:
    """A line for each operator with the number of its nodes, the first of them, and what is missing; whether all of them run.

    Nothing is planned or run; custom operators are those that are built in."""
    missing = _missing(model)
    wrong = {place for found in missing for place in found.nodes}
    right: dict[str, list[tuple[int, int]]] = {}
    for subgraph in model.subgraphs:
        for node in subgraph.nodes:
            if (subgraph.index, node.index) not in wrong:
                right.setdefault(node.op, []).append((subgraph.index, node.index))
    rows = [_row(found.op or "(tensor)", found.nodes, found.reason) for found in missing]
    rows += [_row(op, places, "") for op, places in sorted(right.items())]
    lines = [_head(title, missing, right)]
    if rows:
        lines.append(table(["operator", "nodes", "first", "answer"], rows))
    return "\n".join(lines), not missing


def _missing(model: Model) -> tuple[UnsupportedOperator, ...]:
    """The operators, and tensors (with an empty name), that do not run, once for each reason."""
    try:
        program = Program(model, {}, reference=False)
        for root in sorted({0, *(signature.subgraph for signature in model.signatures)}):
            program.graph(root)  # what kernels refuse of a model's quantization
    except UnsupportedOpError as error:
        return error.operators
    return ()


def _row(op: str, places: Places, reason: str) -> list[Cell]:
    return [cut(op), len(places), _first(places), " ".join(reason.split()) or "supported"]


def _first(places: Places) -> str:
    """ "0:3 0:7 1:0 ...": subgraph and node of the first nodes."""
    shown = [f"{subgraph}:{node}" for subgraph, node in places[:_FIRST]]
    return " ".join(shown + ["..."] * (len(places) > _FIRST))


def _head(title: str, missing: Sequence[UnsupportedOperator], right: dict[str, list[tuple[int, int]]]) -> str:
    refused_ops = {found.op for found in missing if found.op}
    nodes = sum(len(places) for places in right.values()) + sum(len(found.nodes) for found in missing)
    operators = count(len(refused_ops | set(right)), "operator")
    answer = f"{len(refused_ops)} not supported" if missing else "all supported"
    return f"{title}: {count(nodes, 'node')} of {operators}, {answer}"
