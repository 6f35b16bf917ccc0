"""Turns text into sound, a sentence at a time: the input has the sentence's length, and the output a length that only
the run finds out.

As in FastSpeech, each letter has a duration, and a "length regulator" repeats it for so many frames. Here a letter is a
tone of its own; a trained model has networks in these places.
"""

import numpy as np

from minilite import Interpreter
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

LETTERS, RATE, FRAME = " abcdefghijklmnopqrstuvwxyz", 8000, 80
FRAMES = [12 if letter in "aeiou" else 4 if letter == " " else 6 for letter in LETTERS]
INT, BOOL = TensorType.INT32, TensorType.BOOL


def build() -> bytes:
    """Letters (length,) -> samples (any number,)."""
    builder = ModelBuilder()
    g = builder.subgraph()
    pitches = 200 * 2 ** (np.arange(len(LETTERS)) / 12)
    tones = (
        np.sin(2 * np.pi * np.outer(np.round(pitches / 100) * 100, np.arange(FRAME)) / RATE) * (pitches > 200)[:, None]
    )
    zero, one, first, last = (
        g.constant(name, value) for name, value in (("0", 0), ("1", 1), ("[0]", [0]), ("[1]", [1]))
    )
    letters = g.input("letters", (8,), INT, signature=(-1,))
    frames = g.node("GATHER", [g.constant("frames", FRAMES), letters], out=("frames", (8,), INT))
    ends = g.node("CUMSUM", [frames, zero], out=("ends", (8,), INT))
    count = g.node("SUM", [frames, first], out=("count", (), INT))  # how many frames: known only in the run
    times = g.node("RANGE", [zero, count, one], out=("times", (96,), INT))
    times = g.node("EXPAND_DIMS", [times, one], out=("column", (96, 1), INT))
    passed = g.node("GREATER_EQUAL", [times, ends], out=("passed", (96, 8), BOOL))
    passed = g.node("CAST", [passed], out=("counted", (96, 8), INT))
    places = g.node("SUM", [passed, last], out=("places", (96,), INT))  # the letter of each frame
    spread = g.node("GATHER", [letters, places], out=("spread", (96,), INT))
    sound = g.node("GATHER", [g.constant("tones", tones.astype(np.float32)), spread], out=("sound", (96, FRAME)))
    g.output(g.node("RESHAPE", [sound, g.constant("line", [-1])], out=("samples", (96,))))
    return builder.build()


speaker = Interpreter(build())
for sentence in ("hello", "models have no fixed length", "hello", "goodbye"):
    letters = np.array([LETTERS.index(letter) for letter in sentence], np.int32)
    speaker.resize_tensor_input("letters", letters.shape)
    speaker.allocate_tensors()
    speaker.set_tensor("letters", letters)
    speaker.invoke()
    samples = speaker.get_tensor("samples")
    print(f"{sentence!r}: {len(samples) / RATE:.2f} s, loudest {abs(samples).max():.1f}, {speaker.arena_bytes} bytes")
print(speaker.counters["plans"], "plans,", speaker.counters["plan_hits"], "used again")
