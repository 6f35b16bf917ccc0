"""Every error class of minilite, and the form of error messages.

A message is coordinates, then both values, then the rule: ``subgraph 0, node 12 (CONV_2D 'conv1'): filter depth 8 does
not match input depth 12``. Lower case, no full stop. Each class is also a subclass of the builtin that LiteRT raises in
its place.

Names in messages come from files of strangers: `visible` makes them safe to print.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_UNSAFE = "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
"""Control characters, ends of lines, marks that turn the direction of text, half surrogates, and the two characters
beyond these that XML cannot hold."""


def visible(text: str) -> str:
    """Text that is safe to print on one line: characters that a terminal obeys and does not show become escapes, as in
    Python and JSON: ``\\u001b``."""
    return re.sub(_UNSAFE, lambda found: f"\\u{ord(found[0]):04x}", text)


def visible_lines(text: str) -> str:
    """The same for several lines; their ends stay."""
    return "\n".join(map(visible, text.split("\n")))


class MiniliteError(Exception):
    """The base of all errors of minilite; carries the coordinates of the cause if they are known."""

    def __init__(
        self,
        message: str,
        *,
        subgraph: int | None = None,
        node: int | None = None,
        op: str | None = None,
        tensors: Sequence[str] = (),
        shapes: Sequence[tuple[int, ...]] = (),
    ) -> None:
        super().__init__(visible(message.replace("\n", " ")))
        self.subgraph = subgraph
        self.node = node
        self.op = op
        self.tensors: tuple[str, ...] = tuple(tensors)
        """Names of the tensors that the message mentions, else of the node's first four inputs."""
        self.shapes: tuple[tuple[int, ...], ...] = tuple(shapes)
        """Shapes of these tensors, as far as they are known and matter."""


class ModelNotFoundError(MiniliteError, FileNotFoundError, ValueError):
    """The path does not name a readable file."""

    def __str__(self) -> str:
        return str(self.args[0])


class ModelFormatError(MiniliteError, ValueError):
    """The bytes are not a valid model: the message names table, field and offset."""


class ModelNotFoundRuntimeError(ModelNotFoundError, RuntimeError):
    """A `ModelNotFoundError` where LiteRT raises RuntimeError."""


class ModelFormatRuntimeError(ModelFormatError, RuntimeError):
    """A `ModelFormatError` where LiteRT raises RuntimeError."""


class UnsupportedOperator(NamedTuple):
    """An operator that cannot be run, why, and its nodes as (subgraph, node)."""

    op: str
    """Empty if a tensor is the cause and not an operator."""
    reason: str
    nodes: tuple[tuple[int, int], ...]


class UnsupportedOpError(MiniliteError, RuntimeError, ValueError):
    """The model uses operators, versions or types that minilite does not support: one line per operator, all of them in
    `operators`.

    `node`, `op` and `tensors` are those of the first node.
    """

    def __init__(
        self,
        message: str,
        *,
        subgraph: int | None = None,
        node: int | None = None,
        op: str | None = None,
        tensors: Sequence[str] = (),
        shapes: Sequence[tuple[int, ...]] = (),
        operators: Sequence[UnsupportedOperator] = (),
    ) -> None:
        super().__init__(message, subgraph=subgraph, node=node, op=op, tensors=tensors, shapes=shapes)
        self.args: tuple[Any, ...] = (visible_lines(message),)
        self.operators: tuple[UnsupportedOperator, ...] = tuple(operators)


class ShapeError(MiniliteError, RuntimeError, ValueError):
    """A node refuses the shapes of its inputs."""


class InputError(MiniliteError, ValueError):
    """A caller's argument does not fit: the message names the tensor, what it expects, and what was given."""


class DelegateError(InputError, OSError):
    """A delegate cannot be loaded: LiteRT's documents say ValueError, its calls raise OSError."""


class InputRuntimeError(InputError, RuntimeError):
    """An `InputError` where LiteRT raises RuntimeError."""


class InputTypeError(InputError, TypeError):
    """An `InputError` where LiteRT raises TypeError."""


class StateError(MiniliteError, RuntimeError, ValueError):
    """The call does not fit the interpreter's state: not allocated, busy, or a view is held."""


class ArenaError(MiniliteError, MemoryError, RuntimeError):
    """Memory is short: for tensors the message says how many bytes are needed, and how many are available."""


class KernelError(MiniliteError, RuntimeError):
    """A node failed while running."""


def shortened(name: str, width: int = 60) -> str:
    """A name for a message: safe to print, on one line, with its middle left out if it is longer than `width`
    characters."""
    name = name if name.isprintable() else visible(" ".join(name.split()))
    head = (width - 2) // 2
    return name if len(name) <= width else f"{name[:head]}..{name[head + 2 - width :]}"


def shown(value: Any, width: int = 60) -> str:
    """Formats a value for a message, as `repr` writes it and `shortened`. An integer of very many digits is described
    by its bits, because Python refuses to write it."""
    try:
        return shortened(repr(value), width)
    except ValueError:
        if isinstance(value, int):
            return f"an integer of {value.bit_length()} bits"
        return f"a {type(value).__name__} with integers of too many digits to show"


def listed(names: Iterable[str]) -> str:
    """Names for a message: ``x, y``; ``''`` for an empty one; ``none`` where there are none."""
    return ", ".join(shortened(name) or "''" for name in names) or "none"


def coordinates(subgraph: int, node: int, op: str, name: str = "") -> str:
    """The start of an error message that names a node; long names are cut to one line."""
    label = f"{shortened(op)} '{shortened(name)}'" if name else shortened(op)
    return f"subgraph {subgraph}, node {node} ({label})"
