"""Lists the steps of the history that asv's step detection leaves open, and fails if one is not explained.

usage: python -m asv_bench.open_steps

A step is open if a figure grew at some commit by more than its threshold (asv.conf.json) and has not come back since.
docs/measurements.md explains each: it names the figure as it is printed here, in backquotes.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import builds, site

DOCUMENT = builds.ROOT / "docs" / "measurements.md"


class Step(NamedTuple):
    """A figure that grew, and where."""

    figure: str
    best: float
    last: float
    commits: tuple[tuple[str, float, float], ...]
    """The first commit measured with the new value, and both values, for each time that it grew."""

    def __str__(self) -> str:
        grew = ", ".join(f"{before:,g} -> {after:,g} at {commit[:7]}" for commit, before, after in self.commits)
        return f"{self.figure}: {self.best:,g} at best, {self.last:,g} now ({grew})"


def label(name: str) -> str:
    """A benchmark's name in words: "invoke, chain 100: instructions"."""
    found = re.fullmatch(r"\w+\.(\w+)\.\w+\('(.*)'\)", name)
    return f"{found[2]}: {found[1].lower()}" if found else name


def steps(published: dict[str, Any], hashes: dict[str, str]) -> list[Step]:
    """The open steps in asv's regressions.json; `hashes` has commits by asv's numbers of them."""
    found = []
    for name, _, _, _, last, best, grew in published["regressions"]:
        commits = tuple((hashes[str(to)], before, after) for _, to, before, after in grew)
        found.append(Step(label(name), best, last, commits))
    return sorted(found)


def unexplained(found: Sequence[Step], text: str) -> list[str]:
    """Figures that a document does not name."""
    return sorted({step.figure for step in found if f"`{step.figure}`" not in text})


def main() -> int:
    """Prints them; 1 if one is not explained."""
    config = site.HERE / "asv.conf.json"
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        try:
            site.publish(out, config, config.parent / json.loads(config.read_text())["results_dir"])
        except site.SiteError as error:
            sys.exit(str(error))
        index = json.loads((out / "index.json").read_text())
        found = steps(json.loads((out / "regressions.json").read_text()), index["revision_to_hash"])
    print(*found, sep="\n")
    missing = unexplained(found, DOCUMENT.read_text())
    for figure in missing:
        print(f"{DOCUMENT.name} does not explain `{figure}`")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
