"""Describes a bundle: its sections, and what its models take and give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.errors import ModelFormatError
from minilite.text import count, shape_text, table, wrapped

if TYPE_CHECKING:
    from minilite.format.bundle import Bundle, Section
    from minilite.format.model import Subgraph

_HEADER = ("", "section", "kind", "byte", "bytes", "packed", "holds")
_MOST = 3
"""The number of inputs, and of outputs, that are named."""


def bundle_text(bundle: Bundle, width: int | None) -> str:
    """Returns the sections as a table, and how one of the models is reached."""
    version = f" {bundle.version}" if bundle.version else ""
    lines = [
        wrapped(
            f"{Path(bundle.name).name}: bundle ({bundle.kind}{version}), {count(len(bundle.sections), 'section')}",
            width,
        )
    ]
    lines += [wrapped(f"{key}: {value}", width) for key, value in bundle.about.items()]
    rows = [
        (
            number,
            each.name,
            each.kind,
            each.offset,
            each.bytes,
            each.stored_bytes if each.packed else None,
            _holds(bundle, each),
        )
        for number, each in enumerate(bundle.sections)
    ]
    lines.append(table(_HEADER, rows, width=width, spare=("byte",), whole=("section",)))
    if first := next((each.name for each in bundle.sections if each.kind == "model"), ""):
        lines.append(wrapped(f"a model is used as a file is: minilite inspect {bundle.name}:{first}", width))
    return "\n".join(lines)


def bundle_facts(bundle: Bundle) -> dict[str, Any]:
    """Returns the sections as plain values."""
    return {
        "bundle": bundle.name,
        "kind": bundle.kind,
        "version": bundle.version,
        "about": dict(bundle.about),
        "sections": [
            {
                "section": each.name,
                "kind": each.kind,
                "offset": each.offset,
                "bytes": each.bytes,
                "stored_bytes": each.stored_bytes,
                "packed": each.packed,
                "about": dict(each.about),
            }
            for each in bundle.sections
        ],
    }


def _holds(bundle: Bundle, section: Section) -> str:
    """Returns inputs and outputs of a model, or the entries about another section."""
    told = [f"{key} {value}" for key, value in section.about.items() if key != "model_type"]
    try:
        if section.kind == "bundle":
            return count(len(bundle.bundle(section.name).sections), "section")
        if section.kind != "model":
            return "; ".join(told)
        graph = bundle.model(section.name).subgraphs[0]
    except (ModelFormatError, IndexError) as error:
        return f"damaged: {error}"
    ends = " -> ".join(_tensors(graph, numbers) for numbers in (graph.inputs, graph.outputs))
    return "; ".join([f"{count(len(graph.nodes), 'node')}: {ends}", *told])


def _tensors(graph: Subgraph, numbers: tuple[int, ...]) -> str:
    named = [graph.tensors[number] for number in numbers[:_MOST]]
    texts = [f"{tensor.type.name.lower()} {shape_text(tensor.shape)}" for tensor in named]
    return ", ".join([*texts, *(["..."] if len(numbers) > _MOST else [])]) or "nothing"
