"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: resource variables, kept by the engine from run to run."""

from __future__ import annotations

from minilite.ops_shared.operator import Operator, OpNode


def _number(node: OpNode) -> int:
    """One for each (container, shared name) of the model."""
    assert node.resources is not None
    key = (node.options["container"] or "", node.options["shared_name"] or "")
    return node.resources.setdefault(key, len(node.resources))


OPERATORS = (
    Operator(
        "VAR_HANDLE",
        range(1, 2),
        takes="-> handle",
        types=("-> resource",),
        params={"resource": _number},
    ),
    Operator("READ_VARIABLE", range(1, 2), takes="handle -> value", types=("resource -> any",)),
    Operator("ASSIGN_VARIABLE", range(1, 2), takes="handle value ->", types=("resource any ->",)),
)
