"""Times real models on minilite and on LiteRT, both in one process and in turns, and prints a table in milliseconds.

usage: python -m asv_bench.real_models [--rounds 40] MODEL ...

MODEL is the path of a .tflite file, or NAME=PATH with the name to print. Each line is one model: a steady `invoke()`
at the input shapes in the file, on random inputs, one thread on either side, LiteRT with its default delegate
XNNPACK. Both times are medians over the rounds. The last column is LiteRT's time over minilite's, the median of the
ratio in each round: above 1 minilite is faster, below 1 (bold) LiteRT is. Times are processor time of the calling
thread. `python -m asv_bench.performance speed` measures MODELS and writes the README's table.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asv_bench import builds, documents
from asv_bench.benchmarks import timing

FOLDER = builds.ROOT.parent / "shared" / "models"
MODELS = {
    "MobileNet v1 0.25, float32": "tfsupport_mobilenet_v1_0.25_224_1_default_1",
    "MobileNet v1 0.25, quantized": "coral_mobilenet_v1_0.25_128_quant",
    "MobileNet v2, quantized": "tflm_mobilenet_v2_quantized_1x3x224x224",
    "SSD MobileNet v1, COCO objects": "tfsupport_coco_ssd_mobilenet_v1_1.0_quant_2018_06_29",
    "DeepLab v3, segmentation": "coral_deeplabv3_mnv2_dm05_pascal_quant",
    "MoveNet Lightning, pose": "coral_movenet_single_pose_lightning_ptq",
    "MediaPipe face landmarks": "mediapipe_face_landmark",
    "YAMNet, sounds": "tfsupport_yamnet_audio_classifier_with_metadata",
    "keyword spotting (MLPerf Tiny)": "mlperftiny_kws_ref_model",
    "anomaly detection (MLPerf Tiny)": "mlperftiny_ad01_int8",
}
"""The README's models: files in FOLDER, by the name that is printed."""
HEADING = "| model | type | input | minilite, ms | LiteRT, ms | LiteRT / minilite |\n|---|---|---|---:|---:|---:|"
SLICE = 30_000_000
"""Nanoseconds that a side's turn takes at least."""
INTEGERS = {"int8", "uint8", "int16"}


def filled(interpreter: Any) -> Any:
    """The interpreter, allocated, with random inputs that are the same for both sides."""
    interpreter.allocate_tensors()
    rng = np.random.default_rng(0)
    for detail in interpreter.get_input_details():
        kind, shape = np.dtype(detail["dtype"]), tuple(detail["shape"])
        if kind.kind == "f":
            value = rng.random(shape)
        elif kind.kind in "SO":
            value = np.full(shape, b"a")
        elif kind.kind == "b" or kind.itemsize > 2:  # an index, or a number of things
            value = rng.integers(0, 2, shape)
        else:
            info = np.iinfo(kind)
            value = rng.integers(max(info.min, -128), min(info.max, 255) + 1, shape)
        interpreter.set_tensor(detail["index"], value.astype(kind, copy=False))
    return interpreter


def kind_of(interpreter: Any) -> str:
    """The element type that a model computes in: the one that most of its tensors have."""
    details = [d for d in interpreter.get_tensor_details() if np.prod(d["shape"], initial=1) > 1]
    types = [np.dtype(d["dtype"]).name for d in details if np.dtype(d["dtype"]).name in INTEGERS | {"float32"}]
    return max(set(types), key=types.count) if types else ""


def row(model: str, rounds: int) -> str:
    """A model's line of the table. `model` is a path, or a name to print and a path: NAME=PATH."""
    from ai_edge_litert.interpreter import Interpreter as LiteRT

    from minilite import Interpreter

    name, _, path = model.rpartition("=")
    ours = filled(Interpreter(path, num_threads=1))
    theirs = filled(LiteRT(model_path=path, num_threads=1))
    for _ in range(3):
        ours.invoke()
        theirs.invoke()
    mine, other = timing.in_turn((ours.invoke, theirs.invoke), rounds, SLICE)
    ratio = statistics.median(b / a for a, b in zip(mine, other, strict=True))
    shape = " x ".join(str(n) for n in ours.get_input_details()[0]["shape"])
    left, right = (digits(statistics.median(side) / 1e6) for side in (mine, other))
    faster = f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"
    return f"| {name or Path(path).stem} | {kind_of(ours)} | {shape} | {left} | {right} | {faster} |"


def digits(milliseconds: float) -> str:
    """Three significant digits."""
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def table(models: Sequence[str], rounds: int = 40) -> str:
    """The table, in Markdown; each line is printed when it was measured."""
    lines = [HEADING]
    print(HEADING, flush=True)
    for model in models:
        lines.append(row(model, rounds))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def named(models: Mapping[str, str]) -> list[str] | None:
    """NAME=PATH of models by name; None if one is not there."""
    paths = {name: FOLDER / f"{file}.tflite" for name, file in models.items()}
    return [f"{name}={path}" for name, path in paths.items()] if all(map(Path.exists, paths.values())) else None


def make() -> str | None:
    """The README's table; None without its models."""
    models = named(MODELS)
    return None if models is None else table(models)


def main() -> None:
    """Prints the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=40, help="turns of each side")
    args = parser.parse_args()
    print(documents.stamp(f"python -m asv_bench.real_models --rounds {args.rounds} MODEL..."), end="\n\n")
    table(args.models, args.rounds)


if __name__ == "__main__":
    main()
