"""CONCATENATION along a dimension, PACK along a new one."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.model import Array, Tensor
from minilite.ops_shared.moving import check_same_scale, scale_and_zero_point
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def _tensors(node: OpNode) -> list[Tensor]:
    return [tensor for tensor in node.inputs if tensor is not None]


def check_pack(node: OpNode) -> None:
    """All tensors share scale and zero point."""
    if node.options["values_count"] != len(node.inputs):
        raise node.refuse(f"values_count is {node.options['values_count']}, the node has {len(node.inputs)} inputs")
    for i, tensor in enumerate(_tensors(node)):
        check_same_scale(node, tensor, f"input {i}")


def reference_pack(node: OpNode, *inputs: Array) -> Array:
    """numpy's stack."""
    return np.stack(inputs, axis=node.options["axis"])


def check_concatenation(node: OpNode) -> None:
    """uint8 inputs alone may have other scales than the output; they are requantized."""
    y = node.outputs[0]
    if node.options["fused_activation_function"] != "NONE":
        raise node.refuse(f"activation {node.options['fused_activation_function']} is not supported")
    for i, tensor in enumerate(_tensors(node)):
        if y.type == T.INT8:
            check_same_scale(node, tensor, f"input {i}")
        if y.type == T.INT16 and (tensor.quantization.zero_point or y.quantization.zero_point):
            zero = tensor.quantization.zero_point or y.quantization.zero_point
            raise node.refuse(f"zero point {zero} of an int16 tensor, expected 0")
        if y.type == T.UINT8 and scale_and_zero_point(tensor) != scale_and_zero_point(y):
            scale_in, scale_out = tensor.quantization.scale, y.quantization.scale
            if max(len(t.quantization.scales) for t in (tensor, y)) > 1 or not (
                scale_out > 0 and np.isfinite(scale_in)
            ):
                raise node.refuse(f"inputs of scale {scale_in} cannot be brought to scale {scale_out}")


def _table(x: Tensor, y: Tensor) -> Array:
    """The output's byte for each byte of input x, in LiteRT's float32 arithmetic; halves are rounded away from zero."""
    bytes_ = np.arange(256, dtype=np.uint8)
    if scale_and_zero_point(x) == scale_and_zero_point(y):
        return bytes_
    (scale_in, zero_in), (scale_out, zero_out) = scale_and_zero_point(x), scale_and_zero_point(y)
    scale = scale_in * (np.float32(1) / scale_out)
    real = bytes_.astype(np.float32) * scale + np.float32(-zero_in) * scale
    rounded = np.trunc(real.astype(np.float64) + np.copysign(0.5, real)) + zero_out
    table: Array = np.clip(rounded, 0, 255).astype(np.uint8)
    return table


def reference_concatenation(node: OpNode, *inputs: Array) -> Array:
    """numpy's concatenate; scalars join to a vector."""
    if node.outputs[0].type == T.UINT8:
        inputs = tuple(_table(t, node.outputs[0])[x] for t, x in zip(_tensors(node), inputs, strict=True))
    return np.concatenate([np.atleast_1d(x) for x in inputs], axis=node.options["axis"])


OPERATORS = (
    Operator(
        "CONCATENATION",
        range(1, 8),
        takes="x... -> y",
        types=each("T... -> T", "f32 f16 bf16 s4 s8 u8 b8 s16 s32 u32 s64"),
        params={"axis": "axis"},
        check=check_concatenation,
        reference=reference_concatenation,
        rule={"u8": "inputs of other scales: round half away in float32, by a table of bytes"},
    ),
    Operator(
        "PACK",
        range(1, 6),
        takes="x... -> y",
        types=each("T... -> T", "f32 s8 u8 s16 s32 u32 s64"),
        params={"axis": "axis"},
        check=check_pack,
        reference=reference_pack,
    ),
)
