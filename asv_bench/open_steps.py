"""Lists the steps of the history that asv's step detection leaves open, and fails if one is not explained.

usage: python -m asv_bench.open_steps

A step is open if a figure grew at some commit by more than its threshold (asv.conf.json) and has not come back since.
docs/measurements.md explains each: an entry of its list names the figure in backquotes, and the commits, as they are
printed here. So a figure that grows once more is not explained.
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
    """A benchmark's name in words: "invoke, chain 100: instructions", "conv: arena plan"."""
    found = re.fullmatch(r"\w+\.(\w+)\.track_(\w+)\('(.*)'\)", name)
    if not found:
        return name
    suite, kind = found[1].lower(), found[2].replace("_", " ")
    return f"{found[3]}: {suite if suite == kind else f'{suite} {kind}'}"


def steps(published: dict[str, Any], hashes: dict[str, str]) -> list[Step]:
    """The open steps in asv's regressions.json; `hashes` has commits by asv's numbers of them. Costs of other runtimes
    (milestones.Peer) are measured for the picture, and are not ours to explain."""
    found = []
    for name, _, _, _, last, best, grew in published["regressions"]:
        if name.startswith("milestones.Peer."):
            continue
        commits = tuple((hashes[str(to)], before, after) for _, to, before, after in grew)
        found.append(Step(label(name), best, last, commits))
    return sorted(found)


def unexplained(found: Sequence[Step], text: str) -> list[str]:
    """Figures, each with a commit at which it grew, that no entry of a document's lists names together."""
    entries = re.split(r"\n(?=- )|\n\n", text)
    missing = {
        f"`{step.figure}` at {commit[:7]}"
        for step in found
        for commit, _, _ in step.commits
        if not any(f"`{step.figure}`" in entry and commit[:7] in entry for entry in entries)
    }
    return sorted(missing)


def open_now(config: Path = site.HERE / "asv.conf.json") -> list[Step]:
    """The open steps of all results. Raises: SiteError."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        site.publish(out, config, config.parent / json.loads(config.read_text())["results_dir"])
        index = json.loads((out / "index.json").read_text())
        return steps(json.loads((out / "regressions.json").read_text()), index["revision_to_hash"])


def lacking() -> list[str]:
    """A line for each open step that the document does not explain, or for the reason why there are no steps."""
    try:
        found = open_now()
    except site.SiteError as error:
        return [str(error)]
    return [f"{DOCUMENT.name} does not explain {figure}" for figure in unexplained(found, DOCUMENT.read_text())]


def main() -> int:
    """Prints them; 1 if one is not explained."""
    try:
        found = open_now()
    except site.SiteError as error:
        sys.exit(str(error))
    print(*found, sep="\n")
    missing = unexplained(found, DOCUMENT.read_text())
    print(*(f"{DOCUMENT.name} does not explain {figure}" for figure in missing), sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
