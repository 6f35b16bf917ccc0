"""Options that become kernel parameters by translation: small functions of the node for a row's `params`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, Param

ACTIVATION_LIMITS: dict[str, tuple[float, float]] = {
    "NONE": (-math.inf, math.inf),
    "RELU": (0.0, math.inf),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}
"""The fused activations that are clamps, and between which reals they clamp."""


def activation(node: OpNode) -> str:
    """The node's fused activation, which must be a clamp. Raises: UnsupportedOpError."""
    name = node.options["fused_activation_function"]
    if name not in ACTIVATION_LIMITS:
        raise node.refuse(f"fused activation {name} is not supported, only {', '.join(ACTIVATION_LIMITS)} are")
    return str(name)


def _minimum(node: OpNode) -> float:
    return ACTIVATION_LIMITS[activation(node)][0]


def _maximum(node: OpNode) -> float:
    return ACTIVATION_LIMITS[activation(node)][1]


CLAMP: Mapping[str, Param] = {"minimum": _minimum, "maximum": _maximum}
"""A row's params, by ML_CLAMP_FIELDS of csrc/rules/quantized.h: what the fused activation clamps to, as reals."""


def same_padding(node: OpNode) -> int:
    """1 for SAME, 0 for VALID. Raises: UnsupportedOpError."""
    padding = node.options["padding"]
    if padding not in ("SAME", "VALID"):
        raise node.refuse(f"padding must be SAME or VALID, it is {padding}")
    return int(padding == "SAME")


def none(node: OpNode) -> int:  # noqa: ARG001
    """0: what other operators of the kernel say, and this one does not."""
    return 0


def numbers(option: str) -> Param:
    """An option that is a list of numbers; empty where the operator has no such option."""
    return lambda node: np.array(tuple(node.options.get(option, ())), np.int64)


class Numbers:
    """An option that is a list of numbers, as int32; empty where it is `none`."""

    __slots__ = ("none", "option")

    def __init__(self, option: str, none: tuple[int, ...] = ()) -> None:
        self.option: str = option
        self.none: tuple[int, ...] = none

    def __call__(self, node: OpNode) -> Array:
        """Its values."""
        found = tuple(node.options[self.option] or ())
        return np.array(() if found == self.none else found, np.int32)


class Positive:
    """An option that counts something: at least 1, 1 where the operator has no such option."""

    __slots__ = ("option",)

    def __init__(self, option: str) -> None:
        self.option: str = option

    def __call__(self, node: OpNode) -> int:
        """Its value. Raises: UnsupportedOpError."""
        value = node.options.get(self.option, 1)
        if not 0 < value < 1 << 31:
            raise node.refuse(f"{self.option} must be positive, it is {value}")
        return int(value)


positive = Positive


WINDOW: Mapping[str, Param] = {
    "same": same_padding,
    "stride_h": Positive("stride_h"),
    "stride_w": Positive("stride_w"),
    "dilation_h": Positive("dilation_h_factor"),
    "dilation_w": Positive("dilation_w_factor"),
    **dict.fromkeys(("pad_top", "pad_bottom", "pad_left", "pad_right"), none),
}
"""A row's params, by ML_WINDOW_FIELDS of csrc/rules/window.h. What is padded around the input comes with fusion,
csrc/graph/fuse.c."""
