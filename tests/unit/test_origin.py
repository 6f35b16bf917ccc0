"""Bytes that are no model: the error names the file and what they look like."""

from __future__ import annotations

import gzip
import io
import pathlib
import zipfile

import numpy as np
import pytest
from built import relu_chain

import minilite
from minilite.format.reader import load_model


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("model.tflite", relu_chain())
    return file.getvalue()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
FOREIGN = {
    "pointer": (POINTER, "it looks like a Git LFS pointer, the model has to be fetched: git lfs pull"),
    "page": (b"\n<!DOCTYPE html><html><body>404</body></html>", "it looks like an HTML page, perhaps of a download"),
    "bare page": (b"<HTML><HEAD><TITLE>302 Moved", "it looks like an HTML page"),
    "zip": (archive(), "it looks like a zip archive"),
    "gzip": (gzip.compress(relu_chain()), "it looks like a gzip archive"),
    "h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "it looks like an HDF5 file, such as Keras's .h5"),
    "saved_model.pb": (b"\x08\x01\x12\xc4\xb9\x05" + bytes(100), "it looks like a protocol buffer, such as a SavedModel's"),
    "onnx": (b"\x08\x08\x12\x07pytorch\x1a\x05" + bytes(100), "it looks like a protocol buffer"),
    "frozen.pb": (b"\n;\n\x01x\x12\x0bPlaceholder" + bytes(100), "it looks like a protocol buffer"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "it looks like an image"),
    "jpeg": (b"\xff\xd8\xff\xe0" + bytes(100), "it looks like an image"),
    "npy": (array(), "it looks like an array of numpy's"),
    "json": (b'{"format": "graph-model"}', "it looks like JSON text"),
    "old": (b"\x10\0\0\0TFL2" + bytes(100), "it looks like a model of another version of the format, TFL2"),
    "zeros": (bytes(4096), "it looks like zeros only"),
    "words": (b"no model at all, just words", "a .tflite file has b'TFL3'"),
    "half": (relu_chain()[: len(relu_chain()) // 2], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_the_file_and_its_likely_origin_are_named(name: str, tmp_path: pathlib.Path) -> None:
    data, text = FOREIGN[name]
    path = tmp_path / "my model.tflite"
    path.write_bytes(data)
    for read in (load_model, minilite.Interpreter, lambda path: load_model(path, "copy")):
        with pytest.raises(minilite.ModelFormatError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{str(path)!r}: ")
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(minilite.ModelFormatError) as caught:
        minilite.Interpreter(model_content=data)
    assert text in str(caught.value)
    assert str(path) not in str(caught.value)
    assert ("looks like" in str(caught.value)) == text.startswith("it looks like")
