"""Checks the options of Interpreter, and reads the model that it was given."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from minilite import errors
from minilite._native.status import OPTIONS
from minilite.format.model import Model
from minilite.format.reader import load_model, read_model
from minilite.late import Later
from minilite.numeric import byte_count, whole

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from minilite._native.workspace import Workspace
    from minilite.engine import user_kernels
    from minilite.engine.user_kernels import UserKernel
    from minilite.format import origin
    from minilite.format.model import Array
else:
    origin = Later("minilite.format.origin")
    user_kernels = Later("minilite.engine.user_kernels")


class OpResolverType(Enum):
    """The kernels that run: BUILTIN_REF selects the numpy references, all others the C kernels."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


def resolver_type(value: Any) -> OpResolverType:
    """The member of our enum; members of LiteRT's enum are converted by name. Raises: InputError."""
    if type(value) is OpResolverType:
        return value
    if isinstance(value, Enum) and value.name in OpResolverType.__members__:
        return OpResolverType[value.name]
    message = f"Unrecognized passed in op resolver type: {value}: takes a member, such as OpResolverType.BUILTIN_REF"
    raise errors.InputError(message)


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
"""The planning strategies, for type checkers: what programs give is checked by the names that C has. docs/planning.md
says what each does."""
InPlace: TypeAlias = Literal["wide", "tflite", "none"]
"""The operators that may overwrite inputs that are not needed later: all that can, those of TFLite's planner, none."""
Load: TypeAlias = Literal["map", "copy"]
"""The way of loading a file: it is mapped, and then must not change, or read into memory."""
CustomFunction: TypeAlias = "Callable[..., Any]"
"""``f(node, *arrays) -> array or tuple of arrays``; with an attribute ``shape(node, *shapes)``, output shapes are known
before the run."""
CustomOp: TypeAlias = "CustomFunction | UserKernel"
"""A function or kernel that computes a custom operator."""
Content: TypeAlias = "bytes | bytearray | memoryview | mmap.mmap | Array"
"""A model's bytes."""
Path: TypeAlias = "str | bytes | os.PathLike[str]"

PLAN_CACHE_BYTES = 16 << 20
"""The default limit in bytes for cached plans that are not in use: about 1700 sizes of a model with 30 nodes."""
_PATH_BYTES = 4096
"""The longest possible path (PATH_MAX)."""
_LOADS = get_args(Load)
_IN_PLACE = {
    "none": 0,
    "tflite": OPTIONS["share_tflite"],
    "wide": OPTIONS["share_wide"] | OPTIONS["keep_smaller"],
}


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
    except (TypeError, ValueError):  # not a buffer, or one whose memory was freed
        return False


def _is_content(value: Any) -> bool:
    """True if the value can only be a model's bytes, not a path: it contains a zero byte or has more than 4096
    bytes."""
    if isinstance(value, bytes):
        return len(value) > _PATH_BYTES or b"\0" in value
    return not isinstance(value, (str, os.PathLike)) and _is_buffer(value)


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    except ValueError:  # its memory was freed: the reader reports that
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
        message = (
            f"the file has been read already, up to its end at byte {file.tell()}: file.seek(0) goes back to the start"
        )
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
        raise origin.explained(error, content) from None


def checked_threads(num_threads: Any) -> int:
    """The number of threads, checked; None means the default, 1. Raises: InputError."""
    if num_threads is None or (type(num_threads) is int and num_threads == 1):
        return 1
    try:
        wanted = whole("num_threads", num_threads)
    except errors.InputTypeError:
        message = f"type of num_threads should be int, got {type(num_threads).__name__}"
        raise errors.InputError(message) from None
    if wanted < 1:
        message = f"num_threads should >= 1, got {wanted}"
        raise errors.InputError(message)
    return min(wanted, 256)


def checked_count(name: str, value: Any, least: int, unit: str) -> int:
    """A number of bytes or the like, checked. Raises: InputError."""
    if type(value) is int and least <= value < 2**62:
        return value
    try:
        return whole(name, value, least=least, most=2**62 - 1)
    except errors.InputError:
        message = f"{name} is {errors.shown(value)}, must be a number of {unit}, {least} or more"
        raise errors.InputError(message) from None


def checked_workspace(workspace: Any) -> Workspace | None:
    """Refuses anything but a Workspace, which is open, or None. Raises: InputError, StateError."""
    if workspace is None:
        return None
    from minilite._native import workspace as workspaces

    if not isinstance(workspace, workspaces.Workspace):
        message = f"workspace is of type {type(workspace).__name__}, must be a minilite.Workspace"
        raise errors.InputTypeError(message)
    if workspace.closed:
        message = "the workspace was closed: its interpreters have no memory to run in"
        raise errors.StateError(message)
    return workspace


def check_delegates(delegates: Sequence[Any] | None) -> None:
    """Refuses any delegate. Raises: InputError."""
    if delegates:
        got = len(delegates) if isinstance(delegates, (list, tuple)) else f"one of type {type(delegates).__name__}"
        message = f"delegates are not supported, got {got}: all nodes run without experimental_delegates"
        raise errors.InputError(message)


class Delegate:
    """A delegate: there are none. Raises: DelegateError (also ValueError and OSError)."""

    def __init__(self, library: str, options: Mapping[str, str] | None = None) -> None:  # noqa: ARG002
        message = f"delegates are not supported, got '{library}': an Interpreter runs all nodes without any"
        raise errors.DelegateError(message)

    def _get_native_delegate_pointer(self) -> int:
        """The address of LiteRT's C++ object. Raises: InputError."""
        message = "delegates are not supported: minilite has no C++ interpreter to hand to them"
        raise errors.InputError(message)


def load_delegate(library: str, options: Mapping[str, str] | None = None) -> Delegate:
    """Raises DelegateError, which is the ValueError and the OSError on which clients fall back to the CPU."""
    return Delegate(library, options)


def check_unknown(unknown: Iterable[str], constructor: Any) -> None:
    """Refuses unknown keywords, if any, and suggests one that the constructor has. Raises: InputTypeError."""
    if not unknown:
        return
    known = [
        name for name, one in inspect.signature(constructor).parameters.items() if one.kind is not one.VAR_KEYWORD
    ][1:]
    name = next(iter(unknown))
    import difflib

    near = difflib.get_close_matches(name, known, 1, 0.5)
    behind = f"near it is {near[0]}" if near else f"there are {', '.join(known)}"
    message = f"Interpreter.__init__() got an unexpected keyword argument '{name}': {behind}"
    raise errors.InputTypeError(message)


def check_custom_ops(custom_ops: Any) -> dict[str, CustomOp]:
    """The functions and kernels by operator name, checked. Raises: InputError."""
    if not isinstance(custom_ops, Mapping):
        message = f"custom_ops is of type {type(custom_ops).__name__}, must map names of operators to functions"
        raise errors.InputError(message)
    for name, function in custom_ops.items():
        if not isinstance(name, str):
            message = f"custom_ops has the key {name!r}, must be the name of an operator"
            raise errors.InputError(message)
        if isinstance(function, user_kernels.UserKernel):
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


def checked_level(level: Any) -> str | None:
    """The name of a level of instructions that this machine has, or None. Raises: InputError."""
    if level is None:
        return None
    from minilite._native.kernels import level_names

    _one_of("level", level, level_names())
    return str(level)


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        message = f"{name} is {errors.shown(value)}, must be one of {', '.join(known)}"
        raise errors.InputError(message)


def _checked_path(name: str, value: Any) -> str | None:
    """A path as text, or None. Raises: InputError."""
    if value is None:
        return None
    if not isinstance(value, (str, bytes, os.PathLike)):
        message = f"{name} is of type {type(value).__name__}, must be the path of a folder"
        raise errors.InputTypeError(message)
    return os.fsdecode(value)


def _limit(name: str, value: Any, unit: str) -> int:
    """A number of bytes or the like, 0 for None, which is any; bytes also as text. Raises: InputError."""
    if value is None:
        return 0
    if isinstance(value, str) and unit == "bytes":
        try:
            return byte_count(value)
        except errors.InputError as error:
            message = f"{name}: {error}"
            raise errors.InputError(message) from None
    return checked_count(name, value, 1, unit)


_SWITCHES = (
    "experimental_preserve_all_tensors",
    "experimental_disable_delegate_node_fusion",
    "experimental_compress_quantization_zero_points",
    "preserve_inputs",
    "reorder",
    "keep_pages",
    "winograd",
    "fast_convolutions",
)


def _check_types(signature: Any, *switches: Any) -> None:
    """Refuses a signature that is no key, and what says neither yes nor no, such as a string. Raises: InputError (also
    TypeError)."""
    if signature is not None and not isinstance(signature, str):
        message = f"signature is of type {type(signature).__name__}, must be the key of a signature"
        raise errors.InputTypeError(message)
    for name, value in zip(_SWITCHES, switches, strict=True):
        if type(value) is not bool and value is not None and not hasattr(value, "__bool__"):
            message = f"{name} is {errors.shortened(repr(value))}, must be True or False"
            raise errors.InputTypeError(message)


def _engine_options(planner: str, sharing: str, preserve_inputs: bool, preserve_all: bool, keep_pages: bool) -> int:
    _one_of("in_place", sharing, tuple(_IN_PLACE))
    return sum(
        (
            _IN_PLACE[sharing],
            OPTIONS["keep_inputs"] if preserve_inputs else 0,
            OPTIONS["keep_all"] if preserve_all else 0,
            OPTIONS["free_unread"] if planner != "tflite" else 0,
            OPTIONS["keep_pages"] if keep_pages else 0,
            OPTIONS["inputs_apart"] if preserve_inputs and planner != "tflite" else 0,
        )
    )


def _checked_sharing(planner: str, in_place: str | None, load: str) -> str:
    """The name of what may be overwritten, which a planner may decide; the other names are checked. Raises:
    InputError."""
    if planner != "default":
        from minilite._native.memory import strategies

        _one_of("planner", planner, strategies())
    _one_of("load", load, _LOADS)
    return in_place if in_place is not None else "tflite" if planner == "tflite" else "wide"


class Options:
    """The arguments of Interpreter except the model, checked. Raises: InputError."""

    def __init__(
        self,
        *,
        custom_ops: Any = None,
        resolver: Any = OpResolverType.AUTO,
        planner: str = "default",
        in_place: str | None = None,
        preserve_inputs: bool = True,
        preserve_all: bool = False,
        keep_nodes: bool = False,
        reorder: bool = False,
        keep_pages: bool = True,
        winograd: bool = True,
        fast_convolutions: bool = False,
        load: str = "map",
        compress_zero_points: bool = False,
        num_threads: Any = None,
        plan_cache_bytes: Any = PLAN_CACHE_BYTES,
        max_bytes: Any = None,
        max_arena: Any = None,
        max_iterations: Any = None,
        level: Any = None,
        cache_dir: Any = None,
        signature: Any = None,
    ) -> None:
        switches = preserve_all, keep_nodes, compress_zero_points, preserve_inputs, reorder, keep_pages, winograd
        _check_types(signature, *switches, fast_convolutions)
        sharing = _checked_sharing(planner, in_place, load)
        self.custom_ops: Mapping[str, CustomOp] = {} if custom_ops is None else check_custom_ops(custom_ops)
        self.reference: bool = resolver_type(resolver) is OpResolverType.BUILTIN_REF
        """Nodes run their numpy references if they have one."""
        self.reorder: bool = bool(reorder)
        """Nodes may run in another order that needs less memory."""
        self.strategy: str = planner
        self.compress_zero_points: bool = bool(compress_zero_points)
        self.engine: int = _engine_options(planner, sharing, preserve_inputs, preserve_all, keep_pages)
        """Options of the engine: a sum of `_native.status.OPTIONS`."""
        self.fuses: bool = sharing == "wide" and not preserve_all and not keep_nodes
        """Nodes may be fused (csrc/graph/fuse.c)."""
        self.winograd: bool = bool(winograd)
        self.fast_convolutions: bool = bool(fast_convolutions)
        """Convolutions may take larger weights and fewer multiplications: of bytes; of floats, which round more."""
        self.threads: int = checked_threads(num_threads)
        """The number of threads that a run may use, the caller's included."""
        self.cache_bytes: int = checked_count("plan_cache_bytes", plan_cache_bytes, 0, "bytes")
        """Bytes that plans not in use may take."""
        self.max_bytes: int = _limit("max_bytes", max_bytes, "bytes")
        self.max_arena: int = _limit("max_arena", max_arena, "bytes")
        self.max_iterations: int = _limit("max_iterations", max_iterations, "iterations")
        """Bytes of all tensors and of each arena, and times that a WHILE runs its body, at most; 0 = no limit."""
        self.level: str | None = checked_level(level)
        self.cache_dir: str | None = _checked_path("cache_dir", cache_dir)
        """The level of instructions, and the folder of packed weights, empty for none; None: the environment's."""
        self.signature: str | None = signature
        """The signature whose subgraph is the main one; None: subgraph 0."""


_kept = functools.lru_cache(maxsize=16, typed=True)(Options)


def checked(**given: Any) -> Options:
    """The Options of these arguments, the same object for the same arguments: programs make their interpreters alike.
    Nobody changes it. Raises: InputError."""
    try:
        return _kept(**given)
    except TypeError:  # an argument has no hash, such as a dict of custom operators, or is refused
        return Options(**given)
