"""PRELU: x if x >= 0, else alpha * x; alpha broadcasts to x."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


@reference(
    "PRELU",
    rounding={
        "f32": "one rounding; NaN is multiplied",
        "s8 u8 s16": (
            "`x - zp_x`, double rounding by `scale_x / scale_y` (float32); below 0 `(x - zp_x) * (alpha - "
            "zp_alpha)` by `scale_x * scale_alpha / scale_y`"
        ),
    },
)
def prelu(node: OpNode, x: Array, alpha: Array) -> Array:
    """y = x where x >= 0, else x * alpha. Quantized: a multiplier for each case."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.asarray(np.where(x >= 0, x, x * alpha))
    tensors = (input_of(node, 0), input_of(node, 1), node.outputs[0])
    x_scale, alpha_scale, y_scale = (np.float32(tensor.quantization.scale) for tensor in tensors)
    x_zero, alpha_zero, y_zero = (tensor.quantization.zero_point for tensor in tensors)
    centered = x.astype(np.int32) - x_zero
    product = centered * (alpha.astype(np.int32) - alpha_zero)
    above = multiply_by_quantized_multiplier(centered, *quantize_multiplier(float(x_scale / y_scale)))
    below = multiply_by_quantized_multiplier(product, *quantize_multiplier(float(x_scale * alpha_scale / y_scale)))
    kind = numpy_type(tensors[2].type)
    info = np.iinfo(kind)
    y = np.where(centered >= 0, above, below).astype(np.int64) + y_zero
    return np.asarray(np.clip(y, info.min, info.max).astype(kind))
