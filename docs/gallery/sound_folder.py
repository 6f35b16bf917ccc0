"""Classifies every .wav of a folder, each at its own length: nothing is cut or filled up.

The model takes any number of samples. It compares the sound with three pitches, 32 ms at a time, and takes the mean
over time; a model that was trained is used in the same way.
"""

import tempfile
import wave
from pathlib import Path

import numpy as np

from minilite import Interpreter
from minilite.format.builder import ModelBuilder
from minilite.inputs import Feed, load_input

RATE, WINDOW, PITCHES = 8000, 256, {"bell": 880, "hum": 110, "whistle": 2200}


def build() -> bytes:
    """Sound (1, length) -> an energy for each pitch (1, 3)."""
    builder = ModelBuilder()
    g = builder.subgraph()
    phase = 2 * np.pi / RATE * np.outer(list(PITCHES.values()), np.arange(WINDOW))
    waves = np.concatenate([np.cos(phase), np.sin(phase)]).astype(np.float32).reshape(6, 1, WINDOW, 1)
    plain = {"fused_activation_function": "NONE"}
    sound = g.input("sound", (1, 2 * WINDOW), signature=(1, -1))  # -1: any length
    line = g.node("RESHAPE", [sound, g.constant("line", [1, 1, -1, 1])], out=("line", (1, 1, 2 * WINDOW, 1)))
    options = {"stride_w": WINDOW // 2, "stride_h": 1, "padding": "VALID", **plain}
    matches = g.node("CONV_2D", [line, g.constant("waves", waves)], out=("matches", (1, 1, 3, 6)), options=options)
    energy = g.node("MUL", [matches, matches], out=("energy", (1, 1, 3, 6)), options=plain)
    mean = g.node("MEAN", [energy, g.constant("time", [1, 2])], out=("mean", (1, 6)))
    parts = g.node(
        "SPLIT", [g.constant("axis", 1), mean], out=[("cos", (1, 3)), ("sin", (1, 3))], options={"num_splits": 2}
    )
    g.output(g.node("ADD", list(parts), out=("pitch", (1, 3)), options=plain))
    return builder.build()


def record(path: Path, pitch: float, seconds: float) -> None:
    """Writes a tone as 16-bit samples."""
    samples = np.sin(2 * np.pi * pitch / RATE * np.arange(int(RATE * seconds))) * 9000
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())


listener = Interpreter(build())
sound = listener.model.subgraphs[0].tensors[0]
with tempfile.TemporaryDirectory() as folder:
    for name, pitch, seconds in (("a", 110, 0.25), ("b", 2200, 1.5), ("c", 880, 0.7), ("d", 110, 1.5)):
        record(Path(folder, f"{name}.wav"), pitch, seconds)
    for path in sorted(Path(folder).glob("*.wav")):
        reading = load_input(path, Feed.of(sound))
        heard = listener.run(reading.array)["pitch"].argmax()
        print(f"{path.name}: {reading.note}: {list(PITCHES)[heard]}; arena {listener.arena_bytes} bytes")
print(listener.counters["plans"], "plans,", listener.counters["plan_hits"], "used again")
