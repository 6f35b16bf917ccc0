"""Classifies pictures of different sizes with one interpreter, each at its own size."""

from pathlib import Path

import numpy as np

import minilite

data = Path(minilite.__file__).parent / "data"  # the model and the pictures that minilite brings
samples = np.load(data / "samples.npz")
interpreter = minilite.Interpreter(data / "digits.tflite")

for number, right in enumerate(samples["labels"]):
    picture = samples[f"image_{number}"].astype(np.float32)  # from 0 (paper) to 1 (ink)
    kept = interpreter.counters["plan_hits"]
    scores = interpreter.run(picture[None, :, :, None])["probabilities"]  # resizes the input, plans its memory, runs
    plan = "kept" if interpreter.counters["plan_hits"] > kept else "new"
    height, width = picture.shape
    print(
        f"{height:2} x {width:2}: {scores.argmax()}, should be {right}; arena {interpreter.arena_bytes:5}, {plan} plan"
    )
