"""One sequence of calls costs what it cost before: the same counters, plans and bytes, on any machine, for each model.

Where the other tests see answers, this one sees work: nodes that are prepared twice, an arena that moves, a plan that
is made again, bytes that are copied. After a change on purpose:
`PYTHONPATH=tests:tests/property python tests/property/test_same_counts.py` prints what there is now.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import pytest
from sequence_models import MODELS
from sequence_oracle import Run, fresh, made, outcome, resize, run_plainly

import minilite
from minilite._native.state import debug_build

COUNTS = {
    "chain": "f27cf3980d94 76b01eaa1cad 0976e52bb5ce e2f5b1b2d22b 5570e5cd51a8",
    "wide": "6b5bc843233b 45edae28cea4 a5e70e8c1935 ade832268c6f 29a83a577036",
    "variables": "8fbaf221cf5c 0b9f1a839d07 4a163a064545 1399d6d71e5e 817aa71f4f8b",
    "dynamic": "afa4c288d470 5dd2fc84e8fe 0f01d98b3c9d 94084bc0b1f4 854721d66efa",
    "custom": "4d9a7e5a4f2e a6b7c577e4d4 13725ca7d6b0 f7386913bb47 244f7f9ed786",
    "growing_loop": "6f6b8552018b a995099941b1 86175a26d0aa a995099941b1 190e1e425aed",
    "closed_loop": "85e21d4c3afd a4cf294b9c8a 6c50c1eaddb7 8b4d83547eed 9339c9106546",
    "branches": "f7207fa5c0cb 034c14156af1 5c2cb8ba1e7d fc17b9df1b6c 05f2dc5661d1",
    "nested_loops": "0fbc85730f04 0fbc85730f04 c4acdc609044 2fc2a221d54d 8057e45686c0",
    "resources": "15a6066d1031 cbbbfdcf0042 0ef5c5b65a48 ff9056c63fc5 d5727549c433",
    "signatures": "f12adad32a08 9a46cb34ab40 f936b5d2905c ce263f9e1a83 de248cf56f54",
    "strings": "da1ec8676e99 da1ec8676e99 849cdc937457 da1ec8676e99 87c8fa9c0331",
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
    """What calls have cost until now. Plans as runs have changed them, too; page faults depend on the machine."""
    counters = {name: count for name, count in one.counters.items() if name != "page_faults"}
    return counters, one.plan.records() if one.plan else None, one.arena_bytes


def digest(name: str, options: dict[str, Any]) -> str:
    """Of runs at sizes that come again, one that fails, a size that is refused, a trim, and the runs after it."""
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
@pytest.mark.skipif(sys.platform != "linux" or sys.maxsize < 1 << 32, reason="arenas grow in another way")
@pytest.mark.parametrize("name", MODELS)
def test_same_counts(name: str) -> None:
    assert [digest(name, options) for options in OPTIONS.values()] == COUNTS[name].split()


if __name__ == "__main__":
    print("COUNTS =", {name: " ".join(digest(name, options) for options in OPTIONS.values()) for name in MODELS})
