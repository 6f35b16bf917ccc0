"""A model that was read is a view of C rows: made when looked at, equal to one made by hand, freed with its last
reference."""

from __future__ import annotations

import copy
import gc
import pathlib
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.system import needs_system
from test_builder import everything, same
from test_reader import small

from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder, as_read, write_model
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import Quantization
from minilite.format.reader import load_model, read_model
from minilite.format.rows import Nodes, Tensors

if TYPE_CHECKING:
    from collections.abc import Iterator


MAPPED = bytes(1 << 16)
"""The bytes from which on a file is mapped; smaller ones are read."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def mapped(path: pathlib.Path) -> bool:
    return str(path) in pathlib.Path("/proc/self/maps").read_text()


def open_descriptors() -> int:
    return sum(1 for _ in pathlib.Path("/proc/self/fd").iterdir())


def test_tensors_and_nodes_are_made_when_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    for kind in (Tensors, Nodes):
        original = kind._make
        monkeypatch.setattr(
            kind, "_make", lambda self, number, make=original: made.append((type(self), number)) or make(self, number)
        )
    model = read_model(everything().build())
    main = model.subgraphs[0]
    assert (len(main.tensors), len(main.nodes)) == (28, 8)
    assert made == []
    assert main.tensors[1].name == "w"
    assert main.nodes[-1].op == "BUILTIN_999"
    assert main.tensors[1] is main.tensors[1] is model.subgraphs[0].tensors[-27]
    assert made == [(Tensors, 1), (Nodes, 7)]


def test_rows_are_sequences() -> None:
    read, by_hand = read_model(everything().build()).subgraphs[0], everything().model().subgraphs[0]
    assert isinstance(by_hand.tensors, tuple)
    assert read.tensors[3:9:2] == by_hand.tensors[3:9:2]
    assert [t.index for t in reversed(read.tensors)] == list(range(27, -1, -1))
    assert [n.op for n in read.nodes] == [n.op for n in by_hand.nodes]
    assert by_hand.nodes[2] in read.nodes
    assert read.tensors.index(by_hand.tensors[5]) == 5
    for wrong in (28, -29):
        with pytest.raises(IndexError):
            read.tensors[wrong]
    with pytest.raises(TypeError):
        read.tensors["x"]  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        read.tensors[0] = read.tensors[1]  # type: ignore[index]


def test_a_read_model_equals_one_made_by_hand() -> None:
    read, by_hand = read_model(everything().build()), everything().model()
    assert read == by_hand
    assert by_hand == read
    assert read.subgraphs[0].tensors == by_hand.subgraphs[0].tensors
    assert by_hand.subgraphs[0].nodes == read.subgraphs[0].nodes
    assert list(read.subgraphs[0].nodes) == read.subgraphs[0].nodes
    other = everything()
    other.metadata("more", b"")
    assert read != other.model()
    assert read.subgraphs[0].tensors != by_hand.subgraphs[0].tensors[1:]
    assert read.subgraphs != "subgraphs"


def test_tensors_are_equal_by_their_values() -> None:
    tensor = Tensor(0, "c", TensorType.FLOAT32, (2,), data=np.array([1, np.nan], np.float32))
    assert tensor == tensor._replace(data=np.array([1, np.nan], np.float32))
    for data in (None, np.array([1, 2], np.float32), np.array([1, np.nan]), np.array([[1, np.nan]], np.float32)):
        assert tensor != tensor._replace(data=data)
        assert tensor._replace(data=data) != tensor
    assert tensor != tensor._replace(name="d")
    assert tensor != "c"
    computed = tensor._replace(data=None)
    assert hash(computed) == hash(tensor._replace(data=None))


def test_replacing_parts_leaves_plain_values() -> None:
    model = read_model(small().build())
    assert model.file is not None
    assert model._replace(metadata={}).file is model.file
    main = model.subgraphs[0]
    renamed = main._replace(tensors=(main.tensors[0]._replace(name="input"), *main.tensors[1:]))
    changed = model._replace(subgraphs=(renamed,))
    assert changed.file is None
    assert everything().model().file is None
    again = read_model(write_model(changed))
    assert again == changed
    assert again.subgraphs[0].tensors[0].name == "input"


def test_models_made_by_hand_get_rows_by_writing_them() -> None:
    by_hand = everything().model()
    read = as_read(by_hand)
    assert read.file is not None
    assert read == by_hand
    assert as_read(read) is read
    b = ModelBuilder()
    b.subgraph().output(7)
    with pytest.raises(ModelFormatError, match=r"SubGraph.outputs names tensor 7"):
        as_read(b.model())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles(copied: Any) -> None:
    model = read_model(everything().build())
    assert same(copied(model), model)


def test_reprs_are_short() -> None:
    b = ModelBuilder("d" * 1000)
    g = b.subgraph("main" * 1000)
    wide = Quantization((0.5,) * 999, (0,) * 999, 0)
    for i in range(500):
        g.constant(f"c{i}" * 100, np.zeros((999, 2), np.int8), quantization=wide)
    g.node("CONCATENATION", range(500), range(500), options={"axis": 1})
    g.node("Mine", [], [], custom=True, custom_options=bytes(5000))
    g.node("RESHAPE", [], [], options={"new_shape": [1] * 500})
    for i in range(50):
        b.signature(f"s{i}", {"x": 0}, {"y": 1})
        b.metadata(f"m{i}", bytes(1000))
    for model in (b.model(), read_model(b.build())):
        main = model.subgraphs[0]
        assert len(repr(model)) < 800
        for part in (main, main.tensors[0], *main.nodes, wide):
            assert len(repr(part)) < 500
    assert repr(main.tensors) == "<500 tensors>"
    read = read_model(small().build())
    assert repr(read.subgraphs[0].tensors[1]) == (
        "Tensor(index=1, name='w', type=FLOAT32, shape=(4, 8), data=float32 (4, 8), has_rank=True)"
    )
    assert repr(read.subgraphs[0]) == (
        "Subgraph(index=0, name='main', tensors=<4>, inputs=(0,), outputs=(3,), nodes=<1>)"
    )
    assert repr(Quantization((0.5,), (3,))) == "Quantization(scales=(0.5,), zero_points=(3,))"


@needs_system
@pytest.mark.usefixtures("no_collector")
def test_mapping_goes_with_the_model(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mapped.tflite"
    path.write_bytes(everything().build() + MAPPED)
    descriptors = open_descriptors()
    model = load_model(path)
    assert open_descriptors() == descriptors
    assert mapped(path)
    [tensor.data for tensor in model.subgraphs[0].tensors]
    [node.options for node in model.subgraphs[0].nodes]
    assert len(model.metadata) == 2
    del model
    assert not mapped(path)


@needs_system
@pytest.mark.usefixtures("no_collector")
def test_mapping_stays_as_long_as_a_constant(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mapped.tflite"
    path.write_bytes(small().build() + MAPPED)
    w = load_model(path).subgraphs[0].tensors[1].data
    assert w is not None
    assert mapped(path)
    assert w.sum() == 496
    del w
    assert not mapped(path)


@needs_system
def test_a_file_that_changes_underneath_does_no_harm(tmp_path: pathlib.Path) -> None:
    """Numbers that were checked were copied: whatever becomes of the file, they stay within their bounds."""
    path = tmp_path / "changing.tflite"
    data = everything().build()
    path.write_bytes(data + MAPPED)
    model, expected = load_model(path), read_model(data)
    with path.open("r+b") as file:
        file.write(b"\xff" * len(data))
    for mine, theirs in zip(model.subgraphs, expected.subgraphs, strict=True):
        assert (mine.inputs, mine.outputs) == (theirs.inputs, theirs.outputs)
        for node, other in zip(mine.nodes, theirs.nodes, strict=True):
            assert (node.inputs, node.outputs, node.version) == (other.inputs, other.outputs, other.version)
            assert node.options.keys() == other.options.keys()
        for number, kept in enumerate(theirs.tensors):
            if kept.sparsity is not None:  # is read when looked at, and checked again
                with pytest.raises(ModelFormatError, match="SparsityParameters: vtable"):
                    mine.tensors[number]
                continue
            tensor = mine.tensors[number]
            assert (tensor.shape, tensor.type) == (kept.shape, kept.type)
            assert (tensor.data is None) == (kept.data is None)
