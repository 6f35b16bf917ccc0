"""A lowered model as text: one line per node that is lowered, refused or removed, and per tensor that changed.

It is read from the loading description (csrc/api/load.h: ml_graph_def, ml_node_def, ml_tensor_def) and from the rows of
the file (csrc/api/load_file.h). `lower` is the only function here that knows how minilite comes to a description.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from minilite._core import ffi, lib
from minilite.engine.program import Program
from minilite.errors import MiniliteError, UnsupportedOpError
from minilite.format.builder import ModelBuilder, write_model
from minilite.format.dtypes import TensorType
from minilite.format.model import Model
from minilite.format.reader import read_model

KINDS = tuple(kind.suffix for kind in TensorType)
FLAGS = {lib.ML_NODE_PYTHON: "python", lib.ML_NODE_VIEW: "view", lib.ML_NODE_TFLITE_SHARES: "tflite_shares"}
FLAGS |= {lib.ML_NODE_IN_PLACE << i: f"in_place{i}" for i in range(8)}
CTYPES = {"i": "int32_t *", "q": "int64_t *", "f": "float *", "d": "double *", "a": "ml_array *"}

Place = tuple[int, int]
"""A subgraph, and a node or a tensor of it."""


class Lowered(NamedTuple):
    """A model that was lowered."""

    rows: Any
    """Its ml_file."""
    description: Any
    """Its ml_graph_def."""
    resources: int
    """How many resource variables it has."""
    owner: Any
    """What keeps all of it alive."""


def lower(model: Model, custom_ops: Mapping[str, Any], reference: bool) -> tuple[Lowered | None, MiniliteError | None]:
    """The model lowered, and why it or its graph is refused, in the way an Interpreter does it."""
    lowered = None
    try:
        program = Program(model, custom_ops, reference=reference)
        lowering = program.lowered.lowering
        lowered = Lowered(
            lowering.file.rows, lowering.pointer.description, program.lowered.resources, (program, lowering)
        )
        program.graph(0)
    except MiniliteError as error:
        return lowered, error
    return lowered, None


class Text(NamedTuple):
    """What is recorded of a model. Each part is compared by itself."""

    nodes: str
    """What nodes lower to, and the classes of errors."""
    rows: str
    """The operand types of the rows of kernels that run the nodes."""
    messages: str
    """The texts of errors."""


def text_of(data: bytes, custom_ops: Mapping[str, Any] = {}, references: bool = False) -> Text:
    """The text of a lowered model; with `references`, also as its numpy references run it."""
    try:
        model = read_model(data)
    except MiniliteError as error:
        return Text(f"file: {type(error).__name__}", "", str(error))
    rest: dict[str, Model] = {}
    found = _Record(model, custom_ops, False, rest).text()
    if not references:
        return found
    other = _Record(model, custom_ops, True, rest).text()
    return Text(*(f"{here}\nreference:\n{there}" for here, there in zip(found, other, strict=True)))


def hash_of(text: str, bytes: int = 6) -> str:
    """A few bytes that stand for a text."""
    return hashlib.blake2b(text.encode(), digest_size=bytes).hexdigest()


class _Record:
    """One model while its text is gathered: nodes that are refused are left out until the others are lowered."""

    def __init__(self, model: Model, custom_ops: Mapping[str, Any], reference: bool, rest: dict[str, Model]) -> None:
        self.model, self.custom_ops, self.reference = model, custom_ops, reference
        self.rest = rest
        """Models that were made from this one before, by the nodes that are left in them."""
        self.labels = [[node.op for node in graph.nodes] for graph in model.subgraphs]
        self.left = [list(range(len(graph.nodes))) for graph in model.subgraphs]
        self.lines: dict[tuple[int, int, int], str] = {}
        self.rows: dict[Place, str] = {}
        self.messages: list[str] = []
        self.heads: list[str] = []

    def text(self) -> Text:
        """All of it."""
        model = self.model
        while True:
            lowered, error = lower(model, self.custom_ops, self.reference)
            gone = self.refused(error)
            if not gone:
                break
            for subgraph, numbers in enumerate(self.left):
                self.left[subgraph] = [number for number in numbers if (subgraph, number) not in gone]
            if not any(self.left):
                break
            if (key := repr(self.left)) not in self.rest:
                self.rest[key] = _without(self.model, self.left)
            model = self.rest[key]
        if lowered is not None and any(self.left):
            self.lowered(lowered)
        heads = list(dict.fromkeys(self.heads))
        parts = (
            [*heads, *(line for _, line in sorted(self.lines.items()))],
            [f"{g}:{n} {text}" for (g, n), text in sorted(self.rows.items())],
        )
        return Text(*("\n".join(part) for part in (*parts, self.messages)))

    def refused(self, error: MiniliteError | None) -> set[Place]:
        """Notes an error; the nodes that are refused, which may be left out."""
        if error is None:
            return set()
        gone: set[Place] = set()
        self.messages.append(f"{type(error).__name__}: {error}")
        if not isinstance(error, UnsupportedOpError):
            there = error.subgraph is not None and error.node is not None
            where = f" at {error.subgraph}:{self.number(error.subgraph, error.node)}" if there else ""
            self.heads.append(f"error: {type(error).__name__}{where}")
            return gone
        self.heads.append("error: UnsupportedOpError")
        for operator in error.operators:
            for subgraph, node in operator.nodes:
                number = self.number(subgraph, node)
                assert number is not None
                gone.add((subgraph, number))
                self.lines[1, subgraph, number] = f"{subgraph}:{number} {operator.op} refused"
                self.messages.append(f"{subgraph}:{number} {operator.op} {operator.reason}")
            if not operator.nodes:
                self.heads.append("error: a tensor is refused")
        return gone

    def number(self, subgraph: int, node: int | None) -> int | None:
        """The number in the file of a node that is left."""
        left = self.left[subgraph]
        return left[node] if node is not None and 0 <= node < len(left) else node

    def lowered(self, lowered: Lowered) -> None:
        """Notes what the nodes that are left have become."""
        if lowered.resources:
            self.heads.append(f"resources: {lowered.resources}")
        definition, tensors, nodes = lowered.description, 0, 0
        for number in range(definition.n_subgraphs):
            graph, rows = definition.subgraphs[number], lowered.rows.subgraphs[number]
            self.tensors(number, definition, tensors, rows)
            there = set()
            for position in range(graph.n_nodes):
                node = definition.nodes[nodes + position]
                there.add(index := self.left[number][node.index])
                self.node(number, index, definition, node, tensors)
            for index in set(self.left[number]) - there:
                self.lines[1, number, index] = f"{number}:{index} {self.labels[number][index]} vanishes"
            tensors, nodes = tensors + graph.n_tensors, nodes + graph.n_nodes

    def node(self, subgraph: int, index: int, definition: Any, node: Any, tensors: int) -> None:
        """Notes what a node lowers to."""
        info, _ = described(node.kernel)
        has_eval = ffi.new("int32_t *")
        types = lib.ml_kernel_types(node.kernel, node.typed, has_eval) if node.typed >= 0 else ffi.NULL
        io, middle = node.io_start, node.io_start + node.n_inputs
        inputs, outputs = definition.io[io:middle], definition.io[middle : middle + node.n_outputs]
        calls = list(definition.io[middle + node.n_outputs : middle + node.n_outputs + node.n_subgraphs])
        given = [f"{i}:{KINDS[definition.tensors[tensors + i].type]}" if i >= 0 else "-" for i in outputs]
        params = definition.params + node.params_start if info.fields else None
        parts = [
            f"{subgraph}:{index} {self.labels[subgraph][index]}",
            f"kernel {info.name}",
            "C" if has_eval[0] else "no eval",
            *flag_names(node.flags),
            *(f"{name}={value(kind, params + at)}" for name, kind, at in sorted(info.fields)),
            f"in {' '.join('-' if i < 0 else str(i) for i in inputs)}",
            f"out {' '.join(given)}",
            *([f"calls {' '.join(map(str, calls))}"] if calls else []),
        ]
        self.lines[1, subgraph, index] = " | ".join(parts)
        self.rows[subgraph, index] = ffi.string(types).decode() if types else "none"

    def tensors(self, subgraph: int, definition: Any, first: int, rows: Any) -> None:
        """Notes the tensors that are other than the file has them."""
        for number in range(rows.n_tensors):
            row, tensor = rows.tensors[number], definition.tensors[first + number]
            rank = tensor.shape.rank
            shape = tuple(tensor.shape.dims[0:rank])
            same = tensor.type == row.type and tensor.data == row.data and shape == tuple(row.shape[0 : row.rank])
            if same and tensor.offline_offset < 0:
                continue
            parts = [f"{subgraph}:{number} tensor {KINDS[tensor.type]} {'x'.join(map(str, shape))}"]
            if tensor.data != row.data:
                parts.append(f"{tensor.bytes} bytes {contents(tensor.data, tensor.bytes)} flags {tensor.flags}")
            if tensor.offline_offset >= 0:
                parts.append(f"offline offset {tensor.offline_offset}")
            self.lines[0, subgraph, number] = " | ".join(parts)


class Described(NamedTuple):
    """A kernel's row."""

    name: str
    fields: Sequence[tuple[str, str, int]]
    """Name, kind and offset of its parameters."""


_described: dict[int, tuple[Described, Any]] = {}


def described(kernel: Any) -> tuple[Described, Any]:
    """What a kernel's row says of itself."""
    address = int(ffi.cast("uintptr_t", kernel))
    if address not in _described:
        info, error = ffi.new("ml_kernel_info *"), ffi.new("ml_error *")
        assert lib.ml_kernel_describe(kernel, info, error) == lib.ML_OK
        fields = [
            (ffi.string(f.name).decode(), f.kind.decode(), f.offset)
            for f in (info.fields[i] for i in range(info.n_fields))
        ]
        _described[address] = Described(ffi.string(info.name).decode(), fields), kernel
    return _described[address]


def flag_names(flags: int) -> Iterable[str]:
    """The words of a node's flags; bits without a word as a number."""
    rest = flags & ~sum(FLAGS)
    return [*(word for bit, word in FLAGS.items() if flags & bit), *([f"flags {rest:#x}"] if rest else [])]


def value(kind: str, at: Any) -> str:
    """A parameter's value; an array's bytes, or what stands for them when they are many."""
    found = ffi.cast(CTYPES[kind], at)[0]
    return contents(found.data, found.bytes) if kind == "a" else repr(found)


def contents(data: Any, bytes: int) -> str:
    """Bytes as hexadecimal digits, or a hash of them when they are many."""
    if not data or not bytes:
        return "empty"
    raw = ffi.buffer(ffi.cast("char *", data), bytes)[:]
    return raw.hex() if bytes <= 32 else f"{bytes}b#{hashlib.blake2b(raw, digest_size=8).hexdigest()}"


def _without(model: Model, left: Sequence[Sequence[int]]) -> Model:
    """The model with those nodes alone, read again; what the others compute are variables, so that it is whole."""
    graphs = []
    for graph, numbers in zip(ModelBuilder.from_model(model).model().subgraphs, left, strict=True):
        gone = {i for node in graph.nodes if node.index not in numbers for i in node.outputs}
        gone -= {tensor.index for tensor in graph.tensors if tensor.data is not None}
        tensors = [tensor._replace(is_variable=tensor.is_variable or tensor.index in gone) for tensor in graph.tensors]
        nodes = tuple(graph.nodes[number] for number in numbers)
        graphs.append(graph._replace(tensors=tuple(tensors), nodes=nodes))
    plain = ModelBuilder.from_model(model).model()
    return read_model(write_model(plain._replace(subgraphs=tuple(graphs))))
