"""PAD, PADV2: a value around the input. MIRROR_PAD: its reflection."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


def _quantized(node: OpNode) -> bool:
    """True if the tensor is quantized; uint8 always is."""
    x = node.inputs[0]
    return x is not None and (x.type == T.UINT8 or (x.type in (T.INT8, T.INT16) and bool(x.quantization.scales)))


@reference("PAD", "PADV2")
def pad(node: OpNode, x: Array, paddings: Array, value: Array | None = None) -> Array:
    """numpy's pad."""
    zero = node.outputs[0].quantization.zero_point if _quantized(node) else 0
    return np.pad(x, paddings, constant_values=zero if value is None else value.reshape(())) if x.ndim else x


@reference("MIRROR_PAD")
def mirror_pad(node: OpNode, x: Array, paddings: Array) -> Array:
    """numpy's pad; one reflection at most."""
    most = np.maximum(np.array(x.shape) - (node.options["mode"] == "REFLECT"), 0)
    if (paddings < 0).any() or (paddings > most[:, None]).any():
        message = f"paddings {paddings.tolist()} of the shape {x.shape}"
        raise ValueError(message)
    if x.size == 0:  # numpy does not reflect empty arrays
        return np.zeros(np.array(x.shape) + paddings.sum(axis=1), x.dtype)
    return np.pad(x, paddings, mode=node.options["mode"].lower())
