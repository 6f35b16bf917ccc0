"""odml.scaled_dot_product_attention: C kernel and numpy reference agree; a composite of that name gives the results of
LiteRT's decomposition, whether the kernel runs it or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from built import litert, ready, run
from flatbuffers import flexbuffers
from simd.guarded import at_end
from support.attention import NAME, composite, one_attention
from support.compare import BUILTIN, EPS, run_minilite
from support.composite import OneComposite
from support.node import OneNode, Out, values
from support.peer import interpreter as theirs
from support.weighted import same_for_any_number_of_threads

import minilite
from minilite import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType

TOLERANCE = 2e-6
"""The tolerance of results up to 5 in size: sums of float32 in lanes, and exps of 2 ULP."""


def attention(q: Any, k: Any, v: Any, mask: Any = None, **attributes: Any) -> OneNode:
    arrays = [q, k, v] + ([] if mask is None else [mask])
    options = bytes(flexbuffers.Dumps(attributes))
    return OneNode(NAME, arrays, outs=[Out("f32", shape=(*q.shape[:3], v.shape[3]))], custom=options)


def drawn(seed: int, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


EVERY_TYPE = {
    NAME: lambda rng, inputs, outputs: (
        attention(*(values(rng, "f32", (1, 3, 2, 4)) for _ in range(3)), values(rng, "f32", (1, 1, 3, 3))),
        {"oracle": None, "tolerance": TOLERANCE},
    )
}
SIZES = [
    (1, 1, 8, 1, 64, 4),  # one query, all heads share keys
    (1, 1, 8, 2, 65, 4),
    (2, 1, 4, 4, 33, 64),
    (1, 3, 4, 2, 20, 5),
    (1, 40, 2, 2, 50, 16),  # keys in panels
    (2, 33, 4, 1, 40, 24),
    (1, 128, 4, 2, 130, 8),
]
"""batch, queries, heads, groups, keys, depth"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_kernel_and_reference(size: tuple[int, ...], masked: bool) -> None:
    batch, queries, heads, groups, keys, depth = size
    q, k, v, mask = drawn(
        keys, (batch, queries, heads, depth), (batch, keys, groups, depth), (batch, keys, groups, depth),
        (batch, 1, queries, keys),
    )  # fmt: skip
    attention(q, k, v, mask if masked else None, scale=0.3).check(tolerance=TOLERANCE, oracle=None)
    attention(q, k, v, mask if masked else None).check(tolerance=TOLERANCE, oracle=None)
    attention(q, k, v, mask if masked else None, scale=-0.7, logit_cap=2.5).check(tolerance=TOLERANCE, oracle=None)


@pytest.mark.parametrize("shape", [(1, 1, 1, 9), (2, 1, 1, 9), (1, 4, 1, 9), (1, 1, 3, 9), (2, 4, 3, 9)])
def test_masks_are_repeated(shape: tuple[int, ...]) -> None:
    q, k, v, mask = drawn(3, (2, 3, 4, 8), (2, 9, 2, 8), (2, 9, 2, 8), shape)
    attention(q, k, v, mask).check(tolerance=TOLERANCE, oracle=None)


def test_values_may_be_wider_than_keys() -> None:
    for queries in (1, 40):
        attention(*drawn(4, (1, queries, 2, 8), (1, 9, 2, 8), (1, 9, 2, 19))).check(tolerance=TOLERANCE, oracle=None)


def test_masked_keys_have_no_weight() -> None:
    q, k, v = drawn(5, (1, 2, 2, 4), (1, 6, 1, 4), (1, 6, 1, 4))
    mask = np.where(np.arange(6) < 3, 0, -np.inf).astype(np.float32).reshape(1, 1, 1, 6)
    y = attention(q, k, v, mask).check(tolerance=TOLERANCE, oracle=None)
    np.testing.assert_allclose(
        y, attention(q, k[:, :3], v[:, :3]).check(tolerance=TOLERANCE, oracle=None), rtol=1e-5, atol=1e-6
    )


def test_threads() -> None:
    for queries in (1, 30):
        same_for_any_number_of_threads(attention(*drawn(6, (2, queries, 8, 16), (2, 70, 4, 16), (2, 70, 4, 16))))


def test_shapes_refused() -> None:
    q, k, v = drawn(7, (1, 2, 4, 8), (1, 9, 2, 8), (1, 9, 2, 8))
    refused = "q, k and v have shapes"
    for wrong in ([q, k[..., :7], v], [q, k, v[:, :8]], [q[:, :, :3], k, v], [q[0], k, v], [q, k[:, :0], v[:, :0]]):
        attention(*wrong).refused(UnsupportedOpError, refused, by_litert=False)
    mask = np.zeros((1, 1, 3, 9), np.float32)
    attention(q, k, v, mask).refused(UnsupportedOpError, "the mask has shape", by_litert=False)
    for name, value in (("scale", 0.0), ("logit_cap", 0.0), ("logit_cap", -1.0)):
        attention(q, k, v, **{name: value}).refused(UnsupportedOpError, f"option {name} is", by_litert=False)
    interpreter = ready(composite(q.shape, k.shape))
    interpreter.resize_tensor_input(0, (1, 2, 3, 8))
    with pytest.raises(ShapeError, match=r"q, k and v have shapes \(1, 2, 3, 8\)"):
        interpreter.allocate_tensors()


def both(model: bytes, arrays: list[Any]) -> None:
    """Ours and LiteRT's results, within the bounds of float sums."""
    ours, theirs = run(ready(model), *arrays)[0], run(litert(model), *arrays)[0]
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_composite_equals_its_decomposition(size: tuple[int, ...], masked: bool) -> None:
    batch, queries, heads, groups, keys, depth = size
    shapes = [(batch, queries, heads, depth), (batch, keys, groups, depth)]
    mask = (batch, 1, queries, keys) if masked else None
    arrays = drawn(keys, shapes[0], shapes[1], shapes[1], *([mask] if mask else []))
    for attributes in (None, {"scale": 0.3}):
        both(composite(*shapes, mask, attributes), arrays)


@pytest.mark.parametrize(
    ("attributes", "name"), [({"scale": 0.3, "new": 1}, NAME), ({"scale": 0.0}, NAME), ({}, "odml.other"), (None, "")]
)
def test_forms_without_a_kernel_run_by_their_decomposition(attributes: Any, name: str) -> None:
    shapes = [(1, 2, 4, 8), (1, 9, 2, 8)]
    model = composite(*shapes, None, attributes, name=name, scale=0.125)
    both(model, drawn(1, shapes[0], shapes[1], shapes[1]))


def test_attributes_decide() -> None:
    """A decomposition that computes something else shows which of the two has run."""
    arrays = drawn(1, (1, 2, 4, 8), (1, 9, 2, 8), (1, 9, 2, 8))
    expected = attention(*arrays, scale=0.3).check(tolerance=TOLERANCE, oracle=None)
    for attributes, known in (({"scale": 0.3}, True), ({"scale": 0.3, "new": 1}, False)):
        model = composite((1, 2, 4, 8), (1, 9, 2, 8), None, attributes, scale=7.0)
        found = run(ready(model), *arrays)[0]
        assert np.allclose(found, expected, atol=1e-5) == known
    with_references = minilite.Interpreter(
        model_content=composite((1, 2, 4, 8), (1, 9, 2, 8), None, {"scale": 0.3}, scale=7.0),
        experimental_op_resolver_type=minilite.OpResolverType.BUILTIN_REF,
    )
    with_references.allocate_tensors()
    assert not np.allclose(run(with_references, *arrays)[0], expected, atol=1e-5)


def test_attributes_that_are_no_map() -> None:
    shapes = [(1, 2, 4, 8), (1, 9, 2, 8)]
    arrays = drawn(1, shapes[0], shapes[1], shapes[1])
    good = composite(*shapes, None, {"scale": 0.3})
    at = good.index(bytes(flexbuffers.Dumps({"scale": 0.3})))
    both(good[:at] + b"\xff" * 8 + good[at + 8 :], arrays)


# LiteRT's own kernel, which is XNNPACK's -----------------------------------------------------------------------------


def other(arrays: Sequence[Any], shape: Sequence[int]) -> OneComposite:
    """A composite of the name whose decomposition copies its first input."""
    return OneComposite(
        NAME, arrays, [(shape, TensorType.FLOAT32)], lambda g, t: [g.node("ABS", t[:1], out=("y", tuple(shape)))]
    )


def tolerance(one: OneComposite) -> float:
    """Scores differ by at most twice the bound of a dot product, exponentials by the same share, and weighted sums by
    their own bound."""
    q, k, v = one.given[:3]
    largest = float(np.abs(q).max(initial=0) * np.abs(k).max(initial=0)) * q.shape[-1] / max(1.0, q.shape[-1] ** 0.5)
    return EPS * float(np.abs(v).max(initial=0)) * (8 * largest + 32)


def agree(one: OneComposite, oracle: Any = theirs.OpResolverType.AUTO) -> None:
    assert one.runs_by_kernel()
    one.check(tolerance=tolerance(one), oracle=oracle)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_sizes(size: tuple[int, ...], masked: bool) -> None:
    batch, queries, heads, groups, keys, depth = size
    mask = (1, 1, queries, keys) if masked and batch == 1 else None  # of others XNNPACK has none
    rng = np.random.default_rng(1)
    one = one_attention(rng, queries, keys, heads, groups, depth, batches=batch, mask=mask)
    agree(one, BUILTIN if mask is None else theirs.OpResolverType.AUTO)


@pytest.mark.parametrize("mask", [(1, 1, 3, 9), (2, 1, 3, 9), (1, 4, 3, 9), (2, 4, 1, 9), (1, 1, 1, 9), (2, 4, 3, 9)])
def test_masks(mask: Sequence[int]) -> None:
    agree(one_attention(np.random.default_rng(2), 3, 9, 4, 2, 8, batches=2, mask=mask), None)


def test_attributes() -> None:
    """LiteRT's XNNPACK takes a logit cap that is missing among other attributes for one of 0, which leaves the mask
    alone: its builtin kernels judge these."""
    rng = np.random.default_rng(3)
    for sizes in ((1, 20, 4, 2, 8), (40, 20, 4, 2, 8)):
        mask = (1, 1, sizes[0], sizes[1])
        agree(one_attention(rng, *sizes, mask=mask, attributes={"scale": 0.3}, scale=0.3), BUILTIN)
        agree(one_attention(rng, *sizes, mask=mask, attributes={"scale": 1}, scale=1.0), BUILTIN)
        capped = {"scale": 0.5, "logit_cap": 2.5}
        agree(one_attention(rng, *sizes, mask=mask, attributes=capped, scale=0.5, cap=2.5))


def test_values_of_another_depth() -> None:
    for tokens in (1, 40):
        agree(one_attention(np.random.default_rng(4), tokens, 30, 4, 2, 8, width=19, mask=(1, 1, tokens, 30)), None)


def test_masked_by_infinity() -> None:
    """Masked keys add nothing; a row with only masked keys is NaN, as in SOFTMAX."""
    for tokens in (2, 20):
        one = one_attention(np.random.default_rng(6), tokens, 12, 4, 2, 8, mask=(1, 1, tokens, 12))
        one.arrays[3][...] = np.where(np.arange(12) < 7, 0, -np.inf)
        one.arrays[3][0, 0, 0] = -np.inf
        y = one.check(tolerance=tolerance(one), oracle=None)[0]
        assert np.isnan(y[:, 0]).all()
        one.arrays[1][:, 7:] = 1e30
        np.testing.assert_array_equal(run_minilite(one.model, one.arrays)[0], y)


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

    for name, expected in ((NAME, "runs by its kernel"), ("none", "runs its decomposition")):
        interpreter = minilite.Interpreter(
            model_content=one_attention(np.random.default_rng(0), 1, 9, 4, 2, 8).built(name)
        )
        interpreter.allocate_tensors()
        (node,) = model_facts(interpreter.model, "", interpreter.plan)["frames"][0]["nodes"]
        assert node["becomes"] == expected


@pytest.mark.parametrize("sizes", [(1, 33, 6, 6, 5), (1, 64, 8, 2, 16), (40, 19, 4, 2, 5)])
def test_ends_of_memory(sizes: Any) -> None:
    """Operands that end where a page does, before one that may not be touched."""
    one = one_attention(np.random.default_rng(10), *sizes, mask=(1, 1, sizes[0], sizes[1]))
    interpreter = minilite.Interpreter(model_content=one.model)
    for number, array in enumerate(one.arrays):
        interpreter.bind_tensor(number, at_end(array))
    interpreter.allocate_tensors()
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(y, run_minilite(one.model, one.arrays)[0])


def masks(tokens: int, keys: int, low: float) -> dict[str, Any]:
    """Masks (1, 1, tokens, keys) that exclude keys by `low`, by name."""
    rows, columns = np.arange(tokens)[:, None], np.arange(keys)[None]
    seen = {
        "later keys": columns <= rows + keys - tokens,
        "places not used yet": np.broadcast_to(columns < keys // 3, (tokens, keys)),
        "keys before and after": (columns >= keys // 2) & (columns < keys // 2 + 9),
        "all but one": np.broadcast_to(columns == keys - 1, (tokens, keys)),
        "all keys of a row": (columns <= 5) & (rows != tokens // 2),
        "here and there": np.random.default_rng(1).random((tokens, keys)) < 0.5,
    }
    return {name: np.where(of, 0, low).astype(np.float32)[None, None] for name, of in seen.items()}


@pytest.mark.parametrize(
    "size", [(1, 1, 8, 2, 700, 16), (2, 3, 4, 2, 300, 5), (1, 64, 2, 2, 400, 64), (1, 150, 4, 1, 513, 8)]
)
def test_excluded_keys_are_skipped_without_a_trace(size: tuple[int, ...]) -> None:
    """A mask of -1e29 leaves a key as little as one of -1e30 or of minus infinity, but the first is computed."""
    batch, queries, heads, groups, keys, depth = size
    q, k, v = drawn(3, (batch, queries, heads, depth), (batch, keys, groups, depth), (batch, keys, groups, depth))
    computed = masks(queries, keys, -1e29)
    for low in (-1e30, np.finfo(np.float32).min, -np.inf):
        for name, mask in masks(queries, keys, low).items():
            expected, found = (attention(q, k, v, m).run() for m in (computed[name], mask))
            rows = [i for i in range(queries) if name != "all keys of a row" or i != queries // 2]
            np.testing.assert_array_equal(found[:, rows], expected[:, rows], f"{name}, {low}")


def test_rows_without_keys_have_the_values_of_all() -> None:
    """As softmax of equal scores: the mean, or NaN where the mask is minus infinity."""
    q, k, v = drawn(4, (1, 20, 2, 8), (1, 300, 2, 8), (1, 300, 2, 8))
    for low in (np.finfo(np.float32).min, -np.inf):
        mask = np.zeros((1, 1, 20, 300), np.float32)
        mask[:, :, :, 100:] = low
        mask[:, :, 7] = low
        y = attention(q, k, v, mask).run()[0, 7]
        if np.isinf(low):
            assert np.isnan(y).all()
        else:
            np.testing.assert_allclose(y, v[0].mean(0), atol=1e-6)


def test_excluded_values_that_are_no_numbers_do_no_harm() -> None:
    """A skipped key's NaN does not reach the output, where 0 times NaN would; blocks that see it have it."""
    q, k, v = drawn(5, (1, 1, 2, 8), (1, 512, 2, 8), (1, 512, 2, 8))
    v[0, 400] = np.nan
    mask = masks(1, 512, -np.inf)["places not used yet"]
    assert np.isfinite(attention(q, k, v, mask).run()).all()
    mask[..., 500] = 0
    assert np.isnan(attention(q, k, v, mask).run()).all()
