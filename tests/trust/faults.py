"""Plants a fault in a copy of the core, one at a time, and looks whether the tool that should find it does.

    python tests/trust faults [--minutes 10] [--work FOLDER] [NAME ...]

Prints for each fault what was changed, which tool looked for it, and whether it was found, after how long. Ends with
status 1 if one was not. Needs what the tools need: a C compiler, LiteRT, clang with libFuzzer (skipped without).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trust.mutants import ROOT, Tree


class Fault(NamedTuple):
    """A change of one place, and the command that should notice."""

    path: str
    old: str
    new: str
    tool: str
    """The faults by the name of their command, below."""


FAULTS = {
    "index": Fault("csrc/format/index.c", "if (buffer >= x->file->n_buffers)", "if (buffer < 0)", "reader"),
    "rollback": Fault(
        "csrc/state/memory.c",
        "        ml_account_give(account, more);\n        ml_os_free(persistent);\n",
        "        ml_account_give(account, more);\n",
        "failing",
    ),
    "wake-up": Fault(
        "csrc/threads/pool.c",
        "    if (ml_share_finish(&pool->share, blocks) && atomic_load(&pool->caller_sleeps))\n",
        "    const bool sleeps = atomic_load(&pool->caller_sleeps);\n"
        "    if (ml_share_finish(&pool->share, blocks) && sleeps)\n",
        "simulate",
    ),
    "cancel": Fault(
        "csrc/run/run.c",
        "    flags->token = o->cancel;\n",
        "    flags->token = o->cancel && atomic_load(&o->cancel->set) ? NULL : o->cancel;\n",
        "simulate",
    ),
    "rounding": Fault(
        "csrc/simd/portable/quantize_s16.c", "__builtin_copysignf(0.49999997f, v)", "0.49999997f", "differ"
    ),
}
"""An unchecked index in the reader; memory taken before pages that failed, which is not given back; a flag of a sleeper
that is read before the event it waits for is set; a token that was set before the run began; the rounding of negative
values in QUANTIZE to int16."""

COMMANDS: dict[str, tuple[Sequence[str], str]] = {
    "reader": ((), r"ERROR: |runtime error:"),
    "failing": (
        ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "tests/trust/test_each_request.py"),
        r"^FAILED|^ERROR",
    ),
    "simulate": (("tests/trust", "simulate", "--seed", "0", "--count", "100000"), r"^--seed \d+ --count 1"),
    "differ": (("tests/trust", "differ", "--seed", "0", "--count", "1000000"), r": (DIFFERS|MINILITE ENDED)"),
}
"""The command that runs in the copy, by this Python, and the line that it prints of a failure. The reader's is built by
clang."""


def planted(root: Path, fault: Fault) -> None:
    """Changes the copy."""
    text = (ROOT / fault.path).read_text()
    if text.count(fault.old) != 1:
        sys.exit(f"{fault.path} has not one place, but {text.count(fault.old)}, where it says: {fault.old}")
    (root / fault.path).write_text(text.replace(fault.old, fault.new))


def line_of(command: Sequence[str | Path], pattern: str, root: Path, seconds: float) -> str:
    """The line in which the command says it within the time; it is ended then. Empty if it does not."""
    ran = subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True,
        errors="replace",
    )  # fmt: skip

    def end() -> None:
        os.killpg(ran.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, end)
    timer.start()
    assert ran.stdout is not None
    found = next((line.strip() for line in ran.stdout if re.search(pattern, line)), "")
    timer.cancel()
    if ran.poll() is None:
        end()
    ran.communicate()
    return found


def fuzzer(root: Path) -> list[str | Path]:
    """Builds the reader's harness; the command that runs it, empty without clang."""
    if not any(map(shutil.which, ("clang", *(f"clang-{number}" for number in range(14, 22))))):
        return []
    environment = {**os.environ, "ML_FUZZ_ALL": "OFF"}
    here, out = root / "tests" / "trust", root / "build" / "fuzz"
    subprocess.run([here / "fuzz" / "build.sh", out], env=environment, check=True)
    subprocess.run([sys.executable, here, "seeds", out / "corpus"], check=True)
    work = out / "work"
    work.mkdir(exist_ok=True)
    return [out / "fuzz_reader", "-timeout=10", work, out / "corpus" / "reader"]


def looked_for(tree: Tree, name: str, minutes: float) -> str:
    """Plants a fault; what became of it."""
    fault = FAULTS[name]
    arguments, pattern = COMMANDS[fault.tool]
    planted(tree.root, fault)
    try:
        if fault.tool == "reader":
            command = fuzzer(tree.root)
            if not command:
                return "skipped: there is no clang"
        else:
            if tree.build() is None:
                sys.exit(f"{name}: the fault does not compile")
            command = [tree.python, *arguments]
        began = time.monotonic()
        line = line_of(command, pattern, tree.root, 60 * minutes)
        took = f"{time.monotonic() - began:.0f} s"
        return f"found by {fault.tool} in {took}: {line[:160]}" if line else f"NOT found by {fault.tool} in {took}"
    finally:
        shutil.copyfile(ROOT / fault.path, tree.root / fault.path)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10.0, help="that a tool has for a fault")
    parser.add_argument("--work", type=Path, help="a folder for the copy, which a second call uses again")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FAULTS)}; all if none is given")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in FAULTS:
            parser.error(f"there is no fault '{name}': {', '.join(FAULTS)}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree((given.work or Path(folder)).resolve())
        for name in given.names or FAULTS:
            outcome = looked_for(tree, name, given.minutes)
            missed += outcome.startswith("NOT")
            print(f"{name} ({FAULTS[name].path}): {outcome}", flush=True)
    return int(missed > 0)
