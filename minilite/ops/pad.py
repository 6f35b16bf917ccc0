"""PAD, PADV2: a value around the input."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.moving import arity, moved, required
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_TYPES = frozenset({T.FLOAT32, T.FLOAT16, T.BFLOAT16, T.UINT8, T.INT8, T.INT16, T.INT32, T.INT64, T.BOOL})
_PADDINGS = frozenset({T.INT32, T.INT64, T.INT8, T.INT16})


def _value(node: OpNode) -> int:
    """What PAD fills with: the output's zero point where there is one, else 0."""
    x = required(node, 0)
    quantized = x.type == T.UINT8 or (x.type in (T.INT8, T.INT16) and bool(x.quantization.scales))
    return node.outputs[0].quantization.zero_point if quantized else 0


def lower_pad(node: OpNode) -> Kernel:
    """Moves bytes; a third input holds the value, with the quantization of the output."""
    arity(node, 2, 3)
    x, y, value = moved(node, _TYPES), node.outputs[0], node.input(2)
    required(node, 1, _PADDINGS, "paddings")
    if value is None:
        zero = _value(node)
        if zero and not np.iinfo(numpy_type(x.type)).min <= zero <= np.iinfo(numpy_type(x.type)).max:
            raise node.refuse(f"zero point {zero} is no {x.type.name}")
        return Kernel("pad", value=zero, from_tensor=0)
    required(node, 2, frozenset({x.type}), "the padding value")
    own, out = value.quantization, y.quantization
    quantized = x.type == T.UINT8 or (x.type in (T.INT8, T.INT16) and bool(x.quantization.scales))
    if quantized and (own.scale, own.zero_point) != (out.scale, out.zero_point):
        raise node.refuse(
            f"scale and zero point ({own.scale}, {own.zero_point}) of the padding value "
            f"do not match ({out.scale}, {out.zero_point}) of the output"
        )
    return Kernel("pad", value=0, from_tensor=1)


def reference_pad(node: OpNode, x: Array, paddings: Array, value: Array | None = None) -> Array:
    """numpy's pad."""
    fill = _value(node) if value is None else value.reshape(())
    return np.pad(x, paddings, constant_values=fill) if x.ndim else x


OPERATORS = (
    Operator("PAD", range(1, 7), lower_pad, reference_pad),
    Operator("PADV2", range(1, 7), lower_pad, reference_pad),
)
