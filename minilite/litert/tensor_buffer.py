"""LiteRT's TensorBuffer: the memory of an input or an output of a CompiledModel, written and read as arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.errors import InputError, InputRuntimeError, shortened, shown
from minilite.format.dtypes import TensorType
from minilite.numeric import whole

if TYPE_CHECKING:
    from minilite.format.model import Array

    Shape = tuple[int, ...]

ALIGNMENT = 64
"""The alignment, in bytes, of memory that is made here."""
UNKNOWN = "unknown"
"""LiteRT's name for element types that buffers cannot hold."""
_STORED = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}
"""Types that numpy gets only from packages, by name, and the types that hold their bits."""
_NAMES = {
    **{TensorType[name.upper()]: name for name in ("float32", "float16", "float64", "bool", *_STORED)},
    **{TensorType[name.upper()]: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")},
}


def type_name(kind: TensorType) -> str:
    """LiteRT's name for an element type."""
    return _NAMES.get(kind, UNKNOWN)


class HostMemory:
    """Memory of one element type and shape, to which a tensor may be bound; a TensorBuffer has it instead of a
    capsule."""

    __slots__ = ("array", "dtype", "owned", "shape")

    def __init__(self, array: Array, dtype: str, *, owned: bool) -> None:
        self.array: Array = array
        """C-contiguous; its elements are the bits of `dtype`."""
        self.dtype: str = dtype
        self.shape: Shape = array.shape
        """The shape of the values in the first elements of the array."""
        self.owned: bool = owned
        """True if it may be replaced by larger memory, because nobody else has an array over it."""

    @classmethod
    def of_tensor(cls, dtype: str, shape: Shape) -> HostMemory:
        """New memory, of zeros."""
        return cls(_aligned(shape, np.dtype(_STORED.get(dtype, dtype))), dtype, owned=True)

    def write(self, array: Array, dtype: str) -> None:
        """Copies an array to the start. Raises: InputError if type or size do not fit."""
        one_byte = array.itemsize == 1 and (self.array.itemsize == 1 or array.nbytes == self.array.nbytes)
        if dtype != self.dtype and not one_byte:
            message = (
                f"the buffer holds {self.dtype}, got an array of {dtype}: array.astype('{self.dtype}') converts it"
            )
            raise InputRuntimeError(message)
        if array.nbytes > self.array.nbytes:
            message = (
                f"WriteTensorBuffer: source buffer is larger than the tensor buffer: the array has {array.nbytes} bytes, "
                f"the buffer {self.array.nbytes}, as {self.shape} of {self.dtype}"
            )
            raise InputRuntimeError(message)
        if not self.array.flags.writeable:
            message = "the buffer's memory is a read-only array: it is an input that cannot be written"
            raise InputError(message)
        _bytes(self.array)[: array.nbytes] = _bytes(np.ascontiguousarray(array))

    def check_read(self, nbytes: int, dtype: str, itemsize: int) -> None:
        """Refuses to read so many bytes as elements of a type. Raises: InputError."""
        if dtype != self.dtype and itemsize != 1:
            message = (
                f"the buffer holds {self.dtype}, cannot be read as {dtype}: read it as {self.dtype} and convert that"
            )
            raise InputRuntimeError(message)
        if nbytes > self.array.nbytes:
            message = (
                f"ReadTensorToBuffer: destination buffer is larger than the tensor buffer: {shown(nbytes)} bytes are asked "
                f"for, the buffer has {self.array.nbytes}, as {self.shape} of {self.dtype}"
            )
            raise InputRuntimeError(message)

    def read(self, into: Array) -> None:
        """Copies the start into an array that `check_read` lets pass."""
        _bytes(into)[:] = _bytes(self.array)[: into.nbytes]

    def store(self, values: Array) -> None:
        """Copies the result of a run. Memory made here grows if needed, and gets its shape. Raises: InputError."""
        if values.nbytes <= self.array.nbytes:
            _bytes(self.array)[: values.nbytes] = _bytes(values)
        elif self.owned:
            self.array = values
        else:
            message = f"the output has {values.nbytes} bytes, as {values.shape}, its buffer {self.array.nbytes}"
            raise InputRuntimeError(message)
        if self.owned:
            self.shape = values.shape


class TensorBuffer:
    """The memory of an input or an output, made by `CompiledModel.create_input_buffers`, or from your array by
    `create_from_host_memory`. A run reads and writes it without a copy."""

    def __init__(self, capsule: Any, environment: Any = None) -> None:
        self._capsule: HostMemory | None = capsule
        self._environment = environment

    @classmethod
    def create_from_host_memory(cls, data_array: Array) -> TensorBuffer:
        """A buffer over a C-contiguous array of any alignment; both share their memory.

        Raises: InputError."""
        array, dtype = cls._normalize_numpy_array(data_array, zero_copy=True)
        if array.ctypes.data % array.itemsize:
            message = f"data_array lies at address {array.ctypes.data:#x}, must be a multiple of {array.itemsize}"
            raise InputError(message)
        return cls(HostMemory(array.view(_STORED.get(dtype, dtype)), dtype, owned=False))

    def write(self, data_array: Array) -> None:
        """Copies an array of any shape to the start of the buffer. It must have the buffer's type, or be the buffer's
        bytes. Raises: InputError."""
        array, dtype = self._normalize_numpy_array(data_array, zero_copy=False)
        self._memory("WriteTensorBuffer").write(array, dtype)

    def read(self, num_elements: int, output_dtype: Any) -> Array:
        """A copy of the first elements, in the buffer's type, or as bytes in a type of one byte; `num_elements` may be
        a shape. Raises: InputError."""
        dtype, kind = self._normalize_dtype(output_dtype)
        many = num_elements if isinstance(num_elements, (tuple, list)) else (num_elements,)
        shape = tuple(whole("num_elements", each, least=0) for each in many)
        memory = self._memory("ReadTensorToBuffer")
        memory.check_read(math.prod(shape) * kind.itemsize, dtype, kind.itemsize)
        found: Array = np.empty(shape, kind)
        memory.read(found)
        return found

    def get_tensor_details(self) -> dict[str, Any]:
        """Its `dtype`, a name, and its `shape`, a list; for a caller's memory, the shape is the number of elements."""
        memory = self._memory("GetTensorDetails")
        return {"dtype": memory.dtype, "shape": list(memory.shape if memory.owned else (memory.array.size,))}

    def destroy(self) -> None:
        """Releases the memory; the buffer cannot be used afterwards."""
        self._capsule = None
        self._environment = None

    @property
    def capsule(self) -> HostMemory:
        """The object that CompiledModel takes. Raises: InputError after it was destroyed."""
        if self._capsule is None:
            message = "TensorBuffer has been destroyed: create another one"
            raise InputError(message)
        return self._capsule

    def __repr__(self) -> str:
        memory = self._capsule
        return f"<TensorBuffer: {f'{memory.shape} of {memory.dtype}' if memory is not None else 'destroyed'}>"

    def _memory(self, call: str) -> HostMemory:
        if self._capsule is None:
            message = f"{call}: invalid capsule: the TensorBuffer has been destroyed"
            raise InputRuntimeError(message)
        return self._capsule

    @classmethod
    def _normalize_dtype(cls, dtype: Any) -> tuple[str, np.dtype[Any]]:
        """The name of a type that a buffer may hold, and numpy's type. Raises: InputError."""
        try:
            kind = np.dtype(dtype)
        except TypeError:
            kind = None
        if kind is None or not kind.isnative or kind.name not in _NAMES.values():
            message = f"Unsupported dtype: {shortened(str(dtype))}: takes {', '.join(sorted(_NAMES.values()))}"
            raise InputError(message)
        return kind.name, kind

    @classmethod
    def _normalize_numpy_array(cls, data_array: Array, *, zero_copy: bool) -> tuple[Array, str]:
        """The array, C-contiguous, and the name of its type. Raises: InputError."""
        if not isinstance(data_array, np.ndarray):
            message = f"data_array must be a NumPy array, got {type(data_array).__name__}"
            raise InputError(message)
        dtype, _ = cls._normalize_dtype(data_array.dtype)
        if not zero_copy:
            return np.ascontiguousarray(data_array), dtype
        if not data_array.flags.c_contiguous:
            message = (
                "data_array must be C-contiguous for zero-copy host-memory binding: it has the strides "
                f"{data_array.strides}, np.ascontiguousarray(array) makes one"
            )
            raise InputError(message)
        return data_array, dtype


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _aligned(shape: Shape, dtype: np.dtype[Any]) -> Array:
    """An array of zeros at an address that is a multiple of ALIGNMENT."""
    size = math.prod(shape) * dtype.itemsize
    whole = np.zeros(size + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size].view(dtype).reshape(shape)
