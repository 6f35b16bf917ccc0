"""Lower bounds of a planning problem, computed independently of strategies and of the C core.

A *profile* is the list of sizes live at one node, largest first; its sum is the node's *breadth*. No plan by offsets is
smaller than the largest breadth. If tensors share whole objects, no set of objects is smaller than the sum of the
*positional maxima*: the largest of all profiles' first sizes, plus the largest of their second sizes, and so on.

Source: Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from minilite.memory.records import UsageRecord, checked_records


class Section(NamedTuple):
    """Nodes `first` to `last` (inclusive), over which the same records are live; `live` holds their positions."""

    first: int
    last: int
    live: tuple[int, ...]
    breadth: int


def rounded(size: int, alignment: int) -> int:
    """`size` rounded up to the alignment."""
    return -(-size // alignment) * alignment


def sections(records: Sequence[UsageRecord], alignment: int = 64) -> list[Section]:
    """The time axis cut where records begin and end, in order; gaps where nothing is live are left out.
    Raises: InputError."""
    records, alignment = checked_records(records, alignment)
    events: dict[int, list[int]] = {}
    for position, record in enumerate(records):
        events.setdefault(record.first_node, []).append(position)
        events.setdefault(record.last_node + 1, []).append(position)
    live: list[int] = []
    breadth = 0
    cuts = sorted(events)
    found = []
    for node, until in pairwise(cuts):
        for position in events[node]:
            record = records[position]
            size = rounded(record.size, alignment)
            if record.first_node == node:
                insort(live, position)
                breadth += size
            else:
                del live[bisect_left(live, position)]
                breadth -= size
        if live:
            found.append(Section(node, until - 1, tuple(live), breadth))
    return found


def lower_bound(records: Iterable[UsageRecord], alignment: int = 64) -> int:
    """The largest sum of rounded sizes that are live at once: no plan by offsets is smaller. O(n log n).
    Raises: InputError."""
    rows, alignment = checked_records(records, alignment)
    changes: dict[int, int] = {}
    for record in rows:
        size = rounded(record.size, alignment)
        changes[record.first_node] = changes.get(record.first_node, 0) + size
        changes[record.last_node + 1] = changes.get(record.last_node + 1, 0) - size
    most = breadth = 0
    for node in sorted(changes):
        breadth += changes[node]
        most = max(most, breadth)
    return most


def positional_maxima(records: Sequence[UsageRecord], alignment: int = 64) -> list[int]:
    """For each i, the largest of all nodes' i-th largest sizes."""
    records, alignment = checked_records(records, alignment)
    cut = sections(records, alignment)
    sizes = [rounded(record.size, alignment) for record in records]
    maxima: list[int] = []
    for section in cut:
        profile = sorted((sizes[position] for position in section.live), reverse=True)
        maxima = [max(pair) for pair in zip_longest(maxima, profile, fillvalue=0)]
    return [size for size in maxima if size]


def shared_objects_bound(records: Sequence[UsageRecord], alignment: int = 64) -> int:
    """The sum of the positional maxima: no set of shared objects is smaller."""
    return sum(positional_maxima(records, alignment))
