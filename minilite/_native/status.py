"""Statuses and options of the C core, and empty errors for C to fill in."""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Any

from minilite._core import ffi, lib
from minilite._native import raised

if TYPE_CHECKING:
    from minilite._native.raised import Names

LOCKED: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
"""True if Python runs with its global lock."""
if not LOCKED:
    from minilite._native import unlocked

    unlocked.make_everything()

MAX_RANK: int = lib.ML_MAX_RANK
OPTIONS: dict[str, int] = {
    "keep_inputs": lib.ML_KEEP_INPUTS,
    "keep_all": lib.ML_KEEP_ALL,
    "share_tflite": lib.ML_SHARE_TFLITE,
    "share_wide": lib.ML_SHARE_WIDE,
    "free_unread": lib.ML_FREE_UNREAD,
    "keep_smaller": lib.ML_KEEP_SMALLER,
    "keep_pages": lib.ML_KEEP_PAGES,
    "inputs_apart": lib.ML_INPUTS_APART,
}
TENSOR_VARIABLE: int = lib.ML_TENSOR_VARIABLE
TENSOR_SPARSE: int = lib.ML_TENSOR_SPARSE
TENSOR_OF_FILE: int = lib.ML_TENSOR_OF_FILE
NEEDS_DENSE: int = lib.ML_NEEDS_DENSE
NEEDS_VALUES: int = lib.ML_NEEDS_VALUES
NODE_PYTHON: int = lib.ML_NODE_PYTHON
NODE_VIEW: int = lib.ML_NODE_VIEW
NODE_TFLITE_SHARES: int = lib.ML_NODE_TFLITE_SHARES
NODE_IN_PLACE: int = lib.ML_NODE_IN_PLACE
STORAGES = ("none", "constant", "folded", "arena", "persistent", "bound", "slot", "heap", "input")
BUSY = "the interpreter is running in another call: one call at a time"
NODE_STATUSES = ("waits", "runs", "folded", "view", "fused", "empty", "in patches", "in patches")
RUNNING = ("runs", "waits", "in patches")
"""The statuses of nodes that compute something in a run."""


_CODES = {"int32_t": "i", "int64_t": "q"}


def fields_of(row: str, fields: str) -> struct.Struct:
    """Unpacks these fields of a C struct, in C's order; `name.at` is a field of a struct within it. Whole rows are
    unpacked at once, because cffi is slow for single fields; it says where they lie, which depends on the size of
    pointers."""
    form, end = "=", 0
    for path in fields.split():
        kind, at = ffi.typeof(row), 0
        for name in path.split("."):
            field = dict(kind.fields)[name]
            kind, at = field.type, at + field.offset
        form += f"{at - end}x{_CODES.get(kind.cname) or {4: 'I', 8: 'Q'}[ffi.sizeof(kind)]}"
        end = at + ffi.sizeof(kind)
    return struct.Struct(f"{form}{ffi.sizeof(row) - end}x")


def raise_error(error: Any, names: Names | None) -> None:
    """Raises the exception for an ml_error."""
    raise raised.exception_of(error, names)


_new = ffi.new  # in a name of its own: looking up a method of cffi takes as long as half of the call
_FRESH = _new("ml_error *", {"node": -1, "subgraph": -1})[0]


def fresh_error() -> Any:
    """An ml_error without coordinates."""
    return _new("ml_error *", _FRESH)


def fresh_errors(count: int) -> Any:
    """An array of them."""
    return ffi.new("ml_error[]", [_FRESH] * count)
