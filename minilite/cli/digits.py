"""The embedded model at work: a digit recogniser that takes images of any size."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from minilite.format.model import Array
from minilite.interpreter import Interpreter
from minilite.options import Planner
from minilite.report import duration, table

DATA = Path(__file__).resolve().parent.parent / "data"
_INK = " .:-=+*#%@"
_WIDTH = 12
_ACROSS = 6
_PLANS = (("new", "plans"), ("seen", "plan_hits"))


def load_samples(path: Path = DATA / "samples.npz") -> list[tuple[Array, int]]:
    """Sample images (height, width) in [0, 1] with the digit that each shows."""
    with np.load(path, allow_pickle=False) as archive:
        labels = archive["labels"]
        return [(archive[f"image_{i}"], int(label)) for i, label in enumerate(labels)]


def thumbnail(image: Array, width: int = _WIDTH) -> list[str]:
    """Lines of text, `width` wide and half as many, that show an image (height, width) in [0, 1]."""
    rows = np.linspace(0, image.shape[0] - 1, width // 2).round().astype(int)
    columns = np.linspace(0, image.shape[1] - 1, width).round().astype(int)
    shades = (np.clip(image[np.ix_(rows, columns)], 0, 1) * (len(_INK) - 1)).round().astype(int)
    return ["".join(_INK[shade] for shade in row) for row in shades]


def run(planner: Planner, threads: int | None, repeat: int) -> None:
    """Recognises every sample, resizing the input in between; every size comes twice."""
    samples = load_samples()
    for start in range(0, len(samples), _ACROSS):
        pictures = [thumbnail(image) for image, _ in samples[start : start + _ACROSS]]
        print("\n".join("  ".join(lines).rstrip() for lines in zip(*pictures, strict=True)))
    interpreter = Interpreter(DATA / "digits.tflite", num_threads=threads, planner=planner)
    rows = [_recognise(interpreter, image, label, repeat) for image, label in samples]
    print(table(["size", "shows", "read as", "sure", "resize", "plan", "run", "arena bytes"], rows))
    right = sum(row[1] == row[2] for row in rows)
    counters = ", ".join(f"{name} {count}" for name, count in interpreter.counters.items())
    print(f"{right} of {len(rows)} right; {counters}")


def _recognise(interpreter: Interpreter, image: Array, label: int, repeat: int) -> list[str | int]:
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
    return [
        f"{image.shape[0]} x {image.shape[1]}",
        label,
        int(scores.argmax()),
        f"{float(scores.max()):.0%}",
        duration(resized - start),
        next((kind for kind, name in _PLANS if after[name] > before[name]), "same"),
        duration(float(np.median(times))),
        interpreter.arena_bytes,
    ]
