"""NON_MAX_SUPPRESSION_V4, _V5: keep only the best of boxes that overlap too much; _V5 also lowers the scores of boxes
that overlap somewhat."""

from __future__ import annotations

import heapq

import numpy as np

from minilite.errors import KernelError, ShapeError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


def _least(a: Array, b: Array) -> Array:
    """The larger one; the first if either is NaN, as in LiteRT."""
    return np.where(b < a, b, a)


def _most(a: Array, b: Array | np.float32) -> Array:
    return np.where(a < b, b, a)


def _overlap(a: Array, b: Array) -> np.float32:
    """The intersection of two boxes, given by any two opposite corners, divided by their union."""
    low_a, high_a, low_b, high_b = (f(x[:2], x[2:]) for x in (a, b) for f in (_least, _most))
    with np.errstate(invalid="ignore", over="ignore"):
        area_a, area_b = (np.prod(high - low) for low, high in ((low_a, high_a), (low_b, high_b)))
        if area_a <= 0 or area_b <= 0:
            return np.float32(0)
        shared = np.prod(_most(_least(high_a, high_b) - _most(low_a, low_b), np.float32(0)))
        return np.float32(shared / (area_a + area_b - shared))


def _selected(
    boxes: Array, scores: Array, most: int, limit: np.float32, least: np.float32, sigma: np.float32
) -> list[tuple[int, np.float32]]:
    """The boxes and their scores, best first; of equal scores, the first box. A selected box becomes a candidate again,
    as in TFLite: it then overlaps itself, unless it has no area."""
    heap = [(-score, i, 0) for i, score in enumerate(scores) if score > least]
    heapq.heapify(heap)
    chosen: list[tuple[int, np.float32]] = []
    most = min(most, len(heap))
    while heap and len(chosen) < most:
        before, box, compared = heapq.heappop(heap)
        score, fits = -before, True
        for other, _ in reversed(chosen[compared:]):
            part = _overlap(boxes[box], boxes[other])
            fits = not part >= limit
            if fits and sigma > 0:
                score = np.float32(score * np.exp(np.float32(-0.5) / sigma * part * part))
            if not fits or score <= least:
                break
        compared = len(chosen)
        if fits and score == -before:
            chosen.append((box, score))
        if fits and score > least:
            heapq.heappush(heap, (-score, box, compared))
    return chosen


@reference(
    "NON_MAX_SUPPRESSION_V4",
    "NON_MAX_SUPPRESSION_V5",
    rounding={
        "": "areas in float32; the factor `exp(-overlap^2 / (2 sigma))`; of equal scores the first box",
    },
)
def nms(
    node: OpNode, boxes: Array, scores: Array, most: Array, limit: Array, least: Array, sigma: Array | None = None
) -> tuple[Array, ...]:
    """Indices, their scores (with sigma), and their number; unused entries are 0."""
    count = int(most.ravel()[0])
    spread = np.float32(0) if sigma is None else sigma.ravel()[0]
    if count < 0:
        message = f"the number to select is {count}, expected 0 or more"
        raise ShapeError(message)
    if spread < 0:
        message = f"sigma is {spread:g}, expected 0 or more"
        raise KernelError(message)
    chosen = _selected(boxes, scores, count, limit.ravel()[0], least.ravel()[0], spread)
    indices, values = np.zeros(count, np.int32), np.zeros(count, np.float32)
    for i, (box, score) in enumerate(chosen):
        indices[i], values[i] = box, score
    found = np.array(len(chosen), np.int32)
    return (indices, found) if len(node.outputs) == 2 else (indices, values, found)
