"""Interpreter: LiteRT's class, call for call, and minilite's additions."""

from __future__ import annotations

import enum
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from minilite._native import Plan
from minilite.arguments import check_planner, check_strict, check_threads, read, wanted_shape
from minilite.details import FileShapes, node_details, tensor_details
from minilite.engine.graph import Program
from minilite.engine.session import Session
from minilite.errors import InputError, MiniliteError, StateError
from minilite.format.model import Array, Model, Signature, Tensor
from minilite.signature import SignatureRunner

Shape = tuple[int, ...]


class OpResolverType(enum.Enum):
    """Which kernels run: BUILTIN_REF selects the numpy references, all others the C kernels."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


_IN_PLACE = {"none": {}, "tflite": {"share_tflite": True}, "wide": {"share_wide": True, "keep_smaller": True}}


class Interpreter:
    """Runs a .tflite model: from a path, bytes, or a Model.

    Parameters up to `experimental_force_delegate_node_profiling` are LiteRT's; those about delegates are accepted and
    have no effect, for there are none. Ours: `custom_ops` maps the names of custom operators to functions
    ``f(node, *arrays) -> array or tuple of arrays`` (an attribute ``shape(node, *shapes)`` makes their shapes known
    early); `planner` names a planning strategy; `in_place` is "wide", "tflite" or "none"; `preserve_inputs=False` lets
    the arena reuse graph inputs after their last reader; `reorder=True` looks for an execution order with a lower peak;
    `load` is "map" or "copy".

    Raises: ModelNotFoundError, ModelFormatError, InputError.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | Model | None = None,
        model_content: bytes | bytearray | memoryview | None = None,
        experimental_delegates: Sequence[Any] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: Any = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        experimental_disable_delegate_clustering: bool = False,  # noqa: ARG002
        experimental_default_delegate_latest_features: bool = False,  # noqa: ARG002
        experimental_compress_quantization_zero_points: bool = False,
        experimental_disable_delegate_node_fusion: bool = False,  # noqa: ARG002
        experimental_force_delegate_node_profiling: bool = False,  # noqa: ARG002
        *,
        custom_ops: Mapping[str, Callable[..., Any]] | None = None,
        planner: str = "default",
        in_place: str | None = None,
        preserve_inputs: bool = True,
        reorder: bool = False,
        load: Literal["map", "copy"] = "map",
    ) -> None:
        if experimental_delegates:
            message = f"delegates are not supported, got {len(experimental_delegates)}"
            raise InputError(message)
        check_threads(num_threads)
        check_planner(planner)
        self.model = read(model_path, model_content, load)
        if not self.model.subgraphs:
            message = "No subgraph in the model."
            raise InputError(message)
        check_planner(planner)
        sharing = in_place if in_place is not None else "tflite" if planner == "tflite" else "wide"
        if sharing not in _IN_PLACE:
            message = f"in_place is {sharing!r}, must be one of {', '.join(_IN_PLACE)}"
            raise InputError(message)
        self.experimental_compress_quantization_zero_points = experimental_compress_quantization_zero_points
        self._reference = getattr(experimental_op_resolver_type, "name", None) == "BUILTIN_REF"
        self._custom_ops = dict(custom_ops or {})
        self._strategy = planner
        self._reorder = reorder
        self._options: dict[str, bool] = {
            **_IN_PLACE[sharing],
            "keep_inputs": preserve_inputs,
            "keep_all": experimental_preserve_all_tensors,
            "free_unread": planner != "tflite",
        }
        self._program: Program | None = None
        self._sessions: dict[int, Session] = {}
        self._early_shapes: dict[int, Shape] = {}

    def __repr__(self) -> str:
        graph = self.model.subgraphs[0]
        session = self._sessions.get(0)
        memory = f", arena {session.plan.arena_bytes} bytes" if session and session.plan else ", not allocated"
        return f"<Interpreter: {len(graph.nodes)} nodes, {len(graph.tensors)} tensors{memory}>"

    def clone(self) -> Interpreter:
        """Another interpreter over the same lowered model: own memory and shapes, shared weights."""
        other = object.__new__(Interpreter)
        other.__dict__.update(self.__dict__)
        other._sessions = {}
        other._early_shapes = {}
        other._program = self._lowered()
        return other

    # Sessions -----------------------------------------------------------------------------------------------------------

    def _lowered(self) -> Program:
        if self._program is None:
            self._program = Program(self.model, self._custom_ops, reference=self._reference, reorder=self._reorder)
        return self._program

    def _session(self, subgraph: int = 0) -> Session:
        session = self._sessions.get(subgraph)
        if session is None:
            if not 0 <= subgraph < len(self.model.subgraphs):
                message = (
                    f"Invalid subgraph index {subgraph} exceeds max subgraph index {len(self.model.subgraphs) - 1}"
                )
                raise InputError(message)
            session = self._sessions[subgraph] = Session(self._lowered(), subgraph, self._strategy, self._options)
            if subgraph == 0:
                for index, shape in self._early_shapes.items():
                    session.resize(index, shape)
                self._early_shapes = {}
        return session

    # LiteRT's surface ---------------------------------------------------------------------------------------------------

    def allocate_tensors(self) -> None:
        """Plans and takes memory for the shapes asked for. If they are refused, the last good shapes stay in force.

        Raises: UnsupportedOpError, ShapeError, ArenaError, StateError.
        """
        self._session().allocate()

    def invoke(self) -> None:
        """Runs the model once. Raises: StateError, KernelError, or what a Python operator raised."""
        session = self._sessions.get(0)
        if session is None or not session.ready:
            message = "Invoke called on model that is not ready: allocate_tensors() has to come first"
            raise StateError(message)
        session.invoke_unchecked()

    def cancel(self) -> None:
        """Makes the run under way stop with a KernelError; for other threads."""
        for session in self._sessions.values():
            session.state.cancel()

    def reset_all_variables(self) -> None:
        """Zeroes variable tensors; resource variables become unassigned."""
        for session in self._sessions.values():
            session.state.reset_variables()

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int], strict: bool = False) -> None:
        """Asks for another shape of a tensor; `allocate_tensors` puts it in force.

        `strict` only lets dimensions change that the file's signature leaves open. Raises: InputError (also RuntimeError).
        """
        tensor, shape = wanted_shape(self.model.subgraphs[0].tensors, input_index, tensor_size)
        if strict:
            check_strict(tensor, shape)
        session = self._sessions.get(0)
        if session is None:
            self._early_shapes[tensor.index] = shape
        else:
            session.resize(tensor.index, shape)

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copies an array into a tensor. Raises: InputError, StateError."""
        session = self._sessions.get(0)
        if session is None:
            message = "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            raise StateError(message)
        session.set(operator.index(tensor_index), value)

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> Array:
        """An owned copy of a tensor's values. Raises: InputError, StateError."""
        session = self._sessions.get(subgraph_index)
        if session is not None:
            return session.get(operator.index(tensor_index))
        tensor = self._tensor(operator.index(tensor_index), subgraph_index)
        if tensor.data is None:
            message = "Tensor data is null. Run allocate_tensors() first"
            raise StateError(message, tensors=[tensor.name])
        return tensor.data.copy()

    def tensor(self, tensor_index: int) -> Callable[[], Array]:
        """A function that gives a live, writable view of a tensor's memory. While a view lives, memory does not move."""
        self._tensor(operator.index(tensor_index), 0)
        session = self._sessions.get(0)
        if session is not None:
            return session.view(operator.index(tensor_index))
        return lambda: self._session().view(operator.index(tensor_index))()

    def _tensor(self, index: int, subgraph: int) -> Tensor:
        if not 0 <= subgraph < len(self.model.subgraphs):
            message = f"Invalid subgraph index {subgraph} exceeds max subgraph index {len(self.model.subgraphs) - 1}"
            raise InputError(message)
        tensors = self.model.subgraphs[subgraph].tensors
        if not 0 <= index < len(tensors):
            message = f"Invalid tensor index {index} exceeds max tensor index {len(tensors) - 1}"
            raise InputError(message)
        return tensors[index]

    def _details(self, index: int, subgraph: int = 0) -> dict[str, Any]:
        tensor = self._tensor(index, subgraph)
        session = self._sessions.get(subgraph)
        details = (
            tensor_details(session, tensor)
            if session
            else tensor_details(FileShapes(self.model.subgraphs[subgraph]), tensor)
        )
        early = self._early_shapes.get(index) if subgraph == 0 and session is None else None
        if early is not None:
            details["shape"] = np.array(early, np.int32)
        return details

    def get_input_details(self) -> list[dict[str, Any]]:
        """Details of every input: name, index, shape, shape_signature, dtype, quantization, ..."""
        return [self._details(index) for index in self.model.subgraphs[0].inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Details of every output."""
        return [self._details(index) for index in self.model.subgraphs[0].outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[dict[str, Any]]:
        """Details of every tensor of a subgraph."""
        if not 0 <= subgraph_index < len(self.model.subgraphs):
            self._tensor(0, subgraph_index)
        return [self._details(t.index, subgraph_index) for t in self.model.subgraphs[subgraph_index].tensors]

    def _get_tensor_details(self, tensor_index: int, subgraph_index: int = 0) -> dict[str, Any]:
        return self._details(tensor_index, subgraph_index)

    def get_ops_details(self) -> list[dict[str, Any]]:
        """Every node of the main subgraph: index, op_name, inputs, outputs, operand_types, result_types."""
        return node_details(self.model.subgraphs[0])

    _get_ops_details = get_ops_details

    def num_subgraphs(self) -> int:
        """How many subgraphs the model has."""
        return len(self.model.subgraphs)

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Argument names by signature."""
        return {s.key: {"inputs": sorted(s.inputs), "outputs": sorted(s.outputs)} for s in self.model.signatures}

    def get_full_signature_list(self) -> dict[str, dict[str, dict[str, int]]]:
        """Argument names and tensor numbers by signature."""
        return {s.key: {"inputs": dict(s.inputs), "outputs": dict(s.outputs)} for s in self.model.signatures}

    _get_full_signature_list = get_full_signature_list

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """The runner of a signature; None stands for the only one. Raises: InputError."""
        signatures = self.model.signatures
        if signature_key is None:
            if len(signatures) != 1:
                message = (
                    f"SignatureDef signature_key is None and model has {len(signatures)} Signatures. "
                    "None is only allowed when the model has 1 SignatureDef"
                )
                raise InputError(message)
            return self._runner(signatures[0])
        for signature in signatures:
            if signature.key == signature_key:
                return self._runner(signature)
        names = ", ".join(s.key for s in signatures) or "none"
        message = f'Invalid signature_key provided: "{signature_key}". The model has {names}'
        raise InputError(message)

    def _runner(self, signature: Signature) -> SignatureRunner:
        return SignatureRunner(
            signature,
            self._session(signature.subgraph),
            lambda session, index: tensor_details(session, session.tensor(index)),
        )

    # Our additions ------------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Runs on arrays by input name, resizing to their shapes where they differ; outputs by name, owned copies.

        Raises: InputError for unknown or missing names; ShapeError for shapes the model refuses.
        """
        graph = self.model.subgraphs[0]
        numbers = {graph.tensors[i].name: i for i in graph.inputs}
        if set(inputs) != set(numbers):
            message = f"got inputs {sorted(inputs)}, the model takes {sorted(numbers)}"
            raise InputError(message)
        arrays = {numbers[name]: np.asarray(value) for name, value in inputs.items()}
        for index, array in arrays.items():
            self.resize_tensor_input(index, array.shape)
        self.allocate_tensors()
        for index, array in arrays.items():
            self.set_tensor(index, array)
        self.invoke()
        return {graph.tensors[i].name: self.get_tensor(i) for i in graph.outputs}

    def _numbered(self, shapes: Mapping[str | int, Sequence[int]]) -> dict[int, Shape]:
        graph = self.model.subgraphs[0]
        numbers = {graph.tensors[i].name: i for i in graph.inputs}
        found: dict[int, Shape] = {}
        for key, shape in shapes.items():
            if isinstance(key, str) and key not in numbers:
                message = f"there is no input '{key}', the model takes {', '.join(sorted(numbers))}"
                raise InputError(message)
            tensor, wanted = wanted_shape(
                self.model.subgraphs[0].tensors, numbers[key] if isinstance(key, str) else key, shape
            )
            found[tensor.index] = wanted
        return found

    def bind_tensor(self, tensor: int | str, array: Array | None) -> None:
        """Puts a tensor (by number or name) into a numpy array of the caller's, without copies, from the next `allocate_tensors` on.

        The array has the tensor's dtype, is C-contiguous, aligned to its elements and not smaller than the tensor; it may
        be read-only for a graph input. It is kept alive until None ends the binding. See docs/binding.md.
        Raises: InputError.
        """
        self._session().bind(self._tensor_number(tensor), array)

    def _tensor_number(self, tensor: int | str) -> int:
        if not isinstance(tensor, str):
            return int(tensor)
        numbers = [t.index for t in self.model.subgraphs[0].tensors if t.name == tensor]
        if len(numbers) != 1:
            message = f"there are {len(numbers)} tensors called '{tensor}', must be 1: give its number"
            raise InputError(message)
        return numbers[0]

    def plan_for(self, shapes: Mapping[str | int, Sequence[int]] | None = None) -> Plan:
        """The plan for these input shapes (by name or tensor number), without putting it in force.

        Raises: ShapeError, ArenaError, UnsupportedOpError, InputError.
        """
        return self._session().plan_for(self._numbered(shapes or {}))

    @property
    def plan(self) -> Plan | None:
        """The plan in force; None before allocate_tensors."""
        session = self._sessions.get(0)
        return session.plan if session is not None else None

    def trim(self) -> None:
        """Gives back memory: cached plans, and what the arena holds beyond the plan in force.

        Raises: StateError while a view of the arena is held.
        """
        for session in self._sessions.values():
            session.state.trim()

    @property
    def counters(self) -> dict[str, int]:
        """Counts since the interpreter was made: invokes, plans, plan_hits, suffix_plans, nodes_prepared, ..."""
        return self._session().state.counters()

    @property
    def arena_bytes(self) -> int:
        """Bytes of the plan in force; 0 before allocate_tensors."""
        plan = self.plan
        return plan.arena_bytes if plan is not None else 0


InterpreterWithCustomOps = Interpreter


class Delegate:
    """A delegate: there are none. Raises: ValueError."""

    def __init__(self, library: str, options: Mapping[str, str] | None = None) -> None:  # noqa: ARG002
        message = f"delegates are not supported, got '{library}'"
        raise InputError(message)


def load_delegate(library: str, options: Mapping[str, str] | None = None) -> Delegate:
    """Raises ValueError, on which clients fall back to the CPU."""
    return Delegate(library, options)


__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "MiniliteError",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]
