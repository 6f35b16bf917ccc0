"""A Predictor on Dask's workers: every row once, and as single runs give it, also when a worker is killed."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from typing import Any

import numpy as np
import pytest

from minilite import Predictor

distributed = pytest.importorskip("distributed")

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"
TASKS = 200


@pytest.mark.filterwarnings("ignore")
def test_killed_worker_loses_no_row() -> None:
    """200 tasks on two processes, one of which is killed while they are out."""
    rows = np.random.default_rng(0).uniform(size=(TASKS, 2, 8, 8, 1)).astype(np.float32)
    predictor = Predictor(DIGITS, batch=1)

    def slowly(predictor: Any, rows: Any, number: int) -> Any:  # by value: workers do not import this file
        time.sleep(0.01)
        return number, predictor({"image": rows})["probabilities"]

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        waiting = client.map(slowly, [predictor] * TASKS, list(rows), range(TASKS), pure=False)
        distributed.wait(waiting[:5])
        assert sum(not future.done() for future in waiting) >= 40
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        found = client.gather(waiting)
    assert [number for number, _ in found] == list(range(TASKS))
    wanted = predictor({"image": rows.reshape(-1, 8, 8, 1)})["probabilities"]
    assert np.array_equal(np.concatenate([each for _, each in found]), wanted)
