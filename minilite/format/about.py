"""Reads TFLITE_METADATA, the model's description of itself: the parts that help to use the model.

Nothing in the buffer is trusted: it is read within its bounds, lists are bounded by its size.
Source: the published schema of TFLite Support, metadata_schema.fbs.
"""

from __future__ import annotations

from typing import NamedTuple

from flatbuffers import number_types  # type: ignore[import-untyped]

from minilite.errors import ModelFormatError
from minilite.format.bounded import BROKEN, BoundedTable
from minilite.format.metadata import NAME

IDENTIFIER = b"M001"
_AXIS_LABELS, _VALUE_LABELS = 2, 3
_IMAGE, _AUDIO = 2, 4
_NORMALIZATION = 1
_COLOR_SPACES = {1: "RGB", 2: "GRAYSCALE"}


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
        return _model(BoundedTable.root(payload))
    except BROKEN as error:
        message = f"metadata {NAME}: is broken: {error}"
        raise ModelFormatError(message) from None


def _model(model: BoundedTable) -> ModelMetadata:
    graphs = model.tables(3, lambda graph: (graph.tables(2, _tensor), graph.tables(3, _tensor), graph.tables(4, _file)))
    inputs, outputs, files = graphs[0] if graphs else ((), (), ())
    name, description, version, author, license_ = (model.text(slot) for slot in (0, 1, 2, 4, 5))
    files = model.tables(6, _file) + files
    return ModelMetadata(name, description, version, author, license_, inputs, outputs, files)


def _tensor(tensor: BoundedTable) -> TensorMetadata:
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


def _normalization(step: BoundedTable) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    options = step.table(1)
    if options is None or step.number(0, number_types.Uint8Flags) != _NORMALIZATION:
        return None
    return options.floats(0), options.floats(1)


def _file(file: BoundedTable) -> AssociatedFile:
    kind = file.number(2, number_types.Int8Flags)
    labels = {_AXIS_LABELS: "axis", _VALUE_LABELS: "value"}.get(kind, "")
    return AssociatedFile(file.text(0), file.text(1), labels)
