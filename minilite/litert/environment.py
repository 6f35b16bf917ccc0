"""LiteRT's Environment, which compiled models share: in minilite it keeps the given paths, of which one has effect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType


@dataclass(frozen=True)
class EnvironmentOptions:
    """The folders in which LiteRT finds its libraries, without effect, and keeps what it compiled: in
    `compiler_cache_dir`, minilite keeps packed weights, as an Interpreter does in its `cache_dir`."""

    runtime_path: str | None = None
    compiler_plugin_path: str = ""
    dispatch_library_path: str = ""
    compiler_cache_dir: str = ""


class Environment:
    """The environment in which compiled models are made; `Environment.create` makes one, and `with` closes it."""

    def __init__(self, capsule: Any, options: EnvironmentOptions) -> None:
        self._capsule = capsule
        self._options = options

    def __enter__(self) -> Environment:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes it for new models; models already made keep working."""
        self._capsule = None

    @classmethod
    def create(
        cls,
        options: EnvironmentOptions | str | None = None,
        *,
        runtime_path: str | None = None,
        compiler_plugin_path: str = "",
        dispatch_library_path: str = "",
        compiler_cache_dir: str = "",
    ) -> Environment:
        """An environment, made from options or from paths. Raises: InputError if both are given."""
        if isinstance(options, str):
            if runtime_path is not None:
                message = f"runtime_path was provided twice: '{options}' as options, and '{runtime_path}'"
                raise InputError(message)
            options, runtime_path = None, options
        if options is None:
            options = EnvironmentOptions(runtime_path, compiler_plugin_path, dispatch_library_path, compiler_cache_dir)
        elif runtime_path is not None or compiler_plugin_path or dispatch_library_path or compiler_cache_dir:
            message = "Pass either options or environment path shortcuts: both are given"
            raise InputError(message)
        return cls(object(), replace(options, runtime_path=options.runtime_path or str(Path(__file__).parent)))

    @property
    def options(self) -> EnvironmentOptions:
        """The paths."""
        return self._options

    @property
    def capsule(self) -> Any:
        """An object for the open environment. Raises: InputError after it was closed."""
        if self._capsule is None:
            message = "Environment is no longer valid: it was closed"
            raise InputError(message)
        return self._capsule
