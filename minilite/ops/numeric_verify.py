"""NumericVerify: the difference between quantized numbers and their float originals, in models made to measure it."""

from __future__ import annotations

import math

import numpy as np

from minilite.errors import KernelError
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import dequantize
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


def _tolerance(node: OpNode) -> float:
    """The tolerance in steps; infinity if differences never end the run."""
    steps = float(node.options.get("tolerance", 0))
    return steps if node.options.get("log_if_failed", False) and steps >= 0.1 else math.inf


@reference(
    "NumericVerify",
    rounding={
        "": "`scale * (x - zp)`, one difference",
    },
    options=scalars,
)
def verify(node: OpNode, x: Array, expected: Array) -> Array:
    """The differences; one above the tolerance ends the run."""
    real = x.astype(np.float32) if x.dtype == np.float16 else dequantize(x, input_of(node))
    y = np.asarray(real - expected)
    most = np.float32(_tolerance(node)) * np.float32(input_of(node).quantization.scale)
    wrong = (np.abs(y) > most).ravel()
    if wrong.any() and x.dtype != np.float16:
        at = int(wrong.argmax())
        message = f"element {at} is {y.flat[at]:g} from {expected.flat[at]:g}, expected {most:g} at most"
        raise KernelError(message)
    return y
