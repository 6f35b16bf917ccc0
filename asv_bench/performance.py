"""Measures the figures in docs/measurements.md and writes them there, each section with its stamp.

usage: python -m asv_bench.performance [peers] [counted] [levels] [single] [ladder] [bad-case] [history]

Without names all sections are made anew. `history` measures HEAD as asv_bench/history.py does, if that has not been
done, and draws it with what was measured before. A section's stamp is the commit it was measured at;
`python -m asv_bench.performance --check` fails when a later commit touched what it measures.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from asv_bench import bad_case, builds, history, history_chart, levels, single_operators
from asv_bench.benchmarks import costs, operations, peers
from asv_bench.ladder import __main__ as ladder

DOCUMENT = builds.ROOT / "docs" / "measurements.md"
PICTURES = builds.ROOT / "docs" / "pictures"


def make_peers() -> str:
    """minilite's cost over each runtime's."""
    lines = [
        "| operation | " + " | ".join(peers.RUNTIMES) + " |",
        "|---|" + "---:|" * len(peers.RUNTIMES),
    ]
    for case in operations.API:
        cells = []
        for runtime in peers.RUNTIMES:
            try:
                cells.append(f"{peers.ratio(case, runtime):.2f}")
            except (NotImplementedError, ImportError):
                cells.append("")
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def make_counted() -> str:
    """Allocator calls and instructions by operation."""
    found = costs.allocations()
    try:
        instructions = costs.instructions()
    except NotImplementedError:
        instructions = {}
    lines = ["| operation | allocator calls | instructions |", "|---|---:|---:|"]
    for name in operations.ALL:
        counted = f"{instructions[name]:,.0f}" if name in instructions else ""
        lines.append(f"| {name} | {found.get(name, float('nan')):g} | {counted} |")
    return "\n".join(lines)


def make_ladder() -> str:
    """The ladder's tables and its picture."""
    found = ladder.measure()
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "ladder.svg").write_text(ladder.picture(found))
    picture = "![the planner's share of run time by step](pictures/ladder.svg)"
    return f"{ladder.steps_table(found)}\n\n{picture}\n\n{ladder.stores_table(found)}"


def make_bad_case() -> str:
    """Where runs whose shapes change spend their instructions, before and after, with a flame graph each."""
    profiles = bad_case.measure(bad_case.VERSIONS)
    PICTURES.mkdir(exist_ok=True)
    names = bad_case.pictures(profiles, PICTURES)
    shown = "\n".join(f"![{name.removesuffix('.svg')}](pictures/{name})" for name in names)
    return f"{bad_case.table(profiles)}\n\n{shown}"


def make_history() -> str:
    """The history's picture and table, HEAD among them. Raises: SystemExit when nothing could be measured."""
    status = history.measure([builds.commit_of("HEAD")])
    machines = history_chart.machines()
    if status or not machines:
        sys.exit("HEAD could not be measured: asv says why")
    rows, *others = machines
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "history.svg").write_text(history_chart.draw(rows, others))
    (PICTURES / "history_memory.svg").write_text(history_chart.draw_memory(rows))
    picture = "![what each operation takes, by version](pictures/history.svg)"
    memory = "![bytes by version](pictures/history_memory.svg)"
    return f"{len(rows)} commits.\n\n{picture}\n\n{memory}\n\n{history_chart.table(rows)}"


class Section(NamedTuple):
    """A section: how it is made, and the paths whose change makes it old."""

    make: Callable[[], str]
    paths: tuple[str, ...]


CODE = ("csrc", "minilite", ":!minilite/cli", ":!minilite/report")
"""What runs, loads and plans: all but what prints."""
SHARED = tuple(f"asv_bench/benchmarks/{name}.py" for name in ("common", "operations", "dynamic_family"))
COUNTING = tuple(f"asv_bench/benchmarks/{name}.py" for name in ("costs", "apart"))
TIMING = "asv_bench/benchmarks/timing.py"
BAD_CASE = ("asv_bench/benchmarks/dynamic_layers.py", "asv_bench/bad_case.py", "asv_bench/callgrind.py")
RATES = ("asv_bench/levels.py", "minilite/_native/rates.py")
SECTIONS = {
    "peers": Section(make_peers, (*CODE, *SHARED, TIMING, "asv_bench/benchmarks/peers.py")),
    "counted": Section(make_counted, (*CODE, *SHARED, *COUNTING)),
    "levels": Section(levels.table, ("csrc/simd", "csrc/api/simd.h", *RATES)),
    "single": Section(single_operators.table, (*CODE, "asv_bench/single_operators.py", TIMING)),
    "ladder": Section(make_ladder, ("asv_bench/ladder", "asv_bench/benchmarks/dynamic_family.py")),
    "bad-case": Section(make_bad_case, (*CODE, SHARED[2], *BAD_CASE)),
    "history": Section(make_history, (*CODE, *SHARED, *COUNTING, TIMING, "asv_bench/benchmarks/milestones.py")),
}


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def stamp(name: str) -> str:
    """The line under a section's heading: where, with what and when it was measured; the commit for `--check`."""
    commit = builds.git("rev-parse", "HEAD")
    changed = builds.git("status", "--porcelain", "--untracked-files=no", "--", *SECTIONS[name].paths)
    versions = ", ".join(
        f"{label} {importlib.metadata.version(package)}"
        for label, package in (("minilite", "minilite-runtime"), ("LiteRT", "ai-edge-litert"), ("numpy", "numpy"))
    )
    day = datetime.datetime.now(datetime.timezone.utc).date()
    note = " with changes" if changed else ""
    words = f"{processor()}, Python {platform.python_version()}, {versions}, {day}, commit {commit[:10]}{note}"
    return f"<!-- stamp {name} {commit} -->\n*Measured on {words}.*"


def put(text: str, name: str, body: str) -> str:
    """The document with a section's contents replaced. Raises: ValueError for a document without its marks."""
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marks.search(text):
        message = f"the document has no section {name}"
        raise ValueError(message)
    return marks.sub(lambda found: f"{found[1]}{body}\n{found[2]}", text)


def stale(text: str, root: Path = builds.ROOT) -> dict[str, list[str]]:
    """Commits that touched what a section measures, after it was measured, by section; "unknown" for a commit git
    lacks."""
    found = {}
    for name, section in SECTIONS.items():
        stamped = re.search(rf"<!-- stamp {name} (\w+) -->", text)
        if not stamped:
            found[name] = ["not measured"]
            continue
        try:
            later = builds.git("rev-list", "--no-merges", f"{stamped[1]}..HEAD", "--", *section.paths, root=root)
        except subprocess.CalledProcessError:
            later = "unknown"
        if later:
            found[name] = later.split()
    return found


def main() -> int:
    """Makes sections, or checks their stamps; 1 if one is old."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.performance", description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--check", action="store_true", help="only say which sections are old")
    args = parser.parse_args()
    if unknown := set(args.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    if args.check:
        old = stale(DOCUMENT.read_text())
        for name, commits in old.items():
            print(f"{name}: {len(commits)} later commits, the newest {commits[0][:10]}")
        return 1 if old else 0
    for name in args.sections or SECTIONS:
        body = f"{stamp(name)}\n\n{SECTIONS[name].make()}"
        DOCUMENT.write_text(put(DOCUMENT.read_text(), name, body))
        print(f"{name}: done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
