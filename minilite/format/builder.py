"""ModelBuilder: builds and writes any model that the reader can read.

    b = ModelBuilder(description="two layers")
    g = b.subgraph("main")
    x = g.input("x", (1, 8), signature=(-1, 8))
    w = g.constant("w", weights)
    y = g.node("FULLY_CONNECTED", [x, w, -1], out=("y", (1, 4)), options={"fused_activation_function": "RELU"})
    g.output(y)
    b.signature("serving_default", inputs={"x": x}, outputs={"y": y})
    data = b.build()

Names of operators and options are checked, and whether their values, and all other numbers, fit the format. Whether
indices and shapes make sense is not: the reader checks that, and its tests need wrong files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.errors import InputError, InputTypeError, shortened, shown
from minilite.format._encode import as_array, encode, type_of
from minilite.format._model_tree import model_tree, operator_code
from minilite.format._spec import default_options, options_table
from minilite.format._writer import bytes_of, checked_fields, write_tree
from minilite.format.dtypes import TensorType
from minilite.format.metadata import Metadata
from minilite.format.model import Model, Node, Signature, Subgraph, Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import read_model
from minilite.format.strings import as_strings, encode_strings
from minilite.format.tables import Tables
from minilite.numeric import real, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from minilite._native.file import File

Shape = Sequence[int]
Out = (
    tuple[str, Shape | None] | tuple[str, Shape | None, TensorType] | tuple[str, Shape | None, TensorType, Quantization]
)
"""An output that a node makes: name, shape, and optionally its type (default FLOAT32) and quantization."""


_UNSIGNED = (1 << 32) - 1


class ModelBuilder:
    """A model being built; see the example of the module. Raises: InputError, as all its methods."""

    def __init__(self, description: str = "", version: int = 3) -> None:
        self._description = description
        self._version = whole("version", version, least=0, most=_UNSIGNED)
        self._subgraphs: list[SubgraphBuilder] = []
        self._signatures: list[Signature] = []
        self._metadata: dict[str, bytes] = {}

    @classmethod
    def from_model(cls, model: Model) -> ModelBuilder:
        """A builder that starts with everything in `model`."""
        builder = cls(model.description, model.version)
        for subgraph in model.subgraphs:
            builder.subgraph(subgraph.name)._extend(subgraph)
        builder._signatures.extend(model.signatures)
        builder._metadata.update(model.metadata)
        return builder

    def subgraph(self, name: str = "main") -> SubgraphBuilder:
        """Add a subgraph; the first is the main one."""
        self._subgraphs.append(SubgraphBuilder(len(self._subgraphs), name))
        return self._subgraphs[-1]

    def signature(
        self, key: str, inputs: Mapping[str, int], outputs: Mapping[str, int], subgraph: int | SubgraphBuilder = 0
    ) -> None:
        """Add a named entry point: argument name -> tensor number."""
        index = subgraph.index if isinstance(subgraph, SubgraphBuilder) else subgraph
        number = whole(f"signature '{key}': subgraph", index, least=0, most=_UNSIGNED)
        given, made = (
            {name: whole(f"signature '{key}': {kind} '{name}'", tensor, least=0, most=_UNSIGNED)
            for name, tensor in named.items()}
            for kind, named in (("input", inputs), ("output", outputs))
        )  # fmt: skip
        self._signatures.append(Signature(key, given, made, number))

    def metadata(self, name: str, payload: bytes) -> None:
        """Add a named buffer; replaces one with the same name."""
        self._metadata[name] = bytes_of(f"metadata '{name}'", payload)

    def model(self) -> Model:
        """The model built so far; floats are as they were given (the file rounds them to 32 bits)."""
        graphs = tuple(graph.subgraph() for graph in self._subgraphs)
        return Model(self._version, self._description, graphs, tuple(self._signatures), Metadata(dict(self._metadata)))

    def build(self, external_buffers: bool = False, absent_when_empty: bool = False) -> bytes:
        """The file; with `external_buffers`, constants, metadata and custom options follow the flatbuffer.

        The buffer of a constant without elements has data of no bytes; with `absent_when_empty`, it has no data. Other
        converters write a constant without data and without a buffer of its own, as `tensor` does.
        """
        return write_model(self.model(), external_buffers, absent_when_empty)


class SubgraphBuilder:
    """A subgraph being built. Tensors are numbers, in the order in which they are added."""

    def __init__(self, index: int, name: str) -> None:
        self.index = index
        self.name = name
        self._tensors: list[Tensor] = []
        self._nodes: list[Node] = []
        self._inputs: list[int] = []
        self._outputs: list[int] = []

    def _extend(self, subgraph: Subgraph) -> None:
        self._tensors.extend(subgraph.tensors)
        self._nodes.extend(subgraph.nodes)
        self._inputs.extend(subgraph.inputs)
        self._outputs.extend(subgraph.outputs)

    def subgraph(self) -> Subgraph:
        """The subgraph built so far."""
        inputs, outputs = tuple(self._inputs), tuple(self._outputs)
        return Subgraph(self.index, self.name, tuple(self._tensors), inputs, outputs, tuple(self._nodes))

    def tensor(
        self,
        name: str,
        shape: Shape | None,
        type: TensorType = TensorType.FLOAT32,
        *,
        signature: Shape | None = None,
        quantization: Quantization = NOT_QUANTIZED,
        variable: bool = False,
        sparsity: Mapping[str, Any] | None = None,
        has_rank: bool | None = None,
        data: NDArray[Any] | None = None,
    ) -> int:
        """Add a tensor; a shape of None is an unknown rank. `data` is stored as it is; see `constant`."""
        ranked = shape is not None if has_rank is None else has_rank
        where = f"tensor '{shortened(str(name))}'"
        dims = _numbers(f"{where}: shape", () if shape is None else shape)
        sign = None if signature is None else _numbers(f"{where}: signature", signature)
        if data is not None and not isinstance(data, np.ndarray):
            message = f"{where}: data is {shown(data)}, must be a numpy array"
            raise InputTypeError(message)
        index, kind, quantized = len(self._tensors), _kind(where, type), _quantization(where, quantization)
        self._tensors.append(Tensor(index, name, kind, dims, sign, data, quantized, variable, sparsity, ranked))
        return index

    def _made(self, out: Out) -> int:
        if len(out) == 4:
            return self.tensor(out[0], out[1], out[2], quantization=out[3])
        return self.tensor(out[0], out[1], out[2]) if len(out) == 3 else self.tensor(out[0], out[1])

    def input(
        self,
        name: str,
        shape: Shape | None,
        type: TensorType = TensorType.FLOAT32,
        *,
        signature: Shape | None = None,
        quantization: Quantization = NOT_QUANTIZED,
    ) -> int:
        """Add a tensor that is an input of the subgraph."""
        index = self.tensor(name, shape, type, signature=signature, quantization=quantization)
        self._inputs.append(index)
        return index

    def variable(
        self,
        name: str,
        shape: Shape,
        type: TensorType = TensorType.FLOAT32,
        *,
        quantization: Quantization = NOT_QUANTIZED,
    ) -> int:
        """Add a tensor that keeps its value from run to run."""
        return self.tensor(name, shape, type, quantization=quantization, variable=True)

    def constant(
        self,
        name: str,
        array: ArrayLike,
        type: TensorType | None = None,
        *,
        shape: Shape | None = None,
        quantization: Quantization = NOT_QUANTIZED,
        sparsity: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a constant with the type of the array. Python numbers become float32 or int32.

        For INT4, UINT4 and INT2 the array has one value per element; they are packed here. With `shape` the array's
        bytes are stored as they are, for sparse data and for data of the wrong size. bytes and str make a STRING
        tensor.
        """
        where = f"constant '{shortened(str(name))}'"
        wanted = None if type is None else _kind(where, type)
        try:
            values = as_array(array)
            if values.dtype.kind in "SUO":
                values = as_strings(array)
                kind, data = TensorType.STRING, np.frombuffer(encode_strings(values), np.uint8)
            else:
                kind = type_of(values.dtype) if wanted is None else wanted
                data = encode(values, kind, raw=shape is not None or sparsity is not None)
        except ValueError as error:  # also numpy's, for rows of different lengths
            message = f"{where}: {error}"
            raise InputError(message) from None
        data.flags.writeable = False
        dims = values.shape if shape is None else shape
        return self.tensor(name, dims, kind, quantization=quantization, sparsity=sparsity, data=data)

    def output(self, *tensors: int) -> None:
        """Make tensors outputs of the subgraph, after existing outputs."""
        self._outputs.extend(_numbers(f"subgraph {self.index}: an output", tensors))

    def node(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[int] = (),
        *,
        out: Out | list[Out] | None = None,
        options: Mapping[str, Any] | None = None,
        version: int = 1,
        custom: bool = False,
        custom_options: bytes = b"",
        intermediates: Sequence[int] = (),
    ) -> Any:
        """Add a node; `out` makes new outputs, `outputs` takes existing tensors.

        Returns the number of its output, or a tuple of numbers if there are several or `out` is a list.

        Raises: InputError, also for an operator, an option or an option's value that the format does not have.
        """
        where = f"node {len(self._nodes)} ({shortened(str(op))})"
        chosen = {} if custom and not options else _options(op, options or {}, custom)
        read, internal = (
            _numbers(f"{where}: {what}", tensors)
            for what, tensors in (("an input", inputs), ("an intermediate", intermediates))
        )
        last = whole(f"{where}: version", version, 32)
        payload = bytes_of(f"{where}: custom_options", custom_options)
        if out is not None:
            outputs = [self._made(made) for made in (out if isinstance(out, list) else [out])]
        numbers = _numbers(f"{where}: an output", outputs)
        node = Node(len(self._nodes), op, last, read, numbers, chosen, custom, payload, internal)
        self._nodes.append(node)
        return numbers if isinstance(out, list) or len(numbers) != 1 else numbers[0]


def _numbers(what: str, values: Sequence[int]) -> tuple[int, ...]:
    """Integers of 32 bits, as the format has them for dimensions and tensors. Raises: InputError."""
    try:
        given = tuple(values)
    except TypeError:
        message = f"{what} is {shown(values)}, must be a sequence of integers"
        raise InputTypeError(message) from None
    return tuple(whole(what, each, 32) for each in given)


def _kind(where: str, kind: TensorType) -> TensorType:
    """Raises: InputError."""
    if isinstance(kind, TensorType):
        return kind
    return TensorType(whole(f"{where}: type", kind, least=0, most=len(TensorType) - 1))


def _quantization(where: str, given: Quantization) -> Quantization:
    """Quantization in Python's own numbers. Raises: InputError."""
    if not isinstance(given, Quantization):
        message = f"{where}: quantization is {shown(given)}, must be a Quantization"
        raise InputTypeError(message)
    scales = tuple(real(f"{where}: a scale", each, 32) for each in given.scales)
    zeros = tuple(whole(f"{where}: a zero point", each) for each in given.zero_points)
    rest = (whole(f"{where}: {n}", v, 32) for n, v in zip(given._fields[2:], given[2:], strict=True))
    return Quantization(scales, zeros, *rest)


def write_model(model: Model, external_buffers: bool = False, absent_when_empty: bool = False) -> bytes:
    """The file of a model, as `ModelBuilder.build`."""
    return write_tree(model_tree(model, absent_when_empty), external_buffers)


def as_read(model: Model) -> Model:
    """The same model as a view of verified rows, `model.file`: the model itself if it is one, else written and read
    again.

    Raises: ModelFormatError for a model that is not valid.
    """
    return model if model.file is not None else read_model(write_model(model))


def with_metadata(source: bytes | bytearray | memoryview, name: str, payload: bytes) -> bytes:
    """The file with metadata `name` added or replaced; everything else that is in the schema is kept.

    Raises: ModelFormatError for bytes that are not a model.
    """
    file = read_model(source).file
    assert file is not None
    tables = Tables(file, bounded=True)
    model = tables.table("Model", tables.root())
    external = _gather_outside(file, model)
    buffers = [*(model["buffers"] or ({},)), {"data": bytes(payload)}]
    kept = [entry for entry in model["metadata"] or () if entry["name"] != name]
    kept.append({"name": name, "buffer": len(buffers) - 1})
    return write_tree({**model, "buffers": buffers, "metadata": kept}, external)


def _gather_outside(file: File, model: dict[str, Any]) -> bool:
    """Move bytes from after the flatbuffer into the decoded tables; returns whether there were any."""
    found = False
    nodes = [node for graph in model["subgraphs"] or () for node in graph["operators"] or ()]
    large = "large_custom_options_offset", "large_custom_options_size"
    for tables, field, (offset, size) in (
        (model["buffers"] or (), "data", ("offset", "size")),
        (nodes, "custom_options", large),
    ):
        for table in tables:
            if table[offset] > 1:
                table.update({field: file.span(table[offset], table[size]), offset: 0, size: 0})
                found = True
    return found


def _options(op: str, options: Mapping[str, Any], custom: bool) -> dict[str, Any]:
    """All options of an operator; those not given have their defaults."""
    if not custom:
        operator_code(op)
    table = None if custom else options_table(op)
    if table is None:
        if options:
            message = f"{op} has no options, got {', '.join(map(repr, options))}"
            raise InputError(message)
        return {}
    plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in options.items()}
    checked = checked_fields(table.table, plain, op)
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in checked.items()}
    return {**default_options(table.table), **given}
