"""Models of a single node, its inputs given as arrays: graph inputs, or constants where they are wrapped in `const`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from compare import check, run_litert, run_minilite
from numpy.typing import ArrayLike, NDArray

from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

Array = NDArray[Any]
MOVABLE = {
    np.dtype(numpy_type(t)): t
    for t in TensorType
    if t.name[:3] in ("FLO", "INT", "UIN", "COM", "BOO") and t.name[-3:] not in ("NT4", "NT2", "3FN", "5M2")
}
"""Element type by numpy type."""


class Given(NamedTuple):
    """An input of the node."""

    array: Array
    constant: bool = False
    quantization: Quantization = NOT_QUANTIZED


def const(values: ArrayLike, dtype: Any = np.int32, quantization: Quantization = NOT_QUANTIZED) -> Given:
    """A constant input, of int32 if not said otherwise."""
    return Given(np.array(values, dtype), True, quantization)


def quantized(array: Array, scale: float, zero_point: int) -> Given:
    """A graph input with a scale and a zero point."""
    return Given(array, False, Quantization((scale,), (zero_point,)))


class OneNode:
    """A model of one node and the arrays to run it on. `kind` is the type of the output, that of input 0 if not given."""

    def __init__(
        self,
        op: str,
        inputs: Sequence[Array | Given | None],
        options: Mapping[str, Any] | None = None,
        *,
        kind: TensorType | None = None,
        quantization: Quantization = NOT_QUANTIZED,
        version: int = 1,
    ) -> None:
        given = [v if isinstance(v, Given) else None if v is None else Given(np.asarray(v)) for v in inputs]
        builder = ModelBuilder()
        g = builder.subgraph()
        numbers = []
        for position, value in enumerate(given):
            if value is None:
                numbers.append(-1)
            elif value.constant:
                numbers.append(g.constant(f"c{position}", value.array, quantization=value.quantization))
            else:
                kind_in = MOVABLE[value.array.dtype]
                shape = value.array.shape
                numbers.append(g.input(f"x{position}", shape, kind_in, quantization=value.quantization))
        if kind is None:
            kind = MOVABLE[given[0].array.dtype] if given and given[0] else TensorType.FLOAT32
        made = ("y", None, kind, quantization)
        g.output(g.node(op, numbers, out=made, options=options or {}, version=version))
        self.model = builder.build()
        self.arrays = [v.array for v in given if v is not None and not v.constant]

    def check(self, *, against_litert: bool = True) -> Array:
        """The output, once C kernel, reference and LiteRT agree on it."""
        return check(self.model, self.arrays, against_litert=against_litert)[0]

    def refused(self, error: type[MiniliteError], message: str, *, by_litert: bool = True) -> None:
        """minilite answers with this error; LiteRT refuses too, or (`by_litert=False`) is not asked: say why."""
        with pytest.raises(error, match=message):
            run_minilite(self.model, self.arrays)
        if by_litert:
            with pytest.raises((RuntimeError, ValueError)):
                run_litert(self.model, self.arrays)


def counting(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """1, 2, 3, ... in that shape and type."""
    return (np.arange(int(np.prod(shape))) % 251 + 1).astype(dtype).reshape(shape)
