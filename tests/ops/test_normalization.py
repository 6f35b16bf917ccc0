"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and odml.rms_norm."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support import peer
from support.cases import Case
from support.compare import BUILTIN, EPS, run_litert
from support.composite import OneComposite, flex_of
from support.node import Given, OneNode, scaled, values

from minilite.errors import UnsupportedOpError
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

UNIT = {"s8": Quantization((1 / 128,), (0,)), "u8": Quantization((1 / 128,), (128,))}
RESPONSE = {"radius": 2, "bias": 1.0, "alpha": 0.5, "beta": 0.75}
EVERY_TYPE: dict[str, Any] = {
    "L2_NORMALIZATION": Case([(2, 3, 4, 17)], quantization=UNIT, tolerance=8 * EPS),
    "LOCAL_RESPONSE_NORMALIZATION": Case([(2, 3, 4, 7)], RESPONSE, tolerance=64 * EPS, oracle=BUILTIN),
    "odml.rms_norm": Case([(2, 3, 7), (7,)], tolerance=64 * EPS, oracle=None, custom=flex_of(epsilon=1e-6)),
}


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
def test_rows(kind: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((1,), (5,), (3, 4), (2, 3, 70), (1, 1, 1, 1024), (2, 2, 3, 1)):
        for divisor in (1, 30):
            x = values(rng, kind, shape)
            x = (x // divisor).astype(x.dtype) if kind != "f32" else x / np.float32(divisor)
            node = OneNode(
                "L2_NORMALIZATION",
                [Given(x, quantization=scaled(rng, kind))],
                quantization=UNIT.get(kind, scaled(rng, kind)),
            )
            node.check(tolerance=64 * EPS)


def test_rms_of_no_dimensions_and_with_another_epsilon_is_refused() -> None:
    for x, epsilon, words in ((np.float32(1), 1e-6, "rank 0"), (np.zeros((2, 3), np.float32), -1.0, "epsilon is -1")):
        node = OneNode("odml.rms_norm", [np.asarray(x)], custom=flex_of(epsilon=epsilon))
        node.refused(UnsupportedOpError, words, by_litert=False)


def test_zeros() -> None:
    assert not OneNode("L2_NORMALIZATION", [np.zeros((2, 3), np.float32)]).check().any()


def test_other_scales_are_refused() -> None:
    x = Given(np.zeros((2, 3), np.int8), quantization=Quantization((0.1,), (0,)))
    node = OneNode("L2_NORMALIZATION", [x], quantization=Quantization((0.1,), (0,)))
    node.refused(UnsupportedOpError, "must be 1/128 and 0")


def test_response() -> None:
    """BUILTIN_REF leaves out the last channel of each window: the optimized kernels, which run by default, do not."""
    rng = np.random.default_rng(5)
    for radius in (0, 1, 3, 20):
        x = values(rng, "f32", (1, 2, 3, 9))
        for beta in (0.5, 1.0, 0.75):
            response(x, radius=radius, beta=beta).check(tolerance=64 * EPS, oracle=BUILTIN)
    x = np.linspace(1, 2, 54, dtype=np.float32).reshape(x.shape)
    for bias, beta in ((0.0, 0.75), (-2.0, 1.0), (-0.5, 0.5)):  # roots of negative numbers are NaN
        response(x, bias=bias, alpha=0.03, beta=beta).check(tolerance=64 * EPS, oracle=BUILTIN)
    response(x, radius=-1).check(tolerance=64 * EPS, oracle=None)  # LiteRT's process ends


@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
def test_response_of_many_channels(beta: float) -> None:
    """Rows and windows that are summed in pieces."""
    rng = np.random.default_rng(6)
    for depth, radius in itertools.product((1, 63, 64, 65, 200), (0, 5, 31, 32, 70, 300)):
        response(values(rng, "f32", (1, 1, 2, depth)), radius=radius, beta=beta).check(
            tolerance=64 * EPS, oracle=BUILTIN
        )


def test_order_of_sums() -> None:
    """Squares are added in float32, one channel after the other."""
    x = np.float32(np.random.default_rng(7).normal(size=(1, 1, 1, 150)))
    squares = x[0, 0, 0] * x[0, 0, 0]
    for radius in (0, 3, 40, 100):
        sums = [
            np.add.accumulate(squares[max(0, i - radius) : i + radius + 1], dtype=np.float32)[-1] for i in range(150)
        ]
        y = response(x, radius=radius, bias=0.0, alpha=1.0, beta=1.0).run()
        np.testing.assert_array_equal(y[0, 0, 0], x[0, 0, 0] / np.float32(sums))


def test_response_to_nan_and_infinity() -> None:
    """NaN and infinity reach the windows that contain them. In LiteRT they stay in the running sum until the end of the
    row."""
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(1, 1, 1, 12)
    x[..., 3], x[..., 8] = np.nan, np.inf
    node = response(x, radius=1)
    y = node.check(oracle=None, tolerance=64 * EPS)[0, 0, 0]
    assert np.flatnonzero(np.isnan(y)).tolist() == [2, 3, 4, 8]  # infinity * 0 is NaN
    assert y[7] == y[9] == 0.0
    if peer.HERE:
        theirs = run_litert(node.model, node.arrays, BUILTIN)[0][0, 0, 0]
        assert np.flatnonzero(np.isnan(theirs)).tolist() == list(range(2, 12))
        np.testing.assert_allclose(y[:2], theirs[:2], rtol=64 * EPS)


def response(x: Any, **options: Any) -> OneNode:
    """A node of LOCAL_RESPONSE_NORMALIZATION."""
    return OneNode("LOCAL_RESPONSE_NORMALIZATION", [x], {**RESPONSE, **options})


def rms_norm(
    x: Any, gamma: Any = None, epsilon: float = 1e-6, factor: float = 1.0, attributes: Any = None
) -> OneComposite:
    """odml.rms_norm, with a last factor that only the decomposition has."""

    def body(g: Any, tensors: list[int]) -> list[int]:
        def number(value: float) -> int:
            return int(g.constant("n", np.array(value, np.float32)))

        def node(op: str, inputs: list[int], shape: Any = x.shape, **options: Any) -> int:
            return int(g.node(op, inputs, out=("t", tuple(shape)), options=options))

        column = (*x.shape[:-1], 1)
        square = node("MUL", [tensors[0], tensors[0]])
        last = g.constant("axis", np.array([x.ndim - 1], np.int32))
        mean = node("MEAN", [square, last], column, keep_dims=True)
        root = node("RSQRT", [node("ADD", [mean, number(epsilon)], column)], column)
        y = node("MUL", [node("MUL", [tensors[0], root]), number(factor)])
        return [y if gamma is None else node("MUL", [y, tensors[1]])]

    arrays = [x] if gamma is None else [x, gamma]
    attributes = {"epsilon": epsilon} if attributes is None else attributes
    constants = () if gamma is None else (1,)
    return OneComposite("odml.rms_norm", arrays, [(x.shape, TensorType.FLOAT32)], body, attributes, constants=constants)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 64), (2, 3, 70), (5,), (7, 1023), (1, 4, 2304)])
@pytest.mark.parametrize("scaled", [False, True])
def test_rms(shape: tuple[int, ...], scaled: bool) -> None:
    rng = np.random.default_rng(6)
    one = rms_norm(values(rng, "f32", shape), values(rng, "f32", shape[-1:]) if scaled else None)
    assert one.runs_by_kernel()
    one.check(tolerance=EPS * 8 * max(float(np.abs(a).max()) for a in one.given) ** 2 * (4 + shape[-1] / 64))


def test_rms_of_zeros_and_nothing() -> None:
    assert not rms_norm(np.zeros((2, 5), np.float32)).check()[0].any()
    assert rms_norm(np.zeros((0, 5), np.float32)).check(oracle=None)[0].shape == (0, 5)


def test_rms_that_is_not_known_runs_by_its_decomposition() -> None:
    rng = np.random.default_rng(7)
    x, gamma = values(rng, "f32", (2, 3, 8)), values(rng, "f32", (8,))
    rms_norm(x, gamma, factor=0.3).same_as_decomposition()  # neither operands nor attributes have this factor
    rms_norm(x, values(rng, "f32", (1,))).same_as_decomposition()
    rms_norm(x, values(rng, "f32", (1, 3, 8))).same_as_decomposition()
    rms_norm(x, gamma, attributes={"axis": 1}).same_as_decomposition()
    rms_norm(x, gamma, attributes={"epsilon": 1e-6, "axis": -1}).same_as_decomposition()
    rms_norm(x, gamma, epsilon=1e-6, attributes={"epsilon": 1e-3}).same_as_decomposition()
    rms_norm(np.zeros((2, 8), np.float32), gamma, attributes={"epsilon": "none"}).same_as_decomposition()
