"""Advises which tensors to bind to the caller's memory so that the arena shrinks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

_MOST_STEPS = 8


class Outlook(NamedTuple):
    """An arena planned without some tensors: its bytes, its lower bound, and at how many nodes that many bytes are
    live."""

    arena_bytes: int
    lower_bound: int
    peaks: int


class BindAdvice(NamedTuple):
    """A tensor to bind, its bytes, and the arena's bytes once it and those before it in the list are bound."""

    tensor: int
    bytes: int
    arena_bytes: int


def _candidates(plan: Any, taken: Sequence[int]) -> list[tuple[int, ...]]:
    """The tensors in the arena, one by one, and all tensors that share one place together."""
    states = [(t, plan.tensor(t)) for t in range(plan.n_tensors)]
    arena = {t: s.root for t, s in states if s.storage == "arena" and s.bytes > 0 and s.offset >= 0 and t not in taken}
    classes: dict[int, list[int]] = {}
    for tensor, root in arena.items():
        classes.setdefault(root, []).append(tensor)
    return [(t,) for t in arena] + [tuple(members) for members in classes.values() if len(members) > 1]


def advise_bind(plan: Any) -> list[BindAdvice]:
    """See `Plan.advise_bind`."""
    start = now = plan.without(())
    advice: list[BindAdvice] = []
    taken: list[int] = []
    for _ in range(_MOST_STEPS):
        if now.arena_bytes < start.arena_bytes:
            break
        sizes = {c: sum(plan.tensor(t).bytes for t in c) for c in _candidates(plan, taken)}
        if not sizes:
            return []
        looks = {c: plan.without([*taken, *c]) for c in sizes}
        best = min(looks, key=lambda c: (looks[c].lower_bound, looks[c].peaks, len(c), sizes[c]))
        if looks[best][1:] >= now[1:] and looks[best].arena_bytes >= now.arena_bytes:
            return []
        for tensor in best:
            taken.append(tensor)
            now = plan.without(taken)
            advice.append(BindAdvice(tensor, plan.tensor(tensor).bytes, now.arena_bytes))
    return advice if now.arena_bytes < start.arena_bytes else []
