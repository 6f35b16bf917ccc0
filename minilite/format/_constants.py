"""Buffers, and the constants that are views on them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.format.dtypes import TensorType, element_bits, numpy_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minilite.format._flatbuffer import FlatBuffer

SMALL = 4096
"""Integer constants of at most this many bytes are copied: they are shapes, axes, paddings, indices."""

MAX_RANK = 32
"""The most dimensions a tensor may have: what every numpy can hold."""

_CONTROL = frozenset({TensorType.INT32, TensorType.INT64, TensorType.UINT32, TensorType.UINT64})


class _Form(NamedTuple):
    """How the constants of an element type are held."""

    dtype: np.dtype[Any]
    bits: int
    raw: bool
    """Whether numpy has no such elements, so that the bytes stay bytes."""
    control: bool


def _form(kind: TensorType) -> _Form:
    dtype, bits = np.dtype(numpy_type(kind)), element_bits(kind)
    return _Form(dtype, bits, bits == 0 or bits != 8 * dtype.itemsize, kind in _CONTROL)


_FORMS = {kind: _form(kind) for kind in TensorType}


class Buffers:
    """The buffers of a model: where their bytes lie in the file, checked."""

    def __init__(self, buffer: FlatBuffer, positions: list[int]) -> None:
        self.buffer = buffer
        self.spans = [self._span(number, position) for number, position in enumerate(positions)]
        # an array, as its buffer, keeps the caller's bytes from being closed or resized; a memoryview would not
        self._bytes = np.frombuffer(buffer.data, np.uint8)
        self._base = self._bytes.__array_interface__["data"][0]
        self._copies: dict[tuple[int, int], bytes] = {}

    def _span(self, number: int, position: int) -> tuple[int, int] | None:
        """First byte and size; None when the buffer holds no data at all."""
        values, places = self.buffer.reader("Buffer")(position)
        data, offset, size, *_ = values
        if data:
            return self.buffer.span(position + places[0], data, f"buffer {number}, Buffer.data")
        if offset > 1:
            return self.buffer.outside(offset, size, f"buffer {number}, Buffer.offset")
        return None

    def payload(self, number: int, where: str) -> bytes:
        """All bytes of a buffer."""
        span = self._at(number, where)
        if span is None:
            return b""
        start, size = span
        self.buffer.unfold(size, where)
        return bytes(self.buffer.data[start : start + size])

    def _at(self, number: int, where: str) -> tuple[int, int] | None:
        if number >= len(self.spans):
            self.buffer.fail(f"{where} is {number}, the model has {len(self.spans)} buffers")
        return self.spans[number]

    def constant(
        self, number: int, kind: TensorType, shape: tuple[int, ...], sparse: bool, variable: bool
    ) -> NDArray[Any] | None:
        """The values of a tensor of buffer `number`, None when it has none; refuses one with too few bytes."""
        form = _FORMS[kind]
        if len(shape) > MAX_RANK:
            self.buffer.fail(f"Tensor.shape has {len(shape)} dimensions, the most is {MAX_RANK}")
        if shape and min(shape) < 0:
            self.buffer.fail(f"Tensor.shape {shape} has a negative dimension")
        elements = prod(shape)
        extent = elements or prod(dim or 1 for dim in shape)  # numpy, too, counts an empty dimension as 1 here
        if extent * max(form.bits, 8) >> 66:
            self.buffer.fail(f"Tensor.shape {shape} of {kind.name} has more bytes than 64 bits can count")
        span = self.spans[number] if number < len(self.spans) else self._at(number, "Tensor.buffer")
        if number == 0 or span is None:
            return None
        start, size = span
        if size == 0 and elements:
            return None
        if variable:
            self.buffer.fail(f"a variable tensor has data: buffer {number} of {size} bytes")
        if form.bits and not sparse:
            expected = (elements * form.bits + 7) // 8
            if size < expected:
                self.buffer.fail(f"buffer {number} has {size} bytes, shape {shape} of {kind.name} takes {expected}")
            size = expected  # LiteRT, too, passes over what is left of a longer buffer
        if form.raw or sparse:
            return _array((size,), _FORMS[TensorType.UINT8].dtype, self._bytes, start)
        if (form.control and size <= SMALL) or (self._base + start) % form.dtype.itemsize:
            return _array(shape, form.dtype, self._copy(start, size), 0)
        return _array(shape, form.dtype, self._bytes, start)

    def _copy(self, start: int, size: int) -> bytes:
        copy = self._copies.get((start, size))
        if copy is None:
            self.buffer.unfold(size, "Tensor.buffer")
            copy = self._copies[start, size] = bytes(self.buffer.data[start : start + size])
        return copy


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], data: NDArray[Any] | bytes, start: int) -> NDArray[Any]:
    """A read-only array on read-only bytes."""
    if 0 in shape:  # numpy refuses an empty array at the end of its buffer
        array: NDArray[Any] = np.empty(shape, dtype)
        array.flags.writeable = False
        return array
    return np.ndarray(shape, dtype, data, start)
