"""TensorFlow Lite Micro's audio preprocessor: bands of loudness from samples, frame by frame, equal to those of its own
interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.compare import compare
from support.micro import needs_micro, run_micro, run_steps

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"


@needs_micro
@pytest.mark.parametrize("kind", ["float", "int8"])
def test_preprocessor(kind: str) -> None:
    path = MODELS / f"tflm_audio_preprocessor_{kind}.tflite"
    if not path.exists():
        pytest.skip("the shared models are not here")
    rng = np.random.default_rng(0)
    tone = 9000 * np.sin(np.arange(480) / 7)
    loud = [0, 1, 30, 3000, 30000, 300, 10]
    steps = [
        [np.clip(rng.normal(size=480) * by + tone * (by > 100), -32767, 32767).astype(np.int16)[None]] for by in loud
    ]
    for run, (expected, found) in enumerate(
        zip(run_micro(path.read_bytes(), steps), run_steps(path.read_bytes(), steps), strict=True)
    ):
        compare(expected, found, 0, f"run {run}")
