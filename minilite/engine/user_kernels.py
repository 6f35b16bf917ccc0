"""Kernels compiled by the user: rows of csrc/kernel.h, given by their addresses, that run custom operators."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from minilite._native.kernels import KernelInfo, include_folder, kernel_at, kernel_types, pack_params
from minilite.errors import InputError, InputTypeError, ModelFormatError
from minilite.numeric import whole
from minilite.ops_shared.operator import OpNode

Params: TypeAlias = "Mapping[str, Any] | Callable[[OpNode], Mapping[str, Any]]"
"""A kernel's parameters by name, or a function that returns them for a node, from its `custom_options` for example."""


class UserKernel:
    """A kernel compiled by the user, to be passed as ``custom_ops={"Name": kernel}``; made by `kernel`."""

    __slots__ = ("_keep", "_params", "info")

    def __init__(self, info: KernelInfo, params: Params, keep: Any) -> None:
        self.info: KernelInfo = info
        self._params = params
        self._keep = keep

    def __repr__(self) -> str:
        types = ", ".join(f"'{types}'" for types, _ in kernel_types(self.info))
        return f"<C kernel {self.info.name!r} at {self.info.address:#x}: {types}>"

    def types(self) -> str:
        """The operand types it takes, for messages."""
        return ", ".join(types for types, runs in kernel_types(self.info) if runs)

    def params(self, node: OpNode, keep: list[Any]) -> bytes:
        """The bytes of its parameters for a node; arrays are added to `keep`. Raises: InputError, and whatever the
        function raises."""
        found = self._params(node) if callable(self._params) else self._params
        if not isinstance(found, Mapping):
            raise _unfit(node, f"the parameters came as {type(found).__name__}, must be a mapping by name")
        names = [field for field, _ in self.info.fields]
        if sorted(map(str, found)) != sorted(names):
            takes = f"takes the parameters {', '.join(names)}" if names else "takes no parameters"
            raise _unfit(node, f"kernel '{self.info.name}' {takes}, got {', '.join(map(str, found)) or 'none'}")
        packed = {field: _checked(node, field, kind, found[field]) for field, kind in self.info.fields}
        return pack_params(self.info, packed, keep)


def _unfit(node: OpNode, text: str) -> InputError:
    message = f"custom_ops['{node.op}']: {text}"
    return InputError(message, subgraph=node.subgraph, node=node.index, op=node.op)


_NUMBERS = {"i": "an int32", "q": "an int64", "f": "a float32", "d": "a float64"}


def _checked(node: OpNode, field: str, kind: str, value: Any) -> Any:
    """A parameter's value, ready to be packed. Raises: InputError."""
    if kind == "a":
        array = np.frombuffer(value, np.uint8) if isinstance(value, (bytes, bytearray)) else np.asarray(value)
        if array.dtype.kind not in "biufc":
            raise _unfit(
                node, f"parameter '{field}' is of type {type(value).__name__}, must be bytes or an array of numbers"
            )
        return array
    try:
        struct.pack(f"={kind}", value)
    except (struct.error, OverflowError, TypeError):
        raise _unfit(node, f"parameter '{field}' is {value!r}, must be {_NUMBERS[kind]}") from None
    return value


_LOWEST = 1 << 12
"""The lowest valid address."""


def kernel(address: int, params: Params | None = None, *, keep: Any = None) -> UserKernel:
    """A kernel compiled against `get_include()`, by the address of its ml_kernel row.

    `params` has the row's fields: numbers, and bytes or arrays for fields of kind `array`; or it is a function of the
    node, which can read them from its `custom_options`. `keep` is kept alive as long as the kernel is used; pass the
    library here if it would otherwise be unloaded. The code is trusted: its mistakes can end the process. See
    docs/custom_kernel.md. Raises: InputError for a row that was compiled against another version of kernel.h, or is
    incomplete.
    """
    try:
        place = whole("a kernel's address", address, 1 << 10)
    except InputTypeError:
        message = (
            f"a kernel's address is of type {type(address).__name__}, must be a number: ctypes.addressof of its row"
        )
        raise InputTypeError(message) from None
    if not callable(params) and not isinstance(params, Mapping) and params is not None:
        message = f"params is of type {type(params).__name__}, must map the kernel's fields to values, or be a function of the node"
        raise InputTypeError(message)
    if place and (not _LOWEST <= place < 2**64 or place % 8):
        message = f"{place} is not the address of a kernel row: ctypes.addressof(row) gives it"
        raise InputError(message)
    try:
        return UserKernel(kernel_at(place), {} if params is None else params, keep)
    except ModelFormatError as error:
        raise InputError(str(error)) from None


def get_include() -> str:
    """The folder of the headers that kernels are compiled against: ``cc -shared -fPIC -I... my_kernel.c``."""
    return include_folder()
