"""String tensors: TFLite's bytes for them, and numpy arrays of bytes objects.

Layout: int32 count, int32 offsets[count + 1] from the front of the buffer, the strings' bytes one after the other.
Source: tensorflow/lite/string_util.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.errors import InputError, ModelFormatError
from minilite.format.model import Array, Tensor

_MOST = 2**31 - 1


def pack_strings(tensor: Tensor, values: Array) -> bytes:
    """The bytes of a string tensor whose elements are bytes or str (as UTF-8). Raises: InputError."""
    parts = []
    for value in values.reshape(-1).tolist():
        if not isinstance(value, (bytes, str)):
            message = (
                f"Cannot set tensor: tensor {tensor.index} ('{tensor.name}') takes strings, "
                f"got an element of type {type(value).__name__}"
            )
            raise InputError(message, tensors=[tensor.name])
        parts.append(value.encode() if isinstance(value, str) else value)
    head = 4 * (len(parts) + 2)
    ends = np.cumsum([head, *map(len, parts)])
    if ends[-1] > _MOST:
        message = (
            f"Cannot set tensor: tensor {tensor.index} ('{tensor.name}') would take {ends[-1]} bytes, at most {_MOST}"
        )
        raise InputError(message, tensors=[tensor.name])
    return np.array([len(parts), *ends], "<i4").tobytes() + b"".join(parts)


def unpack_strings(raw: Any, shape: tuple[int, ...]) -> Array:
    """An array of bytes objects from a string tensor's bytes. Raises: ModelFormatError if they are not laid out as such."""
    data = bytes(raw)
    count = int(np.prod(shape, dtype=np.int64))
    found = np.empty(count, object)
    if not data and count == 0:
        return found.reshape(shape)
    there = int.from_bytes(data[:4], "little", signed=True)
    offsets = np.frombuffer(data, "<i4", max(0, min(there + 1, len(data) // 4 - 1)), 4)
    if there != count or len(offsets) != count + 1 or offsets[-1] > len(data) or (np.diff(offsets) < 0).any():
        message = f"a string tensor of shape {shape} has {there} strings in {len(data)} bytes, must have {count}"
        raise ModelFormatError(message)
    for i in range(count):
        found[i] = data[offsets[i] : offsets[i + 1]]
    return found.reshape(shape)
