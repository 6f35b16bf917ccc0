"""With TFLite's own strategy, our arena equals LiteRT's: the same offsets, tensor by tensor, on real models."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from minilite import Interpreter
from minilite.format.reader import load_model

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/models")
litert = pytest.importorskip("ai_edge_litert.interpreter")

ALIASES = {"tiny_": "mlperftiny_", "mp_": "mediapipe_"}
"""Short names of model files in INDEX.csv."""


OWN_TEMPORARIES = ("MEAN",)


def spine_models() -> list[Path]:
    only = SHARED / "tools" / "spine_models.txt"
    return [SHARED / "models" / name for name in only.read_text().split()] if only.is_file() else []


def litert_addresses(path: Path, tensors: list[int]) -> dict[int, int]:
    """Returns the addresses of these tensors in LiteRT (to ask for a tensor that has none can crash it)."""
    theirs = litert.Interpreter(
        model_path=str(path),
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
    )
    theirs.allocate_tensors()
    addresses: dict[int, int] = {}
    for index in tensors:
        array = theirs.tensor(index)()
        addresses[index] = array.__array_interface__["data"][0]
        del array
    return addresses


def our_offsets(path: Path) -> dict[int, int]:
    ours = Interpreter(path, planner="tflite")
    ours.allocate_tensors()
    assert ours.plan is not None
    count = len(ours.model.subgraphs[0].tensors)
    entries = {index: ours.plan.tensor(index) for index in range(count)}
    return {i: e.offset for i, e in entries.items() if e.storage == "arena" and not e.dynamic and e.bytes > 0}


@pytest.mark.parametrize("path", spine_models(), ids=lambda path: path.stem)
def test_offsets_equal_litert(path: Path) -> None:
    if any(node.op in OWN_TEMPORARIES for node in load_model(path).subgraphs[0].nodes):
        pytest.skip("LiteRT's MEAN plans temporaries of its own, which compete for places")
    ours = our_offsets(path)
    addresses = litert_addresses(path, sorted(ours))
    base = min(addresses.values()) - min(ours.values())
    assert {index: address - base for index, address in addresses.items()} == ours


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
