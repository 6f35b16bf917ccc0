"""TFLM's arena against the package tflite-micro: every operator on drawn nodes, and the numbers for manifests."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from support.compare import run_minilite
from support.drawn import Draw
from support.drawn_all import DRAWN
from support.micro import needs_micro
from support.node import OneNode

from minilite.errors import MiniliteError
from minilite.format.reader import load_model, read_model
from minilite.memory.tflm_arena import tflm_arena
from minilite.memory.tflm_kernels import KERNELS
from tools.measure_tflm import measured

DRAWS = 12
SMALL = 1 << 20
NOT_DRAWN = {"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE"}
"""Operators with state and subgraphs: the measured models of tests/memory have all but IF and WHILE."""
SELDOM = {"GATHER", "GATHER_ND", "STRIDED_SLICE"}
"""Operators none of whose drawn nodes TFLM runs; the measured models have them."""


@pytest.fixture(autouse=True)
def _families(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some nodes are drawn by the tests of their families."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1] / "ops")


def with_shapes(node: OneNode) -> bytes:
    """The node's model with the shape of its output in the file, as TFLM needs it."""
    answers = run_minilite(node.model, node.arrays)
    outs = [out._replace(shape=answer.shape) for out, answer in zip(node.outs, answers, strict=True)]
    return OneNode(node.op, node.given, node.options, outs=outs, version=node.version).model


@needs_micro
def test_every_operator_keeps_and_requests_what_the_package_says(tmp_path: Path) -> None:
    drawn = [(op, seed) for op in KERNELS if op in DRAWN for seed in range(DRAWS)]
    for op, seed in drawn:
        try:
            model = with_shapes(DRAWN[op](Draw(zlib.crc32(op.encode()), seed)))
        except (MiniliteError, ValueError):
            continue  # no engine of ours runs it: a shape is then not known
        (tmp_path / f"{op}-{seed}.tflite").write_bytes(model)
    ran, wrong = set(), []
    for path, head, persistent in measured(sorted(tmp_path.glob("*.tflite")), SMALL):
        arena = tflm_arena(load_model(path))
        ran.add(path.stem.split("-")[0])
        if (arena.head, arena.persistent) != (head, persistent):
            wrong.append(f"{path.stem}: head {arena.head}, {head}; persistent {arena.persistent}, {persistent}")
    assert wrong == []
    assert set(KERNELS) - ran <= NOT_DRAWN | SELDOM


@needs_micro
@pytest.mark.parametrize("op", ["CONV_2D", "SOFTMAX", "MEAN", "SVDF"])
def test_the_number_for_a_manifest_is_enough(op: str, tmp_path: Path) -> None:
    """Small models, in which TFLM needs most while it plans."""
    found = 0
    for seed in range(DRAWS):
        try:
            model = with_shapes(DRAWN[op](Draw(zlib.crc32(op.encode()), seed)))
        except (MiniliteError, ValueError):
            continue
        path = tmp_path / f"{seed}.tflite"
        path.write_bytes(model)
        if [*measured([path], SMALL)]:
            found += 1
            assert [*measured([path], tflm_arena(read_model(model)).tensor_arena_size)]
    assert found
