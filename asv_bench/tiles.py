"""Measures what tiles bring and cost: the arena with and without, the work, and the times of both, interleaved.

usage: python -m asv_bench.tiles [--work 0.1] [--seconds 1] [MODEL ...]

Without MODEL it takes the 30 models of ../shared/models with the largest arenas. Each is planned for the smallest arena
that at most so much more work reaches (a share of the model's multiply-adds). A line says the arena as a share of the
bound without tiles, the share of more work, how many times as long a run takes (fastest runs, and medians), the grids,
and whether the outputs are equal, bit for bit. Last come geometric means.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from asv_bench.benchmarks import timing
from minilite import Interpreter, MiniliteError
from minilite._native.tiles import find_tiles
from minilite.cli.feeding import set_inputs

ROUNDS, MOST_MODELS, MOST_BYTES = 9, 30, 1 << 34
MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"


class Measured(NamedTuple):
    """A model with tiles beside the same one without."""

    name: str
    arena: float
    work: float
    fastest: float
    medians: float
    grids: tuple[tuple[int, int], ...]
    equal: bool

    @property
    def rows_only(self) -> bool:
        """True if no grid cuts columns."""
        return all(columns == 1 for _, columns in self.grids)


def ready(path: Path, max_arena: int | None = None) -> Interpreter:
    interpreter = Interpreter(path, max_bytes=MOST_BYTES, max_arena=max_arena)
    interpreter.allocate_tensors()
    set_inputs(interpreter, {}, 0)
    interpreter.invoke()
    return interpreter


def outputs(interpreter: Interpreter) -> list[bytes]:
    return [interpreter.get_tensor(detail["index"]).tobytes() for detail in interpreter.get_output_details()]


def measured(path: Path, most_work: float, seconds: float) -> Measured | None:
    """None if no tiles make the arena smaller."""
    whole = ready(path)
    assert whole.plan is not None
    found = find_tiles(whole.plan, 0, most_work)
    if not found.groups:
        return None
    tiled = ready(path, found.bound)
    plan = tiled.plan
    assert plan is not None
    groups = plan.tiles()
    equal = outputs(whole) == outputs(tiled)
    slices = round(seconds * 1e9 / (2 * ROUNDS))
    times = timing.in_turn((whole.invoke, tiled.invoke), ROUNDS, slices, time.thread_time_ns)
    return Measured(
        path.stem,
        plan.arena_bytes / found.untiled,
        sum(group.more for group in groups) / found.work,
        min(times[1]) / min(times[0]),
        statistics.median(times[1]) / statistics.median(times[0]),
        tuple((group.rows, group.columns) for group in groups),
        equal,
    )


def largest(folder: Path) -> list[Path]:
    """The models with the largest arenas."""
    arenas = {}
    for path in sorted(folder.glob("*.tflite")):
        try:
            arenas[path] = Interpreter(path, max_bytes=MOST_BYTES).plan_for({}).arena_bytes
        except MiniliteError:
            continue
    return sorted(arenas, key=lambda path: -arenas[path])[:MOST_MODELS]


def means(found: Sequence[Measured]) -> str:
    rows = [one for one in found if one.rows_only]
    mean = statistics.geometric_mean
    return (
        f"{len(found)} with tiles: arena {mean([one.arena for one in found]):.3f}, at most 0.6 in "
        f"{sum(one.arena <= 0.6 for one in found)}; time {mean([one.fastest for one in found]):.3f}"
        + (f", {mean([one.fastest for one in rows]):.3f} where only rows are cut ({len(rows)})" if rows else "")
        + f"; outputs differ in {sum(not one.equal for one in found)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=Path)
    parser.add_argument("--work", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each model")
    options = parser.parse_args()
    found = []
    for path in options.models or largest(MODELS):
        one = measured(path, options.work, options.seconds)
        if one is None:
            print(f"{path.stem}: no tiles")
            continue
        found.append(one)
        grids = " ".join(f"{rows}x{columns}" for rows, columns in one.grids)
        print(
            f"{one.name}: arena {one.arena:.3f}, work +{one.work:.3f}, time {one.fastest:.3f} (medians "
            f"{one.medians:.3f}), {grids}" + ("" if one.equal else ", OUTPUTS DIFFER"),
            flush=True,
        )
    if found:
        print(means(found))


if __name__ == "__main__":
    main()
