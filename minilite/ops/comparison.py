"""LESS: elementwise comparison with numpy's broadcasting, to bool."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.checks import check_quantized
from minilite.ops_shared.fixed_point import input_of, multiply_by_quantized_multiplier, quantize_multiplier
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each

_UFUNCS = {"LESS": np.less}
_BYTES = (TensorType.INT8, TensorType.UINT8)


def _check(node: OpNode) -> None:
    """16 bits are compared as they are."""
    check_quantized(node, *(x for x in node.inputs if x is not None and x.type in _BYTES))


def reference_comparison(node: OpNode, a: Array, b: Array) -> Array:
    """y = a < b; quantized numbers are compared after TFLite's rescaling."""
    if input_of(node).type in _BYTES:
        a, b = _rescaled(node, 0, a), _rescaled(node, 1, b)
    return np.asarray(_UFUNCS[node.op](a, b))


def _rescaled(node: OpNode, position: int, x: Array) -> Array:
    """(x - zero_point) << 8 times the scale, with double rounding: TFLite's ComparisonWithScaling."""
    q = input_of(node, position).quantization
    return multiply_by_quantized_multiplier((x.astype(np.int32) - q.zero_point) << 8, *quantize_multiplier(q.scale))


OPERATORS = (
    Operator(
        "LESS",
        range(1, 4),
        takes="a b -> y",
        types=each("T T -> b8", "f32 f16 s8 u8 s16 s32 s64"),
        reference=reference_comparison,
        check=_check,
        rule={
            "f32 f16 s16 s32 s64": "exact; NaN is less than nothing; s16 by its integers, whatever the scales",
            "s8 u8": "compares `(x - zp) << 8` after double rounding by the scale: a table each",
        },
    ),
)
