"""The reader takes what LiteRT takes, and refuses the rest in one line that says where and why."""

from __future__ import annotations

import gc
import json
import mmap
import pathlib
import struct
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from minilite.errors import MiniliteError, ModelFormatError, ModelNotFoundError
from minilite.format._flatbuffer import FlatBuffer
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


REFUSED: list[tuple[str, Callable[[Tree], object]]] = [
    (r"Model.version is 2, expected 3", lambda t: t.update(version=2)),
    (r"Model.subgraphs is empty, expected at least one", lambda t: t.update(subgraphs=[])),
    (
        r"subgraph 0, tensor 0: Tensor.shape \(-1, 8\) has a negative dimension",
        lambda t: tensor(t, 0).update(shape=(-1, 8)),
    ),
    (
        r"tensor 0: Tensor.shape has 33 dimensions, the most is 32",
        lambda t: tensor(t, 0).update(shape=(1,) * 33),
    ),
    (
        r"tensor 0: Tensor.shape \(2147483647, 2147483647, 2\) of FLOAT32 has more bytes than 64 bits can count",
        lambda t: tensor(t, 0).update(shape=(2**31 - 1, 2**31 - 1, 2)),
    ),
    (
        r"tensor 0: Tensor.shape \(0, 2147483647, 2147483647, 2\) of FLOAT32 has more bytes",
        lambda t: tensor(t, 0).update(shape=(0, 2**31 - 1, 2**31 - 1, 2)),
    ),
    (
        r"tensor 1: buffer 1 has 128 bytes, shape \(5, 8\) of FLOAT32 takes 160",
        lambda t: tensor(t, 1).update(shape=(5, 8)),
    ),
    (
        r"tensor 1: buffer 1 has 128 bytes, shape \(4, 8\) of INT64 takes 256",
        lambda t: tensor(t, 1).update(type="INT64"),
    ),
    (
        r"tensor 1: a variable tensor has data: buffer 1 of 128 bytes",
        lambda t: tensor(t, 1).update(is_variable=True),
    ),
    (r"tensor 0: Tensor.buffer is 9, the model has 4 buffers", lambda t: tensor(t, 0).update(buffer=9)),
    (
        r"tensor 0: Tensor.external_buffer is 1: data in other files is not supported",
        lambda t: tensor(t, 0).update(external_buffer=1),
    ),
    (
        r"tensor 1: QuantizationParameters: 2 scales and 1 zero points",
        lambda t: tensor(t, 1).update(quantization={"scale": (1.0, 2.0), "zero_point": (0,)}),
    ),
    (
        r"tensor 1: 2 scales along dimension 0 of shape \(4, 8\)",
        lambda t: tensor(t, 1).update(quantization={"scale": (1.0, 2.0), "zero_point": (0, 0)}),
    ),
    (
        r"tensor 1: QuantizationParameters.quantized_dimension is -1, expected at least 0",
        lambda t: tensor(t, 1).update(
            quantization={"scale": (1.0, 2.0), "zero_point": (0, 0), "quantized_dimension": -1}
        ),
    ),
    (
        r"tensor 1: BlockwiseQuantization.scales is tensor 7, the subgraph has 4",
        lambda t: tensor(t, 1).update(quantization={"details_type": "BlockwiseQuantization", "details": {"scales": 7}}),
    ),
    (
        r"tensor 1: QuantizationParameters.details_type: 9 is none of",
        lambda t: tensor(t, 1).update(
            quantization={"details_type": "CustomQuantization", "details": {}, "quantized_dimension": 0x5A5A}
        ),
    ),
    (
        r"subgraph 0, node 0 \(FULLY_CONNECTED\): Operator.inputs names tensor 4, the subgraph has 4",
        lambda t: node(t).update(inputs=(0, 4)),
    ),
    (r"node 0 .*: Operator.inputs names tensor -2", lambda t: node(t).update(inputs=(-2,))),
    (r"node 0 .*: Operator.outputs names tensor -1", lambda t: node(t).update(outputs=(-1,))),
    (r"node 0 .*: Operator.intermediates names tensor 5", lambda t: node(t).update(intermediates=(5,))),
    (r"node 0 \(\?\): Operator.opcode_index is 3, the model has 1 operator", lambda t: node(t).update(opcode_index=3)),
    (
        r"node 0 .*: Operator.builtin_options_type: 200 is none of the 127 tables",
        lambda t: node(t).update(builtin_options=None, builtin_options_type=200),
    ),
    (
        r"node 0 .*: Operator.large_custom_options: 8 bytes at byte 9999999, beyond",
        lambda t: node(t).update(large_custom_options_offset=9999999, large_custom_options_size=8),
    ),
    (r"subgraph 0: SubGraph.inputs names tensor -1", lambda t: t["subgraphs"][0].update(inputs=(-1,))),
    (r"subgraph 0: SubGraph.outputs names tensor 4", lambda t: t["subgraphs"][0].update(outputs=(4,))),
    (
        r"operator code 1: builtin code -3 is negative",
        lambda t: t["operator_codes"].append({"builtin_code": -5, "deprecated_builtin_code": -3}),
    ),
    (
        r"operator code 1: a custom operator has no custom_code",
        lambda t: t["operator_codes"].append({"builtin_code": 32}),
    ),
    (
        r"buffer 1, Buffer.offset: 1099511627776 bytes at byte 1000, beyond the file's \d+ bytes",
        lambda t: t["buffers"][1].update(data=None, offset=1000, size=1 << 40),
    ),
    (
        r"buffer 1, Buffer.offset: 18446744073709551615 bytes at byte 18446744073709551615",
        lambda t: t["buffers"][1].update(data=None, offset=2**64 - 1, size=2**64 - 1),
    ),
    (
        r"signature 0: TensorMap.tensor_index is 9, the subgraph has 4 tensors",
        lambda t: t["signature_defs"][0]["inputs"][0].update(tensor_index=9),
    ),
    (
        r"signature 0: SignatureDef.subgraph_index is 3, the model has 1 subgraphs",
        lambda t: t["signature_defs"][0].update(subgraph_index=3),
    ),
    (r"metadata 0: Metadata.buffer is 9, the model has 4 buffers", lambda t: t["metadata"][0].update(buffer=9)),
]


@pytest.mark.parametrize(("complaint", "change"), REFUSED, ids=[complaint[:50] for complaint, _ in REFUSED])
def test_refused(complaint: str, change: Callable[[Tree], object]) -> None:
    data = changed(change)
    if "details_type: 9" in complaint:  # a value that the builder does not write
        place = data.index(struct.pack("<i", 0x5A5A))
        buffer = FlatBuffer(memoryview(data))
        data = patch_slot(buffer, "QuantizationParameters", place, 4, 9)
    with pytest.raises(ModelFormatError, match=complaint) as caught:
        read_model(data)
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")
    assert isinstance(caught.value, ValueError)


def patch_slot(buffer: FlatBuffer, table: str, dimension_at: int, slot: int, value: int) -> bytes:
    """Set a one-byte slot of the table that holds its quantized_dimension at `dimension_at`."""
    for position in range(dimension_at - 64, dimension_at):
        try:
            _, places = buffer.reader(table)(position)
        except ModelFormatError:
            continue
        if places[6] and position + places[6] == dimension_at and places[slot]:
            data = bytearray(buffer.data)
            data[position + places[slot]] = value
            return bytes(data)
    pytest.fail("no such table")


def test_errors_carry_coordinates() -> None:
    with pytest.raises(ModelFormatError) as caught:
        read_model(changed(lambda t: node(t).update(inputs=(44,))))
    assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, "FULLY_CONNECTED")


def test_names_from_the_file_stay_on_one_line() -> None:
    b = ModelBuilder()
    b.subgraph().node("two\nlines" + "x" * 1000, [7], [], custom=True)
    with pytest.raises(ModelFormatError, match=r"node 0 \(two linesx+\): Operator.inputs") as caught:
        read_model(b.build())
    assert len(str(caught.value)) < 200


def test_enum_out_of_range_is_refused() -> None:
    b = ModelBuilder()
    b.subgraph().node("MIRROR_PAD", [], [], options={"mode": "SYMMETRIC"})
    assert refusals(b.build(), 1, 77).count("MirrorPadOptions.mode: 77 is none of the 2 values REFLECT, SYMMETRIC") == 1


def test_element_type_out_of_range_is_refused() -> None:
    data = changed(lambda t: tensor(t, 0).update(type="FLOAT8_E5M2"))
    assert refusals(data, 22, 23).count("tensor 0: Tensor.type: 23 is none of the 23 element types") == 1


def refusals(data: bytes, old: int, new: int) -> str:
    """What the reader says when one byte of value `old` at a time has the value `new`, line by line."""
    said: list[str] = []
    for place in (at for at, byte in enumerate(data) if byte == old):
        try:
            read_model(data[:place] + bytes([new]) + data[place + 1 :])
        except ModelFormatError as error:
            said.append(str(error))
    return "\n".join(said)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "the model is empty"),
        (b"TFL3", "the model has 4 bytes, too few"),
        (bytes(100), r"file identifier at byte 4 is b'\\x00\\x00\\x00\\x00'"),
        (b"\x08\0\0\0TFL2" + bytes(92), "file identifier at byte 4 is b'TFL2'"),
        (b"\xff\xff\xff\xffTFL3" + bytes(92), "Model at byte 4294967295: ends beyond the file's 100 bytes"),
        (b"\x08\0\0\0TFL3" + b"\xff\xff\xff\x7f" + bytes(88), "Model: vtable at byte -2147483639 lies outside"),
        (b"\x08\0\0\0TFL3" + b"\0\0\0\x80" + bytes(88), "Model: vtable at byte 2147483656 lies outside"),
        (b"\x08\0\0\0TFL3" + bytes(92), "vtable at byte 8 has sizes 0 and 0"),
    ],
)
def test_headers(data: bytes, complaint: str) -> None:
    with pytest.raises(ModelFormatError, match=complaint):
        read_model(data)


def raw_table(vtable: list[int], body: bytes, tail: bytes = b"") -> bytes:
    """A file whose root table has this vtable (its own size first is added) and these bytes."""
    packed = struct.pack(f"<{len(vtable) + 1}H", 2 * (len(vtable) + 1), *vtable)
    packed += bytes(-len(packed) % 4)
    root = 8 + len(packed)
    return struct.pack("<I4s", root, b"TFL3") + packed + struct.pack("<i", root - 8) + body + tail


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (raw_table([8, 4], struct.pack("<I", 3)), "Model.subgraphs is empty"),
        (raw_table([6, 4], struct.pack("<I", 3)), "Model.version: its place 4 overlaps .* the table's 6 bytes"),
        (raw_table([8, 2], struct.pack("<I", 3)), "Model.version: its place 2 overlaps"),
        (raw_table([12, 4, 6], struct.pack("<II", 3, 3)), "Model.operator_codes: its place 6 overlaps"),
        (raw_table([3, 0], b""), "vtable at byte 8 has sizes 6 and 3"),
        (raw_table([16, 4, 0, 8], struct.pack("<II", 3, 1 << 20)), "Model.subgraphs at byte 10.* lies beyond the file"),
        (
            raw_table([16, 4, 0, 8], struct.pack("<II", 3, 4), struct.pack("<I", 1 << 30)),
            "Model.subgraphs at byte 32: 1073741824 elements of 4 bytes, beyond the file's 36 bytes",
        ),
        (
            raw_table([16, 4, 0, 8], struct.pack("<II", 3, 4), struct.pack("<II", 1, 1 << 30)),
            "subgraph 0: SubGraph at byte 10.*: ends beyond",
        ),
        (raw_table([16, 4, 0, 0, 8], struct.pack("<II", 3, 4), struct.pack("<I", 99)), "Model.subgraphs is empty"),
    ],
)
def test_tables_that_contradict_themselves(data: bytes, complaint: str) -> None:
    with pytest.raises(ModelFormatError, match=complaint):
        read_model(data)


def test_every_truncation_is_refused() -> None:
    data = small().build()
    for size in range(len(data)):
        with pytest.raises(ModelFormatError):
            read_model(data[:size])


def test_missing_path(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"could not open '.*/none.tflite': no such file") as caught:
        load_model(tmp_path / "none.tflite")
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ModelNotFoundError, match="null byte"):
        load_model("a\0b")


@pytest.mark.parametrize("load", ["map", "copy"])
def test_directory_and_empty_file(tmp_path: pathlib.Path, load: Any) -> None:
    (tmp_path / "empty.tflite").touch()
    for path in (tmp_path, tmp_path / "empty.tflite"):
        with pytest.raises(MiniliteError) as caught:
            load_model(path, load)
        assert isinstance(caught.value, ValueError)


def test_load_is_map_or_copy(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="load is 'mmap', expected 'map' or 'copy'"):
        load_model(tmp_path, load="mmap")  # type: ignore[arg-type]


def test_mapped_constants_are_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.tflite"
    data = small().build()
    path.write_bytes(data)
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
    """No data, empty data, buffer 0 with data, offset 1: the tensor is computed; empty data for an empty shape is."""
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
    for order in ((0, 1, 2), (2, 1, 0)):
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
    assert (found.data.dtype, found.data.tolist()) == (np.uint8, list(range(size)))


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
    """As LiteRT does, which ignores a table that is not the operator's own."""
    for options, kind in ((None, 0), ({}, "Pool2DOptions"), (None, 8)):
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


def test_unknown_slots_of_a_newer_schema_are_passed_over() -> None:
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


def bomb(parts: Callable[[ModelBuilder], None], vector: str, count: int) -> bytes:
    """A file whose vector `vector` of the first subgraph names its first table `count` times."""
    b = ModelBuilder()
    parts(b)
    data = bytearray(b.build())
    buffer = FlatBuffer(memoryview(bytes(data)))
    values, places = buffer.reader("Model")(buffer.root())
    graph = buffer.tables(buffer.root() + places[2], values[2], "")[0]
    values, places = buffer.reader("SubGraph")(graph)
    slot = {"tensors": 0, "operators": 3}[vector]
    place = graph + places[slot]
    target = buffer.tables(place, values[slot], "")[0]
    # a new vector at the end: its offsets wrap around 2**32 only if they pointed back, so the tables move, too
    tail = len(data) + -len(data) % 4
    data.extend(bytes(tail - len(data)))
    shift = tail + 4 + 4 * count
    moved = bytes(data)
    data[place : place + 4] = struct.pack("<I", tail - place)
    data.extend(struct.pack("<I", count))
    data.extend(b"".join(struct.pack("<I", shift + target - (tail + 4 + 4 * i)) for i in range(count)))
    data.extend(moved)
    return bytes(data)


def heavy_tensor(b: ModelBuilder) -> None:
    b.subgraph().constant(
        "n" * 100_000, np.zeros(1000, np.int32), quantization=Quantization((1.0,) * 1000, (0,) * 1000)
    )


def heavy_node(b: ModelBuilder) -> None:
    g = b.subgraph()
    g.tensor("x", ())
    g.node("RESHAPE", [0] * 50_000, [], options={"new_shape": (1,) * 50_000})


def heavy_custom(b: ModelBuilder) -> None:
    b.subgraph().node("Mine", [], [], custom=True, custom_options=bytes(200_000))


@pytest.mark.parametrize(
    ("parts", "vector"), [(heavy_tensor, "tensors"), (heavy_node, "operators"), (heavy_custom, "operators")]
)
def test_shared_parts_do_not_blow_up(parts: Callable[[ModelBuilder], None], vector: str) -> None:
    assert read_model(bomb(parts, vector, 2)), "shared a little is no harm"
    start = time.perf_counter()
    with pytest.raises(ModelFormatError, match="are shared so often that they unfold to"):
        read_model(bomb(parts, vector, 20_000))
    assert time.perf_counter() - start < 0.5


def test_speed() -> None:
    """1000 tensors and 1000 nodes take 9 ms on the machine it was written on; ten times that is a mistake."""
    b = ModelBuilder()
    g = b.subgraph()
    x = g.input("x", (1, 8, 8, 16))
    for i in range(1000):
        x = g.node("ADD", [x, x], out=(f"layer_{i}", (1, 8, 8, 16), TensorType.INT8, Quantization((0.5,), (3,))))
    data = b.build()
    start = time.perf_counter()
    model = read_model(data)
    assert time.perf_counter() - start < 0.1
    assert len(model.subgraphs[0].nodes) == 1000


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
                    assert one.data.tobytes() == bytes(payload)[: one.data.nbytes]
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
