"""odml.update_kv_cache: writes keys and values of some tokens to their positions in a cache."""

from __future__ import annotations

import numpy as np

from minilite.errors import KernelError
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("odml.update_kv_cache", rounding={"": "exact"}, options=scalars)
def update_kv_cache(_: OpNode, keys: Array, values: Array, positions: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """Copies of the caches (batches, places, ...), with the tokens (batches, tokens, ...) at their positions."""
    wrong = np.flatnonzero((positions < 0) | (positions >= keys.shape[1]))
    if wrong.size:
        message = f"position {positions[wrong[0]]} of token {wrong[0]} is outside 0 to {keys.shape[1] - 1}"
        raise KernelError(message)
    new_keys, new_values = keys.copy(), values.copy()
    for token, position in enumerate(positions):
        new_keys[:, position], new_values[:, position] = k[:, token], v[:, token]
    return new_keys, new_values
