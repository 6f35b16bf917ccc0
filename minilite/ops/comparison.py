"""LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL: elementwise comparison with numpy's broadcasting, to
bool."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.bfloat16 import through_f32
from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from minilite.ops_shared.operator import Meaning, OpNode, reference
from minilite.ops_shared.tensors import input_of

_UFUNCS = {
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
}
_BYTES = (TensorType.INT8, TensorType.UINT8)
_EQUALITIES = ("EQUAL", "NOT_EQUAL")


def _scaled(node: OpNode) -> bool:
    """True if the node is quantized: 8 bits always; 16 bits for equality, if there are scales."""
    x = input_of(node)
    words = x.type == TensorType.INT16 and node.op in _EQUALITIES
    return x.type in _BYTES or (words and bool(x.quantization.scales))


@reference(
    "LESS",
    "LESS_EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    rounding={
        "f32 f16 bf16 s16 s32 s64": "exact; NaN is less than nothing; s16 by its integers, whatever the scales",
        "s8 u8": "compares `(x - zp) << 8` after double rounding by the scale: a table each",
    },
)
@through_f32
def comparison(node: OpNode, a: Array, b: Array) -> Array:
    """y = a < b etc.; quantized numbers are compared after TFLite's rescaling, strings by their bytes."""
    if _scaled(node):
        a, b = _rescaled(node, 0, a), _rescaled(node, 1, b)
    return np.asarray(_UFUNCS[node.op](a, b)).astype(np.bool_)


def _rescaled(node: OpNode, position: int, x: Array) -> Array:
    """(x - zero_point) << 8 times the scale, with double rounding: TFLite's ComparisonWithScaling."""
    q = input_of(node, position).quantization
    return multiply_by_quantized_multiplier((x.astype(np.int32) - q.zero_point) << 8, *quantize_multiplier(q.scale))


equal: Meaning = reference(
    "EQUAL",
    "NOT_EQUAL",
    rounding={
        "f32 f16 s32 s64 b8 string": "exact; NaN equals nothing",
        "s8 u8 s16": "compares `(x - zp) << 8` after double rounding by the scale; s16 without scales plain integers",
    },
)(comparison)
