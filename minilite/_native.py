"""The seam: the only module that touches ffi and lib. Statuses become exceptions, lifetimes are tied together here."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from minilite._core import ffi, lib
from minilite.errors import ArenaError, KernelError, MiniliteError, ModelFormatError, ShapeError, StateError, coordinates

Array = Any
Shape = tuple[int, ...]

_CLASSES: dict[int, type[MiniliteError]] = {
    lib.ML_SHAPE_ERROR: ShapeError,
    lib.ML_ARENA_ERROR: ArenaError,
    lib.ML_KERNEL_ERROR: KernelError,
    lib.ML_CANCELLED: KernelError,
    lib.ML_PYTHON_ERROR: KernelError,
    lib.ML_BUSY: StateError,
    lib.ML_VIEW_HELD: StateError,
    lib.ML_NOT_READY: StateError,
    lib.ML_GRAPH_ERROR: ModelFormatError,
}
MAX_RANK: int = lib.ML_MAX_RANK
OPTIONS: dict[str, int] = {
    "keep_inputs": lib.ML_KEEP_INPUTS,
    "keep_all": lib.ML_KEEP_ALL,
    "share_tflite": lib.ML_SHARE_TFLITE,
    "share_wide": lib.ML_SHARE_WIDE,
    "free_unread": lib.ML_FREE_UNREAD,
    "keep_smaller": lib.ML_KEEP_SMALLER,
}
NODE_PYTHON: int = lib.ML_NODE_PYTHON
NODE_VIEW: int = lib.ML_NODE_VIEW
NODE_TFLITE_SHARES: int = lib.ML_NODE_TFLITE_SHARES
NODE_IN_PLACE: int = lib.ML_NODE_IN_PLACE
STORAGES = ("none", "constant", "folded", "arena", "persistent", "resource", "bound", "slot")
NODE_STATUSES = ("waits", "runs", "folded", "view")


class Names(Protocol):
    """Who can name a node for an error line."""

    def node_label(self, subgraph: int, node: int) -> tuple[str, str]:
        """The operator and the name of the first output of a node."""


def _raise(error: Any, names: Names | None) -> None:
    """The exception an ml_error stands for."""
    kind = _CLASSES.get(error.status, MiniliteError)
    text = ffi.string(error.text).decode(errors="replace")
    if error.node < 0 or names is None:
        raise kind(text)
    op, name = names.node_label(error.subgraph, error.node)
    head = coordinates(error.subgraph, error.node, op, name)
    raise kind(f"{head}: {text}", subgraph=error.subgraph, node=error.node, op=op, tensors=[name] if name else [])


def _fresh_error() -> Any:
    return ffi.new("ml_error *", {"node": -1, "subgraph": -1, "tensor": -1})


# Graphs ---------------------------------------------------------------------------------------------------------------


class KernelInfo(NamedTuple):
    """What packing needs of a C kernel: its number, its parameters' names and their struct layout."""

    number: int
    fields: tuple[tuple[str, str], ...]
    layout: struct.Struct
    has_eval: bool


_LAYOUT = {"i": "i", "q": "q", "f": "f", "d": "d", "a": "Pq"}


def find_kernel(name: str) -> KernelInfo | None:
    """The C kernel of that name, or None."""
    number = lib.ml_kernel_find(name.encode())
    if number < 0:
        return None
    info = lib.ml_kernel_get_info(number)
    fields = tuple(
        (ffi.string(info.fields[i].name).decode(), info.fields[i].kind.decode()) for i in range(info.n_fields)
    )
    # "0P" pads to the alignment of the largest member, as C does.
    layout = struct.Struct("@" + "".join(_LAYOUT[kind] for _, kind in fields))
    return KernelInfo(number, fields, layout, bool(info.has_eval))


def pack_params(kernel: KernelInfo, name: str, params: Mapping[str, Any], keep: list[Any]) -> bytes:
    """The bytes of a kernel's parameter struct; arrays are appended to `keep`, which must outlive the graph."""
    if len(params) != len(kernel.fields):
        expected = ", ".join(field for field, _ in kernel.fields)
        message = f"kernel {name} takes the parameters ({expected}), got ({', '.join(params)})"
        raise TypeError(message)
    values: list[Any] = []
    for field, kind in kernel.fields:
        value = params[field]
        if kind == "a":
            array = np.ascontiguousarray(value) if value is not None else None
            keep.append(array)
            values += (array.ctypes.data, array.nbytes) if array is not None and array.size else (0, 0)
        else:
            values.append(value)
    return kernel.layout.pack(*values)


class TensorDef(NamedTuple):
    """A tensor as ml_graph takes it."""

    data: Array | None
    type: int
    shape: Shape
    variable: bool


class NodeDef(NamedTuple):
    """A node as ml_graph takes it."""

    kernel: int
    flags: int
    index: int
    handler: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    subgraphs: tuple[int, ...]
    params: bytes


class SubgraphDef(NamedTuple):
    """A subgraph as ml_graph takes it."""

    tensors: Sequence[TensorDef]
    nodes: Sequence[NodeDef]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


_TENSOR = struct.Struct("@Pqii" + "i" * (1 + lib.ML_MAX_RANK) + "i")
_NODE = struct.Struct("@iiiiiiiiiiq")
_SUBGRAPH = struct.Struct("@6i")
_PAD = [(0,) * n for n in range(MAX_RANK + 1)]


class Graph:
    """Owns an ml_graph and whatever its constants and packed weights lie in."""

    def __init__(
        self, subgraphs: Sequence[SubgraphDef], resources: int, root: int, keep: Iterable[Any], names: Names
    ) -> None:
        tensors, nodes, heads = bytearray(), bytearray(), bytearray()
        io: list[int] = []
        params = bytearray()
        for subgraph in subgraphs:
            inputs_start = len(io)
            io += subgraph.inputs
            outputs_start = len(io)
            io += subgraph.outputs
            heads += _SUBGRAPH.pack(
                len(subgraph.tensors), len(subgraph.nodes),
                inputs_start, len(subgraph.inputs), outputs_start, len(subgraph.outputs),
            )  # fmt: skip
            for data, kind, shape, variable in subgraph.tensors:
                address, size = (data.__array_interface__["data"][0], data.nbytes) if data is not None else (0, 0)
                rank = len(shape)
                tensors += _TENSOR.pack(address, size, kind, variable, rank, *shape, *_PAD[MAX_RANK - rank], 0)
            for node in subgraph.nodes:
                called = (*node.subgraphs, -1, -1)[:2]
                nodes += _NODE.pack(
                    node.kernel, node.flags, node.index, node.handler,
                    len(io), len(node.inputs), len(node.outputs), *called, 0, len(params),
                )  # fmt: skip
                io += node.inputs
                io += node.outputs
                params += node.params
                params += bytes(-len(params) % 16)
        assert _TENSOR.size == ffi.sizeof("ml_tensor_def")
        assert _NODE.size == ffi.sizeof("ml_node_def")
        io_array = ffi.new("int32_t[]", io or 1)
        definition = ffi.new(
            "ml_graph_def *",
            {
                "subgraphs": ffi.cast("ml_subgraph_def *", ffi.from_buffer(heads)),
                "tensors": ffi.cast("ml_tensor_def *", ffi.from_buffer(tensors)),
                "nodes": ffi.cast("ml_node_def *", ffi.from_buffer(nodes)),
                "io": io_array,
                "params": ffi.cast("uint8_t *", ffi.from_buffer(params)),
                "params_bytes": len(params),
                "n_io": len(io),
                "n_subgraphs": len(subgraphs),
                "n_resources": resources,
                "root": root,
            },
        )
        out = ffi.new("ml_graph **")
        error = _fresh_error()
        if lib.ml_graph_new(definition, out, error):
            _raise(error, names)
        self.pointer = ffi.gc(out[0], lib.ml_graph_free)
        self.names = names
        self._keep = [keep, subgraphs]


# Calls from C -----------------------------------------------------------------------------------------------------------


class Call:
    """A node under way, as a hook sees it: arrays over its tensors, and a way to give outputs their shapes."""

    __slots__ = ("_call", "handler")

    def __init__(self, call: Any) -> None:
        self._call = call
        self.handler: int = call.handler

    def _array(self, tensor: int, dtype: Any, *, writable: bool) -> Array:
        entry = self._call.tensors[tensor]
        shape = tuple(entry.shape.dims[0 : entry.shape.rank])
        if entry.bytes == 0:
            return np.zeros(shape, dtype)
        array = np.frombuffer(ffi.buffer(self._call.data[tensor], entry.bytes), dtype).reshape(shape)
        array.flags.writeable = writable
        return array

    def input_array(self, position: int, dtype: Any) -> Array:
        """A read-only view of input `position`; None when it is absent."""
        tensor = self._call.inputs[position]
        return self._array(tensor, dtype, writable=False) if tensor >= 0 else None

    def input_shape(self, position: int) -> Shape | None:
        """The shape of input `position`; None when it is absent."""
        tensor = self._call.inputs[position]
        if tensor < 0:
            return None
        shape = self._call.tensors[tensor].shape
        return tuple(shape.dims[0 : shape.rank])

    def output_array(self, position: int, dtype: Any) -> Array:
        """A writable view of output `position`."""
        return self._array(self._call.outputs[position], dtype, writable=True)

    def output_shape(self, position: int) -> Shape | None:
        """The shape of output `position`, None while it is not known."""
        entry = self._call.tensors[self._call.outputs[position]]
        return tuple(entry.shape.dims[0 : entry.shape.rank]) if entry.shaped else None

    def set_output_shapes(self, shapes: Sequence[Shape]) -> int:
        """Gives every output its shape and settles their places; a status other than 0 is to be returned at once."""
        for position, shape in enumerate(shapes):
            packed = ffi.new("ml_shape *")
            write_shape(packed, shape)
            if status := lib.ml_set_run_shape(self._call, position, packed):
                return int(status)
        return int(lib.ml_settle(self._call))


def write_shape(target: Any, shape: Shape) -> None:
    """Fills an ml_shape."""
    if len(shape) > MAX_RANK:
        message = f"shape {shape} has {len(shape)} dimensions: at most {MAX_RANK}"
        raise ShapeError(message)
    target.rank = len(shape)
    for i, dim in enumerate(shape):
        target.dims[i] = dim


class Hooks(Protocol):
    """What C asks of Python during prepare and run; a hook that returns non-zero has failed inside C."""

    exception: BaseException | None

    def eval(self, call: Call) -> int:
        """Computes a node."""

    def shape(self, call: Call) -> Sequence[Shape]:
        """The output shapes of a custom node."""


def _keep_exception(exception: BaseException | None, traceback: Any) -> None:
    """cffi calls this in the frame of the hook that raised."""
    owner = traceback.tb_frame.f_locals["owner"]
    ffi.from_handle(owner).exception = exception


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_eval(owner: Any, call: Any) -> int:
    return int(ffi.from_handle(owner).eval(Call(call)))


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_shape(owner: Any, call: Any, outputs: Any) -> int:
    for position, shape in enumerate(ffi.from_handle(owner).shape(Call(call))):
        write_shape(outputs[position], tuple(shape))
    return 0


@ffi.def_extern(error=lib.ML_PYTHON_ERROR, onerror=lambda _t, value, tb: _keep_exception(value, tb))  # type: ignore[untyped-decorator]
def ml_hook_poll(owner: Any) -> int:
    # Entering Python is all it takes: a pending signal's handler runs here, and what it raises stops the run.
    return 0 if owner else 1


# States and plans -------------------------------------------------------------------------------------------------------


class TensorState(NamedTuple):
    """A tensor in a plan: its shape (None while unknown), bytes, storage class and offset in its frame's region."""

    shape: Shape | None
    bytes: int
    storage: str
    offset: int
    root: int
    dynamic: bool


class Plan:
    """A view of an ml_plan; keeps what it belongs to alive."""

    def __init__(self, pointer: Any, owner: Any) -> None:
        self._pointer = pointer
        self._owner = owner

    @property
    def arena_bytes(self) -> int:
        """The arena's high-water mark in bytes."""
        return int(lib.ml_plan_arena_bytes(self._pointer))

    @property
    def lower_bound(self) -> int:
        """The largest sum of bytes that are live at once."""
        return int(lib.ml_plan_lower_bound(self._pointer))

    def frames(self) -> list[tuple[int, int, int]]:
        """(subgraph, calling frame, calling node) of every frame."""
        parent, node = ffi.new("int32_t *"), ffi.new("int32_t *")
        return [
            (int(lib.ml_plan_frame_subgraph(self._pointer, frame, parent, node)), int(parent[0]), int(node[0]))
            for frame in range(lib.ml_plan_frames(self._pointer))
        ]

    def tensor(self, index: int, frame: int = 0) -> TensorState:
        """What the plan says of one tensor."""
        t = lib.ml_plan_tensor(self._pointer, frame, index)
        shape = tuple(t.shape.dims[0 : t.shape.rank]) if t.shaped else None
        return TensorState(shape, t.bytes, STORAGES[t.storage], t.offset, t.root, bool(t.dynamic))

    def shape(self, index: int) -> Shape | None:
        """The shape of a tensor of the main frame, None while unknown."""
        t = lib.ml_plan_tensor(self._pointer, 0, index)
        return tuple(t.shape.dims[0 : t.shape.rank]) if t.shaped else None

    def node_status(self, node: int, frame: int = 0) -> str:
        """What becomes of the node at this position: waits, runs, folded, view."""
        return NODE_STATUSES[lib.ml_plan_node_status(self._pointer, frame, node)]

    def records(self, frame: int = 0) -> list[tuple[int, int, int, int, int]]:
        """Usage records of a frame: (tensor, size in bytes, first node, last node, offset), both ends inclusive."""
        room = lib.ml_plan_records(self._pointer, frame, ffi.NULL, 0)
        records = ffi.new("ml_record[]", room or 1)
        lib.ml_plan_records(self._pointer, frame, records, room)
        return [(r.tensor, r.size, r.first, r.last, r.offset) for r in records[0:room]]


class State:
    """Owns an ml_state: one interpreter's memory and plans."""

    def __init__(self, graph: Graph, strategy: str, options: int, hooks: Hooks) -> None:
        self._graph = graph
        self._hooks = hooks
        self._handle = ffi.new_handle(hooks)
        self._error = _fresh_error()
        table = {
            "owner": self._handle,
            "eval": lib.ml_hook_eval,
            "shape": lib.ml_hook_shape,
            "poll": lib.ml_hook_poll,
        }
        out = ffi.new("ml_state **")
        if lib.ml_state_new(graph.pointer, strategy.encode(), options, ffi.new("ml_hooks *", table), out, self._error):
            self._fail()
        self.pointer = ffi.gc(out[0], lib.ml_state_free)

    def _fail(self) -> None:
        """Raises what the last call left: the hook's own exception, else the error's class."""
        error, self._error = self._error, _fresh_error()
        exception, self._hooks.exception = self._hooks.exception, None
        if exception is not None:
            raise exception
        _raise(error, self._graph.names)

    def run(self) -> Callable[[], None]:
        """The steady path: a function that runs the plan in force, one call into C."""
        run, pointer = lib.ml_state_run, self.pointer

        def invoke() -> None:
            if run(pointer, self._error):
                self._fail()

        return invoke

    def _check(self, status: int) -> None:
        if status:
            self._fail()

    def prepare(self, spec: Sequence[int]) -> None:
        """Puts the plan for these rows of [tensor, rank, dims...] in force."""
        self._check(lib.ml_state_prepare(self.pointer, ffi.new("int32_t[]", spec), len(spec), self._error))

    def plan_for(self, spec: Sequence[int]) -> Plan:
        """The plan for these rows, not put in force."""
        out = ffi.new("ml_plan **")
        self._check(lib.ml_state_plan_for(self.pointer, ffi.new("int32_t[]", spec), len(spec), out, self._error))
        return Plan(ffi.gc(out[0], lib.ml_plan_free), self)

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        pointer = lib.ml_state_plan(self.pointer)
        return Plan(pointer, self) if pointer else None

    def cancel(self) -> None:
        """Stops the run under way at its next node; any thread may call it."""
        lib.ml_state_cancel(self.pointer)

    def pin(self, pinned: bool) -> None:
        """Says whether views of the arena are alive."""
        lib.ml_state_pin(self.pointer, pinned)

    @property
    def running(self) -> bool:
        """Whether a call is under way."""
        return bool(lib.ml_state_is_running(self.pointer))

    def trim(self) -> None:
        """Gives back memory that the plan in force does not need."""
        self._check(lib.ml_state_trim(self.pointer, self._error))

    def release_memory(self) -> None:
        """Frees the arena; the plan stays."""
        self._check(lib.ml_state_release_memory(self.pointer, self._error))

    def acquire_memory(self) -> None:
        """Takes the arena again for the plan in force."""
        self._check(lib.ml_state_acquire_memory(self.pointer, self._error))

    def reset_variables(self) -> None:
        """Zeroes variable tensors, forgets resource variables."""
        lib.ml_state_reset_variables(self.pointer)

    def bind(self, tensor: int, array: Array | None) -> None:
        """Puts the caller's array in a tensor's place from the next prepare on; None ends it. The caller keeps it alive."""
        address = ffi.cast("void *", array.ctypes.data) if array is not None else ffi.NULL
        size = array.nbytes if array is not None else 0
        self._check(lib.ml_state_bind(self.pointer, tensor, address, size, self._error))

    @property
    def generation(self) -> int:
        """Changes whenever a pointer or a shape does."""
        return int(lib.ml_state_generation(self.pointer))

    @property
    def arena_capacity(self) -> int:
        """Bytes of memory the arena holds."""
        return int(lib.ml_state_arena_capacity(self.pointer))

    def counters(self) -> dict[str, int]:
        """What was counted since the interpreter was made."""
        c = lib.ml_state_counters(self.pointer)
        names = (
            "invokes", "plans", "plan_hits", "suffix_plans", "nodes_prepared", "arena_moves", "resolves",
        )  # fmt: skip
        return {name: int(getattr(c, name)) for name in names}

    def address(self, tensor: int, frame: int = 0) -> int:
        """The address of a tensor's bytes, 0 when it has none."""
        return int(ffi.cast("uintptr_t", lib.ml_state_data(self.pointer, frame, tensor)))

    def array(self, tensor: int, shape: Shape, dtype: Any, nbytes: int, frame: int = 0) -> Array:
        """A writable array over a tensor's bytes; valid until `generation` changes."""
        if nbytes == 0:
            return np.zeros(shape, dtype)
        data = lib.ml_state_data(self.pointer, frame, tensor)
        return np.frombuffer(ffi.buffer(data, nbytes), dtype).reshape(shape)
