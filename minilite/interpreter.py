"""Interpreter: LiteRT's class, call for call, and minilite's additions."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from minilite.additions import Additions
from minilite.compat import Delegate, OpResolverType, load_delegate
from minilite.errors import InputError, MiniliteError
from minilite.signature import SignatureRunner

if TYPE_CHECKING:
    from collections.abc import Sequence


class Interpreter(Additions):
    """Runs a .tflite model: from a path, a model's bytes, or a Model.

    Parameters up to `experimental_force_delegate_node_profiling` are LiteRT's; those about delegates are accepted and
    have no effect, for there are none. Ours: `custom_ops` maps the names of custom operators to kernels
    (`minilite.kernel`) or to functions ``f(node, *arrays) -> array or tuple of arrays`` (`node` has `custom_options`,
    `inputs`, `outputs`; an attribute ``shape(node, *shapes)`` makes their shapes known early); `planner` names a
    planning strategy; `in_place` is "wide", "tflite" or "none"; `preserve_inputs=False` lets the arena reuse graph
    inputs after their last reader; `reorder=True` looks for an execution order with a lower peak; `load` is "map" or
    "copy"; `plan_cache_bytes` bounds what kept plans take, tables included; `max_bytes` what tensors take: sizes that
    need more are refused; `max_iterations` how often a WHILE runs its body before the run fails.

    Wherever a tensor's number is taken, its name or its details do as well.

    Raises: ModelNotFoundError, ModelFormatError, InputError.
    """


class InterpreterWithCustomOps(Interpreter):
    """LiteRT's class for operators registered from C++, which minilite cannot load: `custom_ops` takes Python
    functions.

    Raises: InputError when registerers are given.
    """

    def __init__(self, custom_op_registerers: Sequence[Any] | None = None, **kwargs: Any) -> None:
        if custom_op_registerers:
            message = "custom_op_registerers are C++ and cannot be loaded: give Python functions, as in custom_ops={'Name': function}"
            raise InputError(message)
        super().__init__(**kwargs)


for _part in Interpreter.__mro__[1:-1]:
    for _call in vars(_part).values():  # Python's own errors name calls as users know them
        if isinstance(_call, FunctionType):
            _call.__qualname__ = f"Interpreter.{_call.__name__}"


__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "MiniliteError",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]
