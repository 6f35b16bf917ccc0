"""Lowering: every node of a Model becomes a kernel and its parameters, by its operator's row in C.

C goes through the nodes (csrc/graph/lower.c). It stops at nodes that need Python, which engine/lower_nodes.py handles:
custom operators of the caller, sparse constants, and constants computed from others.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from minilite._native.graph import Lowering

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.engine.operands import Handlers, Operands
    from minilite.format.model import Model

_OFFLINE = "OfflineMemoryAllocation"


class Lowered:
    """A Model ready for the C graph."""

    def __init__(self, model: Model, lowering: Lowering, custom_ops: Mapping[str, Any]) -> None:
        self.model: Model = model
        self.lowering = lowering
        self.custom_ops: Mapping[str, Any] = custom_ops
        self._operands: Operands | None = None
        self._handlers: Handlers | None = None

    @property
    def operands(self) -> Operands:
        """Its nodes and tensors as objects, made when they are looked at."""
        if self._operands is None:
            from minilite.engine.operands import Operands  # long to import

            self._operands = Operands(self.model, self.lowering)
        return self._operands

    @property
    def handlers(self) -> Handlers:
        """The functions of nodes that run in Python."""
        if self._handlers is None:
            from minilite.engine.operands import Handlers

            self._handlers = Handlers(self.operands, self.custom_ops)
        return self._handlers

    @property
    def resources(self) -> int:
        """The number of the model's resource variables."""
        return self.lowering.resources


def lower(
    model: Model, custom_ops: Mapping[str, Any], level: Any, *, reference: bool = False, most_dense: int = sys.maxsize
) -> Lowered:
    """Lowers every node of every subgraph of a model that was read.

    `reference` makes nodes run their numpy references. Raises: UnsupportedOpError, listing every unsupported node.
    """
    assert model.file is not None
    lowering = Lowering(model.file, level, custom_ops, reference=reference, most_dense=most_dense)
    lowered = Lowered(model, lowering, custom_ops)
    if lowering.run():
        from minilite.engine.lower_nodes import finish

        finish(lowered)
    if _OFFLINE in model.metadata:
        _place_offline(lowered)
    return lowered


def _place_offline(lowered: Lowered) -> None:
    """Gives tensors the offsets of the memory plan in the file. Raises: ModelFormatError."""
    from minilite.memory.offline import offline_offsets  # few files have one

    for subgraph, offsets in enumerate(offline_offsets(lowered.model) or ()):
        for number, offset in enumerate(offsets):
            lowered.lowering.tensor(subgraph, number).offline_offset = offset


def node_label(model: Model, subgraph: int, index: int) -> tuple[str, str]:
    """The operator of a node and the name of its first output, for error lines."""
    if not 0 <= subgraph < len(model.subgraphs) or not 0 <= index < len(model.subgraphs[subgraph].nodes):
        return "?", ""
    found = model.subgraphs[subgraph]
    node = found.nodes[index]
    return node.op, found.tensors[node.outputs[0]].name if node.outputs and node.outputs[0] >= 0 else ""
