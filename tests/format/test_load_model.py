"""Files by path: mapped or copied, named in every error; and the errors for files that are not models."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.system import needs_system
from test_reader import changed, first, node, small

import minilite
from minilite._native import file as native_file
from minilite.errors import MiniliteError, ModelFormatError, ModelNotFoundError
from minilite.format.reader import load_model, read_model

INVALID = "The model is not a valid Flatbuffer buffer: "
"""LiteRT's message for any file that is not a model."""


def test_missing_path(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"Could not open '.*/none.tflite': no such file") as caught:
        load_model(tmp_path / "none.tflite")
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ModelNotFoundError, match=r"null (byte|character)"):
        load_model("a\0b")


@pytest.mark.parametrize("load", ["map", "copy"])
def test_directory_and_empty_file(tmp_path: pathlib.Path, load: Any) -> None:
    (tmp_path / "empty.tflite").touch()
    for path in (tmp_path, tmp_path / "empty.tflite"):
        with pytest.raises(MiniliteError) as caught:
            load_model(path, load)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("load", ["map", "copy"])
def test_errors_name_the_file(tmp_path: pathlib.Path, load: Any) -> None:
    path = tmp_path / "wrong.tflite"
    path.write_bytes(changed(lambda t: node(t).update(inputs=(9,))))
    with pytest.raises(ModelFormatError) as caught:
        load_model(path, load)
    assert str(caught.value) == (
        f"{INVALID}'{path}': subgraph 0, node 0 (FULLY_CONNECTED): Operator.inputs names tensor 9, the subgraph has 4"
    )
    assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, "FULLY_CONNECTED")


@pytest.mark.parametrize(
    ("content", "guess"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "a Git LFS pointer"),
        (b"\xef\xbb\xbf\n <!DOCTYPE html><html></html>", "an HTML page"),
        (b"<HTML><body>404</body></HTML>", "an HTML page"),
        (b'<?xml version="1.0"?><Error/>', "an XML document"),
        (b"PK\x03\x04" + bytes(30), "a zip archive"),
        (b"\x89HDF\r\n\x1a\n" + bytes(30), "an HDF5 file"),
        (b"\x1f\x8b\x08" + bytes(30), "a gzip archive"),
        (b"nothing \x00 that is known", None),
    ],
)
def test_files_of_other_formats_are_named(tmp_path: pathlib.Path, content: bytes, guess: str | None) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    with pytest.raises(ModelFormatError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(
        f"{INVALID}'{path}': file identifier at byte 4 is {content[4:8]!r}, a .tflite file has b'TFL3'"
    )
    assert (f": it looks like {guess}" in message) if guess else message.endswith("b'TFL3'; it has to be fetched again")


def test_truncated_files_are_refused_as_such(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "half.tflite"
    data = small().build()
    for size in (len(data) // 2, len(data) - 8):
        path.write_bytes(data[:size])
        reach = (
            f"the file ends at byte {size}, its tables reach to byte (\\d+): truncated\\?; it has to be fetched again$"
        )
        with pytest.raises(ModelFormatError, match=reach):
            load_model(path)
    with pytest.raises(ModelFormatError) as caught:  # nothing was cut off here
        read_model(b"\xff\xff\xff\x7fTFL3" + bytes(92))
    assert "truncated" not in str(caught.value)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_for_a_path(tmp_path: pathlib.Path, kind: Any) -> None:
    data = small().build()
    path = tmp_path / "small.tflite"
    path.write_bytes(data)
    assert load_model(kind(data)) == read_model(data)
    assert load_model(kind(bytes(path))) == read_model(data)
    for wrong in (b"", b"none.tflite", b"\0" * 100, b"x" * 1_000_000):
        with pytest.raises(ModelNotFoundError) as caught:
            load_model(kind(wrong))
        assert str(caught.value).startswith(
            f"path is {len(wrong)} bytes, which are neither the name of a file nor a model"
        )
        assert len(str(caught.value)) < 120


def test_pipes_are_read_instead_of_mapped(tmp_path: pathlib.Path) -> None:
    data = small().build()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", f"cat > {pipe}"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write(data)
        writer.stdin.close()
        assert load_model(pipe) == read_model(data)


# Paths without an end -------------------------------------------------------------------------------------------------

HEAD = b"\x08\0\0\0TFL3"


@contextlib.contextmanager
def endless(first: bytes, most: int) -> Iterator[tuple[str, Callable[[], int]]]:
    """Makes a path from which `first` and then zeros can be read, at most `most` bytes; returns it with the number of
    bytes read so far."""
    reading, writing = os.pipe()
    taken = 0

    def write() -> None:
        nonlocal taken
        with contextlib.suppress(BrokenPipeError):
            taken += os.write(writing, first)
            while taken < most:
                taken += os.write(writing, bytes(1 << 16))
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield f"/dev/fd/{reading}", lambda: taken
    finally:
        os.close(reading)  # this ends the writer
        thread.join()


@pytest.mark.parametrize("load", ["map", "copy"])
def test_endless_files_without_the_identifier_are_not_read(load: Any) -> None:
    with endless(b"", 64 << 20) as (path, taken):
        with pytest.raises(ModelFormatError, match=r"file identifier at byte 4 is .*: it looks like zeros only$"):
            load_model(path, load)
        assert taken() < 1 << 20


@pytest.mark.parametrize("load", ["map", "copy"])
def test_models_that_are_read_have_a_most(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_file, "MOST_READ", 8 << 20)
    with endless(HEAD, 64 << 20) as (path, taken):
        says = rf"^'{path}': more than 8388608 bytes are not read: a larger model has to be a file, opened with load='map'$"
        with pytest.raises(ModelFormatError, match=says):
            load_model(path, load)
        assert taken() < 16 << 20


@needs_system
@pytest.mark.parametrize("load", ["map", "copy"])
@pytest.mark.parametrize("begins", [HEAD, b"", b"PK\x03\x04"], ids=["model", "zeros", "zip"])
def test_large_files_are_refused_before_they_are_copied(load: Any, begins: bytes, tmp_path: pathlib.Path) -> None:
    """The files are sparse: they have holes for most of their bytes."""
    path = tmp_path / "large.tflite"
    path.write_bytes(begins)
    os.truncate(path, 5 << 30)
    tracemalloc.start()
    with pytest.raises(ModelFormatError) as caught:
        load_model(path, load)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ("4294967296 bytes are not read" in str(caught.value)) == (begins == HEAD and load == "copy")
    assert peak < 8 << 20


class InterruptedTestError(Exception):
    """Raised by the handler of a signal."""


def test_signals_end_reading() -> None:
    def interrupt(*_: object) -> None:
        raise InterruptedTestError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with endless(HEAD, 1 << 30) as (path, taken):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(InterruptedTestError):
                load_model(path)
            assert taken() < 1 << 30
    finally:
        signal.signal(signal.SIGALRM, before)


def test_load_is_map_or_copy(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="load is 'mmap', expected 'map' or 'copy'"):
        load_model(tmp_path, load="mmap")  # type: ignore[arg-type]


@needs_system
def test_mapped_constants_are_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.tflite"
    data = small().build()
    path.write_bytes(data + bytes(1 << 16))  # smaller files are read, which takes less time
    mapped, copied = load_model(path), load_model(path, load="copy")
    with path.open("r+b") as file:  # the mapping sees it, the copy does not
        file.seek(data.index(np.float32(31).tobytes()))
        file.write(np.float32(99).tobytes())
    w = first(mapped, "w").data
    assert w is not None
    assert w[3, 7] == 99
    old = first(copied, "w").data
    assert old is not None
    assert old[3, 7] == 31


def test_reading_imports_nothing_that_takes_long() -> None:
    code = f"""
import sys, types, numpy
package = types.ModuleType("minilite")  # not the whole of it, which comes along with any part
package.__path__ = {list(minilite.__path__)!r}
sys.modules["minilite"] = package
before = set(sys.modules)
import minilite.format.reader
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    brought = set(done.stdout.split())
    assert "minilite.format.rows" in brought
    slow = {
        "pathlib",
        "numpy.typing",
        "urllib",
        "ipaddress",
        "difflib",
        "flatbuffers",
        "mmap",
        "dataclasses",
        "inspect",
    }
    assert not brought & slow


def test_a_model_alive_at_exit_makes_no_noise(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.tflite"
    path.write_bytes(small().build())
    code = f"""
import builtins, minilite
builtins.kept = minilite.load_model({str(path)!r})
builtins.tensors = list(builtins.kept.subgraphs[0].tensors)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
