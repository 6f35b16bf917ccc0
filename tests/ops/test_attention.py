"""odml.scaled_dot_product_attention: C kernel, numpy reference, decomposition and LiteRT agree; what the kernel does
not know runs by the decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert
from simd.guarded import at_end
from support.attention import SDPA, attention
from support.compare import BUILTIN, EPS, run_minilite
from support.composite import OneComposite, flex_of
from support.weighted import same_for_any_number_of_threads

import minilite
from minilite import ShapeError
from minilite.format.dtypes import TensorType

XNNPACK = litert.OpResolverType.AUTO
"""LiteRT's kernel of the composite is XNNPACK's."""

SIZES = [
    (1, 1, 1, 1, 1),
    (1, 64, 8, 1, 16),
    (1, 70, 8, 2, 20),
    (1, 33, 6, 6, 5),
    (1, 100, 32, 4, 4),
    (3, 40, 4, 2, 24),
    (9, 17, 3, 3, 8),
    (40, 40, 4, 2, 16),
    (70, 130, 2, 1, 33),
]
"""Tokens, keys, heads, kv heads, depth."""


def tolerance(one: OneComposite) -> float:
    """Scores differ by twice the bound of a dot product, exponentials by as many parts, sums of shares by theirs."""
    q, k, v = one.given[:3]
    largest = float(np.abs(q).max(initial=0) * np.abs(k).max(initial=0)) * q.shape[-1] / max(1.0, q.shape[-1] ** 0.5)
    return EPS * float(np.abs(v).max(initial=0)) * (8 * largest + 32)


def check(one: OneComposite, oracle: Any = XNNPACK) -> None:
    assert one.runs_by_kernel()
    one.check(tolerance=tolerance(one), oracle=oracle)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_sizes(sizes: tuple[int, int, int, int, int], masked: bool) -> None:
    mask = (1, 1, sizes[0], sizes[1]) if masked else None
    check(attention(np.random.default_rng(1), *sizes, mask=mask), XNNPACK if masked else None)  # it wants a mask


@pytest.mark.parametrize("mask", [(1, 1, 3, 9), (2, 1, 3, 9), (1, 4, 3, 9), (2, 4, 1, 9), (1, 1, 1, 9), (2, 4, 3, 9)])
def test_masks(mask: Sequence[int]) -> None:
    check(attention(np.random.default_rng(2), 3, 9, 4, 2, 8, batches=2, mask=mask), None)


def test_attributes() -> None:
    """LiteRT's XNNPACK takes a logit cap that is missing among other attributes for one of 0, which leaves the mask
    alone: its builtin kernels judge these."""
    rng = np.random.default_rng(3)
    for sizes in ((1, 20, 4, 2, 8), (40, 20, 4, 2, 8)):
        mask = (1, 1, sizes[0], sizes[1])
        check(attention(rng, *sizes, mask=mask, attributes={"scale": 0.3}, scale=0.3), BUILTIN)
        check(attention(rng, *sizes, mask=mask, attributes={"scale": 1}, scale=1.0), BUILTIN)
        capped = {"scale": 0.5, "logit_cap": 2.5}
        check(attention(rng, *sizes, mask=mask, attributes=capped, scale=0.5, cap=2.5))
        check(attention(rng, *sizes, mask=mask, attributes={"logit_cap": 0.0}), BUILTIN)
        check(attention(rng, *sizes, mask=mask, version=0))


def test_values_of_another_depth() -> None:
    for tokens in (1, 40):
        check(attention(np.random.default_rng(4), tokens, 30, 4, 2, 8, width=19, mask=(1, 1, tokens, 30)), None)


def test_nothing_to_look_at() -> None:
    rng = np.random.default_rng(5)
    for sizes in ((0, 5, 4, 2, 8), (1, 0, 4, 2, 8), (20, 0, 4, 2, 8)):
        one = attention(rng, *sizes)
        assert not run_minilite(one.model, one.arrays)[0].any()


def test_masked_by_infinity() -> None:
    """What is masked adds nothing; a row of nothing else is NaN, as SOFTMAX has it."""
    for tokens in (2, 20):
        one = attention(np.random.default_rng(6), tokens, 12, 4, 2, 8, mask=(1, 1, tokens, 12))
        one.arrays[3][...] = np.where(np.arange(12) < 7, 0, -np.inf)
        one.arrays[3][0, 0, 0] = -np.inf
        y = one.check(tolerance=tolerance(one), oracle=None)[0]
        assert np.isnan(y[:, 0]).all()
        one.arrays[1][:, 7:] = 1e30
        np.testing.assert_array_equal(run_minilite(one.model, one.arrays)[0], y)


def test_resized() -> None:
    """Of a file's shapes ranks alone count: LiteRT's decompositions have constants that fix them."""
    rng = np.random.default_rng(7)
    one, other = attention(rng, 1, 16, 4, 2, 8), attention(rng, 5, 40, 4, 2, 8)
    expected = run_minilite(other.model, other.arrays)[0]
    np.testing.assert_array_equal(run_minilite(one.model, other.arrays)[0], expected)
    interpreter = minilite.Interpreter(model_content=one.model)
    interpreter.resize_tensor_input(1, (1, 16, 3, 8))
    with pytest.raises(ShapeError, match=r"shapes of q \(1, 1, 4, 8\), k \(1, 16, 3, 8\), .* do not match"):
        interpreter.allocate_tensors()


@pytest.mark.parametrize("sizes", [(1, 300, 8, 2, 64), (8, 64, 8, 8, 32), (100, 100, 6, 2, 32)])
def test_threads(sizes: Any) -> None:
    same_for_any_number_of_threads(attention(np.random.default_rng(8), *sizes, mask=(1, 1, sizes[0], sizes[1])))  # type: ignore[arg-type]


def test_what_is_not_known_runs_by_its_decomposition() -> None:
    rng = np.random.default_rng(9)
    mask = (1, 1, 3, 9)
    for attributes in ({"is_causal": True}, {"scale": "small"}, {"scale": [1, 2]}, {"scale": 0.0}, {"logit_cap": -1.0}):
        attention(rng, 3, 9, 4, 2, 8, mask=mask, attributes=attributes).same_as_decomposition()
    attention(rng, 3, 9, 4, 2, 8, mask=mask, attributes={"scale": float("nan")}).same_as_decomposition()
    attention(rng, 3, 9, 4, 2, 8, mask=mask, version=2).same_as_decomposition()
    for raw in (b"", b"\x04\x00", flex_of(scale=1.0)[:-1], b"\xff" * 40):
        one = attention(rng, 3, 9, 4, 2, 8, mask=mask)
        one.attributes = raw
        if raw:
            one.same_as_decomposition()
    for attributes in ({"scale": 0.5, "scale2": 0.5},):
        attention(rng, 3, 9, 4, 2, 8, mask=mask, attributes=attributes).same_as_decomposition()


def other(arrays: Sequence[Any], shape: Sequence[int]) -> OneComposite:
    """A composite of the name whose decomposition copies its first input."""
    return OneComposite(
        SDPA, arrays, [(shape, TensorType.FLOAT32)], lambda g, t: [g.node("ABS", t[:1], out=("y", tuple(shape)))]
    )


def test_other_operands_run_by_the_decomposition() -> None:
    q, k = np.ones((1, 3, 4, 8), np.float32), np.ones((1, 9, 2, 8), np.float32)
    extra = np.ones((), np.float32)
    for arrays in (
        [q, k],
        [q, k, k, np.ones((1, 1, 3, 9), bool)],
        [q, k, k, np.ones((3, 9), np.float32)],
        [q, k, k, np.ones((1, 1, 3, 8), np.float32)],
        [q, k, k, np.ones((1, 2, 3, 9), np.float32)],
        [q, k, k, np.ones((1, 1, 3, 9), np.float32), extra],
        [q, k[..., :7], k],
        [q, k[:, :8], k],
        [q, np.ones((1, 9, 3, 8), np.float32), np.ones((1, 9, 3, 8), np.float32)],
        [q[0], k[0], k[0]],
    ):
        other(arrays, arrays[0].shape).same_as_decomposition()
    assert other([q, k, k], q.shape).runs_by_kernel()  # the name says what it means


def test_inspect_says_which_of_the_two_runs() -> None:
    from minilite.report.facts import model_facts

    for name, expected in ((SDPA, "runs by its kernel"), ("none", "runs its decomposition")):
        interpreter = minilite.Interpreter(model_content=attention(np.random.default_rng(0), 1, 9, 4, 2, 8).built(name))
        interpreter.allocate_tensors()
        (node,) = model_facts(interpreter.model, "", interpreter.plan)["frames"][0]["nodes"]
        assert node["becomes"] == expected


@pytest.mark.parametrize("sizes", [(1, 33, 6, 6, 5), (1, 64, 8, 2, 16), (40, 19, 4, 2, 5)])
def test_ends_of_memory(sizes: Any) -> None:
    """Operands that end where a page does, before one that may not be touched."""
    one = attention(np.random.default_rng(10), *sizes, mask=(1, 1, sizes[0], sizes[1]))
    interpreter = minilite.Interpreter(model_content=one.model)
    for number, array in enumerate(one.arrays):
        interpreter.bind_tensor(number, at_end(array))
    interpreter.allocate_tensors()
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(y, run_minilite(one.model, one.arrays)[0])
