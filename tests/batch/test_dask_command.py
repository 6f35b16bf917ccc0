"""`minilite batch --scheduler`: parts run on a Dask that is there already."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from built import COUNTER, below, endless, loop
from processes import patience

from minilite import Predictor
from minilite.batch import running
from minilite.cli import main

dask = pytest.importorskip("dask", reason="the extra `dask` is not installed")
distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"
CONNECTS_IN = "distributed.comm.timeouts.connect"


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


SCHEDULER = """
import distributed, sys

if __name__ == "__main__":
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, scheduler_port=0, protocol="tcp://"
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextlib.contextmanager
def scheduler() -> Iterator[tuple[str, int]]:
    """The address and the process of a scheduler, with a worker in the same process; both end with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.kill()
        process.communicate()


def test_scheduler_that_dies_midway(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written parts stay, one line reports the error, and another scheduler goes on."""
    monkeypatch.chdir(tmp_path)
    last = 2**31 - 1
    pathlib.Path("m.tflite").write_bytes(loop([COUNTER], below(last), endless))
    np.save("rows.npy", np.array([last, 1, 2, 3], np.int32))  # the first row ends, the others never do
    first, ends = pathlib.Path("out", "part-00000.npz").absolute(), time.monotonic() + patience(60)
    given = ["batch", "m.tflite", "rows.npy", "--out", "out", "--part", "1", "--batch", "1", "--scheduler"]
    with dask.config.set({CONNECTS_IN: "60s"}), scheduler() as (address, process):

        def kill() -> None:
            while not first.exists() and time.monotonic() < ends:
                time.sleep(0.01)
            dask.config.set({CONNECTS_IN: "1s"})  # nobody will answer
            os.kill(process, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        assert main([*given, address]) == 1
        killer.join()
    out, error = capfd.readouterr()
    assert (out, error) == ("", f"minilite: the Dask scheduler at {address} is gone: {running._GO_ON}\n")
    assert sorted(path.name for path in pathlib.Path("out").iterdir()) == ["_job.json", first.name]
    before = first.stat()
    np.save("rows.npy", np.full(4, last, np.int32))
    with scheduler() as (address, _):
        assert main([*given, address]) == 0
    assert capfd.readouterr().out.startswith("wrote 3 rows in 3 parts")
    assert first.stat() == before


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
