"""minilite.replay: makes the calls of a recording again, and compares the results with the recorded ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite._native import kept
from minilite.comparison.limit import Limit, checked_tolerance
from minilite.comparison.measure import difference
from minilite.comparison.result import Comparison, Row
from minilite.engine import states
from minilite.engine.engine import engine_of
from minilite.engine.signatures import find_signature
from minilite.errors import InputError, MiniliteError, shortened
from minilite.format.dtypes import TensorType, public_bits
from minilite.interpreter import Interpreter
from minilite.options import OpResolverType, Options
from minilite.progress import silent
from minilite.recording.calls import Call, keywords
from minilite.recording.file import Recording, read_recording
from minilite.recording.recorder import model_hash
from minilite.text import count, shape_text

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from minilite.engine.session import Session
    from minilite.format.model import Array, Model, Tensor
    from minilite.options import CustomOp
    from minilite.progress import Progress

_WEIGHTS = (TensorType.INT8, TensorType.UINT8, TensorType.INT4, TensorType.INT2)


def replay(
    recording: str | os.PathLike[str],
    model: Any,
    *,
    level: str | None = None,
    num_threads: int | None = None,
    custom_ops: Mapping[str, CustomOp] | None = None,
    tolerance: float | None = None,
    signature: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Makes the calls of a recording (`Interpreter.recording`) again, and compares the outputs of each run with the
    recorded ones.

    `model` is the recorded model: anything `Interpreter` takes, with the same bytes. Options are the recording's,
    except `level` and `num_threads`. Integers must be equal bit for bit at any level and number of threads, floats at
    the same level of the same version; else they may differ by rounding, or by `tolerance` (see `compare`); if the
    model quantizes floats on the way, only by `tolerance`. A call that failed must fail again with the same class of
    exception. `custom_ops` has the caller's custom operators by name. With the key of a `signature`, all calls are
    made, and the runs of this signature are compared. `progress` is called as the replay goes on.
    Raises: InputError for a recording that is cut short, changed or of another model, and for missing operators;
    whatever a call raises that succeeded when it was recorded.
    """
    tolerance = checked_tolerance(tolerance)
    found = read_recording(recording)
    options: dict[str, Any] = {"level": level, "custom_ops": _operators(found, custom_ops)}
    if num_threads is not None:
        options["num_threads"] = num_threads
    interpreter = _interpreter(found, model, options)
    calls = _Calls(found, interpreter)
    root = find_signature(interpreter.model.signatures, signature).subgraph if signature is not None else None
    for call in (progress or silent)(found.calls, "call"):
        calls.make(call)
    made = [one for one in calls.made if root is None or one.call.subgraph == root]
    if root is not None and not made:
        message = f"'{found.path.name}' has no run of the signature '{signature}'"
        raise InputError(message)
    plan = interpreter.plan
    now = plan.level if plan is not None and not engine_of(interpreter).options.reference else ""
    from minilite import __version__

    same_code = (now, __version__) == (found.level, found.minilite)
    limit = Limit(tolerance, same_code=same_code, same_types=True, flips=_quantizes_floats(interpreter.model))
    rows = tuple(row for one in made for row in _rows(one, limit))
    recorded = f"recorded by minilite {found.minilite} {found.level or 'in numpy'}, {count(calls.runs, 'run')}"
    name = Path(model).name if isinstance(model, str) else ""
    return Comparison(
        (found.path.name, name),
        (recorded, f"minilite {now or 'in numpy'}, {count(engine_of(interpreter).options.threads, 'thread')}"),
        "recorded",
        tolerance,
        limit.text,
        rows,
        (0, 0),
    )


def _quantizes_floats(model: Model) -> bool:
    """True if a node makes integers of computed floats: QUANTIZE, or a node with float inputs and integer weights."""
    for graph in model.subgraphs:
        for node in graph.nodes:
            kinds = [graph.tensors[index].type for index in node.inputs[:2] if index >= 0]
            hybrid = len(kinds) > 1 and kinds[0] == TensorType.FLOAT32 and kinds[1] in _WEIGHTS
            if hybrid or (node.op == "QUANTIZE" and kinds[0] == TensorType.FLOAT32):
                return True
    return False


def _operators(found: Recording, given: Mapping[str, CustomOp] | None) -> dict[str, CustomOp]:
    missing = [name for name in found.custom_ops if name not in (given or {})]
    if missing:
        message = f"'{found.path.name}' needs the custom operators {', '.join(missing)}: minilite.replay takes them as custom_ops"
        raise InputError(message)
    return dict(given or {})


def _interpreter(found: Recording, model: Any, options: Mapping[str, Any]) -> Interpreter:
    """Makes an interpreter with the recorded options. Raises: InputError if the model is another one."""
    wanted = dict(found.options)
    kernels = str(wanted.get("experimental_op_resolver_type", "AUTO"))
    unknown = sorted(wanted.keys() - keywords(Options()).keys())
    if unknown or kernels not in OpResolverType.__members__:
        what = f"the option '{shortened(unknown[0])}'" if unknown else f"the kernels '{shortened(kernels)}'"
        message = f"'{found.path.name}' cannot be replayed: it has {what}, which this version does not have"
        raise InputError(message)
    wanted["experimental_op_resolver_type"] = OpResolverType[kernels]
    interpreter = Interpreter(model, **{**wanted, **options})
    digest, size = model_hash(interpreter.model)
    if digest != found.model:
        message = (
            f"'{found.path.name}' is a recording of another model: its hash begins with {found.model[:12]} "
            f"({found.model_bytes} bytes), this one's with {digest[:12]} ({size} bytes)"
        )
        raise InputError(message)
    return interpreter


class _Made:
    """A repeated run, or a call that ended in another way than the recorded one."""

    def __init__(self, number: int, call: Call, session: Session, text: str = "") -> None:
        self.number, self.call, self.session, self.text = number, call, session, text
        self.pairs: dict[int, tuple[Array, Array]] = {}
        """The recorded and the new outputs by tensor."""


class _Calls:
    """Makes calls on an interpreter."""

    def __init__(self, found: Recording, interpreter: Interpreter) -> None:
        self._found, self._interpreter = found, interpreter
        self._bound: dict[tuple[int, int], Array] = {}
        self.made: list[_Made] = []
        self.runs = self._number = 0
        self._kept: dict[tuple[int, int], kept.Row] = {}

    def make(self, call: Call) -> None:
        """Makes one call. Raises: InputError if the model has no such tensor."""
        session = engine_of(self._interpreter).session(call.subgraph)
        self._number += 1
        self.runs += call.call in ("invoke", "slice")
        error, found = "", None
        try:
            found = getattr(self, f"_{call.call}")(session, call)
        except Exception as raised:
            error = type(raised).__name__
            if not call.error and isinstance(raised, MiniliteError):
                raise
            if not call.error:
                name, why = self._found.path.name, f"{error}: {raised}"
                message = f"'{name}' cannot be replayed: call {self._number} ({call.call}): {why}"
                raise InputError(message) from raised
        made = _Made(self.runs, call, session)
        if call.error:
            if error != call.error:
                made.text = f"{call.call}: {call.error} when recorded, {error or 'no error'} now"
                self.made.append(made)
        elif found is not None:
            made.pairs = {index: (self._found.array(call.outputs[index]), array) for index, array in found.items()}
            self.made.append(made)

    def _resize(self, session: Session, call: Call) -> None:
        session.resize(call.tensor, call.shape)

    def _allocate(self, session: Session, _: Call) -> None:
        session.allocate()

    def _set(self, session: Session, call: Call) -> None:
        session.set(call.tensor, self._found.array(call.array))

    def _bind(self, session: Session, call: Call) -> None:
        array = self._found.array(call.array).copy() if call.array else None
        session.bind({call.tensor: array})
        self._bound.pop((call.subgraph, call.tensor), None)
        if array is not None:
            self._bound[call.subgraph, call.tensor] = array

    def _invoke(self, session: Session, call: Call) -> dict[int, Array]:
        for index, name in call.inputs.items():
            session.set(index, self._found.array(name))
        session.invoke()
        return {index: session.get(index) for index in call.outputs}

    def _slice(self, _: Session, call: Call) -> dict[int, Array]:
        given = {index: self._found.array(name) for index, name in call.inputs.items()}
        found = self._interpreter.run(until=[*call.outputs], since=given)
        return dict(zip(call.outputs, found.values(), strict=True))

    def _reset_variables(self, session: Session, _: Call) -> None:
        session.reset_variables()

    def _reset_resources(self, _session: Session, _: Call) -> None:
        self._interpreter.reset_resources()

    def _close(self, session: Session, _: Call) -> None:
        session.close()

    def _set_state(self, _session: Session, call: Call) -> None:
        self._interpreter.set_state(states.from_bytes(self._found.array(call.array).tobytes()))

    def _resource(self, _session: Session, call: Call) -> None:
        data = self._found.array(call.array).tobytes()
        self._keep(kept.Row(kept.RESOURCE, call.tensor, call.kind, call.shape, data))

    def _called_once(self, _: Session, call: Call) -> None:
        called = self._kept.get((kept.CALLED, 0))
        data = bytearray(called.data if called else len(self._interpreter.model.subgraphs))
        data[call.subgraph] = 1
        self._keep(kept.Row(kept.CALLED, 0, 0, (), bytes(data)))

    def _keep(self, row: kept.Row) -> None:
        """Restores the state that the recorded interpreter had at this point."""
        shared = engine_of(self._interpreter).shared
        assert shared is not None
        self._kept[row.what, row.number] = row
        kept.Keeper(shared, ()).keep(kept.packed([self._kept[key] for key in sorted(self._kept)]))


def _rows(made: _Made, limit: Limit) -> list[Row]:
    """Returns a row per output of a run."""
    if made.text:
        name = made.text.partition(":")[0]
        row = Row(
            -1,
            "",
            -1,
            name,
            -1,
            "",
            ("", ""),
            ((), ()),
            is_output=True,
            difference=None,
            note=made.text,
            changes=(),
            diverges=True,
        )
        return [row._replace(run=made.number, subgraph=made.call.subgraph)]
    graph = made.session.subgraph
    producers = {index: node for node in graph.nodes for index in node.outputs}
    rows = []
    for index, (then, now) in made.pairs.items():
        tensor, node = graph.tensors[index], producers.get(index)
        kind = tensor.type.name.lower()
        row = Row(
            node.index if node is not None else -1, node.op if node is not None else "", index, tensor.name, index, tensor.name,
            (kind, kind), (then.shape, now.shape), is_output=True, difference=None, note="", changes=(), diverges=None,
            run=made.number, subgraph=made.call.subgraph,
        )  # fmt: skip
        rows.append(_measured(row, tensor, then, now, limit))
    return rows


def _measured(row: Row, tensor: Tensor, then: Array, now: Array, limit: Limit) -> Row:
    then = public_bits(then, tensor.type)
    if then.shape != now.shape or then.dtype != now.dtype:
        note = f"{then.dtype} {shape_text(then.shape)} against {now.dtype} {shape_text(now.shape)}"
        return row._replace(note=note, diverges=True)
    found = difference((tensor, tensor), (then, now))
    return row._replace(difference=found, diverges=limit.exceeded(found))
