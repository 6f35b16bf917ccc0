"""Models of one operator, for the tests of elementwise operators, reductions and conversions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

Array = NDArray[Any]
FLOAT32, INT8, UINT8, INT16 = TensorType.FLOAT32, TensorType.INT8, TensorType.UINT8, TensorType.INT16
INT32, INT64, BOOL = TensorType.INT32, TensorType.INT64, TensorType.BOOL
ALL_BYTES = np.arange(256, dtype=np.uint8)


def one_node(
    op: str,
    inputs: Sequence[tuple[Array, Quantization]],
    output: TensorType,
    *,
    scale: Quantization = NOT_QUANTIZED,
    options: Mapping[str, Any] | None = None,
    constants: Sequence[int] = (),
    version: int = 1,
    shape: Sequence[int] | None = None,
) -> bytes:
    """A model of one node; inputs numbered in `constants` go into the file, the others have the shape of the array.

    The file states no shape for the output but `shape`."""
    builder = ModelBuilder()
    g = builder.subgraph()
    tensors = []
    for number, (array, quantization) in enumerate(inputs):
        name, kind = f"x{number}", type_of(array)
        if number in constants:
            tensors.append(g.constant(name, array, quantization=quantization))
        else:
            tensors.append(g.input(name, array.shape, kind, quantization=quantization))
    g.output(g.node(op, tensors, out=("y", shape, output, scale), options=options, version=version))
    return builder.build()


def type_of(array: Array) -> TensorType:
    return next(kind for kind in TensorType if numpy_type(kind) == array.dtype.type)


def values(rng: np.random.Generator, kind: TensorType, shape: Sequence[int]) -> Array:
    """Normal floats, or integers over the whole range of the type."""
    dtype = np.dtype(numpy_type(kind))
    if dtype.kind == "f":
        return (rng.normal(size=shape) * 3).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def scaled(rng: np.random.Generator, kind: TensorType, low: float, high: float) -> Quantization:
    """A random scale, log-uniform, and a random zero point; 0 for int16; none for unquantized types."""
    if kind not in (INT8, UINT8, INT16):
        return NOT_QUANTIZED
    scale = float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))
    return Quantization((scale,), (0 if kind == INT16 else int(values(rng, kind, ())),))
