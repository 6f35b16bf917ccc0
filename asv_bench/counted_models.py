"""Counts the instructions of one run of real models, minilite's and LiteRT's, and prints a table.

usage: python -m asv_bench.counted_models MODEL ...

MODEL is the path of a .tflite file, or NAME=PATH with the name to print. Counted by valgrind's callgrind, whose
processor has AVX2 and no AVX-512, whatever the machine has: so both sides run as on a PC with AVX2 alone, minilite at
level avx2, LiteRT with XNNPACK's kernels for it. One thread, random inputs, steady runs. The last column is LiteRT's
count over minilite's: below 1 (bold) LiteRT takes fewer. `python -m asv_bench.performance counted-models` counts NAMED
and writes the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from asv_bench import builds
from asv_bench.benchmarks import costs
from asv_bench.real_models import filled, named

NAMED = {
    "person detection, int8 (MLPerf Tiny)": "mlperftiny_vww_96_int8",
    "keyword spotting, int8 (MLPerf Tiny)": "mlperftiny_kws_ref_model",
    "image classification, int8 (MLPerf Tiny)": "mlperftiny_pretrainedResnet_quant",
    "MobileNet v1 0.25, uint8": "coral_mobilenet_v1_0.25_128_quant",
    "face detection SSD, int8 (Emza)": "emza_ssd_slim_120x160x1_v1_int8",
    "wake word, int8 (microWakeWord)": "microwakeword_v2_hey_jarvis",
    "anomaly detection, int8 (MLPerf Tiny)": "mlperftiny_ad01_int8",
}
"""Files in ../shared/models, by the name that is printed."""
MODULES = {"minilite": "minilite", "LiteRT": "ai_edge_litert.interpreter"}
REPEAT = 2
"""Runs that are counted, after as many that warm up."""


def instructions(path: str) -> dict[str, float]:
    """Instructions of a steady run of a model, by side. Raises: NotImplementedError, with the reason, where they
    cannot be counted; subprocess.CalledProcessError."""

    def run(library: str, tool: list[str]) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        program = "import sys; from asv_bench.counted_models import count; count(*sys.argv[1:])"
        command = [*tool, sys.executable, "-c", program, library, path]
        subprocess.run(command, env=environment, cwd=builds.ROOT, capture_output=True, check=True)

    return {side: count / REPEAT for side, count in costs.by_callgrind(run).items()}


def count(library: str, path: str) -> None:
    """Counts runs of both sides, in a process of its own under callgrind."""
    made = costs.loaded(library)
    for side, module in MODULES.items():
        one = filled(import_module(module).Interpreter(path, num_threads=1))
        for _ in range(REPEAT):
            one.invoke()
        made.costs_start()
        for _ in range(REPEAT):
            one.invoke()
        made.costs_stop(side.encode())


def row(model: str) -> str:
    """A model's line of the table."""
    name, _, path = model.rpartition("=")
    each = instructions(path)
    ratio = each["LiteRT"] / each["minilite"]
    faster = f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"
    return f"| {name or Path(path).stem} | {each['minilite'] / 1e6:.2f} | {each['LiteRT'] / 1e6:.2f} | {faster} |"


def table(models: Sequence[str]) -> str:
    """The table, in Markdown; each line is printed when it was counted."""
    lines = ["| model | minilite, millions | LiteRT, millions | LiteRT / minilite |", "|---|---:|---:|---:|"]
    print(*lines, sep="\n", flush=True)
    for model in models:
        lines.append(row(model))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def make() -> str | None:
    """The table of docs/performance.md; None without its models."""
    models = named(NAMED)
    return None if models is None else table(models)


def main() -> None:
    """Prints the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    table(args.models)


if __name__ == "__main__":
    main()
