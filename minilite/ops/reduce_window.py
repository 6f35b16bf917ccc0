"""REDUCE_WINDOW, STABLEHLO_REDUCE_WINDOW: reduce the elements in each window to one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_FUNCTIONS: dict[str, Callable[[Array, Array], Any]] = {
    "ADD": np.add,
    "MUL": np.multiply,
    "MINIMUM": lambda a, b: np.where(a <= b, a, b),
    "MAXIMUM": lambda a, b: np.where(a >= b, a, b),
    "ALL": np.logical_and,
    "ANY": np.logical_or,
}
_BY_OPERATOR = {
    "ADD": "ADD", "STABLEHLO_ADD": "ADD", "MUL": "MUL", "STABLEHLO_MULTIPLY": "MUL", "MAXIMUM": "MAXIMUM",
    "STABLEHLO_MAXIMUM": "MAXIMUM", "MINIMUM": "MINIMUM", "STABLEHLO_MINIMUM": "MINIMUM", "LOGICAL_AND": "ALL",
    "STABLEHLO_AND": "ALL", "LOGICAL_OR": "ANY",
}  # fmt: skip
"""The function for the only operator of a subgraph."""


def _function(node: OpNode) -> str:
    """The name of the node's function. Raises: UnsupportedOpError."""
    if node.op == "REDUCE_WINDOW":
        name: str = node.options["reduce_function"]
        if name not in _FUNCTIONS:
            raise node.refuse(f"reduce function {name} is not supported, {', '.join(_FUNCTIONS)} are")
        return name
    number = node.options["body_subgraph_index"]
    if not 0 <= number < len(node.subgraphs):
        raise node.refuse(f"subgraph {number} is to join elements, there are {len(node.subgraphs)}")
    ops = [inner.op for inner in node.subgraphs[number].nodes]
    if len(ops) != 1 or ops[0] not in _BY_OPERATOR:
        raise node.refuse(f"elements are joined by {', '.join(ops) or 'nothing'}, only {', '.join(_BY_OPERATOR)} can")
    return _BY_OPERATOR[ops[0]]


def _reduced(
    node: OpNode, x: Array, start: Array, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Array:
    """Windows over x, tap by tap in their order."""
    extents = [(taps - 1) * step + 1 for taps, step in zip(window, dilations, strict=True)]
    outs = [
        0 if size < extent else (size - extent) // stride + 1
        for size, extent, stride in zip(x.shape, extents, strides, strict=True)
    ]
    y = np.full(outs, start, x.dtype)
    function = _FUNCTIONS[_function(node)]
    for taps in itertools.product(*map(range, window)):
        seen = [
            slice(tap * step, tap * step + (out - 1) * stride + 1 if out else 0, stride)
            for tap, step, out, stride in zip(taps, dilations, outs, strides, strict=True)
        ]
        y = np.asarray(function(y, x[tuple(seen)])).astype(x.dtype)
    return y


@reference(
    "REDUCE_WINDOW",
    rounding={
        "f32 f64": "one after the other, from the value to begin with; extrema are the second where one is NaN",
        "b8 s8 u8 s16 s32 s64": "wraps",
    },
)
def window(node: OpNode, x: Array, start: Array, window: Array, strides: Array, dilations: Array) -> Array:
    """Only whole windows."""
    return _reduced(node, x, start.ravel()[0], window.tolist(), strides.tolist(), dilations.tolist())


@reference(
    "STABLEHLO_REDUCE_WINDOW",
    rounding={
        "f32 f64": "one after the other, from the value to begin with; extrema are the second where one is NaN",
        "b8 s8 u8 s16 s32 s64": "wraps",
    },
)
def stablehlo(node: OpNode, x: Array, start: Array) -> Array:
    """Elements are spread out and padded with the initial value, which therefore counts more than once."""
    options, value = node.options, start.ravel()[0]
    apart, padding = tuple(options["base_dilations"]), np.array(tuple(options["padding"])).reshape(-1, 2)
    spread = np.full(
        [(size - 1) * by + 1 if size else 0 for size, by in zip(x.shape, apart, strict=True)], value, x.dtype
    )
    spread[tuple(slice(None, None, by) for by in apart)] = x
    padded = np.pad(spread, [(max(a, 0), max(b, 0)) for a, b in padding], constant_values=value)
    cut = tuple(
        slice(max(-a, 0), max(size - max(-b, 0), 0)) for (a, b), size in zip(padding, padded.shape, strict=True)
    )
    sizes = (tuple(options[name]) for name in ("window_dimensions", "window_strides", "window_dilations"))
    return _reduced(node, padded[cut], value, *sizes)
