"""install_as: lets programs that import LiteRT run on minilite, unchanged."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module, metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from minilite.errors import InputError
from minilite.late import Later

NAMES = ("ai_edge_litert", "tflite_runtime", "tensorflow.lite")
"""The packages that minilite can replace."""
OURS = "minilite.interpreter"
"""The module that replaces theirs."""
_OPTIONS = "minilite.litert.options"
PARTS = {
    "compiled_model": "minilite.litert.compiled_model",
    "tensor_buffer": "minilite.litert.tensor_buffer",
    "environment": "minilite.litert.environment",
    "options": _OPTIONS,
    "hardware_accelerator": _OPTIONS,
    "cpu_options": _OPTIONS,
    "cpu_kernel_mode": _OPTIONS,
    "gpu_options": _OPTIONS,
    "qualcomm_options": _OPTIONS,
    "intel_openvino_options": _OPTIONS,
    "metrics_portable": "minilite.litert.metrics",
}
"""Replacements of the other modules of ai_edge_litert that run models, imported when a program imports them."""
_RUNTIME_PARTS = {"metrics_portable": "minilite.litert.metrics"}
"""The same of tflite_runtime."""
VERSIONS = {"ai_edge_litert": "2.3.0", "tflite_runtime": "2.14.0", "tensorflow": "2.19.0"}
"""The versions whose calls are served: what programs compare with the least that they need."""


def install_as(*names: str) -> None:
    """Makes `import NAME.interpreter` import minilite, for the rest of this process; without arguments for all of
    NAMES.

    For ai_edge_litert it also replaces the modules that run models by CompiledModel. To be called before the program
    imports them: what was imported already stays. Processes that `multiprocessing` starts get it too, whatever their
    start method: they inherit `sys.path`, to which a folder is added. An installed package is imported and keeps
    everything else (TensorFlow everything but its `lite`). If it is not installed, there are only these modules, and
    `__version__` is the version whose calls they serve, followed by minilite's. Raises: InputError.
    """
    for name in names or NAMES:
        if name not in NAMES:
            message = f"cannot stand in for '{name}', only for {', '.join(NAMES)}"
            raise InputError(message)
    for name, folder in zip(names or NAMES, folders(names), strict=True):
        if folder in sys.path:
            sys.path.remove(folder)  # only packages that are really installed are searched
        if name == "tensorflow.lite":
            _install_lite()
        else:
            _package(name, PARTS if name == "ai_edge_litert" else _RUNTIME_PARTS)
        _tell_version(name.partition(".")[0])
        sys.path.insert(1, folder)  # the first entry is the program's own folder


def folders(names: Sequence[str] = ()) -> list[str]:
    """For each name (default: NAMES), a folder with a module of that name, whose import calls `install_as`."""
    return [str(Path(__file__).with_name("stand_ins") / name) for name in names or NAMES]


class _Metadata(metadata.Distribution):
    """Metadata of a package that minilite replaces."""

    def __init__(self, name: str) -> None:
        self._text = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {_version(name)}\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parent / str(path)


class _Versions:
    """A finder of such metadata. It comes after those of installed packages, whose own metadata are found first."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, *_: Any) -> None:
        """Finds no modules."""

    def find_distributions(self, context: metadata.DistributionFinder.Context) -> Iterator[metadata.Distribution]:
        """Yields the packages that minilite replaces, or the one that was asked for."""
        wanted = context.name and context.name.lower().replace("-", "_").replace(".", "_")
        return (_Metadata(name) for name in sorted(self.names) if wanted in (None, name))


def _tell_version(name: str) -> None:
    found = next((finder for finder in sys.meta_path if isinstance(finder, _Versions)), None)
    if found is None:
        found = _Versions()
        sys.meta_path.append(found)
    found.names.add(name)


def _version(name: str) -> str:
    return f"{VERSIONS[name]}+minilite.{import_module('minilite').__version__}"


def _package(name: str, parts: Mapping[str, str]) -> ModuleType:
    """The package NAME with a module `interpreter`, which is ours, and others that are imported when they are used. A
    package that is installed is imported, and keeps all else that it has."""
    interpreter = import_module(OURS)
    modules: dict[str, Any] = {"interpreter": interpreter, **{part: Later(ours) for part, ours in parts.items()}}
    for part, module in modules.items():  # first: other modules of the package import them from there
        sys.modules[f"{name}.{part}"] = module
    package = _installed(name, f"minilite stands in for {name}, of which it has {', '.join(modules)}")
    vars(package).update(modules)
    return package


def _installed(name: str, says: str) -> ModuleType:
    """The package of that name: imported if it is installed, else made. If its import fails, for example because a
    library is missing, it is made too, with the modules that it has."""
    spec = None
    if "." not in name:
        with suppress(Exception):  # our interpreter works without it, whatever its code raises
            return import_module(name)
        spec = PathFinder.find_spec(name)
    return _made(name, says, spec.submodule_search_locations if spec else None)


def _made(name: str, says: str, path: Iterable[str] | None = None) -> ModuleType:
    """A package of that name, imported, with modules along a path; its spec is what `importlib.util.find_spec` finds,
    by which programs look before. It says why it lacks what it is asked for."""
    package = ModuleType(name, says)
    package.__path__ = list(path or ())
    package.__file__ = __file__
    package.__spec__ = ModuleSpec(name, None, origin=__file__, is_package=True)
    if name in VERSIONS:
        vars(package)["__version__"] = _version(name)

    def missing(attribute: str) -> NoReturn:
        message = f"module '{name}' has no attribute '{attribute}': {says}"
        raise AttributeError(message)

    package.__getattr__ = missing  # type: ignore[method-assign]
    sys.modules[name] = package
    return package


def _install_lite() -> None:
    interpreter = import_module(OURS)
    lite = _package("tensorflow.lite", {})
    lite.Interpreter = interpreter.Interpreter  # type: ignore[attr-defined]
    experimental = _made("tensorflow.lite.experimental", "minilite has load_delegate and OpResolverType of it")
    experimental.load_delegate = interpreter.load_delegate  # type: ignore[attr-defined]
    experimental.OpResolverType = interpreter.OpResolverType  # type: ignore[attr-defined]
    lite.experimental = experimental  # type: ignore[attr-defined]
    python = _made("tensorflow.lite.python", "minilite has interpreter of it")
    python.interpreter = interpreter  # type: ignore[attr-defined]
    lite.python = python  # type: ignore[attr-defined]
    sys.modules["tensorflow.lite.python.interpreter"] = interpreter
    whole = _tensorflow()
    whole.lite = lite  # type: ignore[attr-defined]


def _tensorflow() -> ModuleType:
    known = sys.modules.get("tensorflow")
    if known is not None:
        return known
    import importlib.util  # seldom needed, takes long to import

    if importlib.util.find_spec("tensorflow") is not None:
        return import_module("tensorflow")
    return _made("tensorflow", "minilite stands in for tensorflow.lite alone, TensorFlow is not installed")
