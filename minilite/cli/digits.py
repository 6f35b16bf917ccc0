"""Demonstrates the embedded model: a digit recogniser that takes images of any size."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minilite.cli.output import print_json, width
from minilite.format.model import Array
from minilite.interpreter import Interpreter
from minilite.options import Planner
from minilite.report import duration, table
from minilite.terminal import say
from minilite.text import count, wrapped

DATA = Path(__file__).resolve().parent.parent / "data"
_INK = " .:-=+*#%@"
_WIDTH = 12
_ACROSS = 6
_PLANS = (("new", "plans"), ("seen", "plan_hits"))


def load_samples(path: Path = DATA / "samples.npz") -> list[tuple[Array, int]]:
    """Loads sample images (height, width) in [0, 1], with the digit in each."""
    with np.load(path, allow_pickle=False) as archive:
        labels = archive["labels"]
        return [(archive[f"image_{i}"], int(label)) for i, label in enumerate(labels)]


def thumbnail(image: Array, width: int = _WIDTH) -> list[str]:
    """Returns lines of text, `width` wide and half as many, that show an image (height, width) in [0, 1]."""
    rows = np.linspace(0, image.shape[0] - 1, width // 2).round().astype(int)
    columns = np.linspace(0, image.shape[1] - 1, width).round().astype(int)
    shades = (np.clip(image[np.ix_(rows, columns)], 0, 1) * (len(_INK) - 1)).round().astype(int)
    return ["".join(_INK[shade] for shade in row) for row in shades]


class Recognised(NamedTuple):
    """The digit found in one sample, and its time."""

    height: int
    width: int
    shows: int
    read: int
    score: float
    resize_seconds: float
    plan: str
    """The plan of its size: "new", "seen" or "same"."""
    run_seconds: float
    arena_bytes: int


def run(planner: Planner, threads: int | None, repeat: int, *, as_json: bool = False) -> None:
    """Recognises every sample, resizing the input in between; every size comes twice."""
    samples = load_samples()
    interpreter = Interpreter(DATA / "digits.tflite", num_threads=threads, planner=planner)
    found = [_recognise(interpreter, image, label, repeat) for image, label in samples]
    if as_json:
        print_json({"model": "digits", "samples": [one._asdict() for one in found], "counters": interpreter.counters})
        return
    across = max(1, min(_ACROSS, (width() + 2) // (_WIDTH + 2)))
    for start in range(0, len(samples), across):
        pictures = [thumbnail(image) for image, _ in samples[start : start + across]]
        say("\n".join("  ".join(lines).rstrip() for lines in zip(*pictures, strict=True)))
    rows: list[list[str | int]] = [
        [
            f"{one.height} x {one.width}",
            one.shows,
            one.read,
            f"{one.score:.0%}",
            duration(one.resize_seconds),
            one.plan,
            duration(one.run_seconds),
            one.arena_bytes,
        ]
        for one in found
    ]
    header = ["size", "shows", "read as", "sure", "resize", "plan", "run", "arena bytes"]
    say(table(header, rows, width=width(), spare=("arena bytes",)))
    right = sum(one.shows == one.read for one in found)
    plans, again = interpreter.counters["plans"], interpreter.counters["plan_hits"]
    say(wrapped(f"{right} of {len(found)} right; {count(plans, 'plan')} made, {again} used again", width()))


def _recognise(interpreter: Interpreter, image: Array, label: int, repeat: int) -> Recognised:
    source = int(interpreter.get_input_details()[0]["index"])
    target = int(interpreter.get_output_details()[0]["index"])
    before = interpreter.counters
    start = time.perf_counter()
    interpreter.resize_tensor_input(source, (1, *image.shape, 1))
    interpreter.allocate_tensors()
    resized = time.perf_counter()
    after = interpreter.counters
    interpreter.set_tensor(source, image.reshape(1, *image.shape, 1).astype(np.float32))
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        interpreter.invoke()
        times.append(time.perf_counter() - begun)
    scores = interpreter.get_tensor(target).ravel()
    return Recognised(
        image.shape[0],
        image.shape[1],
        label,
        int(scores.argmax()),
        float(scores.max()),
        resized - start,
        next((kind for kind, name in _PLANS if after[name] > before[name]), "same"),
        float(np.median(times)),
        interpreter.arena_bytes,
    )
