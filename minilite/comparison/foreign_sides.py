"""Sides of a comparison that are no .tflite files: an ONNX model, and arrays in a folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.engine.float_values import floats
from minilite.errors import InputError, listed, shortened
from minilite.text import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.comparison.sides import Side
    from minilite.format.model import Array, Subgraph

_FIRST_TO_LAST = {3: (1, 2, 0), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""The order of dimensions that puts channels last, by rank."""


def foreign_side(source: Any, graph: Subgraph) -> Side | None:
    """Returns the side for an .onnx file or a folder of .npy files; None for other sources. Raises: InputError."""
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if path.suffix == ".onnx":
        return OnnxSide(path, graph)
    return FolderSide(path, graph) if path.is_dir() and any(path.glob("*.npy")) else None


class FolderSide:
    """Arrays that were made elsewhere: a .npy file for each tensor, by its name, or as many as there are outputs, in
    the order of their names."""

    def __init__(self, folder: Path, graph: Subgraph) -> None:
        self.graph: Subgraph = graph
        self._folder = folder
        files = {path.stem: path for path in sorted(folder.glob("*.npy"))}
        computed = [index for node in graph.nodes for index in node.outputs if index >= 0]
        by_name = {index: stem_of(graph.tensors[index].name) for index in (*computed, *graph.outputs)}
        self._files = {index: files[stem] for index, stem in by_name.items() if stem in files}
        if not set(self._files) & set(graph.outputs) and len(files) == len(graph.outputs):
            self._files |= dict(zip(graph.outputs, files.values(), strict=True))
        if not self._files:
            names = listed(graph.tensors[index].name for index in graph.outputs)
            message = f"{folder} has {listed(files)}, none of which is named as a tensor is: the outputs are {names}"
            raise InputError(message)

    @property
    def label(self) -> str:
        """Names the folder and the number of its arrays."""
        return f"{len(self._files)} arrays in {self._folder}"

    @property
    def code(self) -> tuple[str, ...]:
        """The folder, which no other side shares."""
        return ("folder", str(self._folder))

    def run(self, inputs: Mapping[int, Array]) -> None:
        """Does nothing: the arrays are those of a run elsewhere."""

    def value(self, index: int) -> tuple[Array | None, str]:
        """Returns the array of a tensor. Raises: InputError."""
        from minilite.inputs.files import load_array

        path = self._files.get(index)
        if path is None:
            return None, "no array in the folder"
        return load_array(path.read_bytes(), str(path)), ""


def stem_of(name: str) -> str:
    """Returns the name of a tensor's file, as `minilite run --out FOLDER` writes it."""
    return re.sub(r"[^\w.-]", "_", name)[:200].lstrip(".") or "output"


class OnnxSide:
    """An ONNX model that onnxruntime runs, on the real numbers of the inputs. Inputs and outputs go by name, else by
    order; channels are moved where the shapes say so."""

    def __init__(self, path: Path, graph: Subgraph) -> None:
        try:
            import onnxruntime
        except ImportError:
            message = f"{path}: running an ONNX model takes onnxruntime: pip install onnxruntime"
            raise InputError(message) from None
        self.graph: Subgraph = graph
        self._path, self._version = path, onnxruntime.__version__
        try:
            self._session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - its errors are of many classes
            message = f"onnxruntime could not load {str(path)!r}: {' '.join(str(error).split())}"
            raise InputError(message) from None
        self._values: dict[int, Array] = {}

    @property
    def label(self) -> str:
        """Names the runtime: ``onnxruntime 1.32.0``."""
        return f"onnxruntime {self._version}"

    @property
    def code(self) -> tuple[str, ...]:
        """The name of the runtime."""
        return ("onnxruntime",)

    def run(self, inputs: Mapping[int, Array]) -> None:
        """Runs once. Raises: InputError."""
        wanted, graph = self._session.get_inputs(), self.graph
        pairs = _paired([each.name for each in wanted], graph, graph.inputs, f"inputs of {self._path.name}")
        feeds = {}
        for each in wanted:
            tensor = graph.tensors[pairs[each.name]]
            array = inputs[tensor.index]
            real = floats(tensor, array) if tensor.quantization.scales else array
            feeds[each.name] = _moved(np.asarray(real), each.shape, to_first=True)
        try:
            found = self._session.run(None, feeds)
        except Exception as error:  # noqa: BLE001 - its errors are of many classes
            message = f"onnxruntime could not run {str(self._path)!r}: {' '.join(str(error).split())}"
            raise InputError(message) from None
        names = [each.name for each in self._session.get_outputs()]
        outputs = _paired(names, graph, graph.outputs, f"outputs of {self._path.name}")
        self._values = {outputs[name]: np.asarray(array) for name, array in zip(names, found, strict=True)}

    def value(self, index: int) -> tuple[Array | None, str]:
        """Returns an output, with channels last if its shape is then the tensor's."""
        if index not in self._values:
            return None, "no output of the ONNX model"
        return _moved(self._values[index], self.graph.tensors[index].shape, to_first=False), ""


def _paired(names: list[str], graph: Subgraph, numbers: tuple[int, ...], what: str) -> dict[str, int]:
    """Maps names to tensors: by name where all are known, else by order. Raises: InputError."""
    known = {graph.tensors[index].name: index for index in numbers}
    if set(names) <= set(known):
        return {name: known[name] for name in names}
    if len(names) != len(numbers):
        message = f"the {what} are {listed(names)}, the model's are {listed(known)}"
        raise InputError(message)
    return dict(zip(names, numbers, strict=True))


def _moved(array: Array, shape: Any, *, to_first: bool) -> Array:
    """Moves the channels if the array has the wanted shape (numbers, others are open) only then. Raises: InputError."""
    wanted = [dim if isinstance(dim, int) and dim > 0 else None for dim in shape]

    def fits(sizes: tuple[int, ...]) -> bool:
        return len(sizes) == len(wanted) and all(b is None or a == b for a, b in zip(sizes, wanted, strict=True))

    order = _FIRST_TO_LAST.get(array.ndim)
    if fits(array.shape) or order is None:
        return array
    moved = array.transpose(np.argsort(order) if to_first else order)
    if to_first and not fits(moved.shape):
        message = f"an input of shape {shape_text(array.shape)} does not fit the ONNX model's {shortened(str(shape))}"
        raise InputError(message)
    return np.ascontiguousarray(moved) if fits(moved.shape) else array
