"""REVERSE_SEQUENCE: the first elements of each sequence in reversed order."""

from __future__ import annotations

import numpy as np

from minilite.errors import KernelError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("REVERSE_SEQUENCE")
def reverse_sequence(node: OpNode, x: Array, lengths: Array) -> Array:
    """At index k of the batch dimension, the first lengths[k] elements are reversed."""
    along, across = node.options["seq_dim"], node.options["batch_dim"]
    y = x.copy()
    source, target = (np.moveaxis(array, (across, along), (0, 1)) for array in (x, y))
    for k, length in enumerate(lengths.tolist()):
        if not 0 <= length <= x.shape[along]:
            message = f"length {k} is {length}, expected 0 to {x.shape[along]}"
            raise KernelError(message)
        target[k, :length] = source[k, :length][::-1]
    return y
