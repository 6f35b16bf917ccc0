"""Asks other runtimes which types of each operator they take, and prints the table that minilite/data/machines/ keeps.

    PYTHONPATH=tests python -m support.machine_types tflm [MODEL ...] > minilite/data/machines/tflm.txt
    PYTHONPATH=tests python -m support.machine_types xnnpack > minilite/data/machines/xnnpack.txt

The nodes are the cases of tests/ops, one for each line of types of an operator's row. `tflm` runs each in the package
tflite-micro, and adds the types of the nodes of the MODELs that the package runs; `xnnpack` looks whether LiteRT gives
the node to its default delegate. Each runs in a child, for some of them end it. An operator that the runtime has, but
not in any types tried, has a question mark: a case may be refused because of its shape.
"""

from __future__ import annotations

import itertools
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import files, version
from pathlib import Path
from typing import Any

from support import apart
from support.cases import node_of
from support.litert_types import cases, has, spelled
from support.peer import interpreter as litert

from minilite import load_model
from minilite.format.dtypes import TensorType
from minilite.ops import operators
from minilite.ops_shared.types import written_out

Types = tuple[tuple[str, ...], tuple[str, ...]]
PACKAGES = {"tflm": "tflite-micro", "xnnpack": "ai-edge-litert"}
MOST_SECONDS = 60
MOST = 60
"""The largest number of combinations that are tried for an operator."""
RENAMED = {"DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess", "L2NORM_REF": "L2_NORMALIZATION"}


def combinations(op: str) -> Iterator[Types]:
    """Yields the types that the row names, all of them."""
    for text in operators()[op].types:
        for sides in written_out(text):
            inputs, outputs = (tuple(TensorType(code).suffix for code in side) for side in sides)
            yield inputs, outputs


def run_by_tflm(data: bytes, arrays: Sequence[Any]) -> bool:
    """True if TensorFlow Lite Micro runs a model to its end; inputs without an array are what memory holds."""
    from tflite_micro import runtime

    try:
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 28 if not arrays else 1 << 21)
        for position, array in enumerate(arrays):
            interpreter.set_input(array, position)
        interpreter.invoke()
    except (RuntimeError, ValueError):
        return False
    return True


def xnnpack_takes(node: Any) -> bool:
    """True if LiteRT gives the node to its default delegate."""
    try:
        interpreter = litert.Interpreter(model_content=node.model)
        interpreter.allocate_tensors()
        return any(row["op_name"] == "DELEGATE" for row in interpreter._get_ops_details())
    except (RuntimeError, ValueError):
        return False


def tried(which: str, op: str, message: Any) -> Iterator[Types]:
    """Yields the types that were taken."""
    all_types = list(itertools.islice(dict.fromkeys(combinations(op)), MOST))

    def work(number: int) -> bool | None:
        signal.alarm(MOST_SECONDS)
        try:
            node, _ = node_of(op, message, *all_types[number])
            if not has(node, all_types[number]):
                return None
            return run_by_tflm(node.model, node.arrays) if which == "tflm" else xnnpack_takes(node)
        except Exception:  # noqa: BLE001 - some cases make no node of some types
            return None

    return (all_types[number] for number, answer in apart.answers(work, range(len(all_types))) if answer is True)


def types_of(subgraph: Any, node: Any) -> Types:
    """The types of a node's operands that are there."""
    sides = (node.inputs, node.outputs)
    inputs, outputs = (tuple(subgraph.tensors[i].type.suffix for i in side if i >= 0) for side in sides)
    return inputs, outputs


def of_models(paths: Sequence[str]) -> dict[str, list[Types]]:
    """The types of the nodes of the models that TensorFlow Lite Micro runs, by operator."""

    def work(number: int) -> bool:
        return run_by_tflm(Path(paths[number]).read_bytes(), ())

    found: dict[str, list[Types]] = {}
    for number, answer in apart.answers(work, range(len(paths))):
        if answer is True:
            for subgraph in load_model(paths[number]).subgraphs:
                for node in subgraph.nodes:
                    found.setdefault(node.op, []).append(types_of(subgraph, node))
    return found


def registered() -> set[str]:
    """The operators that the package tflite-micro has kernels of, by the names of functions in its library."""
    library = next(each for each in files("tflite-micro") or () if each.name == "_runtime.so")
    names = re.findall(rb"Register_([A-Z0-9_]+?)(?:E[a-z]|v|\x00)", library.locate().read_bytes())  # type: ignore[attr-defined]
    return {RENAMED.get(name.decode(), name.decode()) for name in names}


def main(which: str, models: Sequence[str]) -> None:
    package = PACKAGES[which]
    print(
        f"# source: {package} {version(package)}, each operator in each of its types (tests/support/machine_types.py)"
    )
    known, seen = cases(), of_models(models)
    there = registered() if which == "tflm" else set()
    for op in sorted(set(known) & set(operators()) | set(seen) | there & set(operators())):
        taken = [*tried(which, op, known[op])] if op in known and op in operators() else []
        texts = dict.fromkeys(map(spelled, [*taken, *seen.get(op, ())]))
        if texts or op in there:
            print(f"{op}: {'; '.join(texts) or '?'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
