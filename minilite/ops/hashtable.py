"""HASHTABLE, HASHTABLE_IMPORT, HASHTABLE_FIND, HASHTABLE_SIZE: tables between numbers and strings, kept by the
engine."""

from __future__ import annotations

from minilite.ops_shared.operator import Operator, OpNode


def _number(node: OpNode) -> int:
    """One for each table of the model; variables are told apart by their names."""
    assert node.resources is not None
    return node.resources.setdefault(("\0table", str(node.options["table_id"])), len(node.resources))


def _check(node: OpNode) -> None:
    kinds = node.options["key_dtype"], node.options["value_dtype"]
    if kinds not in {("INT64", "STRING"), ("STRING", "INT64")}:
        raise node.refuse(f"a table from {kinds[0]} to {kinds[1]}: one must be INT64, the other STRING")


OPERATORS = (
    Operator(
        "HASHTABLE",
        range(1, 2),
        takes="-> table",
        types=("-> resource",),
        params={"resource": _number},
        check=_check,
    ),
    Operator(
        "HASHTABLE_IMPORT",
        range(1, 2),
        takes="table keys values ->",
        types=("resource s64 string ->", "resource string s64 ->"),
    ),
    Operator(
        "HASHTABLE_FIND",
        range(1, 2),
        takes="table keys default -> values",
        types=("resource s64 string -> string", "resource string s64 -> s64"),
    ),
    Operator("HASHTABLE_SIZE", range(1, 2), takes="table -> count", types=("resource -> s64",)),
)
