"""The tables of Pisarchyk & Lee recomputed, six networks by strategy, in MiB: ``python -m asv_bench.benchmarks.paper``.

Source: Y. Pisarchyk, J. Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020). The problems are those
of the real graphs, in MiniMalloc's format beside this module: intermediates only, raw bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minilite.memory import UsageRecord

MIB = 1 << 20
NETWORKS = {
    "mobilenet_v1": "MobileNet v1",
    "mobilenet_v2": "MobileNet v2",
    "deeplab_v3": "DeepLab v3",
    "inception_v3": "Inception v3",
    "posenet": "PoseNet",
    "blazeface": "BlazeFace",
}
SHARED_OBJECTS = (
    "shared_greedy_by_size",
    "shared_greedy_by_size_improved",
    "shared_greedy_by_breadth",
    "greedy_in_order",
    "min_cost_flow",
    "equality",
)
OFFSETS = ("greedy_by_size", "greedy_by_breadth", "strip_packing", "tflm", "tflite", "default", "naive")


def problem(network: str) -> list[UsageRecord]:
    """The records of one of NETWORKS."""
    from minilite.memory import read_csv  # modules of suites are imported where minilite is not installed

    return read_csv(Path(__file__).with_name("networks") / f"{network}.csv")


def cells(strategies: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """Arena bytes by strategy and network."""
    from minilite.memory import plan

    problems = {network: problem(network) for network in NETWORKS}
    return {
        strategy: {network: plan(records, strategy, 1).arena_bytes for network, records in problems.items()}
        for strategy in strategies
    }


def bounds(*, shared_objects: bool) -> dict[str, int]:
    """The lower bound of each network, for plans by offsets or by shared objects."""
    from minilite.memory import lower_bound, shared_objects_bound

    bound = shared_objects_bound if shared_objects else lower_bound
    return {network: bound(problem(network), 1) for network in NETWORKS}


def text(title: str, rows: dict[str, dict[str, int]]) -> str:
    """A table; `*` marks cells that meet the lower bound, the last row."""
    last = list(rows)[-1]
    lines = [f"{title:32}" + "".join(f"{name:>14}" for name in NETWORKS.values())]
    for label, row in rows.items():
        marks = ["*" if label != last and row[network] == rows[last][network] else " " for network in NETWORKS]
        figures = (f"{row[network] / MIB:13.3f}{mark}" for network, mark in zip(NETWORKS, marks, strict=True))
        lines.append((f"{label:32}" + "".join(figures)).rstrip())
    return "\n".join(lines)


def main() -> None:
    """Prints both tables."""
    shared = {**cells((*SHARED_OBJECTS, "naive")), "lower bound": bounds(shared_objects=True)}
    offsets = {**cells(OFFSETS), "lower bound": bounds(shared_objects=False)}
    print(text("Shared objects, MiB", shared), text("Offsets, MiB", offsets), sep="\n\n")


if __name__ == "__main__":
    main()
