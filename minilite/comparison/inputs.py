"""Makes the inputs of a comparison: given or random, the same real numbers for both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.comparison.matching import matched
from minilite.engine.float_values import floats, quantized
from minilite.engine.tensor_arguments import inputs_by_number, tensor_number, wanted_shapes
from minilite.errors import InputError, listed
from minilite.format.dtypes import array_type
from minilite.inputs.random_values import random_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.engine.tensor_arguments import Shapes
    from minilite.format.model import Array, Subgraph, Tensor
    from minilite.interpreter import Interpreter

Arrays = dict[int, "Array"]


def both_inputs(
    graphs: tuple[Subgraph, Subgraph], interpreter: Interpreter, inputs: Any, shapes: Shapes | None, seed: int
) -> tuple[tuple[Arrays, Arrays], str]:
    """Returns arrays by tensor number for both graphs, and where they came from. Raises: InputError."""
    first, second = graphs
    pairs = matched(first, second)
    fed = {index: pairs[index] for index in first.inputs if pairs.get(index) in second.inputs}
    if set(fed) != set(first.inputs) or set(fed.values()) != set(second.inputs):
        names = [listed(graph.tensors[i].name for i in graph.inputs) or "none" for graph in graphs]
        message = f"the models take other inputs: {names[0]} against {names[1]}"
        raise InputError(message)
    given = _given(first, inputs)
    sizes = {int(d["index"]): tuple(map(int, d["shape"])) for d in interpreter.get_input_details()}
    sizes |= wanted_shapes(first, shapes)
    rng = np.random.default_rng(seed)
    found: tuple[Arrays, Arrays] = ({}, {})
    for index, other in fed.items():
        tensors = first.tensors[index], second.tensors[other]
        if index in given:
            a = as_input(tensors[0], given[index])
            arrays = a, _converted(a, *tensors)
        else:
            arrays = _random(tensors, sizes[index], rng)
        found[0][index], found[1][other] = arrays
    return found, _source(first, given, seed)


def _given(graph: Subgraph, inputs: Any) -> dict[int, Any]:
    """Returns the caller's inputs by number; a mapping may leave some out."""
    if inputs is None:
        return {}
    if hasattr(inputs, "items"):
        given = {tensor_number(graph, key): value for key, value in inputs.items()}
        for index in given:
            if index not in graph.inputs:
                names = listed(graph.tensors[i].name for i in graph.inputs)
                message = f"tensor {index} is no input: the model's inputs are {names}"
                raise InputError(message)
        return given
    if isinstance(inputs, np.ndarray):
        inputs = (inputs,)
    return inputs_by_number(graph, tuple(inputs))


def as_input(tensor: Tensor, value: Any) -> Array:
    """Converts a value to the array that the tensor takes: its own type stays, real numbers are quantized."""
    if isinstance(value, np.ndarray) and value.dtype == array_type(tensor.type):
        return value
    return quantized(tensor, value)


def _converted(array: Array, a: Tensor, b: Tensor) -> Array:
    """Converts an array to the same real numbers for the other tensor."""
    if a.type == b.type and a.quantization == b.quantization:
        return array
    return quantized(b, floats(a, array))


def _random(tensors: tuple[Tensor, Tensor], shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws values that both tensors can represent: for the quantized one, if only one is."""
    a, b = tensors
    if array_type(b.type).itemsize == 1 and b.quantization.scales and not a.quantization.scales:
        drawn = random_values(b, shape, rng)
        return _converted(drawn, b, a), drawn
    drawn = random_values(a, shape, rng)
    return drawn, _converted(drawn, a, b)


def _source(graph: Subgraph, given: Mapping[int, Any], seed: int) -> str:
    names = [graph.tensors[index].name for index in graph.inputs]
    if not names:
        return "none"
    if not given:
        return f"random, seed {seed}"
    if len(given) == len(names):
        return "given"
    return f"given, others random, seed {seed}"
