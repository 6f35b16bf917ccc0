"""Usage records: what a planning problem is made of."""

from __future__ import annotations

from typing import NamedTuple


class UsageRecord(NamedTuple):
    """A tensor's claim on memory: `size` bytes from `first_node` to `last_node`, both inclusive."""

    tensor: int
    size: int
    first_node: int
    last_node: int
