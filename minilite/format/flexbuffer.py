"""Reads options of custom operators from a flexbuffer: a map of names to numbers, strings and vectors of numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

_FAULTS = (ValueError, TypeError, LookupError, OverflowError, struct.error, AttributeError)
"""Exceptions of the flatbuffers package for bytes that are not a flexbuffer."""


def _numbers(ref: Any, most: int) -> tuple[Any, ...] | None:
    """The elements of a vector if all are numbers; else None."""
    found = ref.AsTypedVector if ref.IsTypedVector else ref.AsVector
    if not 0 <= len(found) <= most:
        message = f"custom options have a vector of {len(found)} values in {most} bytes"
        raise ValueError(message)
    parts = [found[i] for i in range(len(found))]
    return tuple(part.Value for part in parts) if all(part.IsNumeric for part in parts) else None


def scalars(data: bytes) -> Mapping[str, Any]:
    """The numbers, truth values, strings and vectors of numbers (as tuples) of a flexbuffer's map by name; other
    vectors and maps in it are left out.

    Raises: ValueError for bytes that are not a map."""
    from flatbuffers import flexbuffers  # type: ignore[import-untyped]  # few models have one

    try:
        root = flexbuffers.GetRoot(bytearray(data))
        if not root.IsMap:
            message = "custom options are a flexbuffer without a map"
            raise ValueError(message)
        found = root.AsMap
        if not 0 <= len(found) <= len(data):
            message = f"custom options are a map of {len(found)} values in {len(data)} bytes"
            raise ValueError(message)
        refs = [(found.Keys[i].AsKey, found.Values[i]) for i in range(len(found))]
        values = {name: ref.Value for name, ref in refs if ref.IsNumeric or ref.IsBool or ref.IsString}
        vectors = {name: _numbers(ref, len(data)) for name, ref in refs if ref.IsTypedVector or ref.IsVector}
        return {**values, **{name: numbers for name, numbers in vectors.items() if numbers is not None}}
    except _FAULTS as error:
        message = str(error) if str(error).startswith("custom options") else "custom options are not a flexbuffer"
        raise ValueError(message) from None
