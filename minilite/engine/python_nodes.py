"""Nodes that run in Python: numpy references, and custom operators, whose functions are checked in what they take and give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite import _native
from minilite.errors import InputError, KernelError, coordinates, shortened
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.format.packed import PACKED, pack, unpack
from minilite.format.strings import pack_strings, unpack_strings
from minilite.ops_shared.operator import OpNode

Shape = tuple[int, ...]


class Handler(NamedTuple):
    """A node that may run in Python: its numpy reference, or the function of a custom operator."""

    node: OpNode
    function: Callable[..., Any]
    shape: Callable[..., Any] | None
    dtypes_in: tuple[Any, ...]
    dtypes_out: tuple[Any, ...]
    custom: bool
    """The function is the caller's: its inputs are copies, which it may keep beyond its call."""
    writes: tuple[int, ...] = ()
    """Variable inputs whose new values the function gives behind the outputs."""


def node_coordinates(node: OpNode) -> str:
    """The head of an error line about a node."""
    return coordinates(node.subgraph, node.index, node.op, node.outputs[0].name if node.outputs else "")


def check_custom(node: OpNode, function: Callable[..., Any], shape: Callable[..., Any] | None) -> None:
    """Refuses functions that cannot be called with a node and its inputs. Raises: InputError."""
    import inspect

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


def _input(call: _native.Call, position: int, tensor: Tensor | None) -> Array | None:
    """The values of an input, None when it is absent."""
    if tensor is None:
        return None
    shape = call.input_shape(position) or ()
    if tensor.type == TensorType.STRING:
        return unpack_strings(call.input_bytes(position), shape)
    if tensor.type in PACKED:
        return unpack(np.frombuffer(call.input_bytes(position), np.uint8), tensor.type, shape)
    array: Array = call.input_array(position, numpy_type(tensor.type))
    return array


class PythonNodes:
    """Runs the nodes that C hands over."""

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self._handlers = handlers
        self.exceptions: dict[int, BaseException] = {}

    def label(self, handler: int) -> str:
        """The coordinates of a node, for error lines."""
        return node_coordinates(self._handlers[handler].node)

    def eval(self, call: _native.Call) -> int:
        """Computes one node and stores its outputs."""
        handler = self._handlers[call.handler]
        results = self._results(handler, call)
        written: tuple[Array, ...] = ()
        if handler.writes:
            results, written = results[: -len(handler.writes)], results[-len(handler.writes) :]
        arrays = _outputs(handler, results)
        shapes = [array.shape for array in arrays]
        if handler.custom:
            _check_shapes(handler, call, shapes)
        if handler.custom or any(call.output_shape(i) != shape for i, shape in enumerate(shapes)):
            arrays = [array.copy() if array.base is not None else array for array in arrays]
            if status := call.set_output_shapes(shapes):
                return status
        for i, array in enumerate(arrays):
            tensor = handler.node.outputs[i]
            if tensor.type in PACKED:
                call.write_bytes(i, pack(array, tensor.type).tobytes(), sized=True)
            elif tensor.type == TensorType.STRING:
                if status := call.write_bytes(i, pack_strings(tensor, array), sized=False):
                    return status
            else:
                np.copyto(call.output_array(i, array.dtype), array)
        for position, array in zip(handler.writes, written, strict=True):
            np.copyto(call.input_array(position, array.dtype, writable=True), array)
        return 0

    def _results(self, handler: Handler, call: _native.Call) -> Any:
        inputs = [_input(call, i, tensor) for i, tensor in enumerate(handler.node.inputs)]
        if handler.custom:
            inputs = [array.copy() if array is not None else None for array in inputs]
            return handler.function(handler.node, *inputs)
        try:
            with np.errstate(all="ignore"):  # a reference computes infinities and NaN as C does, without a word
                return handler.function(handler.node, *inputs)
        except BaseException as error:
            _forget(inputs, error)
            raise

    def shape(self, call: _native.Call) -> list[Shape]:
        """The output shapes of a custom node, by its shape function. One output's may be given bare, () for a scalar."""
        handler = self._handlers[call.handler]
        assert handler.shape is not None
        shapes = handler.shape(handler.node, *(call.input_shape(i) for i in range(len(handler.dtypes_in))))
        count = len(handler.dtypes_out)
        try:
            if count == 1 and all(isinstance(dim, (int, np.integer)) for dim in shapes):
                shapes = [shapes]
            found = [tuple(int(dim) for dim in shape) for shape in shapes]
        except (TypeError, ValueError):
            raise _fault(
                handler, f"the shape function gave {shortened(repr(shapes))}, must give a shape an output"
            ) from None
        if len(found) != count:
            raise _fault(handler, f"the shape function gave {len(found)} shapes, the node has {_count(count)}")
        if any(dim < 0 for shape in found for dim in shape):
            raise _fault(handler, f"the shape function gave {found}, dimensions must be at least 0")
        return found


def _count(outputs: int) -> str:
    return f"{outputs} output{'s' if outputs != 1 else ''}"


def _fault(handler: Handler, text: str, tensor: Tensor | None = None, shapes: Sequence[Shape] = ()) -> KernelError:
    node = handler.node
    tensors = [tensor.name] if tensor is not None else []
    message = f"{node_coordinates(node)}: {text}"
    return KernelError(message, subgraph=node.subgraph, node=node.index, op=node.op, tensors=tensors, shapes=shapes)


def _forget(inputs: list[Array | None], error: BaseException) -> None:
    """Takes the views of the arena out of a traceback, which may be kept and looked into when the arena has gone."""
    from traceback import clear_frames

    inputs.clear()
    clear_frames(error.__traceback__)


def _outputs(handler: Handler, results: Any) -> list[Array]:
    """What a function gave, as one array an output of the right dtype. Raises: KernelError."""
    count = len(handler.dtypes_out)
    if results is None and count:
        raise _fault(handler, f"the function gave None, the node has {_count(count)}")
    if not isinstance(results, tuple):
        results = (results,) if count or results is not None else ()
    if len(results) != count:
        raise _fault(handler, f"the function gave {_count(len(results))}, the node has {count}")
    arrays = []
    for i, (result, dtype) in enumerate(zip(results, handler.dtypes_out, strict=True)):
        array = np.asarray(result)
        if array.dtype != dtype:
            came = type(result).__name__ if array.dtype.kind not in "biufc" else str(array.dtype)
            wanted = np.dtype(dtype)
            advice = f": convert it with .astype('{wanted}')" if array.dtype.kind in "biufc" else ""
            text = f"output {i} came as {came}, the model says {wanted}{advice}"
            raise _fault(handler, text, handler.node.outputs[i])
        arrays.append(array)
    return arrays


def _check_shapes(handler: Handler, call: _native.Call, shapes: Sequence[Shape]) -> None:
    """Refuses outputs that differ in a dimension that the file's signature fixes, as long as the inputs keep to the file."""
    node = handler.node
    for i, (tensor, shape) in enumerate(zip(node.outputs, shapes, strict=True)):
        fixed = tensor.shape_signature
        if fixed is None or _keeps(fixed, shape):
            continue
        sources = ((source, call.input_shape(at) or ()) for at, source in enumerate(node.inputs) if source is not None)
        if all(_keeps(source.shape_signature or source.shape, given) for source, given in sources):
            raise _fault(
                handler, f"output {i} came with shape {shape}, the model fixes {fixed}", tensor, [fixed, shape]
            )


def _keeps(fixed: Shape, shape: Shape) -> bool:
    """Whether a shape has all dimensions of a signature that are not open (-1)."""
    return len(fixed) == len(shape) and all(a in (-1, b) for a, b in zip(fixed, shape, strict=True))
