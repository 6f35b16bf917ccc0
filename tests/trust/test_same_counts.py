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
    "chain": "d6dceac98423 99a357c562c7 e2607ca17526 d8111d70901d e37568eb3666",
    "wide": "6cfb877f5c12 1be35983b839 920bdfc0edf5 c97f9824e6ac 1f921376f9c9",
    "variables": "0b7cfd1e5f9b aa6e8b542f4d 3f381a774621 c97e3a757a0d f743356afe1f",
    "dynamic": "108944f25fe3 7aa22ba9f692 46ae45c408f7 6c079d12858d b9852988f77b",
    "custom": "b59660508858 87bc305200d4 537d1686361c 704725d5dce5 c54ab25dd699",
    "growing_loop": "d308932cb5e7 d308932cb5e7 3fef0c5a7bf5 838e5ab274cd 79d0bab6870c",
    "closed_loop": "9f01616e2ecf bc6ee207d9af 832ae32b7cc1 446404df80e2 3e3fa2a44a22",
    "branches": "eabdfc932979 ebbcd82b8253 3a6819fce6fa 9aa917350fe0 55babbdcda82",
    "nested_loops": "3bfaaea3bf59 3bfaaea3bf59 63cbef666bb8 4192b1b1e666 a10236c664cb",
    "resources": "e10a530be807 f580131455ec 0471b3d10026 71d252fefc35 5a12464a4720",
    "signatures": "cce1c1084c14 340bd317054b ab02fc2c192d 2dab07da091e 5abd46bd3ecf",
    "strings": "aa07e9a2a455 aa07e9a2a455 80f26b561c78 e796c380cc5a 8f79ff960ac8",
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
