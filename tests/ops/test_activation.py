"""RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LOGISTIC against numpy and LiteRT (8 bits: bit for bit; oracle: BUILTIN_REF)."""

from __future__ import annotations

import numpy as np
import pytest
from compare import EPS, check, compare, run_minilite
from elementwise import ALL_BYTES, FLOAT32, INT8, INT16, INT32, UINT8, Array, one_node, scaled, values

from minilite.errors import UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

RELUS = ["RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"]
EXTREMES = np.array(
    [np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, -88, 88.8, -87.4, -103, -104.5, 200, -200, 3e38, -3e38], np.float32
)


def plain(op: str, x: Array) -> bytes:
    return one_node(op, [(x, NOT_QUANTIZED)], FLOAT32)


@pytest.mark.parametrize("op", [*RELUS, "LOGISTIC"])
def test_float(op: str) -> None:
    """LOGISTIC: LiteRT's reference takes exp(x) for x < -9 and 1 for x > 16.6, which is off by 2e-8."""
    rng = np.random.default_rng(1)
    tolerance = 2 * EPS if op == "LOGISTIC" else 0.0
    for x in (EXTREMES, *(values(rng, FLOAT32, s) for s in ((), (1,), (2, 3, 4), (0, 2), (1, 2, 1, 2, 3, 1, 7)))):
        check(plain(op, x), [x], tolerance=tolerance)
    check(plain(op, np.zeros(3, np.float32)), [values(rng, FLOAT32, (5, 9))], tolerance=tolerance)


def test_logistic_is_accurate() -> None:
    """Within 4 ULP of float64 where the result is normal."""
    x = np.linspace(-87, 87, 100_001, dtype=np.float32)
    (y,) = run_minilite(plain("LOGISTIC", x), [x])
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.abs(y - exact).max() <= 2 * EPS
    assert (np.abs(y - exact) / np.spacing(exact.astype(np.float32))).max() <= 4


@pytest.mark.parametrize("op", RELUS)
@pytest.mark.parametrize("kind", [INT8, UINT8, INT16])
def test_quantized_relu(op: str, kind: TensorType) -> None:
    rng = np.random.default_rng(2)
    known_to_litert = kind != INT16 or op in ("RELU", "RELU6")
    for _ in range(10):
        x = ALL_BYTES.view(numpy_type(kind)) if kind != INT16 else np.arange(-32768, 32768).astype(np.int16)
        model = one_node(op, [(x, scaled(rng, kind, 1e-2, 1))], kind, scale=scaled(rng, kind, 1e-2, 1))
        check(model, [x], against_litert=known_to_litert)


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_quantized_logistic(kind: TensorType) -> None:
    rng = np.random.default_rng(2)
    x = ALL_BYTES.view(numpy_type(kind))
    output = Quantization((1 / 256,), (0 if kind == UINT8 else -128,))
    for _ in range(40):
        check(one_node("LOGISTIC", [(x, scaled(rng, kind, 1e-3, 1))], kind, scale=output), [x])


@pytest.mark.parametrize("op", ["RELU", "LOGISTIC"])
def test_in_place(op: str) -> None:
    """A chain of three, for every tail of the vector loops."""
    rng = np.random.default_rng(1)
    for n in range(1, 40):
        builder = ModelBuilder()
        g = builder.subgraph()
        t = g.input("x", (n,))
        for name in "uvw":
            t = g.node(op, [t], out=(name, (n,)))
        g.output(t)
        x = [values(rng, FLOAT32, (n,))]
        compare(run_minilite(builder.build(), x, reference=True), run_minilite(builder.build(), x), 2 * EPS, "")


def test_refusals() -> None:
    x = np.zeros(2, np.int32)
    with pytest.raises(UnsupportedOpError, match=r"RELU 'y'\): type INT32 is not supported"):
        run_minilite(one_node("RELU", [(x, NOT_QUANTIZED)], INT32), [x])
    bad = one_node(
        "LOGISTIC", [(x.astype(np.int8), Quantization((0.1,), (0,)))], INT8, scale=Quantization((0.1,), (0,))
    )
    with pytest.raises(UnsupportedOpError, match=r"output scale 0\.1.* must be 1/256"):
        run_minilite(bad, [x.astype(np.int8)])
