"""Prints every deterministic figure of the suites as JSON, for the minilite that this Python imports.

usage: python asv_bench/figures.py [--bench REGEX] > figures.json

The object printed has, by figure ("counted.Counters.track_c_calls_per_invoke('chain 1')"), `value`, `unit` and
`tolerance`, the relative change that is not a change; where a figure does not apply, `reason` instead of `value`.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def suites() -> Iterator[tuple[str, type]]:
    """(module's name, class) of every deterministic suite, by name."""
    package = importlib.import_module("benchmarks")
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        module = importlib.import_module(f"benchmarks.{found.name}")
        for name, suite in sorted(vars(module).items()):
            own = inspect.isclass(suite) and suite.__module__ == module.__name__ and not name.startswith("_")
            if own and getattr(suite, "deterministic", False):
                yield found.name, suite


def tracks(wanted: str = "") -> Iterator[tuple[str, type, str, tuple[Any, ...]]]:
    """(figure, suite, method, parameters) of every deterministic figure whose name has the regular expression."""
    for module, suite in suites():
        params: Any = getattr(suite, "params", ())
        lists = params if params and isinstance(params[0], (list, tuple)) else [params] if params else []
        for method in (name for name in dir(suite) if name.startswith("track_")):
            for values in itertools.product(*lists):
                figure = f"{module}.{suite.__name__}.{method}"
                if values:
                    figure += "(" + ", ".join(map(repr, values)) + ")"
                if re.search(wanted, figure):
                    yield figure, suite, method, values


def measure(wanted: str = "") -> dict[str, dict[str, Any]]:
    """The figures by name."""
    caches: dict[type, tuple[Any, ...]] = {}
    found: dict[str, dict[str, Any]] = {}
    for figure, suite, method, values in tracks(wanted):
        if suite not in caches:
            caches[suite] = (suite().setup_cache(),) if hasattr(suite, "setup_cache") else ()
        given = (*caches[suite], *values)
        bench, run = suite(), inspect.unwrap(getattr(suite, method))
        row: dict[str, Any] = {"unit": getattr(run, "unit", getattr(suite, "unit", "unit"))}
        row["tolerance"] = getattr(suite, "tolerance", 0.0)
        try:
            if hasattr(bench, "setup"):
                bench.setup(*given)
            row["value"] = run(bench, *given)
        except NotImplementedError as error:
            row["reason"] = str(error)
            row["not_yet"] = type(error).__name__ == "NotYetError"
        found[figure] = row
    return found


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="", metavar="REGEX", help="only figures whose name has this")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    json.dump(measure(args.bench), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
