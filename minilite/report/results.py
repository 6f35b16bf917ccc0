"""Prints the results of a run as text: real numbers, the first values, classes by score with their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite.engine.float_values import floats
from minilite.errors import InputError
from minilite.format.dtypes import TensorType
from minilite.format.metadata import Metadata, split_labels
from minilite.format.model import Array, Tensor
from minilite.format.origin import looks_like
from minilite.report.pictures import picture_of, spread_text
from minilite.text import cut, shape_text, table, wrapped

SHOWN = 6
"""The number of values in a line."""
_MANY = 100
"""From more values on, their range is shown in place of the first ones, unless they are scores."""
_ROWS = 4
"""The number of rows of a batch that are ranked in text."""


class Labels(NamedTuple):
    """The labels of an output."""

    texts: tuple[str, ...] = ()
    of_values: bool = False
    """True if each value is the number of a label; else each element of the last dimension has a label."""

    def of(self, number: int) -> str:
        """Returns the label of a number; empty if there is none."""
        return self.texts[number] if 0 <= number < len(self.texts) else ""


class Output(NamedTuple):
    """An output of a run."""

    tensor: Tensor
    array: Array
    """The values in the tensor's type."""
    labels: Labels = Labels()

    @property
    def values(self) -> Array:
        """The values, as real numbers if the tensor is quantized."""
        return floats(self.tensor, self.array)

    @property
    def classes(self) -> int:
        """The size of the last dimension; 0 if the elements are not scores."""
        return self.array.shape[-1] if self.array.ndim and self.array.dtype.kind in "fiu" else 0


def labels_of(metadata: Metadata, outputs: int) -> list[Labels]:
    """Returns the labels of each output in the model's file. Raises: ModelFormatError."""
    found = []
    for output in range(outputs):
        file = metadata.label_file(output)
        found.append(Labels(metadata.labels(output), file is not None and file.labels == "value"))
    return found


def given_labels(
    data: bytes, name: str, tensors: Sequence[Tensor], arrays: Sequence[Array], told: Sequence[Labels]
) -> list[Labels]:
    """Returns the labels of a file for the outputs that have as many classes, or whose values are numbers of labels.

    Raises: InputError if there is no such output.
    """
    if b"\0" in data:
        guess = looks_like(memoryview(data))
        message = f"{name} holds no labels, which are text, one per line{f': it looks like {guess}' if guess else ''}"
        raise InputError(message)
    texts = split_labels(data)
    found = []
    for tensor, array, labels in zip(tensors, arrays, told, strict=True):
        fits = Output(tensor, array).classes == len(texts)
        found.append(Labels(texts, labels.of_values) if fits or labels.of_values else Labels())
    if not any(labels.texts for labels in found):
        shapes = (
            ", ".join(f"'{cut(t.name)}' {shape_text(a.shape)}" for t, a in zip(tensors, arrays, strict=True)) or "none"
        )
        message = f"{name} has {len(texts)} labels, no output has as many classes: {shapes}"
        raise InputError(message)
    return found


def ranking(output: Output, top: int) -> list[list[dict[str, Any]]]:
    """Returns, for each row of the last dimension, the `top` classes with the greatest values: class, label, score."""
    if not output.classes:
        return []
    rows = output.values.reshape(-1, output.classes)
    ranked = np.argsort(-rows.astype(np.float64), axis=-1, kind="stable")[:, :top]
    return [
        [{"class": int(i), "label": output.labels.of(int(i)) or None, "score": row[i].item()} for i in order]
        for row, order in zip(rows, ranked, strict=True)
    ]


def output_facts(output: Output, top: int | None) -> dict[str, Any]:
    """Returns an output as plain values: name, index, shape, type, scale and zero point, values, classes by score."""
    tensor, values = output.tensor, output.values
    facts: dict[str, Any] = {
        "name": tensor.name,
        "index": tensor.index,
        "shape": list(output.array.shape),
        "type": tensor.type.name.lower(),
        "scale": float(tensor.quantization.scale) if tensor.quantization.scales else None,
        "zero_point": int(tensor.quantization.zero_point) if tensor.quantization.scales else None,
        "values": values,
    }
    if is_ranked(output, top):
        facts["top"] = ranking(output, top if top is not None else 5)
    if output.labels.of_values:
        facts["labels"] = _value_labels(output)
    return facts


def _value_labels(output: Output) -> list[str]:
    values = output.values.ravel()
    return [output.labels.of(int(value)) if math.isfinite(value) else "" for value in values.tolist()]


def is_ranked(output: Output, top: int | None) -> bool:
    """True if an output is shown by class: it has one label per class, or the user requested it and there is more than
    one class."""
    if output.labels.of_values or output.classes < 2:
        return False
    return top is not None or len(output.labels.texts) == output.classes


def values_text(output: Output) -> str:
    """Returns the first values, or their labels; also the greatest of many scores in a row. Of many values the range,
    of a map of classes their shares."""
    values = output.values.ravel()
    if values.size > _MANY and output.classes != values.size and values.dtype.kind in "fiub":
        picture = picture_of(output)
        return picture.shares_text() if picture is not None and picture.kind == "classes" else spread_text(values)
    more = " ..." if values.size > SHOWN else ""
    if more and output.classes == values.size and not output.labels.of_values and not np.isnan(values).all():
        best = int(np.nanargmax(values))
        more = f" ..., greatest {_value(values[best].item(), output.tensor.type)} at {best}"
    if output.labels.of_values:
        return ", ".join(_value_labels(output)[:SHOWN]) + more
    return " ".join(_value(value, output.tensor.type) for value in values[:SHOWN].tolist()) + more


def _value(value: Any, kind: TensorType) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value) if kind == TensorType.STRING else str(value)


def ranking_text(output: Output, top: int, width: int | None) -> str:
    """Returns a table of the classes with the greatest scores, row by row of the batch."""
    ranked = ranking(output, top)
    rows: list[list[str | int | None]] = []
    for number, best in enumerate(ranked[:_ROWS]):
        rows += [
            [number if len(ranked) > 1 else None, one["class"], one["label"], f"{one['score']:.3g}"] for one in best
        ]
    more = f", the first {_ROWS} of {len(ranked)} rows" if len(ranked) > _ROWS else ""
    head = f"top {min(top, output.classes)} of the {output.classes} classes of '{cut(output.tensor.name)}'{more}"
    return wrapped(head, width) + "\n" + table(["row", "class", "label", "score"], rows, width=width)
