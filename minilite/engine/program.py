"""Program: a Model lowered once, its C graphs by root subgraph, and states over them."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from minilite import errors
from minilite._native.file import Store
from minilite._native.graph import Graph, choose_level
from minilite._native.state import Shared, State
from minilite.engine.lower import lower, node_label
from minilite.late import Later

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite._native.call import Call
    from minilite.engine import python_nodes, reorder
    from minilite.engine.lower import Lowered
    from minilite.format import builder
    from minilite.format.model import Model

    Shape = tuple[int, ...]
else:
    reorder = Later("minilite.engine.reorder")
    python_nodes = Later("minilite.engine.python_nodes")
    builder = Later("minilite.format.builder")


FIRST_BYTES, FIRST_TIMES = 1 << 30, 64
"""Without `max_bytes`, tensors may take this many bytes, or this many times those of the file, whichever is more, until
an input is resized."""
LARGER_BYTES = 4 << 20
"""Larger forms of weights may take this many bytes, or those of the file if that is more."""


class ModelNames:
    """Names nodes and tensors of a Model in error messages; C graphs refer to it, and not to the Program, which refers
    to them."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def node_label(self, subgraph: int, node: int) -> tuple[str, str]:
        """The operator and the name of the first output of a node."""
        return node_label(self.model, subgraph, node)

    def tensor_name(self, subgraph: int, tensor: int) -> str:
        """The name of a tensor."""
        return self.model.subgraphs[subgraph].tensors[tensor].name

    def gathered(self, raised: Sequence[errors.MiniliteError]) -> errors.MiniliteError:
        """One error for the refusals of several nodes."""
        found = [refusal for refusal in raised if isinstance(refusal, errors.UnsupportedOpError)]
        if not found:
            return raised[0]
        from minilite.engine import refusals

        return refusals.gathered(found)


class Program:
    """A Model lowered once; C graphs by root subgraph, shared by every Session."""

    def __init__(
        self,
        model: Model,
        custom_ops: Mapping[str, Any],
        *,
        reference: bool,
        reorder: bool = False,
        fuses: bool = False,
        winograd: bool = True,
        fast_convolutions: bool = False,
        level: str | None = None,
        max_bytes: int = 0,
    ) -> None:
        """`max_bytes` limits what dense forms of sparse constants take, and later the tensors of each interpreter; 0:
        see FIRST_BYTES."""
        model = as_read(model)
        self.model: Model = model
        size = len(model.file.data) if model.file is not None else 0
        self._at_first = 0 if max_bytes else max(FIRST_BYTES, FIRST_TIMES * size)
        self._max_bytes = max_bytes
        self._level = _level(level or os.environ.get("MINILITE_ISA"))
        self.lowered: Lowered = lower(
            model, custom_ops, self._level, reference=reference, most_dense=max_bytes or self._at_first
        )
        self.store: Store = self.lowered.lowering.file.store
        self._reorder = reorder
        self._fuses = fuses
        self._larger_bytes = max(LARGER_BYTES, size) if winograd else 0
        self._fast_convolutions = fast_convolutions
        self._graphs: dict[int, Graph] = {}

    def shared(self, max_iterations: int = 0) -> Shared:
        """The objects that the sessions of one interpreter share; `max_iterations` 0 = no limit."""
        most = self._max_bytes or -self._at_first
        return Shared(self.lowered.resources, len(self.model.subgraphs), most, max_iterations)

    def graph(self, root: int) -> Graph:
        """The C graph whose main subgraph is `root`."""
        if root not in self._graphs:
            low, names = self.lowered, ModelNames(self.model)
            order = reorder.order_of(self.model, low.lowering, root) if self._reorder else None
            self._graphs[root] = Graph(
                low.lowering,
                root,
                low.resources,
                names,
                self.store,
                self._level,
                order,
                fuses=self._fuses,
                larger_bytes=self._larger_bytes,
                fast_convolutions=self._fast_convolutions,
            )
        return self._graphs[root]


@functools.cache
def _level(mask: str | None) -> Any:
    """The level of that name, kept because asking the processor takes longer than reading a small model. Raises:
    InputError."""
    return choose_level(mask)


def keep_packed_weights(model: Model, cache_dir: str | None, option: str = "cache_dir") -> None:
    """Keeps the packed weights of a model that was read from a file in the folder `cache_dir`, which the option says;
    None means that of the environment, an empty text none.

    Raises: InputError for a folder that is refused."""
    if cache_dir is None:
        option = "MINILITE_CACHE_DIR"
        cache_dir = os.environ.get(option)
    if cache_dir:
        from minilite.engine import packed_cache  # few programs need it

        packed_cache.use(model.file, cache_dir, option)


def as_read(model: Model) -> Model:
    """The model as a view of rows. Raises: ModelFormatError for a model made by hand that is not valid."""
    if model.file is not None:
        return model
    return builder.as_read(model)


class PythonNodes:
    """Runs the nodes that C hands over."""

    def __init__(self, lowered: Lowered) -> None:
        self._lowered = lowered
        self.exceptions: dict[int, BaseException] = {}

    def label(self, handler: int) -> str:
        """The coordinates of a node, for error lines."""
        return python_nodes.node_coordinates(self._lowered.handlers[handler].node)

    def eval(self, call: Call) -> int:
        """Computes one node and stores its outputs."""
        return python_nodes.evaluate(self._lowered.handlers[call.handler], call)

    def shape(self, call: Call) -> list[Shape]:
        """The output shapes of a custom node, by its shape function."""
        return python_nodes.shapes(self._lowered.handlers[call.handler], call)


def new_state(
    program: Program, shared: Shared, root: int, strategy: str, options: int, cache_bytes: int, max_arena: int = 0
) -> State:
    """A C state over the program's graph for `root`."""
    hooks = PythonNodes(program.lowered)
    return State(program.graph(root), shared, strategy, options, cache_bytes, max_arena, hooks)
