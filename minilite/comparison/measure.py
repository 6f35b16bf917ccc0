"""How far two arrays are apart: errors in real numbers, cosine, and steps of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.engine.float_values import floats
from minilite.format.dtypes import TensorType
from minilite.ops_shared.bfloat16 import widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minilite.format.model import Array, Tensor

_EXACT_STEPS = 4
"""Steps up to which a histogram counts each one by itself; further out, each bin is twice as wide."""
_BITS_ALONE = (TensorType.FLOAT8_E4M3FN, TensorType.FLOAT8_E5M2, TensorType.RESOURCE, TensorType.VARIANT)
"""Types whose arrays are bits and not numbers."""


class Bin(NamedTuple):
    """Elements whose integers are from `least` to `most` steps apart, both ends inclusive; the second minus the
    first."""

    least: int
    most: int
    elements: int


class Difference(NamedTuple):
    """Two tensors of one shape, in real numbers: quantized ones by their scales and zero points."""

    elements: int
    differing: int
    """Elements that are not equal; NaN equals NaN."""
    largest: float
    """The largest absolute error; infinite where one is NaN or infinite and the other is not the same."""
    mean: float
    """The mean absolute error."""
    relative: float
    """The norm of the error divided by the norm of the first; 0 where both are 0."""
    cosine: float
    """Of the angle between the two; NaN where either is 0 everywhere or not finite."""
    magnitude: float
    """The largest finite absolute value of either."""
    at: tuple[int, ...]
    """Index of the largest error."""
    values: tuple[Any, Any]
    """The two values there."""
    is_exact: bool
    """Numbers that stand for themselves (indices, counts, booleans) or strings: near is not good enough."""
    steps: tuple[Bin, ...] = ()
    """For integers of one type and scale: how many elements are how many steps apart."""


def difference(tensors: tuple[Tensor, Tensor], arrays: tuple[Array, Array]) -> Difference:
    """How far two arrays of one shape are apart, by the types and quantization of their tensors."""
    a, b = arrays
    kinds = tensors[0].type, tensors[1].type
    if a.dtype == object or b.dtype == object or kinds[0] in _BITS_ALONE or kinds[1] in _BITS_ALONE:
        return _unlike(a, b)
    real = _real(tensors[0], a), _real(tensors[1], b)
    same = kinds[0] == kinds[1] and tensors[0].quantization == tensors[1].quantization
    whole = [x.dtype.kind in "iub" and t.type != TensorType.BFLOAT16 for t, x in zip(tensors, arrays, strict=True)]
    found = _numbers(*real, exact=all(whole) and not any(t.quantization.scales for t in tensors))
    return found._replace(steps=_histogram(a, b)) if same and all(whole) and a.dtype != bool else found


def _real(tensor: Tensor, array: Array) -> Array:
    """The real numbers, as float64 or complex128."""
    if tensor.type == TensorType.BFLOAT16:
        array = widened(array)
    array = floats(tensor, array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _numbers(a: Array, b: Array, *, exact: bool) -> Difference:
    if not a.size:
        return Difference(0, 0, 0.0, 0.0, 0.0, 1.0, 0.0, (), (None, None), exact)
    with np.errstate(invalid="ignore", over="ignore"):
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        errors = np.where(equal, 0.0, np.abs(b - a))
        errors = np.where(np.isnan(errors), np.inf, errors)
        finite = np.isfinite(a) & np.isfinite(b)
        norm_a, norm_b, apart = (float(np.linalg.norm(x[finite])) for x in (a, b, b - a))
        product = float(np.vdot(a[finite], b[finite]).real)
        sizes = np.maximum(np.abs(a), np.abs(b))
    largest = int(errors.argmax())
    at = tuple(int(i) for i in np.unravel_index(largest, a.shape))
    all_finite = np.isfinite(errors).all()
    cosine = min(product / (norm_a * norm_b), 1.0) if norm_a and norm_b and all_finite else float("nan")
    relative = apart / norm_a if norm_a else (0.0 if not apart else float("inf"))
    return Difference(
        a.size,
        int(a.size - np.count_nonzero(equal)),
        float(errors.flat[largest]),
        float(errors.mean()),
        relative if all_finite else float("inf"),
        cosine,
        float(sizes[np.isfinite(sizes)].max(initial=0.0)),
        at,
        (a[at].item(), b[at].item()),
        exact,
    )


def _unlike(a: Array, b: Array) -> Difference:
    """Values that have no distance: strings, bits."""
    differs = np.asarray(a != b)
    count = int(np.count_nonzero(differs))
    if not count:
        return Difference(a.size, 0, 0.0, 0.0, 0.0, 1.0, 0.0, (), (None, None), True)
    at = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), a.shape))
    share = count / a.size
    return Difference(a.size, count, float("inf"), share, float("inf"), float("nan"), 0.0, at, (a[at], b[at]), True)


def _histogram(a: Array, b: Array) -> tuple[Bin, ...]:
    """Elements by steps, from the most negative bin that has any to the most positive one."""
    steps, counts = np.unique(b.astype(np.int64) - a.astype(np.int64), return_counts=True)
    bins: dict[tuple[int, int], int] = {}
    for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
        least, most = _bounds(abs(step))
        key = (least, most) if step >= 0 else (-most, -least)
        bins[key] = bins.get(key, 0) + count
    return tuple(Bin(*key, bins[key]) for key in sorted(bins))


def _bounds(step: int) -> tuple[int, int]:
    """The bin of a step that is not negative: 0, 1, 2, 3, 4, 5 to 8, 9 to 16, ..."""
    if step <= _EXACT_STEPS:
        return step, step
    most = 1 << (step - 1).bit_length()
    return most // 2 + 1, most


def steps_text(steps: Sequence[Bin]) -> str:
    """``-1: 3, 0: 990, 1: 7``."""
    return ", ".join(f"{b.least if b.least == b.most else f'{b.least}..{b.most}'}: {b.elements}" for b in steps)
