"""What LiteRT's class has not documented or not at all: `with`, copies, pickles, real numbers, tables in notebooks,
private names."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from minilite import errors, litert_names
from minilite.late import Later
from minilite.runtime import Runtime

if TYPE_CHECKING:
    from types import TracebackType

    from minilite import engine
    from minilite._native.plan import Plan
    from minilite.details import NodeDetails
    from minilite.engine import Session, real_values
    from minilite.engine.tensor_arguments import Shapes
    from minilite.format.model import Array
    from minilite.report.plan import ModelPlan
else:
    engine = Later("minilite.engine")
    real_values = Later("minilite.engine.real_values")

_Self = TypeVar("_Self", bound="Additions")


class Additions(Runtime):
    """What LiteRT's class has not."""

    def _new_session(self, subgraph: int) -> Session:
        session = super()._new_session(subgraph)
        logging = sys.modules.get("logging")  # who has not imported it has not asked
        if logging is not None:
            graph, threads = self.model.subgraphs[subgraph], self._options.threads
            said = "subgraph %d: %d nodes, %d tensors, at most %d threads a run"
            logging.getLogger("minilite").debug(said, subgraph, len(graph.nodes), len(graph.tensors), threads)
        return session

    def __enter__(self: _Self) -> _Self:  # noqa: PYI019 - typing.Self came with Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Gives all memory back; the interpreter can be allocated again."""
        self.close()

    def close(self) -> None:
        """Gives all memory back but the model's. Raises: StateError while a view is held, or a call goes on
        elsewhere."""
        for session in tuple(self._sessions.values()):
            session.close()

    # Copies -----------------------------------------------------------------------------------------------------------

    def __copy__(self: _Self) -> _Self:  # noqa: PYI019
        return self.__deepcopy__({})

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:  # noqa: PYI019
        """Another interpreter of the same model: its shapes, variables and resources are copied, weights are shared."""
        other = self.clone()
        engine.restore(other, engine.state_of(self))
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """The model's bytes, options, shapes, variables and resources; values of inputs and outputs are not kept."""
        return engine.taken_apart(self)

    # Real numbers -----------------------------------------------------------------------------------------------------

    def run_real(self, *inputs: Any) -> dict[str, Array]:
        """Like `run`, with real numbers: quantized inputs are made of floats, and quantized outputs become floats.

        Scales and zero points are the tensors' own; values beyond a type's range are cut. Raises: as `run`."""
        graph = self.model.subgraphs[0]
        given = engine.inputs_by_number(graph, inputs)
        found = self.run(
            {number: real_values.quantized(graph.tensors[number], value) for number, value in given.items()}
        )
        return {
            graph.tensors[i].name: real_values.real(graph.tensors[i], found[graph.tensors[i].name])
            for i in graph.outputs
        }

    # Terminals and notebooks ------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """A line, and a table of inputs and outputs."""
        from minilite.report.notebook import interpreter_text

        return f"{super().__repr__()}\n{interpreter_text(self)}"

    def _repr_html_(self) -> str:
        """What notebooks show: inputs, outputs, memory."""
        from minilite.report.notebook import interpreter_html

        return interpreter_html(self)

    @property
    def plan(self) -> ModelPlan | None:
        """The plan in force; None before allocate_tensors. It prints as a table, and is a picture in notebooks."""
        return self._named(super().plan)

    @property
    def memory(self) -> ModelPlan | None:
        """A copy of the plan in force with what runs have learnt: shapes, places of dynamic tensors. None before
        allocation."""
        return self._named(super().memory)

    def plan_for(self, shapes: Shapes | None = None) -> ModelPlan:
        """The plan for these shapes (by a tensor's name or number), without putting it in force.

        Raises: ShapeError, ArenaError, UnsupportedOpError, InputError.
        """
        from minilite.report.plan import ModelPlan

        if shapes is not None and not hasattr(shapes, "items"):
            message = f"shapes is of type {type(shapes).__name__}, must map names or numbers of tensors to shapes"
            raise errors.InputTypeError(message)
        return ModelPlan(super().plan_for(shapes), self.model)

    def _named(self, plan: Plan | None) -> ModelPlan | None:
        from minilite.report.plan import ModelPlan

        return ModelPlan(plan, self.model) if plan is not None else None

    # Names that begin with an underscore in LiteRT's class; what they give is LiteRT's --------------------------------

    @property
    def _interpreter(self) -> litert_names.Wrapper:
        return litert_names.Wrapper(self)

    def _get_ops_details(self) -> list[NodeDetails]:
        return self.get_ops_details()

    def _get_op_details(self, op_index: int) -> NodeDetails:
        return litert_names.node_at(self._get_ops_details(), op_index)

    def _get_full_signature_list(self) -> dict[str, dict[str, dict[str, int]]]:
        return self.get_full_signature_list()

    @property
    def _signature_defs(self) -> dict[str, dict[str, list[str]]]:
        return self.get_signature_list()

    @property
    def _delegates(self) -> list[Any]:
        return []

    def _safe_to_run(self) -> bool:
        """Whether no array over the arena is alive."""
        return not any(session.held() for session in tuple(self._sessions.values()))

    def _ensure_safe(self) -> None:
        """Raises: StateError (also RuntimeError) while an array over the arena is alive."""
        if not self._safe_to_run():
            raise errors.StateError(litert_names.VIEW_HELD)

    def _native_handle(self) -> int:
        """Raises InputTypeError: there is no tflite::Interpreter behind it."""
        message = (
            "there is no tflite::Interpreter to point at: this is minilite, whose kernels plug in by `minilite.kernel`"
        )
        raise errors.InputTypeError(message)
