"""Detection: the objects that a detector found, put together from its outputs: boxes, classes and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minilite.errors import ModelFormatError
from minilite.format.model import Model
from minilite.report.results import Output
from minilite.text import table, wrapped

OPERATOR = "TFLite_Detection_PostProcess"
"""Its outputs are boxes, classes, scores and their number, in this order."""
_ROLES = {"location": "boxes", "category": "classes", "score": "scores", "number of detections": "count"}
"""The names of outputs in metadata."""
Box = tuple[float, float, float, float]


class Detection(NamedTuple):
    """An object: its class, its score and its box."""

    number: int
    """The number of the class."""
    label: str
    score: float
    box: Box
    """Top, left, bottom, right, as fractions of the model's input."""

    @property
    def name(self) -> str:
        """The label, or the number if there is none."""
        return self.label or str(self.number)


def detections(model: Model, outputs: Sequence[Output], root: int = 0) -> list[Detection] | None:
    """Returns the objects in the first picture of a run of the subgraph `root`, best first; None if it is not a
    detector."""
    places = roles(model, root)
    if places is None:
        return None
    found_in = {role: outputs[at] for role, at in places.items()}
    boxes, classes, scores = (found_in[role].values for role in ("boxes", "classes", "scores"))
    if boxes.shape[-1:] != (4,) or not boxes.shape[:2] == classes.shape == scores.shape or not boxes.size:
        return None
    count = int(found_in["count"].values.reshape(-1)[0]) if "count" in found_in else boxes.shape[1]
    labels = found_in["classes"].labels
    found = [
        Detection(
            int(kind), labels.of(int(kind)), float(score), (float(box[0]), float(box[1]), float(box[2]), float(box[3]))
        )
        for kind, score, box in zip(classes[0], scores[0], boxes[0], strict=True)
    ]
    return sorted(found[: max(count, 0)], key=lambda one: -one.score)


def roles(model: Model, root: int = 0) -> Mapping[str, int] | None:
    """Finds the outputs of a detector that are boxes, classes, scores and, if there is one, their number: by the
    operator that makes them, else by their names. None if the model is not a detector."""
    graph = model.subgraphs[root]
    places = {index: at for at, index in enumerate(graph.outputs)}
    names = tuple(_ROLES.values())
    for node in graph.nodes:
        if node.op == OPERATOR and set(node.outputs[:3]) <= set(places):
            return {name: places[i] for name, i in zip(names, node.outputs, strict=False) if i in places}
    if root:  # the metadata describe subgraph 0
        return None
    try:
        told = [_ROLES.get((about.name or "").lower()) for about in model.metadata.outputs]
    except ModelFormatError:
        return None
    found = {role: at for at, role in enumerate(told[: len(graph.outputs)]) if role is not None}
    return found if {"boxes", "classes", "scores"} <= set(found) else None


def detections_text(
    shown: Sequence[Detection], hidden: int, least: float, places: Sequence[Box] | None, width: int
) -> str:
    """Returns a table of the objects: in pixels of the picture (left, top, right, bottom) if `places` has them, else in
    fractions of the model's input."""
    head = f"found {len(shown)}" + (f", and {hidden} with a score below {least:g}" if hidden else "")
    if not shown:
        return wrapped(head, width)
    rows: list[list[str | int | float]] = []
    for at, one in enumerate(shown):
        top, left, bottom, right = one.box
        sides = [round(side) for side in places[at]] if places else [round(s, 3) for s in (left, top, right, bottom)]
        rows.append([one.number, one.label, round(one.score, 3), *sides])
    head += ", in pixels" if places else ", in fractions of the input"
    names = ["class", "label", "score", "left", "top", "right", "bottom"]
    return wrapped(head, width) + "\n" + table(names, rows, width=width)


def detection_facts(found: Sequence[Detection], places: Sequence[Box] | None) -> list[dict[str, Any]]:
    """Returns the objects as plain values: `box` is left, top, right, bottom in fractions, `pixels` in pixels of the
    picture."""
    return [
        {
            "class": one.number,
            "label": one.label or None,
            "score": one.score,
            "box": [one.box[1], one.box[0], one.box[3], one.box[2]],
            "pixels": list(places[at]) if places else None,
        }
        for at, one in enumerate(found)
    ]
