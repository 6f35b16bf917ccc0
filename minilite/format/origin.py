"""Guesses, for error messages, what a file is that is not a model, and why a path is wrong."""

from __future__ import annotations

import codecs
import difflib
import os
import zipfile
from pathlib import Path
from typing import Any

from minilite.errors import ModelFormatError, listed, shortened
from minilite.text import count

_LITERT = "The model is not a valid Flatbuffer buffer: "
"""LiteRT's message for all such bytes."""
_SEEN = 512
"""The number of bytes that are looked at."""
_COUNTED = 1 << 20
"""The number of bytes in which line ends are counted."""
_LEAST = 32
"""The least number of bytes of a model."""
_NAMED = 4
"""The number of models of a bundle that are named."""
_SHOWN = 40
"""The number of characters of a text that are shown."""
_CONVERTED = "which has to be converted to .tflite"
_UNPACKED = "which has to be unpacked"
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, the model has to be fetched: git lfs pull"),
    (
        b"\x89HDF\r\n\x1a\n",
        f"an HDF5 file, such as Keras's .h5, {_CONVERTED}: tf.lite.TFLiteConverter.from_keras_model",
    ),
    (b"\x1f\x8b", f"a gzip archive, {_UNPACKED}: gunzip, or tar -xzf"),
    (b"\xfd7zXZ\0", f"an xz archive, {_UNPACKED}: unxz"),
    (b"BZh", f"a bzip2 archive, {_UNPACKED}: bunzip2"),
    (b"\x28\xb5\x2f\xfd", f"a zstd archive, {_UNPACKED}: unzstd"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7z archive, {_UNPACKED}"),
    (b"\x93NUMPY", "an array of numpy's: data, not a model"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image: data, not a model"),
    (b"\xff\xd8\xff", "an image: data, not a model"),
    (b"GIF8", "an image: data, not a model"),
    (b"RIFF", "sound or an image: data, not a model"),
    *(
        (beginning, "sound in another format than .wav: ffmpeg -i FILE out.wav converts it")
        for beginning in (
            *(b"ID3", b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1", b"\xff\xf9", b"OggS", b"fLaC"),
            *(b"FORM", b".snd", b"caff", b"#!AMR", b"\x1aE\xdf\xa3", b"MThd", b"wvpk"),
        )
    ),
    (b"\x7fELF", "a program or a library"),
    (b"GGUF", "a GGUF model for llama.cpp, which is another format"),
    (b"\x80\x04\x95", "a pickle of Python objects: data, not a model"),
    (b"\x80\x05\x95", "a pickle of Python objects: data, not a model"),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9", f"a PyTorch model (.pth), {_CONVERTED}: litert-torch does that"),
)
_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body")
_FORMATS = {
    b"RTLM": "a LiteRT-LM bundle (.litertlm)",
    b"ORTM": "an ONNX Runtime model (.ort)",
    b"ET12": "an ExecuTorch model (.pte)",
}
"""Other formats of flatbuffers, by their identifiers."""
_IN_ZIPS: tuple[tuple[str, str], ...] = (
    ("data.pkl", f"a PyTorch model (.pt), {_CONVERTED}: litert-torch does that"),
    ("config.json", f"a Keras model (.keras), {_CONVERTED}: tf.lite.TFLiteConverter.from_keras_model"),
    ("saved_model.pb", f"a zipped SavedModel, {_CONVERTED}: tf.lite.TFLiteConverter.from_saved_model"),
)


def looks_like(data: memoryview) -> str | None:
    """Guesses the format of bytes that were refused as a model, and advises what to do; None if they look like a model,
    or like nothing known."""
    head = bytes(data[:_SEEN])
    for beginning, name in _BEGINNINGS:
        if head.startswith(beginning):
            return name
    if head.startswith(b"LITERTLM"):
        return f"a LiteRT-LM bundle (.litertlm){_models(data)}"
    if head.startswith(b"PK\x03\x04"):
        return _zip(data)
    if head[257:262] == b"ustar":
        return f"a tar archive, {_UNPACKED}: tar -xf"
    if head[8:9] == b"{" and head[4:8] == bytes(4):
        return f"a safetensors file: only weights, of a model {_CONVERTED}"
    if head[4:11] == b"ftypM4A":
        return "sound in another format than .wav: ffmpeg -i FILE out.wav converts it"
    if head[4:8] == b"ftyp":
        return "a video, or an image of a phone (.heic): convert it to .png or .jpg"
    if head[4:8] in _FORMATS:
        return f"{_FORMATS[head[4:8]]}, which is another format"
    if head[4:7] == b"TFL":
        return _changed(data) if head[4:8] == b"TFL3" else _other_version(head)
    if b"TFL3" in head[:16]:
        return f"a model with {head.index(b'TFL3') - 4} extra bytes at its start, perhaps a copy that went wrong"
    return _protocol_buffer(head) or _text(head) or ("zeros only" if head and not any(head) else None)


def _zip(data: memoryview) -> str:
    from minilite.format.associated import BytesFile

    try:
        with zipfile.ZipFile(BytesFile(data)) as archive:
            names = archive.namelist()
    except Exception:  # noqa: BLE001 - zipfile raises many classes, and other ones in each version of Python
        return f"a zip archive that is not whole, {_UNPACKED}"
    for ending, text in _IN_ZIPS:
        if any(name.rsplit("/", 1)[-1] == ending for name in names):
            return text
    if models := _models(data):
        return f"a bundle (.task or .zip){models}"
    return f"a zip archive with {', '.join(map(repr, names[:3])) or 'nothing'} in it, {_UNPACKED}"


def _models(data: memoryview) -> str:
    """Says how the models in a bundle are reached, or where it is damaged; empty if it has none."""
    from minilite.format.bundle import Bundle  # which opens models

    try:
        models = Bundle(data).models()
    except ModelFormatError as error:
        return f", which is damaged: {error}"
    if not models:
        return ""
    more = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    first = f"':{shortened(models[0])}' after its path is the first one"
    return f" of {count(len(models), 'model')}, {listed(models[:_NAMED])}{more}: {first}"


def _other_version(head: bytes) -> str:
    return f"a model of another version of the format, {head[4:8].decode(errors='replace')}"


def _changed(data: memoryview) -> str | None:
    """Describes how a model was damaged by being sent or saved as text; None if it was not."""
    seen = bytes(data[:_COUNTED])
    if seen.count(b"\xef\xbf\xbd") > 8:
        return "a model that was read as text and written again: it has to be copied as bytes"
    ends = seen.count(b"\n")
    if ends > 8 and seen.count(b"\r\n") == ends:
        return "a model whose line ends were changed on the way: it has to be copied as bytes"
    return None


def _protocol_buffer(head: bytes) -> str | None:
    if head[:1] == b"\x08" and head[2:3] == b"\x12":
        size = head[3] if len(head) > 3 else 0
        producer = head[4 : 4 + min(size, 16)]
        if 0 < size < 64 and producer.isascii() and producer.decode("ascii").isprintable():
            return f"an ONNX model, {_CONVERTED}"
        return f"a protocol buffer, such as a SavedModel's or Core ML's, {_CONVERTED}"
    if head[:1] == b"\n" and head[2:3] == b"\n":
        return f"a protocol buffer, such as a frozen graph's, {_CONVERTED}"
    return None


def _text(head: bytes) -> str | None:
    """The kind of text, with its first words; None if it is not text."""
    bare = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    low = bare.lower()
    if low.startswith(_MARKUP):
        return "an HTML page, perhaps of a download that failed"
    if low.startswith(b"<") and b">" in low:
        return "an XML document, perhaps the answer to a download that failed"
    if low.startswith((b"{", b"[")):
        return "JSON text"
    if b"FRGTD" in bare[:16]:
        return "a model in base64: base64 -d makes bytes of it"
    try:
        text = " ".join(codecs.getincrementaldecoder("utf-8")().decode(head).split())  # the last character may be cut
    except UnicodeDecodeError:
        return None
    if not text or not text.isprintable():
        return None
    if "0x1c" in text or "unsigned char" in text:
        return "a model as C source, as xxd -i writes it: the .tflite file is wanted"
    return f"text that begins with {text[:_SHOWN]!r}"


def explained(
    error: ModelFormatError, source: Any, path: str | bytes | os.PathLike[str] | None = None
) -> ModelFormatError:
    """The same error, preceded by LiteRT's words and the file's name, and followed by what the bytes look like."""
    guess = looks_like(memoryview(source).cast("B"))
    where = f"{os.fsdecode(path)!r}: " if path is not None else ""
    short = "truncated?" in str(error) or memoryview(source).nbytes < _LEAST
    behind = f": it looks like {guess}" if guess else "; it has to be fetched again" if short else ""
    return ModelFormatError(
        f"{_LITERT}{where}{error}{behind}",
        subgraph=error.subgraph,
        node=error.node,
        op=error.op,
        tensors=error.tensors,
        shapes=error.shapes,
    )


def why_not_opened(name: str, ending: str = "") -> str:
    """Explains why a path cannot be opened, and what to do: a clause to follow the system's reason, or empty.

    If an ending is given, folders are searched for files with it.
    """
    if "://" in name[:16]:
        return ": it is an address, the file has to be downloaded first"
    if name.startswith("~"):
        return ": the ~ is not expanded, os.path.expanduser does that"
    try:
        path, bare = Path(name), Path(name.strip().strip("'\""))
        if path.is_dir():
            return _folder(path, ending) if ending else ""
        if name != str(bare) and bare.is_file():
            what = "blanks" if name.strip() == str(bare) else "quotes"
            return f": without the {what} around it there is {str(bare)!r}"
        if not path.parent.is_dir():
            return f": there is no folder {str(path.parent)!r}"
        if path.exists():
            return ""
        names = [each.name for each in path.parent.iterdir()]
        near = (
            [path.name + ending] if path.name + ending in names else difflib.get_close_matches(path.name, names, 1, 0.7)
        )
    except (OSError, ValueError):  # names that are too long or have zero bytes; folders that cannot be read
        return ""
    return f": near it is {str(path.with_name(near[0]))!r}" if near else ""


def _folder(path: Path, ending: str) -> str:
    names = sorted(each.name for each in path.iterdir())
    if "saved_model.pb" in names:
        return f": it looks like a SavedModel, {_CONVERTED}: tf.lite.TFLiteConverter.from_saved_model({str(path)!r})"
    models = [name for name in names if name.endswith(ending)]
    if models:
        return f": there is {str(path / models[0])!r} in it"
    if path.suffix == ".mlpackage":
        return f": it looks like a Core ML model, {_CONVERTED}"
    return f": a {ending} file is wanted"
