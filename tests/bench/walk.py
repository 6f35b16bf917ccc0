"""Runs every benchmark of some suites once, on the minilite that this Python imports; prints what is neither done nor
n/a.

usage: python walk.py SUITES_FOLDER MODULE...
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("time_", "timeraw_", "track_", "peakmem_")


def benchmarks(module: Any) -> Iterator[tuple[type, str, tuple[Any, ...]]]:
    """(suite, method, parameters) of a module's benchmarks."""
    for suite in vars(module).values():
        if not inspect.isclass(suite) or suite.__module__ != module.__name__:
            continue
        params: Any = getattr(suite, "params", ())
        lists = params if params and isinstance(params[0], (list, tuple)) else [params] if params else []
        for method in (name for name in dir(suite) if name.startswith(KINDS)):
            for values in itertools.product(*lists):
                yield suite, method, values


def main(folder: str, *names: str) -> None:
    """Walks the modules: prints a line for each failure, and at the end how many were done and how many are n/a."""
    sys.path.insert(0, str(Path(folder).parent))
    caches: dict[type, tuple[Any, ...]] = {}
    done = not_there = 0
    for name in names:
        for suite, method, values in benchmarks(importlib.import_module(f"{Path(folder).name}.{name}")):
            try:
                if suite not in caches:
                    caches[suite] = (suite().setup_cache(),) if hasattr(suite, "setup_cache") else ()
                bench = suite()
                if hasattr(bench, "setup"):
                    bench.setup(*caches[suite], *values)
                found = getattr(bench, method)(*caches[suite], *values)
                missing = isinstance(found, float) and math.isnan(found)
                done, not_there = done + (not missing), not_there + missing
            except NotImplementedError:
                not_there += 1
            except Exception as error:  # noqa: BLE001 - any failure is named
                print(f"FAILED {name}.{suite.__name__}.{method}{values}: {error!r:.200}")
    print(f"{done} done, {not_there} n/a")


if __name__ == "__main__":
    main(*sys.argv[1:])
