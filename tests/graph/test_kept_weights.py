"""A store of weights and its memory: halves become floats once, pages of constants that were read are given back, and
what was packed here lies in the file's memory as soon as there is one."""

from __future__ import annotations

import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import apart
from support.packed import kept, outputs, ready, same, sizes
from support.system import HAS_SYSTEM, needs_system

import minilite
from minilite import Interpreter
from minilite._native.kernels import level_names
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder, write_model


@pytest.fixture(autouse=True)
def _without_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINILITE_CACHE_DIR", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def products(*, halves: bool = False, width: int = 256) -> bytes:
    """Two products with square matrices, of 256 KiB as floats."""
    rng, builder = np.random.default_rng(5), ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, width))
    for name in ("a", "b"):
        weights = (rng.normal(size=(width, width)) / 16).astype(np.float16 if halves else np.float32)
        w = graph.constant(f"{name} stored", weights)
        if halves:
            w = graph.node("DEQUANTIZE", [w], out=(f"{name} floats", (width, width)))
        x = graph.node("FULLY_CONNECTED", [x, w, -1], out=(name, (1, width)))
    graph.output(x)
    return builder.build()


# Halves ---------------------------------------------------------------------------------------------------------------


def test_halves_are_widened_once(tmp_path: Path, folder: Path) -> None:
    """All interpreters of a Model share the floats, and a file has them too."""
    path = tmp_path / "made.tflite"
    path.write_bytes(products(halves=True))
    loaded = minilite.load_model(path)
    for options in ({}, {"winograd": False}, {"level": level_names()[-1]}):
        Interpreter(loaded, cache_dir="", **options).allocate_tensors()
    assert loaded.file is not None
    floats = 2 * 256 * 256 * 4
    assert loaded.file.store.bytes <= floats * (1 + len({*level_names()}))
    first = ready(path, folder)
    second = ready(path, folder)
    assert second.usage.packed_bytes == second.usage.mapped_bytes >= 2 * floats  # widened, and packed
    assert same(outputs(second), outputs(ready(path, "")))
    assert same(outputs(first), outputs(second))


def test_one_buffer_in_two_shapes_and_types(tmp_path: Path, folder: Path) -> None:
    """The same bytes of the file are halves of two shapes, and floats."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    content = (np.random.default_rng(6).normal(size=8192)).astype(np.float16)
    for name, shape in (("wide", (64, 128)), ("long", (128, 64))):
        x = graph.input(f"x {name}", (1, shape[1]))
        w = graph.node("DEQUANTIZE", [graph.constant(name, content.reshape(shape))], out=(f"{name} floats", shape))
        graph.output(graph.node("FULLY_CONNECTED", [x, w, -1], out=(f"y {name}", (1, shape[0]))))
    x = graph.input("x floats", (1, 64))
    floats = graph.constant("floats", content.view(np.float32).reshape(64, 64))
    graph.output(graph.node("FULLY_CONNECTED", [x, floats, -1], out=("y floats", (1, 64))))
    model, path = builder.model(), tmp_path / "made.tflite"
    one = [
        tensor if tensor.data is None else tensor._replace(data=content.view(tensor.data.dtype).reshape(tensor.shape))
        for tensor in model.subgraphs[0].tensors
    ]
    path.write_bytes(write_model(model._replace(subgraphs=(model.subgraphs[0]._replace(tensors=tuple(one)),))))
    assert path.stat().st_size < 1.5 * content.nbytes
    wanted = outputs(ready(path, ""))
    for _ in range(3):
        interpreter = ready(path, folder)
        assert same(outputs(interpreter), wanted)
    assert sizes(interpreter)[0] == 0


def test_changed_halves_are_packed_again(tmp_path: Path, folder: Path) -> None:
    """The same size, time and structure; the first half differs."""
    path = tmp_path / "made.tflite"
    path.write_bytes(products(halves=True))
    ready(path, folder)
    data, time = bytearray(path.read_bytes()), path.stat().st_mtime_ns
    halves = next(t.data for t in minilite.load_model(bytes(data)).subgraphs[0].tensors if t.data is not None)
    at = bytes(data).find(halves.tobytes())
    data[at : at + 2] = np.float16(halves.ravel()[0] + 1).tobytes()
    path.write_bytes(data)
    os.utime(path, ns=(1, time))
    wanted = outputs(ready(path, ""))
    for _ in range(2):
        assert same(outputs(ready(path, folder)), wanted)


# Pages ----------------------------------------------------------------------------------------------------------------


def resident(path: Path) -> int:
    """The bytes of a file that this process has in its memory."""
    lines, found, inside = Path("/proc/self/smaps").read_text().splitlines(), 0, False
    for line in lines:
        if "-" in line.split()[0]:
            inside = line.endswith(f" {path}")
        elif inside and line.startswith("Rss:"):
            found += 1024 * int(line.split()[1])
    return found


needs_maps = pytest.mark.skipif(
    not HAS_SYSTEM or not Path("/proc/self/smaps").exists(), reason="the system does not tell what is in memory"
)


@needs_maps
@pytest.mark.parametrize("halves", [False, True])
def test_the_pages_of_packed_constants_are_given_back(halves: bool, tmp_path: Path, folder: Path) -> None:
    """Also of those that a file has, of which a sample is read."""
    path = tmp_path / "made.tflite"
    path.write_bytes(products(halves=halves, width=768))
    for where in ("", folder, folder):
        interpreter = ready(path, where)
        assert resident(path) <= path.stat().st_size // 8
    outputs(interpreter)
    if halves:  # nobody reads the floats
        assert resident(kept(folder)) <= kept(folder).stat().st_size - 768 * 768 * 4


@pytest.mark.parametrize("method", [None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("load", ["map", "copy"])
@pytest.mark.parametrize("halves", [False, True])
def test_constants_keep_their_values(method: int | None, load: Any, halves: bool, tmp_path: Path) -> None:
    """A mapped file, a copy of one, and what was unpacked from a bundle have them."""
    path, content = tmp_path / "made.tflite", products(halves=halves)
    path.write_bytes(content)
    if method is not None:
        bundle = tmp_path / "bundle.task"
        with zipfile.ZipFile(bundle, "w", method) as archive:
            archive.writestr("made.tflite", content)
        path = Path(f"{bundle}:made.tflite")
    wanted = [t.data.copy() for t in minilite.load_model(content).subgraphs[0].tensors if t.data is not None]
    interpreter = ready(path, "", load=load)
    outputs(interpreter)
    assert same([t.data for t in interpreter.model.subgraphs[0].tensors if t.data is not None], wanted)


# Shared later ---------------------------------------------------------------------------------------------------------


@needs_system
def test_who_packs_shares_the_file_too(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "made.tflite"
    path.write_bytes(products())
    first = ready(path, folder)
    assert sizes(first) == (0, 2 * 256 * 256 * 4)
    assert same(outputs(first), outputs(ready(path, "")))
    first.resize_tensor_input(0, (3, 256))  # of another layout, perhaps: the file has both then
    first.allocate_tensors()
    wanted = ready(path, "")
    wanted.resize_tensor_input(0, (3, 256))
    wanted.allocate_tensors()
    assert same(outputs(first), outputs(wanted))
    assert sizes(ready(path, folder))[0] == 0


def packed_alone(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Interpreter:
    """An interpreter that could not write its weights."""

    def no_room(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("minilite.writing.write_whole", no_room)
        interpreter = ready(path, folder)
    assert sizes(interpreter)[1] == 0
    return interpreter


def shared_later(interpreter: Interpreter) -> None:
    """Takes what another process has written since."""
    program = engine_of(interpreter).program()
    program.store.cache.keep(program.graph(0))


@needs_system
def test_runs_go_on_while_weights_are_shared(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.tflite"
    path.write_bytes(products())
    one = packed_alone(path, folder, monkeypatch)
    wanted, others, found, end = outputs(one), [one.clone() for _ in range(2)], [], threading.Event()

    def run(interpreter: Interpreter) -> None:
        while not end.is_set():
            found.append(same(outputs(interpreter), wanted))

    for other in others:
        other.allocate_tensors()
    threads = [threading.Thread(target=run, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    apart(ready_in, str(path), str(folder))
    shared_later(one)
    assert sizes(one)[0] == 0
    if Path("/proc/self/smaps").exists():
        assert resident(kept(folder)) <= kept(folder).stat().st_size  # not once more for who compared
    before = len(found)
    while len(found) < before + 10:
        pass
    end.set()
    for thread in threads:
        thread.join()
    assert all(found)
    assert same(outputs(one), wanted)


def ready_in(path: str, folder: str) -> None:
    ready(Path(path), folder)


@needs_system
def test_other_bytes_are_not_shared(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has rows of these weights, and one byte of the last ones is not what was packed."""
    path = tmp_path / "made.tflite"
    path.write_bytes(products())
    one = packed_alone(path, folder, monkeypatch)
    wanted = outputs(one)
    apart(ready_in, str(path), str(folder))
    file = kept(folder)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    shared_later(one)
    assert sizes(one) == (256 * 256 * 4, 256 * 256 * 4)
    assert same(outputs(one), wanted)
