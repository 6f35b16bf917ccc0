"""MATRIX_DIAG, MATRIX_SET_DIAG: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import Given, OneNode, counting

from minilite.errors import ShapeError

EVERY_TYPE = {"MATRIX_DIAG": Case([(2, 3)]), "MATRIX_SET_DIAG": Case([(2, 3, 4), (2, 3)])}


@pytest.mark.parametrize("shape", [(1,), (5,), (0,), (2, 3), (2, 0, 3), (2, 3, 4)])
def test_diag(shape: Any) -> None:
    OneNode("MATRIX_DIAG", [counting(shape)]).check()


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (2, 3, 4), (2, 0, 4), (2, 2, 4, 3)])
def test_set_diag(shape: Any) -> None:
    diagonal = -counting((*shape[:-2], min(shape[-2:])))
    OneNode("MATRIX_SET_DIAG", [counting(shape), diagonal]).check()


@pytest.mark.parametrize("diagonal", [(2, 3), (2, 5), (6,), (2, 3, 1), (3, 3), (1, 1, 7)])
@pytest.mark.parametrize("of_file", [(2, 3, 4), (1, 1, 1)])
def test_diagonals_of_any_shape(diagonal: Any, of_file: Any) -> None:
    """LiteRT looks neither at the shape that the file gives for diagonals, nor at the run's."""
    for declared in (diagonal, (1,) * len(diagonal)):
        given = [Given(counting((2, 3, 4)), shape=of_file), Given(-counting(diagonal), shape=declared)]
        OneNode("MATRIX_SET_DIAG", given).check()


def test_refused() -> None:
    OneNode("MATRIX_DIAG", [np.float32(1)]).refused(ShapeError, "a scalar")
    OneNode("MATRIX_SET_DIAG", [counting((3,)), counting((3,))]).refused(ShapeError, "rank 1, expected 2 or more")
    node = OneNode("MATRIX_SET_DIAG", [counting((2, 3, 4)), counting((1, 5))])
    message = r"diagonals of the shape \(1, 5\) have fewer values than 2 of 3 each"
    node.refused(ShapeError, message, by_litert=False)  # LiteRT reads beyond them
