"""Simulates a job on 1 to 1,000 workers, on paper: nothing runs but this script.

usage: python -m asv_bench.cluster [--items 1000000] [--ms 10] [--item-kb 100] [--model-mb 20] [--task 100]

Two tables in Markdown, those of docs/sizing.md: time, throughput and what limits it, and the memory of a machine. What
is assumed beside the options is in `Assumed`, and printed first. Tasks are handed out one after the other by one
scheduler, to the worker that is free first; their times are drawn from a log-normal distribution, seeded.
"""

from __future__ import annotations

import argparse
import heapq
from typing import NamedTuple

import numpy as np

WORKERS = (1, 2, 4, 10, 40, 100, 400, 1000)
MIB = 2**20


class Assumed(NamedTuple):
    """What the simulation takes for given; times in seconds, rates in bytes a second."""

    cores: int = 16
    """Cores of a machine; a worker has one."""
    start: float = 5.0
    """From the request for a worker to its first task: the process, imports, packing weights."""
    handing_out: float = 0.0005
    """Of the scheduler for each task, which is what Dask's takes."""
    storage: float = 5e9
    """All that the storage of inputs and of the model gives to all machines together."""
    link: float = 1.25e9
    """The network of the scheduler's machine, for what it sends itself."""
    spread: float = 0.3
    """The standard deviation of the logarithm of a task's time."""
    process: int = 24 * MIB
    """Python and numpy in a process."""
    forked: int = 5 * MIB
    """The pages of a forked process that it changes, without its arena."""
    arena: int = 4 * MIB


class Job(NamedTuple):
    """What has to be done."""

    items: int = 1_000_000
    seconds: float = 0.010
    """Of an item on one core."""
    item_bytes: float = 100e3
    model_bytes: float = 20e6
    task: int = 100
    """Items of a task."""


class Outcome(NamedTuple):
    """What a number of workers makes of a job."""

    seconds: float
    limit: str
    """What took most of the time: computing, storage or the scheduler."""
    shipped: float
    """Seconds until all machines have the model, read by path from the storage."""


def simulated(job: Job, workers: int, assumed: Assumed, *, carried: bool = False) -> Outcome:
    """A run of the job. With `carried`, each task carries the model's bytes instead of a path."""
    rng = np.random.default_rng(workers)
    machines = -(-workers // assumed.cores)
    shipped = 0 if carried else machines * job.model_bytes / assumed.storage
    free = [assumed.start + shipped] * workers
    tasks = -(-job.items // job.task)
    handed, read, end = assumed.start, free[0], 0.0
    sent = job.model_bytes / assumed.link if carried else 0
    times = job.task * job.seconds * rng.lognormal(-(assumed.spread**2) / 2, assumed.spread, tasks)
    for time in times:
        handed += assumed.handing_out + sent
        begun = max(heapq.heappop(free), handed)
        read = max(read, begun) + job.task * job.item_bytes / assumed.storage
        done = max(begun + float(time), read)
        heapq.heappush(free, done)
        end = max(end, done)
    busy = {
        "computing": float(times.sum()) / workers,
        "storage": tasks * job.task * job.item_bytes / assumed.storage,
        "scheduler": tasks * (assumed.handing_out + sent),
    }
    return Outcome(end, max(busy, key=busy.__getitem__), shipped)


def memory(job: Job, workers: int, assumed: Assumed) -> tuple[float, float, float]:
    """Bytes of a full machine: workers started anew, forked, and as threads of one process."""
    count = min(workers, assumed.cores)
    alone = assumed.process + job.model_bytes
    return (
        count * (alone + assumed.arena),
        alone + count * (assumed.forked + assumed.arena),
        alone + count * assumed.arena,
    )


def lines(job: Job, assumed: Assumed) -> list[str]:
    """The tables."""
    one = simulated(job, 1, assumed).seconds
    found = [
        "| workers | minutes | items a second | of ideal | limit | model read, s | model in each task, minutes |",
        "|---:|---:|---:|---:|---|---:|---:|",
    ]
    for workers in WORKERS:
        outcome, carried = simulated(job, workers, assumed), simulated(job, workers, assumed, carried=True)
        found.append(
            f"| {workers} | {outcome.seconds / 60:.1f} | {job.items / outcome.seconds:.0f} "
            f"| {one / workers / outcome.seconds:.2f} | {outcome.limit} | {outcome.shipped:.2f} "
            f"| {carried.seconds / 60:.1f} |"
        )
    found += ["", "| workers on a machine | started anew, MiB | forked, MiB | threads, MiB |", "|---:|---:|---:|---:|"]
    for workers in (each for each in (*WORKERS, assumed.cores) if each <= assumed.cores):
        cells = " | ".join(f"{each / MIB:.0f}" for each in memory(job, workers, assumed))
        found.append(f"| {workers} | {cells} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=Job().items, help="items of the job")
    parser.add_argument("--ms", type=float, default=Job().seconds * 1e3, help="milliseconds of an item on one core")
    parser.add_argument("--item-kb", type=float, default=Job().item_bytes / 1e3, help="of an item, in 1000 bytes")
    parser.add_argument("--model-mb", type=float, default=Job().model_bytes / 1e6, help="of the model, in 1e6 bytes")
    parser.add_argument("--task", type=int, default=Job().task, help="items of a task")
    args = parser.parse_args()
    job = Job(args.items, args.ms / 1e3, args.item_kb * 1e3, args.model_mb * 1e6, args.task)
    assumed = Assumed()
    print(", ".join(f"{name} {value:g}" for name, value in [*job._asdict().items(), *assumed._asdict().items()]) + "\n")
    print("\n".join(lines(job, assumed)))


if __name__ == "__main__":
    main()
