"""Models with metadata and associated files, written by flatbuffers and zipfile themselves."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import flatbuffers

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

RGB = {3: {0: 2, 1: {0: 1}}}
"""Fields of a TensorMetadata that say: an RGB image."""


def sound(rate: int, channels: int) -> dict[int, Any]:
    """Fields of a TensorMetadata that say: sound."""
    return {3: {0: 4, 1: {0: ("uint32", rate), 1: ("uint32", channels)}}}


def normalized(mean: list[float], std: list[float]) -> dict[int, Any]:
    """Fields of a TensorMetadata that say how it is normalized, after a step of another kind."""
    return {4: [{0: 6, 1: {}}, {0: 1, 1: {0: mean, 1: std}}]}


def labelled(name: str, kind: int = 2) -> dict[int, Any]:
    """Fields of a TensorMetadata that name a file of labels, after one of another kind."""
    return {6: [{0: "other.txt", 2: 5}, {0: name, 1: "what it shows", 2: kind}]}


def metadata(inputs: list[dict[int, Any]], outputs: list[dict[int, Any]], **texts: str) -> bytes:
    """A TFLITE_METADATA buffer: tensors as dicts of slots."""
    slots = {"name": 0, "description": 1, "version": 2, "author": 4, "license": 5}
    root = {slots[key]: text for key, text in texts.items()} | {3: [{2: inputs, 3: outputs}]}
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, root), file_identifier=b"M001")
    return bytes(builder.Output())


def _table(builder: flatbuffers.Builder, fields: Mapping[int, Any]) -> int:
    """Text, tables, lists of tables, lists of floats, bytes as plain numbers, other numbers as (type, number)."""
    places = {slot: _placed(builder, value) for slot, value in fields.items()}
    builder.StartObject(10)
    for slot, value in fields.items():
        if isinstance(value, int):
            builder.PrependUint8Slot(slot, value, 0)
        elif isinstance(value, tuple):
            builder.PrependUint32Slot(slot, value[1], 0)
        else:
            builder.PrependUOffsetTRelativeSlot(slot, places[slot], 0)
    return int(builder.EndObject())


def _placed(builder: flatbuffers.Builder, value: Any) -> int:
    if isinstance(value, str):
        return int(builder.CreateString(value))
    if isinstance(value, dict):
        return _table(builder, value)
    if not isinstance(value, list):
        return 0
    if value and isinstance(value[0], float):
        builder.StartVector(4, len(value), 4)
        for number in reversed(value):
            builder.PrependFloat32(number)
        return int(builder.EndVector())
    tables = [_table(builder, each) for each in value]
    builder.StartVector(4, len(tables), 4)
    for place in reversed(tables):
        builder.PrependUOffsetTRelative(place)
    return int(builder.EndVector())


def with_files(model: bytes, files: Mapping[str, bytes | str]) -> bytes:
    """The model with a zip archive of these files after it."""
    whole = io.BytesIO(model)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def passing(
    shape: tuple[int, ...],
    kind: TensorType = TensorType.FLOAT32,
    quantization: Quantization = NOT_QUANTIZED,
    signature: tuple[int, ...] | None = None,
    about: bytes | None = None,
) -> bytes:
    """A model whose output is its input, as one row of classes."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", shape, kind, signature=signature, quantization=quantization)
    y = graph.node("RESHAPE", [x], out=("y", None, kind, quantization), options={"new_shape": [1, -1]})
    graph.output(y)
    if about is not None:
        builder.metadata("TFLITE_METADATA", about)
    return builder.build()
