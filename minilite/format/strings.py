"""Converts between the bytes of string tensors and numpy arrays of bytes objects.

Layout: int32 count, int32 offsets[count + 1] from the front of the buffer, the strings' bytes one after the other.
Source: tensorflow/lite/string_util.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 2**31 - 1


def as_strings(value: Any) -> NDArray[Any]:
    """A caller's value as an array of objects; only arrays that are not strings keep their dtype."""
    if not isinstance(value, np.ndarray):
        return np.asarray(value, object)
    if value.ndim == 0 and value.dtype.kind == "S":
        return np.array(value.tobytes(), object)  # all its bytes, like LiteRT: zero bytes at the end may be data
    return value.astype(object) if value.dtype.kind in "SU" else value


def encode_strings(values: NDArray[Any]) -> bytes:
    """The bytes of a string tensor whose elements are bytes or str (as UTF-8).

    Raises: ValueError whose text is for the caller's own message: "strings, ...".
    """
    parts = []
    for value in values.ravel().tolist():
        if not isinstance(value, (bytes, str)):
            message = f"strings (bytes or str), got an element of type {type(value).__name__}"
            raise ValueError(message)  # noqa: TRY004 - one class for all errors that callers convert
        try:
            parts.append(value.encode() if isinstance(value, str) else value)
        except UnicodeEncodeError as error:
            message = f"strings that UTF-8 can write: {error}"
            raise ValueError(message) from None
    ends = np.cumsum([4 * (len(parts) + 2), *map(len, parts)])
    if ends[-1] > _MOST:
        message = f"strings of at most {_MOST} bytes in all, got {ends[-1]}"
        raise ValueError(message)
    return np.array([len(parts), *ends], "<i4").tobytes() + b"".join(parts)


def decode_strings(raw: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of bytes objects from a string tensor's bytes. Raises: ValueError if their layout is wrong."""
    data = bytes(raw)
    count = int(np.prod(shape, dtype=np.int64))
    if not data and count == 0:
        return np.empty(shape, object)
    words = np.frombuffer(data, "<i4", len(data) // 4)
    there, offsets = int(words[0]) if words.size else 0, words[1 : count + 2]
    inside = (
        len(offsets) == count + 1 and offsets[0] >= 0 and offsets[-1] <= len(data) and (np.diff(offsets) >= 0).all()
    )
    if there != count or not inside:
        message = f"a string tensor of shape {shape} has {there} strings in {len(data)} bytes, must have {count}"
        raise ValueError(message)
    found = np.empty(count, object)  # only after the checks, because a file may state any count
    for i in range(count):
        found[i] = data[offsets[i] : offsets[i + 1]]
    return found.reshape(shape)
