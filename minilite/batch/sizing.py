"""How many rows to run together: as many as is faster, among batches whose arena stays in the second-level cache."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from minilite.errors import MiniliteError
from minilite.inputs.random_values import random_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minilite.batch.entry import Runner, Shape

_CACHE_BYTES = 1 << 20
"""The second-level cache of a processor that does not say how large it is."""
LARGEST = 64
"""The largest batch that is tried."""
_LONG = 0.01
"""Seconds of a run that gains nothing from company: what a call costs is not felt there."""
_TURNS = 5
_GAIN = 0.95
"""The share of the time of single runs that a batch may take at most to be chosen."""


def cache_bytes() -> int:
    """Bytes of the second-level cache of one core."""
    try:
        return max(os.sysconf("SC_LEVEL2_CACHE_SIZE"), 0) or _CACHE_BYTES
    except (ValueError, OSError, AttributeError):
        return _CACHE_BYTES


def best_batch(
    runner_of: Callable[..., Runner],
    checked: Callable[[int], bool],
    shapes: Mapping[str, Shape],
    most: int,
    max_bytes: int | None,
) -> tuple[int, bool]:
    """The batch that took least time per row, and whether it is for the rewritten model; 1 if none of up to `most`
    rows is right and faster. Raises: what a single run raises."""
    runner = runner_of()
    limit = min(cache_bytes(), max_bytes or cache_bytes())
    try:
        if runner.arena_bytes(shapes) > limit // 2 or (single := _seconds(runner, shapes, 1)) > _LONG:
            return 1, False
        rewritten = checked(2)
    except MiniliteError:
        return 1, False
    runner, n = runner_of(rewritten=rewritten), 2
    best, least = 1, single * _GAIN
    tried = [n]
    while 2 * n <= most and 2 * n * single <= _LONG * 10 and _fits(runner, shapes, 2 * n, limit):
        n *= 2
        tried.append(n)
    for n in tried[-2:]:
        try:
            if checked(n) == rewritten and (each := _seconds(runner, shapes, n) / n) <= least:
                best, least = n, each
        except MiniliteError:
            break
    return best, best > 1 and rewritten


def _at(shapes: Mapping[str, Shape], n: int) -> dict[str, Shape]:
    return {name: (n, *shape[1:]) for name, shape in shapes.items()}


def _fits(runner: Runner, shapes: Mapping[str, Shape], n: int, limit: int) -> bool:
    try:
        return runner.arena_bytes(_at(shapes, n)) <= limit
    except MiniliteError:
        return False


def _seconds(runner: Runner, shapes: Mapping[str, Shape], n: int) -> float:
    """The least time that a run took, after one that is not counted."""
    import numpy as np

    rng = np.random.default_rng(0)
    arrays = {name: random_values(t, _at(shapes, n)[name], rng) for name, t in runner.entry.inputs.items()}
    runner.run(arrays)
    found = []
    for _ in range(_TURNS):
        begun = time.perf_counter()
        runner.run(arrays)
        found.append(time.perf_counter() - begun)
    return min(found)
