"""With TFLite's own strategy, our arena is LiteRT's: the same offsets, tensor by tensor, on real models."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from minilite import Interpreter

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/models")
litert = pytest.importorskip("ai_edge_litert.interpreter")

ALIASES = {"tiny_": "mlperftiny_", "mp_": "mediapipe_"}
"""How INDEX.csv shortens the names of model files."""


def spine_models() -> list[Path]:
    only = SHARED / "tools" / "spine_models.txt"
    return [SHARED / "models" / name for name in only.read_text().split()] if only.is_file() else []


def litert_offsets(path: Path) -> dict[int, int]:
    """Offsets of the tensors that lie in LiteRT's arena, from the lowest address of a tensor of the main subgraph."""
    theirs = litert.Interpreter(
        model_path=str(path),
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    theirs.allocate_tensors()
    addresses: dict[int, int] = {}
    for detail in theirs.get_tensor_details():
        try:
            array = theirs.tensor(detail["index"])()
        except ValueError:
            continue
        if array.nbytes:
            addresses[detail["index"]] = array.__array_interface__["data"][0]
        del array
    return addresses


def our_offsets(path: Path) -> dict[int, int]:
    ours = Interpreter(path, planner="tflite")
    ours.allocate_tensors()
    assert ours.plan is not None
    count = len(ours.model.subgraphs[0].tensors)
    entries = {index: ours.plan.tensor(index) for index in range(count)}
    return {i: e.offset for i, e in entries.items() if e.storage == "arena" and e.bytes > 0 and e.offset >= 0}


@pytest.mark.parametrize("path", spine_models(), ids=lambda path: path.stem)
def test_offsets_equal_litert(path: Path) -> None:
    ours, addresses = our_offsets(path), litert_offsets(path)
    common = sorted(set(ours) & set(addresses))
    if not common:
        pytest.skip("no tensor lies in both arenas")
    base = addresses[common[0]] - ours[common[0]]
    theirs = {index: addresses[index] - base for index in common}
    assert theirs == {index: ours[index] for index in common}


def test_sizes_equal_the_index() -> None:
    manifest = {e["file"] for e in json.loads((SHARED / "models" / "MANIFEST.json").read_text())}
    checked: list[str] = []
    with (SHARED / "planning" / "INDEX.csv").open() as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        name = row["name"]
        for short, long in ALIASES.items():
            name = long + name[len(short) :] if name.startswith(short) else name
        path = SHARED / "models" / f"{name}.tflite"
        if path.name not in manifest or path not in spine_models():
            continue
        for in_place, column in (("none", "tflite_no_inplace"), ("tflite", "tflite_inplace")):
            ours = Interpreter(path, planner="tflite", in_place=in_place)
            ours.allocate_tensors()
            assert ours.arena_bytes == -(-int(row[column]) // 64) * 64, (name, column)
        checked.append(name)
    assert checked
