"""TFLite_Detection_PostProcess: decodes boxes around anchors, and keeps the best of those that overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minilite.errors import KernelError
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.fixed_point import dequantize
from minilite.ops_shared.operator import OpNode, reference
from minilite.ops_shared.tensors import input_of


def _params(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "most": int(options["max_detections"]),
        "most_classes": int(options["max_classes_per_detection"]),
        "most_of_class": int(options.get("detections_per_class", 100)),
        "by_class": bool(options.get("use_regular_nms", False)),
        "classes": int(options["num_classes"]),
        "score": options["nms_score_threshold"],
        "overlap": options["nms_iou_threshold"],
        **{f"{side}_scale": options[f"{side}_scale"] for side in "yxhw"},
    }


def _decoded(p: dict[str, Any], code: Array, anchors: Array) -> Array:
    """Corners (top, left, bottom, right) of boxes given as centre and size relative to their anchors'. Raises:
    KernelError."""
    wide, anchor = code[:, :4].astype(np.float64), anchors.astype(np.float64)
    scales = np.array([p[f"{side}_scale"] for side in "yxhw"], np.float32).astype(np.float64)
    sizes = anchor[:, 2:]
    centre = (wide[:, :2] / scales[:2] * sizes + anchor[:, :2]).astype(np.float32)
    half = (0.5 * np.exp(wide[:, 2:] / scales[2:]) * sizes).astype(np.float32)
    corners = np.concatenate([centre - half, centre + half], axis=1)
    turned = (corners[:, :2] > corners[:, 2:]).any(axis=1)
    if turned.any():
        at = int(turned.argmax())
        message = f"box {at} has its corners in the wrong order: its anchor has height {anchors[at, 2]:g}, width {anchors[at, 3]:g}"
        raise KernelError(message)
    return corners


def _overlaps(box: Array, others: Array) -> Array:
    """The intersection of a box with others, divided by the union."""
    area, areas = (np.prod(found[..., 2:] - found[..., :2], axis=-1) for found in (box, others))
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.prod(np.maximum(sides, np.float32(0)), axis=-1)
    return np.where((area <= 0) | (areas <= 0), np.float32(0), shared / (area + areas - shared))


def _suppressed(p: dict[str, Any], corners: Array, scores: Array, most: int) -> list[int]:
    """Boxes, best first, without those that a better one overlaps too much."""
    order = np.flatnonzero(scores >= np.float32(p["score"]))
    order = order[np.argsort(-scores[order], kind="stable")]
    chosen: list[int] = []
    while order.size and len(chosen) < most:
        chosen.append(int(order[0]))
        order = order[1:][~(_overlaps(corners[order[0]], corners[order[1:]]) > np.float32(p["overlap"]))]
    return chosen


def _by_boxes(p: dict[str, Any], corners: Array, scores: Array) -> list[list[tuple[int, int]]]:
    """Each box that stays, with each of its best classes."""
    best = np.array([row[_best_classes(row, 1)[0]] for row in scores], np.float32)
    chosen = _suppressed(p, corners, best, p["most"])
    return [[(i, k) for k in _best_classes(scores[i], p["most_classes"])] for i in chosen]


def _best_classes(row: Array, most: int) -> list[int]:
    """Positions in order of descending scores. The first is always included, even if it is NaN."""
    first = 0
    for k in range(1, len(row)):
        first = k if row[k] > row[first] else first
    order = [k for k in np.argsort(-row, kind="stable").tolist() if k != first and row[k] <= row[first]]
    return [first, *order][:most]


def _by_classes(p: dict[str, Any], corners: Array, scores: Array) -> list[list[tuple[int, int]]]:
    """Selects per class, then takes the best of all; of equal scores the first class."""
    most = min(p["most_of_class"], p["most"])
    found = [(i, k) for k in range(p["classes"]) for i in _suppressed(p, corners, scores[:, k], most)]
    found.sort(key=lambda pair: -float(scores[pair]))
    return [[pair] for pair in found[: p["most"]]]


@reference(
    "TFLite_Detection_PostProcess",
    rounding={
        "": "boxes in float64, rounded to float32; areas in float32; of equal scores the first",
    },
    options=scalars,
)
def detection(node: OpNode, code: Array, scores: Array, anchors: Array) -> tuple[Array, ...]:
    """Boxes, classes, scores and their number; unused entries are 0."""
    p = _params(node.options)
    code, scores, anchors = (
        dequantize(array, input_of(node, i)) if array.dtype == np.uint8 else array
        for i, array in enumerate((code, scores, anchors))
    )
    corners = _decoded(p, code[0], anchors)
    scores = scores[0, :, scores.shape[2] - p["classes"] :]
    found = (_by_classes if p["by_class"] else _by_boxes)(p, corners, scores)
    boxes = np.zeros((p["most"] * p["most_classes"], 4), np.float32)
    rows = np.zeros((2, len(boxes)), np.float32)
    for i, pairs in enumerate(found):
        for j, (anchor, label) in enumerate(pairs):
            at = i + j if p["by_class"] else i * p["most_classes"] + j
            boxes[at], rows[:, at] = corners[anchor], (label, scores[anchor, label])
    return boxes[None], rows[:1], rows[1:], np.array([len(found)], np.float32)
