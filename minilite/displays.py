"""Describes an interpreter as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minilite.engine.engine import engine_of
from minilite.errors import StateError
from minilite.format.described import HEADER, tensor_rows
from minilite.text import bytes_text, count, html_table, table

_WIDTH = 100


def _shapes(interpreter: Any) -> dict[int, Sequence[int]]:
    try:
        details = (*interpreter.get_input_details(), *interpreter.get_output_details())
    except StateError:  # it is running: the file's shapes
        return {}
    return {detail["index"]: detail["shape"].tolist() for detail in details}


def interpreter_text(interpreter: Any) -> str:
    """A line about the whole, then inputs and outputs with their shapes and types, one per line."""
    rows = tensor_rows(engine_of(interpreter).graph, _shapes(interpreter))
    return f"{_line(interpreter)}\n{table(HEADER, rows, width=_WIDTH)}"


def _line(interpreter: Any) -> str:
    graph, memory = engine_of(interpreter).graph, ", not allocated"
    session = engine_of(interpreter).main
    if session and session.ready:
        try:
            memory = f", arena {bytes_text(session.state.usage().arena_bytes)}"
        except StateError:
            memory = ", running"
    return f"<{type(interpreter).__name__}: {len(graph.nodes)} nodes, {len(graph.tensors)} tensors{memory}>"


def interpreter_html(interpreter: Any) -> str:
    """The same as HTML, then the memory in use."""
    graph = engine_of(interpreter).graph
    found = html_table(HEADER, tensor_rows(graph, _shapes(interpreter)))
    try:
        usage = interpreter.usage
        memory = (
            f"arena {bytes_text(usage.arena_bytes)}, lower bound {bytes_text(usage.bound_bytes)}, "
            f"inputs {bytes_text(usage.input_bytes)}"
            if interpreter.plan
            else "not allocated"
        )
    except StateError:
        memory = "running"
    return f"{found}<p>{count(len(graph.nodes), 'node')}, {count(len(graph.tensors), 'tensor')}; {memory}</p>"
