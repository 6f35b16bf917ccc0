"""What an operator is: what it takes, its parameters, its numpy reference, and what its output may overwrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minilite.format.model import Array, Subgraph, Tensor
from minilite.light import Later, NamedTuple
from minilite.ops_shared.types import ABSENT, Operand, at, misfits, parse, spelled

if TYPE_CHECKING:
    from minilite import errors
else:
    errors = Later("minilite.errors")


class OpNode(NamedTuple):
    """One node with its tensors at hand: what `check`, `params` and `reference` work on."""

    subgraph: int
    index: int  # type: ignore[assignment]  # a field, not tuple.index
    op: str
    version: int
    inputs: tuple[Tensor | None, ...]
    """None stands for an absent optional input; trailing ones may be missing altogether."""
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    custom_options: bytes = b""
    resources: dict[tuple[str, str], int] | None = None
    """The numbers of the model's resource variables by (container, shared name); VAR_HANDLE adds to it."""
    intermediates: tuple[Tensor | None, ...] = ()
    """Tensors that carry nothing but the quantization of values inside the node: an LSTM's gates."""
    subgraphs: Sequence[Subgraph] = ()
    """The model's, for operators whose meaning hangs on another subgraph's nodes."""

    def input(self, position: int) -> Tensor | None:
        """Input `position`, or None when it is absent or missing."""
        return self.inputs[position] if position < len(self.inputs) else None

    def refuse(self, why: str) -> errors.UnsupportedOpError:
        """The error to raise when this node's types, options or quantization are not supported."""
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
Param = Callable[[OpNode], Any]


class Meaning:
    """What an operator means: its numpy reference and its rounding rule. Calling it computes."""

    __slots__ = ("function", "ops", "options", "rounding")

    def __init__(
        self,
        function: Reference | None,
        ops: tuple[str, ...],
        rounding: Mapping[str, str],
        options: Callable[[bytes], Mapping[str, Any]] | None,
    ) -> None:
        self.function: Reference | None = function
        """``function(node, *inputs)``: the specification of the kernel. Inputs are read-only arrays, None when absent.
        None where the engine alone can run the operator (WHILE, variables)."""
        self.ops: tuple[str, ...] = ops
        self.rounding: Mapping[str, str] = rounding
        """How it computes, for docs/operators.md, by types of input 0 ("s8 u8"), "" for all of them."""
        self.options: Callable[[bytes], Mapping[str, Any]] | None = options
        """For a custom operator that is built in: its options from the bytes in the file. Raises: ValueError."""

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
    """A row of the operator table. What it says is checked once, before `check`, `params` and `reference` see a
    node."""

    name: str
    versions: range
    takes: str
    """The operands by name: "x axis? -> y"; "?" behind a name: may be absent, "...": and more like it."""
    types: tuple[str, ...]
    """Every combination of operand types that runs, in C or in numpy, spelled as in csrc/kernel.h."""
    reference: Reference | None = None
    """``reference(node, *inputs)``: the operator in numpy, the specification of its kernel. Inputs are read-only arrays
    (None when absent). None for operators that only the engine can run (WHILE, variables)."""
    in_place: tuple[int, ...] = ()
    """Inputs that output 0 may overwrite when they die here and have as many bytes."""
    view: bool = False
    """Output 0 holds input 0's bytes unchanged, under another shape."""
    output_follows: int | None = None
    """Output 0 takes the type of this input, whatever the file says of it, as TFLite's Prepare has it."""
    tflite_shares: bool = False
    """TFLite's own planner shares memory in place for this operator."""
    params: Mapping[str, str | Param] = {}
    """The kernel's fields: by the option that has the value, or by a function of the node."""
    check: Callable[[OpNode], None] | None = None
    """Refuses what types do not tell: quantization, options.

    Raises: UnsupportedOpError, by ``raise node.refuse("...")``."""
    folds: Callable[[OpNode], tuple[Array, ...]] | None = None
    """The values of the outputs where input 0 is constant, for nodes whose result follows from the file alone: such a
    node vanishes."""
    calls: tuple[str, ...] = ()
    """The options that say which subgraphs it runs, one or several."""
    kernel: str = ""
    """The C kernel; the operator's name in lower case when empty."""
    writes: tuple[int, ...] = ()
    """Inputs that are variable tensors and written; the reference gives their new values behind the outputs."""
    custom: Callable[[bytes], Mapping[str, Any]] | None = None
    """For a custom operator that is built in: its options from the bytes in the file. Raises: ValueError."""
    rule: Mapping[str, str] = {}
    """How it computes, for docs/operators.md, by types of input 0 ("s8 u8"), "" for all of them."""

    @property
    def kernel_name(self) -> str:
        """The C kernel that runs it."""
        return self.kernel or self.name.lower()

    def lowered(self, node: OpNode) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The parameters of the node's kernel, and the subgraphs that it runs. Raises: UnsupportedOpError."""
        for position in self.writes:
            written = node.input(position)
            if written is not None and not written.is_variable:
                raise node.refuse(f"input {position} ('{written.name}') is written: it must be a variable tensor")
        if self.check is not None:
            self.check(node)
        options = node.options
        params = {field: options[said] if isinstance(said, str) else said(node) for field, said in self.params.items()}
        called = [[said] if isinstance(said, int) else said for said in (options[name] for name in self.calls)]
        return params, tuple([int(number) for numbers in called for number in numbers])

    def refusal(self, inputs: Sequence[int], outputs: Sequence[int]) -> str:
        """Why operands of these types (-1: absent) are not supported; empty when they are."""
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
            wrong[text] = misfits(signature.inputs, inputs) + misfits(signature.outputs, outputs)
            if not wrong[text]:
                return ""
        least = min(wrong.values(), default=0)
        nearest = ", ".join(text for text, count in wrong.items() if count == least)
        return f"types {spelled(inputs, outputs)} of {self.takes} are not supported, {nearest} are"


def _count(label: str, names: tuple[Operand, ...], kinds: Sequence[int]) -> str:
    """Why there are too many operands on one side, or one is absent; empty when all is well."""
    for position in range(max(len(names), len(kinds))):
        operand = at(names, position)
        if operand is None:
            return f"{len(kinds)} {label}s, it takes at most {len(names)}"
        absent = position >= len(kinds) or kinds[position] == ABSENT
        if absent and (not operand.optional or (operand.repeats and position < len(kinds))):
            return f"{label} {position} ({operand.word}) is absent"
    return ""
