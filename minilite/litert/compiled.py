"""The model of a CompiledModel: lowered once, with signatures that run over buffers."""

from __future__ import annotations

import math
import operator
from itertools import combinations
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.engine.program import Program, keep_packed_weights
from minilite.engine.session import Session
from minilite.engine.tensor_arguments import check_strict, wanted_shape
from minilite.errors import ArenaError, InputError, InputRuntimeError, listed
from minilite.format.dtypes import numpy_type
from minilite.litert.tensor_buffer import UNKNOWN, HostMemory, type_name
from minilite.numeric import whole
from minilite.options import OpResolverType, Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite._native.plan import Plan
    from minilite._native.state import Shared
    from minilite.format.model import Array, Model, Subgraph, Tensor

    Shape = tuple[int, ...]
    _Named = Sequence[tuple[str, int]]
    """Names and tensors: not a mapping, because two of a model without signatures may have one name."""

NO_SIGNATURE = "<placeholder signature>"
"""LiteRT's name for the main subgraph of a model without signatures."""
HOST_MEMORY = 1
"""LiteRT's number for memory of the CPU."""


class Compiled:
    """A model lowered for the CPU: its signatures in the order of the file, with what they share.

    Raises: InputError, UnsupportedOpError."""

    accelerated: bool = True
    """True if no other accelerator was asked for."""

    def __init__(
        self, model: Model, *, num_threads: int | None = None, reference: bool = False, cache_dir: str | None = None
    ) -> None:
        if not model.subgraphs:
            message = "No subgraph in the model."
            raise InputRuntimeError(message)
        # A node may overwrite an input after its last reader if both are bound to one buffer, as for caches. Otherwise
        # inputs, which are in the caller's memory, are never overwritten.
        resolver = OpResolverType.BUILTIN_REF if reference else OpResolverType.AUTO
        self._wanted = Options(preserve_inputs=False, num_threads=num_threads, resolver=resolver)
        keep_packed_weights(model, cache_dir, "compiler_cache_dir")
        self._program = Program(model, {}, reference=reference, fuses=self._wanted.fuses)
        self._shared: Shared = self._program.shared()
        if self._wanted.threads > 1:
            self._shared.set_threads(self._wanted.threads)
        self.signatures: tuple[CompiledSignature, ...] = tuple(
            CompiledSignature(self, key, subgraph, inputs, outputs)
            for key, subgraph, inputs, outputs in _entries(self._program.model)
        )

    def session(self, subgraph: int) -> Session:
        """A subgraph with memory of its own."""
        wanted = self._wanted
        return Session(self._program, self._shared, subgraph, wanted.strategy, wanted.engine, wanted.cache_bytes)

    def subgraph(self, index: int) -> Subgraph:
        """The model's subgraph of that number."""
        return self._program.model.subgraphs[index]


def _entries(model: Model) -> list[tuple[str, int, _Named, _Named]]:
    """Key, subgraph, inputs and outputs of every signature that is not broken: names and tensors, in the subgraph's
    order."""
    if not model.signatures:
        graph = model.subgraphs[0]
        named = [[(graph.tensors[i].name, i) for i in tensors] for tensors in (graph.inputs, graph.outputs)]
        return [(NO_SIGNATURE, 0, named[0], named[1])]
    found = []
    for signature in (one for one in model.signatures if not one.broken):
        graph = model.subgraphs[signature.subgraph]
        inputs = _in_order(signature.inputs, graph.inputs)
        found.append((signature.key, signature.subgraph, inputs, _in_order(signature.outputs, graph.outputs)))
    return found


def _in_order(names: Mapping[str, int], tensors: Sequence[int]) -> _Named:
    place = {tensor: at for at, tensor in reversed(tuple(enumerate(tensors)))}
    return sorted(names.items(), key=lambda item: place.get(item[1], len(tensors)))


class CompiledSignature:
    """One signature: the requirements for its buffers, and runs over them.

    Tensors are bound to the buffers that were last given. Tensors that cannot be bound (constants, tensors whose shape
    depends on values, two over the same memory) are copied before or after each run."""

    def __init__(self, model: Compiled, key: str, subgraph: int, inputs: _Named, outputs: _Named) -> None:
        self.key: str = key
        self.inputs: tuple[str, ...] = tuple(name for name, _ in inputs)
        """Names."""
        self.outputs: tuple[str, ...] = tuple(name for name, _ in outputs)
        """Names."""
        self._in = tuple(index for _, index in inputs)
        self._out = tuple(index for _, index in outputs)
        self._model = model
        self._subgraph = subgraph
        self._tensors = model.subgraph(subgraph).tensors
        self._turn = RLock()
        self._made: Session | None = None
        self._planned: Plan | None = None
        self._given: list[HostMemory | None] = [None] * len(self._in)
        self._arrays: list[Array] = []
        """The memory of the buffers of the last run; empty if the next run has to check all buffers."""
        self._bound: set[int] = set()
        self._copied_in: list[tuple[int, HostMemory]] = []
        self._copied_out: list[tuple[int, HostMemory]] = []

    @property
    def session(self) -> Session:
        """The subgraph that it runs."""
        with self._turn:
            if self._made is None:
                self._made = self._model.session(self._subgraph)
            return self._made

    @property
    def _plan(self) -> Plan:
        """The plan for the current shapes of inputs, without regard to buffers. Raises: ShapeError, ArenaError."""
        if self._planned is None:
            try:
                self._planned = self.session.plan_for({})
            except ArenaError:  # the buffers of the last run are too small for the new shapes
                if not self._bound:
                    raise
                self._let_go()
                self._planned = self.session.plan_for({})
        return self._planned

    def _let_go(self) -> None:
        """Unbinds all tensors. Raises: ShapeError, ArenaError."""
        self.session.bind(dict.fromkeys(self._bound))
        self._bound = set()
        self._arrays = []
        self.session.allocate()

    # Requirements for buffers -----------------------------------------------------------------------------------------

    def tensor(self, position: int, *, output: bool) -> Tensor:
        """The tensor of an input or an output by its position in the signature. Raises: InputError."""
        tensors, what = (self._out, "Output") if output else (self._in, "Input")
        position = whole(f"{what.lower()}_index", position)
        if not 0 <= position < len(tensors):
            message = f"{what} index out of range: {position}, signature '{self.key}' has {len(tensors)} of them"
            raise InputRuntimeError(message)
        return self._tensors[tensors[position]]

    def position(self, name: str, *, output: bool) -> int:
        """The position of an input or an output by its name. Raises: InputError."""
        names, what = (self.outputs, "Output") if output else (self.inputs, "Input")
        if name in names:
            self.check_names(output=output)
            return names.index(name)
        message = f"{what} tensor not found: '{name}', signature '{self.key}' has {listed(names)}"
        raise InputRuntimeError(message)

    def check_names(self, *, output: bool) -> None:
        """Refuses names that do not tell which input or output is meant. Raises: InputError."""
        names, what = (self.outputs, "outputs") if output else (self.inputs, "inputs")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            message = (
                f"signature '{self.key}' has {names.count(twice)} {what} called '{twice}', names must differ here: "
                "run_by_index takes buffers in order"
            )
            raise InputRuntimeError(message, tensors=[twice])

    def details(self, *, output: bool) -> dict[str, dict[str, Any]]:
        """Name, tensor number, type and current shape of all inputs or outputs. Raises: InputError."""
        self.check_names(output=output)
        names, tensors = (self.outputs, self._out) if output else (self.inputs, self._in)
        found = {}
        for name, index in zip(names, tensors, strict=True):
            tensor = self._tensors[index]
            shape = list(self._shape(index))
            found[name] = {"name": tensor.name, "index": index, "dtype": type_name(tensor.type), "shape": shape}
        return found

    def requirements(self, position: int, *, output: bool) -> dict[str, Any]:
        """The size in bytes of a buffer for an input or an output, and its type, CPU memory. Raises: InputError."""
        tensor = self.tensor(position, output=output)
        held = type_name(tensor.type) != UNKNOWN
        size = math.prod(self._shape(tensor.index)) * np.dtype(numpy_type(tensor.type)).itemsize if held else 0
        return {"buffer_size": size, "supported_types": [HOST_MEMORY]}

    def memory(self, position: int, *, output: bool) -> HostMemory:
        """New memory for an input or an output with its current shape. Raises: InputError."""
        tensor = self.tensor(position, output=output)
        name = type_name(tensor.type)
        if name == UNKNOWN:
            message = (
                f"{'output' if output else 'input'} '{tensor.name}' is of {tensor.type.name}, which no buffer holds: "
                "Interpreter.run takes and gives its values"
            )
            raise InputRuntimeError(message, tensors=[tensor.name])
        return HostMemory.of_tensor(name, self._shape(tensor.index))

    def _shape(self, index: int) -> Shape:
        """A tensor's shape for the current shapes of inputs; the file's if it depends on values."""
        with self._turn:
            shape = self._plan.shape(index)
        return shape if shape is not None else self._tensors[index].shape

    def resize(self, position: int, dims: Sequence[int], *, strict: bool) -> None:
        """Requests another shape for an input. Raises: InputError."""
        number = self.tensor(position, output=False).index
        tensor, shape = wanted_shape(self._tensors, number, dims)
        if 0 in shape:
            message = f"Dimensions must be positive: input '{tensor.name}' cannot take the shape {shape}"
            raise InputRuntimeError(message, tensors=[tensor.name], shapes=[shape])
        if strict:
            check_strict(tensor, shape)
        with self._turn:
            self._resize(number, shape)

    def _resize(self, index: int, shape: Shape) -> None:
        self._planned = None  # before anything changes, as an interrupt may come after any line
        self._arrays = []
        self.session.resize(index, shape)

    # Running ----------------------------------------------------------------------------------------------------------

    def run(self, inputs: Sequence[HostMemory | None], outputs: Sequence[HostMemory]) -> None:
        """Runs over these buffers; an input that is None keeps its last buffer. Raises: InputError, and the errors of
        runs."""
        for what, tensors, buffers in (("Input", self._in, inputs), ("Output", self._out, outputs)):
            if len(tensors) != len(buffers):
                message = (
                    f"{what} buffer size mismatch: number of {what.lower()}s:{len(tensors)} vs buffers:{len(buffers)}"
                )
                raise InputRuntimeError(message)
        with self._turn:
            given = [new if new is not None else old for new, old in zip(inputs, self._given, strict=True)]
            memories = [memory for memory in (*given, *outputs) if memory is not None]
            arrays = [memory.array for memory in memories]
            if len(arrays) != len(self._arrays) or not all(map(operator.is_, arrays, self._arrays)):
                self._attach(given, outputs)
                self._given, self._arrays = given, arrays
            session = self.session
            for index, memory in self._copied_in:
                shape = session.shape(index)
                session.set(index, memory.array.reshape(-1)[: math.prod(shape)].reshape(shape))
            session.invoke()
            for index, memory in self._copied_out:
                memory.store(session.get(index))

    def _attach(self, given: Sequence[HostMemory | None], outputs: Sequence[HostMemory]) -> None:
        """Binds the tensors to other buffers. Raises: InputError, ShapeError, ArenaError."""
        self._arrays = []
        inputs = [memory for memory in given if memory is not None]
        if len(inputs) < len(given):
            missing = [name for name, memory in zip(self.inputs, given, strict=True) if memory is None]
            message = f"no buffer was ever given for the input {listed(missing)} of signature '{self.key}'"
            raise InputRuntimeError(message, tensors=missing)
        for index, memory in zip(self._in, inputs, strict=True):
            self._fit(index, memory)
        for index, memory in zip(self._out, outputs, strict=True):
            self._check_type(index, memory)
        pairs = [*zip(self._in, inputs, strict=True), *zip(self._out, outputs, strict=True)]
        apart = [at for at, (index, _) in enumerate(pairs) if self._may_lie_apart(at, index)]
        shared = {b for a, b in combinations(apart, 2) if np.may_share_memory(pairs[a][1].array, pairs[b][1].array)}
        try:
            self._bind(pairs, apart)
        except InputError:
            if not shared:
                raise
            self._bind(pairs, [at for at in apart if at not in shared])

    def _may_lie_apart(self, at: int, index: int) -> bool:
        """True if a tensor may be bound to a buffer: it is computed, its shape is known, and it has no other buffer."""
        planned = self._plan.tensor(index)
        computed = planned.storage in ("arena", "input", "bound") and not planned.dynamic
        return computed and index not in (*self._in, *self._out)[:at]

    def _bind(self, pairs: Sequence[tuple[int, HostMemory]], apart: Sequence[int]) -> None:
        """Binds tensors to these buffers; tensors of other buffers are copied."""
        arrays: dict[int, Array | None] = dict.fromkeys(self._bound)
        arrays.update({pairs[at][0]: pairs[at][1].array for at in apart})
        self._bound |= set(arrays)  # what may be bound, if an interrupt comes before the end
        self.session.bind(arrays)
        self.session.allocate()
        self._bound = {pairs[at][0] for at in apart}
        copied = [at for at in range(len(pairs)) if at not in apart]
        self._copied_in = [pairs[at] for at in copied if at < len(self._in)]
        self._copied_out = [pairs[at] for at in copied if at >= len(self._in)]

    def _fit(self, index: int, memory: HostMemory) -> None:
        """Resizes an input to the shape of its buffer, if the model leaves that open. Raises: InputError."""
        self._check_type(index, memory)
        shape = self.session.shape(index)
        flat = not memory.owned and memory.array.size == math.prod(shape)
        if memory.shape == shape or flat:
            return
        tensor = self._tensors[index]
        if not _open_to(tensor, memory.shape):
            message = (
                f"Failed to register input tensor buffer: Cannot auto-resize tensor {tensor.name}: it has the shape {shape}, "
                f"its buffer {memory.shape}, and the model leaves open {tensor.shape_signature or 'no dimension'}"
            )
            raise InputRuntimeError(message, tensors=[tensor.name], shapes=[shape, memory.shape])
        self._resize(index, memory.shape)

    def _check_type(self, index: int, memory: HostMemory) -> None:
        tensor = self._tensors[index]
        if memory.dtype != type_name(tensor.type):
            message = f"tensor {index} ('{tensor.name}') is of {type_name(tensor.type)}, its buffer of {memory.dtype}"
            raise InputRuntimeError(message, tensors=[tensor.name])


def _open_to(tensor: Tensor, shape: Shape) -> bool:
    """True if the file's signature allows a shape for a tensor."""
    signature = tensor.shape_signature or ()
    fits = len(signature) == len(shape) and all(
        wanted > 0 if fixed == -1 else wanted == fixed for fixed, wanted in zip(signature, shape, strict=True)
    )
    return fits and -1 in signature
