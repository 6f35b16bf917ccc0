"""Lists a model's contents, and their memory in a plan, as plain values for `minilite inspect`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from minilite._native.kernels import Shape, multiplies, multiply_adds
from minilite._native.plan import Plan
from minilite.errors import ModelFormatError
from minilite.format._spec import default_options, options_table
from minilite.format.model import Model, Node, Subgraph

_FOREVER = 2**31 - 1

Facts = dict[str, Any]


def model_facts(model: Model, title: str, plan: Plan | None = None) -> Facts:
    """Returns everything in a model; with a plan also the kernel of each node and the memory of each tensor, frame by
    frame. Subgraphs that the plan does not reach come last, as they are in the file, with no number of a frame.

    Offsets are bytes from the start of the frame's region; for frame 0 that is the arena. Lifetimes are node positions,
    both ends inclusive; the last is None for the end of the run.
    """
    planned = plan.frames() if plan is not None else []
    reached = {index for index, _, _ in planned}
    others = [(graph.index, -1, -1) for graph in model.subgraphs if graph.index not in reached]
    frames = [_frame(model, plan, number, frame) for number, frame in enumerate(planned)]
    return {
        "model": title,
        "description": model.description,
        "subgraphs": len(model.subgraphs),
        "totals": _totals(model, plan),
        "signatures": [
            {
                "key": s.key,
                "inputs": dict(s.inputs),
                "outputs": dict(s.outputs),
                "subgraph": s.subgraph,
                "broken": s.broken,
            }
            for s in model.signatures
        ],
        "metadata": {name: len(data) for name, data in model.metadata.items()},
        "about": _about(model),
        "associated_files": _associated(model),
        "frames": frames + [_frame(model, None, 0, frame) for frame in others],
        "arena_bytes": plan.arena_bytes if plan is not None else None,
        "lower_bound": plan.lower_bound if plan is not None else None,
        "input_bytes": plan.input_bytes if plan is not None else None,
    }


def _totals(model: Model, plan: Plan | None) -> Facts:
    """Counts nodes by operator, constants and their bytes, in all subgraphs; and multiply-adds of the planned shapes,
    each frame's nodes once, or of the file's; None if a shape is not known before a run."""
    constants = [tensor for graph in model.subgraphs for tensor in graph.tensors if tensor.data is not None]
    operators = Counter(node.op for graph in model.subgraphs for node in graph.nodes)
    return {
        "nodes": operators.total(),
        "operators": dict(operators.most_common()),
        "multiply_adds": _multiply_adds(model, plan),
        "constants": sum(math.prod(tensor.shape) for tensor in constants),
        "constant_bytes": sum(tensor.data.nbytes for tensor in constants if tensor.data is not None),
    }


def _multiply_adds(model: Model, plan: Plan | None) -> int | None:
    frames = plan.frames() if plan is not None else [(graph.index, -1, -1) for graph in model.subgraphs]
    total = 0
    for number, (index, _, _) in enumerate(frames):
        graph = model.subgraphs[index]
        for node in (node for node in graph.nodes if multiplies(node.op, custom=node.custom)):
            shapes = [_shape(graph, i, plan, number) for i in (*node.inputs, *node.outputs)]
            known = [shape for shape in shapes if shape is not None and min(shape, default=0) >= 0]
            if len(known) < len(shapes):
                return None
            inputs, outputs = known[: len(node.inputs)], known[len(node.inputs) :]
            total += multiply_adds(node.op, inputs, outputs, custom=node.custom) or 0
    return total


def _shape(graph: Subgraph, index: int, plan: Plan | None, frame: int) -> Shape | None:
    """Returns the planned shape, or the file's; () for an operand that is absent, None if it is not known."""
    if index < 0:
        return ()
    if plan is not None:
        return plan.tensor(index, frame).shape
    return tuple(graph.tensors[index].shape_signature or graph.tensors[index].shape)


def _about(model: Model) -> Facts | str:
    """Returns the content of the metadata, or the reason why they cannot be read."""
    try:
        about = model.metadata.about
    except ModelFormatError as error:
        return str(error)
    found: Facts = {key: value for key, value in about._asdict().items() if value and isinstance(value, str)}
    for role, tensors in (("inputs", about.inputs), ("outputs", about.outputs)):
        if tensors:
            found[role] = [_set(tensor._asdict()) for tensor in tensors]
    return found


def _set(fields: Mapping[str, Any]) -> Facts:
    """Returns the fields that are not empty; files by name."""
    shown = {key: value for key, value in fields.items() if value}
    if "files" in shown:
        shown["files"] = [file.name for file in shown["files"]]
    return shown


def _associated(model: Model) -> Mapping[str, int] | str:
    try:
        return {name: len(data) for name, data in model.associated_files.items()}
    except ModelFormatError as error:
        return str(error)


def _frame(model: Model, plan: Plan | None, number: int, frame: tuple[int, int, int]) -> Facts:
    index, parent, caller = frame
    subgraph = model.subgraphs[index]
    return {
        "frame": number if plan is not None else None,
        "subgraph": index,
        "name": subgraph.name,
        "calling_frame": parent if parent >= 0 else None,
        "calling_node": caller if parent >= 0 else None,
        "nodes": _nodes(subgraph, plan, number),
        "tensors": _tensors(subgraph, plan, number),
        "scratch": _scratch(subgraph, plan, number) if plan is not None else [],
    }


def settings(node: Node) -> Facts:
    """Returns the options that are set, without false, NONE, empty ones and defaults of the format."""
    found = None if node.custom else options_table(node.op)
    usual = default_options(found.table) if found is not None else {}
    return {
        key: value
        for key, value in node.options.items()
        if value not in (False, None, "NONE", (), b"") and (key == "padding" or not value or value != usual.get(key))
    }


def _nodes(subgraph: Subgraph, plan: Plan | None, frame: int) -> list[Facts]:
    found = []
    position = 0
    for node in subgraph.nodes:
        status = None
        if plan is not None:
            # A node that lowering has replaced by constants is not in the C graph.
            if all(plan.tensor(i, frame).storage == "constant" for i in node.outputs if i >= 0) and node.outputs:
                status = "constant"
            else:
                whole = plan.part_of(position, frame)
                status = plan.node_status(position, frame) if whole is None else f"part of {whole}"
                if node.op == "STABLEHLO_COMPOSITE" and status == "runs":
                    called = any(call[1:] == (frame, position) for call in plan.frames())
                    status = "runs its decomposition" if called else "runs by its kernel"
                position += 1
        facts = {
            "node": node.index,
            "op": node.op,
            "custom": node.custom,
            "version": node.version,
            "inputs": node.inputs,
            "outputs": node.outputs,
            "becomes": status,
            "options": settings(node),
        }
        found.append(facts)
    return found


def _tensors(subgraph: Subgraph, plan: Plan | None, frame: int) -> list[Facts]:
    records = {r[0]: r for r in plan.records(frame)} if plan is not None else {}
    found = []
    for tensor in subgraph.tensors:
        role = "in" if tensor.index in subgraph.inputs else "out" if tensor.index in subgraph.outputs else ""
        facts: Facts = {
            "tensor": tensor.index,
            "name": tensor.name,
            "role": role,
            "type": tensor.type.name.lower(),
            "scale": float(tensor.quantization.scale) if len(tensor.quantization.scales) == 1 else None,
            "zero_point": int(tensor.quantization.zero_point) if len(tensor.quantization.scales) == 1 else None,
        }
        if plan is None:
            kind = "constant" if tensor.data is not None else "variable" if tensor.is_variable else ""
            facts["shape"] = tensor.shape_signature or tensor.shape
            facts |= {"storage": kind, "bytes": tensor.data.nbytes if tensor.data is not None else None}
        else:
            facts |= _placed(plan, tensor.index, frame, records.get(tensor.index))
        found.append(facts)
    return found


def _placed(plan: Plan, index: int, frame: int, record: tuple[int, int, int, int, int] | None) -> Facts:
    state = plan.tensor(index, frame)
    placed = state.storage in ("arena", "persistent") and state.offset >= 0
    return {
        "shape": state.shape,
        "storage": state.storage,
        "bytes": state.bytes,
        "offset": state.offset if placed else None,
        "first_node": record[2] if record else None,
        "last_node": record[3] if record and record[3] != _FOREVER else None,
        "lives": record is not None,
        "shares_with": state.root if placed and state.root != index else None,
        "dynamic": state.dynamic,
    }


def _scratch(subgraph: Subgraph, plan: Plan, frame: int) -> list[Facts]:
    tensors = len(subgraph.tensors)
    return [{"node": r[0] - tensors, "bytes": r[1], "offset": r[4]} for r in plan.records(frame) if r[0] >= tensors]
