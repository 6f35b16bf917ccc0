"""The C rows of a file, field by field, against the flatbuffers runtime with LiteRT's published accessors."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from test_builder import everything

from minilite._core import ffi
from minilite.format import _schema
from minilite.format.reader import read_model

MODELS = pathlib.Path(__file__).resolve().parents[2] / "../shared/models"
TABLES = tuple(_schema.TABLES)


@pytest.fixture(scope="module")
def schema() -> Any:
    return pytest.importorskip("ai_edge_litert.schema_py_generated")


def numbers(pointer: Any, count: int) -> list[Any]:
    return ffi.unpack(pointer, count) if count > 0 else []


def listed(table: Any, field: str) -> list[Any]:
    """Reads a vector by LiteRT's accessor."""
    found = getattr(table, field + "AsNumpy")() if getattr(table, field + "Length")() else ()
    return [int(value) if isinstance(value, np.integer) else float(value) for value in found]


def span(data: bytes, span: Any) -> bytes:
    return data[span.at : span.at + span.bytes]


def in_file(data: bytes, table: Any, at: str, size: str, inside: str) -> bytes:
    """Bytes that lie in the flatbuffer or outside it."""
    if getattr(table, inside + "Length")():
        return bytes(getattr(table, inside + "AsNumpy")())
    start = getattr(table, at)()
    return data[start : start + getattr(table, size)()] if start > 1 else b""


def check_quantization(row: Any, theirs: Any) -> None:
    scales = listed(theirs, "Scale") if theirs else []
    if theirs and theirs.DetailsType() > 1:
        return  # blockwise: the built model's test has it
    ours = row.quantization
    zeros = listed(theirs, "ZeroPoint") if scales else []
    assert numbers(ours.scales, ours.n_scales) == scales
    assert ours.n_zero_points == len(zeros if len(set(zeros)) > 1 else zeros[:1])
    assert numbers(ours.zero_points, ours.n_zero_points) == zeros[: ours.n_zero_points]
    assert ours.dimension == (theirs.QuantizedDimension() if scales else 0)
    assert (row.scales_tensor, row.zero_points_tensor, ours.block_size) == (-1, -1, 0)


def check_tensor(data: bytes, model: Any, row: Any, theirs: Any) -> None:
    assert span(data, row.name) == (theirs.Name() or b"")
    assert row.type == theirs.Type()
    assert numbers(row.shape, row.rank) == listed(theirs, "Shape")
    absent = theirs.ShapeSignatureIsNone()
    assert row.signature_rank == (-1 if absent else theirs.ShapeSignatureLength())
    assert numbers(row.signature, row.signature_rank) == ([] if absent else listed(theirs, "ShapeSignature"))
    assert row.buffer == theirs.Buffer()
    assert row.flags & 3 == theirs.IsVariable() + 2 * theirs.HasRank()
    assert (row.sparsity_at > 0) == (theirs.Sparsity() is not None)
    buffer = in_file(data, model.Buffers(row.buffer), "Offset", "Size", "Data") if row.buffer else b""
    without_elements = 0 in numbers(row.shape, row.rank)  # see test_empty_constants.py
    assert bool(row.data) == bool(buffer) or without_elements
    if row.data:
        assert bytes(ffi.buffer(row.data, row.bytes)) == buffer[: row.bytes]
        assert row.data_at < 0 or data[row.data_at : row.data_at + row.bytes] == buffer[: row.bytes]
    check_quantization(row, theirs.Quantization())


def camel(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_"))


def check_options(data: bytes, schema: Any, row: Any, node: Any) -> None:
    """Compares options slot by slot; a table of another operator means the defaults."""
    name = TABLES[row.options_table]
    kind = getattr(schema, name)
    table = None
    for union, field in (schema.BuiltinOptions, "BuiltinOptions"), (schema.BuiltinOptions2, "BuiltinOptions2"):
        member = getattr(union, name, None)
        held = getattr(node, field)()
        if member is not None and getattr(node, field + "Type")() == member and held is not None:
            table = kind()
            table.Init(held.Bytes, held.Pos)
    slots = _schema.TABLES[name].split()
    assert len(slots) == row.n_options
    for value, text in zip(numbers(row.options, len(slots)), slots, strict=True):
        head, _, default = text.partition("=")
        field, _, declared = head.partition(":")
        if field == "-":
            continue
        if declared in ("float", "double"):
            assert value.real == (getattr(table, camel(field))() if table else float(default)), field
        elif default:
            assert value.integer == (getattr(table, camel(field))() if table else int(default)), field
        elif declared == "string":
            assert data[value.at : value.at + value.count] == ((table and getattr(table, camel(field))()) or b"")
        else:
            expected = getattr(table, camel(field) + "AsNumpy")() if table and value.count else np.zeros(0, np.int32)
            assert value.count == (getattr(table, camel(field) + "Length")() if table else 0)
            assert data[value.at : value.at + expected.nbytes] == expected.tobytes(), field


def check_node(data: bytes, schema: Any, model: Any, rows: Any, row: Any, theirs: Any) -> None:
    code = model.OperatorCodes(theirs.OpcodeIndex())
    assert row.code == theirs.OpcodeIndex()
    assert row.op == rows.operators[row.code].op == max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    assert row.version == code.Version()
    assert span(data, rows.operators[row.code].name) == (code.CustomCode() or b"" if row.op == 32 else b"")
    assert numbers(row.inputs, row.n_inputs) == listed(theirs, "Inputs")
    assert numbers(row.outputs, row.n_outputs) == listed(theirs, "Outputs")
    assert numbers(row.intermediates, row.n_intermediates) == listed(theirs, "Intermediates")
    custom = in_file(data, theirs, "LargeCustomOptionsOffset", "LargeCustomOptionsSize", "CustomOptions")
    assert span(data, row.custom_options) == custom
    if row.options_table >= 0:
        check_options(data, schema, row, theirs)
    else:
        assert row.n_options == 0


def check_arguments(data: bytes, rows: Any, count: int, theirs: Any, field: str) -> None:
    assert count == getattr(theirs, field + "Length")()
    for i in range(count):
        map_ = getattr(theirs, field)(i)
        assert (span(data, rows[i].name), rows[i].tensor) == (map_.Name() or b"", map_.TensorIndex())


def check_file(data: bytes, schema: Any) -> int:
    """Compares everything; returns how many rows there were."""
    read = read_model(data)
    assert read.file is not None
    rows, model, count = read.file.rows, schema.Model.GetRootAs(data, 0), 0
    assert (rows.version, rows.n_operators, rows.n_buffers, rows.n_subgraphs, rows.n_signatures, rows.n_metadata) == (
        model.Version(), model.OperatorCodesLength(), model.BuffersLength(), model.SubgraphsLength(),
        model.SignatureDefsLength(), model.MetadataLength(),
    )  # fmt: skip
    assert span(data, rows.description) == (model.Description() or b"")
    for i in range(rows.n_buffers):
        assert span(data, rows.buffers[i].data) == in_file(data, model.Buffers(i), "Offset", "Size", "Data")
    for s in range(rows.n_subgraphs):
        row, theirs = rows.subgraphs[s], model.Subgraphs(s)
        assert span(data, row.name) == (theirs.Name() or b"")
        assert (row.n_tensors, row.n_nodes) == (theirs.TensorsLength(), theirs.OperatorsLength())
        assert numbers(row.inputs, row.n_inputs) == listed(theirs, "Inputs")
        assert numbers(row.outputs, row.n_outputs) == listed(theirs, "Outputs")
        for t in range(row.n_tensors):
            check_tensor(data, model, row.tensors[t], theirs.Tensors(t))
        for n in range(row.n_nodes):
            check_node(data, schema, model, rows, row.nodes[n], theirs.Operators(n))
        count += row.n_tensors + row.n_nodes
    for i in range(rows.n_signatures):
        row, theirs = rows.signatures[i], model.SignatureDefs(i)
        assert (span(data, row.key), row.subgraph) == (theirs.SignatureKey() or b"", theirs.SubgraphIndex())
        check_arguments(data, row.inputs, row.n_inputs, theirs, "Inputs")
        check_arguments(data, row.outputs, row.n_outputs, theirs, "Outputs")
    for i in range(rows.n_metadata):
        row, theirs = rows.metadata[i], model.Metadata(i)
        assert span(data, row.name) == (theirs.Name() or b"")
        assert row.data.at == rows.buffers[theirs.Buffer()].data.at
    return count


@pytest.mark.parametrize("external", [False, True])
def test_built_models(schema: Any, external: bool) -> None:
    assert check_file(everything().build(external_buffers=external), schema) > 30


def test_rows_are_aligned_at_any_address_of_the_file() -> None:
    """Rows are aligned and have the same contents, wherever the file lies in memory."""
    data = everything().build()
    expected = read_model(data)
    for shift in range(1, 16):
        model = read_model(memoryview(bytes(shift) + data)[shift:])
        assert model == expected
        assert model.file is not None
        for row in ffi.unpack(model.file.rows.subgraphs[0].tensors, 28):
            assert int(ffi.cast("uintptr_t", row.quantization.scales)) % 4 == 0
            if row.data and row.type in (0, 2, 4):
                assert int(ffi.cast("uintptr_t", row.data)) % {0: 4, 2: 4, 4: 8}[row.type] == 0


@pytest.mark.skipif(not MODELS.exists(), reason="needs ../shared/models")
def test_real_models(schema: Any) -> None:
    assert sum(check_file(path.read_bytes(), schema) for path in sorted(MODELS.glob("*.tflite"))) > 19_000
