"""Files that `write_offline` makes run in TensorFlow Lite Micro: equal outputs, an arena never larger than without."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import patience

from minilite.format.reader import read_model
from minilite.memory import offline

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
CHOSEN = {  # and how many tensors are fixed
    "mlperftiny_vww_96_int8": 32,
    "mlperftiny_vww_96_float": 32,
    "tflm_person_detect": 32,
    "mlperftiny_pretrainedResnet_quant": 17,
    "mlperftiny_ad01_int8": 11,
    "mlperftiny_kws_ref_model": 14,
    "tinymaix_mnist_valid_f": 5,
    "microwakeword_v2_hey_jarvis": 32,
    "tflm_hello_world_int8": 4,
}
RUN = """
import json, sys
import numpy as np
from tflite_micro import runtime

models = [open(path, "rb").read() for path in sys.argv[1:3]]
count_in, count_out = int(sys.argv[3]), int(sys.argv[4])
rng = np.random.default_rng(0)
probe = runtime.Interpreter.from_bytes(models[0], arena_size=1 << 24)
inputs = []
for i in range(count_in):
    details = probe.get_input_details(i)
    kind = np.dtype(details["dtype"])
    span = rng.standard_normal(details["shape"]) * (1 if kind.kind == "f" else 40) + (100 if kind.kind == "u" else 0)
    inputs.append(span.astype(kind))

def run(model, arena):
    try:
        interpreter = runtime.Interpreter.from_bytes(model, arena_size=arena)
        for i, x in enumerate(inputs):
            interpreter.set_input(x, i)
        interpreter.invoke()
    except Exception:
        return None
    return [interpreter.get_output(i) for i in range(count_out)]

def smallest(model):
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if run(model, 16 * middle) is not None else (middle, high)
    return 16 * high

before, after = (run(model, 1 << 24) for model in models)
equal = all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))
print(json.dumps({"equal": equal, "arena": [smallest(model) for model in models]}))
"""


@pytest.mark.skipif(importlib.util.find_spec("tflite_micro") is None, reason="tflite-micro is not installed")
@pytest.mark.parametrize("name", CHOSEN)
def test_planned_files_run_in_tflm(name: str, tmp_path: Path) -> None:
    source = MODELS / f"{name}.tflite"
    if not source.exists():
        pytest.skip(f"{source} is not here")
    planned, made = offline.write_offline(source.read_bytes())
    path = tmp_path / "planned.tflite"
    path.write_bytes(planned)
    model = read_model(planned)
    payload = model.metadata[offline.NAME]
    offsets = struct.unpack(f"<{len(payload) // 4}i", payload)[3:]
    assert all(offset == -1 or offset % 16 == 0 for offset in offsets)
    assert sum(offset >= 0 for offset in offsets) == len(made.offsets) == CHOSEN[name]
    main = model.subgraphs[0]
    message = run(source, path, len(main.inputs), len(main.outputs))
    assert message["equal"]
    assert message["arena"][1] <= message["arena"][0]


def run(*arguments: Any) -> dict[str, Any]:
    """Runs in a process of its own: TFLM may crash if memory is short."""
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience(300))
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
