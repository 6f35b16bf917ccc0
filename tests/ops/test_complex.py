"""REAL, IMAG, COMPLEX_ABS (oracle: BUILTIN_REF)."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import OneNode

EVERY_TYPE = {
    "REAL": Case([(3, 50)]),
    "IMAG": Case([(3, 50)]),
    "COMPLEX_ABS": Case([(3, 50)], tolerance=16 * EPS),
}


@pytest.mark.parametrize("op", list(EVERY_TYPE))
def test_special(op: str) -> None:
    parts = np.array([np.inf, -np.inf, 0, 3e38, 1e-40, 3, -4], np.float32)
    x = np.empty((7, 7), np.complex64)
    x.real, x.imag = parts[:, None], parts[None]
    for shape in ((7, 7), (49, 1), (1, 1, 1, 49, 1, 1)):
        node = OneNode(op, [x.reshape(shape)], kind="f32")
        size = np.abs(node.run(reference=True))
        node.check(tolerance=2 * EPS * np.where(np.isfinite(size), size, 0) if op == "COMPLEX_ABS" else 0.0)
    OneNode(op, [np.zeros((0, 3), np.complex64)], kind="f32").check()
