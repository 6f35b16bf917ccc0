"""QUANTIZE and DEQUANTIZE: convert between real numbers and integers, and between integers of different scales;
DENSIFY: makes sparse constants dense, often before a DEQUANTIZE."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import rescale, scale_ratio
from minilite.ops_shared.float_values import float_values, quantized_values
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.sparse import dense_values
from minilite.ops_shared.tensors import input_of


@reference(
    "QUANTIZE",
    rounding={
        "f32": "`half away(x / scale) + zp` in float32, saturating; also per channel",
        "s8 u8 s16 s32": (
            "`x - zp_x`, double rounding by `scale_x / scale_y` (float64), `+ zp_y`, saturating; 8 bits to 8 "
            "bits: a table"
        ),
    },
)
def quantize(node: OpNode, x: Array) -> Array:
    """y = round(x / scale) + zero_point, ties away from zero, saturating, NaN to the lowest; integers: double
    rounding."""
    output = node.outputs[0]
    if x.dtype != np.float32:
        return rescale(node, x, scale_ratio(node, precision=np.float64))
    return quantized_values(output, x)


@reference(
    "DEQUANTIZE",
    rounding={
        "s8 u8 s16 s4 s2 u4": "`scale * (x - zp)`, one rounding; also per channel",
        "f16": "exact. Of constants: done once, when the model is lowered",
    },
)
def dequantize(node: OpNode, x: Array) -> Array:
    """y = scale * (x - zero_point) in float32."""
    if x.dtype == np.float16:
        return x.astype(np.float32)
    return float_values(input_of(node), x)


@reference("DENSIFY")
def densify(node: OpNode, _: Array) -> Array:
    """Stored values at their positions, zeros elsewhere."""
    return dense_values(node, input_of(node))
