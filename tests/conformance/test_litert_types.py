"""Types that LiteRT runs and minilite refuses: litert_types.txt has a count for each reason, which may only fall."""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("litert_types.txt")
TESTS = Path(__file__).resolve().parents[1]


def named() -> list[tuple[range, str, str, str]]:
    """Each line: how its count is written, the operators, the types, and the reason."""
    lines = [line.split(" | ") for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return [(counts(count), operators, types, reason) for count, operators, types, reason in lines]


def counts(message: str) -> range:
    """Returns the counts that an entry of the file allows: "7" is exactly 7, "<=7" at most 7."""
    most = int(message.removeprefix("<="))
    return range(0 if message.startswith("<=") else most, most + 1)


def test_every_line_has_its_reason() -> None:
    assert all(count[-1] > 0 and reason for count, _, _, reason in named())


@pytest.mark.slow
def test_types_refused_but_run_by_litert_are_listed() -> None:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "support.litert_types"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = named()
    found, unnamed = [0] * len(lines), []
    for pair in run.stdout.splitlines():
        op, types = pair.split(" ", 1)
        for i, (_, operators, pattern, _) in enumerate(lines):
            if fnmatch.fnmatchcase(op, operators) and fnmatch.fnmatchcase(types, pattern):
                found[i] += 1
                break
        else:
            unnamed.append(pair)
    assert unnamed == []
    changed = {f"{line[1]} | {line[2]}": now for line, now in zip(lines, found, strict=True) if now not in line[0]}
    assert changed == {}, "more: why? fewer: put the new number down"
