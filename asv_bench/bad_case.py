"""Profiles the bad case of the article on TFLite's arena: where runs whose dynamic shapes change spend their time.

usage: python -m asv_bench.bad_case [VERSION ...] [--graph bare|layers] [--nodes 200] [--svg FOLDER] [--against COMMIT]

Each version (those of versions.txt, any commit, or WORKING_TREE; 0.1.0 and WORKING_TREE unless given) is built with its
symbols and runs two graphs of eight branches, half of whose steps are dynamic, with other sizes in every run, under
callgrind: a bare one, which computes next to nothing, and one with convolutions and fully connected layers. It counts
the instructions of the calls into C by the folder of the source, and those outside the kernels' `eval`: planning and
preparing, whose share the article brings from 54 % to 6 %.

`--against COMMIT` compares one version, WORKING_TREE unless given, with a commit on one graph, the bare one unless
given: the functions that changed most, and a differential flame graph, difference.svg, in the folder of `--svg` or else
this one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from asv_bench import builds, callgrind, documents
from asv_bench.callgrind import Function, Profile

ROOMS = ("memory/", "state/", "plan/", "run/", "kernels/", "other")
COLOURS = {
    "memory/": "#c44e52", "state/": "#dd8452", "plan/": "#8172b2", "run/": "#4c72b0", "kernels/": "#55a868",
    "rules/": "#93c9a1",
}  # fmt: skip
ENTRIES = ("ml_state_run", "ml_run")
CALLERS = ("ml_run_frame", "ml_run_unsettled", "ml_run_dynamic", "run_packing")
"""The functions that call the `eval` of kernels; what else they call does not lie in the kernels' folders."""
RUNS = 40
GRAPHS = {"bare": "Writer", "layers": "LayersWriter"}
"""The class of dynamic_layers.py that writes the steps of each graph."""
VERSIONS = ("0.1.0", builds.WORKING_TREE)


class Case(NamedTuple):
    """A version on a graph."""

    graph: str
    version: str

    @property
    def title(self) -> str:
        """The version as it is shown, and what it runs."""
        layers = " with layers" if self.graph == "layers" else ""
        return f"{'now' if self.version == builds.WORKING_TREE else self.version}{layers}"


Profiles = dict[Case, Profile]

CHILD = """
import itertools, sys
sys.path.insert(0, {here!r})
from benchmarks import dynamic_family, dynamic_layers
import numpy as np
from minilite import Interpreter
graph = dynamic_family.draw("branches", {nodes}, 50)
interpreter = Interpreter(model_content=dynamic_family.model(graph, dynamic_layers.{writer}))
interpreter.allocate_tensors()
inputs = interpreter.get_input_details()
interpreter.set_tensor(inputs[0]["index"], np.ones(inputs[0]["shape"], np.float32))
for turn in range({runs}):
    for detail, row in zip(inputs[1:], dynamic_family.operands(graph, turn)):
        shape = detail["shape"]
        interpreter.set_tensor(detail["index"], (row if shape.size == 2 else row[1:]).reshape(shape).astype(np.int32))
    interpreter.invoke()
"""


def measure(versions: Sequence[str], graphs: Sequence[str] = tuple(GRAPHS), nodes: int = 200) -> Profiles:
    """Instructions of the runs of each version, which is built once, on each graph, in the order of the graphs.

    Raises: subprocess.CalledProcessError.
    """
    found: Profiles = {}
    for version in versions:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            builds.export(builds.named(version), folder / "source")
            builds.install(folder / "source", folder / "package", symbols=True)
            found |= {Case(graph, version): _counted(folder, graph, nodes) for graph in graphs}
    return {case: found[case] for graph in graphs for case in found if case.graph == graph}


def _counted(folder: Path, graph: str, nodes: int) -> Profile:
    here = str(Path(__file__).resolve().parent)
    child = CHILD.format(here=here, nodes=nodes, runs=RUNS, writer=GRAPHS[graph])
    tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={graph}", "--compress-pos=no"]
    tool += [f"--toggle-collect={entry}" for entry in ENTRIES]
    environment = {**builds.environment(folder / "package"), "MINILITE_ISA": "avx2"}
    subprocess.run([*tool, sys.executable, "-S", "-c", child], cwd=folder, env=environment, check=True)
    return callgrind.parse((folder / graph).read_text())


def room_of(function: Function) -> str:
    """The folder of csrc that a function's source lies in; rules and the like count as kernels."""
    file = function[0]
    if "csrc/" not in file:
        return "other"
    for room in ROOMS[:-1]:
        if f"/{room}" in file:
            return room
    return "kernels/" if any(f"/{part}/" in file for part in ("rules", "simd", "math")) else "other"


def shares(profile: Profile) -> dict[str, float]:
    """Percent of all instructions by room."""
    found: dict[str, float] = defaultdict(float)
    for function, cost in profile.own.items():
        found[room_of(function)] += 100 * cost / max(1, profile.total)
    return {room: found[room] for room in ROOMS}


def is_kernel(function: Function) -> bool:
    """True for a kernel's function; some begin with an inlined function of kernel.h."""
    return room_of(function) == "kernels/" or function[0].endswith("csrc/kernel.h")


def planning(profile: Profile) -> float:
    """Percent of all instructions that are not within a kernel's `eval`: planning, preparing, and the loop itself."""
    evals = sum(
        cost
        for (_, caller), callees in profile.calls.items()
        for callee, cost in callees.items()
        if caller.split(".")[0] in CALLERS and is_kernel(callee)
    )
    return 100 - 100 * evals / max(1, profile.total)


def table(profiles: Profiles) -> str:
    """A row per version and graph: instructions per run, the share of each folder; then the functions that take
    most."""
    lines = [
        "| version | instructions a run | planning and preparing | "
        + " | ".join(f"{room.strip('/')}" for room in ROOMS)
        + " |",
        "|---|---:|---:|" + "---:|" * len(ROOMS),
    ]
    for case, profile in profiles.items():
        cells = " | ".join(f"{share:.1f} %" for share in (planning(profile), *shares(profile).values()))
        lines.append(f"| {case.title} | {profile.total / RUNS:,.0f} | {cells} |")
    for case, profile in profiles.items():
        most = sorted(profile.own.items(), key=lambda row: -row[1])[:6]
        named = ", ".join(f"`{name}` {100 * cost / max(1, profile.total):.1f} %" for (_, name), cost in most)
        lines.append(f"\n{documents.wrapped(f'{case.title}: {named}')}")
    return "\n".join(lines)


def roots(profile: Profile) -> list[Function]:
    """The call into C that runs the model."""
    return [function for function in profile.calls if function[1] in ENTRIES][:1]


def pictures(profiles: Profiles, folder: Path) -> list[str]:
    """Writes a flame graph for each version and graph into the folder; their names."""
    names = []
    for case, profile in profiles.items():
        names.append(f"bad-case-{case.title.replace(' ', '-')}.svg")
        title = f"instructions of {RUNS} runs whose shapes change, minilite {case.title}"
        (folder / names[-1]).write_text(callgrind.flame(profile, roots(profile), title, COLOURS))
    return names


def changes(before: Profile, after: Profile, most: int = 10) -> str:
    """The functions whose own instructions per run changed most, including those that are new or gone."""
    costs: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for column, profile in enumerate((before, after)):
        for (_, name), cost in profile.own.items():
            costs[name.split(".")[0]][column] += cost
    rows = sorted(costs.items(), key=lambda row: -abs(row[1][1] - row[1][0]))[:most]
    lines = ["| function | before | after |", "|---|---:|---:|"]
    lines += [f"| {name} | {was / RUNS:,.0f} | {now / RUNS:,.0f} |" for name, (was, now) in rows if was != now]
    return "\n".join(lines)


def main() -> None:
    """Measures, prints the table, draws."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.bad_case", description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", default=[], metavar="VERSION")
    parser.add_argument("--graph", choices=GRAPHS, help="one of the two graphs")
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--svg", type=Path, metavar="FOLDER")
    parser.add_argument("--against", metavar="COMMIT", help="draw what changed since a commit")
    args = parser.parse_args()
    if args.against and len(args.versions) > 1:
        parser.error(f"--against compares one version with a commit, got {len(args.versions)} versions")
    versions = [args.against, *(args.versions or [builds.WORKING_TREE])] if args.against else args.versions or VERSIONS
    graphs = [args.graph or "bare"] if args.graph or args.against else tuple(GRAPHS)
    profiles = measure(versions, graphs, args.nodes)
    print(table(profiles))
    folder = args.svg or Path()
    if args.svg:
        folder.mkdir(parents=True, exist_ok=True)
        print("\n".join(pictures(profiles, folder)))
    if args.against:
        before, after = (profiles[Case(graphs[0], version)] for version in versions)
        print("\n" + changes(before, after))
        title = f"instructions of {RUNS} runs whose shapes change: {versions[1]} against {args.against}"
        (folder / "difference.svg").write_text(
            callgrind.difference(before, after, (roots(before), roots(after)), title)
        )
        print(f"\n{folder / 'difference.svg'}")


if __name__ == "__main__":
    main()
