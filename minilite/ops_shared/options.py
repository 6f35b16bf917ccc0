"""Options that become kernel parameters by translation: small functions of the node for a row's `params`."""

from __future__ import annotations

from minilite.ops_shared.fixed_point import ACTIVATION_LIMITS
from minilite.ops_shared.operator import OpNode

_ACTIVATIONS = tuple(ACTIVATION_LIMITS)


def activation_name(node: OpNode) -> str:
    """The node's fused activation, which must be a clamp. Raises: UnsupportedOpError."""
    name = node.options["fused_activation_function"]
    if name not in ACTIVATION_LIMITS:
        raise node.refuse(f"fused activation {name} is not supported, only {', '.join(ACTIVATION_LIMITS)} are")
    return str(name)


def activation(node: OpNode) -> int:
    """The same as an ml_activation of csrc/rules/quantized.h. Raises: UnsupportedOpError."""
    return _ACTIVATIONS.index(activation_name(node))


def same_padding(node: OpNode) -> int:
    """1 for SAME, 0 for VALID. Raises: UnsupportedOpError."""
    padding = node.options["padding"]
    if padding not in ("SAME", "VALID"):
        raise node.refuse(f"padding must be SAME or VALID, it is {padding}")
    return int(padding == "SAME")
