"""Memory plans in the model's file: the metadata `OfflineMemoryAllocation`, as TensorFlow Lite Micro reads it.

The payload is int32, little endian: version, number of subgraphs, n, then n offsets in bytes from the arena's start:
those of the tensors of all subgraphs, one subgraph after the other, -1 for a tensor that is placed at run time. The
first two numbers are not read here, as in TFLM. Everything else that a plan must satisfy depends on shapes, and is
checked by `allocate_tensors`.

Source: tflite-micro, docs/memory_management.md, micro_allocation_info.cc.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from minilite.errors import ArenaError, ModelFormatError
from minilite.format.builder import with_metadata
from minilite.format.dtypes import numpy_type
from minilite.format.model import Model, Tensor
from minilite.format.reader import read_model
from minilite.memory.checker import check
from minilite.memory.tflm import ALIGNMENT, OfflinePlan, plan_for_tflm, usage_records
from minilite.numeric import whole

NAME = "OfflineMemoryAllocation"
VERSION = 1
LEFT = -1
"""The offset of a tensor that is placed at run time."""
_HEAD = 3
_MOST = 2**31 - 1


def _tensors(model: Model) -> list[tuple[int, Tensor]]:
    return [(subgraph.index, tensor) for subgraph in model.subgraphs for tensor in subgraph.tensors]


def _label(subgraph: int, tensor: Tensor) -> str:
    return f"subgraph {subgraph}, tensor {tensor.index} ('{tensor.name}')"


def parse_offsets(model: Model, payload: bytes) -> list[int]:
    """The offsets of the tensors of all subgraphs. Raises: ModelFormatError."""
    tensors = _tensors(model)
    if len(payload) % 4 or len(payload) < 4 * _HEAD:
        message = f"metadata {NAME}: {len(payload)} bytes, must be {4 * _HEAD} and 4 for each tensor"
        raise ModelFormatError(message)
    words = struct.unpack(f"<{len(payload) // 4}i", payload)
    if words[2] != len(tensors) or len(words) - _HEAD != words[2]:
        message = f"metadata {NAME}: holds {len(words) - _HEAD} offsets and names {words[2]}, the model has {len(tensors)} tensors"
        raise ModelFormatError(message)
    offsets = list(words[_HEAD:])
    for (subgraph, tensor), offset in zip(tensors, offsets, strict=True):
        if offset < LEFT:
            message = f"metadata {NAME}: {_label(subgraph, tensor)}: offset {offset}, must be {LEFT} or more"
            raise ModelFormatError(message, subgraph=subgraph, tensors=[tensor.name])
        width = max(
            1, np.dtype(numpy_type(tensor.type)).itemsize
        )  # strings have no place in the arena: theirs is not used
        if offset > 0 and tensor.data is None and offset % width:
            message = (
                f"metadata {NAME}: {_label(subgraph, tensor)}: offset {offset}, must be a multiple of the {width} bytes of "
                f"{tensor.type.name}"
            )
            raise ModelFormatError(message, subgraph=subgraph, tensors=[tensor.name])
    return offsets


def offline_offsets(model: Model) -> list[list[int]] | None:
    """The plan in the model, as offsets by subgraph and tensor; None if it has none. Raises: ModelFormatError."""
    payload = model.metadata.get(NAME)
    if payload is None:
        return None
    rest = iter(parse_offsets(model, payload))
    return [[next(rest) for _ in subgraph.tensors] for subgraph in model.subgraphs]


def offline_payload(model: Model, offsets: Mapping[int, int]) -> bytes:
    """The metadata's bytes for tensors of the main subgraph, by number; all others are placed at run time.

    Raises: InputError for numbers that are no integers; ArenaError for a constant, an offset that is not a multiple of
    16 from 0 to 2147483647, and for tensors that overlap while both are live.
    """
    main = model.subgraphs[0].tensors
    words = [LEFT] * len(_tensors(model))
    places = {
        whole("a tensor's number", number): whole(f"tensor {number}: offset", offset)
        for number, offset in offsets.items()
    }
    for number, offset in places.items():
        if not 0 <= number < len(main) or main[number].data is not None:
            message = f"tensor {number} cannot be planned: it is constant, or not among the main subgraph's {len(main)}"
            raise ArenaError(message)
        if not 0 <= offset <= _MOST or offset % ALIGNMENT:
            message = f"{_label(0, main[number])}: offset {offset}, must be a multiple of {ALIGNMENT} from 0 to {_MOST}"
            raise ArenaError(message, subgraph=0, tensors=[main[number].name])
        words[number] = offset
    _check_overlaps(model, places)
    return struct.pack(f"<{_HEAD + len(words)}i", VERSION, len(model.subgraphs), len(words), *words)


def _check_overlaps(model: Model, offsets: Mapping[int, int]) -> None:
    records = [record for record in usage_records(model) if record.tensor in offsets and record.last_node > 0]
    if fault := check(records, [offsets[record.tensor] for record in records]):
        pair = [model.subgraphs[0].tensors[records[position].tensor].name for position in fault.records]
        message = f"offline memory plan: {' and '.join(repr(name) for name in pair)}: {fault.text}"
        raise ArenaError(message, subgraph=0, tensors=pair)


def write_offline(
    source: bytes | bytearray | memoryview,
    strategy: str = "exact",
    *,
    max_seconds: float | None = 10.0,
    capacity: int | None = None,
) -> tuple[bytes, OfflinePlan]:
    """The file with a plan for TFLM added, and that plan: see `plan_for_tflm`.

    Raises: ModelFormatError, InputError, ArenaError.
    """
    model = read_model(source)
    made = plan_for_tflm(model, strategy, max_seconds=max_seconds, capacity=capacity)
    return with_metadata(source, NAME, offline_payload(model, made.offsets)), made
