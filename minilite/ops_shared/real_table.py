"""Functions of reals for quantized integers, by tables: TFLite's LUTPopulate. Kernels use csrc/rules/real_table.h."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.fixed_point import dequantize, quantize, round_half_away
from minilite.ops_shared.operator import OpNode
from minilite.ops_shared.tensors import input_of

Real = Callable[[Array], Array]


def by_real(node: OpNode, x: Array, function: Real) -> Array:
    """8 bits: dequantized, through the function, quantized; 16 bits: on 512 lines. The function takes float64; its
    result is rounded to float32, and everything else is float32."""
    if x.dtype == np.int16:
        return _by_lines(node, x, function)
    return quantize(_in_float(function, dequantize(x, input_of(node))), node.outputs[0])


def _in_float(function: Real, x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(function(x.astype(np.float64)).astype(np.float32))


def _by_lines(node: OpNode, x: Array, function: Real) -> Array:
    """Interpolates between 513 values; each is moved by half of the error in the middle of the line to the next one."""
    ends = np.array([-32768, 32767])
    (low, high), (least, most) = (
        (np.float32(t.quantization.scale) * (ends - t.quantization.zero_point).astype(np.float32))
        for t in (input_of(node), node.outputs[0])
    )
    width, steps = (high - low) / np.float32(512), np.float32(65536) / (most - least)
    at = low + np.arange(513, dtype=np.float32) * width
    with np.errstate(all="ignore"):
        values = _in_float(function, at) * steps
        here, after = round_half_away(values[:-1]), values[1:]
        middle = round_half_away(_in_float(function, at[:-1] + width / np.float32(2)) * steps)
        bias = round_half_away((round_half_away((after + here) / np.float32(2)) - middle) / np.float32(2))
        last = round_half_away(_in_float(function, np.array([high], np.float32)) * steps)
        table = np.append(np.where(np.isnan(bias), here, here - bias), last)
    table = np.clip(table, -32768, 32767).astype(np.int64)
    wide = x.astype(np.int64) + 32768
    base = table[wide >> 7]
    return np.asarray((base + (((table[(wide >> 7) + 1] - base) * (wide & 127) + 64) >> 7)).astype(np.int16))
