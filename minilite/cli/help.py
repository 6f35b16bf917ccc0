"""The help of the commands: options in groups, examples, and words that people try in place of a command."""

from __future__ import annotations

import argparse
from typing import Any

_GROUPS = {
    "inputs": (
        "--input", "--shape", "--signature", "--mean", "--std", "--rate", "--hop", "--seed", "--set", "--state", "--section",
    ),
    "outputs": (
        "--out", "--labels", "--top", "--draw", "--min-score", "--record", "--json", "--csv", "--svg", "--trace", "--map",
        "--header", "--write-offline", "--format", "--keep", "--real", "--part", "--raw",
    ),
    "sizes": ("--sweep", "--axis", "--step"),
    "memory": (
        "--planner", "--strategy", "--max-arena", "--memory", "--put", "--bind", "--alignment", "--capacity", "--budget",
        "--most-work", "--seconds",
    ),
    "running": ("--threads", "--level", "--resolver", "--fast-convolutions", "--cache-dir", "--repeat", "--runs", "--workers", "--scheduler", "--batch", "--on-error"),
}  # fmt: skip
"""Options by the group in which a command's help lists them; all others are in the group of --help."""
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "run": (
        ("minilite run net.tflite cat.jpg --labels names.txt --top 3", "classes of a picture"),
        ("minilite run detector.tflite street.jpg --draw found.png", "boxes, drawn into the picture"),
        ("minilite run net.tflite a.npy second=b.npy --out made.npz", "arrays for two inputs"),
        ("minilite run net.tflite --signature train --repeat 20", "20 steps of training"),
    ),
    "batch": (
        ("minilite batch net.tflite cats --out found.csv --top 1", "a row for each picture of a folder"),
        ("minilite batch net.tflite a.parquet --out b", "going on where it was stopped"),
    ),
    "inspect": (
        ("minilite inspect model.tflite --shape 1,224,224,3", "nodes, tensors and places at a size"),
        ("minilite inspect --check model.tflite", "is every operator supported?"),
    ),
    "plan": (
        ("minilite plan model.tflite --compare", "the arena by every strategy"),
        ("minilite plan model.tflite --fit 512kB", "the largest input that fits"),
        ("minilite plan model.tflite --for tflm", "the arena that a microcontroller needs"),
    ),
    "check": (("minilite check model.tflite --for tflm", "which nodes does a microcontroller take?"),),
    "tile": (("minilite tile model.tflite small.tflite --budget 200kB", "the same results in a smaller arena"),),
    "profile": (
        ("minilite profile model.tflite cat.jpg --threads 2", "the time of every node"),
        ("minilite profile model.tflite --trace trace.json", "a timeline for Perfetto or speedscope"),
    ),
    "bench": (("minilite bench model.tflite --against litert", "loading, running and resizing beside LiteRT"),),
    "compare": (
        ("minilite compare float.tflite int8.tflite cat.jpg", "a model and its quantized form"),
        ("minilite compare model.tflite --against litert", "minilite and LiteRT, tensor by tensor"),
    ),
    "replay": (("minilite replay r.npz model.tflite --level scalar", "what `minilite run --record r.npz` recorded"),),
    "report": (
        ("minilite report model.tflite cat.jpg", "memory, nodes and graph on one page"),
        ("minilite report model.tflite --against litert -o page.html", "with a comparison"),
    ),
    "cache": (
        ("minilite cache --dir /var/cache/minilite", "files of packed weights, and if they serve"),
        ("minilite cache --verify", "reads every byte of those in MINILITE_CACHE_DIR"),
    ),
    "as": (("minilite as tflite_runtime program.py", "a program of LiteRT's, unmodified"),),
    "completion": (('eval "$(minilite completion bash)"', "in ~/.bashrc"),),
}
"""Commands that work, each with what it is for, by the command whose help shows them."""
SYNONYMS = {
    "info": "inspect",
    "show": "inspect",
    "summary": "inspect",
    "view": "report",
    "visualize": "report",
    "predict": "run",
    "benchmark": "bench",
    "time": "profile",
    "diff": "compare",
}
"""Words that people try, and the commands that do what they mean."""
_MARK = "examples:"


class Help(argparse.HelpFormatter):
    """Keeps the lines of examples; all else is wrapped."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(_MARK) else super()._fill_text(text, width, indent)


def group_of(names: tuple[str, ...], how: dict[str, Any]) -> str:
    """Returns the title of the group for an option; empty for those without one.

    `plan --fit` takes bytes, the --fit of other commands one of a few words."""
    if "--fit" in names:
        return "inputs" if how.get("choices") else "sizes"
    return next((title for title, options in _GROUPS.items() if {*names} & {*options}), "")


def examples(command: str) -> str:
    """Returns the lines about examples at the end of a command's help."""
    lines = [f"  {line}\n      {about}" for line, about in EXAMPLES.get(command, ())]
    return "\n".join([_MARK, *lines]) if lines else ""
