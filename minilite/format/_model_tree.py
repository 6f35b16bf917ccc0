"""Converts a Model to the nested dicts that `write_tree` writes."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from minilite.errors import InputError, InputTypeError, shown
from minilite.format._spec import operator_names, options_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.format._writer import Tree
    from minilite.format.model import Array, Model, Node, Subgraph, Tensor
    from minilite.format.quantization import Quantization

_LAST_IN_A_BYTE = 127
"""The code PLACEHOLDER_FOR_GREATER_OP_CODES: the older one-byte field has it for all later operators."""

Key = tuple[str, int, bool]
"""An operator: name, version, and whether it is custom."""


def operator_code(op: str) -> int:
    """The code of a builtin operator; BUILTIN_999 is code 999.

    Raises: InputError for a name that the format does not have.
    """
    names = operator_names()
    if not isinstance(op, str):
        message = f"an operator is {shown(op)}, must be a name"
        raise InputTypeError(message)
    if op in names:
        return names.index(op)
    if op.startswith("BUILTIN_") and op[8:].isdecimal():
        return int(op[8:])
    near = difflib.get_close_matches(op, names, 3)
    hint = f", near it are {', '.join(near)}" if near else ""
    message = f"{op!r} is not a builtin operator{hint}; custom operators need custom=True"
    raise InputError(message)


def model_tree(model: Model, absent_when_empty: bool = False) -> Tree:
    """All tables of `model`; constants that share their bytes share a buffer. With `absent_when_empty`, the buffers of
    constants without elements have no data."""
    keys: dict[Key, int] = {}
    buffers = _Buffers({} if absent_when_empty else {"data": b""})
    graphs = [_subgraph(subgraph, keys, buffers) for subgraph in model.subgraphs]
    notes = [{"name": name, "buffer": buffers.add(payload)} for name, payload in model.metadata.items()]
    return {
        "version": model.version,
        "operator_codes": [_operator_code(key) for key in keys],
        "subgraphs": graphs,
        "description": model.description,
        "buffers": buffers.tables,
        "metadata": notes or None,
        "signature_defs": [
            {
                "signature_key": signature.key,
                "inputs": _arguments(signature.inputs),
                "outputs": _arguments(signature.outputs),
                "subgraph_index": signature.subgraph,
            }
            for signature in model.signatures
        ]
        or None,
    }


class _Buffers:
    """The buffers of the file; 0 stays empty."""

    def __init__(self, empty: Tree) -> None:
        self.tables: list[Tree] = [{}]
        self._empty = empty
        self._numbers: dict[tuple[Any, ...], int] = {}

    def add(self, payload: bytes) -> int:
        return self._append({"data": payload})

    def _append(self, table: Tree) -> int:
        self.tables.append(table)
        return len(self.tables) - 1

    def constant(self, array: Array | None) -> int:
        if array is None:
            return 0
        order = () if array.flags.c_contiguous else (array.shape, array.strides)
        key = array.ctypes.data, array.nbytes, order
        if not array.nbytes:
            return self._append(self._empty)
        if key not in self._numbers:
            self._numbers[key] = self.add(array.tobytes())
        return self._numbers[key]


def _operator_code(key: Key) -> Tree:
    op, version, custom = key
    code = operator_code("CUSTOM" if custom else op)
    return {
        "deprecated_builtin_code": min(code, _LAST_IN_A_BYTE),
        "builtin_code": code,
        "custom_code": op if custom else None,
        "version": version,
    }


def _arguments(arguments: Mapping[str, int]) -> list[Tree]:
    return [{"name": name, "tensor_index": index} for name, index in arguments.items()]


def _subgraph(subgraph: Subgraph, keys: dict[Key, int], buffers: _Buffers) -> Tree:
    return {
        "name": subgraph.name,
        "tensors": [_tensor(tensor, buffers) for tensor in subgraph.tensors],
        "inputs": subgraph.inputs,
        "outputs": subgraph.outputs,
        "operators": [_node(node, keys) for node in subgraph.nodes],
    }


def _tensor(tensor: Tensor, buffers: _Buffers) -> Tree:
    return {
        "name": tensor.name,
        "type": tensor.type.name,
        "shape": tensor.shape if tensor.shape or tensor.has_rank else None,
        "shape_signature": tensor.shape_signature,
        "has_rank": tensor.has_rank,
        "buffer": buffers.constant(tensor.data),
        "quantization": _quantization(tensor.quantization),
        "is_variable": tensor.is_variable,
        "sparsity": tensor.sparsity,
    }


def _quantization(quantization: Quantization) -> Tree | None:
    dimension = quantization.quantized_dimension
    if quantization.scales:
        scales, zeros = quantization.scales, quantization.zero_points
        return {"scale": scales, "zero_point": zeros, "quantized_dimension": dimension}
    if quantization.scales_tensor < 0:
        return None
    details = {
        "scales": quantization.scales_tensor,
        "zero_points": quantization.zero_points_tensor,
        "block_size": quantization.block_size,
    }
    return {"details_type": "BlockwiseQuantization", "details": details, "quantized_dimension": dimension}


def _node(node: Node, keys: dict[Key, int]) -> Tree:
    tree: Tree = {
        "opcode_index": keys.setdefault((node.op, node.version, node.custom), len(keys)),
        "inputs": node.inputs,
        "outputs": node.outputs,
        "custom_options": node.custom_options or None,
        "intermediates": node.intermediates or None,
    }
    found = None if node.custom else options_table(node.op)
    if found is not None:
        field = "builtin_options" if found.union == "BuiltinOptions" else "builtin_options2"
        tree[field + "_type"], tree[field] = found.table, dict(node.options)
    return tree
