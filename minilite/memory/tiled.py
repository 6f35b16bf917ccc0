"""Tiles in a file: nodes that run patch by patch become nodes for each patch, which any runtime runs.

SLICE cuts the input of a patch, PAD puts the zeros around it that a convolution with SAME padding would see, the
operator itself has VALID padding, and CONCATENATION joins the patches of an output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite._native.kernels import find_kernel
from minilite._native.tiles import Patch, find_tiles, patch_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.memory import offline

if TYPE_CHECKING:
    from minilite._native.plan import Plan
    from minilite._native.tiles import Rectangle, TileGroup
    from minilite.format.builder import SubgraphBuilder
    from minilite.format.model import Model, Node

__all__ = ["find_tiles", "tiled", "whole_nodes"]
Shape = tuple[int, ...]
_PADS = ("pad_top", "pad_bottom", "pad_left", "pad_right")
_WINDOWS = {"CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"}
_UNPADDED = {"AVERAGE_POOL_2D", "L2_POOL_2D"}
"""Operators that divide by the elements inside the image, as no operator without padding of its own does."""
_OTHER = {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "MIRROR_PAD"}
"""Operators whose patches no operator computes."""
_VERSIONS = {
    ("SLICE", TensorType.INT8): 2, ("SLICE", TensorType.UINT8): 2, ("SLICE", TensorType.INT16): 4,
    ("PAD", TensorType.INT8): 2, ("PAD", TensorType.INT16): 3, ("PADV2", TensorType.INT8): 2,
    ("CONCATENATION", TensorType.INT8): 2, ("CONCATENATION", TensorType.INT16): 3,
}  # fmt: skip
"""Versions of the operators that are added, where not 1."""


_LEAST: dict[TensorType, Any] = {
    TensorType.FLOAT32: np.array(-np.inf, np.float32), TensorType.UINT8: np.array(0, np.uint8),
    TensorType.INT8: np.array(-128, np.int8), TensorType.INT16: np.array(-32768, np.int16),
}  # fmt: skip


class Part(NamedTuple):
    """A tensor that holds a rectangle of another."""

    tensor: int
    rectangle: Rectangle


def _hull(a: Rectangle, b: Rectangle) -> Rectangle:
    first, second = ((min(s[0], t[0]), max(s[1], t[1])) for s, t in zip(a, b, strict=True))
    return first, second


def _size(side: tuple[int, int]) -> int:
    return side[1] - side[0]


class _Source:
    """A model, and its plan, in which each node runs by itself."""

    def __init__(self, model: Model, plan: Plan) -> None:
        self.plan = plan
        self.sub = model.subgraphs[0]
        self.rows = plan.nodes()
        self.position = {index: at for at, (index, _) in enumerate(self.rows)}

    def node(self, position: int) -> Node:
        return self.sub.nodes[self.rows[position][0]]

    def shape(self, tensor: int) -> Shape:
        return tuple(self.plan.shape(tensor) or ())

    def whole(self, tensor: int) -> Rectangle:
        shape = self.shape(tensor)
        return ((0, shape[1]), (0, shape[2])) if len(shape) in (3, 4) else ((0, 1), (0, 1))

    def patch(self, position: int, out: Rectangle) -> Patch | None:
        return patch_of(self.plan, position, out, len(self.node(position).inputs))

    def params(self, position: int, patch: Patch) -> dict[str, Any]:
        """The kernel's parameters by name."""
        kernel = find_kernel(self.plan.kernel(position)[0])
        assert kernel is not None
        names = (name for name, _ in kernel.fields)
        return dict(zip(names, kernel.layout.unpack_from(patch.params), strict=False))

    def pads(self, position: int, patch: Patch) -> tuple[int, int, int, int]:
        """The padding of a patch: above, below, left, right."""
        params = self.params(position, patch)
        top, bottom, left, right = (int(params[name]) for name in _PADS)
        return top, bottom, left, right


def whole_nodes(model: Model, plan: Plan) -> set[int]:
    """The positions of nodes whose patches a file cannot have; `plan` fuses no nodes."""
    source = _Source(model, plan)
    shaped = {x for at, (_, status) in enumerate(source.rows) if status == "folded" for x in source.node(at).inputs}
    found: set[int] = set()
    for at, (_, status) in enumerate(source.rows):
        node = source.node(at)
        if status != "runs":
            continue
        if node.custom or node.op in _OTHER or shaped & {*node.outputs}:
            found.add(at)
        elif node.op in _UNPADDED:
            patch = source.patch(at, source.whole(node.outputs[0]))
            if patch is None or any(source.pads(at, patch)):
                found.add(at)
    return found


def tiled(model: Model, plan: Plan, groups: Iterable[TileGroup]) -> bytes:
    """The file of the model with these groups; `plan` fuses no nodes. Its inputs have the plan's shapes, for good."""
    source = _Source(model, plan)
    builder = ModelBuilder.from_model(model)
    builder._metadata.pop(offline.NAME, None)  # it is a plan for other tensors
    graph = builder._subgraphs[0]
    graph._nodes.clear()
    before = 0
    for group in groups:
        members = [at for at in range(group.first, group.last + 1) if source.rows[at][1] == "runs"]
        first, end = source.rows[members[0]][0], source.rows[members[-1]][0] + 1
        inside = {source.rows[at][0] for at in members}
        graph._nodes.extend(source.sub.nodes[before:first])
        graph._nodes.extend(node for node in source.sub.nodes[first:end] if node.index not in inside)
        _Writer(source, graph, members, (group.rows, group.columns)).write()
        before = end
    graph._nodes.extend(source.sub.nodes[before:])
    _drop_unused(graph)
    return builder.build()


def _drop_unused(graph: SubgraphBuilder) -> None:
    """Tensors that no node mentions keep their numbers, and take no bytes, which some runtimes give them. Inputs cannot
    be resized."""
    used = {t for node in graph._nodes for t in (*node.inputs, *node.outputs, *node.intermediates)}
    for number, tensor in enumerate(graph._tensors):
        if number in graph._inputs:
            graph._tensors[number] = tensor._replace(shape_signature=None)
        elif number not in used and number not in graph._outputs and tensor.data is None:
            graph._tensors[number] = tensor._replace(shape=(0,), shape_signature=None)


class _Writer:
    """Writes the nodes of one group."""

    def __init__(self, source: _Source, graph: SubgraphBuilder, members: Sequence[int], grid: tuple[int, int]) -> None:
        self.source, self.graph, self.members, self.grid = source, graph, members, grid
        inside = {source.rows[at][0] for at in members}
        later = {x for node in source.sub.nodes if node.index not in inside for x in node.inputs}
        self.made = {source.node(at).outputs[0] for at in members}
        self.outputs = [y for at in members if (y := source.node(at).outputs[0]) in later or y in source.sub.outputs]
        self.needs: dict[int, Rectangle] = {}
        self.parts: dict[int, Part] = {}
        self.tag = ""

    def write(self) -> None:
        """Writes all patches, then joins those of each output."""
        divided = {y: self._divided(y) for y in self.outputs}
        joined: dict[int, list[int]] = {y: [] for y in self.outputs}
        for at in product(range(self.grid[0]), range(self.grid[1])):
            self.tag = f"tile {at[0]},{at[1]}"
            self.needs = {y: divided[y][at] for y in self.outputs}
            self.parts = {}
            patches = self._ask()
            for position in self.members:
                if position in patches:
                    self._compute(position, patches[position])
            for y in self.outputs:
                joined[y].append(self._part(y, divided[y][at]))
        for y in self.outputs:
            self._join(y, joined[y])

    def _divided(self, y: int) -> Mapping[tuple[int, int], Rectangle]:
        """The parts of an output by row and column of the grid, cut where the operator can be cut."""
        position = next(at for at in self.members if self.source.node(at).outputs[0] == y)
        rows, columns = (size for _, size in self.source.whole(y))
        firsts: list[list[int]] = [[], []]
        for axis, (size, count) in enumerate(zip((rows, columns), self.grid, strict=True)):
            for k in range(count):
                side = (k * size // count, (k + 1) * size // count)
                patch = self.source.patch(position, (side, (0, columns)) if axis == 0 else ((0, rows), side))
                assert patch is not None
                firsts[axis].append(patch.out[axis][0])
        down, across = [*firsts[0], rows], [*firsts[1], columns]
        return {
            (r, c): ((down[r], down[r + 1]), (across[c], across[c + 1]))
            for r, c in product(range(self.grid[0]), range(self.grid[1]))
        }

    def _ask(self) -> dict[int, Patch]:
        """The patch of each node that is needed, from the last node backwards."""
        found: dict[int, Patch] = {}
        for position in reversed(self.members):
            node = self.source.node(position)
            if (y := node.outputs[0]) not in self.needs:
                continue
            patch = self.source.patch(position, self.needs[y])
            assert patch is not None
            found[position], self.needs[y] = patch, patch.out
            for x, rectangle in zip(node.inputs, patch.inputs, strict=True):
                if x >= 0:
                    self.needs[x] = _hull(self.needs[x], rectangle) if x in self.needs else rectangle
        return found

    # Nodes ------------------------------------------------------------------------------------------------------------

    def _like(self, tensor: int, shape: Sequence[int], what: str = "") -> int:
        """A new tensor of the type and quantization of another."""
        like = self.graph._tensors[tensor]
        name = f"{like.name} {self.tag}{what}"
        return self.graph.tensor(name, tuple(shape), like.type, quantization=like.quantization)

    def _shape(self, tensor: int, rectangle: Rectangle) -> list[int]:
        shape = list(self.source.shape(tensor))
        shape[1:3] = map(_size, rectangle)
        return shape

    def _constant(self, what: str, values: Any) -> int:
        return self.graph.constant(f"{what} {len(self.graph._tensors)}", np.array(values, np.int32))

    def _add(self, op: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        version = _VERSIONS.get((op, self.graph._tensors[output].type), 1)
        self.graph.node(op, inputs, [output], options=options, version=version)
        return output

    def _part(self, x: int, rectangle: Rectangle) -> int:
        """The tensor that holds just that rectangle."""
        tensor = self.source.sub.tensors[x]
        if rectangle == self.source.whole(x) and x not in self.made:
            return x
        if tensor.data is not None:
            (top, bottom), (left, right) = rectangle
            data = np.ascontiguousarray(tensor.data[:, top:bottom, left:right])
            name, kind = f"{tensor.name} {self.tag}", tensor.type
            return self.graph.constant(name, data, kind, quantization=tensor.quantization)
        if x not in self.parts:
            self.parts[x] = Part(x, self.source.whole(x))
            self.parts[x] = Part(self._slice(x, self.needs[x]), self.needs[x])
        return self._slice(x, rectangle)

    def _slice(self, x: int, rectangle: Rectangle) -> int:
        """Cuts a rectangle from the part of x that is there."""
        have = self.parts[x]
        if rectangle == have.rectangle:
            return have.tensor
        begin = [0] * len(self.source.shape(x))
        begin[1:3] = (side[0] - base[0] for side, base in zip(rectangle, have.rectangle, strict=True))
        shape = self._shape(x, rectangle)
        return self._add(
            "SLICE", [have.tensor, self._constant("begin", begin), self._constant("size", shape)], self._like(x, shape)
        )

    def _compute(self, position: int, patch: Patch) -> None:
        node = self.source.node(position)
        inputs = [-1 if x < 0 else self._part(x, r) for x, r in zip(node.inputs, patch.inputs, strict=True)]
        options, y = dict(node.options), node.outputs[0]
        out = self._like(y, self._shape(y, patch.out))
        if node.op in _WINDOWS:
            inputs[0] = self._padded(node, inputs[0], self.source.pads(position, patch))
            options["padding"] = "VALID"
        elif node.op in ("PAD", "PADV2"):
            inputs[1] = self._paddings(node.inputs[1], self.source.pads(position, patch))
        if node.op == "TRANSPOSE_CONV":
            self._transposed(position, patch, inputs, out)
        else:
            self.graph.node(node.op, inputs, [out], options=options, version=node.version)
        self.parts[y] = Part(out, patch.out)

    def _padded(self, node: Node, x: int, pads: tuple[int, int, int, int]) -> int:
        """x with what its windows see around it: zeros, or for a maximum what is never one."""
        if not any(pads):
            return x
        like = self.graph._tensors[x]
        batch, height, width, channels = like.shape
        top, bottom, left, right = pads
        out = self._like(node.inputs[0], (batch, top + height + bottom, left + width + right, channels), " padded")
        paddings = self._constant("paddings", [[0, 0], [top, bottom], [left, right], [0, 0]])
        if node.op != "MAX_POOL_2D":
            return self._add("PAD", [x, paddings], out)
        value = self.graph.constant("least", _LEAST[like.type], quantization=like.quantization)
        return self._add("PADV2", [x, paddings, value], out)

    def _paddings(self, tensor: int, pads: tuple[int, int, int, int]) -> int:
        data = self.source.sub.tensors[tensor].data
        assert data is not None
        pairs = data.copy()
        pairs[1], pairs[2] = pads[:2], pads[2:]
        return self.graph.constant(f"paddings {len(self.graph._tensors)}", pairs)

    def _transposed(self, position: int, patch: Patch, inputs: list[int], out: int) -> None:
        """A transposed convolution of all that its inputs reach, cut to the patch."""
        node, params = self.source.node(position), self.source.params(position, patch)
        taps = self.source.shape(node.inputs[1])[1:3]
        shape = list(self.graph._tensors[out].shape)
        begin = [0, int(params["before_h"]), int(params["before_w"]), 0]
        full = list(shape)
        for i, stride in enumerate((params["stride_h"], params["stride_w"])):
            reach = (_size(patch.inputs[2][i]) - 1) * stride + taps[i]
            full[i + 1] = max(reach, begin[i + 1] + shape[i + 1])
        inputs[0] = self._constant("shape", full)
        target = out if full == shape else self._like(node.outputs[0], full, " full")
        options = {**node.options, "padding": "VALID"}
        self.graph.node(node.op, inputs, [target], options=options, version=node.version)
        if target != out:
            self._add("SLICE", [target, self._constant("begin", begin), self._constant("size", shape)], out)

    def _join(self, y: int, parts: Sequence[int]) -> None:
        """Joins the patches of an output, row by row of the grid."""
        rows, columns = self.grid
        lines: list[int] = []
        for r in range(rows):
            line = parts[r * columns : (r + 1) * columns]
            if columns > 1:
                shape = list(self.source.shape(y))
                shape[1] = self.graph._tensors[line[0]].shape[1]
                self.tag = f"row {r}"
                line = [self._add("CONCATENATION", line, self._like(y, shape), axis=2)]
            lines += line
        self._add("CONCATENATION", lines, y, axis=1)
