"""Wrapper: what `Interpreter._interpreter` returns, because programs use this private object of LiteRT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from minilite import errors
from minilite.engine.signatures import find_signature
from minilite.engine.tensor_arguments import tensor_number
from minilite.numeric import whole
from minilite.options import checked_threads, load_delegate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minilite.details import TensorDetails
    from minilite.engine.engine import Engine
    from minilite.format.model import Array, Node

_Item = TypeVar("_Item")
VIEW_HELD = (
    "There is at least 1 reference to internal data in the interpreter in the form of a numpy array or slice. Be sure to only "
    "hold the function returned from tensor() if you are using raw data access."
)


class Wrapper:
    """The object `Interpreter._interpreter`, with the methods of LiteRT's C++ wrapper: facts by number, and calls under
    other names."""

    def __init__(self, interpreter: Any, engine: Engine) -> None:
        self._of, self._engine = interpreter, engine
        self.AllocateTensors: Callable[[], None] = interpreter.allocate_tensors
        self.Invoke: Callable[[], None] = interpreter.invoke
        self.ResetVariableTensors: Callable[[], None] = interpreter.reset_all_variables
        self.ResizeInputTensor: Callable[..., Any] = interpreter.resize_tensor_input
        self.SetTensor: Callable[..., Any] = interpreter.set_tensor
        self.GetTensor: Callable[..., Any] = interpreter.get_tensor
        self.GetSignatureDefs: Callable[..., Any] = interpreter.get_full_signature_list
        self.NumSubgraphs: Callable[..., Any] = interpreter.num_subgraphs
        self.ModifyGraphWithDelegate: Callable[[Any], Any] = load_delegate

    def NumTensors(self, subgraph: int | None = None) -> int:
        """The number of tensors of a subgraph."""
        return len(self._engine.subgraph(subgraph).tensors)

    def NumNodes(self) -> int:
        """The number of nodes of the main subgraph."""
        return len(self._engine.graph.nodes)

    def NodeName(self, index: int) -> str:
        """A node's operator."""
        return self._node(index).op

    def NodeInputs(self, index: int) -> Array:
        """A node's inputs; -1 = absent."""
        return np.array(self._node(index).inputs, np.int32)

    def NodeOutputs(self, index: int) -> Array:
        """A node's outputs."""
        return np.array(self._node(index).outputs, np.int32)

    def InputIndices(self) -> Array:
        """The main subgraph's inputs."""
        return np.array(self._engine.graph.inputs, np.int32)

    def OutputIndices(self) -> Array:
        """The main subgraph's outputs."""
        return np.array(self._engine.graph.outputs, np.int32)

    def TensorName(self, index: int, subgraph: int | None = None) -> str:
        """A tensor's name."""
        return self._details(index, subgraph)["name"]

    def TensorType(self, index: int, subgraph: int | None = None) -> Any:
        """A tensor's numpy type."""
        return self._details(index, subgraph)["dtype"]

    def TensorSize(self, index: int, subgraph: int | None = None) -> Array:
        """A tensor's shape."""
        return self._details(index, subgraph)["shape"]

    def TensorSizeSignature(self, index: int, subgraph: int | None = None) -> Array:
        """A tensor's shape, -1 for dimensions that are open."""
        return self._details(index, subgraph)["shape_signature"]

    def TensorQuantization(self, index: int, subgraph: int | None = None) -> tuple[float, int]:
        """A tensor's scale and zero point."""
        return self._details(index, subgraph)["quantization"]

    def TensorQuantizationParameters(self, index: int, subgraph: int | None = None) -> tuple[Array, Array, int]:
        """A tensor's scales, zero points, and their dimension."""
        found = self._details(index, subgraph)["quantization_parameters"]
        return found["scales"], found["zero_points"], found["quantized_dimension"]

    def TensorSparsityParameters(self, index: int, subgraph: int | None = None) -> Mapping[str, Any]:
        """A tensor's sparsity."""
        return self._details(index, subgraph)["sparsity_parameters"]

    def SetNumThreads(self, threads: int) -> None:
        """The number of threads that runs may use."""
        self._engine.session()
        assert self._engine.shared is not None
        self._engine.shared.set_threads(checked_threads(None if threads == -1 else threads))

    def GetSubgraphIndexFromSignature(self, signature_key: str) -> int:
        """The subgraph of a signature. Raises: InputError."""
        return find_signature(self._of.model.signatures, signature_key).subgraph

    def interpreter(self) -> int:
        """Raises InputTypeError: minilite has no tflite::Interpreter."""
        no_handle()

    def tensor(self, _: Any, index: int) -> Array:
        """A live view of a tensor's memory; the first argument is the object that LiteRT keeps alive with it."""
        view: Array = self._of.tensor(index)()
        return view

    def _details(self, index: int, subgraph: int | None) -> TensorDetails:
        return self._engine.details(tensor_number(self._engine.subgraph(subgraph), index), subgraph)

    def _node(self, index: int) -> Node:
        nodes: Sequence[Node] = self._engine.graph.nodes
        return node_at(nodes, index)


def no_handle() -> NoReturn:
    """Raises InputTypeError for a request of the address of LiteRT's C++ object."""
    message = (
        "there is no tflite::Interpreter to point at: this is minilite, whose kernels plug in by `minilite.kernel`"
    )
    raise errors.InputTypeError(message)


def node_at(nodes: Sequence[_Item], index: int) -> _Item:
    """The item for the main subgraph's node of that number. Raises: InputError."""
    try:
        index = whole("a node's number", index)
    except errors.InputTypeError:
        message = f"takes the number of a node, 0 to {len(nodes) - 1}: got {errors.shown(index)}"
        raise errors.InputTypeError(message) from None
    if not 0 <= index < len(nodes):
        message = f"Invalid node index {index}: the main subgraph has {len(nodes)} nodes"
        raise errors.InputRuntimeError(message)
    return nodes[index]
