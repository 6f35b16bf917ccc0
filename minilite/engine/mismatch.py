"""Errors for values that do not fit a tensor: one line, with what to do instead."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite._native.status import MAX_RANK
from minilite.errors import InputError, InputRuntimeError, ShapeError, StateError, shortened
from minilite.format.dtypes import TensorType, public_type
from minilite.format.model import Array, Tensor
from minilite.format.packed import pack
from minilite.format.strings import as_strings, encode_strings
from minilite.format.values import integer_limits, range_fault

if TYPE_CHECKING:
    from minilite._native.state import Place

Shape = tuple[int, ...]
_HEAD = "Cannot set tensor: "
_RESIZE = "; for another size resize_tensor_input and allocate_tensors come first"
_NUMBERS = "biufc"
"""The kinds of numpy dtypes that can be converted to a numeric tensor."""


def check_resize(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Refuses shapes that the tensor can never take. Raises: InputError."""
    if tensor.data is not None and shape != tensor.shape:
        message = f"tensor {tensor.index} ('{tensor.name}') is constant: its shape {tensor.shape} cannot become {shape}"
        raise InputRuntimeError(message, tensors=[tensor.name], shapes=[tensor.shape, shape])
    if len(shape) > MAX_RANK:
        message = (
            f"tensor {tensor.index} ('{tensor.name}'): shape {shape} has {len(shape)} dimensions, at most {MAX_RANK}"
        )
        raise InputError(message, tensors=[tensor.name], shapes=[shape])


def resize_mismatch(tensor: Tensor, shape: tuple[int, ...]) -> InputError:
    """Explains why the tensor cannot take a shape of plain numbers."""
    check_resize(tensor, shape)
    plain = not shape or (min(shape) >= 0 and max(shape) < 2**31)
    kept = "is constant" if plain else "takes dimensions from 0 to 2147483647"
    message = f"tensor {tensor.index} ('{tensor.name}') {kept}: its shape {tensor.shape} cannot become {shape}"
    return InputRuntimeError(message, tensors=[tensor.name], shapes=[tensor.shape, shape])


def not_allocated(tensor: Tensor, shape: tuple[int, ...]) -> StateError:
    """The error for a tensor that was resized but not allocated since."""
    message = f"Tensor data is null. Run allocate_tensors() first: tensor {tensor.index} ('{tensor.name}') was resized to {shape}"
    return StateError(message, tensors=[tensor.name], shapes=[shape])


def overwritten(tensor: Tensor, by: str) -> StateError:
    """The error for a tensor that another tensor has overwritten."""
    message = (
        f"tensor {tensor.index} ('{tensor.name}') was overwritten by {by}: its memory is reused; "
        "experimental_preserve_all_tensors=True keeps every tensor"
    )
    return StateError(message, tensors=[tensor.name])


def hidden(tensor: Tensor) -> StateError:
    """The error for a tensor between nodes that run as one."""
    message = (
        f"Tensor data is null: tensor {tensor.index} ('{tensor.name}') has no memory: it lies between "
        "nodes that run as one, fused or patch by patch; experimental_preserve_all_tensors=True keeps every tensor"
    )
    return StateError(message, tensors=[tensor.name])


def as_array(tensor: Tensor, value: Any) -> Array:
    """The value as a numpy array, strings as objects. Raises: InputError if it is ragged."""
    try:
        return as_strings(value) if tensor.type == TensorType.STRING else np.asarray(value)
    except ValueError:
        message = (
            f"{_HEAD}Failed to convert value into readable tensor: tensor {tensor.index} ('{tensor.name}'): "
            f"the parts of the {type(value).__name__} differ in shape; pass an array of numbers of one shape"
        )
        raise InputError(message, tensors=[tensor.name]) from None


def numbers_or_strings(tensor: Tensor, value: Any) -> Array:
    """The value as a numpy array, before its shape is checked. Raises: InputError if it has neither numbers nor
    strings."""
    array = as_array(tensor, value)
    numbers = array.dtype.kind in _NUMBERS or array.dtype == public_type(tensor.type)
    if not numbers and tensor.type != TensorType.STRING:
        where = f"for input {tensor.index}, name: {tensor.name}"
        wanted = f"expected type {tensor.type.name} {where}; pass an array of numbers{_read_first(value)}"
        message = f"{_HEAD}Got value of type {_name(value, array)} but {wanted}"
        raise InputError(message, tensors=[tensor.name])
    return array


def encode(tensor: Tensor, array: Array) -> Array:
    """The bytes of values that a tensor stores in another form than an array: strings, packed elements. Raises:
    InputError."""
    if tensor.type == TensorType.STRING:
        try:
            return np.frombuffer(encode_strings(array), np.uint8)
        except ValueError as error:
            message = f"{_HEAD}tensor {tensor.index} ('{tensor.name}') takes {error}"
            raise InputError(message, tensors=[tensor.name]) from None
    if fault := range_fault(array, tensor.type):
        message = f"{_HEAD}{fault}: tensor {tensor.index} ('{tensor.name}')"
        raise InputError(message, tensors=[tensor.name])
    return pack(array, tensor.type)


def mismatch(tensor: Tensor, value: Any, array: Array, place: Place) -> InputError:
    """Explains why `array`, made from `value`, cannot be copied into the tensor's memory."""
    text = _kept(tensor, place) or _type_mismatch(tensor, value, array, place)
    text = text or _shape_mismatch(tensor, array, place)
    return InputError(_HEAD + text, tensors=[tensor.name], shapes=[place.array_shape, array.shape])


def _kept(tensor: Tensor, place: Place) -> str:
    if place.writable and tensor.data is None:
        return ""
    kept = "bound to a read-only array" if place.storage == "bound" and tensor.data is None else "constant"
    return f"tensor {tensor.index} ('{tensor.name}') is {kept}"


def _type_mismatch(tensor: Tensor, value: Any, array: Array, place: Place) -> str:
    where = f"for input {tensor.index}, name: {tensor.name}"
    if array.dtype == place.dtype and array.dtype.isnative:
        return ""
    if array.dtype.newbyteorder("=") == place.dtype:
        return (
            f"Got value of byte order '{array.dtype.byteorder}' but expected the machine's own {where}; "
            f"convert it with .astype('{place.dtype.name}')"
        )
    wanted = f"expected type {tensor.type.name} {where}"
    if tensor.type == TensorType.STRING:
        return f"Got value of type {array.dtype.name.upper()} but {wanted}; pass bytes or str, an array of shape {place.array_shape}"
    if array.dtype.kind not in _NUMBERS:
        numbers = f"pass an array of numbers of shape {place.array_shape}{_read_first(value)}"
        return f"Got value of type {_name(value, array)} but {wanted}; {numbers}"
    advice = _conversion(tensor, array, place)
    if not isinstance(value, np.ndarray) and advice.startswith("convert"):
        advice = f"convert it with np.array(x, '{place.dtype.name}')"
    if array.dtype == np.uint8 and place.dtype.kind == "f":
        advice += ", and scale pixels as the model was trained, often to x / 255 or x / 127.5 - 1"
    return f"Got value of type {array.dtype.name.upper()} but {wanted}; {advice}"


def _read_first(value: Any) -> str:
    return ", not a path: read the file first" if isinstance(value, str | os.PathLike) else ""


def given_shapes(error: ShapeError, tensors: Sequence[Tensor], arrays: Sequence[tuple[int, Array]]) -> ShapeError:
    """The error of a node, preceded by the inputs that were given in another shape than in the file, and the likely
    remedy."""
    described = []
    for index, array in arrays:
        tensor = tensors[index]
        wanted = tensor.shape_signature if tensor.shape_signature is not None else tensor.shape
        if len(wanted) != array.ndim or any(dim not in (-1, got) for dim, got in zip(wanted, array.shape, strict=True)):
            described.append(
                f"input '{shortened(tensor.name)}' is of shape {array.shape}, the model's is {wanted}{_remedy(array, wanted)}"
            )
    if not described:
        return error
    return ShapeError(
        f"{', '.join(described)}: {error}",
        subgraph=error.subgraph,
        node=error.node,
        op=error.op,
        tensors=error.tensors,
        shapes=error.shapes,
    )


def _name(value: Any, array: Array) -> str:
    """A name for what the caller passed: the class, or for arrays the kind of their elements."""
    return f"{type(value).__name__} of {array.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def _conversion(tensor: Tensor, array: Array, place: Place) -> str:
    """Advises how to convert the values to the tensor's type: by quantizing if it has a scale, else by a conversion of
    dtype."""
    quantization = tensor.quantization
    dtype = place.dtype
    if tensor.type == TensorType.BFLOAT16 and dtype.kind == "u":
        return "give its bits as uint16; with the package ml_dtypes installed, arrays of its bfloat16"
    if dtype.kind not in "iu" or not quantization.scales or tensor.type in _NO_INTEGERS:
        return f"convert it with .astype('{dtype.name}')"
    least, most = integer_limits(tensor.type)
    clip = f".clip({least}, {most}).astype('{dtype.name}')"
    if quantization.per_channel:
        return f"quantize real values x by channel with np.round(x / scales + zero_points){clip}"
    scale, zero_point = float(quantization.scale), int(quantization.zero_point)
    sign = "-" if zero_point < 0 else "+"
    advice = f"quantize real values x with np.round(x / {scale:.9g} {sign} {abs(zero_point)}){clip}"
    if array.dtype == np.uint8 and tensor.type == TensorType.INT8:
        advice += "; pixels p and values quantized to uint8 become int8 with (p.astype('int16') - 128).astype('int8')"
    return advice


_NO_INTEGERS = frozenset({TensorType.FLOAT8_E4M3FN, TensorType.FLOAT8_E5M2})
"""Types whose arrays hold raw bytes."""


def _shape_mismatch(tensor: Tensor, array: Array, place: Place) -> str:
    shapes = f"shape {array.shape} where {place.array_shape} is allocated"
    if array.ndim != len(place.array_shape):
        return (
            f"Dimension mismatch. Got {array.ndim} but expected {len(place.array_shape)} for input {tensor.index}, "
            f"name: {tensor.name}: {shapes}{_remedy(array, place.array_shape)}"
        )
    at = next(i for i, (a, b) in enumerate(zip(array.shape, place.array_shape, strict=True)) if a != b)
    return (
        f"Dimension mismatch. Got {array.shape[at]} but expected {place.array_shape[at]} for dimension {at} of input "
        f"{tensor.index}, name: {shortened(tensor.name)}: {shapes}{_remedy(array, place.array_shape) or _RESIZE}"
    )


def _remedy(array: Array, shape: Shape) -> str:
    """Advises how to get from an array's shape to the wanted one (-1 = any size): another batch, channels last, a grey
    or a transparent image."""

    def fits(made: Shape) -> bool:
        return len(made) == len(shape) and all(want in (-1, got) for want, got in zip(shape, made, strict=True))

    got = array.shape
    if fits((1, *got)):
        return "; add the first dimension with x[None]"
    if got and got[0] == 1 and fits(got[1:]):
        return "; take the first dimension off with x[0]"
    if array.ndim == 4 and fits((got[0], *got[2:], got[1])):
        return "; channels come last: transpose it with .transpose(0, 2, 3, 1)"
    if array.ndim == 4 and fits((got[0], got[3], *got[1:3])):
        return "; channels come first: transpose it with .transpose(0, 3, 1, 2)"
    if got and got[-1] == 1 and fits((*got[:-1], 3)):
        return "; make three channels of a grey one with np.repeat(x, 3, axis=-1)"
    if got and got[-1] == 4 and fits((*got[:-1], 3)):
        return "; take the fourth channel off with x[..., :3]"
    if array.ndim == 2 and fits((1, *got, 1)):
        return "; add batch and channel with x[None, :, :, None]"
    return ""
