"""Progress of long work: a line on a terminal after the first second, gone at the end; a bar where rich is there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pty
import re
import subprocess
import sys
import time

import pytest

from minilite import progress as module
from minilite.progress import Work, progress, silent, tick, working

HAS_RICH = importlib.util.find_spec("rich") is not None


class Terminal:
    """Standard error as a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


class Moments:
    """An event that is set at the last of some moments, a second apart."""

    def __init__(self, moments: int, now: list[float]) -> None:
        self.left = moments
        self.now = now

    def wait(self, seconds: float) -> bool:
        self.now[0] += 1
        self.left -= 1
        return self.left == 0


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error from now on, without rich; not in a fixture, since pytest captures each phase again."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_long_work_shows_a_line_and_wipes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    work = Work("run", 2)
    work.started = 1
    tick(Moments(1, now), work)
    assert terminal.text == ""  # short work shows nothing
    tick(Moments(4, now), work)
    assert terminal.text == "".join(f"\r\x1b[Krun 1 of 2, {s} s" for s in (1, 2, 3)) + "\r\x1b[K"


def test_progress_is_shown_on_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    shown: list[str] = []
    monkeypatch.setattr(module, "tick", lambda done, work: (done.wait(), shown.append(str(work))))
    assert list(progress("abc", "letter")) == list("abc")
    assert list(progress(iter("abc"), "letter", 4)) == list("abc")
    assert list(progress(iter("abc"), "letter")) == list("abc")
    assert shown == ["letter 3 of 3", "letter 3 of 4", "letter"]
    with contextlib.suppress(KeyboardInterrupt), working("planning") as work:
        work.what = "searching"
        raise KeyboardInterrupt
    assert shown.pop() == "searching"
    monkeypatch.setenv("TERM", "dumb")
    assert list(progress("abc", "letter")) == list("abc")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    assert list(progress("abc", "letter")) == list("abc")
    monkeypatch.setattr(sys, "stderr", None)  # as without a console
    assert list(progress("abc", "letter")) == list("abc")
    assert len(shown) == 3
    assert terminal.text == ""


def test_silent_gives_the_items() -> None:
    assert list(silent("abc", "letter")) == list("abc")


LONG = """
import threading
from minilite import progress

class Event:
    left = 4

    def wait(self, seconds):
        self.left -= 1
        return self.left == 0

work = progress.Work("size", 4)
work.started = 2
progress.tick(Event(), work)
"""
"""Work that goes on at three moments, without the time that it would take."""


def in_terminal(**environment: str) -> str:
    leader, follower = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    command = [sys.executable, "-c", LONG]
    with subprocess.Popen(
        command, stdout=follower, stderr=follower, env=kept | {"TERM": "xterm"} | environment
    ) as done:
        os.close(follower)
        found = b""
        while True:
            try:
                found += os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
    os.close(leader)
    assert done.returncode == 0, found
    return found.decode()


@pytest.mark.skipif(not HAS_RICH, reason="rich is not installed")
def test_rich_draws_a_bar_and_no_color_takes_its_colours() -> None:
    coloured = re.compile(r"\x1b\[(?:3[0-79]|38;[\d;]+)m")
    shown = in_terminal()
    assert "size 2 of 4, 0 s" in shown
    assert "━" in shown
    assert coloured.search(shown)
    assert shown.endswith("\x1b[2K") or shown.rstrip("\r\n").endswith("\x1b[2K")
    assert not coloured.search(in_terminal(NO_COLOR="1"))
