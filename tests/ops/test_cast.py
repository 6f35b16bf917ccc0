"""CAST against numpy and LiteRT, bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

import numpy as np
import pytest
from compare import check, compare, run_minilite
from elementwise import one_node, values

from minilite.errors import UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED

KINDS = [
    TensorType.FLOAT32, TensorType.FLOAT16, TensorType.FLOAT64, TensorType.INT8, TensorType.UINT8, TensorType.INT16,
    TensorType.INT32, TensorType.INT64, TensorType.BOOL,
]  # fmt: skip
EDGES = [
    np.nan, np.inf, -np.inf, 0, -0.0, 0.5, -0.5, 127.5, 128, -128.5, -129, 255.9, 256, 32767.9, 32768, -32769, 65519.9,
    65520, 2147483520, 2147483648, -2147483648, 1e19, -1e19, 1e30, -1e30, 1e-8, 6e-8, 3e-8, 2.9e-8, 6.1e-5,
]  # fmt: skip


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_pairs(source: TensorType, target: TensorType) -> None:
    rng = np.random.default_rng(8)
    dtype = np.dtype(numpy_type(source))
    x = values(rng, source, (500,))
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            x = np.concatenate([x * 100, x * 1e9, EDGES]).astype(dtype)
    elif dtype.kind in "iu":
        x = np.concatenate([x, [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]]).astype(dtype)
    for case in (x, x[:1].reshape(()), x[:0], x[:12].reshape(3, 1, 4)):
        check(one_node("CAST", [(case, NOT_QUANTIZED)], target), [case])


def test_all_halves_there_and_back() -> None:
    """Every binary16 to float32 and back is itself, but for NaN's payload."""
    x = np.arange(65536).astype(np.uint16).view(np.float16)
    (wide,) = check(one_node("CAST", [(x, NOT_QUANTIZED)], TensorType.FLOAT32), [x])
    check(one_node("CAST", [(wide, NOT_QUANTIZED)], TensorType.FLOAT16), [wide])


def test_in_place() -> None:
    for n in range(1, 40):
        builder = ModelBuilder()
        g = builder.subgraph()
        t = g.input("x", (n,))
        for name, kind in (("u", TensorType.INT32), ("v", TensorType.FLOAT32), ("w", TensorType.INT32)):
            t = g.node("CAST", [t], out=(name, (n,), kind))
        g.output(t)
        x = [values(np.random.default_rng(n), TensorType.FLOAT32, (n,))]
        compare(run_minilite(builder.build(), x, reference=True), run_minilite(builder.build(), x), 0.0, "")


def test_refuses_complex() -> None:
    x = np.zeros(2, np.complex64)
    with pytest.raises(UnsupportedOpError, match="cast from COMPLEX64 to FLOAT32 is not supported"):
        run_minilite(one_node("CAST", [(x, NOT_QUANTIZED)], TensorType.FLOAT32), [x])
