"""minilite.read: a file becomes the array for an input of a model, as `minilite run` reads it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite.engine.engine import engine_of
from minilite.engine.tensor_arguments import tensor_number
from minilite.errors import InputError, InputTypeError, ModelFormatError, listed, shown
from minilite.inputs.feed import Feed, Fit, Reading
from minilite.inputs.files import STDIN, load_input, read_source
from minilite.inputs.sound import load_sound, takes_windows, window, window_starts
from minilite.inputs.wav import is_wav
from minilite.numeric import real, whole

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from minilite.format.about import TensorMetadata
    from minilite.format.model import Array, Model


class Window(NamedTuple):
    """A part of a sound that is as long as the model's input."""

    start: float
    """Its first sample, in seconds."""
    reading: Reading


def read(
    path: str | os.PathLike[str],
    model: Any,
    name: str | int | None = None,
    *,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    fit: Fit = "stretch",
    rate: int | None = None,
    shape: Sequence[int] | None = None,
) -> Array:
    """Read a picture, sound, .npy, .npz, lines of text or raw bytes as the array for an input: `run(read(path, it))`.

    `model` is an Interpreter or a Model, `name` the name or number of one of its inputs, which may be left out if
    there is one. The other arguments are the options of `minilite run`, which docs/command.md describes: pixels become
    `(pixel - mean) / std`; `fit` is "stretch", "crop" or "pad"; sound is resampled to `rate`; `shape` replaces the
    input's. Sound that is longer than the input is cut: `minilite.inputs.read_windows` gives all of it.

    Raises: InputError.
    """
    return load_input(path, _feed(model, name, mean, std, fit, rate, shape)).array


def read_windows(
    path: str | os.PathLike[str],
    model: Any,
    name: str | int | None = None,
    *,
    hop: float | None = None,
    rate: int | None = None,
    shape: Sequence[int] | None = None,
) -> list[tuple[float, Array]]:
    """Read sound in windows as long as the input: the start of each in seconds, and its array.

    They begin `hop` seconds apart, or follow each other without a gap; the last one is filled with silence.

    Raises: InputError.
    """
    apart = None if hop is None else real("hop", hop)
    if apart is not None and not 0 < apart < math.inf:
        message = f"hop is {shown(hop)}, must be a number of seconds above 0"
        raise InputError(message)
    found = windows(path, _feed(model, name, None, None, "stretch", rate, shape), apart)
    return [(each.start, each.reading.array) for each in found]


def windows(path: str | os.PathLike[str], feed: Feed, hop: float | None) -> list[Window]:
    """Returns the windows of a sound, one if the tensor takes any length. Raises: InputError."""
    data, name = read_source(path), "standard input" if path == STDIN else str(path)
    if not is_wav(data):
        message = f"{name} is no .wav file, which windows are made of"
        raise InputError(message)
    sound = load_sound(data, name, feed)
    starts = window_starts(data, name, feed, hop)
    readings = [window(sound, round(start * sound.rate), feed) for start in starts]
    told = ", ".join([*sound.done, *filter(None, [readings[0].note])])
    return [Window(start, each._replace(note=told)) for start, each in zip(starts, readings, strict=True)]


def has_windows(path: str, feed: Feed, hop: float | None) -> bool:
    """True if a file is sound that is longer than the tensor; False also for files that cannot be read."""
    if path == STDIN or not takes_windows(feed):
        return False
    try:
        data = read_source(path)
        return is_wav(data) and len(window_starts(data, path, feed, hop)) > 1
    except InputError:  # whoever reads it says why
        return False


def described_inputs(model: Model) -> dict[int, TensorMetadata]:
    """Returns the descriptions of inputs in the metadata, by tensor number; empty if the metadata are broken."""
    try:
        return dict(zip(model.subgraphs[0].inputs, model.metadata.inputs, strict=False))
    except ModelFormatError:
        return {}


def _feed(model: Any, wanted: Any, mean: Any, std: Any, fit: Fit, rate: int | None, shape: Any) -> Feed:
    interpreter = model if hasattr(model, "get_input_details") else None
    found = interpreter.model if interpreter is not None else model
    if not hasattr(found, "subgraphs"):
        message = f"model is of type {type(model).__name__}, must be an Interpreter or a Model"
        raise InputTypeError(message)
    graph = found.subgraphs[0] if interpreter is None else engine_of(interpreter).graph
    names = listed(graph.tensors[index].name for index in graph.inputs)
    if wanted is None and len(graph.inputs) != 1:
        message = f"the model's inputs are {names}: name= says which one is read"
        raise InputError(message)
    index = graph.inputs[0] if wanted is None else tensor_number(graph, wanted)
    if index not in graph.inputs:
        message = f"tensor {index} is no input: the model's inputs are {names}"
        raise InputError(message)
    tensor = graph.tensors[index]
    if shape is not None:
        shape = tuple(whole("a dimension of shape", each, 32) for each in _sequence("shape", shape))
    feed = Feed.of(tensor, described_inputs(found).get(index) if graph.index == 0 else None)
    if interpreter is not None and shape is None:
        sizes = {int(detail["index"]): tuple(map(int, detail["shape"])) for detail in interpreter.get_input_details()}
        shape = sizes[index] if sizes[index] != tuple(tensor.shape) else feed.shape
    return feed._replace(
        mean=_reals("mean", mean),
        std=_reals("std", std),
        fit=fit,
        rate=None if rate is None else whole("rate", rate, 32, least=1),
        shape=tuple(shape if shape is not None else feed.shape),
    )


def _sequence(what: str, values: Any) -> Sequence[Any]:
    """Raises: InputTypeError for what is no list of numbers."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or not hasattr(values, "__len__"):
        message = f"{what} is {shown(values)}, must be a sequence of numbers"
        raise InputTypeError(message)
    found: Sequence[Any] = values
    return found


def _reals(what: str, given: Any) -> tuple[float, ...] | None:
    """One number, or one per channel. Raises: InputError, InputTypeError."""
    if given is None:
        return None
    several = hasattr(given, "__len__") and not isinstance(given, (str, bytes)) and getattr(given, "ndim", 1) > 0
    numbers = tuple(real(what, each) for each in (given if several else (given,)))
    if not numbers:
        message = f"{what} has no number, must have one, or one per channel"
        raise InputError(message)
    return numbers
