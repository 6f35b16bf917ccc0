"""Finds the array that fits a tensor at its place, and copies its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minilite import errors
from minilite.engine import mismatch
from minilite.format import values
from minilite.format.dtypes import ENCODED, TensorType, public_bits, public_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite._native.state import Place
    from minilite.format.model import Array, Subgraph, Tensor

MOVES = "the tensor moves all the time: other threads resize or trim this interpreter"
"""The error of a copy whose tensor had moved at every try."""
_FEW = 500 if int(np.__version__.split(".")[0]) >= 2 else 0
"""Up to this many elements numpy copies without releasing the GIL; before 2.0 it always releases it."""
_LONG = 64 << 10
"""From this size in bytes on, copies of computed tensors may release the GIL: they take as long as a run, which
releases it too."""


def checked_tensor(subgraph: Subgraph, index: int) -> Tensor:
    """The tensor of that number. Raises: InputError."""
    tensors = subgraph.tensors
    if not 0 <= index < len(tensors):
        message = f"Invalid tensor index {errors.shown(index)} exceeds max tensor index {len(tensors) - 1}"
        raise errors.InputError(message)
    return tensors[index]


def early_values(subgraph: Subgraph, index: int) -> Array:
    """A copy of a constant's values, before anything is allocated. Raises: InputError; StateError if the tensor is
    computed."""
    tensor = checked_tensor(subgraph, index)
    if tensor.data is None:
        message = f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{tensor.name}') has no memory"
        raise errors.StateError(message, tensors=[tensor.name])
    return public_bits(values.constant_values(tensor), tensor.type)


def completed(tensor: Tensor, place: Place | None) -> Place:
    """The place, completed by the array that fits the tensor there or in a bound buffer. Raises: InputError,
    StateError."""
    if place is not None and place.storage == "none":
        raise mismatch.hidden(tensor)
    if place is None or place.shape is None or (not place.address and place.bytes > 0 and not place.shared):
        message = (
            f"Tensor data is null. Run allocate_tensors() first: tensor {tensor.index} ('{tensor.name}') has no memory"
        )
        raise errors.StateError(message, tensors=[tensor.name])
    kind = TensorType(place.type)
    if kind == TensorType.VARIANT:
        message = f"tensor {tensor.index} ('{tensor.name}') is {kind.name}: it cannot be read as an array"
        raise errors.InputError(message, tensors=[tensor.name])
    dtype = public_type(kind)
    # Strings are never sparse; an array of objects over a tensor's bytes would treat them as pointers.
    sparse = tensor.sparsity is not None and not dtype.hasobject
    # The bytes of the sparse form, if the tensor is a sparse constant.
    place.array_shape = (place.bytes // dtype.itemsize,) if sparse else place.shape
    place.dtype = dtype
    bound = place.bound
    place.writable = place.storage not in ("constant", "folded") if bound is None else bool(bound.flags.writeable)
    place.encoded = kind if kind in ENCODED and not sparse else None
    return place


def copier(array: Array, *, computed: bool) -> Callable[[], Array] | None:
    """numpy's copy of an array over a tensor's memory; or None if numpy would release the GIL although the copy is
    short. Then, and for tensors that are not `computed`, which other threads may set meanwhile, the caller copies by
    bytes."""
    long = computed and array.nbytes >= _LONG
    return array.copy if array.size <= _FEW or long else None


def decoded_values(tensor: Tensor, raw: Array, place: Place) -> Array:
    """The values in the bytes of an encoded tensor. Raises: StateError, KernelError."""
    if place.encoded == TensorType.STRING and not place.address:
        message = f"tensor {tensor.index} ('{tensor.name}') has no value yet: invoke() computes it"
        raise errors.StateError(message, tensors=[tensor.name])
    try:
        return values.decoded(raw, TensorType(place.type), place.array_shape)
    except ValueError as error:  # left by a run that failed half-way
        message = f"tensor {tensor.index} ('{tensor.name}'): {error}"
        raise errors.KernelError(message, tensors=[tensor.name]) from None
