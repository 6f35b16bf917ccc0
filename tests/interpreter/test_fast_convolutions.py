"""fast_convolutions: 3 x 3 convolutions of floats by Winograd's tiles stay within their bound, and nothing else takes
them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.compare import EPS
from support.weighted import Layer, window_options

import minilite
from minilite import InputError, Interpreter
from minilite._native.kernels import level_names
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

WAY = "Winograd's tiles of 4 x 4"
MOST = 8
"""The bound in its unit, which `units` has, for usual data."""
LEVELS = level_names()


def padded(x: NDArray, padding: str) -> NDArray:
    return np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)) if padding == "SAME" else ((0, 0),) * 4)


def exact(x: NDArray, w: NDArray, bias: NDArray | None, padding: str) -> NDArray:
    """The sums of windows in float64."""
    wide = padded(x, padding)
    high, across = wide.shape[1] - 2, wide.shape[2] - 2
    sums = np.zeros((x.shape[0], high, across, w.shape[0]))
    for i in range(3):
        for j in range(3):
            sums += wide[:, i : i + high, j : j + across] @ w[:, i, j].astype(np.float64).T
    return sums if bias is None else sums + bias


def units(x: NDArray, w: NDArray, bias: NDArray | None, padding: str) -> NDArray:
    """The unit of the bound for each output: eps times |bias| and the sum over channels of the largest |x| of the
    tile's patch times the sum of |w|."""
    wide = np.abs(padded(x, padding))
    high, across = wide.shape[1] - 2, wide.shape[2] - 2
    size = np.abs(w.astype(np.float64)).sum(axis=(1, 2))
    made = np.zeros((x.shape[0], high, across, w.shape[0]))
    for y in range(0, high, 4):
        for z in range(0, across, 4):
            most = wide[:, y : y + 6, z : z + 6].max(axis=(1, 2))
            made[:, y : y + 4, z : z + 4] = (most @ size.T)[:, None, None]
    return EPS * (made if bias is None else made + np.abs(bias))


def run_of(layer: Layer, level: str | None = None, **options: Any) -> tuple[NDArray, str | None]:
    """The output, and the way in which it was computed."""
    interpreter = Interpreter(model_content=layer.model, level=level, **options)
    for number, array in enumerate(layer.arrays):
        interpreter.resize_tensor_input(interpreter.get_input_details()[number]["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), layer.arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    plan = interpreter.plan
    assert plan is not None
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), plan.way(0)


def conv(x: Any, outputs: int, padding: str = "SAME", **more: Any) -> Layer:
    return Layer("CONV_2D", "f32", x, (outputs, 3, 3, x[3]), window_options(padding), **more)


def filled(kind: str, x: NDArray, w: NDArray, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Input and weights of a kind, in the shapes of x and w, which are normal."""
    y, z = np.meshgrid(np.arange(x.shape[1]), np.arange(x.shape[2]), indexing="ij")
    near = 1 + 0.1 * rng.uniform(-1, 1, x.shape)
    signs = np.where(np.arange(w.shape[0]) % 2, 1, -1)[:, None, None, None]
    made: dict[str, tuple[NDArray, NDArray]] = {
        "normal": (x, w),
        "relu": (np.maximum(x, 0), w),
        "all positive": (np.abs(x), np.abs(w)),
        "weights of one sign in a filter": (np.abs(x), np.abs(w) * signs),
        "outliers of 1000": (np.where(rng.integers(0, 64, x.shape) == 0, 1000 * x, x), w),
        "single pixels": (np.where(rng.integers(0, 100, x.shape) == 0, x, 0), w),
        "checkerboard": (np.where((y + z) % 2, 1, -1)[None, :, :, None] * near, w),
        "signs of a tile": ((np.where(y % 4 == 2, -1, 1) * np.where(z % 4 == 2, -1, 1))[None, :, :, None] * near, w),
    }
    return tuple(part.astype(np.float32) for part in made[kind])  # type: ignore[return-value]


KINDS = (
    "normal", "relu", "all positive", "weights of one sign in a filter", "outliers of 1000", "single pixels", "checkerboard",
    "signs of a tile",
)  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_stay_within_the_bound(kind: str, level: str) -> None:
    rng, worst = np.random.default_rng(7), 0.0
    for shape, outputs in (
        ((1, 32, 32, 16), 16),
        ((1, 16, 16, 64), 64),
        ((1, 12, 12, 256), 32),
        ((1, 16, 16, 512), 16),
    ):
        normal = rng.normal(size=shape).astype(np.float32)
        x, w = filled(kind, normal, rng.normal(size=(outputs, 3, 3, shape[3])).astype(np.float32), rng)
        layer = conv(shape, outputs, weights=w, bias="missing")
        layer.x[:] = x
        made, way = run_of(layer, level, fast_convolutions=True)
        assert way == WAY
        error, unit = np.abs(made - exact(x, w, None, "SAME")), units(x, w, None, "SAME")
        np.testing.assert_array_equal(made[unit == 0], 0)
        worst = max(worst, float((error[unit > 0] / unit[unit > 0]).max()))
    assert 0.1 < worst < MOST


@pytest.mark.parametrize("level", LEVELS)
def test_data_that_is_made_to_err_goes_beyond_the_bound(level: str) -> None:
    """Patches with the signs of the transform's first row, alike in all channels: no bound near 8 can be proven."""
    signs = np.array([1, 1, -1, -1, 1, 1])
    rng = np.random.default_rng(4)
    x = np.zeros((1, 32, 32, 128))
    for y in range(3, 24, 8):
        for z in range(3, 24, 8):
            x[0, y : y + 6, z : z + 6] = np.outer(signs, signs)[:, :, None] * rng.uniform(0.9, 1, (6, 6, 128))
    w = np.zeros((16, 3, 3, 128), np.float32)
    w[:, 0, 1] = rng.uniform(0.9, 1, (16, 128))
    layer = conv(x.shape, 16, weights=w, bias="missing")
    layer.x[:] = x
    made, way = run_of(layer, level, fast_convolutions=True)
    assert way == WAY
    unit = units(layer.x, w, None, "SAME")
    error = np.abs(made - exact(layer.x, w, None, "SAME"))
    assert MOST < (error[unit > 0] / unit[unit > 0]).max() < 100


@pytest.mark.parametrize("level", LEVELS)
def test_walk(level: str) -> None:
    """Channels, outputs, heights, widths and batches around what tiles and vectors hold; any number of threads."""
    rng, by_tiles = np.random.default_rng(3), 0
    for seed in range(60):
        channels, outputs, batch = int(rng.integers(16, 36)), int(rng.integers(16, 41)), int(rng.integers(1, 3))
        height, width = (int(size) for size in rng.integers(1, 14, 2))
        if seed % 4 == 0:
            height, width = (int(size) for size in rng.choice([4, 8, 12, 15, 16, 31], 2))
        padding = "SAME" if min(height, width) < 3 or seed % 3 else "VALID"
        activation = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")[seed % 4]
        bias = ("constant", "computed", "absent", "missing")[seed // 4 % 4]
        layer = Layer(
            "CONV_2D", "f32", (batch, height, width, channels), (outputs, 3, 3, channels),
            window_options(padding, fused_activation_function=activation), seed=seed, bias=bias,
        )  # fmt: skip
        results = [run_of(layer, level, fast_convolutions=True, num_threads=threads) for threads in (1, 2, 5)]
        made, way = results[0]
        for other, _ in results[1:]:
            np.testing.assert_array_equal(other, made)
        added = layer.bias if bias in ("constant", "computed") else None
        low, high = {"NONE": (-np.inf, np.inf), "RELU": (0, np.inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}[
            activation
        ]
        wanted = np.clip(exact(layer.x, layer.weights, added, padding), low, high)
        assert (np.abs(made - wanted) <= MOST * units(layer.x, layer.weights, added, padding)).all()
        plain, windows = run_of(layer, level)
        assert windows is None
        if way is None:
            np.testing.assert_array_equal(made, plain)
        by_tiles += way == WAY
    assert 15 < by_tiles < 55


def test_it_is_never_the_default() -> None:
    layer = conv((1, 16, 16, 32), 32)
    plain, way = run_of(layer)
    assert way is None
    np.testing.assert_array_equal(run_of(layer, fast_convolutions=False)[0], plain)
    assert not np.array_equal(run_of(layer, fast_convolutions=True)[0], plain)
    with pytest.raises(InputError, match="fast_convolutions is 'yes', must be True or False"):
        Interpreter(model_content=layer.model, fast_convolutions="yes")  # type: ignore[arg-type]


def test_windows_of_other_kinds_and_few_channels_have_none() -> None:
    window = window_options
    cases: list[tuple[Any, Any, Any]] = [
        ((1, 32, 32, 32), (32, 5, 5, 32), window("SAME")),
        ((1, 32, 32, 32), (32, 3, 3, 32), window("SAME", (2, 2))),
        ((1, 32, 32, 32), (32, 3, 3, 32), window("SAME", (1, 2))),
        ((1, 32, 32, 32), (32, 3, 3, 32), window("SAME", (1, 1), (2, 2))),
        ((1, 32, 32, 32), (32, 1, 3, 32), window("SAME")),
        ((1, 32, 32, 32), (32, 3, 3, 16), window("SAME")),  # two groups
        ((1, 32, 32, 15), (32, 3, 3, 15), window("SAME")),
        ((1, 32, 32, 32), (15, 3, 3, 32), window("SAME")),
        ((1, 5, 5, 32), (32, 3, 3, 32), window("SAME")),  # tiles are half empty
        ((1, 7, 7, 512), (512, 3, 3, 512), window("SAME")),  # weights of 37 MB for four tiles
    ]
    for x, w, options in cases:
        layer = Layer("CONV_2D", "f32", x, w, options)
        made, way = run_of(layer, fast_convolutions=True)
        assert way is None
        np.testing.assert_array_equal(made, run_of(layer)[0])


def test_weights_that_are_inputs_have_none() -> None:
    layer = conv((1, 16, 16, 32), 32, constant_weights=False)
    made, way = run_of(layer, fast_convolutions=True)
    assert way is None
    np.testing.assert_array_equal(made, run_of(layer)[0])


def test_weights_of_float16() -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=(24, 3, 3, 20)).astype(np.float16)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 9, 12, 20))
    wide = graph.node("DEQUANTIZE", [graph.constant("w", w)], out=("wide", w.shape))
    graph.output(graph.node("CONV_2D", [x, wide, -1], out=("y", (1, 9, 12, 24)), options=window_options("SAME")))
    interpreter = Interpreter(model_content=builder.build(), fast_convolutions=True)
    given = rng.normal(size=(1, 9, 12, 20)).astype(np.float32)
    (made,) = interpreter.run({"x": given}).values()
    plan = interpreter.plan
    assert plan is not None
    assert [plan.way(i) for i in range(len(list(plan.nodes())))] == [WAY]
    assert (np.abs(made - exact(given, w, None, "SAME")) <= MOST * units(given, w, None, "SAME")).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_tiles(special: float, level: str) -> None:
    layer = conv((1, 16, 16, 16), 20)
    plain, _ = run_of(layer, level, fast_convolutions=True)
    layer.x[0, 6, 10, 3] = special  # in the patches of the tiles of lines 4 to 7 and pixels 8 to 11 alone
    made, way = run_of(layer, level, fast_convolutions=True)
    assert way == WAY
    there = np.zeros(plain.shape, bool)
    there[:, 4:8, 8:12] = True
    np.testing.assert_array_equal(made[~there], plain[~there])
    assert not np.isfinite(made[:, 5:8, 9:12]).any()


def test_sizes_in_turn() -> None:
    """A small size takes windows, a large one tiles; weights take 4 times the bytes in these, and are packed once."""
    layer = conv((1, 16, 16, 32), 32)
    interpreter = Interpreter(
        model_content=layer.model, fast_convolutions=True, level="avx2" if "avx2" in LEVELS else None
    )
    rng, ways, packed = np.random.default_rng(1), [], []
    for side in (2, 32, 13, 2, 64, 5):
        x = rng.normal(size=(1, side, side, 32)).astype(np.float32)
        interpreter.resize_tensor_input(0, x.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, x)
        interpreter.invoke()
        made = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        wanted = exact(x, layer.weights, layer.bias, "SAME")
        assert (np.abs(made - wanted) <= MOST * units(x, layer.weights, layer.bias, "SAME")).all()
        plan = interpreter.plan
        assert plan is not None
        ways.append(plan.way(0))
        packed.append(interpreter.usage.packed_bytes)
    assert ways == [None, WAY, WAY, None, WAY, None]
    windows = packed[0]
    assert windows >= 4 * 9 * 32 * 32
    assert packed[1:] == [windows + 4 * 36 * 32 * 32] * 5
    assert interpreter.usage.larger_bytes == 0


def test_shapes_that_runs_give() -> None:
    """The size of the input comes from a tensor, so the node is prepared when the run reaches it."""
    rng = np.random.default_rng(2)
    w = rng.normal(size=(32, 3, 3, 16)).astype(np.float32)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, size = graph.input("x", (1, 4, 4, 16)), graph.input("size", (2,), TensorType.INT32)
    resized = graph.node("RESIZE_NEAREST_NEIGHBOR", [x, size], out=("resized", None))
    graph.output(resized)
    weights = graph.constant("w", w)
    graph.output(graph.node("CONV_2D", [resized, weights, -1], out=("y", None), options=window_options("SAME")))
    fast, plain = (Interpreter(model_content=builder.build(), fast_convolutions=which) for which in (True, False))
    differing = 0
    for side in (16, 3, 24, 16):
        given = {"x": rng.normal(size=(1, 4, 4, 16)).astype(np.float32), "size": np.array([side, side], np.int32)}
        between, made = fast.run(given).values()
        _, want = plain.run(given).values()
        assert made.shape == (1, side, side, 32)
        assert (np.abs(made - exact(between, w, None, "SAME")) <= MOST * units(between, w, None, "SAME")).all()
        differing += not np.array_equal(made, want)
    assert differing == 3


def images(layers: int, side: int, channels: int) -> bytes:
    """3 x 3 convolutions in turn."""
    rng, builder = np.random.default_rng(5), ModelBuilder()
    graph = builder.subgraph()
    shape = (1, side, side, channels)
    latest = graph.input("x", shape)
    for number in range(layers):
        w = rng.normal(size=(channels, 3, 3, channels)).astype(np.float32) / (3 * channels**0.5)
        weights = graph.constant(f"w{number}", w)
        latest = graph.node("CONV_2D", [latest, weights, -1], out=(f"y{number}", shape), options=window_options("SAME"))
    graph.output(latest)
    return builder.build()


def test_patches_of_a_smaller_arena() -> None:
    """Patches have tiles of their own, so bits may differ from those of a run in one piece, but not the bound."""
    model = images(3, 50, 16)
    x = np.random.default_rng(0).normal(size=(1, 50, 50, 16)).astype(np.float32)
    whole = Interpreter(model_content=model, fast_convolutions=True)
    (plain,) = Interpreter(model_content=model).run({"x": x}).values()
    (fast,) = whole.run({"x": x}).values()
    for share in (0.9, 0.75, 0.6):
        tiled = Interpreter(model_content=model, fast_convolutions=True, max_arena=int(share * whole.arena_bytes))
        (made,) = tiled.run({"x": x}).values()
        plan = tiled.plan
        assert plan is not None
        assert plan.tiles()
        assert not np.array_equal(made, plain)
        np.testing.assert_allclose(made, fast, atol=3e-5, rtol=0)
        np.testing.assert_array_equal(made, *tiled.run({"x": x}).values())


def test_copies_keep_the_option() -> None:
    layer = conv((1, 16, 16, 32), 32)
    first = Interpreter(model_content=layer.model, fast_convolutions=True)
    name = first.get_input_details()[0]["name"]
    (want,) = first.run({name: layer.x}).values()
    others = {
        "clone": first.clone(),
        "copy": copy.copy(first),
        "deep copy": copy.deepcopy(first),
        "pickle": pickle.loads(pickle.dumps(first)),
    }
    for how, other in others.items():
        (made,) = other.run({name: layer.x}).values()
        np.testing.assert_array_equal(made, want, err_msg=how)
        assert other.plan.way(0) == WAY, how
    second = Interpreter(model_content=layer.model, fast_convolutions=True)
    second.set_state(first.get_state())
    np.testing.assert_array_equal(*second.run({name: layer.x}).values(), want)


def test_comparisons_let_pass_what_it_rounds() -> None:
    layer = conv((1, 16, 16, 32), 32)
    fast, plain = (Interpreter(model_content=layer.model, fast_convolutions=which) for which in (True, False))
    found = minilite.compare(fast, plain)
    assert found.agrees
    assert found.labels[0] == f"{found.labels[1]}, fast convolutions"
    assert minilite.compare(fast, fast.clone()).agrees
    assert found.rows[-1].difference.largest > 0


def test_one_model_with_and_without_it() -> None:
    """Interpreters of one Model share packed weights, each form by itself."""
    layer = conv((1, 16, 16, 32), 32)
    model = Interpreter(model_content=layer.model).model
    name = Interpreter(model).get_input_details()[0]["name"]
    results = []
    for fast in (False, True, False, True):
        interpreter = Interpreter(model, fast_convolutions=fast)
        results.append(next(iter(interpreter.run({name: layer.x}).values())))
        plan = interpreter.plan
        assert plan is not None
        assert plan.way(0) == (WAY if fast else None)
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])
    assert not np.array_equal(results[0], results[1])
