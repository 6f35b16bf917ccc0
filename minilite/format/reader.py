"""Bytes to Model: every table, index, code and size of a file is checked here, once, before anything uses it."""

from __future__ import annotations

import mmap
import pathlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from minilite.errors import ModelFormatError, ModelNotFoundError, coordinates
from minilite.format import _schema
from minilite.format._constants import Buffers
from minilite.format._flatbuffer import FlatBuffer, Values
from minilite.format._spec import OptionsTable, names_of, operator_names, options_table, table_spec
from minilite.format.dtypes import TensorType
from minilite.format.model import Model, Node, Signature, Subgraph, Tensor
from minilite.format.origin import explained
from minilite.format.quantization import NOT_QUANTIZED, Quantization

if TYPE_CHECKING:
    import os

SCHEMA_VERSION = 3
_TYPES = tuple(TensorType)


def load_model(path: str | os.PathLike[str], load: Literal["map", "copy"] = "map") -> Model:
    """Read a file: mapped, so that its constants stay where they are, or copied whole first with `load="copy"`.

    A mapped file must not change while the model lives; copy files that may.

    Raises: ModelNotFoundError, ModelFormatError.
    """
    if load not in ("map", "copy"):
        raise ValueError(f"load is {load!r}, expected 'map' or 'copy'")
    try:
        with pathlib.Path(path).open("rb") as file:
            if load == "copy" or file.seek(0, 2) == 0:  # nothing can be mapped of an empty file
                file.seek(0)
                source: bytes | mmap.mmap = file.read()
            else:
                source = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"Could not open {str(path)!r}: {reason.lower()}"
        raise ModelNotFoundError(message) from error
    try:
        return read_model(source)
    except ModelFormatError as error:
        raise explained(error, source, path) from None


def read_model(source: bytes | bytearray | memoryview | mmap.mmap) -> Model:
    """Read a model from bytes; its bulk constants are read-only views on them.

    Raises: ModelFormatError.
    """
    data = memoryview(source).toreadonly().cast("B")
    _check_header(data)
    buffer = FlatBuffer(data)
    try:
        return _Reader(buffer).model()
    finally:
        buffer.close()


def _check_header(data: memoryview) -> None:
    """Refuse bytes that do not begin as a .tflite file does."""
    if len(data) < 8:
        message = f"the model has {len(data)} bytes, too few for a .tflite file" if len(data) else "the model is empty"
        raise ModelFormatError(message)
    identifier = bytes(data[4:8])
    if identifier != _schema.IDENTIFIER:
        message = f"file identifier at byte 4 is {identifier!r}, a .tflite file has {_schema.IDENTIFIER!r}"
        raise ModelFormatError(message)


class _OperatorCode(NamedTuple):
    """One entry of Model.operator_codes."""

    op: str
    version: int
    custom: bool
    options: OptionsTable | None


class _Reader:
    """One file being read."""

    def __init__(self, buffer: FlatBuffer) -> None:
        self.buffer = buffer
        self.where = ""
        """Coordinates of what is being read, for errors."""
        self.at: dict[str, Any] = {}
        """The same as attributes of the error: subgraph, node, op."""
        self.buffers = Buffers(buffer, [])
        self.codes: list[_OperatorCode] = []
        self.count = 0
        """Tensors of the subgraph being read."""

    def model(self) -> Model:
        """Read everything, and put the coordinates on the error if it is refused."""
        try:
            return self._model()
        except ModelFormatError as error:
            message = f"{self.where}: {error}" if self.where else str(error)
            raise ModelFormatError(message, **self.at) from None

    def _model(self) -> Model:
        buffer = self.buffer
        root = buffer.root()
        values, places = buffer.reader("Model")(root)
        version, _, _, description, *_ = values
        if version != SCHEMA_VERSION:
            buffer.fail(f"Model.version is {version}, expected {SCHEMA_VERSION}")

        def positions(slot: int, field: str) -> list[int]:
            value = values[slot]
            return buffer.tables(root + places[slot], value, f"Model.{field}") if value else []

        self.buffers = Buffers(buffer, positions(4, "buffers"))
        self.codes = [self._operator_code(number, at) for number, at in enumerate(positions(1, "operator_codes"))]
        graphs = tuple(self._subgraph(number, at) for number, at in enumerate(positions(2, "subgraphs")))
        if not graphs:
            buffer.fail("Model.subgraphs is empty, expected at least one")
        named = tuple(self._signature(number, at, graphs) for number, at in enumerate(positions(7, "signature_defs")))
        notes = dict(self._metadata(number, at) for number, at in enumerate(positions(6, "metadata")))
        text = buffer.text(root + places[3], description, "Model.description") if description else ""
        return Model(version, text, graphs, named, notes)

    def _operator_code(self, number: int, position: int) -> _OperatorCode:
        self.where = f"operator code {number}"
        values, places = self.buffer.reader("OperatorCode")(position)
        deprecated, custom_name, version, builtin, *_ = values
        code, names = max(deprecated, builtin), operator_names()
        if code < 0:
            self.buffer.fail(f"builtin code {code} is negative")
        op = names[code] if code < len(names) else f"BUILTIN_{code}"
        custom = op == "CUSTOM"
        if custom:
            if not custom_name:
                self.buffer.fail("a custom operator has no custom_code")
            op = self.buffer.text(position + places[1], custom_name, "OperatorCode.custom_code")
        self.where = ""
        return _OperatorCode(op, version, custom, None if custom else options_table(op))

    def _subgraph(self, number: int, position: int) -> Subgraph:
        buffer = self.buffer
        self.where, self.at = f"subgraph {number}", {"subgraph": number}
        values, places = buffer.reader("SubGraph")(position)
        tensors_offset, inputs_offset, outputs_offset, operators_offset, name_offset, *_ = values
        tensors: list[Tensor] = []
        if tensors_offset:
            tensors = self._tensors(buffer.tables(position + places[0], tensors_offset, "SubGraph.tensors"))
        self.count = len(tensors)
        inputs = self._indices(position + places[1], inputs_offset, 0, "SubGraph.inputs")
        outputs = self._indices(position + places[2], outputs_offset, 0, "SubGraph.outputs")
        name = buffer.text(position + places[4], name_offset, "SubGraph.name") if name_offset else ""
        nodes: list[Node] = []
        if operators_offset:
            nodes = self._nodes(buffer.tables(position + places[3], operators_offset, "SubGraph.operators"))
        self.where, self.at = "", {}
        return Subgraph(number, name, tuple(tensors), inputs, outputs, tuple(nodes))

    def _tensors(self, positions: list[int]) -> list[Tensor]:
        tensors: list[Tensor] = []
        self.count = len(positions)
        try:
            for position in positions:
                tensors.append(self._tensor(len(tensors), position))
        except ModelFormatError:
            self.where += f", tensor {len(tensors)}"
            raise
        return tensors

    def _tensor(self, index: int, position: int) -> Tensor:
        buffer = self.buffer
        values, place = buffer.reader("Tensor")(position)
        (shape_offset, code, number, name, quantization, variable, sparsity, signature, has_rank, _, external,
         *_) = values  # fmt: skip
        if not 0 <= code < len(_TYPES):
            buffer.fail(f"Tensor.type: {code} is none of the {len(_TYPES)} element types")
        if external:
            buffer.fail(f"Tensor.external_buffer is {external}: data in other files is not supported")
        shape = buffer.scalars(position + place[0], shape_offset, "i", "Tensor.shape") if shape_offset else ()
        sparse = buffer.decode("SparsityParameters", position + place[6] + sparsity) if sparsity else None
        return Tensor(
            index,
            buffer.text(position + place[3], name, "Tensor.name") if name else "",
            _TYPES[code],
            shape,
            buffer.scalars(position + place[7], signature, "i", "Tensor.shape_signature") if signature else None,
            self.buffers.constant(number, _TYPES[code], shape, sparse is not None, variable),
            self._quantization(position + place[4] + quantization, shape) if quantization else NOT_QUANTIZED,
            variable,
            sparse,
            has_rank,
        )

    def _quantization(self, position: int, shape: tuple[int, ...]) -> Quantization:
        buffer = self.buffer
        values, places = buffer.reader("QuantizationParameters")(position)
        _, _, scale, zero_point, details_type, details, dimension, *_ = values
        if details_type and details:
            blockwise = self._details(position + places[5] + details, details_type, dimension)
            if blockwise is not None:
                return blockwise
        if not scale:
            return NOT_QUANTIZED
        scales = buffer.scalars(position + places[2], scale, "f", "QuantizationParameters.scale")
        if not scales:
            return NOT_QUANTIZED
        zeros: Values = ()
        if zero_point:
            zeros = buffer.scalars(position + places[3], zero_point, "q", "QuantizationParameters.zero_point")
        if len(zeros) != len(scales):
            buffer.fail(f"QuantizationParameters: {len(scales)} scales and {len(zeros)} zero points, expected as many")
        if len(scales) > 1:
            if dimension < 0:
                buffer.fail(f"QuantizationParameters.quantized_dimension is {dimension}, expected at least 0")
            if dimension < len(shape) and shape[dimension] != len(scales):
                buffer.fail(f"{len(scales)} scales along dimension {dimension} of shape {shape}, expected as many")
        return Quantization(scales, zeros, dimension)

    def _details(self, position: int, code: int, dimension: int) -> Quantization | None:
        """A scheme whose scales are a tensor of their own; None for a scheme of the writer's own."""
        names = names_of("QuantizationDetails")
        if code >= len(names):
            self.buffer.fail(f"QuantizationParameters.details_type: {code} is none of {', '.join(names)}")
        details = self.buffer.decode(names[code], position)
        if names[code] == "CustomQuantization":
            return None
        scales, zeros = details["scales"], details["zero_points"]
        for field, index in ("scales", scales), ("zero_points", zeros):
            if not -1 <= index < self.count:
                self.buffer.fail(f"{names[code]}.{field} is tensor {index}, the subgraph has {self.count}")
        return Quantization((), (), dimension, details["block_size"], scales, zeros)

    def _nodes(self, positions: list[int]) -> list[Node]:
        nodes: list[Node] = []
        position = 0
        try:
            for position in positions:
                nodes.append(self._node(len(nodes), position))
        except ModelFormatError:
            op = self._op_at(position)
            self.at.update(node=len(nodes), op=op)
            self.where = coordinates(self.at["subgraph"], len(nodes), op)
            raise
        return nodes

    def _op_at(self, position: int) -> str:
        """The operator of the node at `position`, for an error about that node."""
        try:
            values, _ = self.buffer.reader("Operator")(position)
            return " ".join(self.codes[values[0]].op.split())[:80]
        except (ModelFormatError, IndexError):
            return "?"

    def _node(self, index: int, position: int) -> Node:
        buffer, indices = self.buffer, self._indices
        values, place = buffer.reader("Operator")(position)
        (number, inputs, outputs, kind, table, custom, _, _, intermediates, large_at, large_size, kind_2, table_2,
         *_) = values  # fmt: skip
        if number >= len(self.codes):
            buffer.fail(f"Operator.opcode_index is {number}, the model has {len(self.codes)} operator codes")
        op, version, is_custom, expected = self.codes[number]
        payload = b""
        if custom or large_at > 1:
            payload = self._custom_options(position + place[5], custom, large_at, large_size)
        options: dict[str, Any] = {}
        if expected is not None:
            if expected.union == "BuiltinOptions2":
                options = self._options(expected, kind_2, table_2 and position + place[12] + table_2)
            else:
                options = self._options(expected, kind, table and position + place[4] + table)
        return Node(
            index,
            op,
            version,
            indices(position + place[1], inputs, -1, "Operator.inputs"),
            indices(position + place[2], outputs, 0, "Operator.outputs"),
            options,
            is_custom,
            payload,
            indices(position + place[8], intermediates, -1, "Operator.intermediates"),
        )

    def _options(self, expected: OptionsTable, code: int, position: int) -> dict[str, Any]:
        """The options of a builtin operator; its defaults when the file gives none or another operator's, as LiteRT."""
        if code == expected.code and position:
            return self.buffer.options(expected.table, position)
        names = names_of(expected.union)
        if code >= len(names):
            self.buffer.fail(f"Operator.builtin_options_type: {code} is none of the {len(names)} tables")
        return default_options(expected.table)

    def _custom_options(self, place: int, offset: int, large_at: int, large_size: int) -> bytes:
        if large_at > 1:
            start, size = self.buffer.outside(large_at, large_size, "Operator.large_custom_options")
        else:
            start, size = self.buffer.span(place, offset, "Operator.custom_options")
        self.buffer.unfold(size, "Operator.custom_options")
        return bytes(self.buffer.data[start : start + size])

    def _indices(self, place: int, offset: int, least: int, where: str) -> tuple[int, ...]:
        """A vector of tensor numbers from `least` on; -1 stands for an optional one that is absent."""
        if not offset:
            return ()
        indices = self.buffer.scalars(place, offset, "i", where)
        if indices and not (min(indices) >= least and max(indices) < self.count):
            wrong = next(index for index in indices if not least <= index < self.count)
            self.buffer.fail(f"{where} names tensor {wrong}, the subgraph has {self.count}")
        return indices

    def _signature(self, number: int, position: int, graphs: tuple[Subgraph, ...]) -> Signature:
        buffer = self.buffer
        self.where = f"signature {number}"
        values, places = buffer.reader("SignatureDef")(position)
        _, _, key_offset, _, subgraph, *_ = values
        key = buffer.text(position + places[2], key_offset, "SignatureDef.signature_key") if key_offset else ""
        if subgraph >= len(graphs):
            buffer.fail(f"SignatureDef.subgraph_index is {subgraph}, the model has {len(graphs)} subgraphs")
        self.count = len(graphs[subgraph].tensors)

        def arguments(slot: int, field: str) -> dict[str, int]:
            offset = values[slot]
            at = buffer.tables(position + places[slot], offset, f"SignatureDef.{field}") if offset else []
            return dict(map(self._argument, at))

        signature = Signature(key, arguments(0, "inputs"), arguments(1, "outputs"), subgraph)
        self.where = ""
        return signature

    def _argument(self, position: int) -> tuple[str, int]:
        values, places = self.buffer.reader("TensorMap")(position)
        name, index, *_ = values
        if index >= self.count:
            self.buffer.fail(f"TensorMap.tensor_index is {index}, the subgraph has {self.count} tensors")
        return (self.buffer.text(position + places[0], name, "TensorMap.name") if name else ""), index

    def _metadata(self, number: int, position: int) -> tuple[str, bytes]:
        self.where = f"metadata {number}"
        values, places = self.buffer.reader("Metadata")(position)
        name, index, *_ = values
        payload = self.buffers.payload(index, "Metadata.buffer")
        text = self.buffer.text(position + places[0], name, "Metadata.name") if name else ""
        self.where = ""
        return text, payload


def default_options(table: str) -> dict[str, Any]:
    """The options of table `table` when a file leaves all of them out."""
    return {field.name: field.empty for field in table_spec(table).fields if field.name}
