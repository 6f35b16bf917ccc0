"""minilite compare: compares two models, runtimes or levels on the same inputs, tensor by tensor."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.cli import arguments, feeding
from minilite.cli.arguments import UsageError
from minilite.cli.compare_inputs import compare_all
from minilite.cli.output import print_json, width
from minilite.comparison.compare import compare, runtimes
from minilite.comparison.replay import replay
from minilite.comparison.text import comparison_text
from minilite.interpreter import Interpreter
from minilite.progress import progress
from minilite.terminal import say
from minilite.text import wrapped

if TYPE_CHECKING:
    from minilite.comparison.result import Comparison


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "compare",
        help="compare two models, runtimes or levels tensor by tensor",
        description="Run two models, or one model by two runtimes or levels, on the same inputs and compare every tensor that both have. "
        "Exit status 1 if --tolerance is given and a tensor is further apart.",
    )  # fmt: skip
    parser.add_argument("model", metavar="A", help="a .tflite file; or a recording, and B the model that was recorded")
    parser.add_argument(
        "second",
        metavar="B",
        nargs="?",
        help="another one, an .onnx file, or a folder of .npy files made elsewhere (default: A again, run as --against says)",
    )
    parser.add_argument("--against", metavar="WHAT", type=runtime, help=(
        "how the second runs: litert (its built-in kernels), litert-reference, reference (numpy), or a level of instructions"
    ))  # fmt: skip
    parser.add_argument(
        "--inputs", metavar="FOLDER", type=Path,
        help="run on each file of a folder, and say of each output how often class, decision or boxes differ",
    )  # fmt: skip
    parser.add_argument("--threshold", metavar="T", type=float, help="the least score that decides, with --inputs")
    feeding.add_inputs(parser)
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    arguments.add_tolerance(parser)
    parser.add_argument(
        "--unfused", action="store_true", help="run every node by itself: tensors between fused nodes are compared too"
    )
    arguments.add_threads(parser)
    arguments.add_level(parser)
    arguments.add_fast_convolutions(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def runtime(text: str) -> str:
    """Reads the name of a runtime that a model can be compared with."""
    if text not in runtimes():
        message = f"there is no {text!r} to compare with: there are {', '.join(runtimes())}"
        raise argparse.ArgumentTypeError(message)
    return text


def execute(options: argparse.Namespace) -> int:
    """Compares, and prints the table. Returns the exit status."""
    if options.model.endswith(".npz"):
        return _replayed(options)
    second = _second(options)
    one = _interpreter(options.model, options)
    other = _interpreter(second, options) if second is not None and not _is_foreign(second) else second

    def run(own: argparse.Namespace) -> Comparison:
        return _compared(own, one, other, second)

    if options.inputs is not None:
        return compare_all(options, one, run)
    if options.threshold is not None:
        message = f"--threshold {options.threshold:g}: goes with --inputs FOLDER"
        raise UsageError(message)
    found = run(options)
    if not options.json and (told := arguments.signature_line(one.model, options.signature)):
        say(wrapped(told, width()))
    return _shown(found, options)


def _is_foreign(second: str) -> bool:
    return second.endswith(".onnx") or Path(second).is_dir()


def _compared(
    options: argparse.Namespace, one: Interpreter, other: Interpreter | str | None, second: str | None
) -> Comparison:
    given = {index: reading.array for index, reading in feeding.read_inputs(one, options).items()}
    shapes = arguments.shapes(one, options.shape)
    found = compare(
        one, other, given, against=options.against, shapes=shapes, seed=options.seed or 0,
        tolerance=options.tolerance, fused=not options.unfused,
        progress=progress if options.inputs is None else None,
    )  # fmt: skip
    return found._replace(models=(Path(options.model).name, Path(second or options.model).name))


def _interpreter(model: str, options: argparse.Namespace) -> Interpreter:
    return Interpreter(
        model, num_threads=options.threads, level=options.level, signature=options.signature,
        fast_convolutions=options.fast_convolutions,
    )  # fmt: skip


def _shown(found: Comparison, options: argparse.Namespace) -> int:
    if options.json:
        print_json(found.to_json())
    else:
        say(comparison_text(found, width()))
    return int(options.tolerance is not None and not found.agrees)


def _replayed(options: argparse.Namespace) -> int:
    """Compares a recording with a new run. Raises: UsageError."""
    model = options.second
    if (
        model is None
        or options.against is not None
        or options.data
        or options.input
        or options.shape
        or options.fast_convolutions
    ):
        message = f"a recording goes with its model alone, which may run at another level: minilite compare {options.model} MODEL --level NAME"
        raise UsageError(message)
    found = replay(
        options.model, model, level=options.level, num_threads=options.threads, tolerance=options.tolerance,
        signature=options.signature, progress=progress,
    )  # fmt: skip
    return _shown(found._replace(models=(Path(options.model).name, Path(model).name)), options)


def _second(options: argparse.Namespace) -> str | None:
    """Returns the second model, which comes before the inputs; None without one. Raises: UsageError."""
    options.data = [*filter(None, [options.second]), *options.data]
    if options.data and (
        options.against is None or options.data[0].endswith(".tflite") or _is_foreign(options.data[0])
    ):
        second, *options.data = options.data
        return str(second)
    if options.against is None:
        message = "compare takes a second model, or --against and how the second runs: minilite compare --help"
        raise UsageError(message)
    return None
