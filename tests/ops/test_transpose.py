"""TRANSPOSE: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import Case
from support.compare import REFERENCE
from support.node import OneNode, const, counting

from minilite.errors import ShapeError


def every_type(rng: Any, inputs: Any, outputs: Any) -> Case:
    oracle = None if inputs[0] in ("bf16", "c128") else REFERENCE  # which LiteRT does not have
    return Case([(3, 19, 37), [2, 0, 1]], oracle=oracle)


EVERY_TYPE = {"TRANSPOSE": every_type}


@given(st.permutations(range(6)), st.lists(st.sampled_from([0, 1, 2, 3, 5, 18]), max_size=6), st.booleans())
def test_permutations(perm: list[int], shape: list[int], known: bool) -> None:
    """Any rank, any permutation, negative dimensions, perm constant or computed."""
    perm = [p - len(shape) * (p % 2) for p in perm if p < len(shape)]
    x = counting(shape, np.int16)
    # LiteRT gives garbage for a scalar; its Python cannot read an empty shape that came out of the run
    oracle = REFERENCE if shape and (known or x.size) else None
    node = OneNode("TRANSPOSE", [x, const(perm) if known else np.array(perm, np.int32)])
    np.testing.assert_array_equal(node.check(oracle=oracle), x.transpose(perm))


@pytest.mark.parametrize("perm", [[0, 2], [-3, 1], [0, 0], [0], [[0, 1]]])
def test_refused(perm: Any) -> None:
    for given_perm in (const(perm), np.array(perm, np.int32)):
        node = OneNode("TRANSPOSE", [counting((2, 3)), given_perm])
        node.refused(ShapeError, "axis|twice|perm has the shape", by_litert=perm != [0, 0])  # whose result is garbage
