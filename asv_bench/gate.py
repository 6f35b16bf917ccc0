"""Compares the deterministic figures of two commits, and fails when one got worse.

usage: python -m asv_bench.gate [BASE [NEW]] [--bench REGEX] [--accept REGEX] [--markdown] [--wheel FILE]

BASE is HEAD, NEW the working tree, unless given. Both are built, both measured by the benchmarks of this checkout.
`--wheel` names a wheel of NEW: then NEW is not compiled, nor is BASE if the sources of its core are the same. A figure
is worse when it grew by more than its tolerance (0 but for instructions, 2 %, and the wheel's bytes, 1 %), or when it
is gone: it applied to BASE and no longer does. One that NEW is too old for (benchmarks/common.py, `since`) has no
value, and counts as worse. What cannot be measured on this machine at all, instructions without valgrind, is skipped
and said. A change that has its reason names the figures that may get worse, in a line of its commit's message:

    Accept-figures: counted.Instructions.*resize new

or `--accept` does. `--markdown` prints what a pull request shows: a table of what changed, worse figures first.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import builds

Figures = dict[str, dict[str, Any]]
VERDICTS = ("WORSE", "accepted", "better")


class Change(NamedTuple):
    """A figure that changed."""

    figure: str
    before: float
    after: float | None
    """None: it no longer applies."""
    worse: bool

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.figure}: was {self.before:g}, is gone"
        relative = f" ({self.after / self.before - 1:+.1%})" if self.before else ""
        return f"{self.figure}: {self.before:g} -> {self.after:g}{relative}"


Form = Callable[[Sequence[Change], Sequence[str], Sequence[str], str], str]
"""(changes, accepted expressions, reasons for what is skipped, summary) as text."""


def measure(
    commit: str, folder: Path, wanted: str = "", root: Path = builds.ROOT, wheel: Path | None = None
) -> Figures:
    """The figures of a commit, built within `folder`, or with the core of a wheel."""
    source, target = folder / "source", folder / "package"
    builds.export(commit, source, root)
    if wheel is None:
        builds.install(source, target)
    else:
        builds.assemble(source, target, wheel)
    command = [sys.executable, "-S", str(Path(__file__).with_name("figures.py")), "--bench", wanted]
    done = subprocess.run(
        command, cwd=folder, env=builds.environment(target), stdout=subprocess.PIPE, text=True, check=True
    )
    found: Figures = json.loads(done.stdout)
    return found


def compare(before: Figures, after: Figures) -> list[Change]:
    """Every change beyond tolerance, for better or worse; figures that BASE does not have are new and no change."""
    changes = []
    for figure, row in before.items():
        if "value" not in row:
            continue
        now = after.get(figure, {}).get("value")
        if now is None:
            changes.append(Change(figure, row["value"], None, True))
        elif abs(now - row["value"]) > row["tolerance"] * abs(row["value"]):
            changes.append(Change(figure, row["value"], now, now > row["value"]))
    return changes


def skipped(figures: Figures) -> list[str]:
    """The reasons why figures do not apply, each with the number of figures."""
    reasons = [row["reason"] for row in figures.values() if "reason" in row]
    return [f"{reasons.count(reason)} figures: {reason}" for reason in sorted(set(reasons))]


def accepted_by(base: str, new: str, root: Path = builds.ROOT) -> list[str]:
    """Regular expressions that the messages of the commits between accept."""
    span = f"{base}..{'HEAD' if new == builds.WORKING_TREE else new}"
    return re.findall(r"^Accept-figures: *(\S.*?) *$", builds.git("log", "--format=%B", span, root=root), re.MULTILINE)


def without_value(before: Figures, after: Figures) -> list[str]:
    """Figures that BASE does not have either, and that NEW is too old for, by what the benchmarks say."""
    return [name for name, row in after.items() if row.get("not_yet") and "value" not in before.get(name, {})]


def verdict(change: Change, accepted: Sequence[str]) -> str:
    """The gate's word for a change: WORSE, accepted or better."""
    if not change.worse:
        return "better"
    return "accepted" if any(re.search(expression, change.figure) for expression in accepted) else "WORSE"


def as_text(changes: Sequence[Change], accepted: Sequence[str], reasons: Sequence[str], summary: str) -> str:
    """A line per change, in the order of the benchmarks."""
    lines = [f"{verdict(change, accepted):<10}{change}" for change in changes]
    return "\n".join([*lines, *(f"skipped   {reason}" for reason in reasons), summary])


def as_markdown(changes: Sequence[Change], accepted: Sequence[str], reasons: Sequence[str], summary: str) -> str:
    """Text for a pull request: a table of figures that changed, worse figures first, the greatest growth at the top."""

    def order(change: Change) -> tuple[int, float]:
        ratio = math.inf if change.after is None or not change.before else change.after / change.before
        return VERDICTS.index(verdict(change, accepted)), -ratio

    lines = ["### Counted figures", "", summary.capitalize() + ".", ""]
    if changes:
        lines += ["| | figure | before | after | change |", "|---|---|---:|---:|---:|"]
    for change in sorted(changes, key=order):
        figure = change.figure.replace("|", "\\|")
        after = "gone" if change.after is None else f"{change.after:,.10g}"
        relative = "" if change.after is None or not change.before else f"{change.after / change.before - 1:+.1%}"
        lines.append(f"| {verdict(change, accepted)} | `{figure}` | {change.before:,.10g} | {after} | {relative} |")
    lines += [] if changes else ["No figure changed beyond its tolerance."]
    return "\n".join([*lines, *(f"\nSkipped: {reason}." for reason in reasons)])


def judge(before: Figures, after: Figures, accepted: Sequence[str] = (), form: Form = as_text) -> int:
    """Prints what changed; how many figures got worse and are not accepted."""
    changes = compare(before, after)
    missing = without_value(before, after)
    worse = sum(verdict(change, accepted) == "WORSE" for change in changes) + len(missing)
    compared = sum("value" in row for row in before.values())
    reasons = [*(f"{figure} has no value, and counts as worse" for figure in missing), *skipped(after)]
    print(form(changes, accepted, reasons, f"{compared} figures compared, {worse} worse"))
    return worse


def main(arguments: list[str] | None = None) -> int:
    """Builds, measures, compares; 1 if a figure got worse."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.gate", description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", default="HEAD")
    parser.add_argument("new", nargs="?", default=builds.WORKING_TREE)
    parser.add_argument("--bench", default="", metavar="REGEX", help="only figures whose name has this")
    parser.add_argument("--accept", default=[], action="append", metavar="REGEX", help="figures that may get worse")
    parser.add_argument("--markdown", action="store_true", help="print what a pull request shows: a table")
    parser.add_argument("--wheel", type=Path, help="a wheel of NEW, which spares compiling it")
    parser.add_argument("--root", type=Path, default=builds.ROOT, help="the checkout whose commits are compared")
    args = parser.parse_args(arguments)
    commits = [builds.commit_of(name, args.root) for name in (args.base, args.new)]

    def measured(commit: str) -> Figures:
        wheel = args.wheel if args.wheel and builds.same_core(commit, commits[1], args.root) else None
        with tempfile.TemporaryDirectory() as folder:
            return measure(commit, Path(folder), args.bench, args.root, wheel)

    with ThreadPoolExecutor(len(commits)) as pool:  # what is counted does not depend on what runs beside it
        found = list(pool.map(measured, commits))
    accepted = [*args.accept, *accepted_by(commits[0], commits[1], args.root)]
    return 1 if judge(found[0], found[1], accepted, as_markdown if args.markdown else as_text) else 0


if __name__ == "__main__":
    sys.exit(main())
