"""What the Interpreter's arguments may be, and where its model comes from."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

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
    return load_model(os.fsdecode(model_path), load=load) if model_path is not None else read_model(model_content)


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
