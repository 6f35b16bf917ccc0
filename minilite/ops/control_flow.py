"""WHILE, IF, STABLEHLO_CASE, STABLEHLO_COMPOSITE, CALL_ONCE: subgraphs run inside the C loop; only the engine can run
them."""

from __future__ import annotations

from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.options import none


def check_while(node: OpNode) -> None:
    """Arity and types of condition and body are checked in prepare."""
    if len(node.inputs) != len(node.outputs):
        raise node.refuse(f"{len(node.inputs)} inputs and {len(node.outputs)} outputs: must be as many")
    condition, body = (node.options[name] for name in _WHILE)
    if min(condition, body) < 0:
        raise node.refuse(f"condition is subgraph {condition} and body subgraph {body}: both must be 0 or more")


def check_if(node: OpNode) -> None:
    """Arity and types of the branches are checked in prepare."""
    branches = [node.options[name] for name in _IF]
    if min(branches) < 0:
        raise node.refuse(f"branches are subgraphs {branches[0]} and {branches[1]}: both must be 0 or more")


def check_case(node: OpNode) -> None:
    """There is at least one branch."""
    branches = [int(branch) for branch in node.options["branch_subgraph_indices"]]
    if not branches or min(branches) < 0:
        raise node.refuse(f"branches are subgraphs {branches}: there must be one, and all be 0 or more")


def check_composite(node: OpNode) -> None:
    """The subgraph that says what the composite means is one; its name is for accelerators that know it."""
    meaning = node.options["decomposition_subgraph_index"]
    if meaning < 0:
        raise node.refuse(f"its decomposition is subgraph {meaning}: must be 0 or more")


def check_call_once(node: OpNode) -> None:
    """The initialization subgraph is one."""
    called = node.options["init_subgraph_index"]
    if called < 0:
        raise node.refuse(f"calls subgraph {called}: must be 0 or more")


def _one(_: OpNode) -> int:
    return 1


_WHILE = ("cond_subgraph_index", "body_subgraph_index")
_IF = ("then_subgraph_index", "else_subgraph_index")
OPERATORS = (
    Operator(
        "WHILE",
        range(1, 2),
        takes="carries...? -> results...?",
        types=("any...? -> any...?",),
        calls=_WHILE,
        check=check_while,
    ),
    Operator(
        "IF",
        range(1, 2),
        takes="condition operands...? -> results...?",
        types=("b8 any...? -> any...?",),
        params={"conditions": _one},
        calls=_IF,
        check=check_if,
    ),
    Operator(
        "STABLEHLO_CASE",
        range(1, 2),
        takes="branch operands...? -> results...?",
        types=("s32 any...? -> any...?",),
        params={"conditions": _one},
        calls=("branch_subgraph_indices",),
        check=check_case,
    ),
    Operator(
        "STABLEHLO_COMPOSITE",
        range(1, 2),
        takes="operands...? -> results...?",
        types=("any...? -> any...?",),
        params={"conditions": none},
        calls=("decomposition_subgraph_index",),
        check=check_composite,
    ),
    Operator(
        "CALL_ONCE",
        range(1, 2),
        takes="->",
        types=("->",),
        calls=("init_subgraph_index",),
        check=check_call_once,
    ),
)
