"""Sweeps: models of many nodes of one operator, each of which differs in one thing from a node that runs.

Mutants draw a few of all the things that may differ; sweeps have each of them by itself: every scale that is refused
somewhere, every type in the place of another, every version, option and operand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flatbuffers import flexbuffers
from support.lowering_mutants import INTEGERS, LISTS, REALS, fits, fitting, map_of, with_integer

from minilite.errors import MiniliteError
from minilite.format._spec import options_table, table_spec
from minilite.format.builder import ModelBuilder, write_model
from minilite.format.dtypes import TensorType
from minilite.format.model import Model, Node, Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import read_model

FEW_OPERANDS = 6
SOME_KINDS = (0, 1, 2, 4, 5, 7, 9)
"""Types that are put in the place of operands where there are many operands."""


class Change(NamedTuple):
    """What differs in a node: its own fields, or those of an operand's tensor (side, position)."""

    node: Mapping[str, Any] = {}
    tensor: Mapping[str, Any] = {}
    operand: tuple[str, int] = ("", 0)


def sweeps(op: str, templates: Sequence[Model], last: int) -> Iterator[tuple[str, bytes]]:
    """Models by name; `last` is the operator's last version."""
    for number, template in enumerate(chosen(op, templates)):
        plain = ModelBuilder.from_model(template).model()
        node = next(node for node in plain.subgraphs[0].nodes if node.op == op)
        ways = {"scales": scales, "operands": operands}
        if number < 2:
            ways["types"] = types
        if number < (1 if node.custom else 2):
            ways["options"] = options
        for name, way in ways.items():
            changes = list(way(plain.subgraphs[0].tensors, node))
            if name == "options":
                changes += [Change({"version": version}) for version in range(last + 3)]
            for part, data in enumerate(_models(plain, node, changes)):
                yield f"{op} sweep {number} {name} {part}", data


def chosen(op: str, templates: Sequence[Model]) -> list[Model]:
    """The first model for each of some types of the operator's first operand, those of floats first."""
    found: dict[int, Model] = {}
    for model in templates:
        nodes = [node for node in model.subgraphs[0].nodes if node.op == op]
        there = [i for i in (*nodes[0].inputs, *nodes[0].outputs) if i >= 0] if nodes else []
        kind = model.subgraphs[0].tensors[there[0]].type if there else TensorType.FLOAT32
        if nodes and kind not in found:
            found[kind] = model
    order = [kind for kind in (0, 9, 3, 7) if kind in found]
    return [found[kind] for kind in order] or list(found.values())[:2]


def _models(model: Model, node: Node, changes: Sequence[Change]) -> Iterator[bytes]:
    """The changed nodes in one model, or in several if the reader refuses it for one of them."""
    if not changes:
        return
    data = write_model(_with(model, node, changes))
    try:
        read_model(data)
    except MiniliteError:
        if len(changes) > 1:
            middle = len(changes) // 2
            yield from _models(model, node, changes[:middle])
            yield from _models(model, node, changes[middle:])
        return
    yield data


def _with(model: Model, node: Node, changes: Sequence[Change]) -> Model:
    """The model with such nodes after its own. They share its tensors, but for outputs and what is changed."""
    graph = model.subgraphs[0]
    tensors, nodes, inputs = list(graph.tensors), list(graph.nodes), list(graph.inputs)

    def added(tensor: Tensor, given: bool) -> int:
        tensors.append(tensor._replace(index=len(tensors)))
        if given and tensor.data is None and not tensor.is_variable:
            inputs.append(len(tensors) - 1)
        return len(tensors) - 1

    for change in changes:
        sides = {side: list(getattr(node, side)) for side in ("inputs", "outputs", "intermediates")}
        sides |= {side: list(numbers) for side, numbers in change.node.items() if side in sides}
        side, position = change.operand
        if side:
            old = tensors[sides[side][position]]
            sides[side][position] = added(old._replace(**change.tensor), side == "inputs")
        made = (side, position) if side == "outputs" else None
        sides["outputs"] = [
            number if number < 0 or ("outputs", i) == made else added(tensors[number], False)
            for i, number in enumerate(sides["outputs"])
        ]
        rest = {field: value for field, value in change.node.items() if field not in sides}
        nodes.append(node._replace(index=len(nodes), **rest, **{side: tuple(s) for side, s in sides.items()}))
    changed = graph._replace(tensors=tuple(tensors), nodes=tuple(nodes), inputs=tuple(inputs))
    return model._replace(subgraphs=(changed, *model.subgraphs[1:]))


# What is other --------------------------------------------------------------------------------------------------------


def _operands(node: Node) -> Iterator[tuple[str, int, int]]:
    """Side, position and tensor of every operand that is there."""
    for side in ("inputs", "outputs", "intermediates"):
        for position, number in enumerate(getattr(node, side)):
            if number >= 0:
                yield side, position, number


def scales(tensors: Sequence[Tensor], node: Node) -> Iterator[Change]:
    """Every operand with scales and zero points of all kinds; one that has none with a scale."""
    there = list(_operands(node))
    for side, position, number in there:
        tensor = tensors[number]
        q = tensor.quantization
        others = [Quantization((0.5,), (0,))]
        if q.scales:
            first = q.scales[0]
            several = [(factor * first, *q.scales[1:]) for factor in (0.0, -1.0, 1.5, math.inf, math.nan)]
            single = [(1 / 256,), (1 / 128,), (1 / 32768,), (1.001 / 256,), (1e-12,), (1e12,)]
            others = [q._replace(scales=text) for text in several]
            others += [Quantization(text, q.zero_points[:1]) for text in single]
            zeros = (0, 1, -1, -128, 128, 127, 255, 256, -129, 32767, -32769)
            others += [q._replace(zero_points=(zero,) * len(q.zero_points)) for zero in zeros]
            others.append(NOT_QUANTIZED)
            if len(there) > FEW_OPERANDS:
                others = others[1 :: len(there) // FEW_OPERANDS]
            for dimension, size in enumerate(tensor.shape):
                if size > 1 and len(there) <= FEW_OPERANDS:
                    others.append(Quantization((first,) * size, (0,) * size, dimension))
                    others.append(Quantization((first,) * size, (1,) * size, dimension))
        yield from (Change(tensor={"quantization": other}, operand=(side, position)) for other in others)


def types(tensors: Sequence[Tensor], node: Node) -> Iterator[Change]:
    """Every operand in every other type."""
    many = sum(1 for _ in _operands(node)) > FEW_OPERANDS
    for side, position, number in _operands(node):
        tensor = tensors[number]
        for code in SOME_KINDS if many else range(21):
            kind = TensorType(code)
            if kind != tensor.type and side != "intermediates":
                yield Change(
                    tensor={"type": kind, "data": fitting(tensor, kind), "sparsity": None}, operand=(side, position)
                )


def operands(tensors: Sequence[Tensor], node: Node) -> Iterator[Change]:
    """Operands fewer, more, absent, constant, computed or variable; of other ranks."""
    for side in ("inputs", "outputs", "intermediates"):
        numbers = getattr(node, side)
        for position, number in enumerate(numbers):
            if side != "outputs":  # those the reader refuses to be absent
                yield Change({side: (*numbers[:position], -1, *numbers[position + 1 :])})
            if side == "inputs" and number >= 0:
                tensor = tensors[number]
                other = not tensor.is_variable if tensor.data is None else False
                yield Change(tensor={"data": None, "is_variable": other, "sparsity": None}, operand=(side, position))
                if tensor.data is None:
                    data = fitting(tensor, tensor.type, True)
                    yield Change(tensor={"data": data, "is_variable": False}, operand=(side, position))
            if number >= 0 and tensors[number].data is None:
                yield from _shapes(tensors[number], side, position)
        if numbers:
            yield Change({side: numbers[:-1]})
            yield Change({side: (*numbers, numbers[0])})
            if side != "outputs":
                yield Change({side: (*numbers, -1)})


def _shapes(tensor: Tensor, side: str, position: int) -> Iterator[Change]:
    for shape in ((), (*tensor.shape, 1), tensor.shape[1:]):
        fields = {"shape": shape, "shape_signature": None, "has_rank": True}
        yield Change(tensor=fields, operand=(side, position))


def options(tensors: Sequence[Tensor], node: Node) -> Iterator[Change]:
    """Every option with other values."""
    if node.custom:
        yield from (Change({"custom_options": data}) for data in _customs(node.custom_options))
        return
    table = options_table(node.op)
    for field in table_spec(table.table).fields if table is not None else ():
        for value in _values(field) if field.name else ():
            yield Change({"options": {**node.options, field.name: value}})


def _values(field: Any) -> Sequence[Any]:
    if field.form == "enum":
        return tuple(field.names)
    if field.form == "scalar":
        if field.code == "?":
            return False, True
        return REALS if field.code in "fd" else tuple(n for n in INTEGERS if fits(n, field.code))
    if field.form == "scalars" and field.code in "iq":
        return LISTS
    return {"string": ("", "a", "sum"), "bytes": (b"", b"\1")}.get(field.form, ())


def _customs(data: bytes) -> Iterator[bytes]:
    values = map_of(data)
    if values is None:
        for at in range(0, len(data), 4):
            yield from (with_integer(data, at, n) for n in INTEGERS if fits(n, "i"))
        return
    for name, value in values.items():
        yield bytes(flexbuffers.Dumps({key: text for key, text in values.items() if key != name}))
        others: list[Any] = [True, False, 1.5, -1.5, "text", [1, 2], [1.5, 2.5], ["a"], {"a": 1}, None, *INTEGERS]
        if isinstance(value, float):
            others += REALS
        if isinstance(value, int):
            others += [value - 1, value + 1, float(value), value + 0.5]
        yield from (bytes(flexbuffers.Dumps({**values, name: other})) for other in others)
    yield bytes(flexbuffers.Dumps({**values, "unknown": 1}))
    yield from (b"", b"\0", bytes(flexbuffers.Dumps({})), bytes(flexbuffers.Dumps([1, 2])), data + b"\0")
