"""Chooses how many rows to run together: the fastest batch whose arena stays in the second-level cache."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from minilite.errors import MiniliteError
from minilite.inputs.random_values import random_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minilite.batch.entry import Runner, Shape

_CACHE_BYTES = 1 << 20
"""Bytes assumed for the second-level cache if the processor does not report its size."""
LARGEST = 64
"""The largest batch that is tried."""
_LONG = 0.01
"""Seconds from which on a run is too long for a batch to help: the cost of a call no longer matters."""
_TURNS = 5
_GAIN = 0.95
"""A batch is chosen only if it takes at most this share of the time of single runs."""


def cache_bytes() -> int:
    """Returns the bytes of one core's second-level cache."""
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
    """Returns the batch that took the least time per row, and whether it needs the rewritten model; 1 if no batch of up
    to `most` rows is right and faster. Raises: what a single run raises."""
    runner = runner_of()
    limit = min(cache_bytes(), max_bytes or cache_bytes())
    try:
        if runner.arena_bytes(shapes) > limit // 2 or (single := _seconds([(runner, 1)], shapes)[0]) > _LONG:
            return 1, False
        rewritten = checked(2)
    except MiniliteError:
        return 1, False
    batches, n = runner_of(rewritten=rewritten), 2
    tried = [n]
    while 2 * n <= most and 2 * n * single <= _LONG * 10 and _fits(batches, shapes, 2 * n, limit):
        n *= 2
        tried.append(n)
    tried = [n for n in tried[-2:] if _is_right(checked, n, rewritten=rewritten)]
    try:
        single, *times = _seconds([(runner, 1), *((batches, n) for n in tried)], shapes)
    except MiniliteError:
        return 1, False
    least, best = min(((taken / n, n) for taken, n in zip(times, tried, strict=True)), default=(single, 1))
    return (best, rewritten) if least <= single * _GAIN else (1, False)


def _is_right(checked: Callable[[int], bool], n: int, *, rewritten: bool) -> bool:
    try:
        return checked(n) == rewritten
    except MiniliteError:
        return False


def _at(shapes: Mapping[str, Shape], n: int) -> dict[str, Shape]:
    return {name: (n, *shape[1:]) for name, shape in shapes.items()}


def _fits(runner: Runner, shapes: Mapping[str, Shape], n: int, limit: int) -> bool:
    try:
        return runner.arena_bytes(_at(shapes, n)) <= limit
    except MiniliteError:
        return False


def _seconds(batches: Sequence[tuple[Runner, int]], shapes: Mapping[str, Shape]) -> list[float]:
    """Returns the least seconds that a run took, by batch. The batches run in turn, so that other programs slow all of
    them alike."""
    import numpy as np

    rng = np.random.default_rng(0)
    arrays = [
        {name: random_values(t, _at(shapes, n)[name], rng) for name, t in runner.entry.inputs.items()}
        for runner, n in batches
    ]
    found = [float("inf")] * len(batches)
    for _ in range(_TURNS):
        for at, (runner, _) in enumerate(batches):
            runner.run(arrays[at])  # not timed, because it may plan
            begun = time.perf_counter()
            runner.run(arrays[at])
            found[at] = min(found[at], time.perf_counter() - begun)
    return found
