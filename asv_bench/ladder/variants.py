"""Builds and runs the variants of the ladder."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
PHASES = ("order", "deallocate", "allocate", "resolve")
STORES = ("vector", "list", "tree")


class Step(NamedTuple):
    """A step of the ladder, and what the article says of it."""

    title: str
    article: str
    share: float | None
    """The planner's share of run time in the article once this step was made, in percent."""


STEPS = (
    Step("tensors and counts behind calls", "54.3 % of run time", 54.3),
    Step("counts cached, tensors in an array", "run time -25 %", None),
    Step("tensors by node", "ordering 4.8 % -> 0.8 %", None),
    Step("only changed pointers resolved", "resolving 10.9 % -> gone; 49.9 % left", 49.9),
    Step("deallocation in one pass", "11 %", 11.0),
    Step("dead records purged", "6 %", 6.0),
)


class Measured(NamedTuple):
    """A variant's costs per run of the graph, in microseconds."""

    phases: dict[str, float]
    kernels: float
    scanned: int
    """Records looked at in all runs of a round; `tensors` likewise."""
    tensors: int
    digest: int
    """The same for variants that gave every tensor the same offset in every run."""
    high_water: int

    @property
    def planner(self) -> float:
        """All phases together."""
        return sum(self.phases.values())


def compiler() -> str | None:
    """The C compiler: CC, else cc, gcc or clang; None when there is none."""
    names = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


def build(folder: Path, step: int, store: str = "vector") -> Path:
    """Builds one variant into a folder. Raises: RuntimeError without a compiler, subprocess.CalledProcessError."""
    command = compiler()
    if command is None:
        message = "no C compiler: neither CC nor cc, gcc or clang"
        raise RuntimeError(message)
    target = folder / f"ladder_{step}_{store}"
    chosen = (f"-DLADDER_STEP={step}", f"-DLADDER_STORE_{store.upper()}")
    sources = [str(path) for path in sorted(HERE.glob("*.c"))]
    subprocess.run([command, *FLAGS, *chosen, *sources, "-o", str(target)], check=True)
    return target


def run(program: Path, problem: str, runs: int) -> dict[str, Any]:
    """What one call of a variant prints: nanoseconds by run and phase, kernels last; what was looked at in all runs."""
    done = subprocess.run([str(program), str(runs)], input=problem, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _least(rounds: Sequence[dict[str, Any]]) -> Measured:
    """Of each run, which has the same sizes in every round, the least that a round took for each phase; the mean over
    runs."""
    least = [
        [min(costs) for costs in zip(*same, strict=True)] for same in zip(*(row["runs"] for row in rounds), strict=True)
    ]
    *phases, kernels = (statistics.mean(costs) / 1000 for costs in zip(*least, strict=True))
    last = rounds[-1]
    counted = (int(last[name]) for name in ("scanned", "tensors", "digest", "high_water"))
    return Measured(dict(zip(PHASES, phases, strict=True)), kernels, *counted)


def measure(folder: Path, problem: str, runs: int, rounds: int) -> dict[tuple[int, str], Measured]:
    """Every step with every store, by (step, store), taking turns."""
    programs = {(step, store): build(folder, step, store) for step in range(len(STEPS)) for store in STORES}
    rows: dict[tuple[int, str], list[dict[str, Any]]] = {key: [] for key in programs}
    for _ in range(rounds):
        for key, program in programs.items():
            rows[key].append(run(program, problem, runs))
    return {key: _least(found) for key, found in rows.items()}
