"""Nodes that run in Python: numpy references, and functions of custom operators, whose arguments and results are
checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from traceback import clear_frames
from typing import Any, NamedTuple

import numpy as np

from minilite._native.call import Call
from minilite._native.status import MAX_RANK
from minilite.errors import ArenaError, InputError, KernelError, MiniliteError, coordinates, shortened
from minilite.format.dtypes import ENCODED, TensorType, array_type, numpy_type
from minilite.format.model import Array, Tensor
from minilite.format.packed import pack
from minilite.format.strings import as_strings, encode_strings
from minilite.format.values import decoded, range_fault
from minilite.ops_shared.operator import OpNode

Shape = tuple[int, ...]
_MOST = 2**31 - 1
"""The largest dimension."""


class Handler(NamedTuple):
    """A node that may run in Python: its numpy reference, or the function of a custom operator."""

    node: OpNode
    function: Callable[..., Any]
    shape: Callable[..., Any] | None
    custom: bool
    """The function belongs to the caller: its inputs are copies, which it may keep after the call."""
    writes: tuple[int, ...] = ()
    """Variable inputs whose new values the function returns after the outputs."""


def node_coordinates(node: OpNode) -> str:
    """The start of an error message about a node."""
    return coordinates(node.subgraph, node.index, node.op, node.outputs[0].name if node.outputs else "")


def check_custom(node: OpNode, function: Callable[..., Any], shape: Callable[..., Any] | None) -> None:
    """Refuses functions that cannot be called with a node and its inputs. Raises: InputError."""
    arguments = (node, *node.inputs)
    for what, called in (("", function), (".shape", shape)):
        try:
            signature = inspect.signature(called) if called is not None else None
        except (TypeError, ValueError):  # written in C
            continue
        try:
            if signature is not None:
                signature.bind(*arguments)
        except TypeError:
            takes = shortened(str(signature), 100)
            count = f"{len(node.inputs)} input{'s' if len(node.inputs) != 1 else ''}"
            message = (
                f"{node_coordinates(node)}: custom_ops['{node.op}']{what} takes {takes}, "
                f"must take the node and its {count}"
            )
            raise InputError(message, subgraph=node.subgraph, node=node.index, op=node.op) from None


def _input(handler: Handler, call: Call, position: int) -> Array | None:
    """The values of an input, None when it is absent."""
    tensor = handler.node.inputs[position]
    if tensor is None:
        return None
    if tensor.type not in ENCODED:
        array: Array = call.input_array(position, numpy_type(tensor.type))
        # every byte of a bool except 0 is true, but numpy counts on 0 and 1
        return np.asarray(array.view(np.uint8) != 0) if tensor.type == TensorType.BOOL else array
    try:
        return decoded(call.input_bytes(position), tensor.type, call.input_shape(position) or ())
    except ValueError as error:
        raise _fault(handler, f"input {position}: {error}", tensor) from None


def _encoded(handler: Handler, position: int, array: Array) -> bytes:
    """The bytes of an output of an ENCODED type."""
    tensor = handler.node.outputs[position]
    if tensor.type != TensorType.STRING:
        if fault := range_fault(array, tensor.type):
            raise _fault(handler, f"output {position}: {fault}", tensor)
        return pack(array, tensor.type).tobytes()
    try:
        return encode_strings(array)
    except ValueError as error:
        raise _fault(handler, f"output {position} takes {error}", tensor) from None


def evaluate(handler: Handler, call: Call) -> int:
    """Computes one node and stores its outputs."""
    results = _results(handler, call)
    written: tuple[Array, ...] = ()
    if handler.writes:
        results, written = results[: -len(handler.writes)], results[-len(handler.writes) :]
    arrays = _outputs(handler, results)
    shapes = [array.shape for array in arrays]
    if handler.custom:
        _check_shapes(handler, call, shapes)
    if handler.custom or any(call.output_shape(i) != shape for i, shape in enumerate(shapes)):
        _check_dimensions(handler, "the function", shapes)
        arrays = [array.copy() if array.base is not None else array for array in arrays]
        if status := call.set_output_shapes(shapes):
            return status
    for i, array in enumerate(arrays):
        kind = handler.node.outputs[i].type
        if kind not in ENCODED:
            np.copyto(call.output_array(i, array.dtype), array)
        elif status := call.write_bytes(i, _encoded(handler, i, array), sized=kind != TensorType.STRING):
            return status
    for position, array in zip(handler.writes, written, strict=True):
        np.copyto(call.input_array(position, array.dtype, writable=True), array)
    return 0


def _results(handler: Handler, call: Call) -> Any:
    inputs = [_input(handler, call, i) for i in range(len(handler.node.inputs))]
    if handler.custom:
        inputs = [array.copy() if array is not None else None for array in inputs]
        return handler.function(handler.node, *inputs)
    try:
        with np.errstate(all="ignore"):  # references compute infinities and NaN like C, without warnings
            return handler.function(handler.node, *inputs)
    except BaseException as error:
        _forget(inputs, error)
        if isinstance(error, MiniliteError) or not isinstance(error, Exception):
            raise
        raise _failure(handler.node, error) from error


def _failure(node: OpNode, error: Exception) -> MiniliteError:
    """A MiniliteError for an exception of a numpy reference. Exceptions of the caller's functions are not changed."""
    text = " ".join(str(error).split())
    if not isinstance(error, (ValueError, IndexError)):  # others are not about values
        text = f"{type(error).__name__}: {text}"
    kind = ArenaError if isinstance(error, MemoryError) else KernelError
    message = f"{node_coordinates(node)}: {text}"
    return kind(message, subgraph=node.subgraph, node=node.index, op=node.op)


def shapes(handler: Handler, call: Call) -> list[Shape]:
    """The output shapes of a custom node, by its shape function, which may return a single shape for one output (() for
    a scalar)."""
    assert handler.shape is not None
    given = handler.shape(handler.node, *(call.input_shape(i) for i in range(len(handler.node.inputs))))
    count = len(handler.node.outputs)
    try:
        if count == 1 and all(isinstance(dim, (int, np.integer)) for dim in given):
            given = [given]
        found = [tuple(int(dim) for dim in shape) for shape in given]
    except (TypeError, ValueError):
        raise _fault(
            handler, f"the shape function gave {shortened(repr(given))}, must give one shape per output"
        ) from None
    if len(found) != count:
        raise _fault(handler, f"the shape function gave {len(found)} shapes, the node has {_count(count)}")
    _check_dimensions(handler, "the shape function", found)
    return found


def _check_dimensions(handler: Handler, what: str, shapes: Sequence[Shape]) -> None:
    """Refuses shapes that a tensor cannot have. Raises: KernelError."""
    for shape in shapes:
        if len(shape) > MAX_RANK:
            rule = f"{len(shape)} dimensions: at most {MAX_RANK}"
            raise _fault(handler, f"{what} gave the shape {shape}, which has {rule}")
        if not all(0 <= dim <= _MOST for dim in shape):
            raise _fault(handler, f"{what} gave the shape {shape}, dimensions must be from 0 to {_MOST}")


def _count(outputs: int) -> str:
    return f"{outputs} output{'s' if outputs != 1 else ''}"


def _fault(handler: Handler, text: str, tensor: Tensor | None = None, shapes: Sequence[Shape] = ()) -> KernelError:
    node = handler.node
    tensors = [tensor.name] if tensor is not None else []
    message = f"{node_coordinates(node)}: {text}"
    return KernelError(message, subgraph=node.subgraph, node=node.index, op=node.op, tensors=tensors, shapes=shapes)


def _forget(inputs: list[Array | None], error: BaseException) -> None:
    """Removes views of the arena from a traceback, which may be kept and inspected after the arena was freed."""
    inputs.clear()
    clear_frames(error.__traceback__)


def _outputs(handler: Handler, results: Any) -> list[Array]:
    """The results of a function, as one array of the right dtype per output. Raises: KernelError."""
    count = len(handler.node.outputs)
    if results is None and count:
        raise _fault(handler, f"the function gave None, the node has {_count(count)}")
    if not isinstance(results, tuple):
        results = (results,) if count or results is not None else ()
    if len(results) != count:
        raise _fault(handler, f"the function gave {_count(len(results))}, the node has {count}")
    arrays = []
    for i, (result, tensor) in enumerate(zip(results, handler.node.outputs, strict=True)):
        text, wanted = tensor.type == TensorType.STRING, array_type(tensor.type)
        try:
            array = as_strings(result) if text else np.asarray(result)
        except ValueError:
            fault = f"output {i} is a {type(result).__name__} whose parts differ in shape"
            raise _fault(handler, fault, tensor) from None
        if array.dtype != wanted:
            numbers = array.dtype.kind in "biufc"
            came = str(array.dtype) if numbers else type(result).__name__
            says = "strings (bytes or str)" if text else str(wanted)
            advice = f": convert it with .astype('{wanted}')" if numbers and not text else ""
            raise _fault(handler, f"output {i} is {came}, the model says {says}{advice}", tensor)
        arrays.append(array)
    return arrays


def _check_shapes(handler: Handler, call: Call, shapes: Sequence[Shape]) -> None:
    """Refuses outputs that differ in a dimension fixed by the file's signature, if all inputs agree with theirs."""
    node = handler.node
    for i, (tensor, shape) in enumerate(zip(node.outputs, shapes, strict=True)):
        fixed = tensor.shape_signature
        if fixed is None or _keeps(fixed, shape):
            continue
        sources = ((source, call.input_shape(at) or ()) for at, source in enumerate(node.inputs) if source is not None)
        if all(_keeps(source.shape_signature or source.shape, given) for source, given in sources):
            raise _fault(handler, f"output {i} has shape {shape}, the model fixes {fixed}", tensor, [fixed, shape])


def _keeps(fixed: Shape, shape: Shape) -> bool:
    """True if a shape has all dimensions of a signature that are not open (-1)."""
    return len(fixed) == len(shape) and all(a in (-1, b) for a, b in zip(fixed, shape, strict=True))
