"""minilite.Predictor.check and minilite.rebatched: a batch gives what its items give, or is refused."""

from __future__ import annotations

import numpy as np
import pytest
from batch import mixed, models
from batch.mixed import SHARED

import minilite
from minilite import Interpreter, Predictor, rebatched
from minilite.errors import InputError, KernelError, ShapeError


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


def rows_of_two_items(model: bytes) -> int | None:
    """None if two items are refused."""
    try:
        return len(Interpreter(model).run(np.zeros((2, 3), np.float32))["y"])
    except (ShapeError, KernelError):
        return None


@pytest.mark.parametrize("op", ["FILL", "BROADCAST_TO", "SCATTER_ND", "SLICE"])
def test_constants_that_say_one_item_are_computed(op: str) -> None:
    model = models.stating(op)
    assert rows_of_two_items(model) != 2
    made, single = Interpreter(rebatched(model)), Interpreter(model)
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert np.array_equal(made.run(x)["y"], np.concatenate([single.run(one[None])["y"] for one in x]))
    Predictor(model).check(2)


@pytest.mark.parametrize("op", ["TRANSPOSE_CONV", "CONV_3D_TRANSPOSE"])
def test_transposed_convolutions_take_batches_as_they_are(op: str) -> None:
    Predictor(models.upsampling(op)).check(2)
    made = rebatched(models.upsampling(op))
    assert [node.op for node in made.subgraphs[0].nodes] == [op]


def test_models_that_mix_items_are_refused() -> None:
    with pytest.raises(ShapeError, match="mixes items"):
        rebatched(models.mixing())


def test_model_without_a_batch_dimension() -> None:
    model = models.elementwise((4, 3))
    for call in (lambda: rebatched(model), lambda: Predictor(model).check(2), lambda: Predictor(model, batch=2)):
        with pytest.raises(InputError, match=r"the model has no batch dimension: input 'x' has the shape \(4, 3\)"):
            call()
    with pytest.raises(InputError, match="n is 0, must be a number of rows, 1 or more"):
        Predictor(models.classifier()).check(0)


def sampled(larger: int) -> list[str]:
    """The shared models of less than 256 KiB, and some of the others."""
    names = mixed.batched_models()
    small = [name for name in names if (SHARED / name).stat().st_size < 1 << 18]
    rest = [name for name in names if name not in small]
    return small + np.random.default_rng(3).permutation(rest)[:larger].tolist()


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/models")
@pytest.mark.parametrize(("larger", "least"), [(6, 81), pytest.param(None, 103, marks=pytest.mark.slow)])
def test_shared_models_are_right_or_refused(larger: int | None, least: int) -> None:
    """Batches of 3 of another seed than `check` draws equal single runs wherever it or `rebatched` let them pass."""
    right = 0
    for name in mixed.batched_models() if larger is None else sampled(larger):
        predictor, single = (mixed.predictor_of(SHARED / name, batch) for batch in (3, 1))
        if predictor is None or single is None:
            continue
        rng, shapes = np.random.default_rng(7), {n: t.shape for n, t in predictor._entry.inputs.items()}
        rows = [mixed.drawn(predictor, shapes, rng) for _ in range(3)]
        columns = {column: [row[column] for row in rows] for column in shapes}
        together, alone = predictor(columns), single(columns)
        for output, wanted in alone.items():
            if wanted.dtype.kind == "f":
                limit = 1e-5 * np.abs(wanted).max()
                np.testing.assert_allclose(together[output], wanted, rtol=0, atol=limit, err_msg=name)
            else:
                assert (together[output] == wanted).all(), name
        right += 1
    assert right >= least


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/models")
def test_four_threads_with_mixed_shapes() -> None:
    """A sample of the small shared models: every row as a single run gives it, in any order."""
    small = [name for name in mixed.batched_models() if (SHARED / name).stat().st_size < 1 << 20]
    compared = several = 0
    for name in np.random.default_rng(13).permutation(small):
        predictor = mixed.predictor_of(SHARED / name, mixed.BATCH)
        if predictor is None:
            continue
        found = mixed.compared(predictor, seed=13)
        assert found.equal + found.near == found.rows, name
        compared, several = compared + 1, several + (found.shapes > 1)
        if compared >= 10 and several >= 4:
            break
    assert compared >= 10
    assert several >= 4


def test_public_names() -> None:
    assert minilite.Predictor is Predictor
    assert minilite.rebatched is rebatched
