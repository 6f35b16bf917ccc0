"""LiteRT's delegates, of which there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minilite import errors

if TYPE_CHECKING:
    from collections.abc import Mapping


class Delegate:
    """A delegate: there are none. Raises: InputError (also ValueError)."""

    def __init__(self, library: str, options: Mapping[str, str] | None = None) -> None:  # noqa: ARG002
        message = f"delegates are not supported, got '{library}': an Interpreter runs all nodes without any"
        raise errors.InputError(message)


def load_delegate(library: str, options: Mapping[str, str] | None = None) -> Delegate:
    """Raises InputError, which is the ValueError on which clients fall back to the CPU."""
    return Delegate(library, options)
