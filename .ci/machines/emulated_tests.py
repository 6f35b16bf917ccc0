"""A pytest plugin for machines on which tests take long (-p emulated_tests): runs go on where the last one stopped.

ML_PASSED names a file: tests noted there are left out, those that pass or are skipped are added. ML_SECONDS: after so
many, no more tests are begun. Tests come in a random order, so that those of an unfinished run are a sample of all;
ML_SEED draws another order.
"""

from __future__ import annotations

import os
import pathlib
import random
import time

import pytest

NOTES = pathlib.Path(os.environ["ML_PASSED"])
UNTIL = time.monotonic() + float(os.environ.get("ML_SECONDS", "3000"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is noted."""
    noted = set(NOTES.read_text().splitlines()) if NOTES.exists() else set()
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in noted])
    items[:] = [item for item in items if item.nodeid not in noted]
    random.Random(os.environ.get("ML_SEED", "")).shuffle(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> object:
    """Stops when the time is over; notes what passed."""
    if time.monotonic() > UNTIL:
        item.session.shouldstop = "the time is over; call again to go on"
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A failure counts also where the time was over."""
    if session.testsfailed:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


_failed: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """After the last phase of a test."""
    if report.failed:
        _failed.add(report.nodeid)
    if report.when == "teardown" and report.nodeid not in _failed:
        with NOTES.open("a") as file:
            file.write(f"{report.nodeid}\n")
