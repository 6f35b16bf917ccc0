"""Describes an interpreter as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minilite.errors import StateError
from minilite.format.described import HEADER, tensor_rows
from minilite.text import count, html_table, table

_WIDTH = 100


def _shapes(interpreter: Any) -> dict[int, Sequence[int]]:
    try:
        details = (*interpreter.get_input_details(), *interpreter.get_output_details())
    except StateError:  # it is running: the file's shapes
        return {}
    return {detail["index"]: detail["shape"].tolist() for detail in details}


def interpreter_text(interpreter: Any) -> str:
    """Inputs and outputs with their shapes and types, one per line."""
    return table(HEADER, tensor_rows(interpreter.model.subgraphs[0], _shapes(interpreter)), width=_WIDTH)


def interpreter_html(interpreter: Any) -> str:
    """The same as HTML, then the memory in use."""
    graph = interpreter.model.subgraphs[0]
    found = html_table(HEADER, tensor_rows(graph, _shapes(interpreter)))
    try:
        usage = interpreter.usage
        memory = (
            f"arena {usage.arena_bytes} bytes, lower bound {usage.bound_bytes}" if interpreter.plan else "not allocated"
        )
    except StateError:
        memory = "running"
    return f"{found}<p>{count(len(graph.nodes), 'node')}, {count(len(graph.tensors), 'tensor')}; {memory}</p>"
