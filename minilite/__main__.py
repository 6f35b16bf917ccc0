"""Runs the command minilite, also as python -m minilite. Ctrl-C ends it at any moment, during imports as well."""

import atexit
import os
import signal
import sys
from typing import Any, NoReturn

INTERRUPTED = 130
PATIENCE = 2.0
"""Seconds that the command has to end by itself. Something may have swallowed the exception, as imports and destructors
do: then it is raised once more, so that nothing half-written is left, and after as many seconds the process ends."""


def _end(*_: object) -> NoReturn:
    os.write(2, b"minilite: interrupted\n")
    os._exit(INTERRUPTED)


def _unless_interrupt(swallowed: Any) -> None:
    if swallowed.exc_type is not KeyboardInterrupt:  # which is raised again
        sys.__unraisablehook__(swallowed)


def _interrupt(*_: object) -> NoReturn:
    sys.unraisablehook = _unless_interrupt
    signal.signal(signal.SIGINT, _end)
    signal.signal(signal.SIGALRM, _interrupt_again)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
    raise KeyboardInterrupt


def _interrupt_again(*_: object) -> NoReturn:
    signal.signal(signal.SIGALRM, _end)
    raise KeyboardInterrupt


_LISTENS = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where it is started with nohup
if _LISTENS:
    signal.signal(signal.SIGINT, _end)  # imports turn a KeyboardInterrupt into errors of their own, or tracebacks


def main() -> int:
    """Runs the command; the exit status."""
    from minilite.cli import main as command

    if not _LISTENS:
        return command()
    # The timer must not outlive the handler of its signal, which Python takes away after the last of these functions.
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        status = command()
    finally:
        gone = signal.getsignal(signal.SIGINT) is _end
        signal.signal(signal.SIGINT, _end)
        if gone:
            signal.signal(signal.SIGALRM, _end)
    return INTERRUPTED if gone else status


if __name__ == "__main__":
    sys.exit(main())
