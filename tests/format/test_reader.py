"""The reader takes what LiteRT takes; test_reader_refusals.py has the rest."""

from __future__ import annotations

import gc
import json
import mmap
import pathlib
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from minilite.errors import ModelFormatError
from minilite.format._model_tree import model_tree
from minilite.format._writer import write_tree
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import load_model, read_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite.format.model import Model, Tensor

MODELS = pathlib.Path(__file__).resolve().parents[2] / "../shared/models"
Tree = dict[str, Any]


def small() -> ModelBuilder:
    """x, w, b -> FULLY_CONNECTED -> y: tensors 0 to 3, buffers 1 and 2."""
    b = ModelBuilder("small")
    g = b.subgraph("main")
    x = g.input("x", (1, 8))
    w = g.constant("w", np.arange(32, dtype=np.float32).reshape(4, 8))
    bias = g.constant("b", np.ones(4, np.float32))
    g.output(g.node("FULLY_CONNECTED", [x, w, bias], out=("y", (1, 4))))
    b.signature("serve", {"x": x}, {"y": 3})
    b.metadata("note", b"hello")
    return b


def changed(change: Callable[[Tree], object]) -> bytes:
    tree = model_tree(small().model())
    change(tree)
    return write_tree(tree)


def tensor(tree: Tree, index: int) -> Tree:
    found: Tree = tree["subgraphs"][0]["tensors"][index]
    return found


def node(tree: Tree) -> Tree:
    found: Tree = tree["subgraphs"][0]["operators"][0]
    return found


def first(model: Model, name: str) -> Tensor:
    return next(tensor for tensor in model.subgraphs[0].tensors if tensor.name == name)


def raw_table(vtable: list[int], body: bytes, tail: bytes = b"") -> bytes:
    """A file whose root table has this vtable (its own size first is added) and these bytes."""
    packed = struct.pack(f"<{len(vtable) + 1}H", 2 * (len(vtable) + 1), *vtable)
    packed += bytes(-len(packed) % 4)
    root = 8 + len(packed)
    return struct.pack("<I4s", root, b"TFL3") + packed + struct.pack("<i", root - 8) + body + tail


@pytest.mark.parametrize("source", [bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data)), "mmap"])
def test_constants_are_read_only_views(source: Any) -> None:
    data = small().build()
    if source == "mmap":
        given: Any = mmap.mmap(-1, len(data))
        given.write(data)
    else:
        given = source(data)
    w = first(read_model(given), "w").data
    assert w is not None
    assert not w.flags.writeable
    assert not w.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        w[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        w.flags.writeable = True
    if isinstance(given, bytearray):
        with pytest.raises(BufferError):
            given.extend(b"more")
    elif isinstance(given, mmap.mmap):
        with pytest.raises(BufferError):
            given.close()
    base = np.frombuffer(given, np.uint8).__array_interface__["data"][0]
    assert base <= w.__array_interface__["data"][0] < base + len(data)


def test_constants_outlive_the_reader(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.tflite"
    path.write_bytes(small().build())
    w = first(load_model(path), "w").data
    gc.collect()
    assert w is not None
    assert w.sum() == 496


def test_misaligned_constants_are_copied() -> None:
    data = small().build()
    for shift in range(1, 8):
        shifted = memoryview(bytes(shift) + data)[shift:]
        w = first(read_model(shifted), "w").data
        assert w is not None
        assert w.flags.aligned
        assert not w.flags.writeable
        assert w.tolist() == np.arange(32).reshape(4, 8).tolist()


def test_control_constants_are_copied() -> None:
    b = ModelBuilder()
    g = b.subgraph()
    for name, kind, count in (("axes", np.int32, 1024), ("ids", np.int64, 512), ("long", np.int32, 1025)):
        g.constant(name, np.arange(count, dtype=kind))
    data = bytearray(b.build())
    model = read_model(data)
    data_of = {t.name: t.data for t in model.subgraphs[0].tensors if t.data is not None}
    for place in range(len(data)):
        data[place] = 0
    assert data_of["axes"].tolist() == list(range(1024))
    assert data_of["ids"].tolist() == list(range(512))
    assert not data_of["long"].any()
    assert not any(array.flags.writeable for array in data_of.values())


def test_buffers_without_data() -> None:
    """With no data, empty data, data in buffer 0, or offset 1, the tensor is no constant; with empty data for an empty
    shape it is one."""
    for buffer, number in (({}, 4), ({"data": b""}, 4), ({"offset": 1, "size": 32}, 4)):
        data = changed(lambda t, b=buffer, n=number: (t["buffers"].append(b), tensor(t, 0).update(buffer=n)))  # type: ignore[misc]
        assert first(read_model(data), "x").data is None
    filled = changed(lambda t: (t["buffers"][0].update(data=bytes(32)), tensor(t, 0).update(buffer=0)))
    assert first(read_model(filled), "x").data is None
    empty = changed(
        lambda t: (t["buffers"].append({"data": b""}), tensor(t, 0).update(buffer=4, shape=(3, 0), has_rank=True))
    )
    x = first(read_model(empty), "x").data
    assert x is not None
    assert (x.shape, x.dtype) == ((3, 0), np.float32)


def test_longer_buffers_are_read_in_part() -> None:
    w = first(read_model(changed(lambda t: tensor(t, 1).update(shape=(3, 8)))), "w").data
    assert w is not None
    assert w.tolist() == np.arange(24).reshape(3, 8).tolist()


def test_tensors_of_one_buffer_may_differ_in_size() -> None:
    b = ModelBuilder()
    g = b.subgraph()
    g.constant("long", np.arange(6, dtype=np.int32))
    g.tensor("short", (2, 1), TensorType.INT32)
    g.tensor("wide", (3,), TensorType.INT64)
    tree = model_tree(b.model())
    for index in (1, 2):
        tensor(tree, index)["buffer"] = 1
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        tree["subgraphs"][0]["tensors"] = [tensor(tree, index) for index in order]
        model = read_model(write_tree(tree))
        data = {each.name: each.data.tolist() for each in model.subgraphs[0].tensors if each.data is not None}
        assert data == {"long": [0, 1, 2, 3, 4, 5], "short": [[0], [1]], "wide": [1 << 32, 2 | 3 << 32, 4 | 5 << 32]}


@pytest.mark.parametrize(
    ("kind", "size", "fits"),
    [("INT4", 3, True), ("INT4", 2, False), ("UINT4", 3, True), ("INT2", 2, True), ("INT2", 1, False),
     ("BFLOAT16", 10, True), ("BFLOAT16", 9, False), ("FLOAT8_E5M2", 5, True), ("FLOAT8_E4M3FN", 4, False)],
)  # fmt: skip
def test_packed_constants(kind: str, size: int, fits: bool) -> None:
    b = ModelBuilder()
    b.subgraph().constant("c", np.arange(size, dtype=np.uint8), TensorType[kind], shape=(5,))
    if not fits:
        with pytest.raises(ModelFormatError, match=f"has {size} bytes, shape \\(5,\\) of {kind} takes {size + 1}"):
            read_model(b.build())
        return
    found = read_model(b.build()).subgraphs[0].tensors[0]
    assert found.shape == (5,)
    assert found.data is not None
    expected = np.arange(size, dtype=np.uint8).view(np.uint16 if kind == "BFLOAT16" else np.uint8)
    assert (found.data.dtype, found.data.tolist()) == (expected.dtype, expected.tolist())


def test_strings_stay_bytes() -> None:
    b = ModelBuilder()
    b.subgraph().constant("c", [["ab", "c"]])
    found = read_model(b.build()).subgraphs[0].tensors[0]
    assert (found.type, found.shape) == (TensorType.STRING, (1, 2))
    assert found.data is not None
    assert (found.data.dtype, found.data.shape) == (np.uint8, (19,))
    assert found.data.tobytes() == struct.pack("<iiii", 2, 16, 18, 19) + b"abc"


def test_operator_is_the_larger_of_two_codes() -> None:
    for old, new, op in ((9, 0, "FULLY_CONNECTED"), (127, 150, "GELU"), (0, 9, "FULLY_CONNECTED"), (9, 3, None)):
        data = changed(
            lambda t, o=old, n=new: t["operator_codes"][0].update(deprecated_builtin_code=o, builtin_code=n)  # type: ignore[misc]
        )
        assert read_model(data).subgraphs[0].nodes[0].op == (op or "FULLY_CONNECTED")
    newer = changed(lambda t: t["operator_codes"][0].update(deprecated_builtin_code=127, builtin_code=999))
    found = read_model(newer).subgraphs[0].nodes[0]
    assert (found.op, found.custom, found.options) == ("BUILTIN_999", False, {})


def test_absent_and_foreign_options_read_as_defaults() -> None:
    """As in LiteRT, a table that is not the operator's own is ignored."""
    pool = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    for options, kind in ((None, 0), (pool, "Pool2DOptions"), (None, 8), ({}, "FullyConnectedOptions")):
        data = changed(lambda t, o=options, k=kind: node(t).update(builtin_options=o, builtin_options_type=k))  # type: ignore[misc]
        found = read_model(data).subgraphs[0].nodes[0].options
        assert found["fused_activation_function"] == "NONE"
        assert found["keep_num_dims"] is False
        assert found["quant_spec"] == b""


def test_quantization() -> None:
    def read(quantization: Tree | None) -> Quantization:
        return first(read_model(changed(lambda t: tensor(t, 2).update(quantization=quantization))), "b").quantization

    assert read(None) == NOT_QUANTIZED
    assert read({}) == NOT_QUANTIZED
    assert read({"min": (0.0,), "max": (1.0,), "zero_point": (3,)}) == NOT_QUANTIZED
    assert read({"scale": (), "zero_point": (3,), "quantized_dimension": 1}) == NOT_QUANTIZED
    assert read({"scale": (0.5,), "zero_point": (-3,)}) == Quantization((0.5,), (-3,))
    beyond = {"scale": (0.5, 0.25), "zero_point": (0, 0), "quantized_dimension": 3}
    assert read(beyond) == Quantization((0.5, 0.25), (0, 0), 3), "LiteRT refuses it for no harm: person_detect"
    custom = {"scale": (0.5,), "zero_point": (1,), "details_type": "CustomQuantization", "details": {"custom": b"x"}}
    assert read(custom) == Quantization((0.5,), (1,))
    blocks = {"details_type": "BlockwiseQuantization", "details": {"scales": 1, "zero_points": -1, "block_size": 32}}
    assert read(blocks) == Quantization((), (), 0, 32, 1, -1)


def test_text_that_is_not_utf_8_is_replaced() -> None:
    data = small().build().replace(b"serve\0", b"se\xffve\0")
    assert read_model(data).signatures[0].key == "se�ve"


def test_unknown_fields_of_a_newer_schema_are_ignored() -> None:
    data = raw_table(
        [20, 4, 0, 8] + [0] * 20 + [12],
        struct.pack("<III", 3, 8, 77),
        struct.pack("<II", 1, 8) + b"\x04\0\x04\0" + struct.pack("<i", 4),
    )
    model = read_model(data)
    assert len(model.subgraphs) == 1
    assert model.subgraphs[0].tensors == ()


def test_large_custom_options() -> None:
    b = ModelBuilder()
    b.subgraph().node("Mine", [], [], custom=True, custom_options=b"inside or out")
    for external in (False, True):
        data = b.build(external_buffers=external)
        assert data.endswith(b"inside or out") == external
        assert read_model(data).subgraphs[0].nodes[0].custom_options == b"inside or out"


@pytest.mark.skipif(not MODELS.exists(), reason="the real models are not here")
def test_real_models_read_as_their_manifest_says() -> None:
    manifest = json.loads((MODELS / "MANIFEST.json").read_text())
    assert len(manifest) > 150
    for entry in manifest:
        model = load_model(MODELS / entry["file"])
        counts: dict[str, int] = {}
        customs: dict[str, int] = {}
        kinds: dict[str, int] = {}
        for graph in model.subgraphs:
            for each in graph.nodes:
                into = customs if each.custom else counts
                into[each.op] = into.get(each.op, 0) + 1
            for one in graph.tensors:
                kinds[one.type.name] = kinds.get(one.type.name, 0) + 1
        assert counts == entry["builtin_ops"], entry["file"]
        assert customs == entry["custom_ops"], entry["file"]
        assert kinds == entry["tensor_dtypes"], entry["file"]
        if entry["inputs"] is None:
            continue
        shapes = [list(model.subgraphs[0].tensors[index].shape) for index in model.subgraphs[0].inputs]
        assert shapes == [each["shape"] for each in entry["inputs"]], entry["file"]
        assert sorted(signature.key for signature in model.signatures) == sorted(entry["signatures"]), entry["file"]


def decoded_by_litert(path: pathlib.Path, schema: Any) -> Any:
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes(), 0))


@pytest.mark.skipif(not MODELS.exists(), reason="the real models are not here")
def test_options_and_constants_agree_with_the_published_module() -> None:
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    for path in sorted(MODELS.glob("*.tflite"))[::4]:
        theirs, ours = decoded_by_litert(path, schema), load_model(path)
        for graph, reference in zip(ours.subgraphs, theirs.subgraphs, strict=True):
            for one, other in zip(graph.tensors, reference.tensors, strict=True):
                payload = theirs.buffers[other.buffer].data if other.buffer else None
                if one.data is not None:
                    assert one.data.tobytes() == bytes(b"" if payload is None else payload)[: one.data.nbytes]
                else:
                    assert payload is None or not len(payload)
            for each, other in zip(graph.nodes, reference.operators or [], strict=True):
                check_options(each.options, other.builtinOptions or other.builtinOptions2, schema)


def check_options(ours: Any, theirs: Any, schema: Any) -> None:
    enums = {"fused_activation_function": "ActivationFunctionType", "padding": "Padding", "mode": "MirrorPadMode"}
    values = {} if theirs is None else {key.replace("_", "").lower(): value for key, value in vars(theirs).items()}
    for key, value in ours.items():
        if key.replace("_", "") not in values:
            continue
        expected = values[key.replace("_", "")]
        if isinstance(value, str) and key in enums and not isinstance(expected, list):
            value = getattr(getattr(schema, enums[key]), value)
        elif isinstance(value, str):
            continue
        if isinstance(value, tuple):
            value, expected = list(value), [] if expected is None else list(expected)
        if isinstance(value, bytes):
            value, expected = list(value), [] if expected is None else list(expected)
        assert value == expected, key
