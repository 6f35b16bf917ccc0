"""Mutants of models of one operator: other types, quantization, options, versions, and operands fewer, more or absent.

All choices come from a seed through `random.Random.random`, which gives the same numbers in every version of Python.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from flatbuffers import flexbuffers

from minilite.errors import MiniliteError
from minilite.format._spec import options_table, table_spec
from minilite.format.builder import ModelBuilder, write_model
from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.model import Model, Node, Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import read_model
from minilite.format.strings import encode_strings

SCALES = (0.5, 1.0, 2.0, 0.02, 1e-9, 1e9)
BUILT_IN = (1 / 128, 1 / 256, 1.0009 / 256, 1 / 32768, 1 / 65536)
ODD_SCALES = (0.0, -1.0, float("inf"), float("nan"))
ZERO_POINTS = (-128, 128, 3, 127, 300, -32768, 70000)
INTEGERS = (0, 1, 2, 3, 7, 100, 127, 255, 2**31 - 1, -1, -2, -7, -128, -(2**31), 2**40)
REALS = (0.0, 1.0, -1.0, 0.5, 2.0, 6.0, 1e-9, 1e9, 3e38, float("inf"), float("-inf"), float("nan"))
LISTS: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (1, 2), (2, 2), (-1, 4), (0, 0, 1), (1, 1, 1, 1), (1,) * 9)


class Dice:
    """Choices that a seed decides."""

    def __init__(self, *seed: Any) -> None:
        self._random = random.Random(zlib.crc32(repr(seed).encode())).random

    def number(self, end: int) -> int:
        """A number from 0 to `end` - 1."""
        return int(self._random() * end)

    def one(self, *options: Any) -> Any:
        """One of them."""
        return options[self.number(len(options))]

    def often(self, chance: float) -> bool:
        """True with that probability."""
        return self._random() < chance


def some_quantization(dice: Dice, kind: TensorType = TensorType.INT8) -> Quantization:
    """A quantization, mostly one that operators may accept."""
    if dice.often(0.05):
        return NOT_QUANTIZED
    group = dice.number(50)
    scales = BUILT_IN if group < 10 else ODD_SCALES if group >= 45 else SCALES
    usual = {TensorType.INT8: (0, -128), TensorType.UINT8: (0, 128)}.get(kind, (0,))
    zeros = ZERO_POINTS if dice.often(0.15) else usual if dice.often(0.25) else (0,)
    count = 2 if dice.often(0.1) else 1
    return Quantization(
        tuple(dice.one(*scales) for _ in range(count)), tuple(dice.one(*zeros) for _ in range(count)), dice.number(3)
    )


def some_options(table: str, dice: Dice, chance: float = 0.5) -> dict[str, Any]:
    """Some options of a table of the schema, at random."""
    found: dict[str, Any] = {}
    for field in table_spec(table).fields:
        if not field.name or not dice.often(chance):
            continue
        if field.form == "enum":
            found[field.name] = dice.one(*field.names)
        elif field.form == "scalar":
            found[field.name] = _scalar(field.code, dice)
        elif field.form == "scalars" and field.code in "iIqQ":
            found[field.name] = tuple(max(n, 0) if field.code in "IQ" else n for n in dice.one(*LISTS))
        elif field.form == "string":
            found[field.name] = dice.one("", "a", "sum")
        elif field.form == "bytes":
            found[field.name] = dice.one(b"", b"\1", b"abcd")
    return found


def _scalar(code: str, dice: Dice) -> Any:
    if code == "?":
        return dice.often(0.5)
    if code in "fd":
        return dice.one(*REALS)
    return dice.one(*(n for n in INTEGERS if fits(n, code)))


def fits(number: int, code: str) -> bool:
    """Whether an integer of that `struct` code holds the number."""
    bits = 8 * struct.calcsize(f"={code}")
    low, high = (-(1 << bits - 1), 1 << bits - 1) if code.islower() else (0, 1 << bits)
    return low <= number < high


def with_integer(data: bytes, at: int, number: int) -> bytes:
    """The bytes with an int32 written over some of them."""
    return data[:at] + struct.pack("<i", number) + data[at + 4 :]


def operands_of(model: Model, op: str) -> Node:
    """The model's first node of an operator."""
    return next(node for graph in model.subgraphs for node in graph.nodes if node.op == op)


class Mutant(NamedTuple):
    """A model that was changed."""

    data: bytes
    how: str
    """What was changed, a word each."""
    readable: bool
    """The reader takes it."""


def mutant(template: Model, op: str, dice: Dice, last: int, *, corrupted: bool) -> Mutant | None:
    """The model with one node of the operator changed; None where the result cannot be written. `last` is the
    operator's last version."""
    model = ModelBuilder.from_model(template).model()
    places = [(g, n) for g, graph in enumerate(model.subgraphs) for n, node in enumerate(graph.nodes) if node.op == op]
    number, position = dice.one(*places)
    graph = model.subgraphs[number]
    change = _Change(list(graph.tensors), graph.nodes[position], dice, last)
    how = [change.corrupt()] if corrupted else [change.any()]
    while not corrupted and dice.often(0.35):
        how.append(change.any())
    nodes = [*graph.nodes[:position], change.node, *graph.nodes[position + 1 :]]
    graphs = list(model.subgraphs)
    graphs[number] = graph._replace(tensors=tuple(change.tensors), nodes=tuple(nodes))
    try:
        data = write_model(model._replace(subgraphs=tuple(graphs)))
    except (ValueError, TypeError, OverflowError, struct.error):
        return None
    try:
        read_model(data)
    except MiniliteError:
        return Mutant(data, " ".join(how), False)
    return Mutant(data, " ".join(how), True)


class _Change:
    """A node and the tensors of its subgraph while they change."""

    def __init__(self, tensors: list[Tensor], node: Node, dice: Dice, last: int) -> None:
        self.tensors, self.node, self.dice, self.last = tensors, node, dice, last

    def any(self) -> str:
        """Changes something; says what."""
        ways = [self.kind, self.kind, self.scale, self.scale, self.version, self.count, self.count]
        ways += [self.constant, self.variable, self.shape]
        if self.node.custom_options:
            ways += [self.custom] * 6
        elif not self.node.custom and options_table(self.node.op) is not None:
            ways += [self.options] * 3
        if self.node.intermediates:
            ways += [self.intermediate]
        way = self.dice.one(*ways)
        way()
        return str(way.__name__)

    def operand(self) -> int:
        """The number of a tensor of the node; -1 if it has none."""
        node = self.node
        there = [i for i in (*node.inputs, *node.outputs, *node.intermediates) if i >= 0]
        return int(self.dice.one(*there)) if there else -1

    def put(self, number: int, **fields: Any) -> None:
        """Changes a tensor."""
        if number >= 0:
            self.tensors[number] = self.tensors[number]._replace(**fields)

    def kind(self) -> None:
        """Another type of one operand, or of all that have one type."""
        number, kind = self.operand(), TensorType(self.dice.number(21))
        if number < 0:
            return
        old = self.tensors[number].type
        alike = {*self.node.inputs, *self.node.outputs} if self.dice.often(0.5) else {number}
        for i in sorted(alike):
            if i >= 0 and self.tensors[i].type == old:
                self.put(i, type=kind, data=fitting(self.tensors[i], kind), sparsity=None)

    def scale(self) -> None:
        """Another quantization of one operand, or of all that are quantized."""
        number, operands = self.operand(), (*self.node.inputs, *self.node.outputs)
        quantized = [i for i in operands if i >= 0 and self.tensors[i].quantization.scales]
        if quantized and self.dice.often(0.7):
            number = self.dice.one(*quantized)
        q = some_quantization(self.dice, self.tensors[number].type) if number >= 0 else NOT_QUANTIZED
        every = self.dice.often(0.3)
        for i in sorted({*self.node.inputs, *self.node.outputs}) if every else [number]:
            if i == number or (i >= 0 and self.tensors[i].quantization.scales):
                self.put(i, quantization=q)

    def version(self) -> None:
        """Another version, near the last one mostly."""
        near = (1, 2, self.last, self.last, self.last + 1, self.last - 1, 0, 99)
        self.node = self.node._replace(version=max(self.dice.one(*near), 0))

    def count(self) -> None:
        """Fewer operands, more of them, absent ones, or others in their places."""
        side = "inputs" if self.dice.often(0.75) else "outputs"
        numbers = list(getattr(self.node, side))
        way = self.dice.number(6)
        if way == 0 or not numbers:
            numbers.append(self.added())
        elif way == 1:
            numbers.pop()
        elif way == 2:
            numbers[-1] = -1
        elif way == 3 and side == "inputs":
            numbers[self.dice.number(len(numbers))] = -1
        elif way == 4 and side == "inputs":
            numbers = numbers[::-1]
        else:
            numbers[self.dice.number(len(numbers))] = self.added()
        self.node = self.node._replace(**{side: tuple(numbers)})

    def added(self) -> int:
        """The number of a new tensor like one of the node's."""
        number = self.operand()
        like = self.tensors[number] if number >= 0 else Tensor(0, "new", TensorType.FLOAT32, (2,))
        self.tensors.append(like._replace(index=len(self.tensors), is_variable=like.data is None))
        return len(self.tensors) - 1

    def constant(self) -> None:
        """A constant becomes a variable; a tensor that nothing computes becomes a constant."""
        number = self.dice.one(*(self.node.inputs or (-1,)))
        if number < 0:
            return
        tensor = self.tensors[number]
        if tensor.data is not None:
            self.put(number, data=None, is_variable=True, sparsity=None)
            return
        self.tensors.append(tensor._replace(index=len(self.tensors), data=fitting(tensor, tensor.type, True)))
        inputs = tuple(len(self.tensors) - 1 if i == number else i for i in self.node.inputs)
        self.node = self.node._replace(inputs=inputs)

    def variable(self) -> None:
        """An input is a variable, or is one no longer."""
        number = self.dice.one(*(self.node.inputs or (-1,)))
        if number < 0 or self.tensors[number].data is not None:
            return
        self.tensors.append(
            self.tensors[number]._replace(index=len(self.tensors), is_variable=not self.tensors[number].is_variable)
        )
        self.node = self.node._replace(
            inputs=tuple(len(self.tensors) - 1 if i == number else i for i in self.node.inputs)
        )

    def shape(self) -> None:
        """Other dimensions of one operand, more than there may be now and then."""
        number = self.operand()
        if number < 0:
            return
        tensor = self.tensors[number]
        ways = ((), (1,), (0,), (1, 1), (1, 1, 1, 1, 1), (*tensor.shape, 1), tensor.shape[:-1], (1,) * 9)
        shape = self.dice.one(*ways)
        data = fitting(tensor._replace(shape=shape), tensor.type)
        self.put(number, shape=shape, shape_signature=None, has_rank=True, data=data, sparsity=None)

    def options(self) -> None:
        """Other options."""
        table = options_table(self.node.op)
        assert table is not None
        fields = [field for field in table_spec(table.table).fields if field.name]
        found = some_options(table.table, self.dice, 0.2 if len(fields) > 3 else 0.6)
        self.node = self.node._replace(options={**self.node.options, **found})

    def custom(self) -> None:
        """Other custom options, written as they should be."""
        data = self.node.custom_options
        values = map_of(data)
        if values is None:
            at = 4 * self.dice.number(max(len(data) // 4, 1))
            data = with_integer(data, at, self.dice.one(*(n for n in INTEGERS if abs(n) < 2**31)))
        else:
            name = self.dice.one(*sorted(values), "unknown")
            if self.dice.often(0.25):
                values.pop(name, None)
            else:
                values[name] = self.other(values.get(name, 1))
            data = bytes(flexbuffers.Dumps(values))
        self.node = self.node._replace(custom_options=data)

    def other(self, value: Any) -> Any:
        """Another value of an option, of the same type mostly."""
        if self.dice.often(0.2):
            return self.dice.one(True, False, 1, 1.5, "text", [1, 2], [1.0, 2.5], ["a"], {"a": 1}, None, 2**40)
        if isinstance(value, bool):
            return not value
        if isinstance(value, float):
            return self.dice.one(*REALS, value / 2)
        if isinstance(value, int):
            return self.dice.one(*INTEGERS, value + 1)
        return self.dice.one([0], [1, 1], "x", 2)

    def corrupt(self) -> str:
        """Changes bytes of the custom options, or removes or adds some."""
        data, dice = bytearray(self.node.custom_options), self.dice
        way = dice.one("byte", "byte", "byte", "end", "cut", "longer", "shifted")
        if way == "byte":
            data[dice.number(len(data))] = dice.number(256)
        elif way == "end":
            data[-1 - dice.number(min(len(data), 4))] = dice.number(256)
        elif way == "cut":
            data = data[: dice.number(len(data))]
        elif way == "longer":
            data += bytes(dice.number(256) for _ in range(1 + dice.number(4)))
        else:
            data = data[dice.number(len(data)) :]
        self.node = self.node._replace(custom_options=bytes(data))
        return str(way)

    def intermediate(self) -> None:
        """Other intermediate tensors, fewer of them, or other scales."""
        numbers = list(self.node.intermediates)
        way = self.dice.number(3)
        if way == 0:
            numbers.pop()
        elif way == 1:
            numbers[self.dice.number(len(numbers))] = -1
        else:
            self.put(self.dice.one(*numbers), quantization=some_quantization(self.dice))
        self.node = self.node._replace(intermediates=tuple(numbers))


def map_of(data: bytes) -> dict[str, Any] | None:
    """The values of a flexbuffer by name; None for bytes that are none."""
    try:
        found = flexbuffers.Loads(data)
    except (ValueError, TypeError, LookupError, OverflowError, struct.error, AttributeError):
        return None
    return dict(found) if isinstance(found, Mapping) and found else None


def fitting(tensor: Tensor, kind: TensorType, anew: bool = False) -> Any:
    """A constant's bytes, repeated as often as the type and its shape need; None for what is no constant."""
    if tensor.data is None and not anew:
        return None
    count = int(np.prod([max(n, 0) for n in tensor.shape], dtype=np.int64))
    if kind == TensorType.STRING:
        words: Sequence[bytes] = [b"", b"a", b"bcd"]
        return np.frombuffer(encode_strings(np.resize(np.array(words, object), count)), np.uint8)
    bytes_needed = (count * element_bits(kind) + 7) // 8
    if bytes_needed > 1 << 20:
        return None
    old = b"" if tensor.data is None else tensor.data.tobytes()
    raw = np.resize(np.frombuffer(old or b"\0\1\0\2", np.uint8), bytes_needed)
    width = np.dtype(numpy_type(kind)).itemsize
    return raw.view(numpy_type(kind)) if 8 * width == element_bits(kind) else raw
