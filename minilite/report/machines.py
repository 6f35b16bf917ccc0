"""Tells which nodes of a model another machine takes: by tables in data/machines/, each with its source and date.

A table has a line for each operator that the machine knows: its types as rows of operators spell them, `any` for all
that its own rule allows, or `?` where none is known to be taken; then a condition that a node has to meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from minilite.errors import InputError

if TYPE_CHECKING:
    from minilite.format.model import Model, Node, Subgraph

Verdict = Literal["taken", "elsewhere", "refused", "unknown"]
MACHINES = {
    "tflm": "TensorFlow Lite Micro",
    "esphome": "ESPHome's micro_wake_word",
    "edgetpu": "the Edge TPU's compiler",
    "litert-gpu": "LiteRT's GPU delegate",
    "xnnpack": "LiteRT with XNNPACK",
}
"""The machines by name."""
_ON_MICRO = ("tflm", "esphome")
"""Machines that run a model by TensorFlow Lite Micro."""
_NEVER = "no node of this operator was taken of those that were tried"
_BIASED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
"""Operators whose last operand, the bias, may be absent."""
_BYTES = ("INT8", "UINT8")
_OF_SCALARS = ("READ_VARIABLE", "ASSIGN_VARIABLE", "IF", "WHILE", "LESS", "ADD", "LOGICAL_NOT")
_FEATURES, _MOST_VARIABLES = 40, 20
"""The features in a slice of sound that ESPHome gives to a model, and the variables that it has room for."""


class Line(NamedTuple):
    """An operator in a table."""

    types: tuple[str, ...]
    """Combinations, with neighbours of one type written once; ("any",), or ("?",)."""
    version: int
    """The latest version that is taken; 0 for all."""
    condition: str


class Table(NamedTuple):
    """The operators that a machine takes."""

    lines: Mapping[str, Line]
    source: str


class Finding(NamedTuple):
    """A verdict on a node, or with node -1 on the whole model."""

    subgraph: int
    node: int
    op: str
    verdict: Verdict
    reason: str


@cache
def table_of(machine: str) -> Table:
    """Reads the table of a machine. Raises: InputError."""
    if machine not in MACHINES:
        message = f"there is no table of {machine!r}: there are {', '.join(MACHINES)}"
        raise InputError(message)
    text = resources.files("minilite").joinpath("data", "machines", f"{machine}.txt").read_text("utf-8")
    lines, notes = {}, []
    for row in text.splitlines():
        if row.startswith("#"):
            notes.append(row.lstrip("# "))
            continue
        name, _, rest = row.partition(":")
        op, _, version = name.partition(" ")
        types, _, condition = rest.partition("|")
        spelled = tuple(dict.fromkeys(_short(each.strip()) for each in types.split(";")))
        lines[op] = Line(spelled, int(version or 0), condition.strip())
    return Table(lines, notes[0].removeprefix("source: "))


def judge(model: Model, machine: str) -> list[Finding]:
    """Returns what is known of each node, and of the whole model. Raises: InputError."""
    table = table_of(machine)
    whole = [Finding(0, -1, "", verdict, reason) for verdict, reason in _WHOLE[machine](model)]
    micro = table_of("tflm") if machine == "esphome" else None
    found = []
    for subgraph in model.subgraphs:
        nodes = []
        for node in subgraph.nodes:
            verdict, reason = _of_node(table, machine, subgraph, node)
            if verdict == "taken" and micro is not None:
                verdict, reason = _of_node(micro, "tflm", subgraph, node)
            nodes.append(Finding(subgraph.index, node.index, node.op, verdict, reason))
        found += _one_part(subgraph, nodes) if machine == "edgetpu" else nodes
    return [*whole, *found]


def _one_part(subgraph: Subgraph, nodes: Sequence[Finding]) -> list[Finding]:
    """Leaves out what comes after a node that the Edge TPU does not take: the compiler makes one part of the model. It
    may begin after nodes on the processor, and does not go on after one."""
    found: list[Finding] = []
    begun: set[int] = set()
    ended: dict[int, Finding] = {}  # by tensor, the node on the processor, or perhaps there, that it comes after
    for node, each in zip(subgraph.nodes, nodes, strict=True):
        after = sorted((ended[i] for i in node.inputs if i in ended), key=lambda one: one.verdict != "elsewhere")
        end = each
        if each.verdict != "elsewhere" and after:
            end = after[0]
            sure = "is" if end.verdict == "elsewhere" else "may be"
            reason = f"comes after node {end.node} {end.op}, which {sure} on the processor"
            each = each._replace(verdict=end.verdict, reason=reason)
        is_begun = each.verdict == "taken" or any(i in begun for i in node.inputs)
        begun.update(node.outputs if is_begun else ())
        if is_begun and each.verdict != "taken":
            ended.update(dict.fromkeys(node.outputs, end))
        found.append(each)
    return found


def _of_node(table: Table, machine: str, subgraph: Subgraph, node: Node) -> tuple[Verdict, str]:
    line = table.lines.get(node.op)
    not_taken: Verdict = "refused" if machine in _ON_MICRO else "elsewhere"
    if line is None:
        return (not_taken, "the operator is not in its list") if machine != "xnnpack" else ("unknown", _NEVER)
    if line.version and node.version > line.version:
        return not_taken, f"version {node.version}, its list has {line.version}"
    types = _types(subgraph, node)
    if line.types == ("any",):
        reason = _broken(machine, subgraph, node)
        if reason:
            return not_taken, reason
        return ("unknown", f"if it meets this: {line.condition}") if _open(machine, node, line) else ("taken", "")
    if line.types == ("?",):
        return "unknown", "no types are known in which it is taken"
    if machine == "tflm" and (odd := _seldom_taken(subgraph, node)):
        return "unknown", odd
    if _matches(node.op, types, line.types):
        return ("unknown", f"if it meets this: {line.condition}") if line.condition else ("taken", "")
    if machine == "litert-gpu" and {"s8", "u8"} & set(types.split()):
        return "unknown", "quantized: it runs as floats where the delegate allows that, of which its list says nothing"
    return "unknown", f"not known to be taken in the types {types}"


def _seldom_taken(subgraph: Subgraph, node: Node) -> str:
    """Says what TFLM has been seen to refuse in a node whose types it takes; empty if there is none."""
    tensors = [subgraph.tensors[i] for i in (*node.inputs, *node.outputs) if i >= 0]
    if any(tensor.quantization.block_size for tensor in tensors):
        return "blockwise scales"
    given = subgraph.tensors[node.inputs[0]] if node.inputs and node.inputs[0] >= 0 else None
    if given is not None and given.data is None and not given.shape and node.op not in _OF_SCALARS:
        return "its first operand is a scalar"
    if given is not None and given.shape and any(not t.shape and not t.has_rank for t in tensors):
        return "an operand has no shape in the file"
    if node.op == "SVDF":
        memory, state = (subgraph.tensors[node.inputs[at]].shape for at in (2, 4))
        if math.prod(memory) != math.prod(state):
            return f"a state of shape {state} for a memory of {memory}"
    return ""


def _types(subgraph: Subgraph, node: Node) -> str:
    """Spells the types of a node as tables do: ``f32 s32 -> f32``."""
    sides = [[subgraph.tensors[i].type.suffix for i in side if i >= 0] for side in (node.inputs, node.outputs)]
    return _short(" -> ".join(" ".join(side) for side in sides))


def _short(types: str) -> str:
    """Writes neighbours of one type once, so that any number of operands has one spelling."""
    words: list[str] = []
    for word in types.split():
        if not words or words[-1] != word:
            words.append(word)
    return " ".join(words)


def _matches(op: str, types: str, known: Sequence[str]) -> bool:
    """True if a node's types are in a table; a single type there is that of all operands but sizes and axes."""
    if "->" not in known[0]:
        floats = {"f32", "f16"} if known[0] == "f32" else {known[0]}
        return set(types.replace("->", " ").split()) - {"s32"} <= floats
    if types in known:
        return True
    given, _, result = types.partition(" -> ")
    ends = (each.partition(" -> ") for each in known)
    return op in _BIASED and any(end == result and start.rpartition(" ")[0] == given for start, _, end in ends)


def _open(machine: str, node: Node, line: Line) -> bool:
    """True if the table has a condition that is not checked here."""
    return bool(line.condition) and (machine, node.op) not in _CHECKED


_CHECKED = {
    ("edgetpu", op)
    for op in (
        "AVERAGE_POOL_2D",
        "MAX_POOL_2D",
        "CONCATENATION",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "STRIDED_SLICE",
        "MEAN",
    )
} | {("edgetpu", op) for op in ("SUM", "REDUCE_MAX", "REDUCE_MIN", "PAD", "PACK", "SPLIT", "SOFTMAX", "PRELU")}
"""The operators whose condition `_broken` checks."""


def _broken(machine: str, subgraph: Subgraph, node: Node) -> str:
    """The rule of the Edge TPU that a node breaks; empty if it breaks none, and for other machines."""
    if machine != "edgetpu":
        return ""
    tensors = [subgraph.tensors[i] for i in (*node.inputs, *node.outputs) if i >= 0]
    computed = [tensor for tensor in tensors if not tensor.is_variable]
    real = [tensor for tensor in computed if tensor.type.name not in ("INT32", "INT64") or tensor.data is None]
    wrong = next((t for t in real if t.type.name not in _BYTES or not t.quantization.scales), None)
    if wrong is not None:
        scale = "" if wrong.quantization.scales else " without a scale"
        return f"an operand is of {wrong.type.name.lower()}{scale}, must be quantized to 8 bits"
    large = next((t for t in tensors if sum(dim > 1 for dim in t.shape[:-3]) > 0 and t.data is None), None)
    if large is not None:
        return f"an operand has {len(large.shape)} dimensions, of which only the last three may be above 1"
    return _edge_option(subgraph, node)


def _edge_option(subgraph: Subgraph, node: Node) -> str:
    options = node.options
    if node.op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "CONCATENATION"):
        fused = options.get("fused_activation_function", "NONE")
        if fused != "NONE":
            return f"has the fused activation {fused}, must have none"
        constants = [i for i in node.inputs if i >= 0 and subgraph.tensors[i].data is not None]
        if node.op == "CONCATENATION" and constants:
            zeros = all(not np.any(subgraph.tensors[i].data) for i in constants)
            return "" if zeros and len(node.inputs) == 2 else "has a constant input that is not zeros beside one other"
    if node.op in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        across, down = options.get("dilation_w_factor", 1), options.get("dilation_h_factor", 1)
        if across != down:
            return f"dilation {down} by {across}, must be equal"
    if node.op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        axes = subgraph.tensors[node.inputs[1]].data
        rank = len(subgraph.tensors[node.inputs[0]].shape)
        if axes is None or any(int(axis) % max(rank, 1) == 0 for axis in np.reshape(axes, -1)):
            return "reduces along the batch" if axes is not None else "axes that are computed"
    if node.op == "PACK" and options.get("axis", 0) == 0:
        return "packs along the batch"
    if node.op == "SPLIT":
        axis, rank = subgraph.tensors[node.inputs[0]].data, len(subgraph.tensors[node.inputs[1]].shape)
        if axis is None or int(np.reshape(axis, -1)[0]) % max(rank, 1) == 0:
            return "splits along the batch" if axis is not None else "an axis that is computed"
    if node.op == "PAD":
        pads = subgraph.tensors[node.inputs[1]].data
        if pads is None or np.any(np.reshape(pads, (-1, 2))[0]):
            return "pads along the batch" if pads is not None else "paddings that are computed"
    if node.op == "STRIDED_SLICE":
        strides = subgraph.tensors[node.inputs[3]].data
        masks = options.get("ellipsis_mask", 0) or options.get("new_axis_mask", 0)
        if strides is None or np.any(np.asarray(strides) != 1) or masks:
            return "strides other than 1, an ellipsis or a new axis"
    if node.op == "SOFTMAX" and subgraph.tensors[node.inputs[0]].shape[-1] > 16000:
        return "has more than 16000 elements"
    if node.op == "PRELU" and any(dim > 1 for dim in subgraph.tensors[node.inputs[1]].shape[:-1]):
        return "slopes that differ along more than the last dimension"
    return ""


def _plain(_: Model) -> list[tuple[Verdict, str]]:
    return []


def _tflm_whole(model: Model) -> list[tuple[Verdict, str]]:
    graph = model.subgraphs[0]
    strings = any(graph.tensors[i].type.name == "STRING" for i in (*graph.inputs, *graph.outputs))
    return [("unknown", "it takes or gives strings")] if strings else []


def _edge_whole(model: Model) -> list[tuple[Verdict, str]]:
    found: list[tuple[Verdict, str]] = []
    if any(node.custom and node.op == "edgetpu-custom-op" for graph in model.subgraphs for node in graph.nodes):
        found.append(("refused", "it is compiled already: the compiler takes the file without _edgetpu"))
    if not any(tensor.quantization.scales for tensor in model.subgraphs[0].tensors):
        found.append(("refused", "it is not quantized: the compiler takes models of 8-bit integers alone"))
    return found


def _esphome_whole(model: Model) -> list[tuple[Verdict, str]]:
    found: list[tuple[Verdict, str]] = []
    graph = model.subgraphs[0]
    given = [graph.tensors[i] for i in graph.inputs[:1]]
    made = [graph.tensors[i] for i in graph.outputs[:1]]
    if not given or given[0].type.name != "INT8" or len(given[0].shape) != 3 or given[0].shape[::2] != (1, _FEATURES):
        text = f"{given[0].type.name.lower()} {given[0].shape}" if given else "none"
        found.append(("refused", f"its input is {text}, must be int8 (1, N, {_FEATURES})"))
    if not made or made[0].type.name != "UINT8" or tuple(made[0].shape) != (1, 1):
        text = f"{made[0].type.name.lower()} {made[0].shape}" if made else "none"
        found.append(("refused", f"its output is {text}, must be uint8 (1, 1)"))
    variables = {
        node.options.get("shared_name") for g in model.subgraphs for node in g.nodes if node.op == "VAR_HANDLE"
    }
    if len(variables) > _MOST_VARIABLES:
        found.append(("refused", f"it has {len(variables)} variables, there is room for {_MOST_VARIABLES}"))
    return found


_WHOLE: Mapping[str, Callable[[Model], list[tuple[Verdict, str]]]] = {
    "tflm": _tflm_whole,
    "esphome": _esphome_whole,
    "edgetpu": _edge_whole,
    "litert-gpu": _plain,
    "xnnpack": _plain,
}


def verdict_of(found: Sequence[Finding], machine: str) -> str:
    """Returns the answer in one sentence."""
    nodes = [each for each in found if each.node >= 0]
    counts = {
        kind: sum(each.verdict == kind for each in nodes) for kind in ("taken", "elsewhere", "refused", "unknown")
    }
    name = MACHINES[machine]
    if any(each.verdict == "refused" for each in found):
        return f"{name} refuses it"
    if counts["elsewhere"]:
        left = f", and {counts['unknown']} more perhaps" if counts["unknown"] else ""
        return f"{name} takes {counts['taken']} of {len(nodes)} nodes{left}: the others run on the processor"
    if counts["unknown"] or any(each.verdict == "unknown" for each in found):
        return f"not known whether {name} takes it: {counts['taken']} of {len(nodes)} nodes are known to be taken"
    return f"{name} takes it, as far as its list tells: all {len(nodes)} nodes"


def facts_of(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """Returns the findings that are not plainly taken, as plain values."""
    return [
        {"subgraph": each.subgraph, "node": each.node, "op": each.op, "verdict": each.verdict, "reason": each.reason}
        for each in found
        if each.verdict != "taken"
    ]
