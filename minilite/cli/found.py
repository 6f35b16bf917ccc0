"""Shows and draws the objects that a detector found, for `minilite run`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.cli.arguments import UsageError
from minilite.cli.output import width
from minilite.cli.writing import distinct
from minilite.engine.engine import engine_of
from minilite.inputs import read_source
from minilite.inputs.drawing import draw_boxes, draw_over, in_picture, input_in_picture
from minilite.report.detections import Box, Detection, detection_facts, detections, detections_text
from minilite.report.pictures import Picture, colour, picture_of
from minilite.report.results import Output

if TYPE_CHECKING:
    from minilite.inputs import Reading
    from minilite.inputs.feed import Fit
    from minilite.interpreter import Interpreter

_MASK = (230, 25, 75)
"""The colour of a mask over a picture."""
_MOST_NAMED = 12
"""The number of classes in a legend."""
LEAST = 0.3
"""The least score of objects that are shown without --min-score."""


class Found(NamedTuple):
    """The objects of a run whose score is high enough, and their boxes in the picture, if one was given."""

    objects: list[Detection]
    hidden: int
    """The number of objects that are not shown."""
    least: float
    places: list[Box] | None

    def text(self) -> str:
        """Returns the objects as a table."""
        return detections_text(self.objects, self.hidden, self.least, self.places, width())

    def facts(self) -> list[dict[str, Any]]:
        """Returns the objects as plain values."""
        return detection_facts(self.objects, self.places)

    def line(self) -> str:
        """Returns the objects in a few words."""
        return ", ".join(f"{one.name} {one.score:.3g}" for one in self.objects[:3]) or "nothing"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds options about the objects that detectors find."""
    parser.add_argument(
        "--draw", metavar="PATH", type=Path,
        help="write the picture with the boxes that a detector found, or with a mask or a map of classes over it; with several "
        "pictures: a folder",
    )  # fmt: skip
    parser.add_argument(
        "--min-score", metavar="S", type=float, help=f"show objects that a detector found from this score on (default: {LEAST})"
    )  # fmt: skip


def found_in(
    interpreter: Interpreter, outputs: Sequence[Output], given: Mapping[int, Reading], options: argparse.Namespace
) -> Found | None:
    """Returns the objects that a detector found; None for other models. Raises: UsageError if --draw has nothing to
    draw."""
    every = detections(interpreter.model, outputs, engine_of(interpreter).root)
    pictures = [reading for reading in given.values() if reading.size is not None]
    if options.draw is not None and (not pictures or (every is None and overlay(outputs) is None)):
        lacks = _DRAWN if pictures else "a picture among its inputs"
        message = f"--draw {options.draw}: takes {lacks}"
        raise UsageError(message)
    if every is None:
        return None
    least = LEAST if options.min_score is None else options.min_score
    objects = [one for one in every if one.score >= least]
    places = None
    if pictures:
        size, seen = pictures[0].size, pictures[0].seen
        assert size is not None
        assert seen is not None
        places = [in_picture(one.box, size, seen, options.fit or "stretch") for one in objects]
    return Found(objects, len(every) - len(objects), least, places)


_DRAWN = (
    "a model whose outputs are boxes, classes and scores, or one that is a mask or a map of classes; "
    "--out FILE.png writes an output that is an image"
)


def overlay(outputs: Sequence[Output]) -> Picture | None:
    """Returns the first output that can be drawn over a picture."""
    found = (picture_of(output) for output in outputs)
    return next((picture for picture in found if picture is not None and picture.kind != "image"), None)


def draw_overlay(picture: Picture, reading: Reading, fit: Fit, source: str, path: Path) -> Path:
    """Writes the picture with a mask or a map of classes over it to a file. Raises: InputError."""
    assert reading.size is not None
    assert reading.seen is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    shares = picture.pixels / np.float32(255)
    colours, legend = np.broadcast_to(np.array(_MASK, np.uint8), (*shares.shape, 3)), []
    if picture.kind == "classes":
        shares, colours = (picture.pixels != 0).astype(np.float32), picture.colours()
        legend = [(picture.name(number), colour(number)) for number, _ in picture.shares()[:_MOST_NAMED]]
    place = input_in_picture(reading.size, reading.seen, fit)
    draw_over(source, read_source(source), colours, shares, place, legend, path)
    return path


def drawings(target: Path | None, sources: Sequence[str]) -> list[Path]:
    """Returns the path of each file's drawn picture: `target` itself, or in this folder the file's own name, with a
    number if names repeat; empty without `target`."""
    if target is None:
        return []
    if target.suffix and not target.is_dir():
        return [target] * len(sources)
    return [target / f"{stem}.png" for stem in distinct(Path(source).stem for source in sources)]


def draw(found: Found, source: str, path: Path) -> Path:
    """Writes the picture with boxes to a file. Raises: InputError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    boxes = [
        (place, f"{one.name} {one.score:.2f}", one.number)
        for one, place in zip(found.objects, found.places or [], strict=True)
    ]
    draw_boxes(source, read_source(source), boxes, path)
    return path
