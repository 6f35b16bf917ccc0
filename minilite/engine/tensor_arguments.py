"""Checks arguments of the Interpreter's calls: tensors by number, name or details, and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeAlias

import numpy as np

from minilite.engine.mismatch import check_resize, numbers_or_strings
from minilite.errors import InputError, InputRuntimeError, InputTypeError, shortened, shown
from minilite.format.dtypes import public_type
from minilite.numeric import whole

if TYPE_CHECKING:
    from minilite.details import TensorDetails
    from minilite.format.model import Array, Subgraph, Tensor

Shape = tuple[int, ...]
TensorKey: TypeAlias = "SupportsIndex | str | TensorDetails"
"""Names of a tensor in calls: its number, its name, or its details."""
Dims: TypeAlias = "Sequence[SupportsIndex] | Array"
"""A shape given by a caller."""
Shapes: TypeAlias = "Mapping[str, Dims] | Mapping[int, Dims] | Mapping[str | int, Dims]"
"""Shapes by a tensor's name or number; spelled out because mappings are invariant in their keys."""


def tensor_number(subgraph: Subgraph, key: TensorKey) -> int:
    """The number of the tensor; a number that is given may be out of range. Raises: InputError.

    Names are looked up among the inputs, then the outputs, then all tensors.
    """
    if isinstance(key, str):
        return _named(subgraph, key)
    if isinstance(key, Mapping) and "index" in key:
        key = key["index"]
    try:
        return whole("a tensor's number", key)
    except InputTypeError:
        raise InputTypeError(_no_tensor(key)) from None


def subgraph_number(index: Any, count: int | None = None) -> int:
    """A subgraph's number, below `count` where that is given. Raises: InputError."""
    try:
        number = whole("subgraph_index", index)
    except InputTypeError:
        message = f"subgraph_index takes the number of a subgraph, 0 is the main one: got {shown(index)}"
        raise InputTypeError(message) from None
    if count is not None and not 0 <= number < count:
        message = f"subgraph_index is out of range: {number} for the model, which has {count} subgraphs"
        raise InputError(message)
    return number


def refuse_keywords(unknown: Iterable[str]) -> NoReturn:
    """Explains how `run` takes arrays by name. Raises: InputTypeError."""
    name = next(iter(unknown))
    by_name = ", ".join(f"'{each}': array" for each in unknown)
    message = f"Interpreter.run() got an unexpected keyword argument '{name}': arrays go by name in a dict, run({{{by_name}}})"
    raise InputTypeError(message)


def _no_tensor(key: Any) -> str:
    what = "takes the number, the name or the details of a tensor"
    if isinstance(key, np.ndarray):
        return f"{what} first, then the array: got an array of shape {key.shape} in place of the tensor"
    if isinstance(key, Mapping):
        return f"{what}: got a dict without 'index'; run({{name: array}}) takes arrays by name"
    if isinstance(key, (list, tuple)) and key and isinstance(key[0], Mapping):
        return f"{what}: got a list of {len(key)} details, take one of them, as in get_input_details()[0]"
    if isinstance(key, (list, tuple)):
        return f"{what} first, then what is to be done to it: got a {type(key).__name__} in place of the tensor"
    return f"{what}: got {type(key).__name__}"


def _named(subgraph: Subgraph, name: str) -> int:
    tensors = subgraph.tensors
    for numbers in (subgraph.inputs, subgraph.outputs, range(len(tensors))):
        found = sorted({number for number in numbers if number >= 0 and tensors[number].name == name})
        if len(found) == 1:
            return found[0]
        if found:
            message = f"there are {len(found)} tensors called '{name}', must be 1: give a number, one of {found}"
            raise InputTypeError(message, tensors=[name])
    message = f"there is no tensor '{name}': {names('inputs', subgraph, subgraph.inputs)}, "
    message += names("outputs", subgraph, subgraph.outputs)
    if name.strip().isdecimal():
        message += f"; a number is given without quotes: {int(name)}"
    raise InputTypeError(message, tensors=[name])


def by_name(subgraph: Subgraph, numbers: Iterable[int], what: str) -> dict[str, int]:
    """Tensor numbers by name. Raises: InputError where several have one name."""
    found: dict[str, int] = {}
    for number in numbers:
        name = subgraph.tensors[number].name
        if found.setdefault(name, number) != number:
            message = (
                f"tensors {found[name]} and {number} are both {what} called '{shortened(name)}', names must differ here: "
                "Interpreter.run takes arrays in order or by number"
            )
            raise InputError(message, tensors=[name])
    return found


def names(what: str, subgraph: Subgraph, numbers: Sequence[int], most: int = 8) -> str:
    """``inputs are x, y``: the names of some tensors for a message, at most eight of them."""
    found = [shortened(subgraph.tensors[number].name) for number in numbers[:most] if number >= 0]
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f"{what} are {', '.join(found) or 'none'}{more}"


def inputs_by_number(subgraph: Subgraph, inputs: Sequence[Any]) -> dict[int, Any]:
    """The value given for each input: one value per input, in the model's order, or one mapping by name or number.

    Raises: InputError.
    """
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        given = {tensor_number(subgraph, key): value for key, value in inputs[0].items()}
    elif len(inputs) == len(subgraph.inputs):
        given = dict(zip(subgraph.inputs, inputs, strict=True))
    else:
        message = f"got {len(inputs)} arrays, {names('inputs', subgraph, subgraph.inputs)}: one array per input"
        raise InputError(message)
    if set(given) != set(subgraph.inputs):
        got = [subgraph.tensors[number].name for number in given if 0 <= number < len(subgraph.tensors)]
        message = (
            f"got inputs {sorted(got)}, the model takes {sorted(subgraph.tensors[i].name for i in subgraph.inputs)}"
        )
        raise InputError(message)
    return given


def input_arrays(subgraph: Subgraph, inputs: Sequence[Any]) -> list[tuple[int, Array]]:
    """Tensor numbers and arrays of the values of `inputs_by_number`. Raises: InputError."""
    given = inputs_by_number(subgraph, inputs)
    return [(number, as_given(subgraph.tensors[number], value)) for number, value in given.items()]


def as_given(tensor: Tensor, value: Any) -> Array:
    """The value as an array. Python's numbers have no width: they get the tensor's type if only digits are lost.

    Raises: InputError.
    """
    array = numbers_or_strings(tensor, value)
    wanted = public_type(tensor.type)
    if array is value or not isinstance(value, (list, tuple, int, float)) or array.dtype == wanted:
        return array
    kinds = array.dtype.kind + wanted.kind
    if kinds in ("ff", "if", "fV", "iV"):  # V is the kind of bfloat16
        return array.astype(wanted)
    if kinds in ("ii", "iu"):
        limits = np.iinfo(wanted)
        if array.size and limits.min <= array.min() and array.max() <= limits.max:
            return array.astype(wanted)
    return array


def output_arrays(
    subgraph: Subgraph, outputs: Mapping[str, int], out: Mapping[str, Array] | None
) -> Mapping[str, Array]:
    """The caller's arrays for outputs, by name, of the right types; shapes are known after the run. Raises:
    InputError."""
    if out is None:
        return {}
    if not isinstance(out, Mapping):
        message = f"out is of type {type(out).__name__}, must map names of outputs to arrays"
        raise InputTypeError(message)
    for name, array in out.items():
        if name not in outputs:
            message = f"out has '{name}', {names('outputs', subgraph, subgraph.outputs)}"
            raise InputError(message)
        wanted = public_type(subgraph.tensors[outputs[name]].type)
        if not isinstance(array, np.ndarray) or array.dtype != wanted or not array.flags.writeable:
            got = f"of dtype {array.dtype}" if isinstance(array, np.ndarray) else f"of type {type(array).__name__}"
            message = f"out['{name}'] is {got}, must be a writable array of dtype {wanted}"
            raise InputError(message, tensors=[name])
    return out


def check_strict(tensor: Tensor, shape: Shape, present: Shape | None = None) -> None:
    """Refuses to change a dimension that the file's signature fixes; `present` is the shape so far (None: the file's).

    Raises: InputError (also RuntimeError)."""
    signature = tensor.shape_signature if tensor.shape_signature is not None else tensor.shape
    if len(shape) != len(signature):
        message = (
            f"Attempting to resize tensor {tensor.index} ('{tensor.name}') from rank {len(signature)} to rank "
            f"{len(shape)}. ResizeInputTensorStrict keeps the rank"
        )
        raise InputRuntimeError(message, tensors=[tensor.name], shapes=[signature, shape])
    for at, (fixed, requested) in enumerate(zip(signature, shape, strict=True)):
        if fixed not in (-1, requested):
            message = (
                f"Attempting to resize dimension {at} of tensor {tensor.index} with value {(present or tensor.shape)[at]} to {requested}. "
                "ResizeInputTensorStrict only allows mutating unknown dimensions identified by -1."
            )
            raise InputRuntimeError(message, tensors=[tensor.name], shapes=[signature, shape])


def _dims(tensor: Tensor, tensor_size: Any) -> Shape:
    """A shape from any values that are whole numbers. Raises: InputError."""
    where = f"tensor {tensor.index} ('{tensor.name}')"
    like = (
        "give every dimension, as in ("
        + ", ".join(map(str, tensor.shape))
        + ("," if len(tensor.shape) == 1 else "")
        + ")"
    )
    try:
        array = np.asarray(tensor_size)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1:
        message = f"Shape should be 1D instead of {array.ndim}: {where}, got {shown(tensor_size)}: {like}"
        raise InputError(message, tensors=[tensor.name])
    try:
        return tuple(whole(f"{where}: a dimension", _as_numpy(dim)) for dim in tensor_size)
    except InputTypeError:
        message = f"the shape {shown(tensor_size)} of {where} is not of whole numbers: {like}"
        raise InputTypeError(message, tensors=[tensor.name]) from None


def _as_numpy(dim: Any) -> Any:
    """Converts values that numpy, and so LiteRT, takes for integers: floats without a fraction, and digits; returns all
    others unchanged."""
    if isinstance(dim, (float, np.floating)):
        return int(dim) if dim.is_integer() else dim
    try:
        return int(dim) if isinstance(dim, str) else dim
    except ValueError:
        return dim


def wanted_shape(tensors: Sequence[Tensor], index: int, tensor_size: Dims) -> tuple[Tensor, Shape]:
    """The tensor and the shape that a caller requests. Raises: InputError."""
    if not 0 <= index < len(tensors):
        message = (
            f"tensor_index < context_.tensors_size && tensor_index >= 0 was not true: tensor_index is {shown(index)}, the model "
            f"has tensors 0 to {len(tensors) - 1}"
        )
        raise InputRuntimeError(message)
    # numpy's ndim of a list takes longer than everything else; plain sequences of numbers avoid it.
    if type(tensor_size) in (tuple, list) and all(type(d) is int for d in tensor_size):
        shape = tuple(tensor_size)
    else:
        shape = _dims(tensors[index], tensor_size)
    if shape and (min(shape) < 0 or max(shape) >= 2**31):
        message = (
            f"BytesRequired number of elements overflowed: tensor {index} ('{tensors[index].name}') cannot take the "
            f"shape {shown(shape)}, dimensions are 0 to 2147483647"
        )
        raise InputRuntimeError(message, tensors=[tensors[index].name], shapes=[shape])
    check_resize(tensors[index], shape)
    return tensors[index], shape


def wanted_shapes(graph: Subgraph, shapes: Shapes | None) -> dict[int, Shape]:
    """The shapes that a caller requests, by tensor. Raises: InputError."""
    if shapes is not None and not hasattr(shapes, "items"):
        message = f"shapes is of type {type(shapes).__name__}, must map names or numbers of tensors to shapes"
        raise InputTypeError(message)
    named = (shapes or {}).items()
    wanted = (wanted_shape(graph.tensors, tensor_number(graph, key), dims) for key, dims in named)
    return {tensor.index: shape for tensor, shape in wanted}
