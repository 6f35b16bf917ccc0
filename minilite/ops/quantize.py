"""QUANTIZE and DEQUANTIZE: between real numbers and integers, and between integers of different scales; DENSIFY, whose
sparse constants stand before a DEQUANTIZE."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import PACKED, TensorType
from minilite.format.model import Array
from minilite.format.packed import unpack
from minilite.ops_shared.checks import check_channels, check_quantized, input_of
from minilite.ops_shared.fixed_point import rescale, scale_ratio
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.real_values import quantized_values, real_values
from minilite.ops_shared.sparse import dense_values


def _check_quantize(node: OpNode) -> None:
    """Scales by channel come from float alone."""
    if input_of(node).type == TensorType.FLOAT32:
        check_channels(node, node.outputs[0])
    else:
        check_quantized(node, input_of(node), node.outputs[0])


def reference_quantize(node: OpNode, x: Array) -> Array:
    """y = round(x / scale) + zero_point, ties away from zero, saturating, NaN to the lowest; integers: double
    rounding."""
    output = node.outputs[0]
    if x.dtype != np.float32:
        return rescale(node, x, scale_ratio(node, precision=np.float64))
    return quantized_values(output, x)


def _check_dequantize(node: OpNode) -> None:
    source = input_of(node)
    if source.type != TensorType.FLOAT16:
        check_channels(node, source)


def fold_dequantize(node: OpNode) -> tuple[Array, ...]:
    """Of a constant."""
    source = input_of(node)
    assert source.data is not None
    packed = source.type in PACKED
    return (reference_dequantize(node, unpack(source.data, source.type, source.shape) if packed else source.data),)


def reference_dequantize(node: OpNode, x: Array) -> Array:
    """y = scale * (x - zero_point) in float32."""
    if x.dtype == np.float16:
        return x.astype(np.float32)
    return real_values(input_of(node), x)


def fold_densify(node: OpNode) -> tuple[Array, ...]:
    """What the file alone decides. Raises: UnsupportedOpError."""
    return (dense_values(node, input_of(node)),)


def _check_densify(node: OpNode) -> None:
    if input_of(node).data is None:
        fold_densify(node)


def reference_densify(node: OpNode, _: Array) -> Array:
    """Stored values where their indices say, zeros elsewhere."""
    return dense_values(node, input_of(node))


OPERATORS = (
    Operator(
        "DENSIFY",
        range(1, 2),
        takes="x -> y",
        types=("f32 -> f32", "f16 -> f16", "s8 -> s8"),
        folds=fold_densify,
        check=_check_densify,
        reference=reference_densify,
    ),
    Operator(
        "QUANTIZE",
        range(1, 7),
        takes="x -> y",
        types=("f32 -> s8|u8|s16", "s8|u8 -> s8|u8|s16", "s16 -> s8|s16|s32", "s32 -> s8|s16"),
        reference=reference_quantize,
        in_place=(0,),
        check=_check_quantize,
        rule={
            "f32": "`half away(x / scale) + zp` in float32, saturating; also per channel",
            "s8 u8 s16 s32": "`x - zp_x`, double rounding by `scale_x / scale_y` (float64), `+ zp_y`, saturating; 8 bits to "
            "8 bits: a table",
        },
    ),
    Operator(
        "DEQUANTIZE",
        range(1, 10),
        takes="x -> y",
        types=("f16|s8|u8|s16|s4|s2|u4 -> f32",),
        folds=fold_dequantize,
        reference=reference_dequantize,
        in_place=(0,),
        check=_check_dequantize,
        rule={
            "s8 u8 s16 s4 s2 u4": "`scale * (x - zp)`, one rounding; also per channel",
            "f16": "exact. Of constants: done once, when the model is lowered",
        },
    ),
)
