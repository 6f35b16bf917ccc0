"""A Predictor in Ray Data's map_batches: every row once, as single runs give it, on two actors."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from batch.models import gathering
from batch.programs import check_program

from minilite import Interpreter, Predictor

ray = pytest.importorskip("ray.data", reason="ray[data] is not installed: .ci/programs installs it")

pytestmark = pytest.mark.filterwarnings("ignore")
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A Ray of this test alone, with two processors."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def predicted(rows: list[dict[str, Any]], model: str, **options: Any) -> list[dict[str, Any]]:
    """The rows that two actors made, in the order of their numbers."""
    found = ray.from_items([{**row, "number": number} for number, row in enumerate(rows)]).map_batches(
        Predictor,
        fn_constructor_kwargs={"model": model, **options},
        batch_format="numpy",
        batch_size=16,
        compute=ray.ActorPoolStrategy(size=2),
    )
    return sorted(found.take_all(), key=lambda row: row["number"])


@pytest.mark.parametrize("sides", [(8,), (8, 12, 17)], ids=["equal shapes", "mixed shapes"])
def test_rows_are_those_of_single_runs(sides: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    images = [rng.random((sides[i % len(sides)], 8, 1), np.float32) for i in range(100)]
    found = predicted([{"image": image} for image in images], str(DIGITS), batch=1)
    assert [row["number"] for row in found] == list(range(len(images)))
    interpreter = Interpreter(DIGITS)
    for row, image in zip(found, images, strict=True):
        assert np.array_equal(row["probabilities"], interpreter.run(image[None])["probabilities"][0])


def test_a_bad_row_is_named_and_others_go_on(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.tflite"
    path.write_bytes(gathering())
    rows = [{"which": np.int32(which)} for which in (0, 9, 2)]
    with pytest.raises(Exception, match=r"row \d: .*node 0 \(GATHER"):
        predicted(rows, str(path))
    found = predicted(rows, str(path), on_error="skip")
    assert [row["row"].tolist() for row in (found[0], found[2])] == [[0, 1], [4, 5]]
    assert [row["error"] is None for row in found] == [True, False, True]
    assert "GATHER" in found[1]["error"]


def test_program_of_the_page(tmp_path: pathlib.Path) -> None:
    check_program("Ray Data", tmp_path)
