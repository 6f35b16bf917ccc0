"""Builds every variant, counts its instructions, and prints the ladder's table; see README.md.

usage: python -m asv_bench.ladder [--form branches] [--nodes 1600] [--dynamic 10] [--runs 8] [--svg FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from asv_bench.benchmarks import dynamic_family
from asv_bench.ladder import chart, variants
from asv_bench.ladder.variants import Measured

START = 54.3
"""The article's share of the planner before its first step, in percent."""


def others(found: dict[tuple[int, str], Measured]) -> float:
    """Thousands of instructions of a run beside the planner: such that the first step has the article's share."""
    return found[0, "vector"].planner * (100 - START) / START


def shares(found: dict[tuple[int, str], Measured]) -> list[dict[str, float]]:
    """Percent of a run by phase for each step with the vector.

    What a run costs beside the planner is the same for all.
    """
    rest = others(found)
    rows = [found[step, "vector"] for step in range(len(variants.STEPS))]
    return [{name: 100 * cost / (row.planner + rest) for name, cost in row.phases.items()} for row in rows]


def steps_table(found: dict[tuple[int, str], Measured]) -> str:
    """The steps, as a Markdown table: the planner's cost, records and tensors it looks at, its share of a run."""
    lines = [
        "| step | instructions per run, in thousands | ordering, deallocating, allocating, resolving | records | tensors | whole run | planner's share | the article |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for step, (about, share) in enumerate(zip(variants.STEPS, shares(found), strict=True)):
        row = found[step, "vector"]
        phases = ", ".join(f"{row.phases[name]:.0f}" for name in variants.PHASES)
        left = (row.planner + others(found)) / (found[0, "vector"].planner + others(found))
        lines.append(
            f"| {step} {about.title} | {row.planner:.0f} | {phases} | {row.scanned} | {row.tensors} "
            f"| {100 * left:.0f} % | {sum(share.values()):.1f} % | {about.article} |"
        )
    return "\n".join(lines)


def stores_table(found: dict[tuple[int, str], Measured]) -> str:
    """Allocating and deallocating by what keeps the records, beside the vector, as a Markdown table."""
    lines = ["| step | vector, thousands of instructions | list | ordered multimap |", "|---|---:|---:|---:|"]
    for step in (3, 4, 5):
        costs = [
            sum(found[step, store].phases[name] for name in ("allocate", "deallocate")) for store in variants.STORES
        ]
        factors = " | ".join(f"{cost / costs[0]:.1f} x" for cost in costs[1:])
        lines.append(f"| {step} {variants.STEPS[step].title} | {costs[0]:.0f} | {factors} |")
    lines.append("| the article | | 2 x | 3 x |")
    return "\n".join(lines)


def picture(found: dict[tuple[int, str], Measured]) -> str:
    """The steps' shares as SVG."""
    about = variants.STEPS
    return chart.draw([step.title for step in about], shares(found), [step.share for step in about])


def measure(
    form: str = "branches", nodes: int = 1600, percent: int = 10, runs: int = 8
) -> dict[tuple[int, str], Measured]:
    """All variants on one graph of the family. Raises: RuntimeError when two variants place a tensor differently."""
    problem = dynamic_family.problem(dynamic_family.draw(form, nodes, percent))
    with tempfile.TemporaryDirectory() as folder:
        found = variants.measure(Path(folder), problem, runs)
    if len({row.digest for row in found.values()}) != 1:
        digests = {key: row.digest for key, row in found.items()}
        message = f"the variants place tensors differently: {digests}"
        raise RuntimeError(message)
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.ladder", description=__doc__.splitlines()[0])
    parser.add_argument("--form", default="branches", choices=("chain", "branches"))
    parser.add_argument("--nodes", type=int, default=1600)
    parser.add_argument("--dynamic", type=int, default=10, help="percent of the steps that are dynamic")
    parser.add_argument("--runs", type=int, default=8, help="runs, each with sizes of its own")
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    args = parser.parse_args()
    found = measure(args.form, args.nodes, args.dynamic, args.runs)
    print(f"{args.form}, {args.nodes} nodes, {args.dynamic} % dynamic\n\n{steps_table(found)}\n\n{stores_table(found)}")
    if args.svg:
        args.svg.write_text(picture(found))


if __name__ == "__main__":
    main()
