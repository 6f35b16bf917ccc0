"""NumericVerify: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.node import Given, OneNode, scaled, values

from minilite.errors import KernelError, ShapeError


def verify(kind: str, shape: Any = (3, 5), apart: float = 3.0, **options: Any) -> OneNode:
    rng = np.random.default_rng(1)
    q, x = scaled(rng, kind), values(rng, kind, shape)
    real = x.astype(np.float32) if kind == "f16" else np.float32(q.scale) * (x.astype(np.float32) - q.zero_point)
    expected = np.asarray(real + rng.uniform(-apart, apart, shape) * q.scale, np.float32)
    text = {"tolerance": 0.0, "log_if_failed": False, **options}
    custom = bytes(flexbuffers.Dumps(text))
    return OneNode("NumericVerify", [Given(x, quantization=q), expected], kind="f32", custom=custom)


EVERY_TYPE = {"NumericVerify": lambda rng, inputs, outputs: (verify(inputs[0]), {})}


@pytest.mark.parametrize("kind", ["u8", "s8", "s16", "f16"])
def test_differences(kind: str) -> None:
    for shape in ((), (7,), (2, 3, 4)):
        verify(kind, shape).check()
        verify(kind, shape, tolerance=5.0, log_if_failed=True).check()
        verify(kind, shape, tolerance=0.05, log_if_failed=True).check()


def test_refused() -> None:
    node = verify("s8", tolerance=1.0, log_if_failed=True)
    node.refused(KernelError, "element [0-9]+ differs by .* at most")
    node = verify("s8")
    node.arrays[1] = node.arrays[1][:2]
    node.refused(ShapeError, r"shapes \(3, 5\) and \(2, 5\) must be equal", by_litert=False)  # LiteRT reads beyond it
