"""Writes one HTML file about a model, which opens from the disk: memory over time, nodes, operators, graph, sizes.

The page is `page.html` with `page.js` in it; this module gives both everything they show, as escaped text or as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite.errors import visible
from minilite.report.html_data import NodeRow, drawing, node_rows, operator_rows, totals
from minilite.report.machine import made_by
from minilite.report.sizes_svg import plot
from minilite.text import bytes_text, count, duration, html_table, markup, shape_text

if TYPE_CHECKING:
    from minilite.engine.model_plan import ModelPlan
    from minilite.engine.sizes import PlannedSize
    from minilite.format.model import Model
    from minilite.profiling.profile import Profile

_HERE = Path(__file__).parent


class Section(NamedTuple):
    """A section that the caller adds to the page: a heading, and markup that is escaped already."""

    heading: str
    markup: str


def page(
    title: str,
    model: Model,
    plan: ModelPlan,
    profiled: Profile | None = None,
    sizes: Sequence[PlannedSize] = (),
    sections: Sequence[Section] = (),
    threads: int = 1,
    signature: str = "",
) -> str:
    """Returns the whole file as text; `threads` and the line about signatures go to its head."""
    rows = node_rows(model, plan, profiled)
    parts = [*sections]
    if sizes:
        parts.insert(0, Section("Sizes", _sizes(title, sizes)))
    data = {**drawing(model, plan), **_table(rows, profiled is not None)}
    return Template(_text("page.html")).substitute(
        title=markup(title),
        subtitle=markup(_subtitle(model, plan)),
        made="<br>".join(markup(line) for line in (made_by(plan.level, threads), signature) if line),
        links="".join(f'<a href="#part{at}">{markup(part.heading.lower())}</a>' for at, part in enumerate(parts)),
        totals="".join(
            f"<div><dt>{markup(name)}</dt><dd>{markup(value)}</dd></div>"
            for name, value in totals(model, plan, rows, profiled)
        ),
        profiled=markup(_profiled(profiled, plan)),
        operators=html_table(*operator_rows(rows)),
        sections="".join(
            f'<h2 id="part{at}">{markup(part.heading)}</h2>\n{part.markup}\n' for at, part in enumerate(parts)
        ),
        data=_json(data),
        script=_text("page.js"),
    )


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _json(data: Mapping[str, Any]) -> str:
    """Returns JSON in ASCII without tags and entities, so that no name in it can end the script."""
    text = json.dumps(_shown(data), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _shown(value: Any) -> Any:
    """Returns the value with all text made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _shown(each) for key, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list | tuple) else value


def _subtitle(model: Model, plan: ModelPlan) -> str:
    graph = model.subgraphs[plan.frames()[0][0]]
    ends = []
    for numbers in (graph.inputs, graph.outputs):
        shown = [
            f"{graph.tensors[i].name} {shape_text(plan.shape(i))} {graph.tensors[i].type.name.lower()}" for i in numbers
        ]
        ends.append(", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else ""))
    return f"{ends[0] or 'no inputs'} \u2192 {ends[1] or 'no outputs'}"


def _profiled(profiled: Profile | None, plan: ModelPlan) -> str:
    if profiled is None:
        return "Not timed. A click on a node marks it in the memory map, and opens it in the graph."
    head = f"{count(profiled.runs, 'run')}, {count(profiled.threads, 'thread')}"
    inner = " Times of subgraphs are parts of their callers'." if len(plan.frames()) > 1 else ""
    return f"{head}.{inner} A click on a node marks it in the memory map, and opens it in the graph."


def _table(rows: Sequence[NodeRow], timed: bool) -> dict[str, Any]:
    """Returns the columns and rows of the table of nodes."""
    frames = any(row.frame for row in rows)
    columns = [_column("frame", "n", "which call of a subgraph; 0 is the main one")] if frames else []
    columns += [
        _column("node", "n", "its number in the file"),
        _column("operator", "s", "its kind"),
    ]
    if timed:
        columns += [
            _column("us", "n", "microseconds of one run"),
            _column("%", "n", "share of the run") | {"bar": True},
        ]
    columns += [
        _column("output", "s", "the shape of its first output"),
        _column("tensor", "w", "the name of its first output") | {"most": 36},
        _column("kernel", "w", "what runs it, or what becomes of it") | {"most": -30},
    ]
    if timed:
        columns.append(_column("% of peak", "n l", "how near it is to what one core can do"))
    columns += [
        _column("MMAC", "n l", "million multiply-adds"),
        _column("KiB", "n l", "KiB read and written"),
        _column("live KiB", "n l", "KiB of the arena that are needed while it runs"),
    ]
    cells = [
        {
            "position": row.position if row.frame == 0 else None,
            "cells": [
                *([row.frame] if frames else []), row.node, row.op, *((row.us, row.share) if timed else ()),
                row.shape, row.name, row.kernel, *((row.of_peak,) if timed else ()),
                row.macs / 1e6 if row.macs else None, row.nbytes / 1024 if row.nbytes else None,
                row.live / 1024 if row.live else None,
            ],
        }
        for row in rows
    ]  # fmt: skip
    return {"columns": columns, "rows": cells}


def _column(name: str, kind: str, about: str) -> dict[str, Any]:
    """Returns a column: `kind` is n for numbers, s for short text, w for words, of which the last `most` are shown
    (below 0: the first). Words, and numbers of kind l, are left out on narrow screens."""
    return {"name": name, "kind": kind, "about": about}


def _sizes(title: str, found: Sequence[PlannedSize]) -> str:
    rows = [
        (
            one.size,
            " ".join(f"{name} {shape_text(shape)}" for name, shape in one.shapes.items()),
            bytes_text(one.arena_bytes) if one.arena_bytes is not None else None,
            bytes_text(one.lower_bound or 0) if one.arena_bytes is not None else None,
            duration(one.seconds) if one.arena_bytes is not None else None,
            one.refused,
        )
        for one in found
    ]
    header = ("size", "inputs", "arena", "lower bound", "planning", "refused")
    if all(one.refused is None for one in found):
        header, rows = header[:-1], [row[:-1] for row in rows]  # type: ignore[assignment, misc]
    return f'<div class="scroll">{plot(title, found)}</div><div class="scroll plain">{html_table(header, rows)}</div>'
