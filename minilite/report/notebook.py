"""Tables that notebooks show of an interpreter."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from minilite.errors import StateError
from minilite.report.text import count, shape_text

if TYPE_CHECKING:
    from minilite.runtime import Runtime


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    def line(tag: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line("th", header) + "".join(line("td", row) for row in rows) + "</table>"


def interpreter_table(interpreter: Runtime) -> str:
    """Inputs and outputs with their shapes and types, then what memory is taken."""
    rows = []
    for role, details in (("input", interpreter.get_input_details()), ("output", interpreter.get_output_details())):
        for detail in details:
            scale, zero_point = detail["quantization"]
            quantization = f"{scale:g}, {zero_point}" if scale else ""
            kind = detail["dtype"].__name__
            rows.append(
                (role, detail["index"], detail["name"], shape_text(detail["shape"].tolist()), kind, quantization)
            )
    table = _table(("", "tensor", "name", "shape", "type", "scale, zero point"), rows)
    graph = interpreter.model.subgraphs[0]
    try:
        usage = interpreter.usage
        memory = f"arena {usage.arena_bytes} bytes, lower bound {usage.bound_bytes}"
    except StateError:
        memory = "running"
    return f"{table}<p>{count(len(graph.nodes), 'node')}, {count(len(graph.tensors), 'tensor')}; {memory}</p>"
