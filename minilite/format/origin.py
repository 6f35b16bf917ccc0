"""What bytes that are no model look like, for the error that says so."""

from __future__ import annotations

import os
from typing import Any

from minilite.errors import ModelFormatError

_SEEN = 512
"""Bytes looked at."""
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, the model has to be fetched: git lfs pull"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, such as Keras's .h5, which has to be converted to .tflite"),
    (b"PK\x03\x04", "a zip archive, such as Keras's .keras, PyTorch's .pt or a download that has to be unpacked"),
    (b"\x1f\x8b", "a gzip archive, which has to be unpacked"),
    (b"\x93NUMPY", "an array of numpy's"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x7fELF", "a program or a library"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")


def looks_like(data: memoryview) -> str | None:
    """What bytes that are refused as a model probably are; None where they look like a model, or like nothing known."""
    head = bytes(data[:_SEEN])
    for beginning, name in _BEGINNINGS:
        if head.startswith(beginning):
            return name
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith(_MARKUP):
        return "an HTML page, perhaps of a download that failed"
    if text.startswith((b"{", b"[")):
        return "JSON text"
    if (head[:1] == b"\x08" and head[2:3] == b"\x12") or (head[:1] == b"\n" and head[2:3] == b"\n"):
        return "a protocol buffer, such as a SavedModel's or ONNX's, which has to be converted to .tflite"
    if head[4:7] == b"TFL" and head[4:8] != b"TFL3":
        return f"a model of another version of the format, {head[4:8].decode(errors='replace')}"
    if head and not any(head):
        return "zeros only"
    return None


def explained(
    error: ModelFormatError, source: Any, path: str | bytes | os.PathLike[str] | None = None
) -> ModelFormatError:
    """The same error with the file's name in front, and what the bytes look like behind."""
    guess = looks_like(memoryview(source).cast("B"))
    where = f"{os.fsdecode(path)!r}: " if path is not None else ""
    behind = f": it looks like {guess}" if guess else ""
    return ModelFormatError(
        f"{where}{error}{behind}",
        subgraph=error.subgraph,
        node=error.node,
        op=error.op,
        tensors=error.tensors,
        shapes=error.shapes,
    )
