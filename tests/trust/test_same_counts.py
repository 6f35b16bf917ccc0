"""One sequence of calls costs what it cost before: the same counters, plans and bytes, on any machine, for each model.

Where the other tests see answers, this one sees work: nodes that are prepared twice, an arena that moves, a plan that
is made again, bytes that are copied. After a change on purpose:
`PYTHONPATH=tests python tests/trust/test_same_counts.py` prints what there is now.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import pytest
from support.system import needs_reserved, needs_system
from trust.sequence_models import MODELS
from trust.sequence_oracle import Run, fresh, made, outcome, resize, run_plainly

import minilite
from minilite._native.state import debug_build

COUNTS = {
    "chain": "b65c27f4da2d 9d4622739ea4 e2607ca17526 0d0ce93ce34b e37568eb3666",
    "wide": "b55737d3adb0 adfa0f531016 920bdfc0edf5 71d2d7081153 1f921376f9c9",
    "variables": "c43d4b7bbf46 72122cad8278 3f381a774621 c66bb3bf1a95 f743356afe1f",
    "dynamic": "8de798e013f9 057c80a2f5e4 46ae45c408f7 eba14c923929 b9852988f77b",
    "custom": "d289b30af1a4 b24f7ebdee2b 537d1686361c 9a69f55eda67 c54ab25dd699",
    "growing_loop": "0b1f4afdd8c6 0b1f4afdd8c6 3fef0c5a7bf5 cd9908e1824f 79d0bab6870c",
    "closed_loop": "951ac957f4ad 670bcd6dac77 832ae32b7cc1 4ffd586f45b3 3e3fa2a44a22",
    "branches": "fc1d6bc5b4aa 03e8b39ada63 3a6819fce6fa dd47757bd1dd 55babbdcda82",
    "nested_loops": "87571614745d 87571614745d 63cbef666bb8 d02212e52b05 a10236c664cb",
    "resources": "7c058110cb19 21879fc14375 0471b3d10026 4e67e3acbdfc 5a12464a4720",
    "signatures": "36806c971dda 1f4223be3247 ab02fc2c192d 342934fd5636 5abd46bd3ecf",
    "strings": "0158df58825f 0158df58825f 80f26b561c78 c558893dcfa8 8f79ff960ac8",
}
"""Digests in the order of OPTIONS."""
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "all kept": {"experimental_preserve_all_tensors": True},
    "inputs freed": {"preserve_inputs": False},
    "naive": {"planner": "naive", "in_place": "none"},
    "no cache": {"planner": "tflite", "plan_cache_bytes": 0},
}
SIZES = (2, 1, 3, 40, 3, 2, 5, 40, 1, 500, 3, 3, 2)


def state_of(one: minilite.Interpreter) -> object:
    """Returns the counters, with the plan as it was made and as runs have changed it; page faults depend on the
    machine."""
    counters = {name: count for name, count in one.counters.items() if name != "page_faults"}
    plans = [plan.records() for plan in (one.plan, one.memory) if plan]
    return counters, plans, one.arena_bytes


def digest(name: str, options: dict[str, Any]) -> str:
    """Hashes runs at sizes that come again, one that fails, a size that is refused, a trim, and the runs after it."""
    one, seen = fresh(name, **options), []
    for step, size in enumerate(SIZES):
        assert not run_plainly(one, name, Run(size, step % 4)).error
        seen.append(state_of(one))
        if made(name).wrong and step % 3 == 1:
            assert run_plainly(one, name, Run(size, 1, wrong=True)).error
        if step % 4 == 3 and made(name).mismatch:
            resize(one, name, 0)
            assert outcome(one.allocate_tensors).error
        if step == 8:
            one.trim()
        seen.append(state_of(one))
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:12]


@pytest.mark.skipif(debug_build(), reason="debug builds place bytes after tensors, which makes plans larger")
@pytest.mark.skipif(sys.platform != "linux", reason="arenas grow in another way")
@needs_reserved
@needs_system
@pytest.mark.parametrize("name", MODELS)
def test_same_counts(name: str) -> None:
    assert [digest(name, options) for options in OPTIONS.values()] == COUNTS[name].split()


if __name__ == "__main__":
    print("COUNTS =", {name: " ".join(digest(name, options) for options in OPTIONS.values()) for name in MODELS})
