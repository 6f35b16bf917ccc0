"""Call: a call of a recording with the names of its arrays; and the options of its interpreter as plain values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._native.status import MAX_RANK, OPTIONS
from minilite.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.options import Options

Shape = tuple[int, ...]
_MOST = (1 << 31) - 1
"""The largest number that C takes."""
_NUMBER = re.compile("[0-9]{1,9}")
"""A tensor's number, as a key of JSON."""
CALLS = (
    "resize",
    "allocate",
    "set",
    "bind",
    "invoke",
    "reset_variables",
    "reset_resources",
    "close",
    "resource",
    "called_once",
    "set_state",
    "slice",
)
"""`set_state` restores what the interpreter keeps from run to run, `slice` runs between tensors (`until`, `since`).
Recordings by minilite 0.10 also have `resource` and `called_once`, with which it restored the state."""


class Call(NamedTuple):
    """A call with the names of its arrays, which are in the file."""

    call: str
    subgraph: int = 0
    """The root subgraph of the signature: 0 is the main one."""
    tensor: int = -1
    """The tensor that is resized, set or bound, or the number of a resource."""
    shape: Shape = ()
    """The shape of a resize or a resource."""
    array: str = ""
    """The array that is set or bound, or that has the bytes of a state or a resource; "" ends a binding."""
    kind: int = -1
    """The type of a resource."""
    inputs: Mapping[int, str] = {}
    """For an invoke, the inputs that were written through views or bound arrays, so that no call before it has their
    values. For a slice, all of its inputs."""
    outputs: Mapping[int, str] = {}
    """The results of an invoke or a slice; for a slice that failed, "" for each tensor it had to compute."""
    error: str = ""
    """The class of the exception, if the call failed."""
    text: str = ""
    """The message of the exception, if it is minilite's own."""

    def to_json(self) -> dict[str, Any]:
        """Returns the fields that differ from their defaults."""
        facts = {name: value for name, value in self._asdict().items() if value != self._field_defaults.get(name)}
        return facts | {
            key: {str(i): name for i, name in facts[key].items()} for key in ("inputs", "outputs") if key in facts
        }


def call_of(facts: Any) -> Call:
    """Returns the call of a row of the file. Raises: ValueError, which says what is wrong."""
    if not isinstance(facts, dict) or facts.get("call") not in CALLS:
        message = "a call that does not exist"
        raise ValueError(message)
    return Call(**{name: _field(name, value) for name, value in facts.items()})


def _field(name: str, value: Any) -> Any:
    """Returns the value of a field, checked against its type in the class. Raises: ValueError."""
    default = Call._field_defaults.get(name, "")
    if name not in Call._fields:
        message = f"a call with '{name}'"
        raise ValueError(message)
    if name in ("inputs", "outputs") and type(value) is dict:
        if all(_NUMBER.fullmatch(index) and type(array) is str for index, array in value.items()):
            return {int(index): array for index, array in value.items()}
    elif name == "shape" and type(value) is list:
        if len(value) <= MAX_RANK and all(type(size) is int and 0 <= size <= _MOST for size in value):
            return tuple(value)
    elif type(value) is type(default) and not (type(value) is int and abs(value) > _MOST):
        return value
    message = f"a call whose '{name}' is {shortened(repr(value))}"
    raise ValueError(message)


def keywords(options: Options) -> dict[str, Any]:
    """Returns the constructor's arguments for these options as plain values, without custom operators and level."""
    engine = options.engine
    in_place = "wide" if engine & OPTIONS["share_wide"] else "tflite" if engine & OPTIONS["share_tflite"] else "none"
    keep_all = bool(engine & OPTIONS["keep_all"])
    return {
        "num_threads": options.threads,
        "experimental_op_resolver_type": "BUILTIN_REF" if options.reference else "AUTO",
        "experimental_preserve_all_tensors": keep_all,
        "experimental_compress_quantization_zero_points": options.compress_zero_points,
        "experimental_disable_delegate_node_fusion": in_place == "wide" and not keep_all and not options.fuses,
        "planner": options.strategy,
        "in_place": in_place,
        "preserve_inputs": bool(engine & OPTIONS["keep_inputs"]),
        "reorder": options.reorder,
        "fast_convolutions": options.fast_convolutions,
        "plan_cache_bytes": options.cache_bytes,
        "max_bytes": options.max_bytes or None,
        "max_arena": options.max_arena or None,
        "signature": options.signature,
        "max_iterations": options.max_iterations or None,
    }
