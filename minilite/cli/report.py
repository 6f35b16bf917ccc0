"""minilite report: writes one HTML file about a model: memory over time, nodes and their times, graph, sizes."""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite import Cancel
from minilite.cli import arguments, feeding, plan_memory
from minilite.cli.arguments import UsageError
from minilite.cli.compare import runtime
from minilite.cli.output import print_json, width
from minilite.cli.plan_sizes import swept_sizes
from minilite.comparison.compare import compare
from minilite.comparison.text import comparison_html
from minilite.engine import sizes
from minilite.engine.engine import engine_of
from minilite.errors import MiniliteError
from minilite.interpreter import Interpreter
from minilite.profiling.profile import profile
from minilite.progress import progress
from minilite.report.html import Section, page
from minilite.terminal import complain, deliver, say
from minilite.text import bytes_text, wrapped
from minilite.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.engine.sizes import PlannedSize
    from minilite.inputs import Reading
    from minilite.profiling.profile import Profile

_RUNS, _SECONDS, _PATIENCE = 10, 1.0, 1.5
"""The number of timed runs without --runs, their time together, and the longest wait for the first, in seconds."""


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "report",
        help="write an HTML page about a model: memory map, nodes, graph",
        description="Write one self-contained HTML file: the arena over time by any strategy, every node with its time, the graph, sizes.",
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    feeding.add_inputs(parser)
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="OUT.html",
        help="the file; - is standard output (default: MODEL's name with .html, here)",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=arguments.natural,
        help="timed runs; 0 times nothing (default: 10, fewer where they take long)",
    )
    parser.add_argument(
        "--sweep", metavar="[NAME=]1,16..512,16..512,3", action="append", default=[],
        help="sizes to plan, as plan takes them (default: around the present size, if the file leaves it open)",
    )  # fmt: skip
    parser.add_argument(
        "--against",
        metavar="WHAT",
        type=runtime,
        help="add a comparison with another runtime or level, as compare takes it",
    )
    arguments.add_threads(parser)
    arguments.add_planner(parser)
    arguments.add_max_arena(parser)
    plan_memory.add_memory(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Plans, runs, and writes the page."""
    if options.json and options.out == "-":
        message = "--json and -o - both write to standard output: choose one"
        raise UsageError(message)
    arguments.check_memories(options)
    interpreter = Interpreter(
        options.model,
        num_threads=options.threads,
        planner=options.planner,
        max_arena=options.max_arena,
        signature=options.signature,
    )
    given = feeding.read_inputs(interpreter, options)
    arguments.resize(interpreter, options.shape)
    for index, reading in given.items():
        interpreter.resize_tensor_input(index, reading.array.shape)
    interpreter.allocate_tensors()
    swept = _swept(interpreter, options)
    profiled = None
    if options.runs != 0:
        feeding.set_inputs(interpreter, given, options.seed or 0)
        profiled = _profiled(interpreter, options)
    plan = interpreter.memory
    assert plan is not None
    sections = [_compared(interpreter, given, options)] if options.against is not None else []
    if options.memory:
        board = plan_memory.board_of(options.model, options.memory)
        sections.append(Section("Memories of a board", plan_memory.board_html(board)))
    told = arguments.signature_line(interpreter.model, options.signature)
    text = page(
        Path(options.model).name, interpreter.model, plan, profiled, swept, sections, options.threads or 1, told
    )
    if options.out == "-":
        deliver(text)
        return
    target = Path(options.out or f"{Path(options.model).stem}.html")
    write_whole(target, text)
    size = len(text.encode("utf-8", "backslashreplace"))
    if options.json:
        runs = profiled.runs if profiled is not None else 0
        print_json({"model": options.model, "out": str(target), "bytes": size, "runs": runs, "sizes": len(swept)})
    else:
        say(wrapped(f"wrote {target} ({bytes_text(size)}): open it in a browser", width()))


def _profiled(interpreter: Interpreter, options: argparse.Namespace) -> Profile | None:
    """Returns the times of the nodes; None, with the reason on stderr, if the model refuses these inputs, or if a run
    takes long and --runs is not given."""
    token = Cancel()
    timer = threading.Timer(_PATIENCE, token.cancel)
    timer.daemon = True
    try:
        started = time.perf_counter()
        if options.runs is None:
            timer.start()
        interpreter.invoke(cancel=token)
        spent = time.perf_counter() - started
        runs = options.runs or max(1, min(_RUNS, int(_SECONDS / spent)))
        return profile(engine_of(interpreter).session(), runs, options.threads or 1, warm=False, progress=progress)
    except MiniliteError as error:
        late = f"a run takes more than {_PATIENCE} s; --runs 1 times one" if token.cancelled else None
        complain(f"minilite: not timed: {late or ' '.join(str(error).split())}")
        return None
    finally:
        timer.cancel()


def _compared(interpreter: Interpreter, given: Mapping[int, Reading], options: argparse.Namespace) -> Section:
    """Compares the model on these inputs with another runtime or level."""
    arrays = {index: reading.array for index, reading in given.items()}
    shapes = arguments.shapes(interpreter, options.shape)
    found = compare(
        interpreter, None, arrays, against=options.against, shapes=shapes, seed=options.seed or 0, progress=progress
    )
    name = Path(options.model).name
    return Section(
        "Comparison", f'<div class="scroll plain">{comparison_html(found._replace(models=(name, name)))}</div>'
    )


def _swept(interpreter: Interpreter, options: argparse.Namespace) -> list[PlannedSize]:
    """Plans the sizes of --sweep, or sizes around the current one."""
    graph = engine_of(interpreter).graph
    present = {detail["index"]: tuple(detail["shape"].tolist()) for detail in interpreter.get_input_details()}
    if options.sweep:
        wanted = swept_sizes(interpreter, options.sweep, present)
    else:
        wanted = sizes.open_sizes(graph, present)
    each = sizes.sweep(engine_of(interpreter).session().plan_for, graph, wanted)
    return list(progress(each, "size", len(wanted)))
