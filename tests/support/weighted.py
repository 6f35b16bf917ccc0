"""Nodes that multiply their input with weights: convolutions, fully connected layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from support.node import Array, Given, OneNode, Out, dtype_of, values

import minilite
from minilite.format.quantization import NOT_QUANTIZED, Quantization

TYPES = {"f32": "f32 f32 f32", "s8": "s8 s8 s32", "u8": "u8 u8 s32", "s16": "s16 s8 s64"}
"""The types of input, weights and bias, by the type of the input alone."""


def drawn(rng: np.random.Generator, kind: str, shape: Sequence[int]) -> Array:
    """Normal floats, or integers over the whole range of the type."""
    return values(rng, kind, shape, 1.0)


def weight_quantization(rng: np.random.Generator, kind: str, channels: int, axis: int) -> Quantization:
    """Returns the quantization of weights: none for floats; else one scale, or `channels` of them, and zero points of 0
    except for u8."""
    if kind == "f32":
        return NOT_QUANTIZED
    scales = tuple(float(s) for s in rng.uniform(0.003, 0.05, max(channels, 1)).astype(np.float32))
    zero_points = (int(values(rng, "u8", ())),) if kind == "u8" and not channels else (0,) * len(scales)
    return Quantization(scales, zero_points, axis if channels else 0)


def tensor_quantization(rng: np.random.Generator, kind: str, low: float, high: float) -> Quantization:
    """One random scale and zero point; none for floats; a zero point of 0 for s16."""
    if kind == "f32":
        return NOT_QUANTIZED
    scale = float(np.float32(rng.uniform(low, high)))
    return Quantization((scale,), (0 if kind == "s16" else int(values(rng, kind, ())),))


class Layer(OneNode):
    """Input, weights (constant, or a second input), bias (constant, computed, absent or missing), all at random."""

    def __init__(
        self,
        op: str,
        types: str,
        x_shape: Sequence[int],
        w_shape: Sequence[int],
        options: Mapping[str, Any],
        *,
        seed: int = 0,
        per_channel: bool = False,
        bias: str = "constant",
        constant_weights: bool = True,
        version: int = 3,
        file_shape: Sequence[int] | None = None,
        weights: Array | None = None,
        bias_length: int | None = None,
        y_scale: tuple[float, float] | None = None,
        y_kind: str = "",
    ) -> None:
        rng = np.random.default_rng(seed)
        kind, w_kind, b_kind = TYPES.get(types, types).split()
        axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
        outputs = w_shape[axis]
        x_q = tensor_quantization(rng, kind, 0.003, 0.05)
        w_q = weight_quantization(rng, w_kind, outputs if per_channel else 0, axis)
        w_q = w_q._replace(zero_points=(0,) * len(w_q.scales)) if kind == "f32" else w_q  # u8 is another name for s8
        y_kind = y_kind or kind
        y_q = tensor_quantization(rng, y_kind, *(y_scale or ((3.0, 30.0) if kind == "s16" else (0.02, 0.2))))
        self.x = drawn(rng, kind, x_shape)
        self.weights = drawn(rng, w_kind, w_shape) if weights is None else weights
        if kind == "f32" and w_kind in ("s8", "u8"):  # LiteRT's vector code negates weights of -128, which stay -128
            self.weights = np.maximum(self.weights.view(np.int8), -127).view(dtype_of(w_kind))
        length = outputs if bias_length is None else bias_length
        dtype = dtype_of(b_kind)
        self.bias = (
            values(rng, "f32", (length,), 1.0) if dtype.kind == "f" else rng.integers(-3000, 3000, length).astype(dtype)
        )
        b_scales = tuple(float(np.float32(x_q.scale * s)) for s in w_q.scales) if dtype.kind == "i" else ()
        b_q = Quantization(b_scales, (0,) * len(b_scales)) if b_scales else NOT_QUANTIZED
        inputs: list[Given | None] = [
            Given(self.x, quantization=x_q, shape=file_shape),
            Given(self.weights, constant=constant_weights, quantization=w_q, kind=w_kind),
        ]
        if bias in ("constant", "computed"):
            inputs.append(Given(self.bias, constant=bias == "constant", quantization=b_q))
        elif bias == "absent":
            inputs.append(None)
        super().__init__(op, inputs, options, outs=[Out(y_kind, y_q, (1,) * len(x_shape))], version=version)


def window_options(padding: str, stride: Sequence[int] = (1, 1), dilation: Sequence[int] = (1, 1), **more: Any) -> Any:
    """Options of a convolution."""
    return {
        "padding": padding,
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        **more,
    }


def same_for_any_number_of_threads(node: OneNode) -> None:
    """The outputs of one, two and five threads are equal bit for bit."""
    results = []
    for threads in (1, 2, 5):
        interpreter = minilite.Interpreter(model_content=node.model, num_threads=threads)
        interpreter.allocate_tensors()
        for detail, array in zip(interpreter.get_input_details(), node.arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        for _ in range(3):
            interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
