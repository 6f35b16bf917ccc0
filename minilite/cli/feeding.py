"""Fills a run's inputs: from the given files, or with random values."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minilite.cli import arguments
from minilite.cli.arguments import UsageError
from minilite.engine.engine import engine_of
from minilite.engine.mismatch import given_shapes
from minilite.errors import InputError, ShapeError
from minilite.inputs import Feed, load_input
from minilite.inputs.foreign import foreign
from minilite.inputs.random_values import random_values
from minilite.inputs.reading import Window, described_inputs, has_windows, windows
from minilite.interpreter import Interpreter

if TYPE_CHECKING:
    from minilite.format.about import TensorMetadata
    from minilite.inputs import Reading


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds inputs, and options about them."""
    parser.add_argument(
        "data", metavar="[NAME=]FILE", nargs="*", default=[],
        help="an input's values: .npy, .npz, an image, .wav, lines of text for strings, or raw bytes; - is the standard input; "
        "inputs not given are random",
    )  # fmt: skip
    parser.add_argument("--input", metavar="[NAME=]FILE", action="append", default=[], help="the same; may be repeated")
    add_reading(parser)
    parser.add_argument("--seed", metavar="N", type=arguments.natural, help="of the random inputs (default: 0)")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Adds options about how images and sound become numbers."""
    parser.add_argument(
        "--mean", metavar="M[,M,M]", type=arguments.numbers,
        help="pixels become (pixel - mean) / std (default: what the model's metadata say, else 0 and 255 for floats; bytes stay as they are)",
    )  # fmt: skip
    parser.add_argument("--std", metavar="S[,S,S]", type=arguments.numbers, help="see --mean")
    parser.add_argument(
        "--fit", choices=("stretch", "crop", "pad"),
        help="what an image of other proportions than the input's is: stretched, its middle cut out, or padded with black (default: stretch)",
    )  # fmt: skip
    parser.add_argument(
        "--rate", metavar="HZ", type=arguments.positive,
        help="samples per second that the model takes; sound of another rate is resampled, by soxr (default: what the model's metadata say, "
        "else any)",
    )  # fmt: skip


def one_by_one(interpreter: Interpreter, options: argparse.Namespace) -> list[str]:
    """Returns several files for a model with one input, each of which is a run; empty for one file, or for named
    ones."""
    values = [*options.data, *options.input]
    if len(interpreter.get_input_details()) != 1 or len(values) < 2:
        return []
    named = any(arguments.split_name(interpreter, text)[0] is not None for text in values)
    return [] if named or "-" in values else values


def read_inputs(interpreter: Interpreter, options: argparse.Namespace) -> dict[int, Reading]:
    """Reads the values from the given files, by tensor number. Raises: UsageError, InputError."""
    values = _spread(interpreter, [*options.data, *options.input])
    given = arguments.by_input(interpreter, "--input", [text for text in values if text is not None])
    if list(given.values()).count("-") > 1:
        message = "-: the standard input can only be one input"
        raise UsageError(message)
    shapes = arguments.shapes(interpreter, options.shape)
    about = descriptions(interpreter)
    found = {}
    for index, path in given.items():
        if "=" in path and path != "-" and not Path(path).exists():
            message = f"{path}: there is no such file; to name an input: {arguments.inputs_text(interpreter)}"
            raise UsageError(message)
        feed = with_options(Feed.of(engine_of(interpreter).graph.tensors[index], about.get(index)), options)
        feed = feed._replace(shape=shapes.get(index, feed.shape))
        reading = found[index] = load_input(path, feed)
        if index in shapes and shapes[index] != reading.array.shape:
            message = f"{path} is of shape {reading.array.shape}, --shape says {shapes[index]}"
            raise UsageError(message)
    return found


def with_options(feed: Feed, options: argparse.Namespace) -> Feed:
    """Returns the feed with the options about pixels and sound."""
    return feed._replace(mean=options.mean, std=options.std, fit=options.fit or "stretch", rate=options.rate)


def descriptions(interpreter: Interpreter) -> dict[int, TensorMetadata]:
    """Returns the descriptions of inputs in the metadata, by tensor number; empty if the metadata are broken,
    or are those of another subgraph."""
    if engine_of(interpreter).root:
        return {}
    return described_inputs(interpreter.model)


def add_hop(parser: argparse.ArgumentParser) -> None:
    """--hop."""
    parser.add_argument(
        "--hop", metavar="SECONDS", type=_seconds,
        help="from the start of one window of a long sound to that of the next (default: the length of the model's input)",
    )  # fmt: skip


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        message = f"takes seconds, such as 0.5, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return number


def long_sounds(interpreter: Interpreter, options: argparse.Namespace) -> dict[str, list[Window]]:
    """Returns the windows of each file that is sound longer than the model's only input. Raises: UsageError,
    InputError."""
    details = interpreter.get_input_details()
    found: dict[str, list[Window]] = {}
    if len(details) == 1:
        index = int(details[0]["index"])
        feed = with_options(
            Feed.of(engine_of(interpreter).graph.tensors[index], descriptions(interpreter).get(index)), options
        )
        feed = feed._replace(shape=arguments.shapes(interpreter, options.shape).get(index, feed.shape))
        for text in (*options.data, *options.input):
            path = arguments.split_name(interpreter, text)[1]
            if has_windows(path, feed, options.hop):
                found[text] = windows(path, feed, options.hop)
    if options.hop is not None and not found:
        message = f"--hop {options.hop:g}: goes with a .wav file that is longer than the model's only input"
        raise UsageError(message)
    return found


def _spread(interpreter: Interpreter, values: list[str]) -> list[str]:
    """Replaces a .npz file without a name by one NAME=FILE for each of its arrays. Raises: InputError."""
    names = arguments.input_names(interpreter)
    found: list[str] = []
    for text in values:
        name, path = arguments.split_name(interpreter, text)
        members = _members(path) if name is None else []
        if len(members) > 1 or set(members) & names:
            strange = [member for member in members if member not in names]
            if strange:
                message = f"{path} has an array '{strange[0]}', {arguments.inputs_text(interpreter)}"
                raise InputError(message)
            found += [f"{member}={path}" for member in members]
        else:
            found.append(text)
    return found


def _members(path: str) -> list[str]:
    """Returns the names of a .npz file's arrays; empty for other files."""
    import zipfile  # long to import

    try:
        with foreign(path), zipfile.ZipFile(Path(path) if path != "-" else io.BytesIO()) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except InputError:  # not a .npz file, or `load_input` says why it cannot be read
        return []


def resize(interpreter: Interpreter, options: argparse.Namespace, given: dict[int, Reading]) -> None:
    """Resizes inputs as --shape and the files say. Raises: UsageError, InputError."""
    arguments.resize(interpreter, options.shape)
    for index, reading in given.items():
        interpreter.resize_tensor_input(index, reading.array.shape)


def allocate(interpreter: Interpreter, given: dict[int, Reading]) -> None:
    """Allocates tensors. Raises: ShapeError, which names the files' shapes if they differ from the model's."""
    try:
        interpreter.allocate_tensors()
    except ShapeError as error:
        arrays = [(index, reading.array) for index, reading in given.items()]
        raise given_shapes(error, engine_of(interpreter).graph.tensors, arrays) from None


def prepare(interpreter: Interpreter, options: argparse.Namespace) -> None:
    """Reads the files, resizes, allocates, and fills all inputs. Raises: UsageError, InputError, ShapeError."""
    given = read_inputs(interpreter, options)
    resize(interpreter, options, given)
    allocate(interpreter, given)
    set_inputs(interpreter, given, options.seed or 0)


def set_inputs(interpreter: Interpreter, given: dict[int, Reading], seed: int) -> None:
    """Fills all inputs of an allocated interpreter."""
    for index, reading in given.items():
        interpreter.set_tensor(index, reading.array)
    rest = [detail for detail in interpreter.get_input_details() if detail["index"] not in given]
    if not rest:
        return  # numpy.random takes long to import
    rng = np.random.default_rng(seed)
    for detail in rest:
        tensor = engine_of(interpreter).graph.tensors[detail["index"]]
        interpreter.set_tensor(tensor.index, random_values(tensor, tuple(map(int, detail["shape"])), rng))
