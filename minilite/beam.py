"""MiniliteModelHandler: a model for the RunInference transform of Apache Beam."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import PredictionResult
from apache_beam.utils.shared import Shared

from minilite import options
from minilite.batch.predictor import Predictor
from minilite.errors import InputError, MiniliteError, listed

if TYPE_CHECKING:
    from minilite.format.model import Array

    ModelHandler = object  # type checkers seldom have apache_beam, and would not know what the class has
else:
    from apache_beam.ml.inference.base import ModelHandler

BATCH_BYTES = 64 << 20
"""Bytes of arena that the elements of a batch take together, if the caller does not say otherwise."""


class MiniliteModelHandler(ModelHandler):
    """A model for RunInference: ``elements | RunInference(MiniliteModelHandler("model.tflite"))``.

    An element is an array, for a model with one input, or a mapping from inputs to arrays, without their batch
    dimension. The `inference` of its PredictionResult maps outputs to arrays; with ``on_error="skip"``, ``error`` to a
    text or None. Elements may differ in shape and are never padded: the weight of an element is the bytes of the arena
    that its shapes need, found by a plan, and Beam makes batches of up to `max_batch_weight` of them. Which elements of
    a batch run together is the Predictor's choice.

    `model` is a path, or an address that Beam's file systems open, on the machine of the worker. A process loads it
    once; each of its threads runs a clone of its own. All other arguments are Predictor's.
    Raises: InputError; in the pipeline as Predictor.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        signature: str | None = None,
        batch: int | Literal["auto"] = "auto",
        max_bytes: int | None = None,
        num_threads: int = 1,
        on_error: Literal["raise", "skip"] = "raise",
        *,
        real: bool = False,
        custom_ops: Mapping[str, Any] | None = None,
        max_batch_weight: int = BATCH_BYTES,
    ) -> None:
        self._weight = options.checked_count("max_batch_weight", max_batch_weight, 1, "bytes")
        arguments = (signature, batch, max_bytes, num_threads, on_error)
        self._loader = _Loader(os.fspath(model), arguments, {"real": real, "custom_ops": custom_ops}, Shared())
        super().__init__()

    def load_model(self) -> Predictor:
        """The Predictor that all threads of the process call. Raises: as Predictor; what Beam raises for an address."""
        return self._loader()

    def update_model_path(self, model_path: str | None = None) -> None:
        """The model that is loaded next. Weights of elements remain those of the first model."""
        if model_path:
            self._loader = self._loader._replace(model=model_path, shared=Shared())

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        """Refuses any: a model takes nothing but its inputs. Raises: InputError."""
        if inference_args:
            message = f"inference_args are {inference_args!r}, must be None: a model takes only its inputs"
            raise InputError(message)

    def batch_elements_kwargs(self) -> dict[str, Any]:
        """The arguments of Beam's BatchElements: batches of up to `max_batch_weight` bytes from the first one on, where
        Beam alone would begin with 1 and time its way up."""
        weigh = _Weight(self._loader, self._weight)
        return {"min_batch_size": self._weight, "max_batch_size": self._weight, "element_size_fn": weigh}

    def run_inference(
        self,
        batch: Sequence[Any],
        model: Predictor,
        inference_args: dict[str, Any] | None = None,  # noqa: ARG002 - Beam passes it
    ) -> list[PredictionResult]:
        """The result of each element, in their order. Raises: as Predictor; an error names the element as a row."""
        rows = [_row(element, model, f"element {number} of the batch") for number, element in enumerate(batch)]
        columns = model({name: [row[name] for row in rows] for name in model.inputs})
        return [
            PredictionResult(element, {name: column[at] for name, column in columns.items()}, self._loader.model)
            for at, element in enumerate(batch)
        ]

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """Bytes of the elements' arrays."""
        arrays = [a for element in batch for a in (element.values() if isinstance(element, Mapping) else [element])]
        return sum(np.asarray(array).nbytes for array in arrays)

    def get_metrics_namespace(self) -> str:
        """Where Beam counts batches, bytes and times of this handler."""
        return "BeamML_Minilite"


class _Loader(NamedTuple):
    """Gives the one Predictor of a process; travels to workers without it."""

    model: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    shared: Any

    def __call__(self) -> Predictor:
        found: Predictor = self.shared.acquire(self._opened)
        return found

    def _opened(self) -> Predictor:
        source: str | bytes = self.model
        if "://" in self.model:
            with FileSystems.open(self.model) as file:
                source = file.read()
        return Predictor(source, *self.arguments, **self.keywords)


class _Weight(NamedTuple):
    """The weight of an element: bytes of the arena that its shapes need, `most` for what needs more."""

    loader: _Loader
    most: int

    def __call__(self, element: Any) -> int:
        if isinstance(element, tuple):  # a KeyedModelHandler gives pairs of key and element
            element = element[-1]
        predictor = self.loader()
        try:
            return max(1, min(predictor.arena_bytes(_row(element, predictor, "an element")), self.most))
        except MiniliteError:  # its run says what is wrong
            return 1


def _row(element: Any, predictor: Predictor, where: str) -> Mapping[str, Array]:
    """The arrays of an element by input. Raises: InputError."""
    names = list(predictor.inputs)
    if not isinstance(element, Mapping):
        if len(names) != 1:
            message = f"{where} is of type {type(element).__name__}, must map the inputs {listed(names)} to arrays"
            raise InputError(message)
        return {names[0]: element}
    if missing := [name for name in names if name not in element]:
        message = f"{where} has no '{missing[0]}': it has {', '.join(map(repr, element)) or 'nothing'}"
        raise InputError(message, tensors=missing)
    return element
