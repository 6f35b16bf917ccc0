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
from minilite.batch import running
from minilite.cli import main

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


@pytest.mark.filterwarnings("ignore")
def test_command_gives_parts_to_a_scheduler(tmp_path: pathlib.Path) -> None:
    rows = np.random.default_rng(0).uniform(size=(30, 8, 8, 1)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, scheduler_port=0, protocol="tcp://"
    ) as cluster:
        given = [str(DIGITS), str(tmp_path / "rows.npy"), "--out", str(tmp_path / "out"), "--part", "4", "--batch", "1"]
        assert main(["batch", *given, "--scheduler", cluster.scheduler_address]) == 0
    parts = sorted((tmp_path / "out").glob("part-*.npz"))
    assert len(parts) == 8
    found = np.concatenate([np.load(part)["probabilities"] for part in parts])
    assert np.array_equal(found, Predictor(DIGITS, batch=1)({"image": rows})["probabilities"])


def test_scheduler_that_is_not_there(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_PATIENCE", 0.3)
    np.save(tmp_path / "rows.npy", np.zeros((3, 8, 8, 1), np.float32))
    given = [str(DIGITS), str(tmp_path / "rows.npy"), "--out", str(tmp_path / "out")]
    assert main(["batch", *given, "--scheduler", "tcp://127.0.0.1:1"]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("minilite: no Dask scheduler answers at tcp://127.0.0.1:1 within 0.3 s")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["_job.json"]
