"""What copying arrays in and out takes of a run, and a run on bound arrays beside it, at every level of instructions.

usage: python -m asv_bench.copying [MODEL.tflite ...]

Without models: six convolutions (asv_bench/benchmarks/common.py, `layers`). A level stands for a machine: copies take
about as long on each, the run does not; so the faster a machine computes, the larger is the share of copies.
"""

from __future__ import annotations

import sys
from pathlib import Path

from asv_bench.benchmarks import binding, common
from minilite._native.kernels import level_names

HEAD = """\
| model | level | bytes in and out | run, us | copies, us | share of copies | run on bound arrays, us |
|---|---|---:|---:|---:|---:|---:|"""


def row(name: str, level: str, ways: binding.Ways) -> str:
    """A line of the table, in Markdown."""
    cells = [name, level, str(ways.nbytes), f"{ways.run / 1e3:.1f}", f"{ways.copies / 1e3:.2f}"]
    cells += [f"{100 * ways.share:.2f} %", f"{ways.bound_run / 1e3:.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    models = {Path(path).name: {"model_path": path} for path in sys.argv[1:]}
    if not models:
        models = {name: {"model_content": common.model(name)} for name in ("layers float32", "layers int8")}
    print(HEAD)
    for name, model in models.items():
        for level in level_names():
            print(row(name, level, binding.Ways(model, level=level)))


if __name__ == "__main__":
    main()
