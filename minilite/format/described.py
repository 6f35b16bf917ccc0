"""Describes a Model as text and as HTML: inputs, outputs, operators, associated files."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from minilite.errors import ModelFormatError
from minilite.text import Cell, count, cut, html_table, markup, shape_text, table, wrapped

if TYPE_CHECKING:
    from minilite.format.model import Model, Subgraph

_WIDTH = 100
_MOST = 8
"""The number of inputs, of outputs, operators, signatures and files that are shown."""
HEADER = ("", "tensor", "name", "shape", "type", "scale, zero point")
Row = Sequence[Cell]


def model_text(model: Model) -> str:
    """A line about the model, then a table."""
    lines = [f"<Model{_name(model)}: {_size(model)}>"]
    if model.subgraphs:
        lines.append(table(HEADER, tensor_rows(model.subgraphs[0]), width=_WIDTH))
    return "\n".join([*lines, *(wrapped(f"  {name}: {text}", _WIDTH, "    ") for name, text in _more(model))])


def model_html(model: Model) -> str:
    """The same as HTML."""
    tables = html_table(HEADER, tensor_rows(model.subgraphs[0])) if model.subgraphs else ""
    more = "".join(f"<br>{markup(name)}: {markup(text)}" for name, text in _more(model))
    return f"<p>Model{markup(_name(model))}: {_size(model)}</p>{tables}<p>{more.removeprefix('<br>')}</p>"


def _name(model: Model) -> str:
    try:
        name = model.metadata.name or model.description
    except ModelFormatError:
        name = model.description
    return f" '{cut(name)}'" if name else ""


def _size(model: Model) -> str:
    nodes = sum(len(graph.nodes) for graph in model.subgraphs)
    tensors = sum(len(graph.tensors) for graph in model.subgraphs)
    return f"{count(nodes, 'node')}, {count(tensors, 'tensor')}, {count(len(model.subgraphs), 'subgraph')}"


def tensor_rows(graph: Subgraph, shapes: dict[int, Sequence[int]] | None = None) -> Iterator[Row]:
    """A row per input and output, with the shape from `shapes` if it is there, else the file's."""
    for role, indices in (("input", graph.inputs), ("output", graph.outputs)):
        for index in indices[:_MOST]:
            tensor = graph.tensors[index]
            one = len(tensor.quantization.scales) == 1
            scale = f"{tensor.quantization.scale:g}, {tensor.quantization.zero_point}" if one else ""
            shape = (shapes or {}).get(index, tensor.shape_signature or tensor.shape)
            yield role, index, cut(tensor.name), shape_text(shape), tensor.type.name.lower(), scale
        if len(indices) > _MOST:
            yield role, None, f"... and {len(indices) - _MOST} more", "", "", ""


def _more(model: Model) -> Iterator[tuple[str, str]]:
    counts = collections.Counter(node.op for graph in model.subgraphs for node in graph.nodes)
    if counts:
        yield "operators", _listed([f"{cut(op)} x{n}" if n > 1 else cut(op) for op, n in counts.most_common()])
    if model.signatures:
        yield "signatures", _listed([cut(signature.key) for signature in model.signatures])
    if model.metadata:
        yield "metadata", _listed([cut(name) for name in model.metadata])
    try:
        files = model.associated_files
    except ModelFormatError as error:
        yield "files", str(error)
    else:
        if files:
            yield "files", _listed([f"{cut(name)} ({count(len(data), 'byte')})" for name, data in files.items()])


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more
