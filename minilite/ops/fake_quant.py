"""FAKE_QUANT: to the nearest of 2^bits equally spaced numbers, of which 0 is one."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import round_half_away
from minilite.ops_shared.operator import Operator, OpNode


def _check(node: OpNode) -> None:
    low, high, bits = (node.options[name] for name in ("min", "max", "num_bits"))
    if node.options["narrow_range"]:
        raise node.refuse("narrow_range is not supported")
    if not low <= 0.0 <= high or not low < high:
        raise node.refuse(f"the range {low} to {high} must contain 0 and more")
    if not 1 <= bits <= 16:
        raise node.refuse(f"num_bits is {bits}, expected 1 to 16")


def reference_fake_quant(node: OpNode, x: Array) -> Array:
    """In float32, step by step as TFLite; NaN becomes the low end."""
    one = np.float32
    minimum, most = one(node.options["min"]), one((1 << node.options["num_bits"]) - 1)
    step = (one(node.options["max"]) - minimum) / most
    zero = round_half_away(np.asarray(np.clip(-minimum / step, one(0), most)))
    low, high = -zero * step, (most - zero) * step
    inside = np.minimum(high, np.fmax(low, x))
    return np.asarray(round_half_away((inside - low) * (one(1) / step)) * step + low)


OPERATORS = (
    Operator(
        "FAKE_QUANT",
        range(1, 3),
        takes="x -> y",
        types=("f32 -> f32",),
        params={"minimum": "min", "maximum": "max", "bits": "num_bits"},
        reference=reference_fake_quant,
        in_place=(0,),
        check=_check,
        rule={"": "`round((clamp(x) - low) / step) * step + low`, each step in float32, ties away from zero; NaN: low"},
    ),
)
