"""Generates tokens with a small transformer: a run takes one token, and the caches stay where they are.

One layer with one head and random weights. The arrays `keys` and `values` are bound both as the caches that a run reads
and as those that it writes, so that it writes one row of each and copies nothing.
"""

import numpy as np

from minilite import Interpreter
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

VOCABULARY, WIDTH, PLACES = 50, 32, 128
rng = np.random.default_rng(4)
weights = {name: rng.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)).astype(np.float32) for name in ("q", "k", "v", "o")}
weights |= {name: rng.normal(0, 1, (VOCABULARY, WIDTH)).astype(np.float32) for name in ("words", "logits")}


def build() -> bytes:
    """token (1,), place (2,), mask (1, 128), keys and values (128, 32) -> next (1,), and both caches."""
    builder = ModelBuilder()
    g = builder.subgraph()
    constants = {name: g.constant(name, array) for name, array in weights.items()}
    plain, row, cache = {"fused_activation_function": "NONE"}, (1, WIDTH), (PLACES, WIDTH)

    def product(x: int, name: str, outputs: int = WIDTH) -> int:
        return g.node("FULLY_CONNECTED", [x, constants[name]], out=(f"{name}_of_x", (1, outputs)), options=plain)

    token, place = g.input("token", (1,), TensorType.INT32), g.input("place", (2,), TensorType.INT32)
    mask, keys, values = g.input("mask", (1, PLACES)), g.input("keys", cache), g.input("values", cache)
    x = g.node("GATHER", [constants["words"], token], out=("x", row))
    new_keys = g.node("DYNAMIC_UPDATE_SLICE", [keys, product(x, "k"), place], out=("new_keys", cache))
    new_values = g.node("DYNAMIC_UPDATE_SLICE", [values, product(x, "v"), place], out=("new_values", cache))
    scores = g.node("BATCH_MATMUL", [product(x, "q"), new_keys], out=("s", (1, PLACES)), options={"adj_y": True})
    scores = g.node("ADD", [scores, mask], out=("masked", (1, PLACES)), options=plain)
    shares = g.node("SOFTMAX", [scores], out=("shares", (1, PLACES)), options={"beta": WIDTH**-0.5})
    seen = g.node("BATCH_MATMUL", [shares, new_values], out=("seen", row))
    x = g.node("ADD", [x, product(seen, "o")], out=("y", row), options=plain)
    axis = g.constant("axis", [1])
    choice = g.node("ARG_MAX", [product(x, "logits", VOCABULARY), axis], out=("next", (1,), TensorType.INT32))
    g.output(choice, new_keys, new_values)
    return builder.build()


step = Interpreter(build(), preserve_inputs=False)
token, place, mask = np.array([7], np.int32), np.zeros(2, np.int32), np.full((1, PLACES), -1e9, np.float32)
keys, values = np.zeros((2, PLACES, WIDTH), np.float32)
inputs = {"token": token, "place": place, "mask": mask, "keys": keys, "values": values}
for name, array in {**inputs, "next": token, "new_keys": keys, "new_values": values}.items():
    step.bind_tensor(name, array)
step.allocate_tensors()

chosen = []
for place[0] in range(10):
    mask[0, place[0]] = 0
    step.invoke()  # writes the next token over the last one
    chosen.append(token.item())
print("tokens", *chosen)
print(f"{keys.any(axis=1).sum()} rows of the caches are filled; the arena has {step.arena_bytes} bytes")
