"""REDUCE_WINDOW, STABLEHLO_REDUCE_WINDOW: C kernels, numpy references and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS, check
from support.node import Given, OneNode, const, counting, kind_of, values
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder

FUNCTIONS = ["ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"]
BODIES = {
    "ADD": "STABLEHLO_ADD", "MUL": "STABLEHLO_MULTIPLY", "MINIMUM": "MINIMUM", "MAXIMUM": "STABLEHLO_MAXIMUM",
    "ALL": "LOGICAL_AND", "ANY": "LOGICAL_OR",
}  # fmt: skip


def window(
    x: Any, start: Any, sizes: Any, strides: Any, dilations: Any, function: str = "ADD", constant: bool = True
) -> OneNode:
    given = [x, np.asarray(start, x.dtype)]
    given += [Given(np.array(v, np.int64), constant) for v in (sizes, strides, dilations)]
    return OneNode("REDUCE_WINDOW", given, {"reduce_function": function})


class Stablehlo:
    """A node like OneNode, with its function in a subgraph of its own."""

    def __init__(self, x: Any, start: Any, body: str, **options: Any) -> None:
        rank = x.ndim
        text = {
            "window_dimensions": [2] * rank, "window_strides": [1] * rank, "base_dilations": [1] * rank,
            "window_dilations": [1] * rank, "padding": [0] * 2 * rank, "body_subgraph_index": 1, **options,
        }  # fmt: skip
        builder = ModelBuilder()
        g, inner = builder.subgraph("main"), builder.subgraph("body")
        self.arrays = [x, np.asarray(start, x.dtype)]
        inputs = [g.input(name, a.shape, kind_of(a)) for name, a in zip(("x", "start"), self.arrays, strict=True)]
        g.output(g.node("STABLEHLO_REDUCE_WINDOW", inputs, out=("y", None, kind_of(x)), options=text))
        a, b = (inner.input(name, (), kind_of(x)) for name in "ab")
        inner.output(inner.node(body, [a, b], out=("joined", (), kind_of(x))))
        self.model = builder.build()

    def check(self, **how: Any) -> Any:
        return check(self.model, self.arrays, **how)[0]


def every_window(rng: Any, inputs: Any, outputs: Any) -> Any:
    function = "ALL" if inputs[0] == "b8" else "ADD"
    return window(values(rng, inputs[0], (3, 6)), 1, [2, 3], [1, 2], [2, 1], function), {"tolerance": 64 * EPS}


def every_stablehlo(rng: Any, inputs: Any, outputs: Any) -> Any:
    body = "LOGICAL_AND" if inputs[0] == "b8" else "STABLEHLO_ADD"
    return Stablehlo(values(rng, inputs[0], (3, 6)), 1, body, padding=[1, 0, 0, 2]), {"tolerance": 64 * EPS}


EVERY_TYPE = {"REDUCE_WINDOW": every_window, "STABLEHLO_REDUCE_WINDOW": every_stablehlo}
WINDOWS: list[Any] = [
    ((7,), [3], [1], [1]), ((7,), [2], [3], [4]), ((5, 6), [1, 6], [2, 1], [1, 1]), ((3, 5, 4), [2, 2, 2], [1, 2, 1], [2, 1, 3]),
    ((2, 2500), [1, 3], [1, 1], [1, 2]), ((5000,), [2], [3], [1]), ((2, 3, 4, 5), [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1]), ((3, 3), [4, 1], [1, 1], [1, 1]),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("shape", "sizes", "strides", "dilations"), WINDOWS)
def test_windows(function: str, shape: Any, sizes: Any, strides: Any, dilations: Any) -> None:
    rng = np.random.default_rng(1)
    for kind in ("f32", "s8", "s32"):
        if function in ("ALL", "ANY") and kind == "f32":
            continue
        x = values(rng, kind, shape, 1.0)
        window(x, 2, sizes, strides, dilations, function).check(tolerance=64 * EPS)
    if function in ("ALL", "ANY"):
        x = values(rng, "b8", shape)
        window(x, function == "ALL", sizes, strides, dilations, function).check()


@pytest.mark.parametrize("function", ["ADD", "MUL", "MINIMUM", "MAXIMUM"])
@pytest.mark.parametrize("apart", [1, 2, 3])
@pytest.mark.parametrize("padding", [[0, 0, 0, 0], [1, 2, 0, 1], [-1, 0, 2, -2], [0, -1, -1, 3]])
def test_stablehlo(function: str, apart: int, padding: Any) -> None:
    rng = np.random.default_rng(2)
    for kind in ("f32", "s16", "s64"):
        x = values(rng, kind, (4, 6), 1.0)
        for sizes, strides, dilations in (([2, 2], [1, 1], [1, 1]), ([1, 3], [2, 1], [1, 2]), ([2, 1], [1, 2], [2, 1])):
            node = Stablehlo(
                x, 2, BODIES[function], base_dilations=[apart, 1], padding=padding, window_dimensions=sizes,
                window_strides=strides, window_dilations=dilations,
            )  # fmt: skip
            node.check(tolerance=256 * EPS)


@pytest.mark.parametrize("apart", [1, 3])
@pytest.mark.parametrize("padding", [[0, 0], [5, 1], [-3, -700], [-1100, 9], [-1205, 9], [1500, 1500]])
def test_long_rows(apart: int, padding: Any) -> None:
    """More outputs than a span has; padding that leaves whole spans outside."""
    x = values(np.random.default_rng(3), "s32", (1200,), 1.0)
    for size, stride, dilation in ((2, 1, 1), (3, 2, 700), (1, 1, 1)):
        node = Stablehlo(
            x, 2, "STABLEHLO_ADD", base_dilations=[apart], padding=padding, window_dimensions=[size],
            window_strides=[stride], window_dilations=[dilation],
        )  # fmt: skip
        node.check()


def test_sizes_at_run_time() -> None:
    """Sizes are computed in the run; LiteRT takes only constants."""
    x = counting((5, 6))
    y = window(x, 0, [2, 2], [1, 2], [1, 1], constant=False).check(oracle=None)
    np.testing.assert_array_equal(y, window(x, 0, [2, 2], [1, 2], [1, 1]).check())


def test_nan() -> None:
    x = np.array([1, np.nan, 3, -np.inf, np.nan], np.float32)
    for function in ("MINIMUM", "MAXIMUM", "ADD"):
        window(x, 2, [2], [1], [1], function).check()


def test_threads() -> None:
    same_for_any_number_of_threads(window(values(np.random.default_rng(1), "f32", (60, 70)), 0, [5, 5], [1, 1], [1, 1]))


def test_refused() -> None:
    x = counting((5, 6))
    window(x, 0, [0, 2], [1, 1], [1, 1]).refused(ShapeError, "dimension 0: window 0, stride 1", by_litert=False)
    window(x, 0, [2], [1, 1], [1, 1]).refused(ShapeError, r"input 2 has the shape \(1\)", by_litert=False)
    window(x, 0, [2, 2], [1, 1], [1, 1], "UNSUPPORTED").refused(UnsupportedOpError, "reduce function UNSUPPORTED")
    given = [x, const([0, 0], np.float32), *(const([1, 1], np.int64) for _ in range(3))]
    node = OneNode("REDUCE_WINDOW", given, {"reduce_function": "ADD"})
    node.refused(ShapeError, "the initial value must be one number, it has 2", by_litert=False)
    with pytest.raises(ShapeError, match="windows of 1 dimensions, the input has 2"):
        Stablehlo(x, 0, "ADD", window_dimensions=[2]).check()
    with pytest.raises(UnsupportedOpError, match="its body is SUB, must be a single ADD"):
        Stablehlo(x, 0, "SUB").check()
    with pytest.raises(UnsupportedOpError, match="its body is subgraph 5, which does not exist"):
        Stablehlo(x, 0, "ADD", body_subgraph_index=5).check()
