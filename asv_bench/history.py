"""Benchmarks past commits with asv, about a minute each, by the figures in milestones.py.

usage: python -m asv_bench.history [NAME...] [--range FROM..TO] [--steps N] [--versions] [--full] [--print]

Without names and options: the commits of history.txt, the versions of versions.txt and HEAD. A name is a version or a
commit. `--range` takes the commits of
main's own line in a range instead, from the first commit that runs models to HEAD if either is left out, and `--steps`
thins it out; `--versions` takes the versions besides, alone without a range. Each commit is built as a wheel by
scikit-build-core in a virtual environment, and measured by the benchmarks of this checkout; what it cannot do yet is
n/a. Commits measured before are skipped. `--full` runs every benchmark. Results lie in results/, by machine, and belong
to the repository.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from asv_bench import builds

HERE = Path(__file__).resolve().parent
FIRST = "b40fdce"
"""The first commit that runs a model."""

SELECTION = (
    r"^milestones\.",
    r"^footprint\.(Arena\.track_(arena|plan)\(|Package)",
    r"^counted\.Counters\.track_(nodes_prepared|plans)_per_",
)
"""Regular expressions of the benchmarks, with their parameters, that make the history: the public API alone."""
BRIEF = ("rounds=1", "repeat=(3, 5, 0.5)", "warmup_time=0.02", "sample_time=0.005")


def chosen() -> list[str]:
    """The commits of history.txt, the versions and HEAD."""
    lines = (line.split("#")[0].strip() for line in (HERE / "history.txt").read_text().splitlines())
    return [builds.commit_of(name) for name in (*filter(None, lines), *builds.versions().values(), "HEAD")]


def commits(span: str, steps: int | None) -> list[str]:
    """The commits of main's own line in a range FROM..TO, FROM included, newest first; at most `steps`, evenly
    chosen."""
    first, _, last = span.partition("..")
    first = first or FIRST
    line = builds.git("rev-list", "--first-parent", f"{first}..{last or 'HEAD'}").split()
    found = [*line, builds.commit_of(first)]
    if steps is None or steps >= len(found):
        return found
    return [found[round(k * (len(found) - 1) / max(1, steps - 1))] for k in range(steps)]


def asv_run(hashes: Path, full: bool, name: str) -> list[str]:
    """asv's command line."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    made = [sys.executable, "-m", "asv", "run", f"HASHFILE:{hashes}", "-E", f"virtualenv:{python}"]
    made += ["--skip-existing-successful", "--show-stderr", "--machine", name]
    for attribute in BRIEF:
        made += ["-a", attribute]
    if not full:
        for expression in SELECTION:
            made += ["--bench", expression]
    return made


def processor() -> tuple[str, str, str]:
    """The processor's name, family and model; "" where the system does not say one."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    found = (re.search(rf"^{key}\s*: (.*)$", text, re.MULTILINE) for key in ("model name", "cpu family", "model"))
    name, family, model = (line[1] if line else "" for line in found)
    return name, family, model


def machine() -> dict[str, str]:
    """asv's description of this machine, without what an update changes. Its name says the processor and how many there
    are, so that machines that differ have folders of their own; the host's name says neither."""
    from asv.machine import Machine

    found = Machine.get_defaults()
    _, family, model = processor()
    cpu = " ".join([found["cpu"], *(f"{word} {part}" for word, part in (("family", family), ("model", model)) if part)])
    memory = f"{round(int(found['ram']) / 2**30)} GiB"
    name = re.sub(r"[^a-z0-9]+", "-", f"{cpu} {found['num_cpu']} cpus".lower()).strip("-")
    return {**found, "machine": name, "cpu": cpu, "os": platform.system(), "ram": memory}


def name_machine() -> str:
    """Tells asv what machine this is; its name."""
    from asv.machine import MachineCollection

    told = machine()
    MachineCollection.save(told["machine"], told)
    return told["machine"]


def measure(wanted: Sequence[str], full: bool = False) -> int:
    """Runs asv on commits; its exit status, in which 2 only says that some benchmark failed on some commit."""
    name = name_machine()
    with tempfile.TemporaryDirectory() as folder:
        hashes = Path(folder) / "commits"
        hashes.write_text("\n".join(dict.fromkeys(wanted)) + "\n")
        status = subprocess.run(asv_run(hashes, full, name), cwd=HERE, check=False).returncode
    return 0 if status == 2 else status


def version(root: Path = builds.ROOT) -> str:
    """The version in pyproject.toml."""
    found = re.search(r'^version = "(.*)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def numbering(name: str, root: Path = builds.ROOT) -> str:
    """The commit that gave a version its number; "" as long as none has."""
    return builds.git("log", "-1", "--format=%H", f'-Sversion = "{name}"', "--", "pyproject.toml", root=root)


def may_lack(root: Path = builds.ROOT) -> bool:
    """True up to the commit that gives the version its number, which need not have its results and tables yet."""
    return numbering(version(root), root) in ("", builds.git("rev-parse", "HEAD", root=root))


def missing(root: Path = builds.ROOT) -> str:
    """The version's line or results that are not there, in a line; "" if both are."""
    name = version(root)
    if may_lack(root):
        return ""
    commit = builds.versions(root).get(name)
    if commit is None:
        return f"version {name} has no line in asv_bench/versions.txt: run python -m asv_bench.release"
    if not measured(commit, "*", root):
        return f"version {name} has no results of its commit {commit}: run python -m asv_bench.release"
    return ""


def present(root: Path = builds.ROOT) -> list[str]:
    """The commit of this version, and HEAD if what runs was changed since; the first one is missing as long as no
    commit gave the version its number."""
    head, numbered = builds.git("rev-parse", "HEAD", root=root), numbering(version(root), root)
    changed = not numbered or builds.git("diff", "--name-only", numbered, head, "--", "csrc", "minilite", root=root)
    return [commit for commit in (numbered, head if changed else "") if commit]


def measured(commit: str, machine_name: str, root: Path = builds.ROOT) -> bool:
    """True if a commit has results of a machine, or of any by "*"."""
    return any((root / "asv_bench" / "results").glob(f"{machine_name}/{commit[:7]}*-*.json"))


def main() -> int:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.history", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="versions and commits")
    parser.add_argument("--range", metavar="FROM..TO", help="commits of main's own line")
    parser.add_argument("--steps", type=int, help="at most this many commits of the range")
    parser.add_argument("--versions", action="store_true", help="the versions of versions.txt")
    parser.add_argument("--full", action="store_true", help="every benchmark, not the selection")
    parser.add_argument("--print", action="store_true", help="only print the commits")
    args = parser.parse_args()
    wanted = [builds.named(name) for name in args.names]
    if args.range or args.steps:
        wanted += commits(args.range or "..", args.steps)
    if args.versions:
        wanted += [builds.commit_of(commit) for commit in builds.versions().values()]
    wanted = wanted or chosen()
    if args.print:
        print(*dict.fromkeys(wanted), sep="\n")
        return 0
    return measure(wanted, args.full)


if __name__ == "__main__":
    sys.exit(main())
