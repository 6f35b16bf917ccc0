"""PAD, PADV2: a value around the input. MIRROR_PAD: its reflection."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES, check_same_scale
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def _quantized(node: OpNode) -> bool:
    """Whether the integers stand for reals: uint8 always does."""
    x = node.inputs[0]
    return x is not None and (x.type == T.UINT8 or (x.type in (T.INT8, T.INT16) and bool(x.quantization.scales)))


def check_pad(node: OpNode) -> None:
    """The value has the quantization of the output; without one, quantized tensors are padded with its zero point."""
    y, value = node.outputs[0], node.input(2)
    if not _quantized(node):
        return
    info, zero = np.iinfo(numpy_type(y.type)), y.quantization.zero_point
    if value is not None:
        check_same_scale(node, value, "the padding value")
    elif not info.min <= zero <= info.max:
        raise node.refuse(f"zero point {zero} is no {y.type.suffix}")


def reference_pad(node: OpNode, x: Array, paddings: Array, value: Array | None = None) -> Array:
    """numpy's pad."""
    zero = node.outputs[0].quantization.zero_point if _quantized(node) else 0
    return np.pad(x, paddings, constant_values=zero if value is None else value.reshape(())) if x.ndim else x


def check_mirror_pad(node: OpNode) -> None:
    """The two ways to reflect that there are; scale and zero point stay as they are."""
    if node.inputs[0] is not None:
        check_same_scale(node, node.inputs[0], "the input")
    if node.options["mode"] not in ("REFLECT", "SYMMETRIC"):
        raise node.refuse(f"mode {node.options['mode']} is not supported")


def reference_mirror_pad(node: OpNode, x: Array, paddings: Array) -> Array:
    """numpy's pad; one reflection at most."""
    most = np.maximum(np.array(x.shape) - (node.options["mode"] == "REFLECT"), 0)
    if (paddings < 0).any() or (paddings > most[:, None]).any():
        message = f"paddings {paddings.tolist()} of the shape {x.shape}"
        raise ValueError(message)
    if x.size == 0:  # which numpy does not reflect
        return np.zeros(np.array(x.shape) + paddings.sum(axis=1), x.dtype)
    return np.pad(x, paddings, mode=node.options["mode"].lower())


_PADS = tuple(
    Operator(
        name,
        range(1, 7),
        takes="x paddings value? -> y",
        types=each("T s8|s16|s32|s64 T? -> T", "f32 f16 bf16 s8 u8 b8 s16 s32 s64"),
        check=check_pad,
        reference=reference_pad,
    )
    for name in ("PAD", "PADV2")
)
OPERATORS = (
    *_PADS,
    Operator(
        "MIRROR_PAD",
        range(1, 4),
        takes="x paddings -> y",
        types=each("T s32|s64 -> T", WHOLE_BYTES),
        params={"reflect": lambda node: int(node.options["mode"] == "REFLECT")},
        check=check_mirror_pad,
        reference=reference_mirror_pad,
    ),
)
