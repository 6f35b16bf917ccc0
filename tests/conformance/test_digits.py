"""The embedded model: reads its sample images, at several sizes, and agrees with LiteRT at each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.peer import interpreter as litert

import minilite
from minilite.cli.digits import DATA, load_samples

Array = NDArray[Any]
SAMPLES = load_samples()
SIZES = sorted({image.shape for image, _ in SAMPLES})
MODEL = (Path(DATA) / "digits.tflite").read_bytes()
TOLERANCE = 1e-5  # probabilities; sums in another order


def read(interpreter: Any, images: Array) -> Array:
    """Probabilities (batch, 10) of images (batch, height, width)."""
    source = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(source, (*images.shape, 1))
    interpreter.allocate_tensors()
    interpreter.set_tensor(source, images[..., None].astype(np.float32))
    interpreter.invoke()
    result: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return result


def test_samples_are_read_right() -> None:
    assert len(SIZES) >= 4
    assert {label for _, label in SAMPLES} == set(range(10))
    interpreter = minilite.Interpreter(model_content=MODEL)
    found = [int(read(interpreter, image[None]).argmax()) for image, _ in SAMPLES]
    assert found == [label for _, label in SAMPLES]
    again = [int(read(interpreter, image[None]).argmax()) for image, _ in SAMPLES]
    assert again == found
    assert interpreter.counters["plan_hits"] >= len(SAMPLES) // 2


@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
@pytest.mark.parametrize("size", [*SIZES, (9, 31), (40, 8)])
def test_agrees_with_litert(size: tuple[int, int], resolver: str) -> None:
    images = np.stack([np.resize(image, size) for image, _ in SAMPLES[:3]] + [i for i, _ in SAMPLES if i.shape == size])
    kinds = litert.OpResolverType
    theirs = litert.Interpreter(model_content=MODEL, experimental_op_resolver_type=getattr(kinds, resolver))
    ours = read(minilite.Interpreter(model_content=MODEL), images)
    np.testing.assert_allclose(ours, read(theirs, images), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(ours.sum(axis=1), 1, atol=1e-6)


def test_a_batch_gives_what_its_images_give() -> None:
    size = SIZES[0]
    images = np.stack([image for image, _ in SAMPLES if image.shape == size] * 3)
    interpreter = minilite.Interpreter(model_content=MODEL)
    together = read(interpreter, images)
    alone = np.concatenate([read(interpreter, image[None]) for image in images])
    np.testing.assert_allclose(together, alone, rtol=0, atol=TOLERANCE)


def test_signature() -> None:
    interpreter = minilite.Interpreter(model_content=MODEL)
    assert interpreter.get_input_details()[0]["shape_signature"].tolist() == [-1, -1, -1, 1]
    runner = interpreter.get_signature_runner("serving_default")
    image, label = SAMPLES[0]
    result = runner(image=image[None, ..., None].astype(np.float32))
    assert int(result["probabilities"].argmax()) == label


def test_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in Path(DATA).iterdir() if path.is_file()) < 60_000
