"""The seam: the only package that touches ffi and lib. Statuses become exceptions, lifetimes are tied together here."""

from typing import TYPE_CHECKING, Any

from minilite._native.graph import Graph, Lowering, Store, choose_level
from minilite._native.state import (
    BindingRows,
    Place,
    Shared,
    State,
    binding_rows,
    debug_build,
    packed_dims,
)
from minilite._native.status import (
    BUSY,
    MAX_RANK,
    NEEDS_DENSE,
    NEEDS_VALUES,
    NODE_IN_PLACE,
    NODE_PYTHON,
    NODE_TFLITE_SHARES,
    NODE_VIEW,
    OPTIONS,
    TENSOR_OF_FILE,
    TENSOR_SPARSE,
    TENSOR_VARIABLE,
)

if TYPE_CHECKING:
    from minilite._native.call import Call
    from minilite._native.kernels import (
        KernelInfo,
        OperatorRow,
        find_kernel,
        find_row,
        include_folder,
        kernel_at,
        kernel_names,
        kernel_types,
        level_names,
        match_kernel,
        operator_rows,
        pack_params,
    )
    from minilite._native.memory import (
        MAX_BYTES,
        UNPLACED,
        Placement,
        Refused,
        memory_lower_bound,
        plan_memory,
        strategies,
    )
    from minilite._native.plan import Plan, TensorState
    from minilite._native.planner import FOREVER, PLACE_ARENA, PLACE_NONE, PLACE_PERSISTENT, Arena, Planner
    from minilite._native.usage import Usage
else:
    _LATER = {
        "call": ("Call",),
        "kernels": (
            "KernelInfo",
            "OperatorRow",
            "find_kernel",
            "find_row",
            "include_folder",
            "kernel_at",
            "kernel_names",
            "kernel_types",
            "level_names",
            "match_kernel",
            "operator_rows",
            "pack_params",
        ),
        "memory": ("MAX_BYTES", "UNPLACED", "Placement", "Refused", "memory_lower_bound", "plan_memory", "strategies"),
        "plan": ("Plan", "TensorState"),
        "usage": ("Usage",),
        "planner": ("FOREVER", "PLACE_ARENA", "PLACE_NONE", "PLACE_PERSISTENT", "Arena", "Planner"),
    }

    def __getattr__(name: str) -> Any:
        """What running a model does not need is imported when it is asked for."""
        for module, names in _LATER.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(f"{__name__}.{module}"), name)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


__all__ = [
    "BUSY",
    "FOREVER",
    "MAX_BYTES",
    "MAX_RANK",
    "NEEDS_DENSE",
    "NEEDS_VALUES",
    "NODE_IN_PLACE",
    "NODE_PYTHON",
    "NODE_TFLITE_SHARES",
    "NODE_VIEW",
    "OPTIONS",
    "PLACE_ARENA",
    "PLACE_NONE",
    "PLACE_PERSISTENT",
    "TENSOR_OF_FILE",
    "TENSOR_SPARSE",
    "TENSOR_VARIABLE",
    "UNPLACED",
    "Arena",
    "BindingRows",
    "Call",
    "Graph",
    "KernelInfo",
    "Lowering",
    "OperatorRow",
    "Place",
    "Placement",
    "Plan",
    "Planner",
    "Refused",
    "Shared",
    "State",
    "Store",
    "TensorState",
    "Usage",
    "binding_rows",
    "choose_level",
    "debug_build",
    "find_kernel",
    "find_row",
    "include_folder",
    "kernel_at",
    "kernel_names",
    "kernel_types",
    "level_names",
    "match_kernel",
    "memory_lower_bound",
    "operator_rows",
    "pack_params",
    "packed_dims",
    "plan_memory",
    "strategies",
]
