"""BATCH_MATMUL: matrices times matrices, whose other dimensions broadcast; odml.runtime_bmm."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import (
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_s64,
    quantize_multipliers,
)
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of
from minilite.ops_shared.weighted import quantize_rows


@reference(
    "BATCH_MATMUL",
    rounding={
        "f32": "dot products within 8 eps of the sum of |x y|; with integer y each row quantized by itself",
        "s8": (
            "int32 sums, double rounding by float32(scale_x * scale_y) / scale_z; to s32 the sums, zero points "
            "left in, as TFLite"
        ),
        "s16": "int64 sums and a multiplier of 16 bits, from float32(scale_x * scale_y) / scale_z of the column",
    },
)
def batch_matmul(node: OpNode, x: Array, y: Array) -> Array:
    """x @ y; the options may transpose either. In hybrid products each row is quantized by itself."""
    if node.options["adj_x"]:
        x = np.swapaxes(x, -1, -2)
    if node.options["adj_y"]:
        y = np.swapaxes(y, -1, -2)
    if y.dtype == np.float32:
        return np.asarray((x.astype(np.float64) @ y.astype(np.float64)).astype(np.float32))
    before, weights, after = (t.quantization for t in (input_of(node), input_of(node, 1), node.outputs[0]))
    if x.dtype == np.float32:
        asymmetric = bool(node.options["asymmetric_quantize_inputs"])
        rows, scale, zero = quantize_rows(x.reshape(-1, x.shape[-1]), asymmetric=asymmetric)
        sums = ((rows - zero).reshape(x.shape) @ y.astype(np.float64)).astype(np.float32)
        return np.asarray(sums * (scale.reshape(*x.shape[:-1], 1) * np.array(weights.scales, np.float32)))
    if node.outputs[0].type == TensorType.INT32:
        return np.asarray((x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32))
    total = (x.astype(np.int64) - before.zero_point) @ (y.astype(np.int64) - weights.zero_points[0])
    products = np.float32(before.scale) * np.array(weights.scales, np.float32)  # one, or one per column
    multipliers = quantize_multipliers(products.astype(np.float64) / after.scale)
    scaled = (
        multiply_by_quantized_multiplier(total.astype(np.int32), *multipliers)
        if x.dtype == np.int8
        else multiply_by_quantized_multiplier_s64(total, *multipliers)
    )
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(scaled.astype(np.int64) + after.zero_point, info.min, info.max).astype(x.dtype))


@reference("odml.runtime_bmm", rounding={"": "dot products within 8 eps of the sum of |x y|"}, options=scalars)
def runtime_bmm(_: OpNode, x: Array, y: Array, lengths: Array) -> Array:  # noqa: ARG001  # whole matrices are multiplied
    """x @ y, with y transposed. The lengths in use only limit the work: readers mask everything beyond them."""
    return np.asarray((x.astype(np.float64) @ np.swapaxes(y, -1, -2).astype(np.float64)).astype(np.float32))
