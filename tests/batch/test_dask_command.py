"""`minilite batch --scheduler`: parts run on a Dask that is there already."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from minilite import Predictor
from minilite.batch import running
from minilite.cli import main

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"


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
