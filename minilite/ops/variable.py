"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: resource variables, kept by the engine from run to run."""

from __future__ import annotations

from minilite.format.dtypes import TensorType
from minilite.ops_shared.operator import Kernel, Operator, OpNode


def lower_var_handle(node: OpNode) -> Kernel:
    """A number for each (container, shared name) of the model."""
    assert node.resources is not None
    key = (node.options["container"] or "", node.options["shared_name"] or "")
    return Kernel("var_handle", resource=node.resources.setdefault(key, len(node.resources)))


def _check_handle(node: OpNode) -> None:
    handle = node.input(0)
    if handle is None or handle.type != TensorType.RESOURCE:
        raise node.refuse(f"input 0 is {'absent' if handle is None else handle.type.name}, must be a RESOURCE")


def lower_read_variable(node: OpNode) -> Kernel:
    """Its output's shape is the variable's, known when the node is reached."""
    _check_handle(node)
    return Kernel("read_variable")


def lower_assign_variable(node: OpNode) -> Kernel:
    """Copies its second input into the variable."""
    _check_handle(node)
    if node.input(1) is None:
        raise node.refuse("input 1, the value to assign, is absent")
    return Kernel("assign_variable")


OPERATORS = (
    Operator("VAR_HANDLE", range(1, 2), lower_var_handle, None),
    Operator("READ_VARIABLE", range(1, 2), lower_read_variable, None),
    Operator("ASSIGN_VARIABLE", range(1, 2), lower_assign_variable, None),
)
