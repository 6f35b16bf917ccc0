"""BITCAST: the same bytes as elements of another type."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode

_TYPES = "f32|f16|bf16|f64|s8|u8|s16|u16|s32|u32|s64|u64|c64"


def reference_bitcast(node: OpNode, x: Array) -> Array:
    """Narrower elements gain a dimension behind the last, wider ones lose the last."""
    to = np.dtype(numpy_type(node.outputs[0].type))
    if x.itemsize > to.itemsize:
        return np.frombuffer(x.tobytes(), to).reshape(*x.shape, x.itemsize // to.itemsize)
    return np.frombuffer(x.tobytes(), to).reshape(x.shape if x.itemsize == to.itemsize else x.shape[:-1])


OPERATORS = (
    Operator(
        "BITCAST",
        range(1, 2),
        takes="x -> y",
        types=(f"{_TYPES} -> {_TYPES}", "b8 -> b8", "c128 -> c128"),
        reference=reference_bitcast,
        in_place=(0,),
        view=True,
        tflite_shares=True,
    ),
)
