"""The small parts of text reports: tables, shapes, durations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minilite.errors import shortened

Cell = str | int | float | None


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]], indent: str = "  ") -> str:
    """Rows under a header, columns two spaces apart; numbers are aligned right, None is blank, blank columns are left out."""
    cells = [list(row) for row in rows]
    shown = [i for i in range(len(header)) if not cells or any(row[i] not in (None, "") for row in cells)]
    header, cells = [header[i] for i in shown], [[row[i] for i in shown] for row in cells]
    right = [any(isinstance(row[i], (int, float)) for row in cells) for i in range(len(header))]
    texts = [header, *(["" if cell is None else str(cell) for cell in row] for row in cells)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]

    def line(row: list[str]) -> str:
        columns = zip(row, widths, right, strict=True)
        return indent + "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in columns)

    return "\n".join(line(row).rstrip() for row in texts)


def cut(text: str, width: int = 48) -> str:
    """The text, its middle left out when it is longer than `width`."""
    return shortened(text, width)


def shape_text(shape: Sequence[int] | None) -> str:
    """``1x64x64x3``; ``scalar`` for rank 0, ``?`` while unknown, and ``?`` for a dimension that is open."""
    if shape is None:
        return "?"
    return "x".join("?" if dim < 0 else str(dim) for dim in shape) or "scalar"


def duration(seconds: float) -> str:
    """A time with three digits and its unit: ``12.3 us``."""
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return f"{seconds * scale:#.3g} {unit}".replace(". ", " ")
    return f"{seconds:#.3g} s"


def count(number: int, what: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number} {what}{'s' if number != 1 else ''}"
