"""Does all that a version needs in the record, step by step; a second call goes on where the first one ended.

usage: python -m asv_bench.release [--again] [--check]

Needs a commit that gives the version its number, and minilite installed from it. Steps that were done for this version
are noted in asv_bench/.asv/release.json, which git ignores; `--again` forgets them. Then commit what has changed:
versions.txt, results, tables and pictures. At most 40 minutes on two cores. `--check` only lists what the record
lacks: results of this version, tables and sentences of the documents that are too old (documents.py), and explanations
of figures that grew and did not come back (open_steps.py); 1 if there is something. The commit that gives a version its
number may lack results and tables, its child may not.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from asv_bench import builds, documents, history, open_steps, performance, site

VERSIONS = builds.ROOT / "asv_bench" / "versions.txt"
NOTES = builds.ROOT / "asv_bench" / ".asv" / "release.json"
ANCHORS = ("0.1.0", "0.4.0", "0.6.0", "0.14.1")
"""Versions that each machine measures, so that its costs can be drawn beside other machines'; the last one besides."""
MINUTES = 40

Step = tuple[str, Callable[[], str]]
"""A name, and a function that gives the reason why it left something out, or ""."""


def installed() -> str:
    """The version that is released. Raises: SystemExit as long as no commit gave it its number, or where another one is
    installed."""
    name, here = history.version(), importlib.metadata.version("minilite-runtime")
    if not history.numbering(name):
        sys.exit(f"no commit has version {name} in pyproject.toml: commit it first")
    if here != name:
        sys.exit(f"minilite {here} is installed, pyproject.toml has {name}: run pip install -e '.[dev]'")
    return name


def number() -> str:
    """Adds the version's line to versions.txt."""
    name = history.version()
    if name not in builds.versions():
        VERSIONS.write_text(f"{VERSIONS.read_text()}{name} {history.numbering(name)[:7]}\n")
    return ""


def anchors() -> str:
    """Measures the versions by which this machine's costs are drawn beside others', where it has not."""
    known, here = builds.versions(), history.machine()["machine"]
    wanted = [known[name] for name in dict.fromkeys((*ANCHORS, list(known)[-1]))]
    lacking = [builds.commit_of(commit) for commit in wanted if not history.measured(commit, here)]
    return "asv could not measure the anchors" if lacking and history.measure(lacking) else ""


def table(name: str) -> Step:
    """The step that makes a table."""
    return name, lambda: "" if performance.write(name) else "../shared/models is not there"


def explained() -> str:
    """Lists the figures that grew and did not come back."""
    return "docs/measurements.md does not explain each of them" if open_steps.main() else ""


def publish() -> str:
    """Makes asv's site of all results."""
    if shutil.which("npm") is None:
        return "npm is not installed, and the site's scripts come from its registry"
    site.make(site.HERE / ".asv" / "html")
    return ""


STEPS: tuple[Step, ...] = (
    ("versions.txt", number),
    ("anchors", anchors),
    *map(table, ("history", "peers", "calls", "costs", "counted", "speed")),
    ("open steps", explained),
    ("site", publish),
)


def run(steps: Sequence[Step], version: str, notes: Path = NOTES) -> list[str]:
    """Does the steps that are not noted as done for a version, and notes each; the reasons of those left out, which are
    tried again by the next call."""
    found = json.loads(notes.read_text()) if notes.exists() else {}
    done = found.get("done", []) if found.get("version") == version else []
    left_out = []
    for name, do in steps:
        if name in done:
            print(f"{name}: was done", flush=True)
            continue
        began = time.monotonic()
        reason = do()
        print(f"{name}: {reason or 'done'}, {time.monotonic() - began:.0f} s", flush=True)
        if reason:
            left_out.append(f"{name}: {reason}")
            continue
        done.append(name)
        notes.parent.mkdir(parents=True, exist_ok=True)
        notes.write_text(json.dumps({"version": version, "done": done}))
    return left_out


def check(root: Path = builds.ROOT) -> list[str]:
    """All that the record lacks, a line each."""
    return [line for line in (history.missing(root), *documents.stale(root), *open_steps.lacking()) if line]


def main() -> int:
    """Does the steps, or lists what is missing; 1 if something was left out or is missing."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.release", description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="do steps anew that were done for this version")
    parser.add_argument("--check", action="store_true", help="only list what the record lacks")
    args = parser.parse_args()
    if args.check:
        lacks = check()
        print(*lacks or ["the record is of this version"], sep="\n")
        return 1 if lacks else 0
    if args.again:
        NOTES.unlink(missing_ok=True)
    began = time.monotonic()
    left_out = run(STEPS, installed())
    minutes = (time.monotonic() - began) / 60
    print(f"{minutes:.0f} of {MINUTES} minutes; commit versions.txt, results, tables and pictures")
    print(*(f"left out: {line}" for line in left_out), sep="\n", end="")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
