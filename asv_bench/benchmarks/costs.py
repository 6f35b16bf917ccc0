"""Counts what an operation does, in a process of its own: calls of the allocator, or instructions under valgrind.

Both need a C compiler, for a small library: one that takes the place of malloc and its like, or one that tells
callgrind when to count. What is counted is the whole call from Python, the bytecode interpreter's part included; it
depends on the Python and the compiler at hand, so figures compare within one machine, between commits. valgrind has no
AVX-512: primitives run at the highest level below it.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import apart, common, operations

REPEAT = 8
"""Times that each operation is called while counting; what is reported is the whole count over it."""

ALLOCATIONS = r"""
#include <stddef.h>
static long counted;
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
void *malloc(size_t n) { counted++; return __libc_malloc(n); }
void *calloc(size_t m, size_t n) { counted++; return __libc_calloc(m, n); }
void *realloc(void *p, size_t n) { counted++; return __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { counted++; return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { counted++; *p = __libc_memalign(a, n); return *p ? 0 : 12; }
long costs_start(void) { counted = 0; return 0; }
long costs_stop(const char *label) { (void)label; return counted; }
"""
INSTRUCTIONS = r"""
#include <valgrind/callgrind.h>
long costs_start(void) { CALLGRIND_ZERO_STATS; CALLGRIND_START_INSTRUMENTATION; return 0; }
long costs_stop(const char *label) { CALLGRIND_STOP_INSTRUMENTATION; CALLGRIND_DUMP_STATS_AT(label); return 0; }
"""


def allocations(names: Iterable[str] = operations.ALL) -> dict[str, float]:
    """Calls of the allocator by operation. Raises: NotImplementedError, with the reason, where they cannot be
    counted."""
    with tempfile.TemporaryDirectory() as folder:
        library = str(compiled(Path(folder), ALLOCATIONS))
        return _counts(apart.call("costs", "count", library, *names, environment={"LD_PRELOAD": library}))


def instructions(names: Iterable[str] = operations.ALL) -> dict[str, float]:
    """Instructions by operation. Raises: NotImplementedError, with the reason, where they cannot be counted."""
    level = {"MINILITE_ISA": os.environ.get("MINILITE_ISA", "avx2")}
    known: set[str] = set()

    def run(library: str, tool: list[str]) -> None:
        known.update(apart.call("costs", "count", library, *names, tool=tool, environment=level))

    found = by_callgrind(run)
    return _counts({name: found[name] for name in known if name in found})


def by_callgrind(run: Callable[[str, list[str]], object]) -> dict[str, int]:
    """Instructions by label, in a process that `run` starts by the command it is given: that process loads the library
    it is given, and calls its costs_start() and costs_stop(label). Raises: NotImplementedError, with the reason."""
    if shutil.which("valgrind") is None:
        message = "valgrind is not installed"
        raise NotImplementedError(message)
    with tempfile.TemporaryDirectory() as folder:
        library = str(compiled(Path(folder), INSTRUCTIONS))
        run(library, ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"])
        found: dict[str, int] = {}
        for path in Path(folder).glob("out*"):
            text = path.read_text()
            label = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
            if label and total:
                found[label[1]] = int(total[1])
    return found


def _counts(found: Mapping[str, float]) -> dict[str, float]:
    """The counts per call, without the cost of counting itself."""
    nothing = found.get("nothing", 0)
    return {name: (count - nothing) / REPEAT for name, count in found.items() if name != "nothing"}


def compiled(folder: Path, source: str) -> Path:
    """A shared library that a C compiler makes of a source. Raises: NotImplementedError, with the reason."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        message = "this needs a C compiler on Linux"
        raise NotImplementedError(message)
    (folder / "made.c").write_text(source)
    target = folder / "made.so"
    command = [compiler, "-O1", "-fPIC", "-fno-builtin", "-shared", "-o", str(target), str(folder / "made.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"the library cannot be built: {(done.stderr.splitlines() or ['no reason'])[0]}"
        raise NotImplementedError(message)
    return target


def loaded(library: str) -> Any:
    """The library that counts, in the process that does."""
    made = ctypes.CDLL(library)
    made.costs_stop.argtypes = [ctypes.c_char_p]
    made.costs_stop.restype = ctypes.c_long
    return made


def count(library: str, *names: str) -> dict[str, float]:
    """Counts by operation, in a process of its own. Operations that a version cannot do are left out."""
    made = loaded(library)
    found: dict[str, float] = {}
    prepares: dict[str, Callable[[operations.Make], operations.Operation]] = {"nothing": lambda _: int}
    for name, prepare in (prepares | {name: operations.EVERY[name] for name in names}).items():
        try:
            with common.since("0.4.0"):
                found[name] = _counted(made, name, prepare(common.interpreter))
        except NotImplementedError as error:
            print(f"{name}: {error}", file=sys.stderr)
    return found


def _counted(made: Any, name: str, call: operations.Operation) -> float:
    """The count of REPEAT calls after two rounds of them that warm up, with the garbage collector off."""
    label, start, stop = name.encode(), made.costs_start, made.costs_stop
    for _ in itertools.repeat(None, 2 * REPEAT):
        call()
    gc.collect()
    gc.disable()
    start()
    for _ in itertools.repeat(None, REPEAT):
        call()
    counted = float(stop(label))
    gc.enable()
    return counted
