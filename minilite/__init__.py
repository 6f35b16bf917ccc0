"""minilite: a lightweight interpreter for .tflite models."""

from minilite.errors import (
    ArenaError,
    InputError,
    KernelError,
    MiniliteError,
    ModelFormatError,
    ModelNotFoundError,
    ShapeError,
    StateError,
    UnsupportedOpError,
)
from minilite.interpreter import Interpreter, OpResolverType
from minilite.signature import SignatureRunner

__all__ = [
    "ArenaError",
    "InputError",
    "Interpreter",
    "KernelError",
    "MiniliteError",
    "ModelFormatError",
    "ModelNotFoundError",
    "OpResolverType",
    "ShapeError",
    "SignatureRunner",
    "StateError",
    "UnsupportedOpError",
]
