"""Details: tensors and nodes as LiteRT's dicts describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type, public_type

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from numpy.typing import NDArray

    from minilite.format.model import Subgraph, Tensor

    Shape = tuple[int, ...]

    class QuantizationParameters(TypedDict):
        """The meaning of a tensor's integers: ``scales * (integers - zero_points)``, with one scale and zero point, or
        one per channel."""

        scales: NDArray[np.float32]
        zero_points: NDArray[np.int32]
        quantized_dimension: int
        block_size: int

    class TensorDetails(TypedDict):
        """A tensor: LiteRT's keys, in its order. `shape_signature` has -1 for dimensions that the file leaves open."""

        name: str
        index: int
        shape: NDArray[np.int32]
        shape_signature: NDArray[np.int32]
        dtype: type[Any]
        quantization: tuple[float, int]
        quantization_parameters: QuantizationParameters
        sparsity_parameters: dict[str, Any]

    class NodeDetails(TypedDict):
        """A node: LiteRT's keys, in its order. Tensor numbers are -1 for absent optional inputs."""

        index: int
        op_name: str
        inputs: NDArray[np.int32]
        outputs: NDArray[np.int32]
        operand_types: list[type[Any]]
        result_types: list[type[Any]]
else:  # plain dicts, which is what they are at run time, and takes no time
    QuantizationParameters = TensorDetails = NodeDetails = dict

_REPORTED: dict[TensorType, Any] = {
    TensorType.RESOURCE: np.object_,
    TensorType.VARIANT: np.object_,
    TensorType.INT4: np.int8,
    TensorType.INT2: np.int8,
    TensorType.FLOAT8_E4M3FN: np.int8,
    TensorType.FLOAT8_E5M2: np.int8,
}
"""The dtypes that LiteRT's details give for types that numpy does not have."""


def _reported_type(kind: TensorType) -> Any:
    if kind == TensorType.BFLOAT16:
        found = public_type(kind)
        return np.float32 if found.kind == "u" else found.type  # LiteRT needs the package for such tensors
    return _REPORTED.get(kind) or numpy_type(kind)


def _sparsity_parameters(tensor: Tensor) -> dict[str, Any]:
    """A tensor's sparsity in the form of LiteRT's details; empty for dense ones."""
    sparsity = tensor.sparsity
    if not sparsity:
        return {}
    found: dict[str, Any] = {"traversal_order": np.array(sparsity["traversal_order"] or (), np.int32)}
    if sparsity["block_map"]:
        found["block_map"] = np.array(sparsity["block_map"], np.int32)
    found["dim_metadata"] = [
        {"format": 0, "dense_size": row["dense_size"]}
        if row["format"] == "DENSE"
        else {
            "format": 1,
            **{key: np.array(row[key]["values"], np.int32) for key in ("array_segments", "array_indices")},
        }
        for row in sparsity["dim_metadata"] or ()
    ]
    return found


class Description:
    """Details of a tensor that do not depend on its shape: looked up once, copied for every caller.

    With `compress_zero_points`, zero points that are all equal are given as one.
    """

    __slots__ = ("_fixed", "_scales", "_signature", "_zero_points")

    def __init__(self, tensor: Tensor, *, compress_zero_points: bool = False) -> None:
        quantization = tensor.quantization
        zero_points = quantization.zero_points
        if compress_zero_points and len(zero_points) > 1 and len(set(zero_points)) == 1:
            zero_points = zero_points[:1]
        self._scales = np.array(quantization.scales, np.float32)
        self._zero_points = np.array(zero_points, np.int64).astype(np.int32)  # LiteRT truncates them too
        self._signature = None if tensor.shape_signature is None else np.array(tensor.shape_signature, np.int32)
        self._fixed = (
            tensor.name,
            tensor.index,
            _reported_type(tensor.type),
            (quantization.scale, quantization.zero_point),
            quantization.quantized_dimension,
            quantization.block_size,
            tensor,
        )

    def of(self, shape: Shape) -> TensorDetails:
        """The details of the tensor with this shape; the arrays are new, and belong to the caller."""
        name, index, dtype, quantization, quantized_dimension, block_size, tensor = self._fixed
        now = np.array(shape, np.int32)
        return {
            "name": name,
            "index": index,
            "shape": now,
            "shape_signature": now.copy() if self._signature is None else self._signature.copy(),
            "dtype": dtype,
            "quantization": quantization,
            "quantization_parameters": {
                "scales": self._scales.copy(),
                "zero_points": self._zero_points.copy(),
                "quantized_dimension": quantized_dimension,
                "block_size": block_size,
            },
            "sparsity_parameters": _sparsity_parameters(tensor),
        }


def node_details(graph: Subgraph) -> list[NodeDetails]:
    """Every node of a subgraph: index, op_name, inputs, outputs, operand_types, result_types."""

    def types(indices: Sequence[int]) -> list[Any]:
        return [_reported_type(graph.tensors[i].type) for i in indices if i >= 0]

    return [
        {
            "index": node.index,
            "op_name": node.op,
            "inputs": np.array(node.inputs, np.int32),
            "outputs": np.array(node.outputs, np.int32),
            "operand_types": types(node.inputs),
            "result_types": types(node.outputs),
        }
        for node in graph.nodes
    ]
