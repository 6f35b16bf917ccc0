"""Makes the tables of the documents and writes them there, each with where and by which version it was measured.

usage: python -m asv_bench.performance [NAME ...]

NAME is the mark of a table (SECTIONS); without names all are made. `history` measures this version as
asv_bench/history.py does, if that has not been done, and draws it with those before. `calls` and `costs` say in words
what `peers` measured. Tables of real models need ../shared/models, and are left as they are without it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from asv_bench import (
    bad_case,
    builds,
    cached,
    counted_models,
    distance,
    documents,
    history,
    history_chart,
    levels,
    real_models,
    single_operators,
    standing,
)
from asv_bench.benchmarks import batches, costs, operations, peers
from asv_bench.ladder import __main__ as ladder

README = builds.ROOT / "README.md"
MEASUREMENTS = builds.ROOT / "docs" / "measurements.md"
PERFORMANCE = builds.ROOT / "docs" / "performance.md"
SIZING = builds.ROOT / "docs" / "sizing.md"
PICTURES = builds.ROOT / "docs" / "pictures"


def make_peers() -> str:
    """minilite's cost over each runtime's."""
    lines = [
        "| operation | " + " | ".join(peers.RUNTIMES) + " |",
        "|---|" + "---:|" * len(peers.RUNTIMES),
    ]
    for case in operations.API:
        cells = []
        for runtime in peers.RUNTIMES:
            try:
                cells.append(f"{peers.ratio(case, runtime):.2f}")
            except (NotImplementedError, ImportError):
                cells.append("")
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def make_counted() -> str:
    """Allocator calls and instructions by operation."""
    found = costs.allocations()
    try:
        instructions = costs.instructions()
    except NotImplementedError:
        instructions = {}
    lines = ["| operation | allocator calls | instructions |", "|---|---:|---:|"]
    for name in operations.ALL:
        counted = f"{instructions[name]:,.0f}" if name in instructions else ""
        lines.append(f"| {name} | {found.get(name, float('nan')):g} | {counted} |")
    return "\n".join(lines)


def make_ladder() -> str:
    """The ladder's tables and its picture."""
    found = ladder.measure()
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "ladder.svg").write_text(ladder.picture(found))
    picture = "![the planner's share of run time by step](pictures/ladder.svg)"
    return f"{ladder.steps_table(found)}\n\n{picture}\n\n{ladder.stores_table(found)}"


def make_bad_case() -> str:
    """Where runs whose shapes change spend their instructions, before and after, with a flame graph each."""
    profiles = bad_case.measure(bad_case.VERSIONS)
    PICTURES.mkdir(exist_ok=True)
    names = bad_case.pictures(profiles, PICTURES)
    shown = "\n".join(f"![{name.removesuffix('.svg')}](pictures/{name})" for name in names)
    return f"{bad_case.table(profiles)}\n\n{shown}"


def make_history() -> str:
    """The history's picture and table, this version among them. Raises: SystemExit when it could not be measured."""
    status = history.measure(history.present())
    machines = history_chart.machines()
    if status or not machines:
        sys.exit("this version could not be measured: asv says why")
    return drawn(*machines)


def drawn(rows: history_chart.Rows, *others: history_chart.Rows) -> str:
    """The history's pictures and table, of what was measured."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "history.svg").write_text(history_chart.draw(rows, others))
    (PICTURES / "history_memory.svg").write_text(history_chart.draw_memory(rows))
    picture = "![the cost of each operation, by version](pictures/history.svg)"
    memory = "![bytes by version](pictures/history_memory.svg)"
    return f"{len(rows)} commits.\n\n{picture}\n\n{memory}\n\n{history_chart.table(rows)}"


def make_workers() -> str:
    """Memory that a further process adds, by how it was started."""
    suite = batches.FurtherWorker()
    cells = (f"{suite.track_bytes(method) / 2**20:.1f}" for method in suite.params)
    return f"| forked, MiB more | new process, MiB more |\n|---:|---:|\n| {' | '.join(cells)} |"


def ratios() -> dict[str, float]:
    """minilite's cost over LiteRT's by operation, of the table that was written last."""
    head, *rows = documents.rows(MEASUREMENTS.read_text(), "peers")
    column = head.index("litert")
    return {row[0]: float(row[column]) for row in rows if row[column]}


def of_peers() -> str:
    """Where the table of peers was measured: processor, level and version; "" if it does not say so."""
    found = re.search(
        r"<!-- begin peers -->\n\*(.*?), Python.*?minilite\s([\d.]+)", MEASUREMENTS.read_text(), re.DOTALL
    )
    return f"{found[1]}, minilite {found[2]}" if found else ""


def faster(ratio: float) -> str:
    """A ratio of costs in words: "2.3 times faster"; from 0.98 to 1.02, "as fast"."""
    if abs(ratio - 1) < 0.025:
        return "as fast"
    return f"{1 / ratio:.2g} times faster" if ratio < 1 else f"{ratio:.2g} times slower"


def make_calls() -> str:
    """The README's sentences on what calls cost, of the table of peers."""
    found = ratios()
    words = {name: faster(found[name]) for name in ("invoke, chain 1", "resize seen, conv", "resize new, conv")}
    text = (
        f"Compared with LiteRT, a run of one node is {words['invoke, chain 1']}. Going back to an input size of a small "
        f"network is {words['resize seen, conv']}, and going to a new one {words['resize new, conv']} ({of_peers()}: "
        "`python -m asv_bench.performance peers calls`)."
    )
    return documents.wrapped(text)


def make_costs() -> str:
    """The table of costs in docs/performance.md, from the table of peers: the cost over LiteRT's, and why."""
    found = ratios()

    def cell(*names: str) -> str:
        values = sorted(found[name] for name in names)
        return f"{values[0]:.2f}" if values[0] == values[-1] else f"{values[0]:.2f} to {values[-1]:.2f}"

    lines = [f"*{of_peers()}: `python -m asv_bench.performance peers costs`.*", ""]
    lines += ["| operation | cost, LiteRT = 1 | why |", "|---|---:|---|"]
    lines += [
        f"| {what} | {cell(*names)} | {why} |"
        for what, names, why in (
            ("`invoke()` of one node", ["invoke, chain 1"], "the cost of a call dominates"),
            ("`invoke()` of a hundred small nodes", ["invoke, chain 100"], "so does the cost of each node"),
            (
                "`invoke()` of convolutions, nearly all arithmetic",
                ["invoke, layers float32", "invoke, layers int8"],
                "the level of instructions decides (below)",
            ),
            (
                "an input size that was used lately",
                ["resize seen, conv", "resize seen, chain 100"],
                "its plan is kept, and put into use by exchanging pointers",
            ),
            (
                "an input size for the first time",
                ["resize new, conv", "resize new, chain 100"],
                "shapes are computed, and memory is laid out; weights stay packed",
            ),
            (
                "`Interpreter(path)` and `allocate_tensors()`",
                ["load, conv", "load, chain 100"],
                "weights are packed when a size first needs them",
            ),
            (
                "a run whose shapes depend on data, 50 nodes",
                ["dynamic chain, 16 sizes", "dynamic branches, 16 sizes", "dynamic loop, 16 sizes"],
                "only what changed is planned again",
            ),
            ("`set_tensor`, `get_tensor` of 16 floats", ["set_tensor", "get_tensor"], "they check more"),
        )
    ]
    return "\n".join(lines)


class Section(NamedTuple):
    """A table: its document, and how it is made; `make` gives None where it needs models that are not there."""

    document: Path
    make: Callable[[], str | None]


SECTIONS = {
    "peers": Section(MEASUREMENTS, make_peers),
    "calls": Section(README, make_calls),
    "costs": Section(PERFORMANCE, make_costs),
    "counted": Section(MEASUREMENTS, make_counted),
    "history": Section(MEASUREMENTS, make_history),
    "speed": Section(README, real_models.make),
    "standing": Section(PERFORMANCE, standing.make),
    "distance": Section(PERFORMANCE, distance.make),
    "counted-models": Section(PERFORMANCE, counted_models.make),
    "levels": Section(MEASUREMENTS, levels.table),
    "single": Section(MEASUREMENTS, single_operators.table),
    "many": Section(MEASUREMENTS, single_operators.many_table),
    "cached": Section(MEASUREMENTS, cached.make),
    "workers": Section(SIZING, make_workers),
    "ladder": Section(MEASUREMENTS, make_ladder),
    "bad-case": Section(MEASUREMENTS, make_bad_case),
}
WITHOUT_STAMP = frozenset({"calls", "costs", "standing"})
"""Tables that say themselves what each part was measured on."""


def write(name: str) -> bool:
    """Makes a table and puts it into its document; False if it needs models that are not there."""
    section = SECTIONS[name]
    line = documents.stamp(f"python -m asv_bench.performance {name}")  # of the commit before the table is made
    body = section.make()
    if body is None:
        return False
    body = body if name in WITHOUT_STAMP else f"{line}\n\n{body}"
    section.document.write_text(documents.put(section.document.read_text(), name, body))
    return True


def main() -> int:
    """Makes the tables that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.performance", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SECTIONS))
    args = parser.parse_args()
    if unknown := set(args.names) - set(SECTIONS):
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    for name in args.names or SECTIONS:
        print(f"{name}: {'done' if write(name) else 'left as it is, without ../shared/models'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
