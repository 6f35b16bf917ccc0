"""Memory planning alone: both tables of Pisarchyk & Lee, how far each strategy is over the bound, and what a pass costs."""

from __future__ import annotations

import random

from minilite import memory
from minilite.memory import tables


class SharedObjects:
    """The article's first table: bytes that a strategy's objects take."""

    params = (tables.SHARED_OBJECTS, tuple(tables.NETWORKS))
    param_names = ("strategy", "network")
    strategies_bound = staticmethod(memory.shared_objects_bound)

    def setup(self, _: str, network: str) -> None:
        self.records = tables.problem(network)

    def track_bytes(self, strategy: str, _: str) -> int:
        return memory.plan(self.records, strategy, 1).arena_bytes

    def track_over_lower_bound(self, strategy: str, _: str) -> float:
        return memory.plan(self.records, strategy, 1).arena_bytes / self.strategies_bound(self.records, 1)

    track_bytes.unit = "bytes"  # type: ignore[attr-defined]
    track_over_lower_bound.unit = "ratio"  # type: ignore[attr-defined]


class Offsets(SharedObjects):
    """The article's second table: bytes of the arena."""

    params = (tables.OFFSETS, tuple(tables.NETWORKS))
    strategies_bound = staticmethod(memory.lower_bound)


class Pass:
    """One plan of random records, a tenth of them live at once: records in, offsets out, through the seam."""

    params = (("default", "greedy_by_size", "tflite", "strip_packing"), (32, 126, 430))
    param_names = ("strategy", "records")

    def setup(self, _: str, records: int) -> None:
        draw = random.Random(records)
        starts = [draw.randrange(records) for _ in range(records)]
        self.records = [
            memory.UsageRecord(i, draw.randrange(1, 1 << 20), first, first + draw.randrange(records // 10))
            for i, first in enumerate(starts)
        ]

    def time_plan(self, strategy: str, _: int) -> None:
        memory.plan(self.records, strategy)
