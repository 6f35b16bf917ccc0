"""The small parts of text reports: tables, shapes, durations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minilite.errors import shortened

Cell = str | int | float | None
_LEAST = 8
"""Characters that a column keeps when a table has to become narrower."""


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]], indent: str = "  ", width: int | None = None) -> str:
    """Rows under a header, columns two spaces apart; numbers are aligned right, None is blank, blank columns are left out.

    Lines are at most `width` characters: names are cut in their middle, the widest column first; words in the last column go on in
    lines below.
    """
    cells = [list(row) for row in rows]
    shown = [i for i in range(len(header)) if not cells or any(row[i] not in (None, "") for row in cells)]
    header, cells = [header[i] for i in shown], [[row[i] for i in shown] for row in cells]
    right = [any(isinstance(row[i], (int, float)) for row in cells) for i in range(len(header))]
    texts = [header, *(["" if cell is None else str(cell) for cell in row] for row in cells)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]
    if width is not None and widths:
        _narrow(widths, right, header, width - len(indent) - 2 * (len(widths) - 1))
        texts = [line for row in texts for line in _continued(row, widths[-1])]

    def line(row: list[str]) -> str:
        columns = zip(row, widths, right, strict=True)
        return indent + "  ".join(c.rjust(w) if r else cut(c, w).ljust(w) for c, w, r in columns)

    return "\n".join(line(row).rstrip() for row in texts)


def _narrow(widths: list[int], right: Sequence[bool], header: Sequence[str], room: int) -> None:
    """Takes from the widest columns of text until all of them have room, or none can give; the last gives at last."""
    least = [max(_LEAST, len(name)) for name in header]
    kept = min(widths[-1], max(room // 3, least[-1]))
    over = sum(widths) - widths[-1] + kept - room
    while over > 0 and (giving := [i for i in range(len(widths) - 1) if not right[i] and widths[i] > least[i]]):
        widths[max(giving, key=lambda i: widths[i])] -= 1
        over -= 1
    if not right[-1]:
        widths[-1] = max(least[-1], min(widths[-1], kept - over))


def _continued(row: list[str], width: int) -> list[list[str]]:
    """A row, and those below it that go on with the words of its last cell."""
    if len(row[-1]) <= width or " " not in row[-1]:
        return [row]
    import textwrap  # long to import

    first, *others = textwrap.wrap(row[-1], width, break_on_hyphens=False)
    return [[*row[:-1], first], *([*[""] * (len(row) - 1), other] for other in others)]


def wrapped(text: str, width: int | None, indent: str = "  ") -> str:
    """A line of words, continued on indented lines where it is longer than `width`."""
    import textwrap  # long to import

    if width is None or len(text) <= width:
        return text
    return "\n".join(textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False))


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


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for notebooks; what cells say is escaped."""
    from html import escape  # long to import

    def line(tag: str, cells: Sequence[object]) -> str:
        return (
            "<tr>" + "".join(f"<{tag}>{escape('' if cell is None else str(cell))}</{tag}>" for cell in cells) + "</tr>"
        )

    return "<table>" + line("th", header) + "".join(line("td", row) for row in rows) + "</table>"
