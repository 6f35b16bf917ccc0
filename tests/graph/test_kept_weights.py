"""A store of weights and its memory: pages of constants that were read are given back."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.packed import outputs, ready, same
from support.system import HAS_SYSTEM

import minilite
from minilite.format.builder import ModelBuilder


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
def test_the_pages_of_packed_constants_are_given_back(tmp_path: Path, folder: Path) -> None:
    """Also of those that a file has, of which a sample is read."""
    path = tmp_path / "made.tflite"
    path.write_bytes(products(width=768))
    for where in ("", folder, folder):
        interpreter = ready(path, where)
        assert same(outputs(interpreter), outputs(ready(path, "")))
        assert resident(path) <= path.stat().st_size // 8


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
