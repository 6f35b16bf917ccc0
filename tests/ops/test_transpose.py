"""TRANSPOSE: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import Case
from support.compare import REFERENCE
from support.node import OneNode, counting, known_or_not

from minilite.errors import ShapeError

BY_LITERT = "f32 f16 f64 s4 u4 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64"
EVERY_TYPE = {"TRANSPOSE": Case([(3, 19, 37), [2, 0, 1]], litert=BY_LITERT)}


@given(st.permutations(range(6)), st.lists(st.sampled_from([0, 1, 2, 3, 5, 18]), max_size=6), st.booleans())
def test_permutations(perm: list[int], shape: list[int], known: bool) -> None:
    """Any rank, any permutation, negative dimensions, perm constant or computed."""
    perm = [p - len(shape) * (p % 2) for p in perm if p < len(shape)]
    x = counting(shape, np.int16)
    # LiteRT gives garbage for a scalar; its Python cannot read an empty shape that came out of the run
    oracle = REFERENCE if shape and (known or x.size) else None
    node = OneNode("TRANSPOSE", [x, known_or_not(perm)[not known]])
    np.testing.assert_array_equal(node.check(oracle=oracle), x.transpose(perm))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("rows", [500, 512, 1024, 2048, 4096])
def test_lines_that_share_sets_of_a_cache(kind: Any, rows: int) -> None:
    """Rows of the output lie a multiple of a large power of 2 apart."""
    x = np.random.default_rng(0).integers(0, 127, (rows, 83)).astype(kind)
    np.testing.assert_array_equal(OneNode("TRANSPOSE", [x, known_or_not([1, 0])[0]]).check(), x.T)


@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 200, 511, 512, 513, 600])
def test_runs_of_bytes(length: int) -> None:
    x = np.random.default_rng(0).integers(0, 127, (2, 5, 7, length)).astype(np.int8)
    y = OneNode("TRANSPOSE", [x, known_or_not([0, 2, 1, 3])[0]]).check()
    np.testing.assert_array_equal(y, x.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("perm", [[0, 2], [-3, 1], [0, 0], [0], [[0, 1]]])
def test_refused(perm: Any) -> None:
    for given_perm in known_or_not(perm):
        node = OneNode("TRANSPOSE", [counting((2, 3)), given_perm])
        node.refused(ShapeError, "axis|twice|perm has the shape", by_litert=perm != [0, 0])  # LiteRT's is garbage
