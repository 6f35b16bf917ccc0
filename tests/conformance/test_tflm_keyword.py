"""A keyword spotter with an int8 state, for which LiteRT has no kernel: run after run equal to TensorFlow Lite
Micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.compare import compare
from support.micro import needs_micro, run_micro, run_steps

MODEL = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflm_keyword_scrambled_8bit.tflite"


@needs_micro
@pytest.mark.skipif(not MODEL.exists(), reason="the shared models are not here")
@pytest.mark.parametrize("loudness", [100, 3000, 30000])
def test_keyword(loudness: int) -> None:
    rng = np.random.default_rng(loudness)
    steps = [[rng.integers(-loudness, loudness, (1, 96)).astype(np.int16)] for _ in range(30)]
    content = MODEL.read_bytes()
    runs = zip(run_micro(content, steps), run_steps(content, steps), strict=True)
    for run, (expected, found) in enumerate(runs):
        compare(expected, found, 0, f"run {run}")
