"""Says how far real models are from what the processor could do, and where the rest is lost.

usage: python -m asv_bench.distance MODEL...

The least time of a node is that of its multiply-adds at the rate of a product whose operands stay in a near cache, or
of its bytes at the rate of a copy of as many, whichever is longer; a model's is the sum of its nodes'. Its share of the
limit is that time divided by the nodes' own, with one thread. Convolutions with fewer multiplications do more than
their multiply-adds' share of the limit, so that a share may be above 100 %. `python -m asv_bench.performance distance`
fills the table of docs/performance.md, of MODELS from ../shared/models.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Sequence
from pathlib import Path

from asv_bench.real_models import FOLDER
from minilite.cli.feeding import set_inputs
from minilite.engine.engine import engine_of
from minilite.interpreter import Interpreter
from minilite.profiling.profile import NodeTime, Profile

MODELS = (
    "mlperftiny_pretrainedResnet",
    "mlperftiny_pretrainedResnet_quant",
    "mlperftiny_vww_96_float",
    "mlperftiny_vww_96_int8",
    "tfsupport_mobilenet_v1_0.25_224_1_default_1",
    "tflm_mobilenet_v2_quantized_1x3x224x224",
    "coral_deeplabv3_mnv2_dm05_pascal_quant",
    "coral_movenet_single_pose_lightning_ptq",
    "tfsupport_coco_ssd_mobilenet_v1_1.0_quant_2018_06_29",
    "mediapipe_face_detection_full_range_sparse",
    "mediapipe_face_blendshapes",
    "yolox_nano_dynamic_range_quantize",
    "kwt1_non_stream",
    "tfsupport_yamnet_audio_classifier_with_metadata",
    "basicpitch_nmp",
    "magenta_style_transfer_f16_384",
    "lyra_soundstream_encoder",
    "dtln_model_1",
)
RUNS = 30
"""The runs of each model that are profiled."""
SHOWN = 3
"""Kinds of nodes that a row names, those that lose most."""
LEAST_LOST = 0.01
"""The part of the run that a kind has to lose to be named."""


def profiled(path: str) -> tuple[Interpreter, Profile]:
    """The interpreter of a model and the times of its nodes, with one thread."""
    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    set_inputs(interpreter, {}, 0)
    return interpreter, interpreter.profile(RUNS)


def kind_of(interpreter: Interpreter, node: NodeTime) -> str:
    """The operator of a node, of convolutions with the window's height and width."""
    graph = engine_of(interpreter).graph
    inputs = graph.nodes[node.node].inputs
    if node.op != "CONV_2D":
        return node.op
    _, height, width, _ = graph.tensors[inputs[1]].shape
    return f"{node.op} {height}x{width}"


def row(path: str) -> str:
    """A model's row: microseconds of its nodes, their share of the limit, and which kinds lose the rest."""
    interpreter, profile = profiled(path)
    whole = profile.nodes_ns / 1e9
    least = 0.0
    lost: dict[str, float] = collections.defaultdict(float)
    for node in profile.main:
        seconds = profile.peaks.seconds(node) * node.times
        least += seconds
        lost[kind_of(interpreter, node)] += max(0.0, node.ns / 1e9 - seconds)
    ranked = sorted(lost.items(), key=lambda item: -item[1])[:SHOWN]
    named = ", ".join(f"{kind} {100 * each / whole:.0f}" for kind, each in ranked if each > LEAST_LOST * whole)
    return f"| {Path(path).stem} | {whole * 1e6:.0f} | {100 * least / whole:.0f} | {named} |"


def table(models: Sequence[str]) -> str:
    """The table of these models."""
    heads = ["| model | us | % of the limit | where the rest is lost, % of the run |", "|---|---:|---:|---|"]
    return "\n".join([*heads, *map(row, models)])


def make() -> str | None:
    """The table of MODELS; None without them."""
    models = [str(path) for name in MODELS if (path := FOLDER / f"{name}.tflite").exists()]
    return table(models) if models else None


if __name__ == "__main__":
    print(table(sys.argv[1:]))
