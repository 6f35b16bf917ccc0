"""CAST: from one element type to another."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.model import Array
from minilite.ops_shared.bfloat16 import narrowed, widened
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


@reference(
    "CAST",
    rounding={
        "s8 u8 s16 u16 s32 u32 s64 b8 s4 s2 u4": "to integers wraps; to floats to nearest, ties to even, f16 and bf16 through f32",
        "f32 f16 bf16 f64": "to integers truncates towards zero, saturates, NaN gives the highest value; to bool `x != 0`",
        "c64": "as its real part",
    },
)
def cast(node: OpNode, x: Array) -> Array:
    """Integers wrap, floats truncate towards 0 and saturate (NaN gives the highest value), bool is x != 0; of complex
    numbers the real part is used; bfloat16 is the upper half of a float32."""
    source, target = input_of(node).type, node.outputs[0].type
    if source == target:
        return x.copy()
    if source == TensorType.BFLOAT16:
        x = widened(x)
    x = x.real if x.dtype.kind == "c" else x
    if target == TensorType.BFLOAT16:
        return narrowed(x.astype(np.float32))
    kind = np.dtype(numpy_type(target))
    if kind == np.bool_:
        return np.asarray(x != 0)
    if kind.kind in "fc":
        return (x.astype(np.float32) if kind == np.float16 else x).astype(kind)
    return x.astype(kind) if x.dtype.kind != "f" else _saturated(x, kind, element_bits(target))


def _saturated(x: Array, kind: np.dtype[np.integer], bits: int) -> Array:
    least = -(1 << bits - 1) if kind.kind == "i" else 0
    most = least + (1 << bits) - 1
    wide = np.trunc(x.astype(np.float64))
    inside = (wide >= least) & (wide < float(most) + 1)  # float(most) + 1 is exact, most may not be
    outside = np.where(wide < 0, least, most)
    return np.asarray(np.where(inside, np.where(inside, wide, 0).astype(kind), outside.astype(kind)))
