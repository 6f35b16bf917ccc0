"""Prints how much of the core's rooms the tests reach, from what `llvm-cov export` has written: .ci/coverage calls it.

    python tests/trust coverage_table EXPORT [--missing FILE ...] [--least 0]

A table of rooms: lines, branches (each condition once true and once false), and decisions (MC/DC: each condition of
one with && or || has decided it by itself). --missing lists what is not reached in the files whose path begins with
one of FILE. Status 1 if less than `least` per cent of all branches is reached.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

KINDS = ("lines", "branches", "mcdc")


class Reached(NamedTuple):
    """The number that was reached, and the number of all."""

    covered: int
    count: int

    def __str__(self) -> str:
        """Both, and per cent."""
        return f"{self.covered} of {self.count}, {self.covered / max(self.count, 1):.1%}"


def inside(name: str) -> str:
    """The path below csrc/."""
    return name.rpartition("/csrc/")[2]


def by_room(files: Sequence[Mapping[str, Any]]) -> dict[str, list[Reached]]:
    """For each room, and for all of them, the lines, branches and decisions."""
    counts: dict[str, list[list[int]]] = defaultdict(lambda: [[0, 0] for _ in KINDS])
    for file in files:
        for room in (inside(file["filename"]).partition("/")[0], "all"):
            for total, kind in zip(counts[room], KINDS, strict=True):
                total[0] += file["summary"][kind]["covered"]
                total[1] += file["summary"][kind]["count"]
    found = {room: [Reached(*total) for total in totals] for room, totals in counts.items()}
    return {**{room: found[room] for room in sorted(found) if room != "all"}, "all": found["all"]}


def missing(file: Mapping[str, Any]) -> Iterator[str]:
    """The branches of a file that were not reached, and the decisions in which a condition did not decide."""
    text = Path(file["filename"]).read_text(encoding="utf-8").splitlines()
    for line, column, end, end_column, true, false, *_ in file["branches"]:
        if not (true and false):
            code = text[line - 1][column - 1 : end_column - 1 if end == line else None]
            never = "reached" if not (true or false) else "false" if true else "true"
            yield f"{inside(file['filename'])}:{line}: never {never}: {code}"
    for line, _, _, _, *_, conditions in file["mcdc_records"]:
        left = [number for number, decided in enumerate(conditions, 1) if not decided]
        if left:
            yield f"{inside(file['filename'])}:{line}: conditions {left} of {len(conditions)} never decided"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("export", type=Path)
    parser.add_argument("--missing", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--least", type=float, default=0.0)
    given = parser.parse_args(arguments)
    files = json.loads(given.export.read_text(encoding="utf-8"))["data"][0]["files"]
    print("| room | lines | branches | decisions |\n|---|---|---|---|")
    rooms = by_room(files)
    for room, reached in rooms.items():
        print(f"| {room} | " + " | ".join(map(str, reached)) + " |")
    for file in files:
        if any(inside(file["filename"]).startswith(name) for name in given.missing):
            print("\n".join(dict.fromkeys(missing(file))))  # functions of headers come more than once
    branches = rooms["all"][KINDS.index("branches")]
    return int(100 * branches.covered < given.least * branches.count)
