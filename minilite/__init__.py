"""minilite: a lightweight interpreter for .tflite models."""

from typing import TYPE_CHECKING, Any

__all__ = [
    "ArenaError",
    "Bundle",
    "Cancel",
    "InputError",
    "Interpreter",
    "KernelError",
    "MiniliteError",
    "ModelFormatError",
    "ModelNotFoundError",
    "OpResolverType",
    "Predictor",
    "ShapeError",
    "SignatureRunner",
    "StateError",
    "UnsupportedOpError",
    "Workspace",
    "__version__",
    "compare",
    "get_include",
    "install_as",
    "kernel",
    "load_model",
    "read",
    "rebatched",
    "replay",
]

if TYPE_CHECKING:
    from minilite._native.cancel import Cancel
    from minilite._native.workspace import Workspace
    from minilite.batch.predictor import Predictor
    from minilite.batch.rebatched import rebatched
    from minilite.comparison.compare import compare
    from minilite.comparison.replay import replay
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
    from minilite.format.bundle import Bundle
    from minilite.format.reader import load_model
    from minilite.inputs.reading import read
    from minilite.interpreter import Interpreter, OpResolverType
    from minilite.litert.stand_in import install_as
    from minilite.signature import SignatureRunner

    __version__: str
else:
    _PARTS = {
        "_native.cancel": ("Cancel",),
        "_native.workspace": ("Workspace",),
        "batch.predictor": ("Predictor",),
        "batch.rebatched": ("rebatched",),
        "comparison.compare": ("compare",),
        "comparison.replay": ("replay",),
        "engine.user_kernels": ("get_include", "kernel"),
        "errors": tuple(name for name in __all__ if name.endswith("Error")),
        "format.bundle": ("Bundle",),
        "format.reader": ("load_model",),
        "inputs.reading": ("read",),
        "interpreter": ("Interpreter", "OpResolverType"),
        "signature": ("SignatureRunner",),
        "litert.stand_in": ("install_as",),
    }

    def __getattr__(name: str) -> Any:
        """Imports public names, and looks up the version, when they are first used, because both take time."""
        import importlib

        if name == "__version__":
            from importlib.metadata import version

            return version("minilite-runtime")
        for part, names in _PARTS.items():
            if name in names:
                found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{part}"), name)
                return found
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
