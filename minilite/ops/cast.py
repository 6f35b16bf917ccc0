"""CAST: from one element type to another."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_SUFFIX = {
    TensorType.FLOAT32: "f32",
    TensorType.FLOAT16: "f16",
    TensorType.FLOAT64: "f64",
    TensorType.INT8: "s8",
    TensorType.UINT8: "u8",
    TensorType.INT16: "s16",
    TensorType.INT32: "s32",
    TensorType.INT64: "s64",
    TensorType.BOOL: "b8",
}


def lower_cast(node: OpNode) -> Kernel:
    """Between all pairs of float16, float32, float64, int8, uint8, int16, int32, int64, bool."""
    source, output = node.input(0), node.outputs[0]
    if source is None:
        raise node.refuse("takes one input")
    if source.type not in _SUFFIX or output.type not in _SUFFIX:
        raise node.refuse(f"cast from {source.type.name} to {output.type.name} is not supported")
    read_as = TensorType.UINT8 if source.type == TensorType.BOOL else source.type
    return Kernel(f"cast_{_SUFFIX[read_as]}_{_SUFFIX[output.type]}")


def reference_cast(node: OpNode, x: Array) -> Array:
    """Integers wrap, floats truncate towards 0 and saturate (NaN gives the highest value), to bool is x != 0."""
    kind = np.dtype(numpy_type(node.outputs[0].type))
    if kind == np.bool_:
        return np.asarray(x != 0)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return (x.astype(np.float32) if kind == np.float16 else x).astype(kind)
    if x.dtype.kind != "f":
        return x.astype(kind)
    info = np.iinfo(kind)
    wide = np.trunc(x.astype(np.float64))
    inside = (wide >= info.min) & (wide < float(info.max) + 1)  # float(info.max) + 1 is exact, info.max may not be
    outside = np.where(wide < 0, info.min, info.max)
    return np.asarray(np.where(inside, np.where(inside, wide, 0).astype(kind), outside.astype(kind)))


OPERATORS = (Operator("CAST", range(1, 10), lower=lower_cast, reference=reference_cast, in_place=(0,)),)
