"""Lowered nodes are equal to the record: kernels, rows, flags, parameters, folded constants, refusals.

After a change on purpose: `PYTHONPATH=tests python -m support.lowering_record --write`, with `--full FOLDER` before and
after to see what it changes. Messages, and the rows' spelling, are parts of their own.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.lowering_cases import groups, takes
from support.lowering_record import MODELS, differences, differences_of_model, recorded_models
from support.lowering_text import hash_of

from minilite.ops import operators


@pytest.mark.parametrize("op", groups())
def test_nodes_lower_as_recorded(op: str) -> None:
    wrong = differences(op)
    assert wrong == [], "\n".join(wrong[:20])


@pytest.mark.parametrize("name", recorded_models())
def test_real_models_lower_as_recorded(name: str) -> None:
    if not (MODELS / name).exists():
        pytest.skip("needs ../shared/models")
    assert differences_of_model(name) == []


def test_every_operator_is_recorded() -> None:
    """Else: `python -m support.lowering_record --takes`, then `--write`."""
    assert set(takes()) == set(operators())


def test_numpy_draws_what_it_drew() -> None:
    """Cases have random numbers from numpy; if numpy draws others, the record is about other cases."""
    rng = np.random.default_rng(20)
    drawn = [rng.integers(0, 1000, 9), rng.random(9), rng.normal(size=9), rng.choice(50, 9), rng.permutation(9)]
    assert hash_of(repr([x.tolist() for x in drawn])) == "7b11725dc23c"
