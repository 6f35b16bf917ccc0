"""Changes the C code of a room in one place at a time, and looks whether the room's tests notice.

    python -m tools.mutants [--seed 0] [--count 40] [--first 0] [--work FOLDER] [ROOM ...]

A mutant is a comparison, an operator or a number of csrc/ROOM that is another one; seed and number say which. The copy
of the checkout in FOLDER is built again with it, and the tests that matter to the room run until one fails. Prints for
each mutant what became of it, and for each room how many were killed, with the interval in which the rate of all its
mutants lies (Wilson, 95 %). A mutant that does not compile, or compiles to the same bytes, is replaced by the next one.
Needs what the tests need in this Python, cmake, and a C compiler; with ccache a mutant is built in seconds.
"""

from __future__ import annotations

import argparse
import hashlib
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
GENERATED = ("schema_tables.c", "schema_tables.h")
MOST_BYTES = 6 << 30
"""Of a test process: a mutant may ask for any amount."""
EVERYWHERE = "unit/breakage property/random_graphs property/any_sequence"
TESTS = {
    "format": "unit/reader unit/reader_refuses unit/file_rows unit/flexbuffer unit/schema unit/sparse unit/strings unit/rows "
    "fuzz/reader_fuzz fuzz/public_crashers unit/limits unit/lowering_record",
    "graph": "unit/lowering_record unit/bad_input unit/folding unit/fusion unit/store unit/errors unit/dynamic_in_place "
    "unit/branches unit/dynamic_loops unit/origin",
    "plan": "unit/plans unit/sizes unit/requests unit/folding unit/dynamic unit/nest unit/dynamic_in_place memory/offline "
    "memory/sharing memory/planner unit/errors",
    "state": "unit/state unit/states unit/bind_tensor unit/rebinding unit/bind_memory unit/moving_memory unit/capacities "
    "unit/limits unit/dynamic unit/lifetime unit/packed unit/strings unit/page_size unit/no_allocation",
    "run": "unit/runs_alone unit/cancel unit/profile unit/dynamic unit/dynamic_in_place unit/custom unit/nest unit/errors "
    "unit/dynamic_loops unit/capacities",
    "memory": "memory/exact memory/known_problems memory/offline memory/order memory/planner memory/sharing memory/strategies "
    "unit/limits unit/capacities unit/state",
    "control": "unit/branches unit/dynamic_loops unit/nest unit/string_carries ops/variable ops/hashtable ops/control_flow "
    "unit/dynamic unit/errors",
}
"""The rooms, and the tests that matter to them, tests/FOLDER/test_NAME.py; those that fail soonest first."""
OTHERS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("*",),
    "+=": ("-=",), "-=": ("+=",), "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",),
}  # fmt: skip
"""What takes the place of a binary operator. clang-format has put a space on either side of each."""
_SKIPPED = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE
)
_OPERATOR = re.compile(rf"(?<= )({'|'.join(re.escape(o) for o in sorted(OTHERS, key=len, reverse=True))})(?=[ \n])")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_NOT = re.compile(r"!(?=[\w(])")


class Place(NamedTuple):
    """A place in the code, and what may stand there instead."""

    path: Path
    at: int
    old: str
    new: tuple[str, ...]


class Mutant(NamedTuple):
    """One change."""

    place: Place
    new: str

    @property
    def text(self) -> str:
        """Where it is, and what it changes."""
        line = (ROOT / self.place.path).read_text()[: self.place.at].count("\n") + 1
        return f"{self.place.path}:{line}: {self.place.old} -> {self.new or 'nothing'}"

    def write(self, tree: Path) -> None:
        """Changes the file in the tree."""
        text = (ROOT / self.place.path).read_text()
        at, end = self.place.at, self.place.at + len(self.place.old)
        (tree / self.place.path).write_text(text[:at] + self.new + text[end:])

    def undo(self, tree: Path) -> None:
        """Gives the file in the tree its text back."""
        shutil.copyfile(ROOT / self.place.path, tree / self.place.path)


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


def mutants(room: str, seed: int) -> Iterator[Mutant]:
    """All places of a room in an order that the seed decides, each changed in one of its ways."""
    files = sorted(path for path in (ROOT / "csrc" / room).rglob("*.[ch]") if path.name not in GENERATED)
    found = [place for path in files for place in places(path.relative_to(ROOT), path.read_text())]
    chance = random.Random(f"{seed} {room}")
    chance.shuffle(found)
    return (Mutant(place, chance.choice(place.new)) for place in found)


def interval(killed: int, count: int) -> tuple[float, float]:
    """The rates that go with so many of a sample (Wilson, 95 %)."""
    if count == 0:
        return 0.0, 1.0
    z, rate = 1.96, killed / count
    middle, spread = rate + z * z / (2 * count), z * math.sqrt(rate * (1 - rate) / count + (z / (2 * count)) ** 2)
    return (middle - spread) / (1 + z * z / count), (middle + spread) / (1 + z * z / count)


class Tree:
    """A copy of the checkout, with an environment in which the copy is installed, built with these options."""

    def __init__(self, work: Path, *defines: str) -> None:
        self.root, self.python = work / "minilite", work / "venv" / "bin" / "python"
        self.copy()
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
            site = next((work / "venv").glob("lib/python*/site-packages"))
            # Only the folders: files of their own in them, as that of an editable install, are not read.
            (site / "others.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")) + "\n")
        install = [self.python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", self.root]
        # Other levels are other files, and rooms are the same for all.
        options = [f"-Ccmake.define.{define}" for define in ("ML_HAS_avx2=0", *defines)]
        subprocess.run([*install, *options], check=True)
        self.build_folder = next(self.root.glob("build/*/CMakeCache.txt")).parent
        self.cmake = re.findall("CMAKE_COMMAND:INTERNAL=(.*)", (self.build_folder / "CMakeCache.txt").read_text())[0]
        self.library = next((work / "venv").glob("lib/python*/site-packages/minilite/_core.*so"))

    def copy(self) -> None:
        """Copies what git knows, as it is now. Times stay, so that a second call builds nothing."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            source, target = ROOT / name, self.root / name
            if not source.exists() or (target.exists() and target.read_bytes() == source.read_bytes()):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
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


def judge(tree: Tree, room: str, given: argparse.Namespace) -> tuple[int, int]:
    """Tries mutants of a room. How many were killed, of how many."""
    files = [f"tests/{name.replace('/', '/test_')}.py" for name in f"{TESTS[room]} {EVERYWHERE}".split()]
    began, plain = time.monotonic(), tree.build()
    if wrong := tree.test(files, 3600):
        sys.exit(f"{room}: without a change: {wrong}")
    seconds = 60 + 3 * (time.monotonic() - began)
    killed = count = skipped = 0
    for mutant in mutants(room, given.seed):
        if count == given.count:
            break
        mutant.write(tree.root)
        made = tree.build()
        if made is None or made == plain:
            skipped += 1
        else:
            count += 1
            if count > given.first:
                began = time.monotonic()
                by = tree.test(files, seconds)
                killed += bool(by)
                took = f"{time.monotonic() - began:.0f} s"
                print(f"{mutant.text}: {f'killed by {by}' if by else 'SURVIVED'} ({took})", flush=True)
        mutant.undo(tree.root)
    tree.build()
    count = max(0, count - given.first)
    low, high = interval(killed, count)
    rate = f"{killed / max(count, 1):.0%} (95 % interval {low:.0%} to {high:.0%})"
    print(
        f"{room}, seed {given.seed}: {killed} of {count} killed, {rate}; {skipped} others were no mutants", flush=True
    )
    return killed, count


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40, help="mutants of a room")
    parser.add_argument("--first", type=int, default=0, help="so many are only built: they were tried before")
    parser.add_argument("--work", type=Path, help="a folder for the copy, which a second call uses again")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(TESTS)}; all if none is given")
    given = parser.parse_args(arguments)
    for room in given.rooms:
        if room not in TESTS:
            parser.error(f"there is no room '{room}': {', '.join(TESTS)}")
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree((given.work or Path(folder)).resolve())
        found = [judge(tree, room, given) for room in given.rooms or TESTS]
    killed, count = (sum(numbers) for numbers in zip(*found, strict=True))
    low, high = interval(killed, count)
    print(f"{killed} of {count} killed, {killed / max(count, 1):.0%} (95 % interval {low:.0%} to {high:.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
