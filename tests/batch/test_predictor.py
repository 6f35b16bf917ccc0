"""minilite.Predictor: columns in, columns out; each row as a run of its own."""

from __future__ import annotations

import collections.abc
import itertools
import pathlib
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from batch import models
from built import accumulator

from minilite import Interpreter, Predictor
from minilite.errors import InputError, KernelError, MiniliteError, ModelNotFoundError, ShapeError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"


def images(count: int, *sides: int, seed: int = 0) -> list[Any]:
    """Images of these sides in turn."""
    rng = np.random.default_rng(seed)
    of = itertools.islice(itertools.cycle(sides), count)
    return [rng.uniform(size=(side, side, 1)).astype(np.float32) for side in of]


def alone(rows: list[Any]) -> Any:
    return np.concatenate([Interpreter(DIGITS).run(row[None])["probabilities"] for row in rows])


@pytest.mark.parametrize("batch", ["auto", 1, 3])
def test_rows_equal_single_runs(batch: Any) -> None:
    rows = images(11, 8, 12, 8, 20)
    found = Predictor(DIGITS, batch=batch)({"image": rows, "name": list("abcdefghijk")})
    np.testing.assert_allclose(found["probabilities"], alone(rows), rtol=0, atol=1e-6)
    assert list(found["name"]) == list("abcdefghijk")


def test_array_and_list_of_arrays_are_the_same() -> None:
    rows = images(5, 8)
    one = Predictor(DIGITS, batch=1)
    found = [one({"image": column})["probabilities"] for column in (rows, np.stack(rows), [row[None] for row in rows])]
    assert all(np.array_equal(each, alone(rows)) for each in found)


def test_object_column() -> None:
    rows = images(4, 8, 9)
    column = np.empty(4, object)
    column[:] = rows
    assert np.array_equal(Predictor(DIGITS, batch=1)({"image": column})["probabilities"], alone(rows))


def test_no_rows() -> None:
    found = Predictor(DIGITS)({"image": [], "name": []})
    assert found["probabilities"].shape == (0, 10)
    assert found["probabilities"].dtype == np.float32


def test_four_threads_share_one() -> None:
    rows = [images(6, 8, 12, seed=number) for number in range(4)]
    wanted, one = [alone(each) for each in rows], Predictor(DIGITS, batch=1)
    found: list[Any] = [None] * 4

    def work(number: int) -> None:
        found[number] = [one({"image": rows[number]})["probabilities"] for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(each, wanted[number]) for number in range(4) for each in found[number])


def test_strings_of_rows() -> None:
    """Rows may be text or bytes."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,), TensorType.STRING)
    graph.output(
        graph.node("GATHER", [x, graph.constant("first", np.array([0], np.int32))], out=("y", (1,), TensorType.STRING))
    )
    found = Predictor(builder.build(), batch=1)({"x": ["one", b"two", "dr\u00fc"]})["y"]
    assert found.tolist() == [b"one", b"two", "dr\u00fc".encode()]


def test_elements_of_a_column_are_read_once() -> None:
    """Any sequence is a column; if it raises an error for an element, only that row fails."""
    read: list[int] = []

    class Lazy(collections.abc.Sequence[Any]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, number: Any) -> Any:
            read.append(number)
            if number == 2:
                message = "there is nothing"
                raise InputError(message)
            return images(1, 8, seed=number)[0]

    found = Predictor(DIGITS, batch=2, on_error="skip")({"image": Lazy()})
    assert read == [0, 1, 2, 3]
    assert found["error"].tolist() == [None, None, "there is nothing", None]
    with pytest.raises(InputError, match=r"^row 2: there is nothing$"):
        Predictor(DIGITS)({"image": Lazy()})


def test_pickle_of_a_path_holds_the_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DIGITS.parent)
    data = pickle.dumps(Predictor("digits.tflite", batch=2, on_error="skip"))
    assert len(data) < 2000
    monkeypatch.chdir(tmp_path)
    made, rows = pickle.loads(data), images(2, 8)
    assert np.array_equal(made({"image": rows})["probabilities"], alone(rows))


def test_pickle_of_bytes_holds_them() -> None:
    made = pickle.loads(pickle.dumps(Predictor(DIGITS.read_bytes(), batch=1)))
    assert np.array_equal(made({"image": images(2, 8)})["probabilities"], alone(images(2, 8)))


def test_file_that_vanishes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "gone.tflite"
    path.write_bytes(DIGITS.read_bytes())
    data = pickle.dumps(Predictor(path))
    path.unlink()
    with pytest.raises(ModelNotFoundError, match=r"gone\.tflite"):
        pickle.loads(data)


def test_rewritten_model_serves_batches() -> None:
    one = Predictor(models.classifier(target=(1, 4)), batch=3)
    x = np.random.default_rng(0).normal(size=(7, 2, 2)).astype(np.float32)
    single = Interpreter(models.classifier(target=(1, 4)))
    assert np.array_equal(one({"image": x})["out"], np.concatenate([single.run(row[None])["out"] for row in x]))


def test_batch_that_is_wrong_is_refused() -> None:
    with pytest.raises(ShapeError, match="mixes items"):
        Predictor(models.mixing(), batch=2)({"x": np.ones((2, 3), np.float32)})
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (Predictor(models.mixing())({"x": x})["centred"] == 0).all()


def test_no_row_sees_the_variables_of_another() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = Predictor(accumulator(), batch=1)({Interpreter(accumulator()).get_input_details()[0]["name"]: list(x)})
    assert np.array_equal(next(iter(found.values())), x)


def test_rows_are_whole_inputs_without_a_batch_dimension() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 3)).astype(np.float32)
    assert np.array_equal(Predictor(models.elementwise((4, 3)))({"x": x})["y"], np.stack([_exp(row) for row in x]))


def _exp(row: Any) -> Any:
    return Interpreter(models.elementwise((4, 3))).run(row)["y"]


def test_real_numbers_of_a_quantized_model() -> None:
    found = Predictor(models.quantized(), real=True)({"x": [[0.52, -1.0, 2.0]]})["y"]
    np.testing.assert_allclose(found, [[0.5, 0, 2.0]], atol=1e-6)
    with pytest.raises(InputError, match=r"^row 1 of column 'x': there is no quantized value for NaN$"):
        Predictor(models.quantized(), real=True)({"x": [[0, 0, 0], [0, np.nan, 0]]})
    for bad in ([1j, 0, 0], ["1", "2", "3"], None):
        with pytest.raises(InputError, match=r"^row 1 of column 'x': it is of dtype .*, must be of real numbers$"):
            Predictor(models.quantized(), real=True)({"x": [[0, 0, 0], bad]})


def test_failing_row_is_named() -> None:
    with pytest.raises(KernelError, match=r"^row 2: subgraph 0, node 0 \(GATHER 'row'\)"):
        Predictor(models.gathering(), batch=2)({"which": np.array([0, 1, 9, 2], np.int32)})


@pytest.mark.parametrize("batch", [1, 2])
def test_failing_rows_are_skipped(batch: int) -> None:
    found = Predictor(models.gathering(), batch=batch, on_error="skip")({"which": np.array([3, 9, 1, 2], np.int32)})
    assert np.array_equal(found["row"], [[6, 7], [np.nan, np.nan], [2, 3], [4, 5]], equal_nan=True)
    assert [error is None for error in found["error"]] == [True, False, True, True]
    assert "index 0 is 9" in found["error"][1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([1], "columns are of type list, must map names to sequences of rows"),
        ({}, "column 'image' is missing: there are none, the model takes 'image'"),
        ({"picture": []}, "column 'image' is missing: there are 'picture', the model takes 'image'"),
        ({"image": "a"}, "column 'image' is of type str, must be a sequence of rows"),
        ({"image": np.float32(1)}, "column 'image' is of type float32, must be a sequence of rows"),
        ({"image": images(2, 8), "name": ["a"]}, "column 'name' has 1 rows, column 'image' has 2"),
        (
            {"image": [], "probabilities": []},
            "column 'probabilities' has the name of a column that is added: those are 'probabilities'",
        ),
        (
            {"image": [*images(1, 8), np.zeros((8, 8, 1))]},
            "row 1 of column 'image' is of dtype float64, the model takes",
        ),
        ({"image": [*images(1, 8), [[1.0], [1.0, 2.0]]]}, "row 1 of column 'image': .*differ in shape"),
        ({"image": [np.zeros((8, 8), np.float32)]}, r"row 0 of column 'image' is of shape \(8, 8\), the model takes 3"),
        ({"image": [*images(1, 8), np.zeros((8, 8, 3), np.float32)]}, "row 1: input 'image' is of shape"),
        ({"image": [None]}, "row 0 of column 'image'"),
    ],
)
def test_bad_columns(columns: Any, message: str) -> None:
    with pytest.raises(MiniliteError, match=f"^{message}") as error:
        Predictor(DIGITS)(columns)
    assert "\n" not in str(error.value)


def test_bad_options() -> None:
    for options, message in (
        ({"batch": 0}, "batch is 0, must be a number of rows, 1 or more"),
        ({"batch": "many"}, "batch is 'many', must be a number of rows"),
        ({"on_error": "ignore"}, "on_error is 'ignore', must be one of raise, skip"),
        ({"signature": "none"}, "Invalid signature_key provided"),
    ):
        with pytest.raises(InputError, match=message):
            Predictor(DIGITS, **options)  # type: ignore[arg-type]
