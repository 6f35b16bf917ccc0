"""BATCH_MATMUL: both operands computed or constant, transposed, broadcast; odml.runtime_bmm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.composite import OneComposite, flex_of
from support.node import Given, OneNode, Out, dtype_of, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

TYPES = ["f32 f32 f32", "f32 s8 f32", "s8 s8 s8", "s8 s8 s32", "s16 s8 s16", "s16 s16 s16"]
SHAPES = [
    ((3, 5), (5, 4)),
    ((1, 1), (1, 1)),
    ((2, 3, 5), (2, 5, 4)),
    ((2, 1, 3, 5), (4, 5, 7)),
    ((3, 5), (2, 3, 5, 4)),
    ((2, 40, 33), (33, 37)),
    ((1, 1, 70), (1, 70, 19)),
]


def turned(shape: Any) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def scaled(rng: np.random.Generator, kind: str, low: float, high: float, zero: bool) -> Quantization:
    if kind in ("f32", "s32"):
        return NOT_QUANTIZED
    return Quantization((float(np.float32(rng.uniform(low, high))),), (int(rng.integers(-90, 90)) if zero else 0,))


def matmul(
    rng: np.random.Generator,
    types: str,
    shapes: Any = ((2, 3, 5), (2, 5, 4)),
    adj: tuple[bool, bool] = (False, False),
    constant: bool = False,
    asymmetric: bool = False,
) -> tuple[OneNode, float]:
    a, b, z = types.split()
    zero = a == "s8"
    x = values(rng, a, turned(shapes[0]) if adj[0] else shapes[0])
    y = values(rng, b, turned(shapes[1]) if adj[1] else shapes[1])
    if a == "f32" and b == "s8":
        y = np.maximum(y, -127)  # LiteRT's vector code negates weights of -128, which stay -128
    node = OneNode(
        "BATCH_MATMUL",
        [
            Given(x, quantization=scaled(rng, a, 0.01, 0.1, zero)),
            Given(y, constant, quantization=scaled(rng, b, 0.01, 0.1, zero)),
        ],
        {"adj_x": adj[0], "adj_y": adj[1], "asymmetric_quantize_inputs": asymmetric},
        outs=[Out(z, scaled(rng, z, *((0.2, 1.0) if a == "s8" else (5.0, 50.0)), zero))],
        version=4,
    )
    k = shapes[0][-1]
    largest = np.abs(x.astype(np.float64)).max(initial=0) * np.abs(y.astype(np.float64)).max(initial=0)
    return node, 16 * EPS * float(largest) * k


def every_type(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    node, tolerance = matmul(rng, " ".join((*inputs, *outputs)), constant=True)
    return node, {"tolerance": tolerance}


EVERY_TYPE = {
    "BATCH_MATMUL": every_type,
    "odml.runtime_bmm": Case(
        [(1, 2, 3, 8), (1, 2, 5, 8), (1, 1, 1, 7)], tolerance=1e-4, oracle=None, custom=flex_of(is_src=True)
    ),
}


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("adj", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("constant", [False, True])
def test_shapes(types: str, adj: tuple[bool, bool], constant: bool) -> None:
    rng = np.random.default_rng(5)
    for shapes in SHAPES:
        node, tolerance = matmul(rng, types, shapes, adj, constant)
        node.check(tolerance=tolerance)


def test_asymmetric() -> None:
    rng = np.random.default_rng(5)
    for shapes in SHAPES:
        node, tolerance = matmul(rng, "f32 s8 f32", shapes, constant=True, asymmetric=True)
        wrong = len(shapes[0]) < len(shapes[1])  # LiteRT takes the zero points of other rows where y has more matrices
        node.check(tolerance=tolerance, **({"oracle": None} if wrong else {}))


@pytest.mark.parametrize("adj_y", [False, True])
def test_few_rows_of_what_is_computed(adj_y: bool) -> None:
    """Up to 8 rows are multiplied by y in place, more by packed y."""
    rng = np.random.default_rng(6)
    for m in (1, 2, 7, 8, 9):
        for k, n in ((64, 130), (300, 65), (1, 3), (0, 4), (4, 0)):
            node, tolerance = matmul(rng, "f32 f32 f32", ((2, 1, m, k), (1, 3, k, n)), (m == 7, adj_y))
            node.check(tolerance=tolerance, **({} if k and n else {"oracle": None}))  # LiteRT divides by 0


def channels(
    types: str, shapes: Any, adj_y: bool, constant: bool, dimension: int | None = None
) -> tuple[OneNode, float]:
    """y with a scale for each column of the output, or along another dimension."""
    rng = np.random.default_rng(7)
    a, b, z = types.split()
    x, y = values(rng, a, shapes[0]), values(rng, b, turned(shapes[1]) if adj_y else shapes[1])
    y = np.maximum(y, -127)  # as above
    along = y.ndim - (2 if adj_y else 1) if dimension is None else dimension
    scales = tuple(map(float, rng.uniform(0.001, 0.1, y.shape[along]).astype(np.float32)))
    given = [
        Given(x, quantization=scaled(rng, a, 0.01, 0.1, zero=False)),
        Given(y, constant, quantization=Quantization(scales, (0,) * len(scales), along)),
    ]
    options = {"adj_x": False, "adj_y": adj_y, "asymmetric_quantize_inputs": False}
    node = OneNode("BATCH_MATMUL", given, options, outs=[Out(z, scaled(rng, z, 1.0, 2.0, zero=False))], version=4)
    return node, 16 * EPS * float(np.abs(x).max()) * 127 * 0.1 * x.shape[-1]


@pytest.mark.parametrize("types", ["s16 s8 s16", "f32 s8 f32"])
@pytest.mark.parametrize("adj_y", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_a_scale_for_each_column(types: str, adj_y: bool, constant: bool) -> None:
    for shapes in (((3, 5), (5, 4)), ((2, 1, 3, 5), (2, 5, 7)), ((2, 40, 33), (33, 37)), ((1, 70), (70, 19))):
        node, tolerance = channels(types, shapes, adj_y, constant)
        by_litert = types[0] == "f" and len(shapes[0]) == 2  # see docs/numerics.md
        result = node.check(tolerance=tolerance, **({} if by_litert else {"oracle": None}))
        if types[0] == "s":
            first, second = (given for given in node.given if given is not None)
            x, y = first.array.astype(np.float64), second.array.astype(np.float64)
            scales = np.array(second.quantization.scales) * first.quantization.scale
            real = (x @ (np.swapaxes(y, -1, -2) if adj_y else y)) * scales / node.outs[0].quantization.scale
            assert np.abs(np.clip(real, -32768, 32767) - result).max() <= 1 + np.abs(result).max() * 2**-15


def test_scales_along_another_dimension() -> None:
    node, _ = channels("s16 s8 s16", ((2, 3, 5), (2, 5, 4)), False, True, 1)
    node.refused(
        UnsupportedOpError, "5 scales along dimension 1, columns of the output are its dimension 2", by_litert=False
    )


def test_columns_with_zero_points() -> None:
    each = Quantization((0.1,) * 4, (0, 0, 3, 0), 1)
    words = Given(np.zeros((3, 5), np.int16), quantization=Quantization((0.1,), (0,)))
    options = {"adj_x": False, "adj_y": False, "asymmetric_quantize_inputs": False}
    node = OneNode(
        "BATCH_MATMUL",
        [words, Given(np.zeros((5, 4), np.int8), True, each)],
        options,
        quantization=Quantization((0.1,), (0,)),
    )
    node.refused(UnsupportedOpError, "zero point 3 for column 2, it must be 0", by_litert=False)


def test_refusals() -> None:
    options = {"adj_x": False, "adj_y": False, "asymmetric_quantize_inputs": False}
    x = np.zeros((2, 3), np.float32)
    OneNode("BATCH_MATMUL", [x, x], options).refused(ShapeError, "rows of 3 in x and columns of 2 in y do not match")
    OneNode("BATCH_MATMUL", [x, x[0]], options).refused(ShapeError, "must be matrices")
    words = Given(np.zeros((2, 2), dtype_of("s16")), quantization=Quantization((1.0,), (3,)))
    node = OneNode("BATCH_MATMUL", [words, words], options, quantization=Quantization((1.0,), (0,)))
    node.refused(UnsupportedOpError, "zero point 3, it must be 0")


KNOWN = {"is_global": False, "is_src": True, "rhs_cache_update": True}


def runtime_bmm(shapes: Any, attributes: Any = None, added: float = 0.0, kind: type = np.float32) -> OneComposite:
    """odml.runtime_bmm, whose decomposition adds a number."""
    rng = np.random.default_rng(8)
    x, y = values(rng, "f32", shapes[0]), values(rng, "f32", shapes[1]).astype(kind)
    lengths = np.array([0, 2, 2, 0, 0, 0, 0], np.int32).reshape(1, 1, 1, 7)
    out = (*np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), shapes[0][-2], shapes[1][-2])

    def body(g: Any, tensors: list[int]) -> list[int]:
        options = {"adj_x": False, "adj_y": True, "asymmetric_quantize_inputs": False}
        second = tensors[1] if kind is np.float32 else g.node("CAST", [tensors[1]], out=("wide", shapes[1]))
        product = g.node("BATCH_MATMUL", [tensors[0], second], out=("z", out), options=options)
        return [g.node("ADD", [product, g.constant("zero", np.array(added, np.float32))], out=("y", out))]

    known = KNOWN if attributes is None else attributes
    return OneComposite("odml.runtime_bmm", [x, y, lengths], [(out, TensorType.FLOAT32)], body, known)


@pytest.mark.parametrize("rows", [1, 8, 33])
def test_runtime_bmm(rows: int) -> None:
    for batches, n, k in (((1, 2), 70, 16), ((1, 1), 5, 3), ((2, 3), 16, 64), ((), 4, 4)):
        one = runtime_bmm(((*batches, rows, k), (*batches, n, k)))
        assert one.runs_by_kernel()
        one.check(tolerance=16 * EPS * k * float(np.abs(one.given[0]).max() * np.abs(one.given[1]).max()))


def test_runtime_bmm_that_is_not_known_runs_by_its_decomposition() -> None:
    shapes = ((1, 2, 3, 8), (1, 2, 5, 8))
    for attributes in ({**KNOWN, "scale": 0.1}, {**KNOWN, "adj_x": True}, {**KNOWN, "is_src": "yes"}):
        runtime_bmm(shapes, attributes).same_as_decomposition()
    runtime_bmm(shapes, added=1.0).same_as_decomposition()
    runtime_bmm(shapes, kind=np.int8).same_as_decomposition()
    runtime_bmm(((1, 2, 3, 8), (1, 1, 5, 8))).same_as_decomposition()
