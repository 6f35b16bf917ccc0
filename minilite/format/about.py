"""Reads TFLITE_METADATA, the model's description of itself: the parts that help to use the model.

Nothing in the buffer is trusted: it is read within its bounds, lists are bounded by its size.
Source: the published schema of TFLite Support, metadata_schema.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from flatbuffers import number_types, table  # type: ignore[import-untyped]

from minilite.errors import ModelFormatError
from minilite.format.metadata import NAME

IDENTIFIER = b"M001"
_AXIS_LABELS, _VALUE_LABELS = 2, 3
_IMAGE, _AUDIO = 2, 4
_NORMALIZATION = 1
_COLOR_SPACES = {1: "RGB", 2: "GRAYSCALE"}
_MOST = 1 << 24
"""The largest number of bytes that is read from a buffer in all. Its size is no limit, because references may share
targets."""
_TABLE = 256
"""The number of bytes that a table counts as."""
T = TypeVar("T")


class AssociatedFile(NamedTuple):
    """The description of one file in the archive at the model's end."""

    name: str
    description: str
    labels: str
    """"axis": one line per element of the last dimension; "value": one line per value; else empty."""


class TensorMetadata(NamedTuple):
    """The description of one input or output."""

    name: str = ""
    description: str = ""
    files: tuple[AssociatedFile, ...] = ()
    color_space: str = ""
    """ "RGB", "GRAYSCALE" or empty."""
    sample_rate: int = 0
    """Samples of sound per second; 0 if not given."""
    channels: int = 0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    """An input becomes (x - mean) / std, with one number for all channels or one per channel; both are empty if not
    given."""


class ModelMetadata(NamedTuple):
    """The description of a model, its inputs and its outputs, both in the order of the subgraph."""

    name: str = ""
    description: str = ""
    version: str = ""
    author: str = ""
    license: str = ""
    inputs: tuple[TensorMetadata, ...] = ()
    outputs: tuple[TensorMetadata, ...] = ()
    files: tuple[AssociatedFile, ...] = ()


def read_metadata(payload: bytes) -> ModelMetadata:
    """The content of a TFLITE_METADATA buffer. Raises: ModelFormatError."""
    if len(payload) < 8 or payload[4:8] != IDENTIFIER:
        message = f"metadata {NAME}: identifier at byte 4 is {payload[4:8]!r}, must be {IDENTIFIER!r}"
        raise ModelFormatError(message)
    try:
        return _model(_Table.root(payload))
    except (struct.error, IndexError, TypeError, ValueError, OverflowError) as error:
        message = f"metadata {NAME}: is broken: {error}"
        raise ModelFormatError(message) from None


def _model(model: _Table) -> ModelMetadata:
    graphs = model.tables(3, lambda graph: (graph.tables(2, _tensor), graph.tables(3, _tensor), graph.tables(4, _file)))
    inputs, outputs, files = graphs[0] if graphs else ((), (), ())
    name, description, version, author, license_ = (model.text(slot) for slot in (0, 1, 2, 4, 5))
    files = model.tables(6, _file) + files
    return ModelMetadata(name, description, version, author, license_, inputs, outputs, files)


def _tensor(tensor: _Table) -> TensorMetadata:
    color, rate, channels = "", 0, 0
    if (content := tensor.table(3)) is not None and (properties := content.table(1)) is not None:
        kind = content.number(0, number_types.Uint8Flags)
        if kind == _IMAGE:
            color = _COLOR_SPACES.get(properties.number(0, number_types.Int8Flags), "")
        elif kind == _AUDIO:
            rate, channels = (properties.number(slot, number_types.Uint32Flags) for slot in (0, 1))
    steps = tensor.tables(4, _normalization)
    mean, std = next((step for step in steps if step is not None), ((), ()))
    return TensorMetadata(tensor.text(0), tensor.text(1), tensor.tables(6, _file), color, rate, channels, mean, std)


def _normalization(step: _Table) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    options = step.table(1)
    if options is None or step.number(0, number_types.Uint8Flags) != _NORMALIZATION:
        return None
    return options.floats(0), options.floats(1)


def _file(file: _Table) -> AssociatedFile:
    kind = file.number(2, number_types.Int8Flags)
    labels = {_AXIS_LABELS: "axis", _VALUE_LABELS: "value"}.get(kind, "")
    return AssociatedFile(file.text(0), file.text(1), labels)


class _Table:
    """A table in a buffer; reading beyond the buffer raises IndexError, struct.error or the like."""

    __slots__ = ("_left", "_table")

    def __init__(self, data: bytes, at: int, left: list[int]) -> None:
        self._table = table.Table(data, at)
        self._left = left
        self._spend(_TABLE)
        start = at - self._table.Get(number_types.SOffsetTFlags, at)
        if not 0 <= start < len(data):
            message = f"the table at byte {at} has its fields at byte {start} of {len(data)}"
            raise IndexError(message)

    @staticmethod
    def root(data: bytes) -> _Table:
        return _Table(data, table.Table(data, 0).Indirect(0), [_MOST])

    def _spend(self, size: int) -> None:
        self._left[0] -= size
        if self._left[0] < 0:
            message = f"it leads to more than {_MOST} bytes"
            raise ValueError(message)

    def _at(self, slot: int) -> int:
        """The position of a slot's value; 0 if it has none."""
        offset = self._table.Offset(4 + 2 * slot)
        return int(self._table.Pos + offset) if offset else 0

    def number(self, slot: int, flags: Any) -> int:
        at = self._at(slot)
        return int(self._table.Get(flags, at)) if at else 0

    def text(self, slot: int) -> str:
        at = self._at(slot)
        found = self._table.String(at) if at else b""
        self._spend(len(found))
        return str(found, "utf-8", "replace")

    def table(self, slot: int) -> _Table | None:
        at = self._at(slot)
        return _Table(self._table.Bytes, self._table.Indirect(at), self._left) if at else None

    def _vector(self, slot: int) -> tuple[int, int]:
        """The position and the length of a vector of 4-byte elements."""
        if not self._at(slot):
            return 0, 0
        offset = self._table.Offset(4 + 2 * slot)
        return int(self._table.Vector(offset)), int(self._table.VectorLen(offset))

    def tables(self, slot: int, read: Callable[[_Table], T]) -> tuple[T, ...]:
        start, count = self._vector(slot)
        places = (self._table.Indirect(start + 4 * i) for i in range(count))
        return tuple(read(_Table(self._table.Bytes, place, self._left)) for place in places)

    def floats(self, slot: int) -> tuple[float, ...]:
        start, count = self._vector(slot)
        self._spend(4 * count)
        return struct.unpack_from(f"<{count}f", self._table.Bytes, start)
