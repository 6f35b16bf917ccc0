"""minilite run: any model once or many times, or the embedded digit recogniser on images of several sizes."""

from __future__ import annotations

import argparse
import re
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from minilite.cli import arguments, digits
from minilite.details import TensorDetails
from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.format.values import integer_limits
from minilite.interpreter import Interpreter
from minilite.report import cut, duration, shape_text, table

_SHOWN = 6


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "run",
        help="run a model; without arguments the embedded digit recogniser",
        description="Run a model. Without MODEL: the embedded digit recogniser, on images of several sizes.",
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a .tflite file")
    parser.add_argument(
        "--input", metavar="NAME=FILE", action="append", default=[],
        help="an input's values, which set its shape too: a .npy file, for strings also a .txt file of one a line; "
        "inputs not given are random; may be repeated",
    )  # fmt: skip
    arguments.add_shape(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, help="write each output of the last run to DIR/NAME.npy")
    parser.add_argument(
        "--repeat", metavar="N", type=arguments.positive, default=1, help="runs; their median is printed"
    )
    parser.add_argument("--threads", metavar="N", type=arguments.positive, help="how many a run may use (default: 1)")
    parser.add_argument("--seed", metavar="N", type=arguments.natural, help="of the random inputs (default: 0)")
    arguments.add_planner(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Runs, and prints what came out."""
    if options.model is not None:
        run_model(options)
        return
    for name in ("input", "shape", "out", "seed"):
        if getattr(options, name) not in (None, []):
            message = f"--{name} goes with a MODEL: the embedded model brings its own images"
            raise InputError(message)
    digits.run(options.planner, options.threads, options.repeat)


def run_model(options: argparse.Namespace) -> None:
    """Any model, on the arrays given or on random ones."""
    if options.out is not None and options.out.exists() and not options.out.is_dir():
        message = f"--out {options.out}: is a file, must be a folder"
        raise InputError(message)
    started = time.perf_counter()
    interpreter = Interpreter(options.model, num_threads=options.threads, planner=options.planner)
    loaded = time.perf_counter()
    given = {i: _load(path) for i, path in arguments.by_input(interpreter, "input", options.input).items()}
    wanted = arguments.shapes(interpreter, options.shape)
    for index, array in given.items():
        if wanted.setdefault(index, array.shape) != array.shape:
            message = f"tensor {index} is given the shape {array.shape} by --input, {wanted[index]} by --shape"
            raise InputError(message)
    for index, shape in wanted.items():
        interpreter.resize_tensor_input(index, shape)
    allocating = time.perf_counter()
    interpreter.allocate_tensors()
    allocated = time.perf_counter()
    rng = np.random.default_rng(options.seed or 0)
    for detail in interpreter.get_input_details():
        index = detail["index"]
        kind = interpreter.model.subgraphs[0].tensors[index].type
        interpreter.set_tensor(index, given[index] if index in given else random_value(detail, kind, rng))
    times = _timed(interpreter, options.repeat)
    outputs = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
    graph = interpreter.model.subgraphs[0]
    print(f"{Path(options.model).name}: {len(graph.nodes)} nodes, {len(graph.tensors)} tensors")
    print(f"load {duration(loaded - started)}, lower and allocate {duration(allocated - allocating)}")
    _print_tensors(interpreter, given, outputs)
    count = f"median of {len(times)}" if len(times) > 1 else "first run"
    print(f"time {duration(statistics.median(times))} ({count})")
    if (plan := interpreter.plan) is not None:
        print(f"arena {plan.arena_bytes} bytes, lower bound {plan.lower_bound}")
    if options.out is not None:
        _write(options.out, interpreter.get_output_details(), outputs)


def _timed(interpreter: Interpreter, repeat: int) -> list[float]:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        interpreter.invoke()
        times.append(time.perf_counter() - start)
    return times


def _load(path: str) -> Array:
    if path.endswith(".txt"):
        return np.array([*Path(path).read_bytes().splitlines(), None], object)[:-1]
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        message = f"{path} is not a .npy file of numbers or strings"
        raise InputError(message) from None
    if not isinstance(array, np.ndarray):
        message = f"{path} is not a .npy file but an archive of several"
        raise InputError(message)
    return array


def random_value(detail: TensorDetails, kind: TensorType, rng: np.random.Generator) -> Array:
    """Values that any model takes: floats in [-1, 1), bytes over their range, other integers 0 or 1, strings of a letter."""
    shape, dtype = tuple(int(dim) for dim in detail["shape"]), np.dtype(detail["dtype"])
    if kind == TensorType.STRING:
        return rng.choice(np.array(["a", "b", "c"], object), shape)
    if dtype.kind not in "fciub":
        message = f"input '{detail['name']}' is of type {dtype}: give it with --input"
        raise InputError(message)
    if dtype.kind in "fc":
        return rng.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize == 1:
        return rng.integers(*integer_limits(kind), shape, endpoint=True).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def _first_values(array: Array) -> str:
    head = array.ravel()[:_SHOWN].tolist()
    texts = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in head]
    return " ".join(texts) + (" ..." if array.size > _SHOWN else "")


def _print_tensors(interpreter: Interpreter, given: dict[int, Array], outputs: list[Array]) -> None:
    rows: list[list[str]] = []
    for detail in interpreter.get_input_details():
        source = "given" if detail["index"] in given else "random"
        rows.append(["input", cut(detail["name"]), shape_text(detail["shape"].tolist()), _type(detail), source])
    for detail, array in zip(interpreter.get_output_details(), outputs, strict=True):
        rows.append(["output", cut(detail["name"]), shape_text(array.shape), _type(detail), _first_values(array)])
    print(table(["", "name", "shape", "type", "values"], rows))


def _type(detail: TensorDetails) -> str:
    dtype = np.dtype(detail["dtype"])
    return "string" if dtype.kind == "S" else dtype.name


def _without_objects(name: str, array: Array) -> Array:
    """The array as a .npy file of plain types holds it."""
    if array.dtype != object:
        return array
    if any(value.endswith(b"\0") for value in array.ravel()):
        message = f"output '{name}' has strings that end in a zero byte: a .npy file cannot hold them"
        raise InputError(message)
    return array.astype(bytes)


def _write(folder: Path, details: list[TensorDetails], outputs: list[Array]) -> None:
    """One .npy file an output; what a file name cannot hold becomes '_', names used before get a number."""
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for detail, array in zip(details, outputs, strict=True):
        stem = re.sub(r"[^\w.-]", "_", detail["name"])[:200].lstrip(".") or "output"
        name, number = stem, 1
        while name in taken:
            name, number = f"{stem}_{number}", number + 1
        taken.add(name)
        np.save(folder / f"{name}.npy", _without_objects(detail["name"], array), allow_pickle=False)
        print(f"wrote {folder / name}.npy")
