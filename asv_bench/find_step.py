"""Finds the commit at which a counted figure grew most, by halving a range of commits.

usage: python -m asv_bench.find_step FROM TO FIGURE

FROM and TO are versions or commits of main's own line, FIGURE is a regular expression of one figure of the gate, such
as "counted.Instructions.*invoke, chain 100'". Each commit that is tried is built and measured by the gate, a minute
each, and its figures are kept in asv_bench/.asv/counted/; the search goes into the half in which the figure grew more.
`asv find` does the same for times, over all parameters of a benchmark at once.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from asv_bench import builds, gate

KEPT = builds.ROOT / "asv_bench" / ".asv" / "counted"
COUNTED = r"^(counted\.(Instructions|Allocations)|footprint\.Arena)\."


def search(commits: Sequence[str], value: Callable[[str], float | None]) -> tuple[str, str]:
    """The commits before and after the largest growth, given oldest first; `value` gives None for a commit that cannot
    be measured, and is asked of each at most once."""
    found: dict[str, float | None] = {}

    def at(commit: str) -> float | None:
        if commit not in found:
            found[commit] = value(commit)
        return found[commit]

    low, high = at(commits[0]), at(commits[-1])
    if low is None or high is None:
        message = "an end of the range cannot be measured"
        raise ValueError(message)
    commits = list(commits)
    while len(commits) > 2:
        middle = len(commits) // 2
        between = at(commits[middle])
        if between is None:
            del commits[middle]
        elif between - low >= high - between:
            commits, high = commits[: middle + 1], between
        else:
            commits, low = commits[middle:], between
    return commits[0], commits[-1]


def candidates(first: str, last: str) -> list[str]:
    """Both commits, and between them those of main's own line that touch the package, oldest first."""
    span = ("rev-list", "--first-parent", "--reverse", f"{first}..{last}", "--", "csrc", "minilite")
    return list(dict.fromkeys([first, *builds.git(*span).split(), last]))


def figures(commit: str) -> gate.Figures:
    """The counted costs and the bytes of a commit, kept once measured; empty if it cannot be built or measured."""
    kept = KEPT / f"{commit}.json"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = gate.measure(commit, Path(folder), COUNTED)
            except subprocess.CalledProcessError:
                rows = {}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(rows))
    found: gate.Figures = json.loads(kept.read_text())
    return found


def measured(commit: str, figure: str) -> float | None:
    """The figure of a commit, printed; None if it has none. Raises: SystemExit if the expression is that of several
    figures."""
    rows = {name: row for name, row in figures(commit).items() if re.search(figure, name)}
    if len(rows) > 1:
        sys.exit(f"{figure}: {len(rows)} figures, the first two: {', '.join(list(rows)[:2])}")
    value = next((row.get("value") for row in rows.values()), None)
    print(f"{commit[:8]}  {'no value' if value is None else f'{value:,g}'}", flush=True)
    return value


def main() -> None:
    """Searches, and prints the commit."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.find_step", description=__doc__.splitlines()[0])
    parser.add_argument("first", metavar="FROM")
    parser.add_argument("last", metavar="TO")
    parser.add_argument("figure", metavar="FIGURE")
    args = parser.parse_args()
    first, last = builds.named(args.first), builds.named(args.last)
    _, after = search(candidates(first, last), lambda commit: measured(commit, args.figure))
    print(builds.git("show", "--no-patch", "--format=%h %ad %s", "--date=short", after))


if __name__ == "__main__":
    main()
