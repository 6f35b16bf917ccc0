"""Guards calls of libraries on untrusted bytes: any exception of theirs becomes an InputError."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from minilite.errors import InputError


@contextlib.contextmanager
def foreign(what: str, rule: str = "") -> Iterator[None]:
    """Guards a `with` block in which a library reads a file that may be damaged on purpose: no list of exceptions is
    complete.

    `what` begins the message, and `rule` ends it. Raises: InputError.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        reason = " ".join(str(error).split()) or type(error).__name__
        message = f"{what}: {reason}{rule}"
        raise InputError(message) from None
