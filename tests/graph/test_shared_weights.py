"""Nodes of one operator that share the bytes of their weights compute what they compute alone.

Weights are packed once for all nodes that share them; how they are packed may depend on a node's types, parameters,
quantization and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from support.node import Array, Given, OneNode, Out, kind_of, values
from support.weighted import Layer, window_options

import minilite
from minilite._native.kernels import level_names
from minilite.format.builder import ModelBuilder
from minilite.format.model import Model, Node, Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization

Case = tuple[bytes, list[Array]]
"""A model of one node, whose weights are the first constant, and its inputs."""


def of(node: OneNode) -> Case:
    return node.model, node.arrays


def depthwise(window: tuple[int, int]) -> list[Case]:
    weights = np.random.default_rng(0).integers(-127, 128, (1, *window, 16)).astype(np.int8)
    found = []
    for types in ("s8", "f32 s8 f32"):
        for stride, dilation in (((1, 1), (1, 1)), ((2, 1), (1, 1)), ((3, 2), (1, 1)), ((1, 1), (2, 1))):
            for seed, padding in enumerate(("SAME", "VALID")):
                options = window_options(padding, stride, dilation, depth_multiplier=1)
                node = Layer(
                    "DEPTHWISE_CONV_2D", types, (1, 15, 9, 16), weights.shape, options, weights=weights, seed=seed
                )
                found.append(of(node))
    unsigned = weights.view(np.uint8)
    return found + [
        of(bytes_of("DEPTHWISE_CONV_2D", unsigned, (1, 15, 9, 16), zero, depth_multiplier=1))
        for zero in (0, 3, 128, 255)
    ]


def bytes_of(op: str, weights: Array, shape: Sequence[int], zero: int, **options: int) -> OneNode:
    """A convolution of u8 whose weights have this zero point."""
    x = np.random.default_rng(zero).integers(0, 256, shape).astype(np.uint8)
    given = [Given(x, quantization=Quantization((0.02,), (7,))), Given(weights, True, Quantization((0.01,), (zero,)))]
    outs = [Out("u8", Quantization((0.5,), (128,)))]
    return OneNode(op, given, window_options("SAME", **options), outs=outs, version=3)


def convolutions(window: tuple[int, int], depth: int) -> list[Case]:
    weights = np.random.default_rng(0).integers(-127, 128, (32, *window, depth)).astype(np.int8)
    found = []
    for types in ("s8", "s16", "f32 s8 f32"):
        for x_shape in (
            (1, 24, 24, depth),
            (1, 5, 1, depth),
            (1, 8, 24, depth),
            (1, 1, 1, depth),
            (1, 9, 9, 2 * depth),
        ):
            for stride, dilation in (((1, 1), (1, 1)), ((2, 2), (1, 1)), ((1, 1), (2, 2))):
                options = window_options("SAME", stride, dilation)
                found.append(of(Layer("CONV_2D", types, x_shape, weights.shape, options, weights=weights)))
    unsigned = weights.view(np.uint8)
    return found + [of(bytes_of("CONV_2D", unsigned, (1, 24, 24, depth), zero)) for zero in (0, 3, 128, 255)]


def dense() -> list[Case]:
    """Weights of bytes, and of nibbles, which some types keep and others spread."""
    found = []
    for kind in ("s8", "s4"):
        weights = np.random.default_rng(0).integers(-7, 8, (48, 32)).astype(np.int8)
        for rows in (1, 9):
            found += [
                of(Layer("FULLY_CONNECTED", types, (rows, 32), weights.shape, {}, weights=weights, version=13))
                for types in (f"s8 {kind} s32", f"f32 {kind} f32", f"s16 {kind} s64", f"s16 {kind} s32")
            ]
    return found


def blocks() -> list[Case]:
    """The same nibbles with other scales and other blocks."""
    found = []
    weights = np.random.default_rng(0).integers(-7, 8, (24, 64)).astype(np.int8)
    for block, seed in ((32, 0), (32, 1), (16, 2)):
        rng = np.random.default_rng(seed)
        builder = ModelBuilder()
        g = builder.subgraph()
        x = g.input("x", (3, 64))
        w = g.constant("w", weights, kind_of("s4"), quantization=Quantization(block_size=block, scales_tensor=2))
        g.constant("scales", rng.uniform(0.01, 0.1, (24, 64 // block)).astype(np.float16))
        g.output(g.node("FULLY_CONNECTED", [x, w], out=("y", (3, 24)), version=13))
        found.append((builder.build(), [values(rng, "f32", (3, 64), 1.0)]))
    return found


def products() -> list[Case]:
    found = []
    for types, kind in (("f32 f32 f32", "f32"), ("s8 s8 s8", "s8"), ("f32 s8 f32", "s8"), ("s16 s16 s16", "s16")):
        y = values(np.random.default_rng(0), kind, (3, 16, 16), 1.0)
        y = np.maximum(y, -127) if kind == "s8" else y
        step = NOT_QUANTIZED if kind == "f32" else Quantization((0.02,), (0,))
        a, _, z = types.split()
        for adj_x in (False, True):
            for adj_y in (False, True):
                for seed in (0, 1):
                    x = values(np.random.default_rng(seed), a, (3, 16, 16), 1.0)
                    x_step = NOT_QUANTIZED if a == "f32" else Quantization((0.05,), (5 if a == "s8" else 0,))
                    out = Out(z, NOT_QUANTIZED if z == "f32" else Quantization((2.0,), (0,)))
                    found.append(
                        of(
                            OneNode(
                                "BATCH_MATMUL",
                                [Given(x, quantization=x_step), Given(y, True, step)],
                                {"adj_x": adj_x, "adj_y": adj_y, "asymmetric_quantize_inputs": bool(seed)},
                                outs=[out],
                                version=4,
                            )
                        )
                    )
    return found


def transposed() -> list[Case]:
    found = []
    for types, kind in (("f32", "f32"), ("s8", "s8"), ("s16", "s8")):
        weights = values(np.random.default_rng(0), kind, (6, 3, 3, 5), 1.0)
        for stride in (1, 2, 3):
            x = values(np.random.default_rng(stride), types, (1, 4, 5, 5), 1.0)
            step = NOT_QUANTIZED if types == "f32" else Quantization((0.05,), (0,))
            given = [
                Given(np.array([1, 4 * stride, 5 * stride, 6], np.int32), True),
                Given(weights, True, step),
                Given(x, quantization=step),
            ]
            options = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
            found.append(of(OneNode("TRANSPOSE_CONV", given, options, outs=[Out(types, step)], version=3)))
    return found


def volumes() -> list[Case]:
    found = []
    weights = values(np.random.default_rng(0), "f32", (2, 3, 3, 4, 6), 1.0)
    for stride in (1, 2):
        x = values(np.random.default_rng(stride), "f32", (1, 5, 6, 7, 4), 1.0)
        options = {"padding": "SAME", "stride_d": stride, "stride_h": stride, "stride_w": stride}
        options |= {"dilation_d_factor": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
        found.append(of(OneNode("CONV_3D", [x, Given(weights, True)], options)))
    return found


CASES: dict[str, Callable[[], list[Case]]] = {
    "depthwise 3x3": lambda: depthwise((3, 3)),
    "depthwise 5x1": lambda: depthwise((5, 1)),
    "depthwise 7x3": lambda: depthwise((7, 3)),
    "convolution 3x3x32": lambda: convolutions((3, 3), 32),
    "convolution 3x1x5": lambda: convolutions((3, 1), 5),
    "convolution 1x3x32": lambda: convolutions((1, 3), 32),
    "convolution 1x1x8": lambda: convolutions((1, 1), 8),
    "dense": dense,
    "blocks": blocks,
    "products": products,
    "transposed": transposed,
    "volumes": volumes,
}


def joined(files: Sequence[bytes]) -> Model:
    """A model of the nodes of all files, in which all have the first one's bytes of weights."""
    models = [minilite.load_model(content) for content in files]
    tensors: list[Tensor] = []
    nodes: list[Node] = []
    inputs: list[int] = []
    outputs: list[int] = []
    data: Array | None = None
    for model in models:
        graph, count = model.subgraphs[0], len(tensors)
        weights = graph.nodes[0].inputs[1]
        own = graph.tensors[weights].data
        assert own is not None
        data = own if data is None else data
        for tensor in graph.tensors:
            scales = tensor.quantization.scales_tensor
            quantization = tensor.quantization._replace(scales_tensor=scales + count if scales >= 0 else scales)
            kept = data.view(own.dtype) if tensor.index == weights else tensor.data
            tensors.append(tensor._replace(index=len(tensors), quantization=quantization, data=kept))
        for node in graph.nodes:
            read, made = ([t + count if t >= 0 else t for t in some] for some in (node.inputs, node.outputs))
            nodes.append(node._replace(index=len(nodes), inputs=tuple(read), outputs=tuple(made)))
        inputs += [t + count for t in graph.inputs]
        outputs += [t + count for t in graph.outputs]
    graph = (
        models[0]
        .subgraphs[0]
        ._replace(tensors=tuple(tensors), inputs=tuple(inputs), outputs=tuple(outputs), nodes=tuple(nodes))
    )
    return Model(models[0].version, "", (graph,))


def computed(model: Model, arrays: Sequence[Array], level: str) -> list[Array]:
    interpreter = minilite.Interpreter(model, level=level)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def by_weights(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases, those whose weights have the same bytes together."""
    found: dict[bytes, list[Case]] = {}
    for case in cases:
        graph = minilite.load_model(case[0]).subgraphs[0]
        data = graph.tensors[graph.nodes[0].inputs[1]].data
        assert data is not None
        found.setdefault(data.tobytes(), []).append(case)
    return list(found.values())


@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("name", CASES)
def test_nodes_that_share_weights(name: str, level: str) -> None:
    """Whichever comes first, whose weights are packed first."""
    for cases in by_weights(CASES[name]()):
        assert len(cases) > 1
        alone = [computed(minilite.load_model(model), arrays, level)[0] for model, arrays in cases]
        for order in (range(len(cases)), range(len(cases) - 1, -1, -1)):
            model = joined([cases[i][0] for i in order])
            found = computed(model, [array for i in order for array in cases[i][1]], level)
            for i, output in zip(order, found, strict=True):
                np.testing.assert_array_equal(output, alone[i], f"case {i}")
