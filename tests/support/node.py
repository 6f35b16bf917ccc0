"""One way to build a model of a single node, and to draw arrays and scales for it.

    OneNode("LEAKY_RELU", [Given(x, quantization=q)], {"alpha": 0.1}, quantization=q).check()

Inputs are arrays: graph inputs, or constants where they are wrapped in `const`. Types are spelled as rows of operators
spell them ("s8"), or given as TensorType.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from support import peer
from support.compare import REFERENCE, check, run_litert, run_minilite

from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, element_bits, numpy_type
from minilite.format.quantization import NOT_QUANTIZED, Quantization

Array = NDArray[Any]
ALL_BYTES = np.arange(256, dtype=np.uint8)
QUANTIZED = ("s8", "u8", "s16")

_BY_SUFFIX = {kind.suffix: kind for kind in TensorType}
_BY_DTYPE = {
    np.dtype(numpy_type(kind)): kind
    for kind in TensorType
    if element_bits(kind) >= 8 and kind.suffix[:2] not in ("bf", "f8", "re")
}


def kind_of(text: str | TensorType | Array) -> TensorType:
    """The element type that is spelled so, or that an array has."""
    if isinstance(text, np.ndarray):
        return _BY_DTYPE[text.dtype]
    return _BY_SUFFIX[text] if isinstance(text, str) else text


def dtype_of(kind: str | TensorType) -> np.dtype[Any]:
    """The numpy type of an element type."""
    return np.dtype(numpy_type(kind_of(kind)))


class Given(NamedTuple):
    """An input of the node. `kind` is for types that numpy lacks: int8 values for s4 and s2, uint16 for bf16."""

    array: Array
    constant: bool = False
    quantization: Quantization = NOT_QUANTIZED
    kind: str | TensorType | None = None
    shape: Sequence[int] | None = None
    """The file's shape, that of the array if not given."""
    variable: bool = False
    """A variable tensor of the array's shape and type, which begins as zeros."""


def const(values: ArrayLike, dtype: Any = np.int32, quantization: Quantization = NOT_QUANTIZED) -> Given:
    """A constant input, of int32 if not said otherwise."""
    return Given(np.array(values, dtype), True, quantization)


def known_or_not(values: ArrayLike, dtype: Any = np.int32) -> tuple[Given, Array]:
    """The same values as a constant, known when a plan is made, and as a graph input, known in a run alone."""
    return const(values, dtype), np.array(values, dtype)


def quantized(array: Array, scale: float, zero_point: int) -> Given:
    """A graph input with a scale and a zero point."""
    return Given(array, False, Quantization((scale,), (zero_point,)))


def _given(value: Array | Given | None) -> Given | None:
    if value is None:
        return None
    given = value if isinstance(value, Given) else Given(value)
    return given._replace(array=np.asarray(given.array))


class Out(NamedTuple):
    """An output of the node."""

    kind: str | TensorType
    quantization: Quantization = NOT_QUANTIZED
    shape: Sequence[int] | None = None
    """The file's shape; None: it states none."""


class OneNode:
    """A model of one node and the arrays to run it on. Its output has the type of input 0, or `kind`, or is said by
    `outs`."""

    def __init__(
        self,
        op: str,
        inputs: Sequence[Array | Given | None],
        options: Mapping[str, Any] | None = None,
        *,
        kind: str | TensorType | None = None,
        quantization: Quantization = NOT_QUANTIZED,
        outs: Sequence[Out] | None = None,
        version: int = 1,
        intermediates: Sequence[Out] = (),
        custom: bytes | None = None,
    ) -> None:
        """`custom` are the options of a custom operator, which the node then is."""
        given = [_given(value) for value in inputs]
        self.op, self.given, self.options, self.version, self.custom = op, given, options, version, custom
        builder = ModelBuilder()
        g = builder.subgraph()
        numbers = []
        for position, value in enumerate(given):
            if value is None:
                numbers.append(-1)
                continue
            kind_in = kind_of(value.array if value.kind is None else value.kind)
            shape = value.array.shape if value.shape is None else value.shape
            if value.variable:
                numbers.append(g.variable(f"v{position}", shape, kind_in, quantization=value.quantization))
            elif value.constant:
                numbers.append(g.constant(f"c{position}", value.array, kind_in, quantization=value.quantization))
            else:
                numbers.append(g.input(f"x{position}", shape, kind_in, quantization=value.quantization))
        if outs is None:
            first = given[0] if given else None
            like = "f32" if first is None else first.array if first.kind is None else first.kind
            outs = [Out(kind_of(like if kind is None else kind), quantization)]
        self.outs = outs
        made = [(f"y{i or ''}", out.shape, kind_of(out.kind), out.quantization) for i, out in enumerate(outs)]
        inner = [
            g.tensor(f"i{i}", (0,), kind_of(o.kind), quantization=o.quantization) for i, o in enumerate(intermediates)
        ]
        text = {"custom": custom is not None, "custom_options": custom or b"", "intermediates": inner}
        g.output(*g.node(op, numbers, out=made, options=options or {}, version=version, **text))
        self.model = builder.build()
        self.arrays = [v.array for v in given if v is not None and not (v.constant or v.variable)]

    def check(self, *, tolerance: float | Array = 0.0, oracle: Any = REFERENCE) -> Array:
        """Output 0, once C kernel, numpy reference and LiteRT agree on all; see support.compare.check."""
        return check(self.model, self.arrays, tolerance=tolerance, oracle=oracle)[0]

    def retyped(self, rng: np.random.Generator, inputs: Sequence[str], outputs: Sequence[str]) -> OneNode:
        """Makes the node with operands of other types: values other than floats and numbers of constants are drawn
        again, and scaled."""

        def other(given: Given | None, kind: str) -> Given | None:
            if given is None or kind_of(given.array if given.kind is None else given.kind) == kind_of(kind):
                return given
            q = scaled(rng, kind) if kind in QUANTIZED else NOT_QUANTIZED
            if q.scales or dtype_of(kind).kind == "S" or given.array.dtype.kind == "O":
                array = values(rng, kind, given.array.shape)
            else:
                with np.errstate(all="ignore"):
                    array = given.array.astype(dtype_of(kind))
            return given._replace(array=array, kind=kind, quantization=q or given.quantization)

        places = [i for i, given in enumerate(self.given) if given is not None]
        kinds = dict(zip(places, inputs, strict=True))
        made = [other(given, kinds.get(i, "")) for i, given in enumerate(self.given)]
        outs = [
            out if kind_of(out.kind) == kind_of(kind) else out._replace(kind=kind, quantization=scaled(rng, kind))
            for out, kind in zip(self.outs, outputs, strict=True)
        ]
        return OneNode(self.op, made, self.options, outs=outs, version=self.version, custom=self.custom)

    def run(self, *, reference: bool = False) -> Array:
        """Output 0 of minilite; of its numpy references with `reference`."""
        return run_minilite(self.model, self.arrays, reference=reference)[0]

    def refused(self, error: type[MiniliteError], message: str, *, by_litert: bool = True) -> None:
        """minilite answers with this error; LiteRT refuses too, or (`by_litert=False`) is not asked: say why."""
        with pytest.raises(error, match=message):
            run_minilite(self.model, self.arrays)
        if by_litert and peer.HERE:
            with pytest.raises((RuntimeError, ValueError)):
                run_litert(self.model, self.arrays)


def counting(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """1, 2, 3, ... in that shape and type."""
    return (np.arange(int(np.prod(shape))) % 251 + 1).astype(dtype).reshape(shape)


def values(rng: np.random.Generator, kind: str | TensorType, shape: Sequence[int], spread: float = 3.0) -> Array:
    """Normal floats of that spread, or integers over the whole range of the type."""
    dtype = dtype_of(kind)
    if dtype.kind == "S":
        words = [rng.bytes(int(n)) for n in rng.integers(0, 6, int(np.prod(shape)))]
        return np.array([*words, None], object)[:-1].reshape(shape)  # numpy itself would cut zeros off at their ends
    if dtype.kind == "c":
        return (rng.normal(size=shape) * spread + 1j * rng.normal(size=shape) * spread).astype(dtype)
    if dtype.kind == "f":
        return np.asarray(rng.normal(size=shape) * spread).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    bits, info = element_bits(kind_of(kind)), np.iinfo(dtype)
    least, most = (info.min, info.max) if bits >= 8 else (info.min >> 8 - bits, info.max >> 8 - bits)
    return np.asarray(rng.integers(least, most, shape, dtype, endpoint=True))


def scaled(rng: np.random.Generator, kind: str | TensorType, low: float = 1e-3, high: float = 0.5) -> Quantization:
    """A random scale, log-uniform, and a random zero point; 0 for s16; none for types that are not quantized."""
    suffix = kind_of(kind).suffix
    if suffix not in QUANTIZED:
        return NOT_QUANTIZED
    scale = float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))
    return Quantization((scale,), (0 if suffix == "s16" else int(values(rng, kind, ())),))
