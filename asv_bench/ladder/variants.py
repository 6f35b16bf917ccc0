"""Builds and runs the variants of the ladder, and counts their instructions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import callgrind
from minilite.progress import progress

HERE = Path(__file__).resolve().parent
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
PHASES = {
    "order": ("find_order",),
    "deallocate": ("deallocate_before", "ladder_reset_allocations_after"),
    "allocate": ("allocate_order",),
    "resolve": ("resolve_order",),
}
"""The functions of each phase of the planner."""
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
    """A variant's costs."""

    phases: dict[str, float]
    """Thousands of instructions per run."""
    scanned: int
    """Records looked at in all runs; `tensors` likewise."""
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


def run(program: Path, problem: str, runs: int, tool: Sequence[str] = ()) -> dict[str, Any]:
    """Numbers that one call of a variant prints: records and tensors looked at in all runs after the first one."""
    command = [*tool, str(program), str(runs)]
    done = subprocess.run(command, input=problem, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _instructions(program: Path, problem: str, runs: int) -> dict[str, int]:
    """Instructions by phase, of the first run and `runs` more."""
    out = program.with_suffix(".callgrind")
    run(program, problem, runs, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"])
    profile = callgrind.parse(out.read_text())
    taken: dict[str, int] = defaultdict(int)
    for callees in profile.calls.values():
        for (_, name), cost in callees.items():
            taken[name] += cost
    return {phase: sum(taken[name] for name in names) for phase, names in PHASES.items()}


def measure_one(program: Path, problem: str, runs: int) -> Measured:
    """The instructions of all runs but the first, which are those of a process with them less those of one without."""
    row = run(program, problem, runs)
    with_runs, without = (_instructions(program, problem, count) for count in (runs, 0))
    phases = {phase: (with_runs[phase] - without[phase]) / runs / 1000 for phase in PHASES}
    return Measured(phases, *(int(row[name]) for name in ("scanned", "tensors", "digest", "high_water")))


def measure(folder: Path, problem: str, runs: int) -> dict[tuple[int, str], Measured]:
    """Every step with every store, by (step, store). Raises: RuntimeError without a compiler or valgrind."""
    if shutil.which("valgrind") is None:
        message = "no valgrind, which counts the instructions"
        raise RuntimeError(message)
    keys = [(step, store) for step in range(len(STEPS)) for store in STORES]
    return {key: measure_one(build(folder, *key), problem, runs) for key in progress(keys, "variant")}
