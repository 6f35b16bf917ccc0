"""Runs every benchmark once on the minilite that this Python imports, and fails if one has no value.

usage: python asv_bench/walk.py [--past] [MODULE...]

A benchmark fails that raises an error, and one that is not there yet, whose version (benchmarks/common.py, `since`) is
not here. What this machine cannot measure is only named, by its reason. With `--past`, for older versions, what is not
there yet is no failure. Suites with a cache, which count or time many operations at once, are left out: the gate runs
the counts, a test the operations of the history.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import math
import pkgutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KINDS = ("time_", "timeraw_", "track_", "peakmem_")


def benchmarks(module: Any) -> Iterator[tuple[type, str, tuple[Any, ...]]]:
    """(suite, method, parameters) of a module's benchmarks."""
    for suite in list(vars(module).values()):
        own = inspect.isclass(suite) and suite.__module__ == module.__name__
        if not own or hasattr(suite, "setup_cache"):
            continue
        params: Any = getattr(suite, "params", ())
        lists = params if params and isinstance(params[0], (list, tuple)) else [params] if params else []
        for method in (name for name in dir(suite) if name.startswith(KINDS)):
            for values in itertools.product(*lists):
                yield suite, method, values


def once(suite: type, method: str, values: tuple[Any, ...]) -> None:
    """Sets up and runs a benchmark; one that gives statements, in a process of its own. Raises: what it raises, and
    ValueError for one that gives no number."""
    bench: Any = suite()
    if hasattr(bench, "setup"):
        bench.setup(*values)
    run = inspect.unwrap(getattr(suite, method))
    found = run(bench, *values)
    if method.startswith("timeraw_"):
        statement, before = (found, "") if isinstance(found, str) else found
        flags = ["-S"] if sys.flags.no_site else []
        subprocess.run([sys.executable, *flags, "-c", f"{before}\n{statement}"], check=True)
    if method.startswith("track_") and not math.isfinite(found):
        message = f"gave {found}"
        raise ValueError(message)


def walk(names: list[str], past: bool) -> int:
    """Prints a line for each failure, what this machine cannot measure, and how many were done; how many failed."""
    done, not_yet, failed = 0, 0, 0
    not_here: Counter[str] = Counter()
    for name in names:
        for suite, method, values in benchmarks(importlib.import_module(f"benchmarks.{name}")):
            try:
                once(suite, method, values)
                done += 1
            except NotImplementedError as error:
                yet = type(error).__name__ == "NotYetError"
                not_yet += yet and past
                if not yet:
                    not_here[str(error)] += 1
                elif not past:
                    failed += 1
                    print(f"FAILED {name}.{suite.__name__}.{method}{values}: {error}")
            except Exception as error:  # noqa: BLE001 - any failure is named
                failed += 1
                print(f"FAILED {name}.{suite.__name__}.{method}{values}: {error!r:.200}")
    for reason, count in not_here.items():
        print(f"not on this machine, {count}: {reason}")
    print(f"{done} done, {not_yet} not there yet, {not_here.total()} not on this machine, {failed} failed")
    return failed


def main() -> int:
    """Walks; 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="of benchmarks/; all without")
    parser.add_argument("--past", action="store_true", help="on an older version")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    package = importlib.import_module("benchmarks")
    names = args.modules or sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return 1 if walk(names, args.past) else 0


if __name__ == "__main__":
    sys.exit(main())
