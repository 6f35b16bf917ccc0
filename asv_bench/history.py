"""Benchmarks commits of the past with asv: the `history` selection, which takes no more than two minutes a commit.

usage: python -m asv_bench.history [--range FROM..TO] [--steps N] [--versions] [--full] [--print]

Each commit is built as a wheel by scikit-build-core in a virtual environment of its own, and measured by the benchmarks of this
checkout; what it cannot do yet is n/a. FROM is the first commit that runs models, TO is HEAD. `--steps` thins the range out,
`--versions` takes the versions of versions.txt besides, `--full` runs every benchmark. Commits measured before are skipped.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from asv_bench import builds

HERE = Path(__file__).resolve().parent
FIRST = "b40fdce"
"""The first commit that runs a model."""

SELECTION = (
    r"loading\.Load\.time_load_and_allocate\('(conv|chain 100)'\)",
    r"loading\.Import",
    r"resizing\.Resize\.time_(same|seen|new)\('(conv|chain 100)'\)",
    r"resizing\.Direction\.time_grow\('(conv|chain 100)'\)",
    r"dynamic\.Family\.time_(steady|two_sizes|sixteen_sizes)\('(chain|branches)', 200, (0|100)\)",
    r"invoking\.Invoke\.time_invoke\('(conv|chain 1|chain 100)'\)",
    r"invoking\.Node",
    r"footprint\.(Arena\.track_arena\(|Package)",
    r"counted\.Counters\.track_(nodes_prepared|plans)_per_",
    r"dynamic\.Counts\.track_nodes_prepared",
    r"peers\.Ratio\.track_ratio\('(invoke, conv|load, chain 100|resize new, chain 100|dynamic branches, 2 sizes)', 'litert'\)",
)
"""Regular expressions of the benchmarks, with their parameters, that make the history: the public API alone."""
BRIEF = ("rounds=1", "repeat=(3, 5, 0.5)", "warmup_time=0.02", "sample_time=0.005")


def commits(span: str, steps: int | None) -> list[str]:
    """The commits of main's own line in a range FROM..TO, FROM included, newest first; at most `steps`, evenly chosen."""
    first, _, last = span.partition("..")
    line = builds.git("rev-list", "--first-parent", f"{first}..{last or 'HEAD'}").split()
    found = [*line, builds.commit_of(first)]
    if steps is None or steps >= len(found):
        return found
    return [found[round(k * (len(found) - 1) / max(1, steps - 1))] for k in range(steps)]


def command(hashes: Path, full: bool) -> list[str]:
    """asv's command line."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    made = [sys.executable, "-m", "asv", "run", f"HASHFILE:{hashes}", "-E", f"virtualenv:{python}"]
    made += ["--skip-existing-successful", "--show-stderr"]
    for attribute in BRIEF:
        made += ["-a", attribute]
    if not full:
        for expression in SELECTION:
            made += ["--bench", expression]
    return made


def main() -> int:
    """Runs asv; its exit status, in which 2 only says that some benchmark failed on some commit."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.history", description=__doc__.splitlines()[0])
    parser.add_argument("--range", default=f"{FIRST}..HEAD", metavar="FROM..TO")
    parser.add_argument("--steps", type=int, help="at most this many commits of the range")
    parser.add_argument(
        "--versions", action="store_true", help="the versions of versions.txt; alone unless --range or --steps"
    )
    parser.add_argument("--full", action="store_true", help="every benchmark, not the selection")
    parser.add_argument("--print", action="store_true", help="only print the commits")
    args = parser.parse_args()
    only_versions = args.versions and args.steps is None and args.range == parser.get_default("range")
    wanted = [] if only_versions else commits(args.range, args.steps)
    if args.versions:
        wanted += [builds.commit_of(commit) for commit in builds.versions().values()]
    wanted = list(dict.fromkeys(wanted))
    if args.print:
        print(*wanted, sep="\n")
        return 0
    subprocess.run([sys.executable, "-m", "asv", "machine", "--yes"], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        hashes = Path(folder) / "commits"
        hashes.write_text("\n".join(wanted) + "\n")
        status = subprocess.run(command(hashes, args.full), cwd=HERE, check=False).returncode
    return 0 if status == 2 else status


if __name__ == "__main__":
    sys.exit(main())
