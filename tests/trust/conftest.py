"""Prints how many requests for memory failed."""

from __future__ import annotations

import collections
from typing import Any

TOTALS: collections.Counter[str] = collections.Counter()


def pytest_runtest_logreport(report: Any) -> None:
    """Adds up what tests have noted, in this process or another."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "short_memory":
                TOTALS.update(value)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for docs/trust.md."""
    if TOTALS:
        text = "{failed} requests failed in {scenarios} scenarios, {refused} steps were refused".format_map(TOTALS)
        terminalreporter.write_line(text)
