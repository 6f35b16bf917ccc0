"""Lists which operators of a model are supported, for `minilite inspect --check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minilite.engine.program import Program
from minilite.errors import UnsupportedOperator, UnsupportedOpError
from minilite.format.model import Model
from minilite.text import Cell, count, cut, table, wrapped

_FIRST = 3
"""The number of nodes that are named per operator."""

Places = Sequence[tuple[int, int]]


class Answer(NamedTuple):
    """An operator, its nodes, and the reason if they are not supported."""

    op: str
    """The operator; empty if a tensor is the cause."""
    places: Places
    """The nodes: subgraph and node."""
    reason: str
    """The reason why they are not supported; empty if they are."""


def check(model: Model) -> list[Answer]:
    """Returns one answer per operator and reason, unsupported ones first.

    Nothing is planned or run; of custom operators, only built-in ones are supported."""
    missing = _missing(model)
    wrong = {place for found in missing for place in found.nodes}
    right: dict[str, list[tuple[int, int]]] = {}
    for subgraph in model.subgraphs:
        for node in subgraph.nodes:
            if (subgraph.index, node.index) not in wrong:
                right.setdefault(node.op, []).append((subgraph.index, node.index))
    answers = [Answer(found.op, found.nodes, " ".join(found.reason.split()) or "not supported") for found in missing]
    return answers + [Answer(op, places, "") for op, places in sorted(right.items())]


def check_facts(answers: Sequence[Answer], title: str) -> dict[str, Any]:
    """Returns the answers as plain values."""
    return {
        "model": title,
        "supported": not any(answer.reason for answer in answers),
        "operators": [
            {"op": op, "supported": not reason, "reason": reason or None, "nodes": [list(place) for place in places]}
            for op, places, reason in answers
        ],
    }


def check_text(answers: Sequence[Answer], title: str, width: int | None = None) -> str:
    """Returns one line per answer, with the number of its nodes, the first of them, and the reason."""
    rows: list[list[Cell]] = [
        [cut(op or "(tensor)"), len(places), _first(places), reason or "supported"] for op, places, reason in answers
    ]
    lines = [wrapped(_head(title, answers), width)]
    if rows:
        lines.append(table(["operator", "nodes", "first", "answer"], rows, width=width))
    return "\n".join(lines)


def _missing(model: Model) -> tuple[UnsupportedOperator, ...]:
    """Returns the unsupported operators, and tensors (with an empty name), once per reason."""
    try:
        program = Program(model, {}, reference=False)
        for root in sorted({0, *(signature.subgraph for signature in model.signatures if not signature.broken)}):
            program.graph(root)  # kernels may refuse a model's quantization here
    except UnsupportedOpError as error:
        return error.operators
    return ()


def _first(places: Places) -> str:
    """ "0:3 0:7 1:0 ...": subgraph and node of the first nodes."""
    shown = [f"{subgraph}:{node}" for subgraph, node in places[:_FIRST]]
    return " ".join(shown + ["..."] * (len(places) > _FIRST))


def _head(title: str, answers: Sequence[Answer]) -> str:
    refused = {answer.op for answer in answers if answer.op and answer.reason}
    nodes = sum(len(answer.places) for answer in answers)
    operators = count(len({answer.op for answer in answers if answer.op}), "operator")
    missing = any(answer.reason for answer in answers)
    return f"{title}: {count(nodes, 'node')} of {operators}, {f'{len(refused)} not supported' if missing else 'all supported'}"
