"""run(until=, taps=, since=): a slice of the graph, equal to the full run bit for bit."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from built import graph_with
from trust import slices

from minilite import Interpreter
from minilite.engine.engine import engine_of
from minilite.errors import InputError, MiniliteError

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"
SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared"
X = np.random.default_rng(0).uniform(size=(1, 8, 8, 1)).astype(np.float32)


def whole(path: Any = DIGITS) -> Interpreter:
    return Interpreter(path, experimental_preserve_all_tensors=True)


def test_every_tensor_of_digits() -> None:
    full, part = whole(), Interpreter(DIGITS)
    wanted = full.run(X)["probabilities"]
    for node in full.model.subgraphs[0].nodes:
        (index,) = node.outputs
        name = full.model.subgraphs[0].tensors[index].name
        value = full.get_tensor(index)
        assert np.array_equal(part.run(X, until=index)[name], value)
        assert np.array_equal(part.run(X, taps=[name])[name], value)
        assert np.array_equal(part.run(since={name: value})["probabilities"], wanted)


def test_taps_beside_the_outputs() -> None:
    found = Interpreter(DIGITS).run({"image": X}, taps=["conv_1"])
    assert list(found) == ["probabilities", "conv_1"]
    assert list(Interpreter(DIGITS).run(X, until="conv_1", taps=["image"])) == ["conv_1", "image"]


def test_slices_take_less_and_are_kept() -> None:
    interpreter = Interpreter(DIGITS)
    sizes = [
        interpreter.run(np.ones((1, side, side, 1), np.float32), until="conv_1")["conv_1"].shape for side in (8, 12)
    ]
    assert sizes == [(1, 8, 8, 8), (1, 12, 12, 8)]
    assert len(engine_of(interpreter).slices) == 1
    for index in range(1, 4):
        interpreter.run(X, until=index, taps=["conv_1"])
    assert len(engine_of(interpreter).slices) <= 4
    interpreter.run(X)
    (first,) = list(engine_of(interpreter).slices.values())[:1]
    assert first.part.session().state.counters()["invokes"] == 3


def test_bad_slices() -> None:
    interpreter = Interpreter(DIGITS)
    for call, message in (
        (lambda: interpreter.run(X, until="none"), "there is no tensor 'none'"),
        (lambda: interpreter.run(X, until=999), "there is no tensor 999: the model has tensors 0 to"),
        (lambda: interpreter.run(until="conv_1"), "no array is given for what the slice needs: it needs are image"),
        (lambda: interpreter.run(X, until="conv_1", image=X), "unexpected keyword argument 'image'"),
    ):
        with pytest.raises(InputError, match=message):
            call()  # type: ignore[no-untyped-call]
    constant = next(t for t in interpreter.model.subgraphs[0].tensors if t.data is not None)
    with pytest.raises(InputError, match="is a constant: since takes what nodes compute"):
        interpreter.run(X, since={constant.index: constant.data})


def test_one_output_of_a_node_of_two() -> None:
    model = graph_with(
        lambda graph: graph.node(
            "UNPACK", [graph.input("x", (2, 3))], out=[("p", (3,)), ("q", (3,))], options={"num": 2, "axis": 0}
        )
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    interpreter = Interpreter(model)
    assert np.array_equal(interpreter.run(x, until=["q"])["q"], x[1])
    with pytest.raises(InputError, match=r"node 0 \(UNPACK\) computes 'q', which since gives, and another tensor"):
        interpreter.run(until=["p", "q"], since={"x": x, "q": x[0]})
    both = interpreter.run(until=["p", "q"], since={"p": x[1], "q": x[0]})
    assert np.array_equal([both["p"], both["q"]], x[::-1])


def test_comparison_sees_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares with a slice of another image, which must differ."""
    assert slices.compare(DIGITS) == slices.Found(8, 0, [])
    plain = Interpreter.run

    def other(self: Any, *inputs: Any, **options: Any) -> Any:
        found = plain(self, *inputs, **options)
        return {name: array + 1 for name, array in found.items()} if "since" in options else found

    monkeypatch.setattr(Interpreter, "run", other)
    found = slices.compare(DIGITS, sample=3)
    assert (found.tensors, len(found.differing)) == (3, 3)
    assert found.differing[0].startswith("since ")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/models")
def test_tensors_of_shared_models() -> None:
    """Compares some tensors of each model; `python tests/trust slices` compares all."""
    names = (SHARED / "tools" / "spine_models.txt").read_text().split()
    models = 0
    for name in names:
        try:
            found = slices.compare(SHARED / "models" / name, sample=2)
        except MiniliteError:
            continue
        assert found.differing == [], name
        models += found.tensors > 0
    assert models >= 30
