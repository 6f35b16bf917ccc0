"""Files that a new user may take for a model, each with the message that refuses it."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile

import numpy as np
from built import relu_chain

from minilite.format.builder import ModelBuilder


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, relu_chain())
    return file.getvalue()


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        entry = tarfile.TarInfo("model.tflite")
        entry.size = len(relu_chain())
        made.addfile(entry, io.BytesIO(relu_chain()))
    return file.getvalue()


def weights() -> bytes:
    """A model that contains every byte value, and many line ends."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, w = (
        graph.input("x", (4096,)),
        graph.constant("w", np.resize(np.arange(256, dtype=np.uint8), 16384).view(np.float32)),
    )
    graph.output(graph.node("ADD", [x, w], out=("y", (4096,))))
    return builder.build()


def windows() -> bytes:
    return weights().replace(b"\n", b"\r\n")


def as_text() -> bytes:
    return weights().decode("utf-8", "replace").encode()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
FOREIGN = {
    "pointer": (POINTER, "it looks like a Git LFS pointer, the model has to be fetched: git lfs pull"),
    "page": (b"\n<!DOCTYPE html><html><body>404</body></html>", "it looks like an HTML page, perhaps of a download"),
    "bare page": (b"<HTML><HEAD><TITLE>302 Moved", "it looks like an HTML page"),
    "zip": (archive("a/model.tflite"), "it looks like a bundle (.task or .zip) of 1 model, a/model.tflite: ':a/model.tflite'"),
    "keras": (archive("config.json", "model.weights.h5"), "it looks like a Keras model (.keras), which has to be converted"),
    "torch": (archive("m/data.pkl", "m/version"), "it looks like a PyTorch model (.pt), which has to be converted"),
    "zipped SavedModel": (archive("m/saved_model.pb"), "it looks like a zipped SavedModel, which has to be converted"),
    "task": (archive("TF_LITE_PREFILL_DECODE"), "it looks like a bundle (.task or .zip) of 1 model, TF_LITE_PREFILL_DECODE: ':TF_LITE_PREFILL_DECODE' after its path"),
    "half a zip": (archive("model.tflite")[:60], "it looks like a zip archive that is not whole"),
    "gzip": (gzip.compress(relu_chain()), "it looks like a gzip archive, which has to be unpacked: gunzip"),
    "xz": (lzma.compress(relu_chain()), "it looks like an xz archive"),
    "bzip2": (bz2.compress(relu_chain()), "it looks like a bzip2 archive"),
    "tar": (tarred(), "it looks like a tar archive, which has to be unpacked: tar -xf"),
    "pickle": (pickle.dumps([1] * 20), "it looks like a pickle of Python objects"),
    "old torch": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "it looks like a PyTorch model (.pth)"),
    "safetensors": (b"\x40" + bytes(7) + b'{"__metadata__":{}}', "it looks like a safetensors file"),
    "gguf": (b"GGUF\3" + bytes(40), "it looks like a GGUF model"),
    "litertlm": (b"LITERTLM" + bytes(60), "it looks like a LiteRT-LM bundle (.litertlm), which is damaged: bundle: the version at byte 8 is 0"),
    "ort": (b"\x10\0\0\0ORTM" + bytes(40), "it looks like an ONNX Runtime model (.ort)"),
    "base64": (base64.b64encode(relu_chain()), "it looks like a model in base64"),
    "C": (b"alignas(8) const unsigned char g_model[] = {0x1c, 0x00,", "it looks like a model as C source"),
    "answer": (b"404: Not Found", "it looks like text that begins with '404: Not Found'"),
    "umlauts": ("ä".encode() * 400, "it looks like text that begins with 'ää"),
    "xml": (b"<Error><Code>NoSuchKey</Code></Error>", "it looks like an XML document, perhaps the answer to a download"),
    "wav": (b"RIFF\0\0\0\0WAVEfmt " + bytes(40), "it looks like sound or an image: data, not a model"),
    "moved": (b"\n" + relu_chain(), "it looks like a model with 1 extra bytes at its start"),
    "line ends": (windows(), "it looks like a model whose line ends were changed on the way"),
    "as text": (as_text(), "it looks like a model that was read as text and written again"),
    "h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "it looks like an HDF5 file, such as Keras's .h5"),
    "saved_model.pb": (b"\x08\x01\x12\xc4\xb9\x05" + bytes(100), "it looks like a protocol buffer, such as a SavedModel's"),
    "onnx": (b"\x08\x08\x12\x07pytorch\x1a\x05" + bytes(100), "it looks like an ONNX model, which has to be converted to .tflite"),
    "frozen.pb": (b"\n;\n\x01x\x12\x0bPlaceholder" + bytes(100), "it looks like a protocol buffer"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "it looks like an image"),
    "jpeg": (b"\xff\xd8\xff\xe0" + bytes(100), "it looks like an image"),
    "npy": (array(), "it looks like an array of numpy's"),
    "json": (b'{"format": "graph-model"}', "it looks like JSON text"),
    "old": (b"\x10\0\0\0TFL2" + bytes(100), "it looks like a model of another version of the format, TFL2"),
    "zeros": (bytes(4096), "it looks like zeros only"),
    "words": (b"no model at all, just words", "it looks like text that begins with 'no model at all, just words'"),
    "binary": (b"\1\2\3\4\5\6\7\0" * 9, "a .tflite file has b'TFL3'"),
    "half": (relu_chain()[: len(relu_chain()) // 2], "truncated?; it has to be fetched again"),
    "tiny": (b"\x1c\0\0\0TF", "too few for a .tflite file; it has to be fetched again"),
}  # fmt: skip
