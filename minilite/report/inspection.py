"""What is in a model, and where a plan puts it: the text behind `minilite inspect`."""

from __future__ import annotations

from minilite._native import Plan
from minilite.format.model import Model, Node, Subgraph
from minilite.report.text import Cell, count, cut, shape_text, table

_FOREVER = 2**31 - 1


def _numbers(indices: tuple[int, ...]) -> str:
    return " ".join("-" if i < 0 else str(i) for i in indices)


def _settings(node: Node) -> str:
    """The options that are set: false, NONE and empty ones are left out."""
    shown = (f"{key}={value}" for key, value in node.options.items() if value not in (False, None, "NONE", (), b""))
    return " ".join(shown)


def _nodes(subgraph: Subgraph, plan: Plan | None, frame: int) -> str:
    rows: list[list[Cell]] = []
    position = 0
    for node in subgraph.nodes:
        status = ""
        if plan is not None:
            # A node that lowering replaced by constants has no place in the C graph.
            if all(plan.tensor(i, frame).storage == "constant" for i in node.outputs if i >= 0) and node.outputs:
                status = "constant"
            else:
                status = plan.node_status(position, frame)
                position += 1
        name = f"{node.op} (custom)" if node.custom else node.op
        rows.append(
            [node.index, name, node.version, _numbers(node.inputs), _numbers(node.outputs), status, _settings(node)]
        )
    return table(["node", "op", "version", "inputs", "outputs", "becomes", "options"], rows)


def _tensors(subgraph: Subgraph, plan: Plan | None, frame: int) -> str:
    records = {r[0]: r for r in plan.records(frame)} if plan is not None else {}
    rows: list[list[Cell]] = []
    for tensor in subgraph.tensors:
        role = "in" if tensor.index in subgraph.inputs else "out" if tensor.index in subgraph.outputs else ""
        row: list[Cell] = [tensor.index, cut(tensor.name), role, tensor.type.name.lower()]
        if plan is None:
            kind = "constant" if tensor.data is not None else "variable" if tensor.is_variable else ""
            size = tensor.data.nbytes if tensor.data is not None else None
            row += [shape_text(tensor.shape_signature or tensor.shape), kind, size, None, "", ""]
        else:
            state = plan.tensor(tensor.index, frame)
            placed = state.storage in ("arena", "persistent") and state.offset >= 0
            record = records.get(tensor.index)
            lives = f"{record[2]}-{'end' if record[3] == _FOREVER else record[3]}" if record else ""
            notes = [f"shares with {state.root}"] if placed and state.root != tensor.index else []
            notes += ["dynamic"] if state.dynamic else []
            row += [shape_text(state.shape), state.storage, state.bytes, state.offset if placed else None, lives]
            row += [", ".join(notes)]
        rows.append(row)
    return table(["tensor", "name", "role", "type", "shape", "storage", "bytes", "offset", "lives", "notes"], rows)


def _scratch(subgraph: Subgraph, plan: Plan, frame: int) -> str:
    tensors = len(subgraph.tensors)
    rows: list[list[Cell]] = [[r[0] - tensors, r[1], r[4]] for r in plan.records(frame) if r[0] >= tensors]
    return table(["node", "scratch bytes", "offset"], rows) if rows else ""


def _head(model: Model, title: str) -> list[str]:
    lines = [f"{title}: {count(len(model.subgraphs), 'subgraph')}"]
    if model.description:
        lines.append(f"description: {' '.join(model.description.split())}")
    for signature in model.signatures:
        names = ", ".join(signature.inputs), ", ".join(signature.outputs)
        lines.append(f"signature {signature.key}: ({names[0]}) -> ({names[1]}), subgraph {signature.subgraph}")
    if model.metadata:
        lines.append("metadata: " + ", ".join(f"{name} ({len(data)} bytes)" for name, data in model.metadata.items()))
    return lines


def inspection(model: Model, title: str, plan: Plan | None = None) -> str:
    """Signatures, nodes, tensors, and with a plan each tensor's storage, offset and lifetime, frame by frame.

    Offsets are bytes from the start of the frame's region; for frame 0 that is the arena. Lifetimes are node positions,
    both ends inclusive.
    """
    lines = _head(model, title)
    frames = plan.frames() if plan is not None else [(s.index, -1, -1) for s in model.subgraphs]
    for number, (index, parent, caller) in enumerate(frames):
        subgraph = model.subgraphs[index]
        call = f", called by frame {parent}, node {caller}" if parent >= 0 else ""
        where = f"frame {number}: " if plan is not None else ""
        lines += ["", f"{where}subgraph {index} '{subgraph.name}'{call}"]
        lines += [_nodes(subgraph, plan, number), "", _tensors(subgraph, plan, number)]
        if plan is not None and (scratch := _scratch(subgraph, plan, number)):
            lines += ["", scratch]
    if plan is not None:
        lines += ["", f"arena {plan.arena_bytes} bytes, lower bound {plan.lower_bound}"]
    return "\n".join(lines)
