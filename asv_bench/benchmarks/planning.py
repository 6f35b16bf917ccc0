"""Memory planning alone: both tables of Pisarchyk & Lee, how far each strategy is above the bound, and the cost of a
pass."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np

from . import common

NETWORKS = ("mobilenet_v1", "mobilenet_v2", "deeplab_v3", "inception_v3", "posenet", "blazeface")


@common.suite
class SharedObjects:
    """The article's first table: bytes that a strategy's objects take."""

    params: Any = (
        (
            "shared_greedy_by_size",
            "shared_greedy_by_size_improved",
            "shared_greedy_by_breadth",
            "greedy_in_order",
            "min_cost_flow",
            "equality",
        ),
        NETWORKS,
    )
    param_names = ("strategy", "network")
    deterministic = True
    bound = "shared_objects_bound"

    def setup(self, _: str, network: str) -> None:
        with common.since("0.4.0"):
            from minilite import memory

            from . import paper

            self.plan, self.least = memory.plan, getattr(memory, self.bound)
            self.records = paper.problem(network)

    def track_bytes(self, strategy: str, _: str) -> int:
        return int(self.plan(self.records, strategy, 1).arena_bytes)

    def track_over_lower_bound(self, strategy: str, _: str) -> float:
        return self.track_bytes(strategy, _) / int(self.least(self.records, 1))

    track_bytes.unit = "bytes"  # type: ignore[attr-defined]
    track_over_lower_bound.unit = "ratio"  # type: ignore[attr-defined]


class Offsets(SharedObjects):
    """The article's second table: bytes of the arena."""

    params = (
        ("greedy_by_size", "greedy_by_breadth", "strip_packing", "tflm", "tflite", "default", "naive"),
        NETWORKS,
    )
    bound = "lower_bound"


@common.suite
class Memories:
    """Two memories, of which the fast one has a part of the lower bound: the share of bytes moved to and from the slow
    one, and the time."""

    params: Any = ((2, 4), NETWORKS)
    param_names = ("part", "network")
    deterministic = True

    def setup(self, part: int, network: str) -> None:
        with common.since("0.16.0"):
            from minilite import memory

            from . import paper

            self.plan, self.records = memory.plan_memories, paper.problem(network)
            bound = memory.lower_bound(self.records, 1)
            self.memories = [memory.Memory("fast", bound // part, None, 1), memory.Memory("slow", 4 * bound, None, 1)]

    def track_slow_share(self, *_: Any) -> float:
        made = self.plan(self.records, self.memories)
        return float(made.cost / sum(made.traffic))

    def time_plan(self, *_: Any) -> None:
        self.plan(self.records, self.memories)

    track_slow_share.unit = "ratio"  # type: ignore[attr-defined]


class Pass:
    """One plan of random records, a tenth of them live at once: records in, offsets out, through the seam."""

    params = (("default", "greedy_by_size", "tflite", "strip_packing"), (32, 126, 430))
    param_names = ("strategy", "records")

    def setup(self, _: str, records: int) -> None:
        draw = random.Random(records)
        starts = [draw.randrange(records) for _ in range(records)]
        with common.since("0.4.0"):
            from minilite import memory

            self.plan = memory.plan
            self.records = [
                memory.UsageRecord(i, draw.randrange(1, 1 << 20), first, first + draw.randrange(records // 10))
                for i, first in enumerate(starts)
            ]

    def time_plan(self, strategy: str, _: int) -> None:
        self.plan(self.records, strategy)


@common.suite
class Tiles:
    """A model of images that runs patch by patch in half its arena, and one that does not."""

    params: Any = (("whole", "tiles"),)
    param_names = ("runs",)

    def setup(self, runs: str) -> None:
        with common.since("0.17.0"):
            import minilite

            content = common.conv_net(64)
            whole = minilite.Interpreter(model_content=content)
            whole.allocate_tensors()
            most = whole.arena_bytes // 2 if runs == "tiles" else None
            self.interpreter = minilite.Interpreter(model_content=content, max_arena=most)
            self.interpreter.allocate_tensors()
            self.sides = itertools.cycle(range(56, 73))

    def time_invoke(self, _: str) -> None:
        self.interpreter.invoke()

    def time_plan_for(self, _: str) -> None:
        """Another size each time; the tiles of the one before are tried first."""
        self.interpreter.plan_for({0: (1, next(self.sides), 64, 3)})

    def track_arena_bytes(self, _: str) -> int:
        return int(self.interpreter.arena_bytes)

    track_arena_bytes.unit = "bytes"  # type: ignore[attr-defined]


@common.suite
class ManyRecords:
    """Very many records from arrays: their sizes are lognormal, so that few are large. "short" ones live for 200 nodes
    on average; of "long" ones a tenth live for over a quarter of the time, the others for 20 nodes."""

    params: Any = (("short", "long"), (10_000, 100_000))
    param_names = ("lives", "records")
    timeout = 300

    def setup(self, lives: str, records: int) -> None:
        draw = np.random.default_rng(1)
        first = np.arange(records)
        life = draw.exponential(200 if lives == "short" else 20, records).astype(np.int64)
        if lives == "long":
            life[::10] = draw.integers(records // 4, records, records // 10)
        sizes = draw.lognormal(10, 2, records).astype(np.int64) + 1
        with common.since("0.16.0"):
            from minilite import memory

            self.memory, self.columns = memory, (sizes, first, first + life)
            self.made = memory.plan_arrays(*self.columns)

    def time_plan(self, *_: object) -> None:
        self.memory.plan_arrays(*self.columns)

    def time_check(self, *_: object) -> None:
        self.memory.check_arrays(*self.columns, self.made.offsets)

    def track_over_lower_bound(self, *_: object) -> float:
        return float(self.made.arena_bytes / self.made.lower_bound)

    track_over_lower_bound.unit = "ratio"  # type: ignore[attr-defined]
