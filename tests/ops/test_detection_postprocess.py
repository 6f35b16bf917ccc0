"""TFLite_Detection_PostProcess: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.compare import EPS, check, compare, run_litert
from support.node import Array, Given, OneNode, Out, const, scaled, values

from minilite.errors import KernelError, ShapeError, UnsupportedOpError

SCALES = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
OPTIONS: dict[str, Any] = {
    "max_detections": 10, "max_classes_per_detection": 1, "nms_score_threshold": 0.1, "nms_iou_threshold": 0.5,
    "num_classes": 6, **SCALES,
}  # fmt: skip
OUTS = [Out("f32")] * 4


def flexbuffer(options: Any) -> bytes:
    return bytes(flexbuffers.Dumps(options))


def anchors_of(rng: np.random.Generator, count: int) -> Array:
    """Centres all over the place, sizes that overlap often."""
    return np.concatenate([rng.uniform(0, 1, (count, 2)), rng.uniform(0.05, 0.6, (count, 2))], axis=1, dtype=np.float32)


def detection(
    rng: np.random.Generator,
    kinds: Any = ("f32", "f32"),
    count: int = 60,
    background: int = 1,
    width: int = 4,
    **options: Any,
) -> OneNode:
    text = {**OPTIONS, **options}
    code, scores = kinds
    shapes = {0: (1, count, width), 1: (1, count, text["num_classes"] + background)}
    given = [
        Given(values(rng, kind, shapes[i], 2.0), quantization=scaled(rng, kind, 0.01, 0.05))
        for i, kind in enumerate(kinds)
    ]
    if scores == "f32":  # all different
        ranks = rng.permutation(given[1].array.size) / given[1].array.size
        given[1] = Given(ranks.reshape(shapes[1]).astype(np.float32))
    if code == "f32":
        given.append(Given(anchors_of(rng, count)))
    else:
        given.append(Given(values(rng, "u8", (count, 4)), quantization=scaled(rng, "u8")._replace(zero_points=(0,))))
    return OneNode("TFLite_Detection_PostProcess", given, outs=OUTS, custom=flexbuffer(text))


def every_type(rng: Any, inputs: Any, outputs: Any) -> Any:
    return detection(rng, inputs[:2]), {"tolerance": 64 * EPS}


def agree(node: OneNode) -> None:
    """Compares with LiteRT, which leaves old values in rows without a box."""
    found = check(node.model, node.arrays, tolerance=64 * EPS, oracle=None)
    theirs = run_litert(node.model, node.arrays)
    rows = int(found[3][0])
    assert [y.shape for y in theirs] == [y.shape for y in found]
    assert theirs[3][0] == rows
    for a, b in zip(theirs[:3], found[:3], strict=True):
        compare([a[:, :rows]], [b[:, :rows]], 64 * EPS, "LiteRT against C")
        assert not b[:, rows:].any()


EVERY_TYPE = {"TFLite_Detection_PostProcess": every_type}


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("background", [0, 1])
@pytest.mark.parametrize("score", [-1.0, 0.3, 0.95, 2.0])
def test_options(regular: bool, background: int, score: float) -> None:
    rng = np.random.default_rng(8)
    for overlap, most, classes in ((0.5, 10, 6), (0.01, 100, 1), (1.0, 7, 90), (0.3, 1, 3)):
        options = {"nms_iou_threshold": overlap, "max_detections": most, "num_classes": classes}
        node = detection(
            rng, count=40, background=background, use_regular_nms=regular, nms_score_threshold=score, **options
        )
        agree(node)


@pytest.mark.parametrize("kinds", [("f32", "f32"), ("f32", "u8"), ("u8", "u8"), ("u8", "f32")])
@pytest.mark.parametrize("per_class", [1, 5, 100])
def test_by_class(kinds: Any, per_class: int) -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        detection(rng, kinds, use_regular_nms=True, detections_per_class=per_class).check(tolerance=1024 * EPS)


def test_classes_of_a_box() -> None:
    rng = np.random.default_rng(9)
    detection(rng, count=60, max_classes_per_detection=3, max_detections=2).check(tolerance=64 * EPS)
    detection(rng, count=60, max_classes_per_detection=8, max_detections=20).check(tolerance=64 * EPS, oracle=None)


def test_wide_boxes() -> None:
    """Key points after the first four numbers are skipped."""
    detection(np.random.default_rng(1), width=16).check(tolerance=64 * EPS)


def test_equal_scores_and_empty_boxes() -> None:
    """The first of equals; a box without area overlaps none."""
    count = 30
    given = [
        np.zeros((1, count, 4), np.float32),
        np.full((1, count, 7), 0.5, np.float32),
        np.zeros((count, 4), np.float32),
    ]
    given[2][::3, 2:] = 0.5
    for regular in (False, True):
        custom = flexbuffer({**OPTIONS, "use_regular_nms": regular})
        OneNode("TFLite_Detection_PostProcess", given, outs=OUTS, custom=custom).check(tolerance=EPS)


def test_nan() -> None:
    node = detection(np.random.default_rng(2))
    node.arrays[1][0, ::2, 3] = np.nan
    node.check(tolerance=64 * EPS)


def test_nothing() -> None:
    for regular in (False, True):
        node = detection(np.random.default_rng(2), count=0, use_regular_nms=regular)
        node.check(tolerance=64 * EPS, oracle=None)  # LiteRT reads beyond its arrays


def test_boxes_that_are_turned_round() -> None:
    node = detection(np.random.default_rng(2))
    node.arrays[2][7, 2] *= -1
    node.refused(KernelError, "box 7 has its corners in the wrong order: its anchor has height -")


def shaped(*shapes: Any) -> OneNode:
    given = [np.zeros(shape, np.float32) for shape in shapes]
    return OneNode("TFLite_Detection_PostProcess", given, outs=OUTS, custom=flexbuffer(OPTIONS))


def test_refused_shapes() -> None:
    for shapes, words in (
        [((2, 5, 4), (1, 5, 7), (5, 4)), r"boxes must be \(1, count, 4 or more\), their shape is \(2, 5, 4\)"],
        [((1, 5, 4), (1, 5, 8), (5, 4)), r"scores must be \(1, 5, 6 or 7\), their shape is \(1, 5, 8\)"],
        [((1, 5, 4), (1, 4, 7), (5, 4)), r"scores must be \(1, 5, 6 or 7\)"],
    ):
        shaped(*shapes).refused(ShapeError, words)
    words = r"anchors must be \(5, 4\), their shape is \(4, 4\)"
    shaped((1, 5, 4), (1, 5, 7), (4, 4)).refused(ShapeError, words, by_litert=False)  # LiteRT reads beyond them


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("max_detections", 0, "option max_detections is 0, expected 1 to"),
        ("num_classes", -1, "option num_classes is -1, expected 1 to"),
        ("nms_iou_threshold", 1.5, "option nms_iou_threshold is 1.5, must be above 0 and at most 1"),
        ("y_scale", None, "option y_scale is missing, must be a number"),
        ("y_scale", "ten", "option y_scale is text, must be a number"),
    ],
)
def test_refused_options(option: str, value: Any, words: str) -> None:
    given = [np.zeros(shape, np.float32) for shape in ((1, 5, 4), (1, 5, 7), (5, 4))]
    options = {name: text for name, text in {**OPTIONS, option: value}.items() if text is not None}
    node = OneNode("TFLite_Detection_PostProcess", given, outs=OUTS, custom=flexbuffer(options))
    node.refused(UnsupportedOpError, words, by_litert=False)


@pytest.mark.parametrize("data", [b"", b"\0", b"nonsense", bytes(flexbuffers.Dumps([1, 2]))])
def test_refused_bytes(data: bytes) -> None:
    given = [np.zeros(shape, np.float32) for shape in ((1, 5, 4), (1, 5, 7), (5, 4))]
    node = OneNode("TFLite_Detection_PostProcess", given, outs=OUTS, custom=data)
    node.refused(UnsupportedOpError, "custom options are", by_litert=False)


def test_types_refused() -> None:
    rng = np.random.default_rng(1)
    node = OneNode(
        "TFLite_Detection_PostProcess",
        [values(rng, "f32", (1, 5, 4)), values(rng, "f32", (1, 5, 7)), const(np.zeros((5, 4)))],
        outs=OUTS,
        custom=flexbuffer(OPTIONS),
    )
    node.refused(UnsupportedOpError, "types f32 f32 s32 -> f32 f32 f32 f32 of boxes scores anchors")
