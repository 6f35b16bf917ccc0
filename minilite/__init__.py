"""minilite: a lightweight interpreter for .tflite models."""

from typing import TYPE_CHECKING

from minilite.engine.user_kernels import get_include, kernel
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
from minilite.format.reader import load_model
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
    "__version__",
    "get_include",
    "kernel",
    "load_model",
]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """The version is looked up when it is asked for: importlib.metadata takes longer to import than all of minilite."""
        if name == "__version__":
            from importlib.metadata import version

            return version("minilite")
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
