"""Files with a plan for two memories run in unmodified TensorFlow Lite Micro: equal outputs, nothing anywhere else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from processes import patience
from support.micro import needs_micro

from minilite.format.builder import with_metadata
from minilite.format.reader import read_model
from minilite.memory import Memory, boards, lower_bound, offline, tflm
from minilite.memory.tflm_arena import tflm_arena
from minilite.memory.tflm_kernels import up

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
CHOSEN = {
    "mlperftiny_vww_96_int8": 2,
    "mlperftiny_pretrainedResnet_quant": 2,
    "emza_ssd_slim_120x160x1_v1_int8": 4,
    "tflm_person_detect": 2,
}
"""Models, and the part of their lower bound that fast memory has."""
APART = 1 << 20
RUN = """
import json, sys
import numpy as np
from tflite_micro import runtime

def run(path, arena):
    interpreter = runtime.Interpreter.from_file(path, arena_size=arena)
    details = interpreter.get_input_details(0)
    values = np.random.default_rng(0).integers(-128, 127, details["shape"])
    interpreter.set_input(values.astype(details["dtype"]), 0)
    interpreter.invoke()
    return np.asarray(interpreter.get_output(0)).tolist()

print(json.dumps([run(sys.argv[1], 1 << 20), run(sys.argv[2], int(sys.argv[3]))]))
"""


@needs_micro
@pytest.mark.parametrize("fast_is_lower", [True, False])
@pytest.mark.parametrize("name", CHOSEN)
def test_tflm_follows_the_plan(name: str, fast_is_lower: bool, tmp_path: Path) -> None:
    source = MODELS / f"{name}.tflite"
    if not source.exists():
        pytest.skip(f"{source.name} is not here")
    model = read_model(source.read_bytes())
    bound = lower_bound(tflm.usage_records(model), tflm.ALIGNMENT)
    capacity = bound // CHOSEN[name] // 16 * 16
    persistent = tflm_arena(model).persistent  # at the end of the higher memory
    fast = Memory(
        "fast", capacity if fast_is_lower else capacity + up(persistent, 16), 0 if fast_is_lower else APART, 16
    )
    slow = Memory("slow", 1 << 19, APART if fast_is_lower else 0, 16)
    found = boards.board_plan(model, [fast, slow], build=tflm.HOST, offline=True)
    assert found.plan.check() is None
    assert found.plan.proved_optimal
    assert found.home == ("slow" if fast_is_lower else "fast")
    assert 0 < found.plan.cost < sum(found.plan.traffic)
    planned = tmp_path / "planned.tflite"
    payload = offline.offline_payload(model, boards.offline_offsets_of(model, found))
    planned.write_bytes(with_metadata(source.read_bytes(), offline.NAME, payload))
    command = [sys.executable, "-c", RUN, str(source), str(planned), str(found.arena_bytes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience(60))
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert before == after
