"""minilite.Predictor.check and minilite.rebatched: a batch gives what its items give, or is refused."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from batch import models

import minilite
from minilite import Interpreter, Predictor, rebatched
from minilite.errors import InputError, MiniliteError, ShapeError

SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "models"


def test_batch_of_a_plain_model_is_right() -> None:
    for n in (1, 2, 7):
        Predictor(models.classifier()).check(n)


def test_node_that_mixes_is_named() -> None:
    with pytest.raises(ShapeError, match=r"^subgraph 0, node 0 \(MEAN 'mean'\) mixes items: a batch of 3") as error:
        Predictor(models.mixing()).check(3)
    assert (error.value.node, error.value.op) == (0, "MEAN")


def test_node_that_refuses_is_named() -> None:
    with pytest.raises(ShapeError, match=r"a batch of 2 is refused: .*node 0 \(CONCATENATION 'y'\)") as error:
        Predictor(models.refusing()).check(2)
    assert error.value.op == "CONCATENATION"


def test_constant_target_is_opened() -> None:
    model = models.classifier(target=(1, 4))
    with pytest.raises(ShapeError):
        Interpreter(model).run(np.zeros((2, 2, 2), np.float32))
    made = Interpreter(rebatched(model))
    x = np.random.default_rng(0).normal(size=(5, 2, 2)).astype(np.float32)
    single = Interpreter(model)
    assert np.array_equal(made.run(x)["out"], np.concatenate([single.run(one[None])["out"] for one in x]))


@pytest.mark.parametrize("target", [(1, -1), (-1, 4)])
def test_target_with_an_open_dimension(target: tuple[int, ...]) -> None:
    made = Interpreter(rebatched(models.classifier(target=target)))
    assert made.run(np.zeros((3, 2, 2), np.float32))["out"].shape == (3, 3)


def test_what_rewriting_cannot_help_is_refused() -> None:
    with pytest.raises(ShapeError, match="mixes items"):
        rebatched(models.mixing())


def test_model_without_a_batch_dimension() -> None:
    model = models.elementwise((4, 3))
    for call in (lambda: rebatched(model), lambda: Predictor(model).check(2), lambda: Predictor(model, batch=2)):
        with pytest.raises(InputError, match=r"the model has no batch dimension: input 'x' has the shape \(4, 3\)"):
            call()
    with pytest.raises(InputError, match="a batch of 0, must be at least 1"):
        Predictor(models.classifier()).check(0)


def entries() -> list[dict[str, Any]]:
    if not (SHARED / "MANIFEST.json").exists():
        return []
    found = json.loads((SHARED / "MANIFEST.json").read_text())
    return [one for one in found if one["inputs"] and all(each["shape"][:1] == [1] for each in one["inputs"])]


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/models")
def test_shared_models_are_right_or_refused() -> None:
    """Batches of 3 of another seed than `check` draws equal single runs wherever it or `rebatched` let them pass."""
    right = 0
    for entry in entries():
        path = SHARED / entry["file"]
        try:
            signatures = Interpreter(path).model.signatures
            key = next((s.key for s in signatures if s.subgraph == 0), None)
            predictor = Predictor(path, key, batch=3)
            predictor.check(3)
        except MiniliteError:
            continue
        rng = np.random.default_rng(7)
        rows = {name: [_drawn(t, rng) for _ in range(3)] for name, t in predictor._entry.inputs.items()}
        together, alone = predictor(rows), Predictor(path, key, batch=1)(rows)
        for name, wanted in alone.items():
            if wanted.dtype.kind == "f":
                limit = 1e-5 * np.abs(wanted).max()
                np.testing.assert_allclose(together[name], wanted, rtol=0, atol=limit, err_msg=entry["file"])
            else:
                assert (together[name] == wanted).all(), entry["file"]
        right += 1
    assert right >= 96


def _drawn(tensor: Any, rng: np.random.Generator) -> Any:
    from minilite.inputs.random_values import random_values

    return random_values(tensor, tensor.shape, rng)


def test_public_names() -> None:
    assert minilite.Predictor is Predictor
    assert minilite.rebatched is rebatched
