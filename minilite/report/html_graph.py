"""Collects the graph of the HTML report: the nodes of the main frame, what they read and write, and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite._native.status import RUNNING
from minilite.engine.float_values import floats
from minilite.errors import MiniliteError
from minilite.report.facts import settings
from minilite.text import bytes_text, shape_text

if TYPE_CHECKING:
    from minilite.engine.model_plan import ModelPlan
    from minilite.format.model import Subgraph, Tensor

_MOST_VALUES = 1 << 24
"""The largest number of a constant's values whose range is looked for."""
_FEW = 4
"""The number of scales that are shown, and of values that are shown instead of their range."""
_LONG = 400
"""The most characters of an option's value."""


def graph_nodes(
    graph: Subgraph, plan: ModelPlan, order: Sequence[tuple[int, str]], names: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Returns the nodes in the order of running: operator, operands, options, and who reads their outputs."""
    readers: dict[int, list[int]] = {}
    for at, (number, _) in enumerate(order):
        for tensor in set(graph.nodes[number].inputs):
            readers.setdefault(tensor, []).append(at)
    found = []
    for at, (number, status) in enumerate(order):
        node = graph.nodes[number]
        reading = {reader for tensor in node.outputs for reader in readers.get(tensor, ()) if reader > at}
        runs = status in RUNNING
        entry = {
            "node": number, "op": node.op, "name": first_name(names, node.outputs), "runs": runs,
            "inputs": node.inputs, "outputs": node.outputs, "readers": sorted(reading), "options": _options(node),
        }  # fmt: skip
        found.append(entry if runs else entry | {"becomes": becomes(plan, at, 0, status)})
    return found


def operands(graph: Subgraph, plan: ModelPlan, names: Mapping[int, str]) -> dict[int, dict[str, Any]]:
    """Returns the tensors that nodes read and write, by number: name, shape, type, scale, range of constants."""
    used = {i for node in graph.nodes for i in (*node.inputs, *node.outputs) if i >= 0}
    return {i: _operand(graph.tensors[i], plan, names[i]) for i in sorted({*used, *graph.inputs, *graph.outputs})}


def _operand(tensor: Tensor, plan: ModelPlan, name: str) -> dict[str, Any]:
    state = plan.tensor(tensor.index)
    found: dict[str, Any] = {"name": name, "kind": f"{tensor.type.name.lower()} {shape_text(state.shape)}"}
    if tensor.name != name:
        found["full"] = tensor.name
    if text := _quantization(tensor):
        found["scale"] = text
    if tensor.data is not None:
        found["constant"] = f"{bytes_text(tensor.data.nbytes)}{_range(tensor)}"
    elif tensor.is_variable:
        found["variable"] = "variable: keeps its value from run to run"
    elif state.storage == "constant":
        found["constant"] = "computed before the run"
    return found


def _quantization(tensor: Tensor) -> str:
    scales = tensor.quantization.scales
    if not len(scales):
        return ""
    if len(scales) == 1:
        return f"scale {scales[0]:.6g}, zero point {tensor.quantization.zero_point}"
    return f"{len(scales)} scales, {min(scales):.3g} to {max(scales):.3g}"


def _range(tensor: Tensor) -> str:
    """Returns the least and the greatest real number of a constant, or its few values; empty where it has none."""
    size = int(np.prod(tensor.shape or (), dtype=np.int64))
    if not size or size > _MOST_VALUES or tensor.data is None or tensor.sparsity is not None:
        return ""
    try:
        values = np.asarray(floats(tensor, tensor.data.reshape(tensor.shape)))
    except (MiniliteError, ValueError, TypeError):  # types that have no real numbers, such as packed and string ones
        return ""
    if values.dtype.kind not in "fiub":
        return ""
    if size <= _FEW:
        return ": " + " ".join(f"{float(value):.4g}" for value in values.reshape(-1))
    return f": {float(np.nanmin(values)):.4g} to {float(np.nanmax(values)):.4g}"


def _options(node: Any) -> dict[str, str]:
    return {key: str(value)[:_LONG] for key, value in settings(node).items()}


def first_name(names: Mapping[int, str], outputs: Sequence[int]) -> str:
    """Returns the name of a node's first output; empty if it has none."""
    return names[outputs[0]] if outputs and outputs[0] >= 0 else ""


def becomes(plan: ModelPlan, position: int, frame: int, status: str) -> str:
    """Says what becomes of a node that does not run."""
    whole = plan.part_of(position, frame)
    if whole is not None:
        return f"part of {whole}"
    words = {
        "folded": "known before the run",
        "view": "shares its input's memory",
        "fused": "part of another",
        "empty": "has no elements",
    }
    return words.get(status, status)
