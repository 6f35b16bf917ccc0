"""SVDF: a fully connected layer factored into weights over features and weights over time; keeps `memory` past
activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.format.model import Array, Tensor
from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.weighted import as_s8, clamp, hybrid_product


@reference(
    "SVDF",
    rounding={
        "f32": "float32 sums; with integer weights each row of x quantized by itself",
        "s8": "int32 sums, double rounding to the state (int16, or int8 as TFLM has it) and to y",
    },
)
def svdf(
    node: OpNode, x: Array, features: Array, times: Array, bias: Array | None, state: Array
) -> tuple[Array, Array]:
    """The state, (batch, filters * memory), loses its oldest activations and gains x @ features.T; each filter's
    activations are weighted in time and summed, `rank` filters per unit. Returns y and the new state."""
    features, times = as_s8(features), as_s8(times)
    filters, memory = times.shape
    # TFLite moves the whole state by one; the last column is then overwritten.
    activations = np.roll(state.reshape(-1, filters, memory), -1, axis=2)
    integer = x.dtype == np.int8
    activations[:, :, -1] = (
        _integer_activations(node, x, features, state.dtype) if integer else _activations(node, x, features)
    )
    scale = 1.0 if times.dtype != np.int8 else np.float32(_tensor(node, 2).quantization.scale)
    weights = times.astype(np.int64) if integer else times.astype(np.float64) * scale
    zero = _tensor(node, 4).quantization.zero_point
    sums = (
        ((activations.astype(np.int64) - zero if integer else activations) * weights)
        .sum(axis=2)
        .reshape(len(x), -1, node.options["rank"])
        .sum(axis=2)
    )
    if bias is not None:
        sums = sums + bias
    if integer:
        output = node.outputs[0]
        scales = _tensor(node, 4).quantization.scale * _tensor(node, 2).quantization.scale
        mantissa, shift = quantize_multiplier(scales / output.quantization.scale)
        scaled = multiply_by_quantized_multiplier(sums.astype(np.int32), mantissa, shift)
        y = np.clip(scaled.astype(np.int64) + output.quantization.zero_point, -128, 127).astype(np.int8)
        return y, activations.reshape(state.shape)  # TFLite clamps only to int8, whatever the activation
    return clamp(node, sums), activations.reshape(state.shape)


def _tensor(node: OpNode, position: int) -> Tensor:
    tensor = node.inputs[position]
    assert tensor is not None
    return tensor


def _activations(node: OpNode, x: Array, features: Array) -> Array:
    if features.dtype == np.int8:
        return hybrid_product(node, x, features, None)
    product: Array = (x.astype(np.float64) @ features.T.astype(np.float64)).astype(np.float32)
    return product


def _integer_activations(node: OpNode, x: Array, features: Array, kind: Any) -> Array:
    quantization = _tensor(node, 0).quantization
    sums = (x.astype(np.int64) - quantization.zero_point) @ features.T.astype(np.int64)
    product = quantization.scale * _tensor(node, 1).quantization.scale
    mantissa, shift = quantize_multiplier(product / _tensor(node, 4).quantization.scale)
    scaled = multiply_by_quantized_multiplier(sums.astype(np.int32), mantissa, shift)
    info = np.iinfo(kind)
    clamped = np.clip(scaled, info.min, info.max).astype(np.int64)
    activations: Array = (clamped + _tensor(node, 4).quantization.zero_point).astype(kind)  # may wrap, as in TFLM
    return activations
