"""What the Interpreter's arguments may be, and where its model comes from."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from minilite._native.memory import strategies
from minilite.engine.session import check_resize
from minilite.errors import InputError, InputRuntimeError
from minilite.format.model import Model, Tensor
from minilite.format.reader import load_model, read_model

Shape = tuple[int, ...]


def read(model_path: Any, model_content: Any, load: Literal["map", "copy"]) -> Model:
    """The Model of the constructor's arguments. Raises: InputError, ModelNotFoundError, ModelFormatError."""
    if isinstance(model_path, Model):
        return model_path
    empty = isinstance(model_path, str) and not model_path
    if (model_path is None or empty) and (model_content is None or len(model_content) == 0):
        message = "`model_path` or `model_content` must be specified."
        raise InputError(message)
    if model_path is not None and model_content is not None:
        message = "Can't both provide `model_path` and `model_content`"
        raise InputError(message)
    return load_model(model_path, load=load) if model_path is not None else read_model(model_content)


def check_threads(num_threads: Any) -> None:
    """Refuses what is no number of threads. Raises: InputError."""
    if num_threads is None:
        return
    if not isinstance(num_threads, (int, np.integer)) or isinstance(num_threads, bool):
        message = f"type of num_threads should be int, got {type(num_threads).__name__}"
        raise InputError(message)
    if num_threads < 1:
        message = f"num_threads should >= 1, got {num_threads}"
        raise InputError(message)


def check_strict(tensor: Tensor, shape: Shape) -> None:
    """Refuses to change a dimension that the file's signature fixes. Raises: InputError (also RuntimeError)."""
    signature = tensor.shape_signature if tensor.shape_signature is not None else tensor.shape
    if len(shape) != len(signature):
        message = (
            f"Attempting to resize tensor {tensor.index} ('{tensor.name}') from rank {len(signature)} to rank "
            f"{len(shape)}. ResizeInputTensorStrict keeps the rank"
        )
        raise InputRuntimeError(message, tensors=[tensor.name], shapes=[signature, shape])
    for at, (fixed, asked) in enumerate(zip(signature, shape, strict=True)):
        if fixed not in (-1, asked):
            message = (
                f"Attempting to resize dimension {at} of tensor {tensor.index} with value {fixed} to {asked}. "
                "ResizeInputTensorStrict only allows mutating unknown dimensions identified by -1."
            )
            raise InputRuntimeError(message, tensors=[tensor.name], shapes=[signature, shape])


def check_planner(name: str) -> None:
    """Refuses what is no planning strategy. Raises: InputError."""
    if name not in strategies():
        message = f"planner is {name!r}, must be one of {', '.join(strategies())}"
        raise InputError(message)


def wanted_shape(tensors: Sequence[Tensor], tensor_index: int, tensor_size: Sequence[int]) -> tuple[Tensor, Shape]:
    """The tensor and the shape that a caller asks for. Raises: InputError."""
    index = operator.index(tensor_index)
    if not 0 <= index < len(tensors):
        message = f"tensor_index {index} < {len(tensors)} was not true: the model has tensors 0 to {len(tensors) - 1}"
        raise InputRuntimeError(message)
    # numpy's ndim of a list takes longer than all the rest: a plain sequence of numbers does without it.
    if (
        not (type(tensor_size) in (tuple, list) and all(type(d) is int for d in tensor_size))
        and np.ndim(tensor_size) != 1
    ):
        message = f"Shape should be 1D instead of {np.ndim(tensor_size)}: tensor {index} ('{tensors[index].name}')"
        raise InputError(message, tensors=[tensors[index].name])
    shape = tuple(map(int, tensor_size))
    if shape and (min(shape) < 0 or max(shape) >= 2**31):
        message = (
            f"BytesRequired number of elements overflowed: tensor {index} ('{tensors[index].name}') cannot take the "
            f"shape {shape}, dimensions are 0 to 2147483647"
        )
        raise InputRuntimeError(message, tensors=[tensors[index].name], shapes=[shape])
    check_resize(tensors[index], shape)
    return tensors[index], shape
