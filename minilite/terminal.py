"""The only way to standard output and standard error: what is printed here can do nothing to a terminal, and a stream
that is closed, full, or has few letters gives no traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TextIO

from minilite.errors import visible, visible_lines


def say(text: str, end: str = "\n") -> None:
    """Prints lines on standard output. Raises: OSError, which names it."""
    _write(sys.stdout, visible_lines(text) + end)


def complain(text: str) -> None:
    """Prints lines on standard error, if it can be written to."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, f"{visible_lines(text)}\n")


def rewrite(text: str) -> None:
    """Puts text in place of the present line of standard error, which is a terminal."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, f"\r\x1b[K{visible(text)}")


def deliver(page: str) -> None:
    """Writes a whole file to standard output, in UTF-8 whatever its encoding is. Raises: OSError, which names it."""
    try:
        _open(sys.stdout).flush()
        sys.stdout.buffer.write(page.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    except OSError as error:
        raise _given_up(sys.stdout, error) from None


def shows_progress() -> bool:
    """True if standard error is a terminal on which a line can be rewritten."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def takes_all_letters() -> bool:
    """True if standard output can be written any text."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")


def _write(stream: TextIO | None, text: str) -> None:
    """Writes at once; letters that the stream's encoding lacks become escapes."""
    try:
        there = _open(stream)
        encoding = getattr(there, "encoding", None) or "utf-8"  # streams of programs may have none
        there.write(text.encode(encoding, "backslashreplace").decode(encoding))
        there.flush()
    except OSError as error:
        raise _given_up(stream, error) from None


def _open(stream: TextIO | None) -> TextIO:
    if stream is None or getattr(stream, "closed", False):
        raise OSError(errno.EBADF, "it is closed")
    return stream


def _given_up(stream: TextIO | None, error: OSError) -> OSError:
    """The error for a stream that takes nothing more. What is left in its buffer goes nowhere: it would fail once more
    when Python ends."""
    if stream is not None and not getattr(stream, "closed", False):
        with contextlib.suppress(OSError, AttributeError):  # some streams of programs are no files
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
    name = "standard error" if stream is sys.stderr else "standard output"
    return OSError(error.errno, f"{name}: {error.strerror}")
