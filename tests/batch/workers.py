"""Runs a job in two processes, and prints how many rows were written, or the error, and what memory the processes have
of their own: python -m batch.workers MODEL ROWS.npy OUT. The operator Fatal kills its process at a negative number."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any

from minilite import Predictor
from minilite.batch import job as jobs
from minilite.batch import running
from minilite.batch.items import Taken, sources_of
from minilite.errors import MiniliteError
from minilite.inputs import Feed


def fatal(_: Any, x: Any) -> Any:
    """Returns x; kills its process if x begins with a negative number."""
    if x[0, 0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def private_bytes(pid: int | None) -> int:
    """Returns the bytes of memory that no other process shares, on Linux."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


def main(model: str, rows: str, out: str) -> None:
    """Runs the job of the command line."""
    predictor = Predictor(model, batch=1, on_error="skip", custom_ops={"Fatal": fatal})
    taken = Taken({name: Feed.of(tensor) for name, tensor in predictor._entry.inputs.items()}, {}, batched=True)
    job = jobs.Job(predictor, taken, "npz", [], False, 0, [], {}, False, str(Path.cwd()))
    parts = jobs.parts_of(sources_of([rows], taken), Path(out), "npz", 4)
    Path(out).mkdir()
    written = most = 0
    try:
        for done in running.run_in_processes(job, parts, 2):
            written += done.rows
            if "--memory" in sys.argv:
                most = max([most, *(private_bytes(child.pid) for child in multiprocessing.active_children())])
        print(written, most)
    except MiniliteError as error:
        print(type(error).__name__, error)


if __name__ == "__main__":
    main(*sys.argv[1:4])
