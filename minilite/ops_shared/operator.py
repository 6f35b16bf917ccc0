"""Operator, Meaning and OpNode: an operator's row in C, its numpy reference, and a node for references."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minilite import errors
from minilite.format.model import Array, Subgraph, Tensor
from minilite.ops_shared.types import ABSENT, Operand, at, mismatches, parse, spelled


class OpNode(NamedTuple):
    """One node with its tensors, as references and custom operators get it."""

    subgraph: int
    index: int  # type: ignore[assignment]  # a field, not tuple.index
    op: str
    version: int
    inputs: tuple[Tensor | None, ...]
    """None for an absent optional input; absent inputs at the end may be missing from the tuple."""
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    custom_options: bytes = b""
    intermediates: tuple[Tensor | None, ...] = ()
    """Tensors that only hold the quantization of values inside the node, such as an LSTM's gates."""
    subgraphs: Sequence[Subgraph] = ()
    """The subgraphs of the model, for operators that depend on the nodes of another subgraph."""

    def input(self, position: int) -> Tensor | None:
        """Input `position`, or None if it is absent or missing."""
        return self.inputs[position] if position < len(self.inputs) else None

    def refuse(self, why: str) -> errors.UnsupportedOpError:
        """The error to raise if this node's types, options or quantization are not supported."""
        name = self.outputs[0].name if self.outputs else ""
        return errors.UnsupportedOpError(
            f"{errors.coordinates(self.subgraph, self.index, self.op, name)}: {why}",
            subgraph=self.subgraph,
            node=self.index,
            op=self.op,
            tensors=[t.name for t in self.inputs if t is not None],
            shapes=[t.shape for t in self.inputs if t is not None],
            operators=[errors.UnsupportedOperator(self.op, why, ((self.subgraph, self.index),))],
        )


Reference = Callable[..., "Array | tuple[Array, ...]"]


class Meaning:
    """The meaning of an operator: its numpy reference and its rounding rule. Calling it runs the reference."""

    __slots__ = ("function", "ops", "options", "rounding")

    def __init__(
        self,
        function: Reference | None,
        ops: tuple[str, ...],
        rounding: Mapping[str, str],
        options: Callable[[bytes], Mapping[str, Any]] | None,
    ) -> None:
        self.function: Reference | None = function
        """``function(node, *inputs)``: the specification of the kernel. Inputs are read-only arrays, None if absent.
        The function is None if only the engine can run the operator (WHILE, variables)."""
        self.ops: tuple[str, ...] = ops
        self.rounding: Mapping[str, str] = rounding
        """The rounding for docs/operators.md, by types of input 0 ("s8 u8"), "" for all of them."""
        self.options: Callable[[bytes], Mapping[str, Any]] | None = options
        """For a built-in custom operator: decodes its options from the bytes in the file. Raises: ValueError."""

    def __call__(self, *arguments: Any) -> Any:
        """The reference's outputs."""
        assert self.function is not None
        return self.function(*arguments)


def reference(
    *ops: str,
    rounding: Mapping[str, str] | None = None,
    options: Callable[[bytes], Mapping[str, Any]] | None = None,
) -> Callable[[Reference | Meaning | None], Meaning]:
    """Marks a function of a family's module as the numpy reference of one or several operators."""

    def marked(function: Reference | Meaning | None) -> Meaning:
        plain = function.function if isinstance(function, Meaning) else function
        return Meaning(plain, ops, rounding or {}, options)

    return marked


class Operator(NamedTuple):
    """An operator: what it takes, from its row in C, and what it means."""

    name: str
    versions: range
    takes: str
    """The operands by name: "x axis? -> y"; "?" after a name: may be absent; "...": one or more."""
    types: tuple[str, ...]
    """Every combination of operand types that runs, in C or in numpy, in the notation of csrc/kernel.h."""
    kernel: str
    """The C kernel."""
    in_place: tuple[int, ...]
    """Inputs that output 0 may overwrite if this node is their last reader and the sizes are equal."""
    view: bool
    """Output 0 has the bytes of input 0 with another shape."""
    output_follows: int | None
    """Output 0 takes the type of this input, whatever type the file gives it, as in TFLite's Prepare."""
    tflite_shares: bool
    """TFLite's own planner shares memory in place for this operator."""
    writes: tuple[int, ...]
    """Inputs that are variable tensors and are written; the reference returns their new values after the outputs."""
    custom: bool
    """True if it is a built-in custom operator."""
    reference: Reference | None = None
    """The operator in numpy; None if only the engine can run it."""
    options: Callable[[bytes], Mapping[str, Any]] | None = None
    """For a custom operator: decodes its options from the bytes in the file. Raises: ValueError."""
    rounding: Mapping[str, str] = {}
    """The rounding by types of input 0 ("s8 u8"), "" for all of them."""

    def refusal(self, inputs: Sequence[int], outputs: Sequence[int]) -> str:
        """The reason why operands of these types (-1: absent) are not supported; empty if they are."""
        names = parse(self.takes)
        return (
            _count("input", names.inputs, inputs)
            or _count("output", names.outputs, outputs)
            or self._types(inputs, outputs)
        )

    def _types(self, inputs: Sequence[int], outputs: Sequence[int]) -> str:
        wrong: dict[str, int] = {}
        for text in self.types:
            signature = parse(text)
            wrong[text] = mismatches(signature.inputs, inputs) + mismatches(signature.outputs, outputs)
            if not wrong[text]:
                return ""
        least = min(wrong.values(), default=0)
        nearest = ", ".join(text for text, count in wrong.items() if count == least)
        return f"types {spelled(inputs, outputs)} of {self.takes} are not supported, {nearest} are"


def _count(label: str, names: tuple[Operand, ...], kinds: Sequence[int]) -> str:
    """The reason why there are too many operands on one side, or one is absent; empty if nothing is wrong."""
    for position in range(max(len(names), len(kinds))):
        operand = at(names, position)
        if operand is None:
            return f"{len(kinds)} {label}s, it takes at most {len(names)}"
        absent = position >= len(kinds) or kinds[position] == ABSENT
        if absent and (not operand.optional or (operand.repeats and position < len(kinds))):
            return f"{label} {position} ({operand.word}) is absent"
    return ""
