"""Tiles written into files: the same results as the whole nodes, in minilite and in LiteRT's reference kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import peer
from support.compare import run_litert, run_minilite
from support.node import Array, kind_of, values

import minilite
from minilite._native.tiles import TileGroup, find_tiles
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.memory.tiled import tiled, whole_nodes

STEP = {"stride_h": 1, "stride_w": 1}
SAME = {"padding": "SAME", **STEP, "dilation_h_factor": 1, "dilation_w_factor": 1}
GRIDS = ((2, 1), (4, 1), (2, 2), (3, 3))
HEIGHT, WIDTH = 13, 14
MODELS = Path(__file__).resolve().parents[2] / "../shared/models"


class Image:
    """A model of images of one type that grows by a node at a time; its weights are of seed 1."""

    def __init__(self, kind: str, batch: int = 1, channels: int = 4) -> None:
        self.kind, self.rng, self.channels = kind_of(kind), np.random.default_rng(1), channels
        self.q = NOT_QUANTIZED if kind == "f32" else Quantization((0.05,), (0 if kind == "s16" else 3,))
        self.builder = ModelBuilder()
        self.g = self.builder.subgraph()
        self.x = self.g.input("x", (batch, HEIGHT, WIDTH, channels), self.kind, quantization=self.q)
        self.count = 0
        self.input = values(self.rng, kind, (batch, HEIGHT, WIDTH, channels))

    def add(self, op: str, *others: int, kind: TensorType | None = None, q: Any = None, **options: Any) -> int:
        self.count += 1
        made = (f"y{self.count}", None, self.kind if kind is None else kind, self.q if q is None else q)
        version = {"RESIZE_NEAREST_NEIGHBOR": 3, "PADV2": 2}.get(op, 1)
        self.x = self.g.node(op, [self.x, *others], out=made, options=options, version=version)
        return self.x

    def constant(self, array: Any, dtype: Any = np.int32, q: Quantization = NOT_QUANTIZED) -> int:
        return self.g.constant(f"c{len(self.g._tensors)}", np.array(array, dtype), quantization=q)

    def weights(self, shape: tuple[int, ...]) -> int:
        if self.kind == TensorType.FLOAT32:
            return self.constant(self.rng.normal(size=shape), np.float32)
        return self.constant(self.rng.integers(-127, 128, shape), np.int8, Quantization((0.01,), (0,)))

    def conv(self, channels: int = 6, size: int = 3, **options: Any) -> int:
        w = self.weights((channels, size, size, self.channels))
        self.channels = channels
        return self.add("CONV_2D", w, self.bias(), **{**SAME, **options})

    def bias(self) -> int:
        if self.kind == TensorType.FLOAT32:
            return self.constant(self.rng.normal(size=self.channels), np.float32)
        return self.constant(self.rng.integers(-99, 99, self.channels), np.int32, Quantization((0.0005,), (0,)))

    def depthwise(self, **options: Any) -> int:
        w = self.weights((1, 3, 3, self.channels))
        return self.add("DEPTHWISE_CONV_2D", w, self.bias(), **{**SAME, "depth_multiplier": 1, **options})

    def transpose(self, padding: str) -> int:
        batch, w = self.input.shape[0], self.weights((5, 3, 2, self.channels))
        sides = (2 * HEIGHT, 3 * WIDTH) if padding == "SAME" else (2 * HEIGHT + 1, 3 * WIDTH - 1)
        shape, x = self.constant([batch, *sides, 5]), self.x
        self.count += 1
        options = {"padding": padding, "stride_h": 2, "stride_w": 3}
        made = (f"y{self.count}", None, self.kind, self.q)
        self.x = self.g.node("TRANSPOSE_CONV", [shape, w, x], out=made, options=options)
        self.channels = 5
        return self.x

    def pool(self, op: str, padding: str) -> int:
        return self.add(op, padding=padding, stride_h=2, stride_w=2, filter_height=3, filter_width=3)

    def model(self, *outputs: int) -> bytes:
        self.g.output(*(outputs or (self.x,)))
        return self.builder.build()


def check(model: bytes, feed: Array, first: int, last: int, *, litert: bool = True) -> None:
    """The model with nodes first to last in tiles, by each grid, gives the same in both runtimes."""
    expected = run_minilite(model, [feed])
    theirs = run_litert(model, [feed]) if litert and peer.HERE else None
    apart = minilite.Interpreter(model_content=model, experimental_disable_delegate_node_fusion=True)
    apart.allocate_tensors()
    assert apart.plan is not None
    assert not whole_nodes(apart.model, apart.plan) & {*range(first, last + 1)}
    for grid in GRIDS:
        data = tiled(apart.model, apart.plan, [TileGroup(first, last, *grid, 0, 0.0)])
        results = [(expected, run_minilite(data, [feed]))]
        if theirs is not None:
            results.append((theirs, run_litert(data, [feed])))
        for whole, found in results:
            for a, b in zip(whole, found, strict=True):
                assert a.tobytes() == b.tobytes(), f"{grid}: {np.abs(a.astype(float) - b).max()}"


@pytest.mark.parametrize("kind", ["f32", "s8"])
@pytest.mark.parametrize("batch", [1, 2])
def test_convolutions_and_a_residual(kind: str, batch: int) -> None:
    image = Image(kind, batch)
    x = image.conv()
    image.depthwise()
    image.conv(6)
    image.add("ADD", x)
    image.depthwise(stride_h=2, stride_w=2)
    image.conv(3, 2, padding="VALID", dilation_w_factor=2)
    check(image.model(), image.input, 0, 5)


@pytest.mark.parametrize("kind", ["f32", "s8"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pools(kind: str, padding: str) -> None:
    image = Image(kind)
    image.conv()
    image.pool("MAX_POOL_2D", padding)
    image.pool("AVERAGE_POOL_2D", "VALID")
    check(image.model(), image.input, 0, 2)


@pytest.mark.parametrize("kind", ["f32", "s8"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed_convolutions(kind: str, padding: str) -> None:
    image = Image(kind)
    image.conv()
    image.transpose(padding)
    check(image.model(), image.input, 0, 1)


def test_paddings_blocks_and_choices() -> None:
    image = Image("f32")
    image.add("PAD", image.constant([[0, 0], [2, 1], [0, 2], [0, 0]]))
    image.conv(8, padding="VALID")
    image.add("DEPTH_TO_SPACE", block_size=2)
    image.channels = 2
    image.add("MUL", image.constant([[[[0.5, 2.0]]]], np.float32))
    x = image.x
    image.add("SOFTMAX", beta=1.0)
    image.g.node("CONCATENATION", [x, image.x], out=("joined", None), options={"axis": 3})
    image.x = len(image.g._tensors) - 1
    image.add("SPACE_TO_DEPTH", block_size=2)
    image.add("ARG_MAX", image.constant(3), kind=TensorType.INT32, q=NOT_QUANTIZED, output_type="INT32")
    check(image.model(), image.input, 0, 7)


def test_a_constant_image_is_cut() -> None:
    image = Image("f32")
    image.add("ADD", image.constant(image.rng.normal(size=(1, HEIGHT, WIDTH, 4)), np.float32))
    image.conv()
    check(image.model(), image.input, 0, 1)


def test_other_types_within() -> None:
    image = Image("s8")
    image.add("DEQUANTIZE", kind=TensorType.FLOAT32, q=NOT_QUANTIZED)
    image.add("LOGISTIC", kind=TensorType.FLOAT32, q=NOT_QUANTIZED)
    image.add("QUANTIZE")
    image.conv()
    check(image.model(), image.input, 0, 3)


def test_several_outputs() -> None:
    """The first is read within the group too, another after it."""
    image = Image("f32")
    first = image.conv()
    second = image.conv(4)
    image.conv(2)
    third = image.add("REVERSE_V2", image.constant([1]))
    check(image.model(first, third, second), image.input, 0, 2)


def test_nodes_that_no_operator_computes_in_patches_stay_whole() -> None:
    image = Image("f32")
    image.conv()
    image.pool("AVERAGE_POOL_2D", "SAME")
    image.pool("AVERAGE_POOL_2D", "VALID")
    image.add("RESIZE_NEAREST_NEIGHBOR", image.constant([9, 9]))
    apart = minilite.Interpreter(model_content=image.model(), experimental_disable_delegate_node_fusion=True)
    apart.allocate_tensors()
    assert apart.plan is not None
    whole = whole_nodes(apart.model, apart.plan)
    assert whole == {1, 3}
    assert all(not {*range(g.first, g.last + 1)} & whole for g in find_tiles(apart.plan, 0, -1.0, whole).groups)


def test_tensors_that_are_gone_take_no_bytes() -> None:
    image = Image("f32")
    gone = image.conv()
    image.conv()
    model = minilite.load_model(image.model())
    apart = minilite.Interpreter(model, experimental_disable_delegate_node_fusion=True)
    apart.allocate_tensors()
    assert apart.plan is not None
    data = tiled(model, apart.plan, [TileGroup(0, 1, 2, 2, 0, 0.0)])
    made = minilite.load_model(data).subgraphs[0]
    assert made.tensors[gone].shape == (0,)
    assert [made.tensors[t].name for t in (*made.inputs, *made.outputs)] == ["x", "y2"]


@pytest.mark.parametrize("name", ["emza_ssd_slim_120x160x1_v1_int8", "mlperftiny_vww_96_float"])
@pytest.mark.skipif(not MODELS.exists(), reason="needs ../shared/models")
def test_models_of_others(name: str) -> None:
    data = (MODELS / f"{name}.tflite").read_bytes()
    apart = minilite.Interpreter(model_content=data, experimental_disable_delegate_node_fusion=True)
    apart.allocate_tensors()
    assert apart.plan is not None
    found = find_tiles(apart.plan, 0, 0.1, whole_nodes(apart.model, apart.plan))
    made = tiled(apart.model, apart.plan, found.groups)
    detail = apart.get_input_details()[0]
    feed = values(np.random.default_rng(3), "f32" if detail["dtype"] == np.float32 else "s8", detail["shape"])
    for runner in (run_minilite, run_litert) if peer.HERE else (run_minilite,):
        for a, b in zip(runner(data, [feed]), runner(made, [feed]), strict=True):
            assert a.tobytes() == b.tobytes()
    after = minilite.Interpreter(model_content=made)
    after.allocate_tensors()
    assert after.plan is not None
    assert after.plan.arena_bytes < 0.7 * apart.plan.arena_bytes
