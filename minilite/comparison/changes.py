"""Lists what differs between two models at the same node: operator, options, constants, types and quantization."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minilite.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minilite.format.model import Node, Subgraph, Tensor
    from minilite.format.quantization import Quantization


def of_nodes(first: Subgraph, a: Node, second: Subgraph, b: Node) -> Iterator[str]:
    """Yields changes of the operator, its options, and its constant inputs; none if these have other types, as in a
    quantized version of the network."""
    if first is second:
        return
    if a.op != b.op:
        yield f"{a.op} against {b.op}"
        return
    if a.custom_options != b.custom_options:
        yield "custom options differ"
    for name, value in a.options.items():
        other = b.options.get(name, value)
        if value != other:
            yield f"{name} {value} against {other}"
    for m, n in zip(a.inputs, b.inputs, strict=False):
        if m >= 0 and n >= 0:
            one, two = first.tensors[m], second.tensors[n]
            if one.data is not None and two.data is not None:
                yield from of_tensors(one, two)


def of_tensors(a: Tensor, b: Tensor) -> Iterator[str]:
    """Yields changes of the quantization and the values of one tensor; none if its type differs."""
    if a.type != b.type:
        return
    name = shortened(a.name, 32)
    if a.quantization != b.quantization:
        yield f"{_quantization(a.quantization, b.quantization)} of '{name}'"
    if a.data is None or b.data is None or a.data is b.data:
        return
    if a.data.shape != b.data.shape:
        yield f"'{name}' has shape {a.data.shape} against {b.data.shape}"
    elif differing := int(np.count_nonzero(_bits(a) != _bits(b))):
        yield f"{differing} of {a.data.size} values of '{name}'"


def _bits(tensor: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.void]]:
    """Returns the elements as bytes: NaN equals NaN, and 0.0 is not -0.0."""
    assert tensor.data is not None
    array = np.ascontiguousarray(tensor.data)
    return array.reshape(-1).view(np.dtype((np.void, array.itemsize)))


def _quantization(a: Quantization, b: Quantization) -> str:
    if len(a.scales) != len(b.scales):
        return f"{len(a.scales)} scales against {len(b.scales)}"
    for what, first, second in (("scale", a.scales, b.scales), ("zero point", a.zero_points, b.zero_points)):
        for number, (m, n) in enumerate(zip(first, second, strict=False)):
            if m != n:
                place = f" {number}" if len(first) > 1 else ""
                return f"{what}{place} {m!r} against {n!r}"
    return "quantization"
