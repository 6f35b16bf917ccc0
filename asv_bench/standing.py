"""Times models beside LiteRT at each level of instructions, by class of models: fills docs/performance.md.

usage: python -m asv_bench.standing [--seconds 0.5] [--write] [MODEL ...]

Times a steady run of each model, one thread on either side, in turns in one process, at the best level of this machine.
Levels below it are timed by `python -m asv_bench.older_processor LEVEL python -m asv_bench.standing ...`. `--write`
puts what was measured into the table, a column for each level; the columns of other levels, and their stamps, stay as
long as they are not too old. Without MODEL all of ../shared/models are timed whose run takes a while (LEAST_RUN).
"""

from __future__ import annotations

import argparse
import collections
import datetime
import importlib.metadata
import math
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import builds, documents, history
from asv_bench.benchmarks import timing
from asv_bench.real_models import FOLDER, filled

DOCUMENT = builds.ROOT / "docs" / "performance.md"
NAME = "standing"
CLASSES = ("int8", "uint8", "hybrid", "float16 weights", "float32", "other")
ALL = "all"
LEAST_ROUNDS, SLICE = 5, 3_000_000
"""Turns of each side at least, and the nanoseconds that one takes at least."""
TESTS = ("aeq_", "litert_")
"""Beginnings of models that other projects' tests are made of: some end LiteRT's process."""
LEAST_RUN = 20_000
"""Nanoseconds of a run of minilite from which on a model of the folder is in the table; in less, the cost of a call
counts most, which the table of peers has."""
PACKAGES = (("minilite", "minilite-runtime"), ("LiteRT", "ai-edge-litert"))


def class_of(model: Any) -> str:
    """The class of a model: the type of most tensors that are computed; of floats, that of most of its weights."""
    from minilite.format.dtypes import TensorType

    computed: collections.Counter[Any] = collections.Counter()
    constant: collections.Counter[Any] = collections.Counter()
    for subgraph in model.subgraphs:
        for tensor in subgraph.tensors:
            if tensor.data is None:
                computed[tensor.type] += 1
            else:
                constant[tensor.type] += math.prod(tensor.shape)
    names = {TensorType.INT8: "int8", TensorType.UINT8: "uint8", TensorType.FLOAT32: "float32"}
    main = max(names, key=lambda kind: computed[kind])
    if not computed[main]:
        return "other"
    if names[main] != "float32":
        return names[main]
    weights = {TensorType.FLOAT16: "float16 weights", TensorType.FLOAT32: "float32"}
    weights |= dict.fromkeys((TensorType.INT8, TensorType.UINT8, TensorType.INT4), "hybrid")
    return weights[max(weights, key=lambda kind: constant[kind])]


class Ratio(NamedTuple):
    """LiteRT's time for a run of a model, divided by minilite's."""

    path: str
    kind: str
    ratio: float


def failure_of_litert(path: str) -> str:
    """The reason why LiteRT cannot run a model a hundred times, "" if it can; some models end its process."""
    program = (
        "import sys; from ai_edge_litert.interpreter import Interpreter; from asv_bench.real_models import filled\n"
        "one = filled(Interpreter(model_path=sys.argv[1], num_threads=1))\n"
        "for _ in range(100): one.invoke()"
    )
    command = [sys.executable, "-c", program, path]
    done = subprocess.run(command, cwd=builds.ROOT, check=False, capture_output=True, text=True)
    if done.returncode < 0:
        return f"signal {-done.returncode} ends its process"
    return (done.stderr.strip().splitlines() or ["no reason"])[-1][:100] if done.returncode else ""


def timed(path: str, seconds: float, least: float = 0) -> Ratio | None:
    """The ratio of the medians; None for a model that LiteRT cannot run, or of which a run takes less time than the
    least, in nanoseconds."""
    from ai_edge_litert.interpreter import Interpreter as LiteRT

    from minilite import Interpreter

    if reason := failure_of_litert(path):
        print(f"LiteRT cannot run {Path(path).stem}: {reason}", flush=True)
        return None
    ours = filled(Interpreter(path, num_threads=1))
    theirs = filled(LiteRT(model_path=path, num_threads=1))
    calls = (ours.invoke, theirs.invoke)
    costs = [max(1.0, timing.sample(call, 2)) for call in calls]
    if costs[0] < least:
        return None
    repeats = [max(1, round(SLICE / cost)) for cost in costs]
    rounds = max(LEAST_ROUNDS, int(seconds * 1e9 / sum(max(SLICE, cost) for cost in costs)))
    turns = [[timing.sample(call, n) for call, n in zip(calls, repeats, strict=True)] for _ in range(rounds)]
    mine, other = (statistics.median(side) for side in zip(*turns, strict=True))
    return Ratio(path, class_of(ours.model), other / mine)


def column(ratios: Sequence[Ratio]) -> dict[str, str]:
    """A cell for each class: the geometric mean, the lowest, and how many there are."""

    def cell(found: list[float]) -> str:
        mean = math.exp(statistics.fmean(map(math.log, found)))
        return f"{mean:.2f}, {min(found):.2f}, {len(found)}"

    by_class = {name: [each.ratio for each in ratios if each.kind == name] for name in CLASSES}
    by_class[ALL] = [each.ratio for each in ratios]
    return {name: cell(found) for name, found in by_class.items() if found}


def stamp() -> str:
    """Where a column was measured, with what, when and by which command."""
    versions = (f"{label} {importlib.metadata.version(name)}" for label, name in PACKAGES)
    day = datetime.datetime.now(datetime.timezone.utc).date()
    return f"{documents.processor()}, {', '.join(versions)}, {day}: `python -m asv_bench.standing`"


def read(text: str) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """The columns and the stamps that a document's table has."""
    body = text.partition(f"<!-- begin {NAME} -->\n")[2].partition(f"<!-- end {NAME} -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line[:1] == "|"]
    columns: dict[str, dict[str, str]] = {name: {} for name in (rows[0][1:] if rows else [])}
    for row in rows[2:]:
        for name, cell in zip(columns, row[1:], strict=True):
            columns[name] |= {row[0]: cell} if cell else {}
    marks = [line[2:].partition(": ") for line in body.splitlines() if line.startswith("- ")]
    return columns, {name: mark for name, _, mark in marks}


def write(columns: Mapping[str, Mapping[str, str]], stamps: Mapping[str, str]) -> str:
    """The table, a row for each class, and under it where each column was measured."""
    lines = [f"| class | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for name in (*CLASSES, ALL):
        cells = [each.get(name, "") for each in columns.values()]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"- {name}: {stamps[name]}" for name in columns)])


def shown(name: str, ratios: Iterable[Ratio | None]) -> list[Ratio]:
    """The ratios of a column, each printed as it comes."""
    found = []
    for ratio in filter(None, ratios):
        found.append(ratio)
        print(f"{ratio.ratio:8.2f}  {name}  {ratio.kind:16} {Path(ratio.path).stem}", flush=True)
    return found


def merged(text: str, name: str, measured: dict[str, str], mark: str, present: str) -> str:
    """The table of a document with a column put in, and without the columns that are too old to be shown."""
    columns, stamps = read(text)
    old = [level for level, line in stamps.items() if documents.is_too_old(line, present)]
    columns, stamps = columns | {name: measured}, stamps | {name: mark}
    return write({level: cells for level, cells in columns.items() if level == name or level not in old}, stamps)


def table(models: Sequence[str], seconds: float, least: float = 0) -> str:
    """Times models; the table with their column."""
    name = documents.level()
    found = column(shown(name, (timed(path, seconds, least) for path in models)))
    return merged(DOCUMENT.read_text(), name, found, stamp(), history.version())


def make(seconds: float = 0.5) -> str | None:
    """The table with the column of this machine's level; None without the models."""
    models = sorted(str(path) for path in FOLDER.glob("*.tflite") if not path.name.startswith(TESTS))
    return table(models, seconds, LEAST_RUN) if models else None


def main() -> int:
    """Measures, prints the table, and writes it where asked."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--seconds", type=float, default=0.5, help="that a model's turns take, about")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args()
    body = table(args.models, args.seconds) if args.models else make(args.seconds)
    if body is None:
        sys.exit(f"{FOLDER} has no models: name some")
    print(body)
    if args.write:
        DOCUMENT.write_text(documents.put(DOCUMENT.read_text(), NAME, body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
