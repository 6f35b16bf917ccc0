"""Bound tensors: checks arrays that callers bind to tensors, and keeps their memory alive."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minilite.errors import InputError
from minilite.format.dtypes import TensorType, element_bits, numpy_type, public_type
from minilite.format.model import Array, Subgraph, Tensor


class Binding(NamedTuple):
    """An array bound to a tensor, and an export of its memory; while that lives, a mapping cannot be closed."""

    array: Array
    address: int
    export: memoryview | None


def bindable(subgraph: Subgraph, tensor: Tensor, array: Any, offset: int) -> Binding:
    """Checks everything that does not depend on shapes; `offset` is the tensor's in the file's memory plan, or -1.

    Raises: InputError."""
    reason = _tensor_mismatch(tensor, offset)
    if reason is None and not isinstance(array, np.ndarray):
        reason = f"got {type(array).__name__}, must be a numpy array"
    if reason is None:
        # A subclass may say anything of itself; numpy's own view of it says what C will find.
        plain = np.ndarray.view(array, np.ndarray)
        reason = _array_mismatch(subgraph, tensor, plain)
        try:
            if reason is None:
                return Binding(plain, _address(plain), _export(plain))
        except (ValueError, BufferError) as error:
            reason = f"the memory of the array is gone: {error}"
    message = f"cannot bind tensor {tensor.index} ('{tensor.name}'): {reason}"
    raise InputError(message, tensors=[tensor.name])


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _tensor_mismatch(tensor: Tensor, offset: int) -> str | None:
    if tensor.data is not None:
        return "it is constant"
    if offset >= 0:
        return f"it has the offset {offset} in the file's memory plan"
    if tensor.is_variable:
        return "it is a variable"
    whole = np.dtype(numpy_type(tensor.type)).itemsize * 8 == element_bits(tensor.type)
    if not whole or tensor.type in (TensorType.RESOURCE, TensorType.STRING):
        return f"no array holds elements of type {tensor.type.name}"
    return None


def _array_mismatch(subgraph: Subgraph, tensor: Tensor, array: Array) -> str | None:
    wanted = np.dtype(numpy_type(tensor.type))
    if array.dtype == public_type(tensor.type):
        wanted = array.dtype
    if array.dtype != wanted or not array.dtype.isnative:
        if array.dtype.newbyteorder("=") == wanted:
            return f"got byte order '{array.dtype.byteorder}', must be the machine's own"
        return f"got {array.dtype}, must be {wanted}"
    if not array.flags.c_contiguous:
        return f"the array of shape {array.shape} and strides {array.strides} is not C-contiguous"
    if wanted.itemsize > 1 and (address := _address(array)) % wanted.itemsize:
        return f"the array lies at address {address:#x}, must be a multiple of {wanted.itemsize}"
    if not array.flags.writeable and (
        tensor.index not in subgraph.inputs or any(tensor.index in node.outputs for node in subgraph.nodes)
    ):
        return "the array is read-only, only a graph input may be"
    return None


def _export(array: Array) -> memoryview | None:
    """An export of the object that owns the memory, so that shared memory, a mapping or a bytearray cannot be closed or
    resized."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if owner is None:
        return None
    try:
        return memoryview(owner)
    except TypeError:
        return None
