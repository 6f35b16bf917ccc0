"""The simulation of many workers: its tables are those of docs/sizing.md, and simple jobs come out as they have to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asv_bench.cluster import Assumed, Job, lines, memory, simulated

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sizing.md"
EXACT = Assumed(spread=0.0, start=0.0, handing_out=0.0)


def test_tables_of_the_page_are_those_of_the_command() -> None:
    found = re.search(r"<!-- cluster -->\n\n(.*?)\n\n<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert found
    assert found[1].splitlines() == lines(Job(), Assumed())


def test_a_job_that_only_computes() -> None:
    job = Job(items=1000, seconds=0.1, item_bytes=0, model_bytes=0, task=10)
    assert [simulated(job, workers, EXACT).seconds for workers in (1, 4, 100)] == pytest.approx([100, 25, 1])
    assert simulated(job, 4, EXACT).limit == "computing"


def test_what_limits() -> None:
    """The scheduler by its time for tasks, storage by its rate, a model that tasks carry by the network."""
    small = Job(items=1000, seconds=1e-6, item_bytes=0, model_bytes=0, task=1)
    handing = simulated(small, 100, EXACT._replace(handing_out=0.01))
    assert (handing.seconds, handing.limit) == (pytest.approx(10, rel=1e-3), "scheduler")
    reading = simulated(small._replace(item_bytes=1e6), 100, EXACT._replace(storage=1e8))
    assert (reading.seconds, reading.limit) == (pytest.approx(10, rel=1e-3), "storage")
    carried = simulated(small._replace(model_bytes=1e6), 100, EXACT._replace(link=1e8), carried=True)
    assert (carried.seconds, carried.limit) == (pytest.approx(10, rel=1e-3), "scheduler")


def test_memory_of_a_machine() -> None:
    assumed = Assumed(cores=4, process=100, forked=10, arena=1)
    assert memory(Job(model_bytes=1000), 4, assumed) == (4 * 1101, 1100 + 4 * 11, 1100 + 4)
    assert memory(Job(model_bytes=1000), 2, assumed)[0] == 2 * 1101
