"""odml.update_kv_cache: C kernel, numpy reference, decomposition and LiteRT agree; a cache that is bound to both sides
is updated where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from support.composite import OneComposite, flex_of
from support.node import Given, OneNode, Out, kind_of, values

import minilite
from minilite import InputError, KernelError, MiniliteError
from minilite.format.dtypes import TensorType


def cache(
    rng: np.random.Generator,
    positions: Sequence[int],
    *,
    shape: tuple[int, ...] = (1, 16, 2, 4),
    attributes: Mapping[str, Any] | None = None,
    kind: type = np.int32,
) -> OneComposite:
    """Makes caches of that shape, and tokens at these positions; the decomposition writes all tokens from the first
    position on."""
    tokens = (shape[0], len(positions), *shape[2:])
    arrays = [values(rng, "f32", s, spread=1.0) for s in (shape, shape, tokens, tokens)]
    arrays.insert(2, np.array(positions, kind))

    def body(g: Any, tensors: list[int]) -> list[int]:
        number = TensorType.INT32 if kind is np.int32 else TensorType.INT64
        begin, size, zeros = (g.constant("c", np.array(c, kind)) for c in ([0], [1], [0] * (len(shape) - 2)))
        first = g.node("SLICE", [tensors[2], begin, size], out=("first", (1,), number))
        parts = [begin, first, zeros]
        at = g.node("CONCATENATION", parts, out=("at", (len(shape),), number), options={"axis": 0})
        return [
            g.node("DYNAMIC_UPDATE_SLICE", [tensors[i], tensors[3 + i], at], out=("y", shape), version=2)
            for i in (0, 1)
        ]

    known = {"kv_cache_max": shape[1]} if attributes is None else attributes
    return OneComposite("odml.update_kv_cache", arrays, [(shape, TensorType.FLOAT32)] * 2, body, known)


CACHE = (1, 16, 2, 4)


def custom(caches: Sequence[Any], positions: Sequence[int], number: str = "s32") -> OneNode:
    """The same as a custom operator."""
    tokens = [array[:, : len(positions)] for array in caches]
    at = np.array(positions, np.int32 if number == "s32" else np.int64)
    outs = [Out(kind_of(array), shape=array.shape) for array in caches]
    return OneNode(
        "odml.update_kv_cache", [*caches, at, *tokens], outs=outs, custom=flex_of(kv_cache_max=caches[0].shape[1])
    )


def every_type(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    caches = [values(rng, inputs[0], CACHE) for _ in "kv"]
    given = [Given(array, kind=inputs[0]) for array in caches]
    tokens = [Given(array[:, :2], kind=inputs[0]) for array in caches]
    at = np.array([3, 0], np.int32 if inputs[2] == "s32" else np.int64)
    outs = [Out(kind, shape=CACHE) for kind in outputs]
    node = OneNode("odml.update_kv_cache", [*given, at, *tokens], outs=outs, custom=flex_of(kv_cache_max=16))
    return node, {"oracle": None}


EVERY_TYPE = {"odml.update_kv_cache": every_type}


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("positions", [(0,), (15,), (3, 4, 5), tuple(range(16))])
def test_positions(positions: tuple[int, ...], kind: type) -> None:
    rng = np.random.default_rng(1)
    for shape in ((1, 16, 2, 4), (3, 16, 1, 5), (2, 16, 7)):
        one = cache(rng, positions, shape=shape, kind=kind)
        assert one.runs_by_kernel()
        one.check()


def test_positions_apart() -> None:
    one = cache(np.random.default_rng(2), (7, 0, 12))
    interpreter = minilite.Interpreter(model_content=one.model)
    interpreter.allocate_tensors()
    for number, array in enumerate(one.arrays):
        interpreter.set_tensor(number, array)
    interpreter.invoke()
    expected = one.arrays[0].copy()
    expected[:, [7, 0, 12]] = one.arrays[3]
    np.testing.assert_array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), expected)


def bound_cache(one: OneComposite, **options: Any) -> tuple[minilite.Interpreter, list[Any]]:
    """Returns an interpreter with arrays bound to the caches, as inputs and as outputs."""
    interpreter = minilite.Interpreter(model_content=one.model, **options)
    caches = [one.arrays[i].copy() for i in (0, 1)]
    for i, (name, array) in enumerate(zip(("x0", "x1"), caches, strict=True)):
        interpreter.bind_tensor(name, array)
        interpreter.bind_tensor(f"y{i}", array)
    interpreter.allocate_tensors()
    return interpreter, caches


def test_a_bound_cache_is_updated_where_it_lies() -> None:
    one = cache(np.random.default_rng(3), (5,))
    interpreter, caches = bound_cache(one, preserve_inputs=False)
    expected = [array.copy() for array in caches]
    for position in (5, 6, 0):
        interpreter.set_tensor(2, np.array([position], np.int32))
        for i in (0, 1):
            interpreter.set_tensor(3 + i, one.arrays[3 + i] + position)
            expected[i][:, position] = one.arrays[3 + i][:, 0] + position
        interpreter.invoke()
        for ours, wanted in zip(caches, expected, strict=True):
            np.testing.assert_array_equal(ours, wanted)


def test_a_bound_cache_that_is_preserved_or_shifted() -> None:
    one = cache(np.random.default_rng(4), (5,))
    with pytest.raises(InputError, match="their buffers must not overlap"):
        bound_cache(one)
    interpreter = minilite.Interpreter(model_content=one.model, preserve_inputs=False)
    memory = np.zeros(300, np.float32)
    interpreter.bind_tensor("x0", memory[:128])
    interpreter.bind_tensor("y0", memory[4:132])
    with pytest.raises(InputError, match="their buffers must not overlap"):
        interpreter.allocate_tensors()
    interpreter = minilite.Interpreter(model_content=one.model, preserve_inputs=False)
    interpreter.bind_tensor("x0", memory[:128])
    interpreter.bind_tensor("y1", memory[:128])
    with pytest.raises(InputError, match="their buffers must not overlap"):
        interpreter.allocate_tensors()


@pytest.mark.parametrize("reference", [False, True])
def test_positions_outside(reference: bool) -> None:
    for position in (-1, 16, -(2**31), 2**31 - 1):
        one = custom([values(np.random.default_rng(5), "f32", CACHE)] * 2, (3, position))
        with pytest.raises(KernelError, match=f"position {position} of token 1 is outside 0 to 15"):
            one.run(reference=reference)


def test_unknown_forms_run_by_their_decomposition() -> None:
    rng = np.random.default_rng(6)
    for attributes in (
        {"kv_cache_max": 8},
        {"kv_cache_max": 16, "layer_index": 1},
        {"kv_cache_max": "all"},
        {"size": 16},
    ):
        cache(rng, (3, 4), attributes=attributes).same_as_decomposition()


def test_tokens_that_do_not_fit_are_refused() -> None:
    caches, at = [np.zeros(CACHE, np.float32)] * 2, np.zeros(2, np.int32)
    tokens = np.zeros((1, 2, 3, 4), np.float32)
    outs = [Out("f32", shape=CACHE)] * 2
    node = OneNode("odml.update_kv_cache", [*caches, at, tokens, tokens], outs=outs, custom=flex_of(kv_cache_max=16))
    node.refused(MiniliteError, r"a cache of shape \(1, 16, 2, 4\) cannot take tokens of shape", by_litert=False)
