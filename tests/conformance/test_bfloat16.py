"""bfloat16: operators between two CASTs agree with LiteRT; so do tensors set and read by arrays of ml_dtypes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import peer
from support.compare import BUILTIN, check, run_litert
from support.node import Given, OneNode

import minilite
from minilite.errors import InputError
from minilite.format import dtypes
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

ALONE, TWO = ("FLOOR", "LOGISTIC", "NEG", "ROUND", "TANH"), ("ATAN2", "GREATER", "LESS")
BF16 = TensorType.BFLOAT16


@pytest.mark.parametrize("op", [*ALONE, *TWO])
def test_between_casts(op: str) -> None:
    rng = np.random.default_rng(1)
    special = np.array([0, -0.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e30, 1e-30], np.float32)
    x = np.concatenate([special, rng.normal(size=500).astype(np.float32) * 4])
    arrays = [x] if op in ALONE else [x, rng.permutation(x)]
    builder = ModelBuilder()
    g = builder.subgraph()
    inputs = [g.input(f"x{i}", x.shape) for i in range(len(arrays))]
    short = [g.node("CAST", [t], out=(f"s{i}", x.shape, BF16), version=7) for i, t in enumerate(inputs)]
    truth = op in ("GREATER", "LESS")
    y: Any = g.node(op, short, out=("y", x.shape, TensorType.BOOL if truth else BF16), version=1)
    g.output(y if truth else g.node("CAST", [y], out=("wide", x.shape), version=7))
    tolerance = 2.0**-8 if op == "LOGISTIC" else 0.0  # LiteRT rounds each step of it to bfloat16
    check(builder.build(), arrays, oracle=BUILTIN, tolerance=tolerance)


BITS = np.array([0x3F80, 0xC000, 0x7FC0, 0x7F80], np.uint16)  # 1, -2, NaN, infinity


def negated() -> OneNode:
    """A node of NEG, over four values."""
    return OneNode("NEG", [Given(BITS, kind=BF16)], kind=BF16)


def used(interpreter: Any, array: Any) -> Any:
    """Returns the output, and a view of it, for this input."""
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, array)
    interpreter.invoke()
    return interpreter.get_tensor(1), interpreter.tensor(1)().copy()


def test_arrays_of_ml_dtypes() -> None:
    """Arrays of ml_dtypes can be set and are returned by every call, as in LiteRT; arrays of bits can be set, too."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    node, x = negated(), BITS.view(bfloat16)
    expected = (-x).view(np.uint16)
    interpreter = minilite.Interpreter(model_content=node.model)
    assert interpreter.get_input_details()[0]["dtype"] is bfloat16
    for given in (x, BITS):
        for y in (*used(interpreter, given), interpreter.run(given)["y"]):
            assert y.dtype == bfloat16
            np.testing.assert_array_equal(y.view(np.uint16), expected)
    if peer.HERE:
        theirs = run_litert(node.model, [BITS])[0]
        assert theirs.dtype == bfloat16
        np.testing.assert_array_equal(theirs.view(np.uint16), expected)
    assert interpreter.run([1.0, -2.0, 3.0, 4.0])["y"].tolist() == [-1, 2, -3, -4]
    out = np.zeros(4, bfloat16)
    assert interpreter.run(x, out={"y": out})["y"] is out
    np.testing.assert_array_equal(out.view(np.uint16), expected)
    bound = x.copy()
    interpreter.bind_tensor(0, bound)
    interpreter.allocate_tensors()
    bound[:] = 2
    interpreter.invoke()
    assert interpreter.get_tensor(1).tolist() == [-2] * 4
    with pytest.raises(InputError, match=r"expected type BFLOAT16 .* convert it with .astype\('bfloat16'\)"):
        interpreter.set_tensor(0, np.ones(4, np.float32))


def test_recordings_and_comparisons(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    interpreter = minilite.Interpreter(model_content=negated().model)
    with interpreter.recording(tmp_path / "calls"):
        used(interpreter, BITS)
        interpreter.run(BITS)
    assert minilite.replay(tmp_path / "calls", negated().model).agrees
    assert minilite.compare(negated().model, against="reference").agrees
    assert minilite.Predictor(negated().model)({"x0": [BITS, BITS]})["y"].dtype.name == "bfloat16"


def test_bits_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtypes, "_bfloat16", lambda: np.dtype(np.uint16))
    interpreter = minilite.Interpreter(model_content=negated().model)
    assert interpreter.get_input_details()[0]["dtype"] is np.float32
    for y in (*used(interpreter, BITS), interpreter.run(BITS)["y"]):
        assert y.dtype == np.uint16
        assert y.tolist() == [0xBF80, 0x4000, 0xFFC0, 0xFF80]
    with pytest.raises(InputError, match="give its bits as uint16; with the package ml_dtypes"):
        interpreter.set_tensor(0, np.ones(4, np.float32))
