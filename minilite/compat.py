"""LiteRT's delegates, which there are none of, and its kinds of operator resolver."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from minilite import errors

if TYPE_CHECKING:
    from collections.abc import Mapping


class OpResolverType(Enum):
    """Which kernels run: BUILTIN_REF selects the numpy references, all others the C kernels."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


def resolver_type(value: Any) -> OpResolverType:
    """A member of our enum; LiteRT's own members are taken by their names. Raises: InputError."""
    if type(value) is OpResolverType:
        return value
    import enum  # of LiteRT's members

    if isinstance(value, enum.Enum) and value.name in OpResolverType.__members__:
        return OpResolverType[value.name]
    message = f"Unrecognized passed in op resolver type: {value}: takes a member, such as OpResolverType.BUILTIN_REF"
    raise errors.InputError(message)


class Delegate:
    """A delegate: there are none. Raises: InputError (also ValueError)."""

    def __init__(self, library: str, options: Mapping[str, str] | None = None) -> None:  # noqa: ARG002
        message = f"delegates are not supported, got '{library}': an Interpreter runs all nodes without any"
        raise errors.InputError(message)


def load_delegate(library: str, options: Mapping[str, str] | None = None) -> Delegate:
    """Raises InputError, which is the ValueError on which clients fall back to the CPU."""
    return Delegate(library, options)
