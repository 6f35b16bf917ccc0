"""Cases from which test_every_type makes nodes of an operator for all types that the operator's row names.

The tests of a family have `EVERY_TYPE`: operator -> Case, from which a node is made for each combination of types.
Where that depends on the types it is a function (rng, inputs, outputs) -> Case, types spelled as in rows; where a Case
cannot say it, the function returns a OneNode and what to call its `check` with.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from support.compare import REFERENCE
from support.node import Given, OneNode, Out, scaled, values

from minilite.format.quantization import Quantization


class Case(NamedTuple):
    """The operands of a node: each is random of a given shape, a given constant that is cast to the operand's type, or
    absent (None)."""

    inputs: Sequence[Any]
    """The operands: a tuple is a shape, anything else the values of a constant."""
    options: Mapping[str, Any] = {}
    quantization: Mapping[str, Quantization] = {}
    """The quantization of the outputs, by type; random for types without an entry."""
    tolerance: float = 0.0
    """The absolute tolerance of floats."""
    oracle: Any = REFERENCE
    litert: str = ""
    """Types of output 0 that LiteRT runs, spelled as in rows; empty: all of them."""
    one_scale: bool = False
    """All operands of one type have the same quantization."""
    version: int = 1
    custom: bytes | None = None
    """The options of a custom operator."""

    def node(self, op: str, rng: np.random.Generator, inputs: Sequence[str], outputs: Sequence[str]) -> OneNode:
        """The node with operands of these types."""
        shared = {kind: scaled(rng, kind) for kind in {*inputs, *outputs}} if self.one_scale else {}
        given = [self._input(rng, kind, text, shared) for kind, text in zip(inputs, self.inputs, strict=False)]
        known = {**shared, **self.quantization}
        outs = [Out(kind, known.get(kind) or scaled(rng, kind)) for kind in outputs]
        return OneNode(op, given, self.options, outs=outs, version=self.version, custom=self.custom)

    def oracle_of(self, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
        """The oracle for operands of these types, besides numpy; None if there is none: LiteRT takes no arrays of some
        types."""
        given = {kind for kind, text in zip(inputs, self.inputs, strict=False) if isinstance(text, tuple)}
        judged = not self.litert or outputs[0] in self.litert.split()
        return self.oracle if judged and not given & {"s2"} else None

    def _input(
        self, rng: np.random.Generator, kind: str, text: Any, shared: Mapping[str, Quantization]
    ) -> Given | None:
        if text is None:
            return None
        if isinstance(text, tuple):
            return Given(values(rng, kind, text), quantization=shared.get(kind) or scaled(rng, kind), kind=kind)
        return Given(np.asarray(text).astype(values(rng, kind, ()).dtype), constant=True, kind=kind)


Types = tuple[str, ...]
Special = Callable[[np.random.Generator, Types, Types], "Case | tuple[OneNode, Mapping[str, Any]]"]


def node_of(op: str, text: Case | Special, inputs: Types, outputs: Types) -> tuple[OneNode, Mapping[str, Any]]:
    """A node of an operator with operands of these types, and what to call its `check` with."""
    rng = np.random.default_rng(zlib.crc32(repr((op, inputs, outputs)).encode()))
    case = text if isinstance(text, Case) else text(rng, inputs, outputs)
    if not isinstance(case, Case):
        return case
    how = {"tolerance": case.tolerance, "oracle": case.oracle_of(inputs, outputs)}
    return case.node(op, rng, inputs, outputs), how


def check_types(op: str, text: Case | Special, inputs: Types, outputs: Types) -> None:
    """Runs an operator on operands of these types every way there is, and compares."""
    node, how = node_of(op, text, inputs, outputs)
    node.check(**how)
