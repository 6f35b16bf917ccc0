"""A Predictor on Dask's workers: every row once, and as single runs give it, also when a worker is killed."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from batch.programs import check_program

from minilite import Interpreter, Predictor

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"
TASKS, OUT = 200, 40


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A Dask client with two worker processes of one thread each."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def images(count: int) -> Any:
    return np.random.default_rng(0).uniform(size=(count, 8, 8, 1)).astype(np.float32)


def singles(rows: Any) -> Any:
    interpreter = Interpreter(DIGITS)
    return np.concatenate([interpreter.run(row[None])["probabilities"] for row in rows])


def test_blocks_of_an_array(client: Any) -> None:
    array = pytest.importorskip("dask.array")
    rows = images(90)
    predictor = Predictor(DIGITS, batch=1)
    blocks = array.from_array(rows, chunks=(20, -1, -1, -1)).map_blocks(
        lambda block: predictor({"image": block})["probabilities"],
        chunks=((20, 20, 20, 20, 10), (10,)), drop_axis=[2, 3], meta=np.empty((0, 0), np.float32),
    )  # fmt: skip
    assert np.array_equal(blocks.compute(), singles(rows))


def test_killed_worker_loses_no_row(client: Any) -> None:
    """Kills one of two processes after 160 of 200 tasks have ended. The results that it held, and the task that it ran,
    are computed again."""
    rows = images(2 * TASKS).reshape(TASKS, 2, 8, 8, 1)
    predictor = Predictor(DIGITS, batch=1)
    killed = distributed.Event("killed", client=client)

    def work(rows: Any, number: int) -> Any:  # pickled by value, because workers do not import this file
        if number >= TASKS - OUT:
            distributed.Event("killed").wait()
        return number, predictor({"image": rows})["probabilities"]

    first = client.map(work, list(rows[:-OUT]), range(TASKS - OUT), pure=False)
    distributed.wait(first, timeout=120)
    waiting = first + client.map(work, list(rows[-OUT:]), range(TASKS - OUT, TASKS), pure=False)
    assert sum(not future.done() for future in waiting) == OUT
    worker, process = next(iter(client.run(os.getpid).items()))
    assert client.has_what()[worker]
    os.kill(process, signal.SIGKILL)
    killed.set()
    found = client.gather(waiting)
    assert [number for number, _ in found] == list(range(TASKS))
    assert np.array_equal(np.concatenate([each for _, each in found]), singles(rows.reshape(-1, 8, 8, 1)))
    assert process not in client.run(os.getpid).values()


def test_program_of_the_page(tmp_path: pathlib.Path) -> None:
    check_program("Dask", tmp_path)
