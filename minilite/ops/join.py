"""CONCATENATION along a dimension, PACK along a new one."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.model import Array, Tensor
from minilite.format.quantization import Quantization
from minilite.ops_shared.moving import moved, required
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_PACKED = frozenset({T.INT32, T.FLOAT32, T.UINT8, T.UINT32, T.INT8, T.INT16, T.INT64})
_CONCATENATED = _PACKED | {T.FLOAT16, T.BFLOAT16, T.BOOL}


def _same_quantization(a: Tensor, b: Tensor) -> bool:
    return _scale_and_zero(a.quantization) == _scale_and_zero(b.quantization)


def _scale_and_zero(quantization: Quantization) -> tuple[np.float32, int]:
    return np.float32(quantization.scale), quantization.zero_point


def _inputs(node: OpNode, types: frozenset[T]) -> list[Tensor]:
    """All inputs, of one type among `types`, which is the output's too."""
    if not node.inputs or len(node.outputs) != 1:
        raise node.refuse(f"{len(node.inputs)} inputs and {len(node.outputs)} outputs, expected 1 or more and 1")
    kind = moved(node, types).type
    return [required(node, i, frozenset({kind})) for i in range(len(node.inputs))]


def _check_quantization(node: OpNode, tensors: list[Tensor]) -> None:
    for i, tensor in enumerate(tensors):
        if not _same_quantization(tensor, node.outputs[0]):
            one, other = (f"({t.quantization.scale}, {t.quantization.zero_point})" for t in (tensor, node.outputs[0]))
            raise node.refuse(f"scale and zero point {one} of input {i} do not match {other} of the output")


def lower_pack(node: OpNode) -> Kernel:
    """Moves bytes; all tensors share scale and zero point."""
    tensors = _inputs(node, _PACKED)
    if node.options["values_count"] != len(tensors):
        raise node.refuse(f"values_count is {node.options['values_count']}, the node has {len(tensors)} inputs")
    _check_quantization(node, tensors)
    return Kernel("pack", axis=node.options["axis"])


def reference_pack(node: OpNode, *inputs: Array) -> Array:
    """numpy's stack."""
    return np.stack(inputs, axis=node.options["axis"])


def lower_concatenation(node: OpNode) -> Kernel:
    """Moves bytes; uint8 inputs alone may have other scales than the output and are requantized."""
    tensors = _inputs(node, _CONCATENATED)
    y, axis = node.outputs[0], node.options["axis"]
    if node.options["fused_activation_function"] != "NONE":
        raise node.refuse(f"activation {node.options['fused_activation_function']} is not supported")
    if y.type == T.INT8:
        _check_quantization(node, tensors)
    for tensor in (*tensors, y):
        if y.type == T.INT16 and tensor.quantization.zero_point != 0:
            raise node.refuse(f"zero point {tensor.quantization.zero_point} of an int16 tensor, expected 0")
    if y.type == T.UINT8 and not all(_same_quantization(t, y) for t in tensors):
        return Kernel("concatenation_u8", axis=axis, tables=np.stack([_table(node, t) for t in tensors]))
    return Kernel("concatenation", axis=axis)


def _table(node: OpNode, x: Tensor) -> Array:
    """The output's byte for each byte of input x, in LiteRT's float32 arithmetic; halves are rounded away from zero."""
    bytes_ = np.arange(256, dtype=np.uint8)
    y = node.outputs[0]
    if _same_quantization(x, y):
        return bytes_
    (scale_in, zero_in), (scale_out, zero_out) = _scale_and_zero(x.quantization), _scale_and_zero(y.quantization)
    if not scale_out > 0 or not np.isfinite(scale_in):
        raise node.refuse(f"inputs of scale {scale_in} cannot be brought to scale {scale_out}")
    scale = scale_in * (np.float32(1) / scale_out)
    real = bytes_.astype(np.float32) * scale + np.float32(-zero_in) * scale
    rounded = np.trunc(real.astype(np.float64) + np.copysign(0.5, real)) + zero_out
    table: Array = np.clip(rounded, 0, 255).astype(np.uint8)
    return table


def reference_concatenation(node: OpNode, *inputs: Array) -> Array:
    """numpy's concatenate; scalars join to a vector."""
    if node.outputs[0].type == T.UINT8:
        inputs = tuple(_table(node, required(node, i))[x] for i, x in enumerate(inputs))
    return np.concatenate([np.atleast_1d(x) for x in inputs], axis=node.options["axis"])


OPERATORS = (
    Operator("CONCATENATION", range(1, 8), lower_concatenation, reference_concatenation),
    Operator("PACK", range(1, 6), lower_pack, reference_pack),
)
