"""minilite run: runs any model once or many times, or the embedded digit recogniser on images of several sizes."""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.cli import arguments, digits, feeding, state
from minilite.cli.arguments import UsageError
from minilite.cli.found import Found, add_options, draw, draw_overlay, drawings, found_in, overlay
from minilite.cli.output import print_json, width
from minilite.cli.writing import check_apart, check_target, write_outputs
from minilite.engine.engine import engine_of
from minilite.errors import ModelFormatError
from minilite.interpreter import Interpreter
from minilite.options import OpResolverType
from minilite.progress import progress
from minilite.report import cut, duration, shape_text, table
from minilite.report.results import (
    Labels,
    Output,
    given_labels,
    is_ranked,
    labels_of,
    output_facts,
    ranking,
    ranking_text,
    values_text,
)
from minilite.terminal import complain, say
from minilite.text import bytes_text, count, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite.inputs import Reading
    from minilite.inputs.reading import Window

_RESOLVERS = {"default": OpResolverType.AUTO, "reference": OpResolverType.BUILTIN_REF}
_TOP = 5
_MODEL_ONLY = (
    "draw",
    "min_score",
    "data",
    "input",
    "shape",
    "out",
    "seed",
    "labels",
    "top",
    "mean",
    "std",
    "fit",
    "rate",
    "hop",
    "resolver",
    "level",
    "fast_convolutions",
    "cache_dir",
    "record",
    "signature",
    "state",
)


class Times(NamedTuple):
    """The seconds that the parts of a command took."""

    load: float
    allocate: float
    runs: list[float]


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "run",
        help="run a model; without arguments the embedded digit recogniser",
        description="Run a model. Without MODEL: the embedded digit recogniser, on images of several sizes.",
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a .tflite file")
    feeding.add_inputs(parser)
    feeding.add_hop(parser)
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    parser.add_argument(
        "--labels", metavar="FILE", help="a label a line, for outputs with as many classes (default: the model's own)"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=arguments.positive,
        help="show the N best classes of outputs (default: 5 where there are labels)",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="PATH",
        type=Path,
        help="write the outputs of the last run: to a .npy, a .npz, or a folder of NAME.npy; or, where they are images, masks or maps of "
        "classes, to a picture such as .png",
    )
    parser.add_argument(
        "--repeat", metavar="N", type=arguments.positive, default=1, help="runs; their median is printed"
    )
    parser.add_argument(
        "--record", metavar="FILE.npz", type=Path, help="write every call and its arrays to a file, for minilite replay"
    )
    state.add_state(parser)
    add_options(parser)
    arguments.add_threads(parser)
    arguments.add_level(parser)
    parser.add_argument("--resolver", choices=_RESOLVERS, help="reference: every node runs in numpy (default: default)")
    arguments.add_planner(parser)
    arguments.add_max_arena(parser)
    arguments.add_fast_convolutions(parser)
    arguments.add_cache_dir(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Runs the model, and prints its outputs."""
    if options.model is not None:
        run_model(options)
        return
    for name in _MODEL_ONLY:
        if getattr(options, name) not in (None, []) and getattr(options, name) is not False:
            message = f"--{name.replace('_', '-')} goes with a MODEL: the embedded model brings its own images"
            raise UsageError(message)
    digits.run(options.planner, options.threads, options.repeat, as_json=options.json)


class Ran(NamedTuple):
    """A run, or several runs on the same inputs."""

    given: dict[int, Reading]
    outputs: list[Output]
    times: Times
    found: Found | None


def run_model(options: argparse.Namespace) -> None:
    """Runs any model, on the given inputs or on random values; on several files for one input, one after another."""
    started = time.perf_counter()
    interpreter = _interpreter(options)
    loaded = time.perf_counter() - started
    files = feeding.one_by_one(interpreter, options)
    given = [*options.data, *options.input]
    sources = [arguments.split_name(interpreter, text)[1] for text in given]
    folder = next((path for path in sources if path != "-" and Path(path).is_dir()), None)
    if folder is not None:
        message = f"{folder} is a folder: minilite batch {options.model} {folder} --out found.csv runs all of its files"
        raise UsageError(message)
    sounds = feeding.long_sounds(interpreter, options)
    drawn = drawings(options.draw, sources)
    single = {"--out": options.out, "--record": options.record, "--state": options.state}
    targets = {option: [path] for option, path in single.items() if path is not None}
    check_apart({**targets, "--draw": drawn}, [options.model, *sources])
    if files or sounds:
        _run_each(interpreter, options, files or given, sounds, drawn, loaded)
        return
    if options.out is not None:
        check_target(options.out, len(engine_of(interpreter).graph.outputs))
    with interpreter.recording(options.record) if options.record is not None else nullcontext():
        ran = _run(interpreter, options, loaded)
    if options.json:
        print_json(_facts(interpreter, options, ran))
    else:
        _print(interpreter, options, ran)
    written = write_outputs(options.out, ran.outputs) if options.out is not None else []
    recorded = [options.record] if options.record is not None else []
    recorded += state.keep(interpreter, options.state)
    _tell_written(options, [*recorded, *written, *_drawn(options, sources, drawn, ran)])


def _run(interpreter: Interpreter, options: argparse.Namespace, loaded: float, window: Window | None = None) -> Ran:
    """Runs on the files, or on a window of a sound for the only input."""
    if window is None:
        given = feeding.read_inputs(interpreter, options)
    else:
        given = {engine_of(interpreter).graph.inputs[0]: window.reading}
    feeding.resize(interpreter, options, given)
    allocating = time.perf_counter()
    feeding.allocate(interpreter, given)
    allocated = time.perf_counter()
    state.take(interpreter, options.state)
    feeding.set_inputs(interpreter, given, options.seed or 0)
    times = Times(loaded, allocated - allocating, _timed(interpreter, options.repeat))
    outputs = _outputs(interpreter, options)
    return Ran(given, outputs, times, found_in(interpreter, outputs, given, options))


def _run_each(
    interpreter: Interpreter,
    options: argparse.Namespace,
    files: list[str],
    sounds: Mapping[str, list[Window]],
    drawn: Sequence[Path],
    loaded: float,
) -> None:
    """Prints a line, or an item of JSON, for each file, and for each window of a long sound. Raises: UsageError."""
    if options.out is not None:
        if len(files) > 1:
            message = f"--out {options.out}: goes with one file, {len(files)} are given"
            raise UsageError(message)
        check_target(options.out, len(engine_of(interpreter).graph.outputs))
    if options.draw is not None and options.draw.suffix and len(files) > 1:
        message = f"--draw {options.draw}: must be a folder, as {len(files)} files are given"
        raise UsageError(message)
    rows: list[list[str | float | None]] = []
    facts: list[dict[str, Any]] = []
    written = [options.record] if options.record is not None else []
    outputs: list[list[Output]] = []
    kept: Path | None = None
    with interpreter.recording(options.record) if options.record is not None else nullcontext():
        for at, file in enumerate(files):
            for window in (*sounds.get(file, ()),) or (None,):
                own = argparse.Namespace(**{**vars(options), "data": [file], "input": []})
                ran = _run(interpreter, own, loaded, window)
                start = None if window is None else round(window.start, 3)
                facts.append({"file": file, "start": start, **_facts(interpreter, own, ran)})
                time_of_run = duration(float(np.median(ran.times.runs)))
                rows.append([file if len(files) > 1 else None, start, _summary(ran, options.top), time_of_run])
                outputs.append(ran.outputs)
                options.state, kept = None, options.state or kept
            written += _drawn(options, [file], drawn[at : at + 1], ran)
    if options.out is not None:
        written += write_outputs(options.out, _joined(outputs))
    written += state.keep(interpreter, kept)
    if options.json:
        print_json({"model": options.model, "files": facts})
    else:
        nodes = count(len(engine_of(interpreter).graph.nodes), "node")
        what = count(len(files), "file") if len(files) > 1 else f"{files[0]}, {count(len(rows), 'window')}"
        say(wrapped(f"{Path(options.model).name}: {nodes}, {what}", width()))
        for file, found in sounds.items():
            say(wrapped(f"{file}: {found[0].reading.note}", width()))
        say(table(["file", "start s", "result", "time"], rows, width=width()))
    _tell_written(options, written)


def _joined(runs: Sequence[Sequence[Output]]) -> list[Output]:
    """Joins the outputs of windows: along a batch of 1, else along a new first dimension."""
    found = []
    for each in zip(*runs, strict=True):
        arrays = [output.array for output in each]
        batched = all(array.ndim > 1 and array.shape[0] == 1 for array in arrays)
        found.append(each[0]._replace(array=np.concatenate(arrays) if batched else np.stack(arrays)))
    return found


def _summary(ran: Ran, top: int | None) -> str:
    """Returns the results in a few words: objects, else the best classes, else the first values of the first output."""
    if ran.found is not None:
        return ran.found.line()
    for output in ran.outputs:
        if is_ranked(output, top):
            best = ranking(output, top or 3)[0]
            return ", ".join(f"{one['label'] or one['class']} {one['score']:.3g}" for one in best)
    return values_text(ran.outputs[0]) if ran.outputs else ""


def _drawn(options: argparse.Namespace, sources: Sequence[str], drawn: Sequence[Path], ran: Ran) -> list[Path]:
    """Draws objects, or an output that is a mask or a map of classes, into the first picture, if --draw is given;
    returns the files. Raises: InputError."""
    for source, path, reading in zip(sources, drawn, ran.given.values(), strict=False):
        if reading.size and ran.found is not None:
            return [draw(ran.found, source, path)]
        if reading.size and (over := overlay(ran.outputs)) is not None:
            return [draw_overlay(over, reading, options.fit or "stretch", source, path)]
    return []


def _tell_written(options: argparse.Namespace, paths: Sequence[Path]) -> None:
    tell = complain if options.json else say
    for path in paths:
        tell(wrapped(f"wrote {path}", None))


def _interpreter(options: argparse.Namespace) -> Interpreter:
    """Makes an interpreter of the model. If the file is not a model but an input is, the error says that they are
    swapped."""
    resolver = _RESOLVERS[options.resolver or "default"]
    try:
        return Interpreter(
            options.model,
            num_threads=options.threads,
            planner=options.planner,
            max_arena=options.max_arena,
            experimental_op_resolver_type=resolver,
            level=options.level,
            signature=options.signature,
            fast_convolutions=options.fast_convolutions,
            cache_dir=options.cache_dir,
        )
    except ModelFormatError as error:
        for path in [*options.data, *options.input]:
            if path.endswith(".tflite"):
                message = f"{error}; the model comes first: minilite run {path} {options.model}"
                raise UsageError(message) from None
        raise


def _timed(interpreter: Interpreter, repeat: int) -> list[float]:
    times = []
    for _ in progress(range(repeat), "run"):
        start = time.perf_counter()
        interpreter.invoke()
        times.append(time.perf_counter() - start)
    return times


def _outputs(interpreter: Interpreter, options: argparse.Namespace) -> list[Output]:
    """Returns the outputs with their labels. Raises: InputError."""
    from minilite.inputs import read_source

    graph = engine_of(interpreter).graph
    names = arguments.names_of(interpreter, graph.outputs)
    tensors = [graph.tensors[index]._replace(name=names[index]) for index in graph.outputs]
    arrays = [interpreter.get_tensor(index) for index in graph.outputs]
    try:
        root = engine_of(interpreter).root  # the metadata describe subgraph 0
        labels = [Labels()] * len(tensors) if root else labels_of(interpreter.model.metadata, len(tensors))
    except ModelFormatError as error:
        complain(f"minilite: no labels: {error}")
        labels = [Labels()] * len(tensors)
    if options.labels is not None:
        labels = given_labels(read_source(options.labels), options.labels, tensors, arrays, labels)
    return [Output(*each) for each in zip(tensors, arrays, labels, strict=True)]


def _facts(
    interpreter: Interpreter,
    options: argparse.Namespace,
    ran: Ran,
) -> dict[str, Any]:
    graph, plan, given, times = engine_of(interpreter).graph, interpreter.plan, ran.given, ran.times
    names = arguments.names_of(interpreter, graph.inputs)
    inputs = [
        {
            "name": names[detail["index"]],
            "index": detail["index"],
            "shape": detail["shape"],
            "type": graph.tensors[detail["index"]].type.name.lower(),
            "given": detail["index"] in given,
            "note": given[detail["index"]].note if detail["index"] in given else "random",
        }
        for detail in interpreter.get_input_details()
    ]
    return {
        "model": options.model,
        "nodes": len(graph.nodes),
        "tensors": len(graph.tensors),
        "inputs": inputs,
        "outputs": [output_facts(output, options.top) for output in ran.outputs],
        **({} if ran.found is None else {"detections": ran.found.facts()}),
        "seconds": {"load": times.load, "allocate": times.allocate, "runs": times.runs},
        "arena_bytes": plan.arena_bytes if plan is not None else 0,
        "lower_bound": plan.lower_bound if plan is not None else 0,
    }


def _print(
    interpreter: Interpreter,
    options: argparse.Namespace,
    ran: Ran,
) -> None:
    given, outputs, times = ran.given, ran.outputs, ran.times
    graph = engine_of(interpreter).graph
    head = f"{Path(options.model).name}: {count(len(graph.nodes), 'node')}, {count(len(graph.tensors), 'tensor')}"
    say(wrapped(head, width()))
    if told := arguments.signature_line(interpreter.model, options.signature):
        say(wrapped(told, width()))
    say(f"load {duration(times.load)}, prepare {duration(times.allocate)}")
    say(_tensors(interpreter, given, outputs))
    for index, name in arguments.names_of(interpreter, given).items():
        if given[index].note:
            say(wrapped(f"input '{cut(name)}': {given[index].note}", width()))
    if ran.found is not None:
        say(ran.found.text())
    for output in outputs:
        if ran.found is None and is_ranked(output, options.top):
            say(ranking_text(output, options.top or _TOP, width()))
    which = f"median of {len(times.runs)}" if len(times.runs) > 1 else "first run"
    say(f"time {duration(float(np.median(times.runs)))} ({which})")
    if (plan := interpreter.plan) is not None:
        say(f"arena {bytes_text(plan.arena_bytes)}, lower bound {bytes_text(plan.lower_bound)}")


def _tensors(interpreter: Interpreter, given: dict[int, Reading], outputs: list[Output]) -> str:
    tensors = engine_of(interpreter).graph.tensors
    names = arguments.names_of(interpreter, engine_of(interpreter).graph.inputs)
    rows: list[list[str]] = []
    for detail in interpreter.get_input_details():
        reading = given.get(detail["index"])
        source = "random" if reading is None else "given"
        kind = tensors[detail["index"]].type.name.lower()
        rows.append(["input", names[detail["index"]], shape_text(detail["shape"].tolist()), kind, source])
    for output in outputs:
        kind = output.tensor.type.name.lower()
        rows.append(["output", output.tensor.name, shape_text(output.array.shape), kind, values_text(output)])
    rows = [[row[0], cut(row[1]), *row[2:]] for row in rows]
    return table(["", "name", "shape", "type", "values"], rows, width=width(), left=("values",))
