"""Records the calls of an interpreter while they are made.

During a recording, the sessions of the interpreter let the recorder make their calls (`Session.listen`), and it notes
each of them. Before each run it compares the inputs with their recorded values, because views and bound arrays write
them without a call. It compares the state of the model in the same way: if anything but a run has changed it
(set_state, a profile, a view of a variable), the recording gets a call that restores it.
"""

from __future__ import annotations

import hashlib
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.engine import pickling, states
from minilite.errors import MiniliteError, StateError
from minilite.format import builder
from minilite.recording.calls import Call, keywords
from minilite.recording.file import Writer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from minilite._native.cancel import Cancel
    from minilite.engine.array_call import ArrayCall
    from minilite.engine.engine import Engine
    from minilite.engine.session import Session
    from minilite.format.model import Array, Model


class Recorder:
    """A recording in progress, made by `Interpreter.recording`. The end of its `with` writes the file, also after an
    exception, but not after Ctrl-C."""

    def __init__(self, engine: Engine, path: str | os.PathLike[str]) -> None:
        self._engine = engine
        self._path = path
        self.lock: Any = RLock()
        self.writer: Writer
        self._known: dict[tuple[int, int], bytes] = {}  # hashes of the recorded values of inputs
        self._left: states.ModelState | None = None  # the state after the last run; None if that failed
        self._ran = False

    def __enter__(self) -> Recorder:  # noqa: PYI034 - typing.Self came with Python 3.11
        """Begins the recording. Raises: StateError if the interpreter is being recorded already; OSError."""
        one, begun = self._engine, False
        try:
            with self.lock, one.making:
                if one.listener is not None:
                    message = "a recording of this interpreter is under way: one at a time"
                    raise StateError(message)
                self.writer, begun = Writer(self._path), True
                one.listener = self
                self.writer.begin()
                self._note_state()
                one.listen(self)
            return self
        except BaseException:
            if begun:
                self._stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Ends the recording and writes the file. Raises: OSError."""
        try:
            with self.lock, self._engine.making:
                self._engine.listen(None)
                if kind is None or (issubclass(kind, Exception) and self.writer.whole):
                    self.writer.finish(self._facts())
        finally:
            self._stop()

    def _stop(self) -> None:
        """Stops listening, and removes an unfinished file."""
        with self.lock, self._engine.making:
            if self._engine.listener is self:
                self._engine.listen(None)
            self.writer.discard()
            self._left, self._known = None, {}

    # Calls of an Engine and its sessions ------------------------------------------------------------------------------

    def heard(self, session: Session | None, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Makes a call and notes it, with the error if an allocation or a run fails."""
        with self.lock:
            if session is None:
                call()
                return self.writer.add(Call(name))
            return getattr(self, f"_{name}")(session, call, *arguments)

    def _ask(self, session: Session, call: Callable[..., Any], index: Any, size: Any) -> bool:
        accepted = bool(call(index, size))
        if accepted:
            self.note("resize", session, tensor=index, shape=tuple(map(int, size)))
        return accepted

    def _allocate(self, session: Session, call: Callable[..., Any]) -> None:
        self.attempt(Call("allocate", session.root), call)

    def _invoke_unchecked(self, session: Session, call: Callable[..., Any]) -> None:
        self.invoked(session, call)

    def _run_until(self, session: Session, call: Callable[..., Any], cancel: Cancel) -> None:
        self.invoked(session, partial(call, cancel))

    def _set(self, session: Session, call: Callable[..., Any], index: int, value: Any, _lent: object = None) -> None:
        call(index, value)  # copied, so that the run that is noted is the one that is made again
        self.note_set(session, index, value)

    def _bind(self, session: Session, call: Callable[..., Any], arrays: Mapping[int, Array | None]) -> None:
        call(arrays)
        for index, array in arrays.items():
            self.note_bound(session, index, array)

    def _reset_variables(self, session: Session, call: Callable[..., Any]) -> None:
        call()
        self.note("reset_variables", session)

    def _close(self, session: Session, call: Callable[..., Any]) -> None:
        call()
        self.note("close", session)

    def _facts(self) -> dict[str, Any]:
        from importlib.metadata import version  # long to import

        one = self._engine
        digest, size = model_hash(one.model)
        used = {node.op for graph in one.model.subgraphs for node in graph.nodes if node.custom}
        plan = one.main.plan if one.main is not None else None
        return {
            "minilite": version("minilite-runtime"),
            "level": plan.level if plan is not None and not one.options.reference else "",
            "model": digest,
            "model_bytes": size,
            "options": keywords(one.options),
            "custom_ops": sorted(used & set(one.options.custom_ops)),
        }

    # State before the recording ---------------------------------------------------------------------------------------

    def _note_state(self) -> None:
        """Notes calls that bring a new interpreter to this one's sizes and arrays; its state is noted before the first
        run."""
        graphs, early = pickling.shapes_of(self._engine)
        for index, shape in early.items():
            self.writer.add(Call("resize", self._engine.root, index, tuple(shape)))
        for number, (shapes, allocated) in graphs.items():
            session = self._engine.sessions[number]
            for index, shape in shapes.items():
                self.writer.add(Call("resize", number, index, tuple(shape)))
            for index, array in session.bound_arrays().items():
                self.note_bound(session, index, array)
            if allocated:
                self.writer.add(Call("allocate", number))

    # Calls ------------------------------------------------------------------------------------------------------------

    def note(self, call: str, session: Session, **more: Any) -> None:
        """Notes a call that succeeded."""
        self.writer.add(Call(call, session.root, **more))

    def attempt(self, call: Call, function: Callable[[], None]) -> None:
        """Makes a call and notes it, with the error if it fails."""
        with self.lock:
            try:
                function()
            except Exception as error:
                self.writer.add(_failed(call, error))
                raise
            self.writer.add(call)

    def note_set(self, session: Session, index: int, value: Any) -> None:
        """Notes that a tensor was set."""
        array = value if isinstance(value, np.ndarray) else session.get(index)
        name = self._written(array)
        self._known[session.root, index] = _key(array)
        self.note("set", session, tensor=int(index), array=name)

    def note_bound(self, session: Session, index: int, array: Array | None) -> None:
        """Notes that an array was bound to a tensor, or that its binding ended."""
        name = self._written(array) if array is not None else ""
        self.note("bind", session, tensor=int(index), array=name)

    def _written(self, array: Array) -> str:
        return self.writer.array(array.astype(object) if array.dtype.kind in "SU" else array)

    def sliced(
        self,
        part: ArrayCall,
        arrays: Sequence[tuple[int, Array]],
        out: Mapping[str, Array] | None,
        cancel: Cancel | None,
    ) -> dict[str, Array]:
        """Runs a slice on its own interpreter, and notes it with its inputs and results."""
        with self.lock:
            self._note_change()
            call = Call("slice", inputs={index: self._written(array) for index, array in arrays})
            try:
                found = part.run(arrays, out, cancel)
            except Exception as error:
                self.writer.add(_failed(call._replace(outputs=dict.fromkeys(part.outputs.values(), "")), error))
                raise
            outputs = {index: self.writer.array(found[name]) for name, index in part.outputs.items()}
            self.writer.add(call._replace(outputs=outputs))
            return found

    def invoked(self, session: Session, run: Callable[[], None]) -> None:
        """Makes a run and notes it with its results, and with inputs that no call has set."""
        with self.lock:
            if not session.ready:
                return run()  # the session refuses it
            self._note_change()
            call = Call("invoke", session.root, inputs=self._found(session))
            self._left, self._ran = None, True
            try:
                run()
            except Exception as error:
                self.writer.add(_failed(call, error))
                raise
            outputs = {}
            for index in session.subgraph.outputs:
                array = _value(session, index)
                if array is not None:
                    outputs[index] = self.writer.array(array)
            self.writer.add(call._replace(outputs=outputs))
            self._left = self._state()

    def _note_change(self) -> None:
        """Notes the state if it differs from the state after the last run; before the first run, if it has values."""
        state = self._state()
        if state is not None and state != self._left and (state or self._ran):
            array = self.writer.array(np.frombuffer(states.as_bytes(state), np.uint8))
            self.writer.add(Call("set_state", array=array))

    def _state(self) -> states.ModelState | None:
        try:
            return states.snapshot(self._engine)
        except StateError:  # another thread is using the interpreter
            return None

    def _found(self, session: Session) -> dict[int, str]:
        """Returns the inputs whose values differ from the recorded ones."""
        found = {}
        for index in session.subgraph.inputs:
            array = _value(session, index)
            if array is None:
                continue
            key = _key(array)
            if self._known.get((session.root, index)) != key:
                self._known[session.root, index] = key
                found[index] = self.writer.array(array)
        return found


def _value(session: Session, index: int) -> Array | None:
    """Returns a tensor's values; None if it has none, because nothing has set it or its memory was overwritten."""
    try:
        return session.get(index)
    except MiniliteError:
        return None


def _key(array: Array) -> bytes:
    """Returns a hash that is equal for equal arrays."""
    data = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
    return hashlib.sha256(repr((array.dtype.str, array.shape)).encode() + data).digest()


def _failed(call: Call, error: Exception) -> Call:
    """Returns the call with its error; only minilite's own messages are kept, because others may contain anything."""
    return call._replace(error=type(error).__name__, text=str(error) if isinstance(error, MiniliteError) else "")


def model_hash(model: Model) -> tuple[str, int]:
    """Returns the SHA-256 and the length of a model's bytes."""
    file = model.file or builder.as_read(model).file
    assert file is not None
    data = bytes(file.data)
    return hashlib.sha256(data).hexdigest(), len(data)
