"""Refusals of the reader: one line that says where and why, and never a long wait."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import flatbuffers.table
import numpy as np
import pytest
from test_reader import Tree, changed, node, raw_table, small, tensor

from minilite._core import ffi, lib
from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import Quantization
from minilite.format.reader import read_model

if TYPE_CHECKING:
    from collections.abc import Callable


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
    (
        r"tensor 3: Tensor.sparsity of a STRING tensor: only numbers can be sparse",
        lambda t: tensor(t, 3).update(type="STRING", sparsity={}),
    ),
    (
        r"tensor 1: Tensor.sparsity of a RESOURCE tensor: only numbers can be sparse",
        lambda t: tensor(t, 1).update(type="RESOURCE", sparsity={}),
    ),
    (
        r"tensor 0: Tensor.sparsity of a VARIANT tensor: only numbers can be sparse",
        lambda t: tensor(t, 0).update(type="VARIANT", sparsity={}),
    ),
    (r"tensor 0: Tensor.buffer is 4, the model has 4 buffers", lambda t: tensor(t, 0).update(buffer=4)),
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
        r"tensor 2: QuantizationParameters.zero_point: number 0 is 1099511627776, expected one of 32 bits",
        lambda t: tensor(t, 2).update(quantization={"scale": (1.0,), "zero_point": (2**40,)}),
    ),
    (
        r"tensor 1: QuantizationParameters.zero_point: number 3 is -2147483649, expected one of 32 bits",
        lambda t: tensor(t, 1).update(
            quantization={"scale": (1.0,) * 4, "zero_point": (0, 0, 2**31 - 1, -(2**31) - 1)}
        ),
    ),
    (
        r"tensor 1: BlockwiseQuantization.scales is tensor 4, the subgraph has 4",
        lambda t: tensor(t, 1).update(quantization={"details_type": "BlockwiseQuantization", "details": {"scales": 4}}),
    ),
    (
        r"tensor 1: QuantizationParameters.details_type is 9, must be one of",
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
    (r"node 0 \(\?\): Operator.opcode_index is 1, the model has 1 operator", lambda t: node(t).update(opcode_index=1)),
    (
        r"node 0 .*: Operator.builtin_options_type is 127, must be one of the 127 tables",
        lambda t: node(t).update(builtin_options=None, builtin_options_type=127),
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
        r"buffer 1, Buffer.offset: 1099511627776 bytes at byte 100, beyond the file's \d+ bytes",
        lambda t: t["buffers"][1].update(data=None, offset=100, size=1 << 40),
    ),
    (
        r"node 0 .*: Operator.large_custom_options: 1099511627776 bytes at byte 100, beyond",
        lambda t: node(t).update(large_custom_options_offset=100, large_custom_options_size=1 << 40),
    ),
    (
        r"buffer 1, Buffer.offset: 18446744073709551615 bytes at byte 18446744073709551615",
        lambda t: t["buffers"][1].update(data=None, offset=2**64 - 1, size=2**64 - 1),
    ),
    (r"metadata 0: Metadata.buffer is 4, the model has 4 buffers", lambda t: t["metadata"][0].update(buffer=4)),
]


@pytest.mark.parametrize(("complaint", "change"), REFUSED, ids=[complaint[:50] for complaint, _ in REFUSED])
def test_refused(complaint: str, change: Callable[[Tree], object]) -> None:
    data = changed(change)
    if "details_type is 9" in complaint:  # a value that the builder does not write
        second = table_in(data, table_in(data, root_of(data), 2), 0, 1)
        place = place_of(data, follow(data, place_of(data, second, 4)), 4)
        data = data[:place] + b"\x09" + data[place + 1 :]
    with pytest.raises(ModelFormatError, match=complaint) as caught:
        read_model(data)
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")
    assert isinstance(caught.value, ValueError)


def follow(data: bytes, place: int) -> int:
    """The place to which the offset at `place` leads."""
    return place + int(struct.unpack_from("<I", data, place)[0])


def root_of(data: bytes) -> int:
    return follow(data, 0)


def place_of(data: bytes, table: int, slot: int) -> int:
    """The place of a slot in a table, found by flatbuffers' own reader."""
    offset = flatbuffers.table.Table(data, table).Offset(4 + 2 * slot)
    assert offset, "the slot is absent"
    return int(table + offset)


def table_in(data: bytes, table: int, slot: int, number: int = 0) -> int:
    """Table `number` of a vector of tables."""
    return follow(data, follow(data, place_of(data, table, slot)) + 4 + 4 * number)


def test_errors_carry_coordinates() -> None:
    with pytest.raises(ModelFormatError) as caught:
        read_model(changed(lambda t: node(t).update(inputs=(44,))))
    assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, "FULLY_CONNECTED")


def test_names_from_the_file_stay_on_one_line() -> None:
    b = ModelBuilder()
    b.subgraph().node("two\nlines" + "x" * 1000, [7], [], custom=True)
    with pytest.raises(ModelFormatError, match=r"node 0 \(two linesx+\.\.x+\): Operator.inputs") as caught:
        read_model(b.build())
    assert len(str(caught.value)) < 200


def test_enum_out_of_range_is_refused() -> None:
    b = ModelBuilder()
    b.subgraph().node("MIRROR_PAD", [], [], options={"mode": "SYMMETRIC"})
    assert (
        refusals(b.build(), 1, 77).count("MirrorPadOptions.mode is 77, must be one of the 2 values REFLECT, SYMMETRIC")
        == 1
    )


def test_a_long_list_of_names_is_cut() -> None:
    b = ModelBuilder()
    b.subgraph().node("CAST", [], [], options={"in_data_type": "FLOAT8_E5M2", "out_data_type": "FLOAT32"})
    names = "FLOAT32, FLOAT16, INT32, UINT8, INT64, STRING, BOOL, INT16, ..."
    assert f"CastOptions.in_data_type is 77, must be one of the 23 values {names}" in refusals(b.build(), 22, 77)


def test_every_enum_of_a_vector_is_checked() -> None:
    b = ModelBuilder()
    options = dict.fromkeys(("lhs_batching_dimensions", "rhs_batching_dimensions"), ())
    options |= dict.fromkeys(("lhs_contracting_dimensions", "rhs_contracting_dimensions"), ())
    b.subgraph().node("STABLEHLO_DOT_GENERAL", [], [], options={**options, "precision_config": ("DEFAULT", "HIGHEST")})
    found = refusals(b.build(), 2, 77)
    assert (
        "StablehloDotGeneralOptions.precision_config is 77, must be one of the 3 values DEFAULT, HIGH, HIGHEST" in found
    )


@pytest.mark.parametrize("count", [0, 1, 7])
def test_the_core_reads_no_file_of_seven_bytes(count: int) -> None:
    """Calls the core directly, because Python refuses such a file first."""
    data, error = ffi.from_buffer(b"\x08\0\0\0TFL"[:count]), ffi.new("ml_file_error *")
    assert lib.ml_file_new(data, count, ffi.new("ml_file **"), error) == lib.ML_GRAPH_ERROR
    assert ffi.string(error.text).decode() == f"the model has {count} bytes, too few for a .tflite file"


def test_metadata_is_found_by_its_whole_name() -> None:
    file = read_model(changed(lambda t: None)).file
    assert [lib.ml_file_has_metadata(file.rows, name) for name in (b"note", b"nose", b"not", b"notes")] == [1, 0, 0, 0]


def test_tables_within_tables_are_checked_at_once() -> None:
    dense = {"format": "DENSE", "dense_size": 2, "array_segments_type": "NONE", "array_indices_type": "NONE"}
    b = ModelBuilder()
    layout = {"traversal_order": (0,), "block_map": (), "dim_metadata": (dense, {**dense, "format": "SPARSE_CSR"})}
    b.subgraph().constant("c", np.ones(2, np.float32), shape=(2,), sparsity=layout)
    assert "tensor 0: DimensionMetadata.format is 77, must be one of the 2 values DENSE, SPARSE_CSR" in refusals(
        b.build(), 1, 77
    )


def test_element_type_out_of_range_is_refused() -> None:
    data = changed(lambda t: tensor(t, 0).update(type="FLOAT8_E5M2"))
    assert refusals(data, 22, 23).count("tensor 0: Tensor.type is 23, must be one of the 23 element types") == 1


def refusals(data: bytes, old: int, new: int) -> str:
    """Returns the reader's messages for one byte of value `old` at a time set to `new`, line by line."""
    message: list[str] = []
    for place in (at for at, byte in enumerate(data) if byte == old):
        try:
            read_model(data[:place] + bytes([new]) + data[place + 1 :])
        except ModelFormatError as error:
            message.append(str(error))
    return "\n".join(message)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "the model is empty"),
        (b"TFL3", "the model has 4 bytes, too few"),
        (bytes(100), r"file identifier at byte 4 is b'\\x00\\x00\\x00\\x00'"),
        (b"\x08\0\0\0TFL2" + bytes(92), "file identifier at byte 4 is b'TFL2'"),
        (b"\x62\0\0\0TFL3" + bytes(92), "Model at byte 98: ends beyond the file's 100 bytes"),
        (b"\xff\xff\xff\xffTFL3" + bytes(92), "Model at byte 4294967295: ends beyond the file's 100 bytes"),
        (b"\x08\0\0\0TFL3" + b"\xff\xff\xff\x7f" + bytes(88), "Model: vtable at byte -2147483639 lies outside"),
        (b"\x08\0\0\0TFL3" + b"\0\0\0\x80" + bytes(88), "Model: vtable at byte 2147483656 lies outside"),
        (b"\x08\0\0\0TFL3" + bytes(92), "vtable at byte 8 has sizes 0 and 0"),
    ],
)
def test_headers(data: bytes, complaint: str) -> None:
    with pytest.raises(ModelFormatError, match=complaint):
        read_model(data)


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


def ending_in_text(text: bytes, count: int) -> bytes:
    """Returns a model of one empty subgraph that ends in its description, whose stated length is `count`."""
    root = struct.pack("<III", 3, 8, 20)
    subgraphs = struct.pack("<II", 1, 8) + b"\x04\0\x04\0" + struct.pack("<i", 4)
    return raw_table([16, 4, 0, 8, 12], root, subgraphs + struct.pack("<I", count) + text)


def test_text_may_end_with_the_file_but_not_after_it() -> None:
    assert read_model(ending_in_text(b"text", 4)).description == "text"
    assert read_model(ending_in_text(b"", 0)).description == ""
    with pytest.raises(ModelFormatError, match=r"Model.description at byte \d+: 5 elements of 1 bytes, beyond"):
        read_model(ending_in_text(b"text", 5))
    with pytest.raises(ModelFormatError, match=r"Model.description at byte \d+: lies beyond"):
        read_model(ending_in_text(b"", 0)[:-1])


def test_vtables_may_end_with_the_file_but_not_after_it() -> None:
    data = bytearray(ending_in_text(b"\x04\0\x04\0", 4))
    table = len(data) - 12  # of the subgraph: its vtable is now the text
    data[table : table + 4] = struct.pack("<i", -8)
    assert len(read_model(bytes(data)).subgraphs) == 1
    data[table : table + 4] = struct.pack("<i", -9)
    with pytest.raises(ModelFormatError, match=r"SubGraph: vtable at byte \d+ lies outside"):
        read_model(bytes(data))
    data[table : table + 4] = struct.pack("<i", -8)
    data[-4] = 6
    with pytest.raises(ModelFormatError, match=r"SubGraph: vtable at byte .* has sizes 6 and 4"):
        read_model(bytes(data))
    data = bytearray(ending_in_text(b"", 0))
    data[table - 4] = 5  # odd, with room after it
    with pytest.raises(ModelFormatError, match=r"SubGraph: vtable at byte .* has sizes 5 and 4"):
        read_model(bytes(data))


def test_large_buffers_end_with_the_file() -> None:
    b = ModelBuilder()
    b.subgraph().constant("c", np.arange(100, dtype=np.uint8))
    data = b.build(external_buffers=True)
    assert read_model(data).subgraphs[0].tensors[0].data is not None
    with pytest.raises(ModelFormatError, match=r"buffer 1, Buffer.offset: 100 bytes at byte .*, beyond"):
        read_model(data[:-1])


def test_every_truncation_is_refused() -> None:
    data = small().build()
    for size in range(len(data)):
        with pytest.raises(ModelFormatError):
            read_model(data[:size])


def bomb(parts: Callable[[ModelBuilder], None], vector: str, count: int) -> bytes:
    """A file whose vector `vector` of the first subgraph names its first table `count` times."""
    b = ModelBuilder()
    parts(b)
    data = bytearray(b.build())
    graph = table_in(data, root_of(data), 2)
    slot = {"tensors": 0, "operators": 3}[vector]
    place, target = place_of(data, graph, slot), table_in(data, graph, slot)
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


def heavy_name(b: ModelBuilder) -> None:
    b.subgraph().tensor("n" * 100_000, ())


def small_vectors(b: ModelBuilder) -> None:
    """No vector is long enough to be refused by itself; together they are more rows than so small a file may have."""
    ones = Quantization((1.0,) * 32, tuple(range(32)))
    b.subgraph().tensor("n", (1,) * 31 + (32,), signature=(1,) * 32, quantization=ones._replace(quantized_dimension=31))


def heavy_node(b: ModelBuilder) -> None:
    g = b.subgraph()
    g.tensor("x", ())
    g.node("RESHAPE", [0] * 50_000, [], options={"new_shape": (1,) * 50_000})


def heavy_custom(b: ModelBuilder) -> None:
    b.subgraph().node("Mine", [], [], custom=True, custom_options=bytes(200_000))


@pytest.mark.parametrize(
    ("parts", "vector"),
    [
        (heavy_tensor, "tensors"),
        (heavy_name, "tensors"),
        (small_vectors, "tensors"),
        (heavy_node, "operators"),
        (heavy_custom, "operators"),
    ],
)
def test_shared_parts_do_not_blow_up(parts: Callable[[ModelBuilder], None], vector: str) -> None:
    assert read_model(bomb(parts, vector, 2)), "shared a little is no harm"
    with pytest.raises(ModelFormatError, match="are shared so often that they expand to"):
        read_model(bomb(parts, vector, 20_000))
