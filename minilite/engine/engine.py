"""Engine: what an Interpreter works with: the model, its options, its Program, a Session per subgraph in use.

Other rooms are given an Engine instead of an Interpreter (`engine_of`), and use no private name of the latter.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any

from minilite import details, errors
from minilite.engine import array_call, tensor_arguments
from minilite.engine.place import checked_tensor
from minilite.engine.program import Program, keep_packed_weights
from minilite.engine.session import Session
from minilite.engine.signatures import find_signature

if TYPE_CHECKING:
    from minilite._native.state import Shared
    from minilite._native.workspace import Workspace
    from minilite.details import Description, TensorDetails
    from minilite.engine.array_call import ArrayCall
    from minilite.engine.session import Listener
    from minilite.engine.slices import Slice
    from minilite.format.model import Model, Subgraph

    Shape = tuple[int, ...]


def engine_of(interpreter: Any) -> Engine:
    """The Engine of an Interpreter."""
    engine: Engine = interpreter._engine
    return engine


class Engine:
    """A model as one interpreter runs it. Whatever is made at first use is made once, by whichever thread comes
    first."""

    def __init__(self, model: Model, options: Any, program: Program | None = None, *, root: int | None = None) -> None:
        """`options` are the checked `Options` of the constructor; `root` is the number of the main subgraph (None: that
        of the options' signature, else 0).

        Raises: InputError for a model without subgraphs or without that signature, or a folder that is refused."""
        if not model.subgraphs:
            message = "No subgraph in the model."
            raise errors.InputError(message)
        self.model: Model = model
        self.options: Any = options
        if root is None:
            key = options.signature
            root = find_signature(model.signatures, key).subgraph if key is not None else 0
        keep_packed_weights(model, options.cache_dir)
        self.root: int = root
        """The number of the main subgraph: of which the interpreter speaks where no other is named."""
        self.making: Any = RLock()
        self.workspace: Workspace | None = None
        """The memory that its sessions use in turn with those of other interpreters; clones have memory of their own.
        """
        self.shared: Shared | None = None
        """The objects that sessions share; None before the first session."""
        self.sessions: dict[int, Session] = {}
        """The sessions by subgraph."""
        self.main: Session | None = None
        """The session of the main subgraph."""
        self.early_shapes: dict[int, Shape] = {}
        """Shapes of inputs that were requested before there was a session."""
        self.listener: Listener | None = None
        """The listener that hears the calls of all sessions."""
        self.call: ArrayCall | None = None
        """The main subgraph as a call of arrays by name, once `array_call` has made it."""
        self.slices: dict[Any, Slice] = {}
        """Parts of the model that ran alone (engine/slices.py), by their last and first tensors."""
        self.snapshots: Any = None
        """The sessions that engine/states.py keeps for the next snapshot."""
        self.worker: Any = None
        """The thread of `run_async`."""
        self._program = program
        self._described: dict[tuple[int, int], Description] = {}

    def clone(self) -> Engine:
        """Another Engine of the same Program: without sessions."""
        return Engine(self.model, self.options, self.program(), root=self.root)

    def program(self) -> Program:
        """The model lowered. Raises: UnsupportedOpError, ModelFormatError."""
        with self.making:
            if self._program is None:
                wanted = self.options
                self._program = Program(
                    self.model,
                    wanted.custom_ops,
                    reference=wanted.reference,
                    reorder=wanted.reorder,
                    fuses=wanted.fuses,
                    winograd=wanted.winograd,
                    fast_convolutions=wanted.fast_convolutions,
                    level=wanted.level,
                    max_bytes=wanted.max_bytes,
                )
            return self._program

    @property
    def graph(self) -> Subgraph:
        """The main subgraph."""
        return self.model.subgraphs[self.root]

    def session(self, subgraph: int | None = None) -> Session:
        """The session of a subgraph; None means the main one. Raises: InputError; as `program`."""
        if subgraph is None:
            subgraph = self.root
        session = self.main if subgraph == self.root else self.sessions.get(subgraph)
        if session is not None:
            return session
        self._check_subgraph(subgraph)
        with self.making:
            session = self.sessions.get(subgraph) or self._new_session(subgraph)
            self.sessions[subgraph] = session
            if subgraph == self.root:
                self.main = session
            return session

    def _new_session(self, subgraph: int) -> Session:
        wanted = self.options
        program = self.program()
        if self.shared is None:
            shared = program.shared(wanted.max_iterations)
            if wanted.threads > 1:
                shared.set_threads(wanted.threads)
            if self.workspace is not None:
                shared.share(self.workspace)
            self.shared = shared
        session = Session(
            program, self.shared, subgraph, wanted.strategy, wanted.engine, wanted.cache_bytes, wanted.max_arena
        )
        if self.listener is not None:
            session.listen(self.listener)
        if subgraph == self.root:
            for index, shape in self.early_shapes.items():
                session.resize(index, shape)
        session.log(wanted.threads)
        return session

    def listen(self, listener: Listener | None) -> None:
        """Lets the listener hear all calls; None ends that."""
        with self.making:
            for session in self.sessions.values():
                session.listen(listener)
            self.listener = listener  # last: who is interrupted before can end it again

    def array_call(self) -> ArrayCall:
        """The main subgraph as a call of arrays by name."""
        if self.call is None:
            self.call = array_call.ArrayCall.of_graph(self.session())
        return self.call

    def reset_resources(self) -> None:
        """Forgets resource variables. Raises: StateError."""
        if self.shared is None:
            return
        if self.listener is None:
            return self.shared.reset_resources()
        self.listener.heard(None, "reset_resources", self.shared.reset_resources)

    def subgraph(self, index: int | None = None) -> Subgraph:
        """The subgraph of that number; None means the main one. Raises: InputError."""
        if index is None:
            return self.graph
        if type(index) is not int:
            index = tensor_arguments.subgraph_number(index)
        self._check_subgraph(index)
        return self.model.subgraphs[index]

    def _check_subgraph(self, index: int) -> None:
        count = len(self.model.subgraphs)
        if not 0 <= index < count:
            message = f"Invalid subgraph index {errors.shown(index)} exceeds max subgraph index {count - 1}"
            raise errors.InputError(message)

    def details(self, index: int, subgraph: int | None = None) -> TensorDetails:
        """Details of a tensor, with its shape as `Session.shape` says it. Raises: InputError."""
        if subgraph is None:
            subgraph = self.root
        described = self._described.get((subgraph, index))
        if described is None:
            tensor = checked_tensor(self.subgraph(subgraph), index)
            described = details.Description(tensor, compress_zero_points=self.options.compress_zero_points)
            self._described[subgraph, index] = described
        session = self.sessions.get(subgraph)
        if session is not None:
            return described.of(session.shape(index))
        shape = self.model.subgraphs[subgraph].tensors[index].shape
        return described.of(self.early_shapes.get(index, shape) if subgraph == self.root else shape)
