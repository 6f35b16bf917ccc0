"""FAKE_QUANT: rounds to the nearest of 2^bits equally spaced numbers that include 0."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import round_half_away
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "FAKE_QUANT",
    rounding={
        "": "`round((clamp(x) - low) / step) * step + low`, each step in float32, ties away from zero; NaN: low",
    },
)
def fake_quant(node: OpNode, x: Array) -> Array:
    """Computes in float32, step by step like TFLite; NaN becomes the lower end."""
    one = np.float32
    minimum, most = one(node.options["min"]), one((1 << node.options["num_bits"]) - 1)
    step = (one(node.options["max"]) - minimum) / most
    zero = round_half_away(np.asarray(np.clip(-minimum / step, one(0), most)))
    low, high = -zero * step, (most - zero) * step
    inside = np.minimum(high, np.fmax(low, x))
    return np.asarray(round_half_away((inside - low) * (one(1) / step)) * step + low)
