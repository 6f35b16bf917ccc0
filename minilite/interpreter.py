"""Interpreter: the class of LiteRT, with the same calls, and what minilite adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from minilite import details, errors, options
from minilite.engine import tensor_arguments
from minilite.engine.engine import Engine
from minilite.engine.place import checked_tensor, early_values
from minilite.engine.signatures import find_signature, in_order
from minilite.errors import MiniliteError
from minilite.late import Later
from minilite.litert import metrics
from minilite.options import Delegate, OpResolverType, load_delegate
from minilite.signature import SignatureRunner

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import NoReturn

    from minilite import displays
    from minilite._native.cancel import Cancel
    from minilite._native.plan import Plan
    from minilite._native.usage import Usage
    from minilite._native.workspace import Workspace
    from minilite.details import NodeDetails, TensorDetails
    from minilite.engine import async_run, float_values, slices
    from minilite.engine.model_plan import ModelPlan
    from minilite.engine.sizes import Axis, Fit
    from minilite.engine.states import ModelState
    from minilite.engine.tensor_arguments import Dims, Shapes, TensorKey
    from minilite.format.model import Array, Model
    from minilite.litert.wrapper import Wrapper
    from minilite.profiling import profile as profiles
    from minilite.recording import recorder
    from minilite.recording.recorder import Recorder

    Shape = tuple[int, ...]
else:
    async_run = Later("minilite.engine.async_run")
    slices = Later("minilite.engine.slices")
    float_values = Later("minilite.engine.float_values")
    displays = Later("minilite.displays")
    recorder = Later("minilite.recording.recorder")
    profiles = Later("minilite.profiling.profile")

_Self = TypeVar("_Self", bound="Interpreter")  # typing.Self came with Python 3.11


class Interpreter:
    """Runs a .tflite model: from a path, a model's bytes, or a Model.

    Parameters up to `experimental_force_delegate_node_profiling` are LiteRT's; those about delegates are accepted and
    have no effect, for there are none. Ours: `custom_ops` maps the names of custom operators to kernels
    (`minilite.kernel`) or to functions ``f(node, *arrays) -> array or tuple of arrays`` (`node` has `custom_options`,
    `inputs`, `outputs`; an attribute ``shape(node, *shapes)`` makes their shapes known early); `planner` names a
    planning strategy; `in_place` is "wide", "tflite" or "none"; `preserve_inputs=False` lets the arena reuse graph
    inputs after their last reader; `reorder=True` looks for an execution order with a lower peak, by a search of
    bounded work: on a PC half a second at most; `keep_pages=False` gives the arena's pages to the system when the
    interpreter ends, where the process else keeps up to 64 MiB for its next arenas; `winograd=False` keeps weights of
    3 x 3, 1 x 3 and 3 x 1 convolutions of bytes small, where they else take up to 4 MiB, or the size of the file, in a
    larger form of fewer multiplications, with the same results; `fast_convolutions=True` does the like for floats,
    without a limit to what their weights take (4 times the bytes), and rounds more: errors were within 8 eps (2^-23) of
    the sum over channels of the largest abs(x) that a tile of 4 x 4 outputs sees times the sum of the filter's abs(w),
    which is measured on usual data, not proven, and NaN spreads within a tile; `load` is "map" or "copy";
    `plan_cache_bytes` bounds what kept plans take, tables included; `max_bytes` (a number, or a text such as "2MB")
    what tensors take: sizes that need more are refused (None: 1 GiB, or 64 times the bytes of the file if that is more,
    until an input is resized); `max_arena` likewise the arena: parts of the model run patch by patch until it fits;
    `max_iterations` how often a WHILE runs its body before the run fails; `level` names the level of instructions, of
    those that ``minilite --version`` lists (None: the one in MINILITE_ISA, else the best of this machine); `cache_dir`
    names a folder in which packed weights are kept, for all processes (None: the one in MINILITE_CACHE_DIR, if it is
    set; "": none); `signature` is the key of the signature whose subgraph is the main one here, in place of subgraph 0;
    `workspace` is memory that several interpreters use in turn (`minilite.Workspace`); clones have memory of their own.

    Wherever a method takes a tensor's number, it also takes its name or its details.

    Raises: ModelNotFoundError, ModelFormatError, InputError.
    """

    def __init__(
        self,
        model_path: options.Path | options.Content | Model | None = None,
        model_content: options.Content | None = None,
        experimental_delegates: Sequence[Any] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        experimental_disable_delegate_clustering: bool = False,  # noqa: ARG002
        experimental_default_delegate_latest_features: bool = False,  # noqa: ARG002
        experimental_compress_quantization_zero_points: bool = False,
        experimental_disable_delegate_node_fusion: bool = False,
        experimental_force_delegate_node_profiling: bool = False,  # noqa: ARG002
        *,
        custom_ops: Mapping[str, options.CustomOp] | None = None,
        planner: options.Planner = "default",
        in_place: options.InPlace | None = None,
        preserve_inputs: bool = True,
        reorder: bool = False,
        keep_pages: bool = True,
        winograd: bool = True,
        fast_convolutions: bool = False,
        load: options.Load = "map",
        plan_cache_bytes: int = options.PLAN_CACHE_BYTES,
        max_bytes: int | str | None = None,
        max_arena: int | str | None = None,
        max_iterations: int | None = None,
        level: str | None = None,
        cache_dir: options.Path | None = None,
        signature: str | None = None,
        workspace: Workspace | None = None,
        **unknown: NoReturn,
    ) -> None:
        options.check_unknown(unknown, type(self).__init__)
        options.check_delegates(experimental_delegates)
        wanted = options.checked(
            custom_ops=custom_ops, resolver=experimental_op_resolver_type, planner=planner, in_place=in_place,
            preserve_inputs=preserve_inputs, preserve_all=experimental_preserve_all_tensors,
            keep_nodes=experimental_disable_delegate_node_fusion, reorder=reorder, keep_pages=keep_pages,
            winograd=winograd, fast_convolutions=fast_convolutions, load=load,
            compress_zero_points=experimental_compress_quantization_zero_points, num_threads=num_threads,
            plan_cache_bytes=plan_cache_bytes, max_bytes=max_bytes, max_arena=max_arena,
            max_iterations=max_iterations, level=level, cache_dir=cache_dir, signature=signature,
        )  # fmt: skip
        shared = options.checked_workspace(workspace)
        self._begin(Engine(options.read(model_path, model_content, load), wanted))
        self._engine.workspace = shared
        self._metrics.increase_counter_interpreter_creation()

    def _begin(self, engine: Engine) -> None:
        self.model: Model = engine.model
        self._engine: Engine = engine

    # LiteRT's surface -------------------------------------------------------------------------------------------------

    def allocate_tensors(self) -> None:
        """Makes the plan for the requested shapes and takes memory. If that is refused, the last good shapes stay in
        use.

        Raises: UnsupportedOpError, ShapeError, ArenaError, StateError.
        """
        session = self._engine.main
        if session is None:
            session = self._engine.session()
        session.allocate()

    def invoke(self, *, cancel: Cancel | None = None) -> None:
        """Runs the model once. The run ends early when the token `cancel` is set.

        Raises: StateError, KernelError, InputError, or what a Python operator raised."""
        if cancel is not None:
            return self._engine.session().invoke(cancel)
        session = self._engine.main
        if session is None:
            message = "Invoke called on model that is not ready: allocate_tensors() has to come first"
            raise errors.StateError(message)
        run = session.invoke_unchecked  # bound first: CPython 3.11 looks up a method call of an attribute more slowly
        return run()

    def cancel(self) -> None:
        """Makes the current run stop with a KernelError; to be called from another thread. It has no effect if nothing
        runs; `minilite.Cancel` also ends runs that have not begun."""
        shared = self._engine.shared
        if shared is not None:
            shared.cancel()

    def reset_all_variables(self) -> None:
        """Sets variable tensors to zero. As in LiteRT, resource variables stay, and CALL_ONCE does not run again."""
        for session in tuple(self._engine.sessions.values()):  # other threads may begin one meanwhile
            session.reset_variables()

    def resize_tensor_input(self, input_index: TensorKey, tensor_size: Dims, strict: bool = False) -> None:
        """Requests a new shape for a tensor; `allocate_tensors` puts it into use.

        With `strict`, only dimensions that the file's signature leaves open may change. Raises: InputError (also
        RuntimeError).
        """
        session = self._engine.main
        if session is not None and not strict and session.ask(input_index, tensor_size):
            return
        number = (
            input_index
            if type(input_index) is int
            else tensor_arguments.tensor_number(self._engine.subgraph(), input_index)
        )
        tensor, shape = tensor_arguments.wanted_shape(self._engine.graph.tensors, number, tensor_size)
        if strict:
            tensor_arguments.check_strict(tensor, shape, tuple(self._engine.details(tensor.index)["shape"].tolist()))
        if session is None:
            self._engine.early_shapes[tensor.index] = shape
        else:
            session.resize(tensor.index, shape)

    def set_tensor(self, tensor_index: TensorKey, value: Any) -> None:
        """Copies an array into a tensor. Raises: InputError, StateError."""
        number = (
            tensor_index
            if type(tensor_index) is int
            else tensor_arguments.tensor_number(self._engine.subgraph(), tensor_index)
        )
        session = self._engine.main
        if session is None:
            message = "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            raise errors.StateError(message)
        session.set(number, value)

    def get_tensor(self, tensor_index: TensorKey, subgraph_index: int | None = None) -> Array:
        """An owned copy of a tensor's values; None is the main subgraph. Raises: InputError, StateError."""
        other = subgraph_index is not None
        session = (
            self._engine.sessions.get(tensor_arguments.subgraph_number(subgraph_index)) if other else self._engine.main
        )
        if session is not None and type(tensor_index) is int:
            return session.get(tensor_index)
        number = tensor_arguments.tensor_number(self._engine.subgraph(subgraph_index), tensor_index)
        if session is not None:
            return session.get(number)
        return early_values(self._engine.subgraph(subgraph_index), number)

    def tensor(self, tensor_index: TensorKey) -> Callable[[], Array]:
        """A function that returns a live, writable view of a tensor. While a view lives, memory does not move."""
        number = (
            tensor_index
            if type(tensor_index) is int
            else tensor_arguments.tensor_number(self._engine.subgraph(), tensor_index)
        )
        session = self._engine.main
        if session is not None:
            return session.view(number)
        checked_tensor(self._engine.subgraph(), number)
        return lambda: self._engine.session().view(number)()

    def get_input_details(self) -> list[TensorDetails]:
        """Details of every input: name, index, shape, shape_signature, dtype, quantization, ..."""
        return [self._engine.details(index) for index in self._engine.graph.inputs]

    def get_output_details(self) -> list[TensorDetails]:
        """Details of every output."""
        return [self._engine.details(index) for index in self._engine.graph.outputs]

    def get_tensor_details(self, subgraph_index: int | None = None) -> list[TensorDetails]:
        """Details of every tensor of a subgraph; None is the main one. Raises: InputError."""
        if subgraph_index is None:
            subgraph_index = self._engine.root
        number = tensor_arguments.subgraph_number(subgraph_index, len(self.model.subgraphs))
        return [self._engine.details(t.index, number) for t in self.model.subgraphs[number].tensors]

    def _get_tensor_details(self, tensor_index: TensorKey, subgraph_index: int | None = None) -> TensorDetails:
        return self._engine.details(
            tensor_arguments.tensor_number(self._engine.subgraph(subgraph_index), tensor_index), subgraph_index
        )

    @property
    def experimental_compress_quantization_zero_points(self) -> bool:
        """True if details give only one zero point if all are equal."""
        return bool(self._engine.options.compress_zero_points)

    def get_ops_details(self) -> list[NodeDetails]:
        """Every node of the main subgraph: index, op_name, inputs, outputs, operand_types, result_types."""
        return details.node_details(self._engine.graph)

    def num_subgraphs(self) -> int:
        """The number of the model's subgraphs."""
        return len(self.model.subgraphs)

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Argument names by signature."""
        return {s.key: {"inputs": sorted(s.inputs), "outputs": sorted(s.outputs)} for s in self.model.signatures}

    def get_full_signature_list(self) -> dict[str, dict[str, dict[str, int]]]:
        """Argument names and tensor numbers by signature."""
        signatures = map(in_order, self.model.signatures)
        return {s.key: {"inputs": dict(s.inputs), "outputs": dict(s.outputs)} for s in signatures}

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """Returns the runner of a signature; None means the only one. Raises: InputError."""
        return SignatureRunner(self, find_signature(self.model.signatures, signature_key).key)

    # Calls of arrays, memory, counts ----------------------------------------------------------------------------------

    def run(
        self,
        *inputs: Any,
        out: Mapping[str, Array] | None = None,
        cancel: Cancel | None = None,
        until: TensorKey | Sequence[TensorKey] | None = None,
        taps: Sequence[TensorKey] = (),
        since: Mapping[str, Any] | Mapping[int, Any] | None = None,
        **unknown: NoReturn,
    ) -> dict[str, Array]:
        """Runs the model on arrays and returns the outputs by name: ``run(array)``, ``run(first, second)`` or
        ``run({name: array})``. Tensors of one name go by their numbers.

        Inputs are resized to the shapes of the arrays if they differ. A large array is read where it is, if numpy owns
        its memory, and kept until the input has another value: see docs/binding.md. Outputs are owned copies; those
        named in `out` are written to the arrays there, which must have the right dtypes and shapes. The token `cancel`
        ends the run when it is set. `until` gives these tensors instead of the outputs, `taps` gives more beside them;
        `since` maps tensors to arrays that replace what computes them. Then only the nodes between run, with plans of
        their own.
        Raises: InputError for names, counts and arrays that do not fit; ShapeError for shapes the model refuses.
        """
        if unknown:
            tensor_arguments.refuse_keywords(unknown)
        if until is not None or taps or since is not None:
            return slices.run(self._engine, inputs, until, taps, since, out, cancel)
        call = self._engine.call or self._engine.array_call()
        if out is None:
            plain = call.plain(call.named(inputs))
            if plain is not None:
                return call.run(plain, cancel=cancel)
        graph = self._engine.graph
        return call.run(
            tensor_arguments.input_arrays(graph, inputs),
            tensor_arguments.output_arrays(graph, call.outputs, out),
            cancel,
        )

    def run_real(self, *inputs: Any, cancel: Cancel | None = None) -> dict[str, Array]:
        """Like `run`, with real numbers: quantized inputs take floats, and quantized outputs become floats.

        Scales and zero points are those of the tensors; values beyond a type's range are clamped. Raises: as `run`."""

        graph = self._engine.graph
        given = tensor_arguments.inputs_by_number(graph, inputs)
        quantized = {number: float_values.quantized(graph.tensors[number], value) for number, value in given.items()}
        found = self.run(quantized, cancel=cancel)
        outputs = self._engine.array_call().outputs
        return {name: float_values.floats(graph.tensors[outputs[name]], array) for name, array in found.items()}

    async def run_async(self, *inputs: Any) -> dict[str, Array]:
        """Like `run`, in a thread of this interpreter's: the event loop goes on meanwhile.

        A cancelled task ends its run, within 200 ms in built-in nodes, and is over once the run is; a run that has not
        begun never begins. Several tasks of one interpreter run one after the other; clones run at the same time.
        Raises: as `run`."""
        return await async_run.worker_of(self._engine).run(self.run, *inputs)

    def get_state(self) -> ModelState:
        """A snapshot of all that the model keeps from run to run: variables, resource variables, hash tables.

        It is a value: it can be compared, pickled, and put into any interpreter of the same model. Raises: StateError
        while busy."""
        from minilite.engine import states

        return states.snapshot(self._engine)

    def set_state(self, state: ModelState) -> None:
        """Restores a snapshot; state that it does not have is reset. A refused one changes nothing.

        Raises: InputError for a snapshot of another model; StateError while busy."""
        from minilite.engine import states

        states.restore(self._engine, state)

    def bind_tensor(self, tensor: TensorKey, array: Array | None) -> None:
        """Makes a caller's array the memory of a tensor, without copies, from the next `allocate_tensors` on.

        The array must have the tensor's dtype, be C-contiguous, aligned to its elements and not smaller than the
        tensor; for a graph input it may be read-only. It is kept until None ends the binding. See docs/binding.md.
        Raises: InputError.
        """
        self._engine.session().bind({tensor_arguments.tensor_number(self._engine.subgraph(), tensor): array})

    def recording(self, path: str | os.PathLike[str]) -> Recorder:
        """``with interpreter.recording("r.npz"):`` writes every call in the block with its arrays to one file, for
        `minilite.replay`. Raises: StateError during another recording, OSError."""
        return recorder.Recorder(self._engine, path)

    def reset_resources(self) -> None:
        """Forgets resource variables, and lets CALL_ONCE run again. Raises: StateError."""
        self._engine.reset_resources()

    def trim(self) -> None:
        """Gives back cached plans, memory that the plan in use does not need, and pages that the process keeps for its
        next arenas. Raises: StateError while a view is held."""
        for session in tuple(self._engine.sessions.values()):  # other threads may begin one meanwhile
            session.trim()

    @property
    def counters(self) -> dict[str, int]:
        """Counts since the interpreter was made: invokes, plans, plan_hits, nodes_prepared, capacity_misses, ..."""
        return self._engine.session().state.counters()

    @property
    def usage(self) -> Usage:
        """The bytes that tensors and plans take now, by kind, for all signatures together. Raises: StateError while
        busy."""
        from minilite._native.usage import Usage

        total = Usage()
        for session in tuple(self._engine.sessions.values()):
            total = total.total(session.state.usage())
        return total

    @property
    def arena_bytes(self) -> int:
        """Arena bytes of the plan in use, with capacities of dynamic tensors. Raises: StateError while busy."""
        session = self._engine.main
        return session.state.usage().arena_bytes if session is not None else 0

    def profile(self, runs: int = 50, *, trace: bool = False) -> profiles.Profile:
        """The time of every node: medians over `runs` runs on the inputs as they are, after a run that warms up.

        `trace` keeps what each thread did when, for `Profile.write_trace`. Raises: StateError, KernelError, InputError.
        """
        return profiles.profile(self._engine.session(), runs, self._engine.options.threads, trace=trace)

    # Plans and pictures -----------------------------------------------------------------------------------------------

    def plan_for(self, shapes: Shapes | None = None) -> ModelPlan:
        """The plan for these shapes (by a tensor's name or number), without using it.

        Offsets depend on the sizes that were planned before, by this interpreter or a clone; values never do. Raises:
        ShapeError, ArenaError, UnsupportedOpError, InputError.
        """
        graph = self._engine.graph
        wanted = tensor_arguments.wanted_shapes(graph, shapes)
        return self._with_names(self._engine.session().plan_for(wanted))

    def fit(
        self, budget: int | str, axis: Axis | None = None, *, shapes: Shapes | None = None, step: int | None = None
    ) -> Fit:
        """The largest batch, length, or side of images (`axis`) whose arena takes at most `budget` bytes ("8MB").

        Found by at most 40 calls of `plan_for`, from `shapes` or the present ones on. Without an axis it is one that
        the file leaves open. Sizes are `step` apart; without it, as near as the model accepts. See docs/memory.md.
        Raises: InputError, UnsupportedOpError, ShapeError.
        """
        from minilite.engine import sizes

        graph = self._engine.graph
        given = tensor_arguments.wanted_shapes(graph, shapes)
        present = {i: given.get(i, tuple(self._engine.details(i)["shape"].tolist())) for i in graph.inputs}
        return sizes.fit(self._engine.session().plan_for, graph, present, budget, axis, step)

    @property
    def plan(self) -> ModelPlan | None:
        """The plan in use; None before allocate_tensors. It prints as a table, and as a picture in notebooks."""
        session = self._engine.main
        plan = session.plan if session is not None else None
        return self._with_names(plan) if plan is not None else None

    @property
    def memory(self) -> ModelPlan | None:
        """A copy of the plan in use with what runs have learnt: shapes and places of dynamic tensors. None before
        allocation."""
        session = self._engine.main
        memory = session.memory if session is not None else None
        return self._with_names(memory) if memory is not None else None

    def _with_names(self, plan: Plan) -> ModelPlan:
        from minilite.engine.model_plan import ModelPlan

        return ModelPlan(plan, self.model)

    def __repr__(self) -> str:
        """A line, and a table of inputs and outputs."""
        return displays.interpreter_text(self)

    def _repr_html_(self) -> str:
        """HTML for notebooks: inputs, outputs, memory."""
        return displays.interpreter_html(self)

    # Copies -----------------------------------------------------------------------------------------------------------

    def clone(self: _Self) -> _Self:  # noqa: PYI019
        """Another interpreter of the same class and the same lowered model: with its own memory and shapes; weights are
        shared."""
        return self._over(self._engine.clone())

    def _over(self: _Self, engine: Engine) -> _Self:  # noqa: PYI019
        """The same object, with what a subclass has added to it, over another engine."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._begin(engine)
        return other

    def __copy__(self: _Self) -> _Self:  # noqa: PYI019
        return self.__deepcopy__({})

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:  # noqa: PYI019
        """Another interpreter of the same model: its shapes, variables and resources are copied, weights are shared."""
        from minilite.engine import pickling

        other = self.clone()
        pickling.restore(other._engine, pickling.state_of(self._engine))
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """The model's bytes, options, shapes, variables and resources; values of inputs and outputs are not kept."""
        from minilite.engine import pickling

        return object.__new__, (type(self),), pickling.taken_apart(self._engine)

    def __setstate__(self, state: Any) -> None:
        from minilite.engine import pickling

        self._begin(pickling.put_together(*state))

    def __enter__(self: _Self) -> _Self:  # noqa: PYI019
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Gives back all memory; the interpreter can be allocated again."""
        self.close()

    def close(self) -> None:
        """Gives back all memory except the model's. Raises: StateError while a view is held, or during a call on
        another thread."""
        for session in tuple(self._engine.sessions.values()):
            session.close()

    # Names that begin with an underscore in LiteRT's class, with its results ------------------------------------------

    @property
    def _interpreter(self) -> Wrapper:
        from minilite.litert.wrapper import Wrapper

        return Wrapper(self, self._engine)

    def _get_ops_details(self) -> list[NodeDetails]:
        return self.get_ops_details()

    def _get_op_details(self, op_index: int) -> NodeDetails:
        from minilite.litert import wrapper

        return wrapper.node_at(self._get_ops_details(), op_index)

    def _get_full_signature_list(self) -> dict[str, dict[str, dict[str, int]]]:
        return self.get_full_signature_list()

    @property
    def _signature_defs(self) -> dict[str, dict[str, list[str]]]:
        return self.get_signature_list()

    @property
    def _delegates(self) -> list[Any]:
        return []

    def _safe_to_run(self) -> bool:
        """True if no array over the arena is alive."""
        return not any(session.held() for session in tuple(self._engine.sessions.values()))

    def _ensure_safe(self) -> None:
        """Raises: StateError (also RuntimeError) while an array over the arena is alive."""
        if not self._safe_to_run():
            from minilite.litert import wrapper

            raise errors.StateError(wrapper.VIEW_HELD)

    _custom_op_registerers = _delegates  # neither of them exists

    @property
    def _metrics(self) -> metrics.TFLiteMetrics:
        return metrics.TFLiteMetrics()

    def _native_handle(self) -> int:
        from minilite.litert import wrapper

        return wrapper.no_handle()


class InterpreterWithCustomOps(Interpreter):
    """LiteRT's class for operators registered from C++, which minilite cannot load: `custom_ops` takes Python
    functions.

    Raises: InputError if registerers are given.
    """

    def __init__(self, custom_op_registerers: Sequence[Any] | None = None, **kwargs: Any) -> None:
        if custom_op_registerers:
            from minilite.litert import registerers

            registerers.refuse_registerers(custom_op_registerers)
        super().__init__(**kwargs)


__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "MiniliteError",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]
