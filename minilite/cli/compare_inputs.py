"""minilite compare --inputs FOLDER: the outputs of two runs over many inputs: errors, classes, decisions, boxes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite.cli.arguments import UsageError
from minilite.cli.found import LEAST
from minilite.cli.output import print_json, width
from minilite.comparison.outcomes import Tally, outcome_lines, tallies
from minilite.engine.engine import engine_of
from minilite.progress import progress
from minilite.report.detections import roles
from minilite.terminal import say
from minilite.text import count, wrapped

if TYPE_CHECKING:
    from minilite.comparison.result import Comparison, Row
    from minilite.interpreter import Interpreter

Object = tuple[int, float, tuple[float, ...]]
"""A class, a score, and a box: top, left, bottom, right."""
_ALIKE = 0.5
"""The least share that two boxes of one object have in common: the area of both divided by that of either."""


class Files(NamedTuple):
    """The inputs of a comparison, in the order of their names."""

    paths: list[Path]
    names: list[str]


def files_in(folder: Path) -> Files:
    """Returns the files of a folder, without hidden ones. Raises: UsageError if there are none."""
    if not folder.is_dir():
        message = f"--inputs {folder}: must be a folder"
        raise UsageError(message)
    below = [path for path in folder.rglob("*") if path.is_file()]
    hidden = [path for path in below if any(part.startswith(".") for part in path.relative_to(folder).parts)]
    paths = sorted(set(below) - set(hidden))
    if not paths:
        message = f"--inputs {folder}: has no files"
        raise UsageError(message)
    return Files(paths, [str(path.relative_to(folder)) for path in paths])


def compare_all(
    options: argparse.Namespace, interpreter: Interpreter, run: Callable[[argparse.Namespace], Comparison]
) -> int:
    """Compares the runs on each file, and prints a line for each output. Returns 1 if --tolerance is given and an
    output is further apart. Raises: UsageError."""
    files = files_in(options.inputs)
    if len(interpreter.get_input_details()) != 1:
        message = f"--inputs {options.inputs}: each file is the value of one input, the model has {len(interpreter.get_input_details())}"
        raise UsageError(message)
    found = [
        run(argparse.Namespace(**{**vars(options), "data": [str(path)], "input": []}))
        for path in progress(files.paths, "input")
    ]
    runs = [comparison.rows for comparison in found]
    outputs = tallies(runs, options.threshold)
    least = LEAST if options.threshold is None else options.threshold
    objects = _other_objects(interpreter, runs, least)
    if objects is not None:  # a detector's scores are of objects, not of classes
        outputs = [each._replace(has_classes=False) for each in outputs]
    diverging = [n for n, rows in enumerate(runs) if any(row.diverges and row.is_output for row in rows)]
    if options.json:
        print_json(_facts(options, found[0], files, outputs, objects, diverging))
    else:
        for line in _lines(options, found[0], files, outputs, objects):
            say(wrapped(line, width()))
    return int(options.tolerance is not None and bool(diverging))


def _lines(
    options: argparse.Namespace, first: Comparison, files: Files, outputs: Sequence[Tally], objects: list[int] | None
) -> Iterator[str]:
    for name, label in zip(first.models, first.labels, strict=True):
        yield f"{name}: {label}"
    yield f"inputs: {count(len(files.paths), 'file')} of {options.inputs}"
    yield from outcome_lines(outputs, options.threshold, files.names)
    if objects is not None:
        least = LEAST if options.threshold is None else options.threshold
        share = "the same in all"
        if objects:
            percent = 100 * len(objects) / len(files.paths)
            share = f"others in {len(objects)} ({percent:.3g} %, first in {files.names[objects[0]]})"
        yield f"objects from a score of {least:g} on: {share}"


def _facts(
    options: argparse.Namespace,
    first: Comparison,
    files: Files,
    outputs: Sequence[Tally],
    objects: list[int] | None,
    diverging: list[int],
) -> dict[str, Any]:
    def named(numbers: Sequence[int]) -> list[str]:
        return [files.names[number] for number in numbers]

    return {
        "models": list(first.models),
        "labels": list(first.labels),
        "inputs": files.names,
        "threshold": options.threshold,
        "outputs": [
            {
                "name": each.name,
                "largest": each.largest,
                "step": each.step or None,
                "other_class": named(each.classes),
                "other_decision": named(each.decisions),
                "incomparable": each.incomparable,
            }
            for each in outputs
        ],
        "other_objects": None if objects is None else named(objects),
        "diverging": named(diverging),
    }


def _other_objects(interpreter: Interpreter, runs: Sequence[Sequence[Row]], least: float) -> list[int] | None:
    """Returns the numbers of the inputs in which the two find other objects; None if the model is no detector."""
    engine = engine_of(interpreter)
    places = roles(interpreter.model, engine.root)
    if places is None:
        return None
    tensors = {role: engine.graph.outputs[at] for role, at in places.items()}
    differing = []
    for number, rows in enumerate(runs):
        by_tensor = {row.tensor: row for row in rows if row.is_output}
        sides = [
            _objects({role: by_tensor[tensor] for role, tensor in tensors.items() if tensor in by_tensor}, side, least)
            for side in (0, 1)
        ]
        if not _same(*sides):
            differing.append(number)
    return differing


def _objects(rows: dict[str, Row], side: int, least: float) -> list[Object]:
    """Returns the objects of one of the two runs."""
    values = {role: [pair[side] for pair in row.scores] for role, row in rows.items()}
    if not {"boxes", "classes", "scores"} <= set(values):
        return []
    most = int(values["count"][0]) if values.get("count") else len(values["scores"])
    boxes = [tuple(values["boxes"][at : at + 4]) for at in range(0, len(values["boxes"]), 4)]
    each = list(zip(values["classes"], values["scores"], boxes, strict=False))[:most]
    return [(int(kind), score, box) for kind, score, box in each if score >= least]


def _same(first: Sequence[Object], second: Sequence[Object]) -> bool:
    """True if each object has a counterpart of its class, in nearly the same place."""
    left = list(second)
    for kind, _, box in first:
        match = next((one for one in left if one[0] == kind and _overlap(box, one[2]) >= _ALIKE), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    height = min(a[2], b[2]) - max(a[0], b[0])
    width_ = min(a[3], b[3]) - max(a[1], b[1])
    both = max(height, 0.0) * max(width_, 0.0)
    either = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)) - both
    return both / either if either > 0 else float(a == b)
