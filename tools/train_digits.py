"""Trains the embedded model, minilite/data/digits.tflite, and writes it and its sample images.

    pip install -e '.[dev]'
    python tools/train_digits.py        # a minute or two; prints held-out accuracy by size

A fully convolutional network: five convolutions of 3 x 3 and one of 1 x 1 make a map of ten scores, their MEAN over the
map and SOFTMAX the answer, so that one file serves images of any size from 8 x 8 on. It learns from scikit-learn's
digits (1,797 images of 8 x 8: Alpaydin and Kaynak, UCI repository, CC BY 4.0), stretched to random sizes and laid on
random canvases. Plain numpy: the gradients are written out below. What is held out is never trained on, and the samples
are taken from it unseen.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the products are small: threads would mostly wait for each other

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from minilite.format.builder import ModelBuilder

Array = NDArray[np.float32]
DATA = Path(__file__).resolve().parent.parent / "minilite" / "data"
HELD_OUT = 450
BATCH = 32
SAMPLE_SIZES = ((8, 8), (12, 12), (16, 16), (24, 24), (16, 24), (10, 14))


class Layer(NamedTuple):
    """A convolution with SAME padding, as CONV_2D: filter (height and width `size`), channels out, stride."""

    size: int
    channels: int
    stride: int
    relu: bool = True


LAYERS = (
    Layer(3, 8, 1),
    Layer(3, 12, 2),
    Layer(3, 20, 2),
    Layer(3, 24, 1),
    Layer(3, 22, 1),
    Layer(1, 10, 1, relu=False),
)


# The network ----------------------------------------------------------------------------------------------------------


def new_parameters(rng: np.random.Generator) -> list[Array]:
    """A filter (channels out, height, width, channels in) and a bias per layer, filters as He et al. draw them."""
    parameters = []
    depth = 1
    for layer in LAYERS:
        spread = np.sqrt(2 / (layer.size**2 * depth))
        filters = rng.normal(0, spread, (layer.channels, layer.size, layer.size, depth))
        parameters += [filters.astype(np.float32), np.zeros(layer.channels, np.float32)]
        depth = layer.channels
    return parameters


def paddings(length: int, layer: Layer) -> tuple[int, int]:
    """SAME: what CONV_2D pads before and after, the odd one after."""
    total = max((-(-length // layer.stride) - 1) * layer.stride + layer.size - length, 0)
    return total // 2, total - total // 2


def unfold(x: Array, layer: Layer) -> Array:
    """The patches under each filter position: (batch, height out, width out, size, size, depth)."""
    around = ((0, 0), paddings(x.shape[1], layer), paddings(x.shape[2], layer), (0, 0))
    windows = sliding_window_view(np.pad(x, around), (layer.size, layer.size), axis=(1, 2))
    strided = windows[:, :: layer.stride, :: layer.stride]
    return np.ascontiguousarray(strided.transpose(0, 1, 2, 4, 5, 3))


def fold(patches: Array, shape: tuple[int, ...], layer: Layer) -> Array:
    """The transpose of `unfold`: sums what the patches hold of each element of an x of `shape`."""
    batch, height, width, depth = shape
    (top, bottom), (left, right) = paddings(height, layer), paddings(width, layer)
    x = np.zeros((batch, height + top + bottom, width + left + right, depth), np.float32)
    down, across = (np.arange(patches.shape[axis]) * layer.stride for axis in (1, 2))
    for i in range(layer.size):
        for j in range(layer.size):
            x[:, down[0] + i : down[-1] + i + 1 : layer.stride, across[0] + j : across[-1] + j + 1 : layer.stride] += (
                patches[:, :, :, i, j]
            )
    return x[:, top : top + height, left : left + width]


def forward(parameters: list[Array], x: Array) -> tuple[Array, list[tuple[Array, Array, tuple[int, ...]]]]:
    """Logits (batch, 10), and per layer what the way back needs: patches, output, shape of the input."""
    trace = []
    for layer, filters, bias in zip(LAYERS, parameters[::2], parameters[1::2], strict=True):
        patches = unfold(x, layer)
        y = patches.reshape(-1, filters[0].size) @ filters.reshape(layer.channels, -1).T + bias
        y = y.reshape(*patches.shape[:3], layer.channels)
        if layer.relu:
            y = np.maximum(y, 0)
        trace.append((patches, y, x.shape))
        x = y
    return x.mean(axis=(1, 2)), trace


def gradients(parameters: list[Array], x: Array, labels: NDArray[Any]) -> tuple[float, list[Array]]:
    """The mean cross entropy, and its gradient by every parameter."""
    logits, trace = forward(parameters, x)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    loss = float(-np.log(odds[np.arange(len(labels)), labels] + 1e-9).mean())
    odds[np.arange(len(labels)), labels] -= 1
    height, width = trace[-1][1].shape[1:3]
    error = np.broadcast_to((odds / (len(labels) * height * width))[:, None, None], trace[-1][1].shape)
    found: list[Array] = []
    for number in reversed(range(len(LAYERS))):
        layer, filters = LAYERS[number], parameters[2 * number]
        patches, y, shape = trace[number]
        flat = (error * (y > 0) if layer.relu else error).reshape(-1, layer.channels)
        columns = patches.reshape(len(flat), -1)
        found = [(flat.T @ columns).reshape(filters.shape), flat.sum(axis=0), *found]
        if number:
            error = fold((flat @ filters.reshape(layer.channels, -1)).reshape(patches.shape), shape, layer)
    return loss, found


# The images -----------------------------------------------------------------------------------------------------------


def stretch(images: Array, height: int, width: int) -> Array:
    """Images (batch, h, w) brought to another size, linearly between the centres of their pixels."""
    down, across = (_weights(new, old) for new, old in zip((height, width), images.shape[1:], strict=True))
    return down @ images @ across.T


def _weights(new: int, old: int) -> Array:
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    return np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(old))).astype(np.float32)


def varied(rng: np.random.Generator, images: Array) -> Array:
    """A batch as the model may meet it: any size, the digit anywhere on its canvas, some contrast and noise."""
    base = float(rng.uniform(8, 28))
    height, width = (int(np.clip(round(base * s), 8, 32)) for s in rng.uniform(0.8, 1.25, 2))
    above, below, left, right = (int(rng.integers(0, base / 4 + 1)) if rng.random() < 0.5 else 0 for _ in range(4))
    if rng.random() < 0.4:
        height = width = int(rng.choice((8, 8, 10, 12, 16, 24)))
        above = below = left = right = 0
    digits = np.pad(stretch(images, height, width), ((0, 0), (above, below), (left, right)))
    contrast = rng.uniform(0.8, 1.15, (len(images), 1, 1))
    noise = rng.normal(0, 0.04, digits.shape)
    return np.clip(digits * contrast + noise, 0, 1).astype(np.float32)[..., None]


def split(rng: np.random.Generator) -> tuple[tuple[Array, NDArray[Any]], tuple[Array, NDArray[Any]]]:
    """Splits the digits into a training set and a held-out set: images (batch, 8, 8) in [0, 1] and labels."""
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    images, labels = (digits.images / 16).astype(np.float32)[order], digits.target[order]
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])


# Training -------------------------------------------------------------------------------------------------------------


def train(rng: np.random.Generator, images: Array, labels: NDArray[Any], epochs: int) -> list[Array]:
    """Adam, its rate falling along half a cosine; weights decay."""
    parameters = new_parameters(rng)
    means = [np.zeros_like(p) for p in parameters]
    squares = [np.zeros_like(p) for p in parameters]
    steps = epochs * (len(labels) // BATCH)
    step = 0
    for epoch in range(epochs):
        order = rng.permutation(len(labels))
        losses = []
        for start in range(0, len(labels) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            loss, slopes = gradients(parameters, varied(rng, images[chosen]), labels[chosen])
            losses.append(loss)
            step += 1
            rate = 4e-3 * min(step / 50, 0.5 + 0.5 * np.cos(np.pi * step / steps))
            for p, slope, mean, square in zip(parameters, slopes, means, squares, strict=True):
                mean += 0.1 * (slope - mean)
                square += 0.01 * (slope * slope - square)
                corrected = np.sqrt(square / (1 - 0.99**step)) + 1e-7
                p -= (rate * (mean / (1 - 0.9**step) / corrected + 2e-3 * p * (p.ndim > 1))).astype(np.float32)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    return parameters


def accuracy(parameters: list[Array], images: Array, labels: NDArray[Any], height: int, width: int) -> float:
    """The share of images, stretched to that size, that are read right."""
    logits, _ = forward(parameters, stretch(images, height, width)[..., None])
    return float((logits.argmax(axis=1) == labels).mean())


# Writing --------------------------------------------------------------------------------------------------------------


def model(parameters: list[Array]) -> bytes:
    """The network as a .tflite file."""
    builder = ModelBuilder(description="minilite: handwritten digits at any size from 8 x 8 on, tools/train_digits.py")
    g = builder.subgraph("main")
    image = x = g.input("image", (1, 8, 8, 1), signature=(-1, -1, -1, 1))
    height = width = 8
    for number, layer in enumerate(LAYERS, start=1):
        filters = g.constant(f"filters_{number}", parameters[2 * number - 2])
        bias = g.constant(f"bias_{number}", parameters[2 * number - 1])
        options = {
            "padding": "SAME",
            "stride_h": layer.stride,
            "stride_w": layer.stride,
            "fused_activation_function": "RELU" if layer.relu else "NONE",
        }
        height, width = (-(-length // layer.stride) for length in (height, width))
        made = (f"conv_{number}", (1, height, width, layer.channels))
        x = g.node("CONV_2D", [x, filters, bias], out=made, options=options)
    axes = g.constant("axes", np.array([1, 2], np.int32))
    logits = g.node("MEAN", [x, axes], out=("logits", (1, 10)), options={"keep_dims": False})
    scores = g.node("SOFTMAX", [logits], out=("probabilities", (1, 10)), options={"beta": 1.0})
    g.output(scores)
    builder.signature("serving_default", inputs={"image": image}, outputs={"probabilities": scores})
    return builder.build()


def write_samples(path: Path, images: Array, labels: NDArray[Any]) -> None:
    """Twelve held-out images, the first of each digit and two more, stretched to the sample sizes in turn."""
    firsts = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    chosen = firsts + [i for i in range(len(labels)) if i not in firsts][:2]
    arrays = {"labels": labels[chosen].astype(np.uint8)}
    for number, index in enumerate(chosen):
        stretched = stretch(images[index : index + 1], *SAMPLE_SIZES[number % len(SAMPLE_SIZES)])[0]
        arrays[f"image_{number}"] = stretched.astype(np.float16)
    np.savez_compressed(path, **arrays)


def main() -> None:
    """Trains, prints what was reached, writes both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=DATA)
    options = parser.parse_args()
    start = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    (images, labels), (held_images, held_labels) = split(rng)
    parameters = train(rng, images, labels, options.epochs)
    print(f"{sum(p.size for p in parameters)} parameters, {time.perf_counter() - start:.0f} s")
    for height, width in sorted({*SAMPLE_SIZES, (20, 20), (28, 28), (32, 32)}):
        reached = accuracy(parameters, held_images, held_labels, height, width)
        print(f"{height} x {width}: {reached:.2%} of {len(held_labels)} held-out images")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "digits.tflite").write_bytes(model(parameters))
    write_samples(options.out / "samples.npz", held_images, held_labels)
    for name in ("digits.tflite", "samples.npz"):
        print(f"{options.out / name}: {(options.out / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
