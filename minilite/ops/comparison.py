"""LESS: elementwise comparison with numpy's broadcasting, to bool."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.checks import tensor_scale
from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_UFUNCS = {"LESS": np.less}
_PLAIN = {
    TensorType.FLOAT32: "f32",
    TensorType.INT16: "s16",
    TensorType.INT32: "s32",
    TensorType.INT64: "s64",
}
_BYTES = (TensorType.INT8, TensorType.UINT8)


def lower_comparison(node: OpNode) -> Kernel:
    """float32, int16, int32, int64; int8 and uint8 as quantized numbers."""
    a, b = _operands(node)
    name = node.op.lower()
    if a.type in _BYTES:
        by_byte = np.arange(256, dtype=np.uint8).view(numpy_type(a.type))
        return Kernel(f"{name}_q8", a_table=_rescale(node, a, by_byte), b_table=_rescale(node, b, by_byte))
    if a.type not in _PLAIN:
        raise node.refuse(f"type {a.type.name} is not supported")
    return Kernel(f"{name}_{_PLAIN[a.type]}")


def reference_comparison(node: OpNode, a: Array, b: Array) -> Array:
    """y = a < b; quantized numbers are compared after TFLite's rescaling."""
    x, y = _operands(node)
    if x.type in _BYTES:
        a, b = _rescale(node, x, a), _rescale(node, y, b)
    return np.asarray(_UFUNCS[node.op](a, b))


def _operands(node: OpNode) -> tuple[Tensor, Tensor]:
    a, b, output = node.input(0), node.input(1), node.outputs[0]
    if a is None or b is None:
        raise node.refuse("takes two inputs")
    if a.type != b.type:
        raise node.refuse(f"input types {a.type.name} and {b.type.name} differ")
    if output.type != TensorType.BOOL:
        raise node.refuse(f"output type {output.type.name} must be BOOL")
    return a, b


def _rescale(node: OpNode, tensor: Tensor, x: Array) -> Array:
    """(x - zero_point) << 8 times the scale, with double rounding: TFLite's ComparisonWithScaling."""
    mantissa, shift = quantize_multiplier(tensor_scale(node, tensor))
    shifted = (x.astype(np.int32) - tensor.quantization.zero_point) << 8
    return multiply_by_quantized_multiplier(shifted, mantissa, shift)


OPERATORS = (Operator("LESS", range(1, 4), lower=lower_comparison, reference=reference_comparison),)
