"""Mutated bytes give a Model or a MiniliteError: never another exception, never a long wait."""

from __future__ import annotations

import random
import struct
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder, with_metadata
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.format.reader import read_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minilite.format.model import Model


EXTREMES = (0, 1, 4, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


def quantized() -> ModelBuilder:
    b = ModelBuilder("quantized")
    g = b.subgraph()
    each = Quantization((0.5,), (3,))
    x = g.input("x", (1, 4, 4, 2), TensorType.INT8, signature=(-1, 4, 4, 2), quantization=each)
    w = g.constant("w", np.ones((2, 1, 1, 2), np.int8), quantization=Quantization((0.1, 0.2), (0, 0)))
    bias = g.constant("b", np.zeros(2, np.int32))
    options = {"stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU6"}
    y = g.node("CONV_2D", [x, w, bias], out=("y", (1, 4, 4, 2), TensorType.INT8, each), options=options)
    shape = g.constant("shape", np.array([1, -1], np.int32))
    g.output(g.node("RESHAPE", [y, shape], out=("z", (1, 32), TensorType.INT8), options={"new_shape": (1, -1)}))
    b.signature("serve", {"x": x}, {"z": 5})
    return b


def nested() -> ModelBuilder:
    b = ModelBuilder("nested")
    g = b.subgraph("main")
    x = g.input("x", (2,))
    handle = g.node("VAR_HANDLE", [], out=("handle", (), TensorType.RESOURCE), options={"shared_name": "counter"})
    g.node("ASSIGN_VARIABLE", [handle, x])
    g.output(g.node("WHILE", [x], out=("y", (2,)), options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))
    composite = {"name": "norm", "decomposition_subgraph_index": 2, "composite_attributes": b"\x01\x02"}
    g.node("STABLEHLO_COMPOSITE", [x], out=("c", (2,)), options=composite)
    g.node("Mine", [x, -1], out=("m", None), custom=True, custom_options=b"options", intermediates=[0])
    for name in ("cond", "body"):
        h = b.subgraph(name)
        h.output(h.node("ABS", [h.input("i", (2,))], out=("o", (2,))))
        b.signature(name, {"i": 0}, {"o": 1}, h)
    b.metadata("note", b"payload" * 9)
    return b


def odd_constants() -> ModelBuilder:
    b = ModelBuilder()
    g = b.subgraph()
    g.constant("strings", ["one", "", "three"])
    g.constant("nibbles", np.arange(5, dtype=np.int8), TensorType.INT4)
    dense = {"format": "DENSE", "dense_size": 2, "array_segments_type": "NONE", "array_indices_type": "NONE"}
    sparse = {"format": "SPARSE_CSR", "array_segments_type": "Uint16Vector", "array_segments": {"values": (0, 1, 2)},
              "array_indices_type": "Int32Vector", "array_indices": {"values": (1, 3)}}  # fmt: skip
    layout = {"traversal_order": (0, 1), "block_map": (), "dim_metadata": (dense, sparse)}
    g.constant("sparse", np.ones(2, np.float32), shape=(2, 4), sparsity=layout)
    scales = g.constant("scales", np.ones((2, 2), np.float16))
    blocks = Quantization((), (), 0, 2, scales, -1)
    g.constant("blocks", np.zeros((2, 4), np.int8), TensorType.INT4, quantization=blocks)
    g.variable("state", (3, 3))
    g.constant("empty", np.zeros((0, 2), np.int64))
    g.constant("complex", np.ones(3, np.complex128))
    return b


SEEDS = {"quantized": quantized, "nested": nested, "odd_constants": odd_constants}


@cache
def seed(name: str, external: bool) -> bytes:
    return SEEDS[name]().build(external_buffers=external)


def attempt(data: bytes) -> bool:
    """Read, touch what was read, and say whether it was a model."""
    try:
        touch(read_model(data))
        accepted = True
        text = ""
    except MiniliteError as error:
        accepted, text = False, str(error)
    assert "\n" not in text
    assert len(text) < 1000
    return accepted


def touch(model: Model) -> None:
    """Use every index and every constant, as later stages do."""
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.data is not None:
                assert not tensor.data.flags.writeable
                assert not tensor.data.size or tensor.data.tobytes()
        for index in (*graph.inputs, *graph.outputs):
            graph.tensors[index]
            assert index >= 0
        for node in graph.nodes:
            assert all(-1 <= index < len(graph.tensors) for index in node.inputs)
            assert all(0 <= index < len(graph.tensors) for index in node.outputs)
            assert all(isinstance(key, str) for key in node.options)
    for signature in model.signatures:
        if signature.broken:  # refused by this line where it is used
            assert len(signature.broken.splitlines()) == 1
            continue
        tensors = model.subgraphs[signature.subgraph].tensors
        assert all(0 <= index < len(tensors) for index in (*signature.inputs.values(), *signature.outputs.values()))


def mutants(data: bytes, count: int, random_seed: str) -> Iterator[bytes]:
    """`count` mutants, the same ones every time: flipped bits, extreme words, swapped and repeated pieces."""
    chance = random.Random(random_seed)
    for _ in range(count):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
            at = chance.randrange(len(mutant))
            match chance.randrange(5):
                case 0:
                    mutant[at] ^= 1 << chance.randrange(8)
                case 1:
                    mutant[at] = chance.choice((0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF))
                case 2:
                    at = at // 4 * 4
                    mutant[at : at + 4] = struct.pack("<I", chance.choice(EXTREMES))
                case 3:
                    at = at // 4 * 4
                    mutant[at : at + 4] = struct.pack("<I", chance.randrange(len(mutant)))
                case 4:
                    other, size = chance.randrange(len(mutant)), chance.choice((2, 4, 8, 16))
                    mutant[at : at + size] = mutant[other : other + size]
        yield bytes(mutant)


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("name", SEEDS)
def test_mutants(name: str, external: bool) -> None:
    data = seed(name, external)
    assert attempt(data)
    accepted = sum(attempt(mutant) for mutant in mutants(data, 4000, f"{name} {external}"))
    assert 0 < accepted < 4000, "the mutants are too mild or too wild to show anything"


@pytest.mark.parametrize("name", SEEDS)
def test_every_word_extreme(name: str) -> None:
    data = seed(name, False)
    for at in range(0, len(data) - 3, 2):
        for extreme in (0xFFFFFFFF, 0x7FFFFFFF, 0x00FFFFFF):
            attempt(data[:at] + struct.pack("<I", extreme) + data[at + 4 :])


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("name", SEEDS)
def test_truncations(name: str, external: bool) -> None:
    data = seed(name, external)
    for size in range(0, len(data), 3):
        attempt(data[:size])


@pytest.mark.parametrize("name", SEEDS)
def test_mutants_given_metadata(name: str) -> None:
    """`with_metadata` reads all tables of a file of any origin."""
    for mutant in mutants(seed(name, True), 700, f"metadata {name}"):
        try:
            with_metadata(mutant, "note", b"payload")
        except MiniliteError:
            continue


def test_long_vectors_in_a_large_file() -> None:
    """A megabyte of zeros after the tables, which any mutated length may run into."""
    data = seed("nested", False)
    room = bytes(1 << 20)
    for at in range(8, len(data) - 3, 4):
        for count in (1 << 18, 1 << 16):
            attempt(data[:at] + struct.pack("<I", count) + data[at + 4 :] + room)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.data())
def test_any_edit(data: st.DataObject) -> None:
    original = seed(data.draw(st.sampled_from(sorted(SEEDS))), data.draw(st.booleans()))
    edits = st.tuples(st.integers(0, len(original) - 1), st.integers(0, 12), st.binary(max_size=12))
    mutant = original
    for at, removed, inserted in data.draw(st.lists(edits, min_size=1, max_size=4)):
        mutant = mutant[:at] + inserted + mutant[at + removed :]
    attempt(mutant)


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    attempt(data)
    attempt(data[:4] + b"TFL3" + data[4:])
