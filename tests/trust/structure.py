"""Edits of a model's tables, as a broken converter or an attacker might write them."""

from __future__ import annotations

import contextlib
import random
import struct
from typing import TYPE_CHECKING, Any

from minilite.errors import MiniliteError
from minilite.format._model_tree import model_tree
from minilite.format._spec import operator_names
from minilite.format._writer import write_tree
from minilite.format.dtypes import TensorType
from minilite.format.reader import read_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tree = dict[str, Any]

SIZES = (0, 1, 2, 3, 7, 1 << 20, 2**31 - 1)
INTEGERS = (-(2**31), -3, -2, -1, 0, 1, 2, 3, 7, 255, 65536, 2**31 - 1)
REALS = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, -1.0, 1e-45, 1e-38, 3.4e38, 1.0, 0.1)
DENSE = {"format": "DENSE", "dense_size": 2, "array_segments_type": "NONE", "array_indices_type": "NONE"}

# Where ----------------------------------------------------------------------------------------------------------------


def a_graph(tree: Tree, chance: random.Random) -> Tree:
    """A subgraph, in most cases the main one."""
    graphs = tree["subgraphs"]
    found: Tree = graphs[0] if chance.random() < 0.6 else chance.choice(graphs)
    return found


def a_tensor(tree: Tree, chance: random.Random) -> Tree:
    """A tensor of any subgraph. Raises: IndexError if there is none."""
    found: Tree = chance.choice(a_graph(tree, chance)["tensors"])
    return found


def a_node(tree: Tree, chance: random.Random) -> Tree:
    """A node of any subgraph. Raises: IndexError if there is none."""
    found: Tree = chance.choice(a_graph(tree, chance)["operators"])
    return found


def options_of(node: Tree) -> Tree:
    """A node's options."""
    return node.get("builtin_options") or node.get("builtin_options2") or {}


# Tensors --------------------------------------------------------------------------------------------------------------


def make_sparse(tree: Tree, chance: random.Random) -> None:
    tensor = a_tensor(tree, chance)
    rank = len(tensor["shape"] or ()) or 1
    layout: list[Tree] = [{**DENSE, "dense_size": chance.choice((0, 1, 2, 3))} for _ in range(rank)]
    if chance.random() < 0.4:
        layout[-1] = {
            "format": "SPARSE_CSR",
            "dense_size": 0,
            "array_segments_type": "Int32Vector",
            "array_segments": {"values": [0, *(chance.choice(INTEGERS) for _ in range(chance.randrange(3)))]},
            "array_indices_type": "Int32Vector",
            "array_indices": {"values": [chance.choice(INTEGERS) for _ in range(chance.randrange(4))]},
        }
    order = list(range(rank))
    chance.shuffle(order)
    blocks = () if chance.random() < 0.7 else (chance.randrange(-1, rank + 1),)
    tensor["sparsity"] = {"traversal_order": tuple(order), "block_map": blocks, "dim_metadata": layout}


def change_type(tree: Tree, chance: random.Random) -> None:
    a_tensor(tree, chance)["type"] = chance.choice(list(TensorType)).name


def change_shape(tree: Tree, chance: random.Random) -> None:
    tensor = a_tensor(tree, chance)
    shape = list(tensor["shape"] or ())
    if shape and chance.random() < 0.7:
        shape[chance.randrange(len(shape))] = chance.choice(SIZES)
    else:
        shape = [chance.choice(SIZES[:5]) for _ in range(chance.randrange(10 if chance.random() < 0.1 else 5))]
    tensor["shape"] = tuple(shape)


def change_signature_shape(tree: Tree, chance: random.Random) -> None:
    tensor = a_tensor(tree, chance)
    tensor["shape_signature"] = tuple(chance.choice((-2, -1, 0, 1, 4)) for _ in range(chance.randrange(6)))


def forget_rank(tree: Tree, chance: random.Random) -> None:
    tensor = a_tensor(tree, chance)
    tensor["shape"], tensor["has_rank"] = None, chance.random() < 0.5


def make_variable(tree: Tree, chance: random.Random) -> None:
    tensor = a_tensor(tree, chance)
    tensor["is_variable"] = not tensor["is_variable"]


def drop_quantization(tree: Tree, chance: random.Random) -> None:
    a_tensor(tree, chance)["quantization"] = None


def change_quantization(tree: Tree, chance: random.Random) -> None:
    """Sets scales to NaN, 0 or infinity, zero points out of range, or counts and dimensions that do not fit."""
    tensor = a_tensor(tree, chance)
    count = chance.choice((1, 1, 1, 0, 2, 3))
    scales = tuple(chance.choice(REALS) for _ in range(count))
    points = tuple(chance.choice(INTEGERS) for _ in range(chance.choice((count, count, 1, 0))))
    kind = tensor["type"] if chance.random() < 0.6 else chance.choice(("INT8", "UINT8", "INT16", "INT4"))
    tensor["type"] = kind
    tensor["quantization"] = {
        "scale": scales,
        "zero_point": points,
        "quantized_dimension": chance.choice((0, 0, 1, -1, 9, 2**31 - 1)),
    }


def change_buffer_of(tree: Tree, chance: random.Random) -> None:
    a_tensor(tree, chance)["buffer"] = chance.randrange(-1, len(tree["buffers"]) + 1)


def drop_tensor(tree: Tree, chance: random.Random) -> None:
    tensors = a_graph(tree, chance)["tensors"]
    del tensors[chance.randrange(len(tensors))]


def repeat_tensor(tree: Tree, chance: random.Random) -> None:
    tensors = a_graph(tree, chance)["tensors"]
    tensors.insert(chance.randrange(len(tensors)), dict(chance.choice(tensors)))


def rename(tree: Tree, chance: random.Random) -> None:
    a_tensor(tree, chance)["name"] = chance.choice(("", "x", "\n", "%s%n", "é" * 400, "a" * 5000))


# Bytes of constants ---------------------------------------------------------------------------------------------------


def change_constant(tree: Tree, chance: random.Random) -> None:
    """Words of a constant become extreme: axes, shapes, indices, counts, lengths of strings."""
    buffer = chance.choice(tree["buffers"])
    data = bytearray(buffer.get("data") or b"")
    for _ in range(chance.choice((1, 1, 3))):
        at = chance.randrange(len(data) // 4) * 4
        data[at : at + 4] = struct.pack("<I", chance.choice(INTEGERS) & 0xFFFFFFFF)
    buffer["data"] = bytes(data)


def change_floats(tree: Tree, chance: random.Random) -> None:
    buffer = chance.choice(tree["buffers"])
    data = bytearray(buffer.get("data") or b"")
    at = chance.randrange(len(data) // 4) * 4
    data[at : at + 4] = struct.pack("<f", chance.choice(REALS))
    buffer["data"] = bytes(data)


def change_length(tree: Tree, chance: random.Random) -> None:
    buffer = chance.choice(tree["buffers"])
    data = buffer.get("data") or b""
    buffer["data"] = chance.choice((data[:-1], data[: len(data) // 2], data * 2, data + bytes(4), b""))


# Nodes ----------------------------------------------------------------------------------------------------------------


def change_operand(tree: Tree, chance: random.Random) -> None:
    graph = a_graph(tree, chance)
    node = chance.choice(graph["operators"])
    key = chance.choice(("inputs", "inputs", "outputs", "intermediates"))
    operands = list(node.get(key) or ())
    operands[chance.randrange(len(operands))] = chance.randrange(-1, len(graph["tensors"]))
    node[key] = tuple(operands)


def change_count_of_operands(tree: Tree, chance: random.Random) -> None:
    graph = a_graph(tree, chance)
    node = chance.choice(graph["operators"])
    key = chance.choice(("inputs", "outputs"))
    operands = list(node[key] or ())
    if chance.random() < 0.5:
        operands.pop(chance.randrange(len(operands)))
    else:
        operands.insert(chance.randrange(len(operands) + 1), chance.randrange(-1, len(graph["tensors"])))
    node[key] = tuple(operands)


def swap_codes(tree: Tree, chance: random.Random) -> None:
    a_node(tree, chance)["opcode_index"] = chance.randrange(len(tree["operator_codes"]))


def change_code(tree: Tree, chance: random.Random) -> None:
    """Gives a node another operator, with the same operands and options."""
    code = chance.choice(tree["operator_codes"])
    number = chance.randrange(len(operator_names()) + 2)
    code["builtin_code"], code["deprecated_builtin_code"] = number, min(number, 127)


def change_version(tree: Tree, chance: random.Random) -> None:
    chance.choice(tree["operator_codes"])["version"] = chance.choice((*range(-1, 12), 2**31 - 1))


def change_custom_name(tree: Tree, chance: random.Random) -> None:
    code = chance.choice(tree["operator_codes"])
    names = ("TFLite_Detection_PostProcess", "Convolution2DTransposeBias", "Mine", "", "x" * 300, "NumericVerify")
    code["custom_code"] = chance.choice(names)
    code["builtin_code"], code["deprecated_builtin_code"] = 32, 32


def change_custom_options(tree: Tree, chance: random.Random) -> None:
    node = a_node(tree, chance)
    data = bytearray(node.get("custom_options") or b"")
    if data and chance.random() < 0.8:
        data[chance.randrange(len(data))] = chance.choice((0, 1, 4, 0x24, 0x7F, 0x80, 0xFF))
    else:
        data = bytearray(chance.randbytes(chance.randrange(20)))
    node["custom_options"] = bytes(data)


def change_option(tree: Tree, chance: random.Random) -> None:
    """Gives an option an extreme number, another word, or a vector of another length."""
    options = options_of(a_node(tree, chance))
    key = chance.choice([key for key, value in options.items() if value is not None])
    value = options[key]
    if isinstance(value, bool):
        options[key] = not value
    elif isinstance(value, int):
        options[key] = chance.choice(INTEGERS)
    elif isinstance(value, float):
        options[key] = chance.choice(REALS)
    elif isinstance(value, (list, tuple)):
        options[key] = tuple(chance.choice(INTEGERS) for _ in range(chance.randrange(9)))
    else:
        options[key] = None


def drop_options(tree: Tree, chance: random.Random) -> None:
    node = a_node(tree, chance)
    for key in ("builtin_options", "builtin_options2"):
        node[key], node[f"{key}_type"] = None, "NONE"


def swap_options(tree: Tree, chance: random.Random) -> None:
    """Gives a node the options of another one."""
    node, other = a_node(tree, chance), a_node(tree, chance)
    for key in ("builtin_options", "builtin_options_type", "builtin_options2", "builtin_options2_type"):
        node[key] = other.get(key)


def drop_node(tree: Tree, chance: random.Random) -> None:
    nodes = a_graph(tree, chance)["operators"]
    del nodes[chance.randrange(len(nodes))]


def repeat_node(tree: Tree, chance: random.Random) -> None:
    nodes = a_graph(tree, chance)["operators"]
    nodes.insert(chance.randrange(len(nodes) + 1), dict(chance.choice(nodes)))


def swap_nodes(tree: Tree, chance: random.Random) -> None:
    nodes = a_graph(tree, chance)["operators"]
    i, k = chance.randrange(len(nodes)), chance.randrange(len(nodes))
    nodes[i], nodes[k] = nodes[k], nodes[i]


# Subgraphs and what describes the model -------------------------------------------------------------------------------


def change_io(tree: Tree, chance: random.Random) -> None:
    graph = a_graph(tree, chance)
    key = chance.choice(("inputs", "outputs"))
    operands = list(graph[key] or ())
    match chance.randrange(3):
        case 0:
            operands[chance.randrange(len(operands))] = chance.randrange(-1, len(graph["tensors"]))
        case 1:
            operands.append(chance.randrange(-1, len(graph["tensors"])))
        case _:
            operands.pop()
    graph[key] = tuple(operands)


def change_called(tree: Tree, chance: random.Random) -> None:
    """Makes a node call another subgraph, its own, or one that calls it, which is a cycle."""
    calling = [
        (options_of(node), key)
        for graph in tree["subgraphs"]
        for node in graph["operators"]
        for key in options_of(node)
        if key.endswith("subgraph_index")
    ]
    options, key = chance.choice(calling)
    options[key] = chance.randrange(-1, len(tree["subgraphs"]) + 1)


def repeat_subgraph(tree: Tree, chance: random.Random) -> None:
    graphs = tree["subgraphs"]
    graphs.insert(chance.randrange(len(graphs) + 1), chance.choice(graphs))


def drop_subgraph(tree: Tree, chance: random.Random) -> None:
    graphs = tree["subgraphs"]
    del graphs[chance.randrange(len(graphs))]


def change_signature(tree: Tree, chance: random.Random) -> None:
    """Gives a signature a wrong subgraph, wrong tensors, or a name twice."""
    count = len(tree["subgraphs"][0]["tensors"])
    arguments = [{"name": chance.choice("xxyz"), "tensor_index": chance.randrange(count + 1)} for _ in range(2)]
    made = {
        "signature_key": chance.choice(("serve", "", "x")),
        "inputs": arguments[: chance.randrange(3)],
        "outputs": arguments[chance.randrange(2) :],
        "subgraph_index": chance.randrange(len(tree["subgraphs"]) + 1),
    }
    tree["signature_defs"] = [*(tree["signature_defs"] or ()), made]


def add_metadata(tree: Tree, chance: random.Random) -> None:
    names = ("OfflineMemoryAllocation", "TFLITE_METADATA", "min_runtime_version", "CONVERSION_METADATA", "x")
    tree["buffers"].append({"data": chance.randbytes(chance.choice((0, 3, 16, 40)))})
    note = {"name": chance.choice(names), "buffer": len(tree["buffers"]) - 1}
    tree["metadata"] = [*(tree["metadata"] or ()), note]


def plan_offline(tree: Tree, chance: random.Random) -> None:
    """Adds a memory plan whose offsets overlap, are not aligned, or are too many."""
    graph = tree["subgraphs"][0]
    count = len(graph["tensors"]) if chance.random() < 0.8 else chance.randrange(9)
    offsets = [chance.choice((-1, -1, 0, 16, 64, 65, 128, 1024, 1 << 20, 2**31 - 1)) for _ in range(count)]
    data = struct.pack(f"<{3 + count}i", 1, chance.choice((0, 0, 0, 1, -1)), count, *offsets)
    tree["buffers"].append({"data": data})
    tree["metadata"] = [{"name": "OfflineMemoryAllocation", "buffer": len(tree["buffers"]) - 1}]


EDITS: tuple[Callable[[Tree, random.Random], None], ...] = (
    make_sparse, change_type, change_shape, change_signature_shape, forget_rank, make_variable, drop_quantization,
    change_quantization, change_buffer_of, drop_tensor, repeat_tensor, rename, change_constant, change_constant,
    change_floats, change_length, change_operand, change_operand, change_count_of_operands, swap_codes, change_code,
    change_version, change_custom_name, change_custom_options, change_option, change_option, drop_options, swap_options,
    drop_node, repeat_node, swap_nodes, change_io, change_called, repeat_subgraph, drop_subgraph, change_signature,
    add_metadata, plan_offline,
)  # fmt: skip
"""Each may raise LookupError or ValueError where a model has nothing to edit."""


def restructured(model: bytes, count: int, random_seed: str) -> Iterator[bytes]:
    """`count` mutants, the same ones every time; those that cannot be written as a file are left out."""
    chance = random.Random(random_seed)
    for _ in range(count):
        tree = model_tree(read_model(model))
        for _ in range(chance.choice((1, 1, 2, 3))):
            with contextlib.suppress(LookupError, TypeError, ValueError):
                chance.choice(EDITS)(tree, chance)
        with contextlib.suppress(MiniliteError, LookupError, TypeError, ValueError, struct.error, OverflowError):
            yield write_tree(tree)
