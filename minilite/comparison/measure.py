"""Measures the difference of two arrays: errors in real numbers, cosine, and steps of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.engine.float_values import floats
from minilite.format.dtypes import TensorType
from minilite.ops_shared.bfloat16 import widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minilite.format.model import Array, Tensor

_MOST_SCORES = 2000
_EXACT_STEPS = 4
"""The steps that have bins of their own in a histogram; beyond, each bin is twice as wide as the one before."""
_BITS_ALONE = (TensorType.FLOAT8_E4M3FN, TensorType.FLOAT8_E5M2, TensorType.RESOURCE, TensorType.VARIANT)
"""Types whose arrays have bits in place of numbers."""


class Bin(NamedTuple):
    """The number of elements whose integers differ by `least` to `most` steps, both ends inclusive; the second minus
    the first."""

    least: int
    most: int
    elements: int


class Difference(NamedTuple):
    """The difference of two tensors of one shape in real numbers: quantized ones by their scales and zero points."""

    elements: int
    differing: int
    """The number of elements that are not equal; NaN equals NaN."""
    largest: float
    """The largest absolute error; infinite if one value is NaN or infinite and the other is not the same."""
    mean: float
    """The mean absolute error."""
    relative: float
    """The norm of the error divided by the norm of the first; 0 where both are 0."""
    cosine: float
    """The cosine of the angle between the two; NaN if either is 0 everywhere or not finite."""
    magnitude: float
    """The largest finite absolute value of both."""
    at: tuple[int, ...]
    """The index of the largest error."""
    values: tuple[Any, Any]
    """The two values at that index."""
    is_exact: bool
    """True for indices, counts, booleans and strings, which must be equal."""
    steps: tuple[Bin, ...] = ()
    """A histogram of the steps between integers of one type and scale."""


def difference(tensors: tuple[Tensor, Tensor], arrays: tuple[Array, Array]) -> Difference:
    """Measures the difference of two arrays of one shape, by the types and quantization of their tensors."""
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
    """Returns the real numbers, as float64 or complex128."""
    if tensor.type == TensorType.BFLOAT16:
        array = widened(array)
    array = floats(tensor, array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def scores(tensors: tuple[Tensor, Tensor], arrays: tuple[Array, Array]) -> tuple[tuple[float, float], ...]:
    """Returns the real numbers of two arrays in pairs; empty for more than _MOST_SCORES, and for other values."""
    if any(array.dtype.kind not in "fiub" or array.size > _MOST_SCORES for array in arrays):
        return ()
    a, b = (_real(tensor, array).reshape(-1).tolist() for tensor, array in zip(tensors, arrays, strict=True))
    return tuple(zip(a, b, strict=True))


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
    """Compares values that have no distance: strings, bits."""
    differs = np.asarray(a != b)
    count = int(np.count_nonzero(differs))
    if not count:
        return Difference(a.size, 0, 0.0, 0.0, 0.0, 1.0, 0.0, (), (None, None), True)
    at = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), a.shape))
    share = count / a.size
    return Difference(a.size, count, float("inf"), share, float("inf"), float("nan"), 0.0, at, (a[at], b[at]), True)


def _histogram(a: Array, b: Array) -> tuple[Bin, ...]:
    """Counts elements by steps, from the most negative bin that has any to the most positive one."""
    steps, counts = np.unique(b.astype(np.int64) - a.astype(np.int64), return_counts=True)
    bins: dict[tuple[int, int], int] = {}
    for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
        least, most = _bounds(abs(step))
        key = (least, most) if step >= 0 else (-most, -least)
        bins[key] = bins.get(key, 0) + count
    return tuple(Bin(*key, bins[key]) for key in sorted(bins))


def _bounds(step: int) -> tuple[int, int]:
    """Returns the ends of the bin of a step that is not negative: 0, 1, 2, 3, 4, 5 to 8, 9 to 16, ..."""
    if step <= _EXACT_STEPS:
        return step, step
    most = 1 << (step - 1).bit_length()
    return most // 2 + 1, most


def steps_text(steps: Sequence[Bin]) -> str:
    """Returns the histogram as text: ``-1: 3, 0: 990, 1: 7``."""
    return ", ".join(f"{b.least if b.least == b.most else f'{b.least}..{b.most}'}: {b.elements}" for b in steps)
