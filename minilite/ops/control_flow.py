"""WHILE, IF, STABLEHLO_CASE, STABLEHLO_COMPOSITE, CALL_ONCE: subgraphs run inside the C loop; only the engine can run them."""

from __future__ import annotations

from minilite.ops_shared.operator import Kernel, Operator, OpNode


def lower_while(node: OpNode) -> Kernel:
    """Condition and body by subgraph number; their arity and types are checked in prepare."""
    if len(node.inputs) != len(node.outputs):
        raise node.refuse(f"{len(node.inputs)} inputs and {len(node.outputs)} outputs: must be as many")
    condition, body = node.options["cond_subgraph_index"], node.options["body_subgraph_index"]
    if min(condition, body) < 0:
        raise node.refuse(f"condition is subgraph {condition} and body subgraph {body}: both must be 0 or more")
    return Kernel("while", (condition, body))


def lower_if(node: OpNode) -> Kernel:
    """The branches by subgraph number; their arity and types are checked in prepare."""
    branches = node.options["then_subgraph_index"], node.options["else_subgraph_index"]
    if min(branches) < 0:
        raise node.refuse(f"branches are subgraphs {branches[0]} and {branches[1]}: both must be 0 or more")
    return Kernel("if", branches, conditions=1)


def lower_case(node: OpNode) -> Kernel:
    """The branches by subgraph number, of which there is at least one."""
    branches = tuple(int(branch) for branch in node.options["branch_subgraph_indices"])
    if not branches or min(branches) < 0:
        raise node.refuse(f"branches are subgraphs {list(branches)}: there must be one, and all be 0 or more")
    return Kernel("stablehlo_case", branches, conditions=1)


def lower_composite(node: OpNode) -> Kernel:
    """The subgraph that says what the composite means; its name is for accelerators that know it."""
    meaning = node.options["decomposition_subgraph_index"]
    if meaning < 0:
        raise node.refuse(f"its decomposition is subgraph {meaning}: must be 0 or more")
    return Kernel("stablehlo_composite", (meaning,), conditions=0)


def lower_call_once(node: OpNode) -> Kernel:
    """The initialization subgraph by number."""
    called = node.options["init_subgraph_index"]
    if called < 0:
        raise node.refuse(f"calls subgraph {called}: must be 0 or more")
    return Kernel("call_once", (called,))


OPERATORS = (
    Operator(
        "WHILE", range(1, 2), lower=lower_while, takes="carries...? -> results...?", types=("any...? -> any...?",)
    ),
    Operator(
        "IF",
        range(1, 2),
        lower=lower_if,
        takes="condition operands...? -> results...?",
        types=("b8 any...? -> any...?",),
    ),
    Operator(
        "STABLEHLO_CASE",
        range(1, 2),
        lower=lower_case,
        takes="branch operands...? -> results...?",
        types=("s32 any...? -> any...?",),
    ),
    Operator(
        "STABLEHLO_COMPOSITE",
        range(1, 2),
        lower=lower_composite,
        takes="operands...? -> results...?",
        types=("any...? -> any...?",),
    ),
    Operator("CALL_ONCE", range(1, 2), lower=lower_call_once, takes="->", types=("->",)),
)
