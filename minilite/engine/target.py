"""Where a tensor lies, what array fits it, and what a live view of it holds on to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._native import Place
from minilite.format.dtypes import TensorType
from minilite.format.model import Array

if TYPE_CHECKING:
    from minilite.engine.session import Session

Shape = tuple[int, ...]


class ArenaView:
    """The owner of a live view: numpy arrays made from it keep it, and while it lives the arena stays where it is."""

    __slots__ = ("__array_interface__", "__weakref__", "_session")

    def __init__(self, session: Session, array: Array) -> None:
        self._session = session
        self.__array_interface__ = array.__array_interface__


class Target(NamedTuple):
    """Where a tensor lies and what array fits it."""

    place: Place
    dtype: Any
    shape: Shape
    writable: bool
    text: bool
    """Of no fixed size: strings."""
    array: Array | None
    """Over the memory itself, for small tensors that are copied under the GIL; None: copies are C's."""
    packed: TensorType | None
    """The type whose elements are less than a byte; arrays then hold values, memory holds packed ones."""

    @property
    def ndim(self) -> int:
        """Its rank."""
        return len(self.shape)
