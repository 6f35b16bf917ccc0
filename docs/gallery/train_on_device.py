"""Trains on a device: signatures train, infer, save, restore share weights, which another process gets from a file."""

import subprocess
import sys
import tempfile

import numpy as np

from minilite import Interpreter
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

WEIGHTS, CLASSES, PLAIN = (3, 4), (1, 3), {"fused_activation_function": "NONE"}


def build() -> bytes:
    """Three classes of four features, for any number of rows; a step of training follows the slope of the loss."""
    builder = ModelBuilder()
    for name in ("infer", "train", "save", "restore", "first"):
        g, inputs = builder.subgraph(name), {}
        handle = g.node("VAR_HANDLE", [], out=("handle", (), TensorType.RESOURCE), options={"shared_name": "w"})
        if name == "first":
            g.node("ASSIGN_VARIABLE", [handle, g.constant("zeros", np.zeros(WEIGHTS, np.float32))])
            continue
        g.node("CALL_ONCE", [], options={"init_subgraph_index": 4})
        if name == "restore":
            inputs["w"] = g.input("w", WEIGHTS)
            g.node("ASSIGN_VARIABLE", [handle, inputs["w"]])
        outputs = {"w": (w := g.node("READ_VARIABLE", [handle], out=("read", WEIGHTS)))}
        if name in ("infer", "train"):
            x = inputs["x"] = g.input("x", (1, 4), signature=(-1, 4))
            logits = g.node("FULLY_CONNECTED", [x, w], out=("logits", CLASSES), options=PLAIN)
            outputs = {"y": (y := g.node("SOFTMAX", [logits], out=("y", CLASSES), options={"beta": 1.0}))}
        if name == "train":
            inputs["wanted"] = g.input("wanted", CLASSES, signature=(-1, 3))
            error = g.node("SUB", [y, inputs["wanted"]], out=("error", CLASSES), options=PLAIN)
            slope = g.node("BATCH_MATMUL", [error, x], out=("slope", WEIGHTS), options={"adj_x": True})
            step = g.node("MUL", [slope, g.constant("rate", 0.05)], out=("step", WEIGHTS), options=PLAIN)
            g.node("ASSIGN_VARIABLE", [handle, g.node("SUB", [w, step], out=("new", WEIGHTS), options=PLAIN)])
            square = g.node("MUL", [error, error], out=("square", CLASSES), options=PLAIN)
            outputs = {"loss": g.node("MEAN", [square, g.constant("all", [0, 1])], out=("loss", ()))}
        g.output(*outputs.values())
        builder.signature(name, inputs, outputs, g)
    return builder.build()


x = np.random.default_rng(5).normal(0, 1, (30, 4)).astype(np.float32)
classes = x[:, :3].argmax(1)  # a row's class is the largest of its first three features
infer, train, save, restore = map(Interpreter(build()).get_signature_runner, ("infer", "train", "save", "restore"))
if restored := sys.argv[1:2] == ["restore"]:
    restore(w=np.load(sys.argv[2]))
else:
    losses = [float(train(x=x, wanted=np.eye(3, dtype=np.float32)[classes])["loss"]) for _ in range(20)]
    print(f"loss {losses[0]:.3f}, after 20 steps {losses[-1]:.3f}")
print((infer(x=x)["y"].argmax(1) == classes).sum(), "of 30 right" + " in another process" * restored)
if not restored:
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, save()["w"])
        print(subprocess.check_output([sys.executable, __file__, "restore", file.name], text=True), end="")
