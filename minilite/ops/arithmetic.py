"""ADD, MUL: elementwise with numpy's broadcasting and a fused activation."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops.fixed_point import ACTIVATION_LIMITS
from minilite.ops.operator import Kernel, Operator, OpNode

_UFUNCS = {"ADD": np.add, "MUL": np.multiply}
_PLAIN = {TensorType.FLOAT32: "f32", TensorType.INT32: "s32", TensorType.INT64: "s64"}


def lower_binary(node: OpNode) -> Kernel:
    """float32, int32, int64."""
    source = _operands(node)
    suffix = _PLAIN.get(source.type)
    if suffix is None:
        raise node.refuse(f"type {source.type.name} is not supported")
    low, high = _limits(node, source.type)
    name = node.op.lower()
    if suffix != "f32":
        return Kernel(f"{name}_{suffix}", minimum=low, maximum=high)
    clamp = "" if np.isinf(low) and np.isinf(high) else "clamp_"
    return Kernel(f"{name}_{clamp}f32", minimum=low, maximum=high)


def reference_binary(node: OpNode, a: Array, b: Array) -> Array:
    """y = clamp(a op b); integers wrap, NaN passes the clamp."""
    low, high = _limits(node, node.outputs[0].type)
    with np.errstate(all="ignore"):
        return np.asarray(np.clip(_UFUNCS[node.op](a, b), a.dtype.type(low), a.dtype.type(high)))


def _operands(node: OpNode) -> Tensor:
    """The first input, once both and the output are known to be of one type and the activation to be a clamp."""
    a, b = node.input(0), node.input(1)
    if a is None or b is None:
        raise node.refuse("takes two inputs")
    kinds = (a.type, b.type, node.outputs[0].type)
    if len(set(kinds)) != 1:
        raise node.refuse(f"types {', '.join(kind.name for kind in kinds)} of inputs and output differ")
    activation = _activation(node)
    if activation not in ACTIVATION_LIMITS:
        raise node.refuse(f"fused activation {activation} is not supported")
    return a


def _activation(node: OpNode) -> str:
    return str(node.options.get("fused_activation_function", "NONE"))


def _limits(node: OpNode, kind: TensorType) -> tuple[Any, Any]:
    """What the activation clamps to, as numbers of that type."""
    low, high = ACTIVATION_LIMITS[_activation(node)]
    if kind == TensorType.FLOAT32:
        return low, high
    info = np.iinfo(numpy_type(kind))
    return int(max(low, info.min)), info.max if high > info.max else int(high)


_binary = functools.partial(
    Operator, lower=lower_binary, reference=reference_binary, in_place=(0, 1), tflite_shares=True
)
OPERATORS = (_binary("ADD", range(1, 7)), _binary("MUL", range(1, 9)))
