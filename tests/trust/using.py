"""Uses a model in every way that a caller can; the worst result is a MiniliteError."""

from __future__ import annotations

import contextlib
import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
from support.drawn import ODD
from trust.structure import SIZES

import minilite
from minilite.errors import MiniliteError
from minilite.format.dtypes import TensorType, array_type

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from support.node import Array

MOST_BYTES, MOST_ITERATIONS = 1 << 18, 20
"""Limits of a mutant's tensors and loops, so that none is slow."""


def drawn_value(kind: TensorType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Values for an input, some of floats odd."""
    if kind == TensorType.STRING:
        value = np.empty(shape, object)
        value.reshape(-1)[:] = [bytes(rng.bytes(int(rng.integers(9)))) for _ in range(value.size)]
        return value
    dtype = array_type(kind)
    numbers = rng.integers(-3, 9, shape) if dtype.kind == "i" else rng.integers(0, 9, shape)
    if dtype.kind == "f":
        numbers = np.where(rng.random(shape) < 0.2, rng.choice(ODD, shape), numbers * 0.5)
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(dtype)


def look(value: Array) -> None:
    """Touches every byte, and every object."""
    if value.dtype.hasobject:
        assert all(type(element) is bytes for element in value.ravel().tolist())
        assert repr(value)
    else:
        assert len(value.tobytes()) == value.nbytes


def look_at_all(interpreter: minilite.Interpreter) -> None:
    for tensor in interpreter.model.subgraphs[0].tensors:
        for read in (interpreter.get_tensor, lambda index: interpreter.tensor(index)()):
            with contextlib.suppress(MiniliteError):
                look(read(tensor.index))


def fill(interpreter: minilite.Interpreter, arrays: Sequence[Array], rng: np.random.Generator) -> None:
    """Sets inputs to these arrays, or drawn ones where they do not fit or are missing."""
    graph = interpreter.model.subgraphs[0]
    for position, index in enumerate(graph.inputs):
        shape = tuple(interpreter.get_input_details()[position]["shape"].tolist())
        with contextlib.suppress(MiniliteError):
            if position < len(arrays):
                interpreter.set_tensor(index, arrays[position])
                continue
        if math.prod(max(size, 1) for size in shape) <= MOST_BYTES:  # numpy refuses larger empty ones, too
            with contextlib.suppress(MiniliteError):
                interpreter.set_tensor(index, drawn_value(graph.tensors[index].type, shape, rng))


def look_inside(interpreter: minilite.Interpreter, chance: random.Random) -> None:
    """Does one of the things that can be done with a model beside running it."""
    ways: tuple[Callable[[], Any], ...] = (
        lambda: look_at_all(interpreter.clone()),
        lambda: look_at_all(pickle.loads(pickle.dumps(interpreter))),
        lambda: repr(interpreter.plan),
        lambda: repr(interpreter.plan_for()),
        lambda: repr(interpreter.profile(1)),
        lambda: interpreter.set_state(interpreter.get_state()),
        lambda: repr((interpreter.get_tensor_details(), interpreter.get_ops_details())),
        lambda: repr((interpreter.get_signature_list(), interpreter.model)),
        lambda: repr(minilite.compare(interpreter, interpreter)),
        lambda: interpreter.trim(),
    )
    with contextlib.suppress(MiniliteError):
        chance.choice(ways)()


def use(model: bytes, arrays: Sequence[Array], chance: random.Random, **options: Any) -> bool:
    """Fills, runs, reads and looks into a model twice, in another size the second time. Returns whether it ran."""
    rng, ran = np.random.default_rng(chance.randrange(1 << 30)), False
    try:
        interpreter = minilite.Interpreter(
            model_content=model,
            max_bytes=MOST_BYTES,
            max_iterations=MOST_ITERATIONS,
            experimental_preserve_all_tensors=chance.random() < 0.3,
            **options,
        )
        look_at_all(interpreter)
        interpreter.allocate_tensors()
    except MiniliteError:
        return False
    for turn in range(2):
        with contextlib.suppress(MiniliteError):
            look_at_all(interpreter)
            fill(interpreter, arrays if turn == 0 else (), rng)
            interpreter.invoke()
            ran = True
        look_at_all(interpreter)
        if chance.random() < 0.3:
            look_inside(interpreter, chance)
        inputs = interpreter.model.subgraphs[0].inputs
        if turn == 0 and inputs:
            shape = [chance.choice(SIZES[:5]) for _ in range(chance.randrange(4))]
            with contextlib.suppress(MiniliteError):
                interpreter.resize_tensor_input(chance.choice(inputs), shape)
                interpreter.allocate_tensors()
    return ran
