"""Errors for operators that minilite does not support: one per node, and one that lists them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from minilite._native.status import MAX_RANK
from minilite.errors import UnsupportedOperator, UnsupportedOpError, shortened
from minilite.format.model import Subgraph, Tensor

_OPERATORS, _NODES, _REASON = 16, 3, 120
"""The most that a message shows: operators, nodes of each, characters of a reason."""
_UNRESOLVED = "Encountered unresolved custom op: "
_SELECT = "Select TensorFlow op(s), included in the given model, is(are) not supported by this interpreter"
_HINT = "convert the model without tf.lite.OpsSet.SELECT_TF_OPS, or give functions in custom_ops"
_VENDORS: tuple[tuple[str, str], ...] = (
    ("edgetpu-custom-op", "the file was compiled for a Coral Edge TPU: take the one without _edgetpu in its name"),
    ("ethos-u", "the file was compiled by Vela for an Arm Ethos-U: take the one that Vela was given"),
    ("DISPATCH_OP", "the file was compiled for an NPU by LiteRT: take the one before that"),
    ("MTKEXT_", "the file was converted for MediaTek's NeuroPilot: convert the model by TensorFlow's converter"),
    ("XC_", "the file was converted for an xcore chip by xmos-ai-tools: take the one before that"),
    ("LceBconv2d", "it is Larq's binary convolution, which only Larq Compute Engine runs"),
    ("LceQuantize", "it is Larq's, which only Larq Compute Engine runs"),
    ("LceDequantize", "it is Larq's, which only Larq Compute Engine runs"),
    ("PosenetDecoderOp", "it is Coral's decoder: take the model without it, or decode its outputs in custom_ops"),
    ("mediapipe", "it is MediaPipe's own operator, which its runtime has: give a function in custom_ops"),
)
"""Operators that a vendor's tools put into files, by how their names begin, and what to do."""


def unresolved(op: str, custom_ops: Iterable[str]) -> str:
    """Explains why a custom operator without a function cannot be run, and what to do."""
    if op.startswith("Flex"):
        return f"{_SELECT}: {_HINT}"
    for beginning, advice in _VENDORS:
        if op.lower().startswith(beginning.lower()):
            return f"{_UNRESOLVED}{shortened(op)}: {advice}"
    names = sorted(custom_ops)
    known = ", ".join(shortened(name) for name in names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{_UNRESOLVED}{shortened(op)}, " + (f"custom_ops has {known}" if known else "custom_ops is empty")


def too_many_dimensions(subgraph: Subgraph, tensor: Tensor) -> UnsupportedOpError:
    """The error for a tensor with more dimensions than are supported."""
    reason = f"{len(tensor.shape)} dimensions, at most {MAX_RANK} are supported"
    message = f"subgraph {subgraph.index}, tensor {tensor.index} ('{shortened(tensor.name)}'): {reason}"
    return UnsupportedOpError(
        message,
        subgraph=subgraph.index,
        tensors=[tensor.name],
        operators=[UnsupportedOperator("", message, ())],
    )


def gathered(refusals: Sequence[UnsupportedOpError]) -> UnsupportedOpError:
    """One error for all refusals: a line for each operator and reason, in the order of their first nodes.

    It has the coordinates of the first refusal. A single refusal is returned as it is, preceded by LiteRT's words.
    """
    if len(refusals) == 1:
        return _in_litert_words(refusals[0])
    nodes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for refusal in refusals:
        for found in refusal.operators:
            nodes.setdefault((found.op, found.reason), []).extend(found.nodes)
    operators = [UnsupportedOperator(op, reason, tuple(places)) for (op, reason), places in nodes.items()]
    lines = [_head(operators), *map(_line, operators[:_OPERATORS])]
    if len(operators) > _OPERATORS:
        lines.append(f"and {len(operators) - _OPERATORS} more, in the error's `operators`")
    if any(found.reason.startswith(_SELECT) for found in operators):
        lines.append(f"Select TensorFlow op(s): {_HINT}")
    first = refusals[0]
    return UnsupportedOpError(
        "\n".join(lines),
        subgraph=first.subgraph,
        node=first.node,
        op=first.op,
        tensors=first.tensors,
        shapes=first.shapes,
        operators=operators,
    )


def _in_litert_words(refusal: UnsupportedOpError) -> UnsupportedOpError:
    """Puts LiteRT's words first, because programs match the start of its messages; the coordinates follow."""
    reason = refusal.operators[0].reason
    if reason.startswith((_UNRESOLVED, _SELECT)):
        refusal.args = (f"{reason}: {str(refusal).removesuffix(f': {reason}')}",)
    return refusal


def _head(operators: Sequence[UnsupportedOperator]) -> str:
    kinds = len({found.op for found in operators if found.op})
    count = sum(len(found.nodes) for found in operators)
    tensors = sum(not found.op for found in operators)
    parts = [f"{count} node{'s' if count != 1 else ''} of {kinds} operator{'s' if kinds != 1 else ''}"] if count else []
    parts += [f"{tensors} tensor{'s' if tensors != 1 else ''}"] if tensors else []
    return f"{' and '.join(parts)} {'is' if count + tensors == 1 else 'are'} not supported:"


def _line(found: UnsupportedOperator) -> str:
    if not found.op:
        return f"  {shortened(found.reason, _REASON)}"
    shown = [
        f"subgraph {subgraph}, node{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        for subgraph, places in groupby(found.nodes[:_NODES], lambda place: place[0])
        for numbers in [[node for _, node in places]]
    ]
    reason = shortened(found.reason.removesuffix(f": {_HINT}"), _REASON)
    more = ", ..." if len(found.nodes) > _NODES else ""
    return f"  {shortened(found.op)} x{len(found.nodes)} ({'; '.join(shown)}{more}): {reason}"
