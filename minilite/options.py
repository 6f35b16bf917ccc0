"""The constructor's options, checked; and where an Interpreter's model comes from."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minilite._native.status import OPTIONS
from minilite.compat import OpResolverType, resolver_type
from minilite.format.model import Model
from minilite.format.reader import load_model, read_model
from minilite.light import Later, NamedTuple

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn, TypeAlias

    from minilite import errors
    from minilite.engine.user_kernels import UserKernel
    from minilite.format.model import Array
else:
    errors = Later("minilite.errors")

Planner: TypeAlias = Literal[
    "default",
    "naive",
    "tflite",
    "greedy_by_size",
    "greedy_by_breadth",
    "exact",
    "strip_packing",
    "tflm",
    "equality",
    "greedy_in_order",
    "shared_greedy_by_size",
    "shared_greedy_by_size_improved",
    "shared_greedy_by_breadth",
    "min_cost_flow",
]
"""The planning strategies by name; docs/memory.md says what each does."""
InPlace: TypeAlias = Literal["wide", "tflite", "none"]
"""Which operators may overwrite inputs that die: all that can, those of TFLite's planner, none."""
Load: TypeAlias = Literal["map", "copy"]
"""Whether a file is mapped, and must not change, or read whole first."""
CustomFunction: TypeAlias = "Callable[..., Any]"
"""``f(node, *arrays) -> array or tuple of arrays``; an attribute ``shape(node, *shapes)`` makes its shapes known
early."""
CustomOp: TypeAlias = "CustomFunction | UserKernel"
"""What computes a custom operator."""
Content: TypeAlias = "bytes | bytearray | memoryview | mmap.mmap | Array"
"""A model's bytes."""
Path: TypeAlias = "str | bytes | os.PathLike[str]"

_PATH_BYTES = 4096
"""No path is longer (PATH_MAX)."""
_IN_PLACE: dict[str, dict[str, bool]] = {
    "none": {},
    "tflite": {"share_tflite": True},
    "wide": {"share_wide": True, "keep_smaller": True},
}


class Options(NamedTuple):
    """What the constructor was asked for beside the model, checked."""

    custom_ops: Mapping[str, CustomOp]
    reference: bool
    """Every node runs its numpy reference."""
    reorder: bool
    strategy: str
    """The planning strategy."""
    engine: int
    """Switches of the engine: a sum of `_native.OPTIONS`."""
    fuses: bool
    """Nodes may become part of others: csrc/graph/fuse.c."""
    compress_zero_points: bool
    threads: int
    """How many threads a run may use, the caller's included."""
    cache_bytes: int
    """What plans that are not in force may take."""
    max_bytes: int
    """What tensors may take; 0 = any."""
    max_iterations: int
    """How often a WHILE may run its body; 0 = any."""


def read(model_path: Path | Content | Model | None, model_content: Content | None, load: Load) -> Model:
    """The Model of the constructor's arguments. Raises: InputError, ModelNotFoundError, ModelFormatError."""
    if type(model_path) is str and model_path and model_content is None:
        return load_model(model_path, load=load)
    if isinstance(model_path, Model) and model_content is None:
        return model_path
    if _is_empty(model_path) and _is_empty(model_content):
        message = (
            "`model_path` or `model_content` must be specified. Neither is, or it is empty: a path or a model's bytes come "
            "first, as in Interpreter('model.tflite')"
        )
        raise errors.InputError(message)
    if model_path is not None and model_content is not None:
        message = "Can't both provide `model_path` and `model_content`: leave one of them out"
        if isinstance(model_content, int):
            message += f", the second came as {model_content}: threads are num_threads={model_content}"
        raise errors.InputError(message)
    if model_path is None or _is_content(model_path):
        return _read_content(model_content if model_path is None else model_path)
    if hasattr(model_path, "read"):
        return _read_content(_read_file(model_path))
    if not isinstance(model_path, (str, bytes, os.PathLike)):
        message = f"model_path is of type {type(model_path).__name__}, must be a path, a model's bytes, an open file or a Model"
        if hasattr(model_path, "model"):
            message += ", such as its .model; .clone() makes another interpreter"
        raise errors.InputTypeError(message)
    return load_model(os.fsdecode(model_path), load=load)


def _is_empty(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return not value
    try:
        return memoryview(value).nbytes == 0
    except (TypeError, ValueError):  # no buffer, or one whose memory is gone
        return False


def _is_content(value: Any) -> bool:
    """Whether it can only be a model's bytes: no path holds a zero byte or has more than 4096 bytes; every model
    does."""
    if isinstance(value, bytes):
        return len(value) > _PATH_BYTES or b"\0" in value
    return not isinstance(value, (str, os.PathLike)) and _is_buffer(value)


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    except ValueError:  # whose memory is gone: the reader says so
        pass
    return True


def _read_file(file: Any) -> Any:
    if getattr(file, "closed", False):
        message = "the file is closed, must be open while it is read: within its `with`, or give its path"
        raise errors.InputError(message)
    content = file.read()
    if isinstance(content, str):
        message = "the file was opened as text, must be opened in binary mode: open(path, 'rb')"
        raise errors.InputTypeError(message)
    if not content and hasattr(file, "tell") and file.tell() > 0:
        message = f"the file has been read already, up to its end at byte {file.tell()}: file.seek(0) begins anew"
        raise errors.InputError(message)
    return content


def _read_content(content: Any) -> Model:
    if not _is_buffer(content) and hasattr(content, "read"):
        content = _read_file(content)
    if not _is_buffer(content):
        message = f"model_content is of type {type(content).__name__}, must be a model's bytes"
        if isinstance(content, (str, os.PathLike, Model)):
            message += "; a path or a Model comes first: Interpreter(it)"
        raise errors.InputTypeError(message)
    if isinstance(content, np.ndarray) and content.dtype.itemsize != 1:
        message = f"the array is of {content.dtype}: a model's bytes are of uint8"
        raise errors.InputTypeError(message)
    try:
        return read_model(content)
    except errors.ModelFormatError as error:
        from minilite.format.origin import explained

        raise explained(error, content) from None


def checked_threads(num_threads: Any) -> int:
    """A number of threads; None leaves it to us: 1. Raises: InputError."""
    if num_threads is None:
        return 1
    if not isinstance(num_threads, (int, np.integer)):
        message = f"type of num_threads should be int, got {type(num_threads).__name__}"
        raise errors.InputError(message)
    if num_threads < 1:
        message = f"num_threads should >= 1, got {num_threads}"
        raise errors.InputError(message)
    return min(int(num_threads), 256)


def checked_count(name: str, value: Any, least: int, unit: str) -> int:
    """A number of bytes or the like. Raises: InputError."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value < 2**62:
        message = f"{name} is {value!r}, must be a number of {unit}, {least} or more"
        raise errors.InputError(message)
    return int(value)


def check_delegates(delegates: Sequence[Any] | None) -> None:
    """Refuses any delegate. Raises: InputError."""
    if delegates:
        got = len(delegates) if isinstance(delegates, (list, tuple)) else f"one of type {type(delegates).__name__}"
        message = f"delegates are not supported, got {got}: all nodes run without experimental_delegates"
        raise errors.InputError(message)


def refuse_unknown(unknown: Iterable[str], constructor: Any) -> NoReturn:
    """Says of a keyword that the constructor has not which one is near. Raises: InputTypeError."""
    import difflib  # they take long to import
    import inspect

    known = [
        name for name, one in inspect.signature(constructor).parameters.items() if one.kind is not one.VAR_KEYWORD
    ][1:]
    name = next(iter(unknown))
    near = difflib.get_close_matches(name, known, 1, 0.5)
    behind = f"near it is {near[0]}" if near else f"there are {', '.join(known)}"
    message = f"Interpreter.__init__() got an unexpected keyword argument '{name}': {behind}"
    raise errors.InputTypeError(message)


def check_custom_ops(custom_ops: Any) -> dict[str, CustomOp]:
    """The functions and kernels by operator name. Raises: InputError."""
    from collections.abc import Mapping

    from minilite.engine.user_kernels import UserKernel

    if not isinstance(custom_ops, Mapping):
        message = f"custom_ops is of type {type(custom_ops).__name__}, must map names of operators to functions"
        raise errors.InputError(message)
    for name, function in custom_ops.items():
        if not isinstance(name, str):
            message = f"custom_ops has the key {name!r}, must be the name of an operator"
            raise errors.InputError(message)
        if isinstance(function, UserKernel):
            continue
        if isinstance(function, np.ufunc):
            plain = function.__name__
            message = (
                f"custom_ops['{name}'] is numpy's {plain}, must take the node first: lambda node, *x: np.{plain}(*x)"
            )
            raise errors.InputError(message, op=name)
        for what, value in (("", function), (".shape", getattr(function, "shape", None))):
            if not callable(value) and not (what and value is None):
                must = "function" if what else "function or a kernel"
                message = f"custom_ops['{name}']{what} is of type {type(value).__name__}, must be a {must}"
                raise errors.InputError(message, op=name)
    return dict(custom_ops)


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        message = f"{name} is {value!r}, must be one of {', '.join(known)}"
        raise errors.InputError(message)


def checked(custom_ops: Any, *said: Any) -> Options:
    """The options of `_checked`, in its order, and custom operators, or why they cannot be. Raises: InputError."""
    try:
        options = _checked(*said)
    except TypeError:  # a value that has no hash: one that cannot be, for all that can have
        options = _checked.__wrapped__(*said)
    return options if custom_ops is None else options._replace(custom_ops=check_custom_ops(custom_ops))


@functools.lru_cache(64, typed=True)
def _checked(
    resolver: Any,
    planner: str,
    in_place: str | None,
    preserve_inputs: bool,
    preserve_all: bool,
    keep_nodes: bool,
    reorder: bool,
    load: str,
    compress_zero_points: bool,
    num_threads: Any,
    plan_cache_bytes: Any,
    max_bytes: Any,
    max_iterations: Any,
) -> Options:
    """The options without custom operators; most interpreters of a process have the same."""
    reference = resolver_type(resolver) is OpResolverType.BUILTIN_REF
    if planner != "default":
        from minilite._native.memory import strategies

        _one_of("planner", planner, strategies())
    sharing = in_place if in_place is not None else "tflite" if planner == "tflite" else "wide"
    _one_of("in_place", sharing, tuple(_IN_PLACE))
    _one_of("load", load, ("map", "copy"))
    engine = {
        **_IN_PLACE[sharing],
        "keep_inputs": bool(preserve_inputs),
        "keep_all": bool(preserve_all),
        "free_unread": planner != "tflite",
    }
    bits = sum(OPTIONS[name] for name, on in engine.items() if on)
    threads, cache = checked_threads(num_threads), checked_count("plan_cache_bytes", plan_cache_bytes, 0, "bytes")
    limits = (
        0 if most is None else checked_count(name, most, 1, unit)
        for name, most, unit in (("max_bytes", max_bytes, "bytes"), ("max_iterations", max_iterations, "iterations"))
    )
    fuses = sharing == "wide" and not preserve_all and not keep_nodes
    compress = bool(compress_zero_points)
    return Options({}, reference, bool(reorder), planner, bits, fuses, compress, threads, cache, *limits)
