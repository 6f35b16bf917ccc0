"""Changes the C code of a room in one place at a time, and looks whether the room's tests notice.

    python tests/trust mutants [--seed 0] [--count 40] [--again] [--work FOLDER] [ROOM ...]

A mutant is a comparison, an operator or a number of csrc/ROOM that is another one; the seed says which. The copy of the
checkout in FOLDER is built again with it, and the tests that matter to the room run until one fails. A mutant that does
not compile, or compiles to the same bytes, is replaced by the next one. Prints for each mutant what became of it, and a
table of the rooms: how many were killed, how many survive for a reason that mutants_explained.txt gives, and the
rate of those killed, of all and of all that are not explained, with the interval in which the rate of all mutants of
the room lies (Wilson, 95 %).

Outcomes are kept in FOLDER, by the text of the changed line, so the next call goes on from there.
`--again` tries those again that survived without a reason. Needs what the tests need in this Python, cmake, and a C
compiler; with ccache a mutant is built in a second.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
EXPLAINED = Path(__file__).with_name("mutants_explained.txt")
GENERATED = ("schema_tables.c", "schema_tables.h")
MOST_BYTES = 6 << 30
"""The memory of a test process: a mutant may ask for any amount."""
FIRST, LAST = "trust/same_counts", "trust/random_graphs trust/any_sequence"
SHORT_OF_MEMORY = (
    "models[core-custom] models[core-resources] models[core-dynamic] models[core-branches] "
    "nodes_that_become_one[core-merged] clone_trim_pickle_and_state[core]"
)
"""Tests of tests/trust/test_each_request.py, in which each request for memory fails once: they come after all."""
TESTS = {
    "format": "format/reader format/reader_refusals trust/public_crashers format/file_rows format/schema "
    "format/strings graph/sparse state/memory_limits format/model interpreter/wrong_arguments "
    "format/metadata format/flexbuffer trust/reader_fuzz graph/hostile_graphs",
    "graph": "plan/folding format/origin interpreter/wrong_arguments graph/graph_check graph/store "
    "control/branches control/dynamic_loops graph/fusion engine/custom run/dynamic_in_place format/model "
    "interpreter/errors graph/hostile_graphs ops/every_refusal plan/plans engine/user_kernels "
    "ops/control_flow ops/variable ops/normalization",
    "plan": "memory/same_plans engine/sizes run/polls state/requests plan/folding memory/sharing memory/offline "
    "memory/planner memory/planner_calls run/dynamic plan/plans run/dynamic_in_place state/bind_tensor "
    "state/between_runs graph/fusion run/capacities rules/nest interpreter/errors ops/fully_connected "
    "engine/user_kernels plan/families",
    "state": "state/between_runs state/refused_calls state/rebinding format/packed state/memory_limits "
    "format/strings state/bind_tensor state/bind_memory run/dynamic engine/sizes plan/plans "
    "_native/no_allocation engine/states _native/lifetime run/capacities run/moving_memory "
    "control/string_carries memory/offline",
    "run": "run/thread_trials control/branches run/polls control/dynamic_loops profiling/profile run/dynamic "
    "run/cancel run/dynamic_in_place state/bind_tensor engine/custom control/string_carries rules/nest "
    "interpreter/errors run/capacities run/moving_memory engine/user_kernels",
    "memory": "memory/same_plans memory/sharing memory/planner memory/planner_calls memory/kept_pages "
    "memory/offline state/between_runs state/memory_limits memory/known_problems memory/order "
    "memory/exact memory/strategies run/moving_memory run/capacities",
    "control": "control/dynamic_loops ops/hashtable ops/variable control/branches control/string_carries "
    "ops/control_flow run/dynamic rules/nest engine/custom interpreter/errors graph/hostile_graphs "
    "engine/user_kernels",
}
"""The rooms, and the tests that matter to them, tests/FOLDER/test_NAME.py: quick ones first, between FIRST and LAST,
which matter to all. All of a room take 20 to 60 s of processor time."""
OTHERS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("*",),
    "+=": ("-=",), "-=": ("+=",), "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",),
}  # fmt: skip
"""The replacements of a binary operator. clang-format has put a space on either side of each."""
_SKIPPED = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE
)
_OPERATOR = re.compile(rf"(?<= )({'|'.join(re.escape(o) for o in sorted(OTHERS, key=len, reverse=True))})(?=[ \n])")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_NOT = re.compile(r"!(?=[\w(])")


class Place(NamedTuple):
    """A place in the code, and its replacements."""

    path: Path
    at: int
    old: str
    new: tuple[str, ...]


class Mutant(NamedTuple):
    """One change."""

    place: Place
    new: str
    text: str
    """The text of its file, without the change."""
    name: str
    """The line, with the change in brackets. Other lines may change without giving it another name."""

    def write(self, tree: Path) -> None:
        """Changes the file in the tree."""
        at, end = self.place.at, self.place.at + len(self.place.old)
        (tree / self.place.path).write_text(self.text[:at] + self.new + self.text[end:])

    def undo(self, tree: Path) -> None:
        """Gives the file in the tree its text back."""
        (tree / self.place.path).write_text(self.text)


def places(path: Path, text: str) -> Iterator[Place]:
    """All places of a file that may be changed: not in comments, strings and macros."""
    code = _SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _OPERATOR.finditer(code):
        yield Place(path, found.start(), found[0], OTHERS[found[0]])
    for found in _NUMBER.finditer(code):
        number = int(found[0])
        yield Place(path, found.start(), found[0], tuple(str(n) for n in (number + 1, number - 1) if n >= 0))
    for found in _NOT.finditer(code):
        yield Place(path, found.start(), "!", ("",))


def ways(room: str) -> Iterator[tuple[str, list[Mutant]]]:
    """Each place of a room, with a name, and each of its changes."""
    for path in sorted((ROOT / "csrc" / room).rglob("*.[ch]")):
        if path.name in GENERATED:
            continue
        text, seen = path.read_text(), Counter[str]()
        short = path.relative_to(ROOT / "csrc").as_posix()
        for place in places(path.relative_to(ROOT), text):
            start, end = text.rfind("\n", 0, place.at) + 1, text.index("\n", place.at)
            before, after = text[start : place.at].lstrip(), text[place.at + len(place.old) : end]
            where = f"{short}: {before}[{place.old}]{after}"
            seen[where] += 1
            which = "" if seen[where] == 1 else f" #{seen[where]}"
            names = [f"{short}: {before}[{place.old} -> {new or 'nothing'}]{after}{which}" for new in place.new]
            yield where + which, [Mutant(place, new, text, name) for new, name in zip(place.new, names, strict=True)]


def mutants(room: str, seed: int) -> list[Mutant]:
    """One change of each place of a room, in an order that the seed decides; a change of the code leaves the rest."""
    found = []
    for where, changes in ways(room):
        chance = random.Random(f"{seed} {where}")
        found.append((chance.random(), where, chance.choice(changes)))
    return [mutant for *_, mutant in sorted(found)]


def explained() -> dict[str, str]:
    """The mutants that survive for a reason, by name: a line for the name, and lines that are indented below it."""
    found, name = dict[str, str](), ""
    for line in EXPLAINED.read_text().splitlines():
        if line.startswith(" "):
            found[name] = f"{found[name]} {line.strip()}".strip()
        elif line:
            name = line
            found[name] = ""
    return found


def interval(killed: int, count: int) -> tuple[float, float]:
    """The rates that go with so many of a sample (Wilson, 95 %)."""
    if count == 0:
        return 0.0, 1.0
    z, rate = 1.96, killed / count
    middle, spread = rate + z * z / (2 * count), z * math.sqrt(rate * (1 - rate) / count + (z / (2 * count)) ** 2)
    return (middle - spread) / (1 + z * z / count), (middle + spread) / (1 + z * z / count)


class Tree:
    """A copy of the checkout, and an environment in which it is installed; requests for memory can be made to fail."""

    def __init__(self, work: Path) -> None:
        self.root, self.python = work / "minilite", work / "venv" / "bin" / "python"
        self.copy()
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
            site = next((work / "venv").glob("lib/python*/site-packages"))
            # Only the folders: files of their own in them, as that of an editable install, are not read.
            (site / "others.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")) + "\n")
        install = [self.python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", self.root]
        # Other levels are other files, and rooms are the same for all.
        options = [f"-Ccmake.define.{define}" for define in ("ML_HAS_avx2=0", "ML_FAILING=ON")]
        subprocess.run([*install, *options], check=True)
        self.build_folder = next(self.root.glob("build/*/CMakeCache.txt")).parent
        self.cmake = re.findall("CMAKE_COMMAND:INTERNAL=(.*)", (self.build_folder / "CMakeCache.txt").read_text())[0]
        self.library = next((work / "venv").glob("lib/python*/site-packages/minilite/_core.*so"))

    def copy(self) -> None:
        """Copies what git knows, as it is now. A second call builds nothing that is the same."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            source, target = ROOT / name, self.root / name
            if not source.exists() or (target.exists() and target.read_bytes() == source.read_bytes()):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                shutil.copy(source, target)  # now, and so it is built again
            else:
                shutil.copy2(source, target)

    def build(self) -> bytes | None:
        """Builds and installs the core; its hash, or None if it does not compile."""
        command = [self.cmake, "--build", self.build_folder, "--parallel", os.environ.get("JOBS", "1")]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        made = self.build_folder / self.library.name
        shutil.copyfile(made, self.library)
        return hashlib.sha256(made.read_bytes()).digest()

    def test(self, files: Sequence[str], seconds: float) -> str:
        """The first test that fails, or how the tests ended; empty if all passed."""
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header"]
        command = [self.python, "-m", "pytest", *options, *files]
        try:
            ran = subprocess.run(
                command, cwd=self.root, capture_output=True, text=True, check=False, timeout=seconds, preexec_fn=_limit
            )
        except subprocess.TimeoutExpired:
            return f"no end after {seconds:.0f} s"
        if ran.returncode == 0:
            return ""
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
        return failed[0] if failed else f"ended with {ran.returncode}"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Rate(NamedTuple):
    """The fates of the mutants of a room."""

    tried: int = 0
    killed: int = 0
    explained: int = 0

    def row(self, room: str) -> str:
        """The row of the table."""
        rates = (self.tried, self.tried - self.explained)
        shown = []
        for count in rates:
            low, high = interval(self.killed, count)
            shown.append(f"{self.killed / max(count, 1):.0%} ({low:.0%} to {high:.0%})")
        survived = self.tried - self.killed - self.explained
        return f"| {room} | {self.tried} | {self.killed} | {self.explained} | {survived} | {' | '.join(shown)} |"


class Judge:
    """Tries mutants of a room, and keeps in a file what became of them."""

    NONE = "no mutant"
    SURVIVED = "SURVIVED"

    def __init__(self, work: Path, room: str) -> None:
        self.work, self.kept, self.limit = work, work / "outcomes.jsonl", 0.0
        self.tree: Tree | None = None
        work.mkdir(exist_ok=True)
        self.files = [f"tests/{name.replace('/', '/test_')}.py" for name in f"{FIRST} {TESTS[room]} {LAST}".split()]
        self.files += [f"tests/trust/test_each_request.py::test_{name}" for name in SHORT_OF_MEMORY.split()]
        lines = self.kept.read_text().splitlines() if self.kept.exists() else []
        self.outcomes: dict[str, str] = dict(json.loads(line) for line in lines)

    def _begin(self) -> None:
        """Builds the copy, and runs the tests without a change."""
        self.tree = Tree(self.work)
        began, self.plain = time.monotonic(), self.tree.build()
        if wrong := self.tree.test(self.files, 3600):
            sys.exit(f"without a change: {wrong}")
        self.limit = 60 + 3 * (time.monotonic() - began)

    def _try(self, mutant: Mutant) -> str:
        """The fate of a mutant."""
        if self.tree is None:
            self._begin()
        mutant.write(self.tree.root)
        made = self.tree.build()
        by = self.NONE if made is None or made == self.plain else self.tree.test(self.files, self.limit)
        mutant.undo(self.tree.root)
        return by or self.SURVIVED

    def outcome(self, mutant: Mutant, again: bool) -> str:
        """Returns the fate of a mutant: it is tried if it was not, or if it survived and is to be tried again."""
        outcome = self.outcomes.get(mutant.name, "")
        if not outcome or (again and outcome == self.SURVIVED):
            began = time.monotonic()
            self.outcomes[mutant.name] = outcome = self._try(mutant)
            with self.kept.open("a") as file:
                file.write(json.dumps([mutant.name, outcome]) + "\n")
            print(f"{mutant.name}\n    {outcome} ({time.monotonic() - began:.0f} s)", flush=True)
        return outcome


def judge(work: Path, room: str, given: argparse.Namespace) -> Rate:
    """Tries mutants of a room that have not been tried before."""
    judge, reasons, rate = Judge(work, room), explained(), Rate()
    for mutant in mutants(room, given.seed):
        if rate.tried == given.count:
            break
        outcome = judge.outcome(mutant, given.again and mutant.name not in reasons)
        if outcome != judge.NONE:
            survived = outcome == judge.SURVIVED
            rate = Rate(
                rate.tried + 1, rate.killed + (not survived), rate.explained + (survived and mutant.name in reasons)
            )
    return rate


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40, help="mutants of a room")
    parser.add_argument("--again", action="store_true", help="try those again that survived without a reason")
    parser.add_argument(
        "--work", type=Path, help="a folder for the copy and the outcomes, which the next call uses again"
    )
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(TESTS)}; all if none is given")
    given = parser.parse_args(arguments)
    for room in given.rooms:
        if room not in TESTS:
            parser.error(f"there is no room '{room}': {', '.join(TESTS)}")
    rows = [
        "| room | tried | killed | explained | survived | killed of all | of those not explained |",
        "|---" * 7 + "|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = {room: judge((given.work or Path(folder)).resolve(), room, given) for room in given.rooms or TESTS}
    rows += [rate.row(room) for room, rate in found.items()]
    rows += [Rate(*map(sum, zip(*found.values(), strict=True))).row("all")]
    print("\n".join(rows))
    return 0
