"""Outputs that are images, masks or maps of classes: --out FILE.png, --draw, their ranges and shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.media import png

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.inputs.drawing import _place, draw_boxes, input_in_picture
from minilite.report.pictures import colour, picture_of, spread_text
from minilite.report.results import Labels, Output, values_text

SIDE = 16
MAP = np.zeros((SIDE, SIDE), np.int64)
MAP[4:12, 8:] = 2
MAP[15, 15] = 1


def output(array: Any, labels: Labels | None = None) -> Output:
    kind = {"f": TensorType.FLOAT32, "i": TensorType.INT64, "u": TensorType.UINT8}[array.dtype.kind]
    return Output(Tensor(0, "y", kind, array.shape), array, labels or Labels())


def model(*outputs: Any) -> bytes:
    """A model that takes a picture and gives constants."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("image", (1, SIDE, SIDE, 3))
    graph.output(*(graph.constant(f"out{at}", array) for at, array in enumerate(outputs)))
    return builder.build()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("p.png").write_bytes(png(np.full((320, 640, 3), 100, np.uint8)))
    return tmp_path


@pytest.mark.parametrize("shape", [(SIDE, SIDE), (1, SIDE, SIDE), (1, SIDE, SIDE, 1), (1, 1, SIDE, SIDE)])
def test_maps_of_classes_keep_their_numbers_and_have_a_palette(shape: tuple[int, ...], capsys: Any) -> None:
    Path("m.tflite").write_bytes(model(MAP.reshape(shape)))
    assert main(["run", "m.tflite", "p.png", "--out", "c.png"]) == 0
    text = capsys.readouterr().out
    assert "wrote c.png" in text
    assert "0: 74.6 %, 2: 25 %, 1: 0.391 %" in text
    with Image.open("c.png") as image:
        assert image.mode == "P"
        assert np.array_equal(np.asarray(image), MAP)
        assert [image.convert("RGB").getpixel(at) for at in ((0, 0), (9, 5), (15, 15))] == [
            colour(0),
            colour(2),
            colour(1),
        ]


def test_scores_of_classes_become_the_greatest(capsys: Any) -> None:
    scores = np.eye(5, dtype=np.float32)[MAP][None]
    found = picture_of(output(scores, Labels(("background", "car", "cat", "dog", "egg"))))
    assert found is not None
    assert (found.kind, found.note) == ("classes", "the greatest of 5 scores")
    assert np.array_equal(found.pixels, MAP)
    assert found.shares_text() == "background: 74.6 %, cat: 25 %, car: 0.391 %"
    three = picture_of(output(scores[..., :3], Labels(("background", "car", "cat"))))
    assert three is not None
    assert three.kind == "classes"
    named = picture_of(output(MAP.astype(np.float32), Labels(("background", "car", "cat"), of_values=True)))
    assert named is not None
    assert named.shares_text() == found.shares_text()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.linspace(0, 1, 256), np.arange(256)),
        (np.linspace(-1, 1, 256), np.arange(256)),
        (np.linspace(0, 255, 256), np.arange(256)),
        (np.linspace(-0.02, 1.02, 256), np.clip(np.round(np.linspace(-0.02, 1.02, 256) * 255), 0, 255)),
        (np.linspace(-8, 3, 256), np.arange(256)),
        (np.full(256, 7.0), np.full(256, 7)),
        (np.where(np.arange(256) == 3, np.nan, 0.0), np.zeros(256)),
    ],
)
def test_real_numbers_become_bytes_by_the_range_in_which_they_lie(values: Any, expected: Any) -> None:
    mask = picture_of(output(values.reshape(1, 16, 16, 1).astype(np.float32)))
    assert mask is not None
    assert (mask.kind, mask.pixels.dtype) == ("mask", np.uint8)
    np.testing.assert_allclose(mask.pixels.reshape(-1), expected, atol=1)
    image = picture_of(output(np.repeat(values.reshape(16, 16, 1), 3, -1).astype(np.float32)))
    assert image is not None
    assert (image.kind, image.pixels.shape) == ("image", (16, 16, 3))
    assert np.array_equal(image.pixels[..., 1], mask.pixels)


def test_what_is_no_picture(capsys: Any) -> None:
    for shape in ((1, 1001), (1, 10, 4), (1, 7, 7, 3), (4, 16, 16, 3), (16, 16, 16, 1, 1), (1, 16, 16, 512), ()):
        assert picture_of(output(np.zeros(shape, np.float32))) is None
    assert picture_of(output(np.full((16, 16), -1, np.int64))).kind == "mask"  # type: ignore[union-attr]
    assert picture_of(output(np.full((16, 16), 200, np.uint8))).kind == "mask"  # type: ignore[union-attr]
    Path("m.tflite").write_bytes(model(np.zeros((1, 10), np.float32)))
    assert main(["run", "m.tflite", "p.png", "--out", "c.png"]) == 2
    assert (
        "no output is an image, a mask or a map of classes: 'out0' 1x10; give a .npy or .npz" in capsys.readouterr().err
    )
    assert not Path("c.png").exists()
    assert main(["run", "m.tflite", "p.png", "--draw", "d.png"]) == 2
    assert "or one that is a mask or a map of classes" in capsys.readouterr().err
    assert main(["run", "m.tflite", "p.png", "--out", "none/c.png"]) == 2
    assert "there is no folder 'none'" in capsys.readouterr().err


def test_several_pictures_have_the_names_of_their_outputs() -> None:
    Path("m.tflite").write_bytes(model(MAP, np.zeros((1, 4), np.float32), np.zeros((1, SIDE, SIDE, 3), np.float32)))
    assert main(["run", "m.tflite", "--out", "c.jpg"]) == 0
    assert sorted(path.name for path in Path().glob("c*")) == ["c_out0.jpg", "c_out2.jpg"]


def test_a_map_and_a_mask_are_drawn_over_the_picture() -> None:
    mask = np.zeros((1, SIDE, SIDE, 1), np.float32)
    mask[:, :8] = 1
    for array, drawn, plain in ((MAP, (480, 160), (80, 280)), (mask, (480, 40), (480, 280))):
        Path("m.tflite").write_bytes(model(array))
        assert main(["run", "m.tflite", "p.png", "--draw", "d.png"]) == 0
        with Image.open("d.png") as image:
            assert image.size == (640, 320)
            assert image.getpixel(plain) == (100, 100, 100)
            assert image.getpixel(drawn) != (100, 100, 100)
    Path("m.tflite").write_bytes(model(mask))
    assert main(["run", "m.tflite", "p.png", "--fit", "crop", "--draw", "d.png"]) == 0
    with Image.open("d.png") as image:  # the model saw the middle, 320 x 320
        assert [image.getpixel((x, 40)) != (100, 100, 100) for x in (40, 320, 600)] == [False, True, False]


def test_where_the_input_lies_in_the_picture() -> None:
    assert input_in_picture((640, 320), (16, 16), "stretch") == (0, 0, 640, 320)
    assert input_in_picture((640, 320), (16, 16), "crop") == (160, 0, 480, 320)
    assert input_in_picture((640, 320), (16, 16), "pad") == (0, -160, 640, 480)


def test_large_outputs_show_their_range() -> None:
    assert values_text(output(np.linspace(-1, 3, 200, dtype=np.float32).reshape(1, 2, 100))) == "-1 to 3, mean 1"
    assert values_text(output(np.arange(4, dtype=np.float32))) == "0 1 2 3"
    assert "greatest" in values_text(output(np.arange(200, dtype=np.float32).reshape(1, 200)))
    assert spread_text(np.array([1.0, np.nan, np.inf, 3.0])) == "1 to 3, mean 2, 2 not finite"
    assert spread_text(np.full(3, np.nan)) == "none is finite"
    assert spread_text(np.repeat([5, 7, 7, 7], 50)) == "7: 75 %, 5: 25 %"
    assert spread_text(np.arange(100)) == "0 to 99, mean 49.5"


def test_labels_grow_with_the_picture_and_leave_each_other_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve boxes with one corner: no label lies on another, and those of a large picture are larger."""
    heights = []
    for side in (300, 3000):
        taken: list[Any] = []

        def placed(*arguments: Any, taken: list[Any] = taken) -> Any:
            taken.append(_place(*arguments))
            return taken[-1]

        monkeypatch.setattr("minilite.inputs.drawing._place", placed)
        data = png(np.zeros((side, side, 3), np.uint8))
        draw_boxes("p", data, [((5.0, 5.0, 90.0, 90.0), f"person {n}", n) for n in range(12)], Path("b.png"))
        assert len(taken) == 12
        for at, (left, top, right, bottom) in enumerate(taken):
            assert left >= 0
            assert 0 <= top < bottom <= side
            assert all(bottom < other[1] or other[3] < top or right < other[0] for other in taken[:at])
        heights.append(taken[0][3] - taken[0][1])
    assert heights[1] > 4 * heights[0]
