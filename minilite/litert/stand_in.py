"""Standing in for LiteRT: programs that import it get minilite, unchanged."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from minilite.errors import InputError

NAMES = ("ai_edge_litert", "tflite_runtime", "tensorflow.lite")
"""The packages that it can stand in for."""
OURS = "minilite.interpreter"
"""The module that takes the place of theirs."""


def install_as(*names: str) -> None:
    """Makes `import NAME.interpreter` give minilite, for the rest of this process; without names for all of NAMES.

    To be called before the program imports them: what was imported already stays. Processes that `multiprocessing`
    starts get it too, whatever their start method: they take over `sys.path`, in which there is a folder more. A
    package that is installed is imported and keeps everything but its `interpreter`, and a TensorFlow everything but
    its `lite`; else there is nothing but the interpreter. Raises: InputError.
    """
    for name in names or NAMES:
        if name not in NAMES:
            message = f"cannot stand in for '{name}', only for {', '.join(NAMES)}"
            raise InputError(message)
    for name, folder in zip(names or NAMES, folders(names), strict=True):
        if folder in sys.path:
            sys.path.remove(folder)  # what is looked for here is what others have installed
        if name == "tensorflow.lite":
            _install_lite()
        else:
            _package(name)
        sys.path.insert(1, folder)  # the first is the program's own, which some ask for


def folders(names: Sequence[str] = ()) -> list[str]:
    """For each name, or each of NAMES, a folder with a module of that name, whose import calls `install_as`."""
    return [str(Path(__file__).with_name("stand_ins") / name) for name in names or NAMES]


def _package(name: str) -> ModuleType:
    """The package NAME with a module `interpreter`, which is ours. A package that is installed is imported, and keeps
    all else that it has."""
    interpreter = import_module(OURS)
    sys.modules[f"{name}.interpreter"] = interpreter  # first: other modules of the package import it from there
    package = _installed(name)
    vars(package).setdefault("__version__", import_module("minilite").__version__)
    package.interpreter = interpreter  # type: ignore[attr-defined]
    return package


def _installed(name: str) -> ModuleType:
    """The package of that name, imported where others have installed it, else made. One that cannot be imported,
    because a library is missing for example, is made as well, with the modules that it has."""
    spec = None
    if "." not in name:
        with suppress(Exception):  # whatever its own code raises: our interpreter works without it
            return import_module(name)
        spec = PathFinder.find_spec(name)
    return _made(name, f"minilite, in the place of {name}.", spec.submodule_search_locations if spec else None)


def _made(name: str, says: str, path: Iterable[str] | None = None) -> ModuleType:
    """A package of that name, imported, with modules along a path; its spec is what `importlib.util.find_spec` finds,
    by which programs look before."""
    package = ModuleType(name, says)
    package.__path__ = list(path or ())
    package.__spec__ = ModuleSpec(name, None, is_package=True)
    sys.modules[name] = package
    return package


def _install_lite() -> None:
    interpreter = import_module(OURS)
    lite = _package("tensorflow.lite")
    lite.Interpreter = interpreter.Interpreter  # type: ignore[attr-defined]
    experimental = _made("tensorflow.lite.experimental", "What minilite has of it.")
    experimental.load_delegate = interpreter.load_delegate  # type: ignore[attr-defined]
    experimental.OpResolverType = interpreter.OpResolverType  # type: ignore[attr-defined]
    lite.experimental = experimental  # type: ignore[attr-defined]
    python = _made("tensorflow.lite.python", "What minilite has of it.")
    python.interpreter = interpreter  # type: ignore[attr-defined]
    lite.python = python  # type: ignore[attr-defined]
    _explain(lite, "minilite stands in for tensorflow.lite, of which it has the interpreter alone")
    sys.modules["tensorflow.lite.python.interpreter"] = interpreter
    whole = _tensorflow()
    whole.lite = lite  # type: ignore[attr-defined]


def _tensorflow() -> ModuleType:
    known = sys.modules.get("tensorflow")
    if known is not None:
        return known
    import importlib.util  # seldom asked for, long to import

    if importlib.util.find_spec("tensorflow") is not None:
        return import_module("tensorflow")
    whole = _made("tensorflow", "Nothing but minilite, in the place of tensorflow.lite.")
    _explain(whole, "minilite stands in for tensorflow.lite alone, TensorFlow is not installed")
    return whole


def _explain(module: ModuleType, why: str) -> None:
    """Lets a module say why it lacks what it is asked for."""

    def missing(name: str) -> NoReturn:
        message = f"module '{module.__name__}' has no attribute '{name}': {why}"
        raise AttributeError(message)

    module.__getattr__ = missing  # type: ignore[method-assign]
