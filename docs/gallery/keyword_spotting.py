"""Spots keywords in a stream: each run takes 20 ms of sound, and the model remembers the last 200 ms.

Two whistles take the place of keywords, so that the weights are simple enough to be in the program: a filter for each,
and an SVDF, which keeps the last ten energies of each filter in a variable and returns their mean.
"""

import numpy as np

from minilite import Interpreter
from minilite.format.builder import ModelBuilder

RATE, PIECE, MEMORY, WORDS = 16000, 320, 10, {"low": 400, "high": 1200}


def build() -> bytes:
    """Sound (1, 320) -> a loudness for each word (1, 2)."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    phase = 2 * np.pi / RATE * np.outer(list(WORDS.values()), np.arange(PIECE))
    waves = np.stack([np.cos(phase), np.sin(phase)], 1).reshape(-1, PIECE).astype(np.float32) * 2 / PIECE
    plain = {"fused_activation_function": "NONE"}
    sound = graph.input("sound", (1, PIECE))
    found = graph.node("FULLY_CONNECTED", [sound, graph.constant("waves", waves)], out=("found", (1, 4)), options=plain)
    energy = graph.node("MUL", [found, found], out=("energy", (1, 4)), options=plain)
    pairs = graph.constant("pairs", np.eye(2, dtype=np.float32).repeat(2, axis=1))  # a word is a cosine and a sine
    mean = graph.constant("mean", np.full((2, MEMORY), 1 / MEMORY, np.float32))
    memory = graph.variable("memory", (1, 2 * MEMORY))
    options = {"rank": 1, **plain}
    graph.output(graph.node("SVDF", [energy, pairs, mean, -1, memory], out=("loudness", (1, 2)), options=options))
    return builder.build()


spotter = Interpreter(build())
rng = np.random.default_rng(1)
stream = rng.normal(0, 0.2, 3 * RATE).astype(np.float32)  # three seconds of noise, with words in it
for word, start in (("low", 0.5), ("high", 1.2), ("low", 2.2)):
    first = int(start * RATE)
    stream[first : first + 4800] += np.sin(2 * np.pi * WORDS[word] / RATE * np.arange(4800)).astype(np.float32)

heard = None
for start in range(0, len(stream), PIECE):
    loudness = spotter.run(stream[None, start : start + PIECE])["loudness"][0]
    word = list(WORDS)[loudness.argmax()] if loudness.max() > 0.6 else None
    if word and word != heard:
        print(f"{(start + PIECE) / RATE:.2f} s: {word}")
    heard = word
usage = spotter.usage
print(f"{len(stream) // PIECE} runs, {spotter.counters['plans']} plan, {usage.arena_bytes} bytes in the arena")

spotter.reset_all_variables()  # another stream: forgets what was heard
print(spotter.run(np.zeros((1, PIECE), np.float32))["loudness"])
