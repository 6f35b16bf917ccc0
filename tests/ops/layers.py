"""Models of one layer for the tests of convolution, pooling and fully connected layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

Array = NDArray[Any]
FLOAT32, INT8, UINT8, INT16 = TensorType.FLOAT32, TensorType.INT8, TensorType.UINT8, TensorType.INT16


def values(rng: np.random.Generator, kind: TensorType, shape: Sequence[int]) -> Array:
    """Normal floats, or integers over the whole range of the type."""
    if kind == FLOAT32:
        return rng.normal(size=shape).astype(np.float32)
    info = np.iinfo(numpy_type(kind))
    return rng.integers(info.min, info.max + 1, shape).astype(info.dtype)


def quantization(
    rng: np.random.Generator, kind: TensorType, low: float, high: float, *, channels: int = 0, axis: int = 0
) -> Quantization:
    """None for floats; `channels` scales along `axis` with zero points of 0, or one scale and a random zero point."""
    if kind == FLOAT32:
        return NOT_QUANTIZED
    scales = tuple(float(s) for s in rng.uniform(low, high, max(channels, 1)).astype(np.float32))
    if channels or kind == INT16:
        return Quantization(scales, (0,) * len(scales), axis)
    return Quantization(scales, (int(values(rng, kind, ())),))


class Layer:
    """A model of one node: input, weights (constant, or a second input), bias (constant, absent or missing), output."""

    def __init__(
        self,
        op: str,
        kind: TensorType,
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
        bias_type: type[Any] = np.int32,
    ) -> None:
        rng = np.random.default_rng(seed)
        axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
        outputs = w_shape[axis]
        x_scale = quantization(rng, kind, 0.003, 0.05)
        w_kind = INT8 if kind == INT16 else kind
        w_scale = quantization(rng, w_kind, 0.003, 0.05, channels=outputs if per_channel else 0, axis=axis)
        if w_kind == INT8:
            w_scale = w_scale._replace(zero_points=(0,) * len(w_scale.scales))
        y_scale = quantization(rng, kind, *((3.0, 30.0) if kind == INT16 else (0.02, 0.2)))
        self.x = values(rng, kind, x_shape)
        self.weights = values(rng, w_kind, w_shape) if weights is None else weights
        builder = ModelBuilder()
        g = builder.subgraph()
        inputs = [g.input("x", file_shape or x_shape, kind, quantization=x_scale)]
        if constant_weights:
            inputs.append(g.constant("w", self.weights, quantization=w_scale))
        else:
            inputs.append(g.input("w", w_shape, w_kind, quantization=w_scale))
        length = outputs if bias_length is None else bias_length
        self.bias = (
            values(rng, FLOAT32, (length,)) if kind == FLOAT32 else rng.integers(-3000, 3000, length).astype(bias_type)
        )
        if bias == "constant":
            scales = tuple(float(np.float32(x_scale.scale * s)) for s in w_scale.scales)
            b_scale = Quantization(scales, (0,) * len(scales)) if scales else NOT_QUANTIZED
            inputs.append(g.constant("b", self.bias, quantization=b_scale))
        elif bias == "absent":
            inputs.append(-1)
        g.output(g.node(op, inputs, out=("y", (1,) * 4, kind, y_scale), options=options, version=version))
        self.model = builder.build()
        self.inputs = [self.x] if constant_weights else [self.x, self.weights]


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
