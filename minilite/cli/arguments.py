"""Adds and reads arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from minilite._native.kernels import level_names
from minilite._native.memory import strategies
from minilite.engine.engine import engine_of
from minilite.engine.signatures import find_signature
from minilite.engine.tensor_arguments import by_name
from minilite.errors import InputError, listed, shortened
from minilite.interpreter import Interpreter
from minilite.numeric import byte_count

if TYPE_CHECKING:
    from minilite.format.model import Model

Shape = tuple[int, ...]


class UsageError(InputError):
    """Wrong usage of the command: exit status 2."""


def meant(word: str, words: Iterable[str]) -> str:
    """Returns ``, did you mean plan?`` if one of the words resembles it, else nothing."""
    import difflib  # imported only after a mistake

    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f", did you mean {close[0]}?" if close else ""


def positive(text: str) -> int:
    """Reads a whole number of at least 1."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """Reads a whole number of at least 0."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        message = f"takes a whole number of at least {least}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return number


def numbers(text: str) -> tuple[float, ...]:
    """Reads numbers with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        message = f"takes a number, or one per channel such as 123.7,116.3,103.5, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def strategy(text: str) -> str:
    """Reads the name of a planning strategy."""
    if text not in strategies():
        message = (
            f"there is no planning strategy {text!r}: there are {', '.join(strategies())}{meant(text, strategies())}"
        )
        raise argparse.ArgumentTypeError(message)
    return text


def level(text: str) -> str:
    """Reads the name of a level of instructions."""
    if text not in level_names():
        message = f"this machine has no level {text!r}: it has {', '.join(level_names())}{meant(text, level_names())}"
        raise argparse.ArgumentTypeError(message)
    return text


def share_of(whole: str, example: str) -> Callable[[str], float]:
    """Makes a function that reads a share of something, 0 or more."""

    def share(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            message = f"takes a share of {whole}, such as {example}, got {text!r}"
            raise argparse.ArgumentTypeError(message)
        return number

    return share


def add_tolerance(parser: argparse.ArgumentParser) -> None:
    """--tolerance."""
    parser.add_argument(
        "--tolerance", metavar="T", type=share_of("a tensor's largest value", "0.01"),
        help="the largest error that is let pass, as a share of a tensor's largest absolute value: 0.01 is one percent",
    )  # fmt: skip


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Adds --shape, which `resize` reads."""
    parser.add_argument(
        "--shape", metavar="[NAME=]1,64,64,3", action="append", default=[],
        help="resize an input; without a name the first that is not named; may be repeated",
    )  # fmt: skip


def add_planner(parser: argparse.ArgumentParser) -> None:
    """--planner."""
    parser.add_argument(
        "--planner", metavar="NAME", type=strategy, default="default", help="planning strategy (default: %(default)s)"
    )


def add_max_arena(parser: argparse.ArgumentParser) -> None:
    """--max-arena."""
    parser.add_argument(
        "--max-arena", metavar="BYTES", type=size_in_bytes,
        help="bytes that the arena may have, such as 500kB: parts of the model run patch by patch until it fits",
    )  # fmt: skip


def add_fast_convolutions(parser: argparse.ArgumentParser) -> None:
    """--fast-convolutions."""
    parser.add_argument(
        "--fast-convolutions", action="store_true",
        help="compute 3 x 3 convolutions of floats with a quarter of the multiplications, which rounds more",
    )  # fmt: skip


def add_cache_dir(parser: argparse.ArgumentParser) -> None:
    """--cache-dir."""
    parser.add_argument(
        "--cache-dir", metavar="FOLDER",
        help="keep packed weights there, for all processes (default: the folder in MINILITE_CACHE_DIR, if it is set)",
    )  # fmt: skip


def size_in_bytes(text: str) -> int:
    """Reads bytes such as 500000, 500kB (the same) or 500KiB (512000)."""
    try:
        return byte_count(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_signature(parser: argparse.ArgumentParser) -> None:
    """--signature."""
    parser.add_argument(
        "--signature", metavar="KEY", help="the signature to take, with its names of inputs and outputs (default: subgraph 0)"
    )  # fmt: skip


def signature_line(model: Model, key: str | None) -> str:
    """Names the signature of this key, or that of subgraph 0, and the others of the file; empty if there is nothing to
    choose."""
    here = [one.key for one in model.signatures if one.subgraph == 0]
    key = key if key is not None or not here else here[0]
    others = [shortened(one.key) for one in model.signatures if one.key != key]
    if not others:
        return ""
    named = f"signature {shortened(key)}" if key is not None else "subgraph 0, which has no signature"
    return f"{named}; others, by --signature: {', '.join(others)}"


def check_memories(options: argparse.Namespace) -> None:
    """Refuses --memory beside --signature. Raises: UsageError."""
    if options.memory and options.signature is not None:
        message = "--memory plans subgraph 0, it does not go with --signature"
        raise UsageError(message)


def names_of(interpreter: Interpreter, numbers: Iterable[int]) -> dict[int, str]:
    """Returns names of inputs or outputs by tensor number: those of the signature that --signature has chosen, else the
    tensors' own."""
    engine = engine_of(interpreter)
    named: dict[int, str] = {}
    if engine.options.signature is not None:
        signature = find_signature(interpreter.model.signatures, engine.options.signature)
        for name, number in (*signature.inputs.items(), *signature.outputs.items()):
            named.setdefault(number, name)
    return {number: named.get(number, engine.graph.tensors[number].name) for number in numbers}


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON, with the keys that docs/command_json.md lists")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads."""
    parser.add_argument("--threads", metavar="N", type=positive, help="how many a run may use (default: 1)")


def add_level(parser: argparse.ArgumentParser) -> None:
    """--level."""
    parser.add_argument(
        "--level", metavar="NAME", type=level, help="level of instructions (default: MINILITE_ISA, else the best)"
    )


def split_name(interpreter: Interpreter, text: str) -> tuple[str | None, str]:
    """Splits NAME=VALUE if NAME is the name of an input, which may contain '='; else returns None and the whole
    text."""
    fitting = [name for name in input_names(interpreter) if name and text.startswith(f"{name}=")]
    if not fitting:
        return None, text
    name = max(fitting, key=len)
    return name, text[len(name) + 1 :]


def input_names(interpreter: Interpreter) -> set[str]:
    """Returns the names that the main subgraph's inputs have: the signature's, and the tensors' own."""
    graph = engine_of(interpreter).graph
    return {*names_of(interpreter, graph.inputs).values(), *(graph.tensors[i].name for i in graph.inputs)}


def _number(interpreter: Interpreter, name: str) -> int:
    """Returns the input of that name: the signature's first. Raises: InputError if several have it."""
    graph = engine_of(interpreter).graph
    of_signature = names_of(interpreter, graph.inputs) if engine_of(interpreter).options.signature is not None else {}
    found = [number for number, each in of_signature.items() if each == name]
    return found[0] if len(found) == 1 else by_name(graph, graph.inputs, "inputs")[name]


def by_input(interpreter: Interpreter, option: str, values: Sequence[str]) -> dict[int, str]:
    """Returns [NAME=]VALUE arguments by tensor number of the main subgraph's inputs; values without a name go to the
    remaining inputs, in order.

    Raises: UsageError.
    """
    details = interpreter.get_input_details()
    found: dict[int, str] = {}
    unnamed: list[str] = []
    for text in values:
        name, value = split_name(interpreter, text)
        if name is None:
            unnamed.append(value)
        elif (number := _number(interpreter, name)) in found:
            message = f"{option} {text}: input '{name}' is given twice"
            raise UsageError(message)
        else:
            found[number] = value
    free = [int(detail["index"]) for detail in details if int(detail["index"]) not in found]
    if len(unnamed) > len(free):
        message = f"{option} {unnamed[len(free)]}: {inputs_text(interpreter)}, and all of them are given already"
        raise UsageError(message)
    found.update(zip(free, unnamed, strict=False))
    return found


def inputs_text(interpreter: Interpreter) -> str:
    """Returns ``the model's inputs are x, y``."""
    names = [*names_of(interpreter, engine_of(interpreter).graph.inputs).values()]
    if not names:
        return "the model has no inputs"
    return f"the model's {'input is' if len(names) == 1 else 'inputs are'} {listed(names)}"


def shapes(interpreter: Interpreter, values: Sequence[str]) -> dict[int, Shape]:
    """Returns --shape arguments by tensor number; an empty list of dimensions is a scalar. Raises: UsageError."""
    found = {}
    for index, text in by_input(interpreter, "--shape", values).items():
        try:
            shape = tuple(int(dim) for dim in text.replace("x", ",").split(",")) if text.strip() else ()
        except ValueError:
            message = f"--shape: '{text}' is not a list of dimensions such as 1,64,64,3; {inputs_text(interpreter)}"
            raise UsageError(message) from None
        if any(not 0 <= dim < 2**31 for dim in shape):
            message = f"--shape: '{text}' has a dimension that is not from 0 to 2147483647"
            raise UsageError(message)
        found[index] = shape
    return found


def resize(interpreter: Interpreter, values: Sequence[str]) -> None:
    """Resizes inputs as --shape says. Raises: UsageError."""
    for index, shape in shapes(interpreter, values).items():
        interpreter.resize_tensor_input(index, shape)
