"""Options that custom operators keep as a flexbuffer: a map of names to numbers and strings."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

_FAULTS = (ValueError, TypeError, LookupError, OverflowError, struct.error, AttributeError)
"""What the flatbuffers package answers to bytes that are no flexbuffer."""


def scalars(data: bytes) -> Mapping[str, Any]:
    """The numbers, truth values and strings of a flexbuffer's map by name; maps and vectors in it are left out.

    Raises: ValueError for bytes that are no map."""
    from flatbuffers import flexbuffers  # type: ignore[import-untyped]  # few models have one: loading others stays light

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
        return {name: ref.Value for name, ref in refs if ref.IsNumeric or ref.IsBool or ref.IsString}
    except _FAULTS as error:
        message = str(error) if str(error).startswith("custom options") else "custom options are no flexbuffer"
        raise ValueError(message) from None
