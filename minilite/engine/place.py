"""What array fits a tensor where it is now, and copies of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minilite import errors
from minilite.format.dtypes import ENCODED, TensorType, array_type
from minilite.late import Later

if TYPE_CHECKING:
    from collections.abc import Callable

    from minilite._native.state import Place
    from minilite.engine import mismatch
    from minilite.format import values
    from minilite.format.model import Array, Subgraph, Tensor
else:
    mismatch = Later("minilite.engine.mismatch")
    values = Later("minilite.format.values")

MOVES = "the tensor moves all the time: other threads resize or trim this interpreter"
"""What is said of a copy that was never made where its tensor lay."""
_FEW = 500 if int(np.__version__.split(".")[0]) >= 2 else 0
"""Elements up to which numpy copies under the GIL; it lets it go for more, and before 2.0 for any."""
_LONG = 64 << 10
"""Bytes of a tensor that is computed whose copies need not keep the GIL: as much as a run takes that lets it go as
well."""


def checked_tensor(subgraph: Subgraph, index: int) -> Tensor:
    """The tensor of that number. Raises: InputError."""
    tensors = subgraph.tensors
    if not 0 <= index < len(tensors):
        message = f"Invalid tensor index {index} exceeds max tensor index {len(tensors) - 1}"
        raise errors.InputError(message)
    return tensors[index]


def early_values(subgraph: Subgraph, index: int) -> Array:
    """A copy of a constant's values, before anything is allocated. Raises: InputError, StateError for what is
    computed."""
    tensor = checked_tensor(subgraph, index)
    if tensor.data is None:
        message = f"Tensor data is null. Run allocate_tensors() first: tensor {index} ('{tensor.name}') has no memory"
        raise errors.StateError(message, tensors=[tensor.name])
    return values.constant_values(tensor)


def completed(tensor: Tensor, place: Place | None, bound: Array | None) -> Place:
    """The place with what array fits the tensor there, or in a buffer of the caller's. Raises: InputError,
    StateError."""
    if place is not None and place.storage == "none":
        raise mismatch.hidden(tensor)
    if place is None or place.shape is None or (not place.address and place.bytes > 0):
        message = (
            f"Tensor data is null. Run allocate_tensors() first: tensor {tensor.index} ('{tensor.name}') has no memory"
        )
        raise errors.StateError(message, tensors=[tensor.name])
    kind = TensorType(place.type)
    if kind == TensorType.VARIANT:
        message = f"tensor {tensor.index} ('{tensor.name}') is {kind.name}: it cannot be read as an array"
        raise errors.InputError(message, tensors=[tensor.name])
    dtype = array_type(kind)
    # Strings are never sparse: an array of objects over a tensor's bytes would take them for pointers.
    sparse = tensor.sparsity is not None and not dtype.hasobject
    # Of a sparse constant, the bytes of the sparse form.
    place.array_shape = (place.bytes // dtype.itemsize,) if sparse else place.shape
    place.dtype = dtype
    place.writable = place.storage not in ("constant", "folded") if bound is None else bool(bound.flags.writeable)
    place.encoded = kind if kind in ENCODED and not sparse else None
    return place


def copier(array: Array, *, computed: bool) -> Callable[[], Array] | None:
    """numpy's copy of an array over a tensor's memory, or None where it would let the GIL go though the copy is short:
    bytes that are a new array's own serve there. So they do for what is not `computed`, which other threads may set
    meanwhile."""
    long = computed and array.nbytes >= _LONG
    return array.copy if array.size <= _FEW or long else None


def decoded_values(tensor: Tensor, raw: Array, place: Place) -> Array:
    """The values in the bytes of an encoded tensor. Raises: StateError, KernelError."""
    if place.encoded == TensorType.STRING and not place.address:
        message = f"tensor {tensor.index} ('{tensor.name}') has no value yet: invoke() computes it"
        raise errors.StateError(message, tensors=[tensor.name])
    try:
        return values.decoded(raw, TensorType(place.type), place.array_shape)
    except ValueError as error:  # what a run that failed half-way left
        message = f"tensor {tensor.index} ('{tensor.name}'): {error}"
        raise errors.KernelError(message, tensors=[tensor.name]) from None
