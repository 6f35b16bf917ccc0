"""Plants faults in models, one at a time, and looks whether `minilite.compare` finds the node.

python tests/trust compared_faults MODEL ...

Each model gets two faults of each kind, at nodes and places drawn from a fixed seed:
- weight: one weight of a node is changed, an integer by one, a float by a hundredth; found by values or by what the
  models say
- multiplier: one scale of a node's weights is the next float32, which moves its multiplier by the least that a file
  can say; found by what the models say (values seldom change)
- neighbour: one channel of a node takes the multiplier of the next one in the second run; found by values
- rounding: one node rounds down in the second run; found by values

A fault counts as found if the first node that the comparison names is that node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import minilite
from minilite.comparison.result import Comparison
from minilite.format.builder import as_read
from minilite.format.dtypes import TensorType
from minilite.format.model import Model, Node, Tensor
from minilite.format.values import integer_limits
from minilite.ops_shared import fixed_point, weighted
from minilite.ops_shared.fixed_point import round_half_away

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
BYTES = (TensorType.INT8, TensorType.UINT8)
PER_KIND, INPUTS = 2, 5


class Plant(NamedTuple):
    """A fault, and what the comparison said."""

    kind: str
    node: int
    place: str
    found: Comparison

    @property
    def named(self) -> int | None:
        """The node that the comparison names first, by values or by what the models say."""
        rows = [row for row in (self.found.first, self.found.first_change) if row is not None]
        return min((row.node for row in rows), default=None)

    @property
    def is_found(self) -> bool:
        return self.named == self.node


def weights_of(model: Model, *, quantized: bool) -> list[tuple[Node, Tensor]]:
    """Nodes with constant weights that no other node reads, and these."""
    graph = model.subgraphs[0]
    readers = [index for node in graph.nodes for index in node.inputs]
    found = []
    for node in graph.nodes:
        if node.op not in WEIGHTED or readers.count(node.inputs[1]) > 1:
            continue
        tensor, output = graph.tensors[node.inputs[1]], graph.tensors[node.outputs[0]]
        usable = tensor.data is not None and tensor.sparsity is None and tensor.data.size > 1
        whole = tensor.type in BYTES and bool(tensor.quantization.scales) and output.type in BYTES
        if usable and (whole or (not quantized and tensor.type in (*BYTES, TensorType.FLOAT32))):
            found.append((node, tensor))
    return found


def with_tensor(model: Model, tensor: Tensor) -> Model:
    """The model with another tensor of that number in its main subgraph."""
    main, *others = model.subgraphs
    tensors = [tensor if each.index == tensor.index else each for each in main.tensors]
    return as_read(model._replace(subgraphs=(main._replace(tensors=tuple(tensors)), *others)))


def changed_weight(model: Model, node: Node, tensor: Tensor, rng: np.random.Generator) -> Plant:
    """One weight, of those that are not 0, is changed."""
    assert tensor.data is not None
    data = tensor.data.copy()
    flat = data.reshape(-1)
    at = int(rng.choice(np.flatnonzero(flat)))
    if data.dtype.kind == "f":
        flat[at] *= np.float32(1.01)
    else:
        flat[at] += 1 if flat[at] < integer_limits(tensor.type)[1] else -1
    found = minilite.compare(model, with_tensor(model, tensor._replace(data=data)))
    return Plant("weight", node.index, f"weight {at}", found)


def changed_multiplier(model: Model, node: Node, tensor: Tensor, rng: np.random.Generator) -> Plant:
    """One scale of the weights is the next float32."""
    scales = list(tensor.quantization.scales)
    at = int(rng.integers(len(scales)))
    scales[at] = float(np.nextafter(np.float32(scales[at]), np.float32(np.inf)))
    quantization = tensor.quantization._replace(scales=tuple(scales))
    found = minilite.compare(model, with_tensor(model, tensor._replace(quantization=quantization)))
    return Plant("multiplier", node.index, f"scale {at}", found)


def _beside_reference(model: Model) -> Comparison:
    """C beside numpy, on other random inputs while nothing differs: a channel may be 0 for some of them."""
    found = minilite.compare(model, against="reference")
    for seed in range(1, INPUTS):
        if not found.agrees:
            break
        found = minilite.compare(model, against="reference", seed=seed)
    return found


def neighbours_multiplier(model: Model, node: Node, tensor: Tensor, rng: np.random.Generator) -> Plant:
    """Gives one channel the multiplier of the next; if all channels share one, makes it a tenth larger."""
    count = len(tensor.quantization.scales)
    at = int(rng.integers(count))
    true = weighted.real_multipliers

    def wrong(at_node: Any, *arguments: Any, **options: Any) -> Any:
        reals = true(at_node, *arguments, **options)
        if at_node.index == node.index:
            if count == 1:
                return reals * 1.1
            reals = np.array(reals)
            reals[at] = reals[(at + 1) % count]
        return reals

    with mock.patch.object(weighted, "real_multipliers", wrong):
        found = _beside_reference(model)
    return Plant("neighbour", node.index, f"channel {at}", found)


@contextmanager
def rounding_down(node: Node) -> Iterator[None]:
    """Scales the sums of one node and rounds them down."""
    centered, multiply, half_away = weighted.centered, fixed_point.multiply_by_quantized_multiplier, round_half_away
    current = -1

    def noting(at_node: Any, *arguments: Any) -> Any:
        nonlocal current
        current = at_node.index
        return centered(at_node, *arguments)

    def scaled(x: Any, mantissa: Any, shift: Any) -> Any:
        if current != node.index:
            return multiply(x, mantissa, shift)
        product = np.asarray(x, np.float64) * np.asarray(mantissa) * 2.0 ** (np.asarray(shift, np.float64) - 31)
        return np.floor(product).astype(np.int32)

    def rounded(x: Any) -> Any:
        return np.floor(x) if current == node.index else half_away(x)

    with (
        mock.patch.object(weighted, "centered", noting),
        mock.patch.object(weighted, "multiply_by_quantized_multiplier", scaled),
        mock.patch.object(fixed_point, "round_half_away", rounded),
    ):
        yield


def changed_rounding(model: Model, node: Node, _tensor: Tensor, _rng: np.random.Generator) -> Plant:
    """The node rounds down in the second run."""
    with rounding_down(node):
        found = _beside_reference(model)
    return Plant("rounding", node.index, "all", found)


KINDS: tuple[tuple[Callable[..., Plant], bool], ...] = (
    (changed_weight, False),
    (changed_multiplier, True),
    (neighbours_multiplier, True),
    (changed_rounding, True),
)
"""Functions that plant a fault, and whether it takes a quantized node."""


def plants(model: Model, seed: int = 0, per_kind: int = PER_KIND) -> Iterator[Plant]:
    """Faults of each kind at as many nodes as there are, `per_kind` at most."""
    for number, (plant, quantized) in enumerate(KINDS):
        rng = np.random.default_rng((seed, number))
        places = weights_of(model, quantized=quantized)
        for at in sorted(rng.permutation(len(places))[:per_kind].tolist()):
            yield plant(model, *places[at], rng)


def main(paths: Sequence[str]) -> int:
    total = hits = 0
    for seed, path in enumerate(paths):
        for plant in plants(minilite.load_model(path), seed):
            total, hits = total + 1, hits + plant.is_found
            first = plant.found.first
            by_values = f"values: node {first.node}" if first is not None else "values: equal"
            outcome = "found" if plant.is_found else f"MISSED, named {plant.named}"
            print(
                f"{Path(path).name}: {plant.kind} at node {plant.node} ({plant.place}): {outcome}; {by_values}",
                flush=True,
            )
    print(f"{hits} of {total} faults are found at their node")
    return int(hits < total)
