"""Formats parts of text reports: tables, shapes, durations."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from html import escape

from minilite.errors import shortened, visible
from minilite.names import kept_apart

Cell = str | int | float | None
_LEAST, _READABLE, _WORDS = 8, 18, 24
"""Widths in characters. A column of text keeps at least _LEAST when a table has to become narrower. Before columns
become narrower than _READABLE, columns that can be spared are left out. If the last column would become narrower than
_WORDS, its words go to lines of their own."""
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?( %)?")
"""Text that is a number: a column of it is aligned right."""
_HANGING = 8
"""The indentation of these lines."""


class _Column:
    def __init__(self, name: str, cells: Sequence[Cell], whole: bool = False, left: bool = False) -> None:
        self.name = name
        self.whole = whole
        self.texts = ["" if cell is None else visible(str(cell)) for cell in cells]
        told = [text for text in self.texts if text]
        self.right = any(isinstance(cell, (int, float)) for cell in cells) or (
            bool(told) and not left and all(_NUMBER.fullmatch(text) for text in told)
        )
        self.width = max(map(len, [name, *self.texts]))
        self._cut: tuple[int, dict[str, str]] = (-1, {})

    def least(self, readable: int) -> int:
        """The smallest width of the column."""
        return self.width if self.right or self.whole else min(self.width, max(readable, len(self.name)))

    def cut(self, text: str) -> str:
        """The text in the column's width, cut so that it differs from the others where that can be."""
        if len(text) <= self.width:
            return text
        if self._cut[0] != self.width:
            each = [*dict.fromkeys(self.texts)]
            self._cut = self.width, dict(zip(each, kept_apart(each, self.width), strict=True))
        return self._cut[1].get(text) or cut(text, self.width)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    indent: str = "  ",
    width: int | None = None,
    spare: Sequence[str] = (),
    whole: Sequence[str] = (),
    left: Sequence[str] = (),
) -> str:
    """Rows under a header, columns two spaces apart; numbers are aligned right, but not in columns of `left`; None is
    blank, blank columns are left out.

    Lines have at most `width` characters: first the columns in `spare` are left out, in that order; then names are cut
    in their middle, the widest column first, but not in columns of `whole`; words of the last column continue on lines
    below.
    """
    cells = [list(row) for row in rows]
    columns = [_Column(name, [row[i] for row in cells], name in whole, name in left) for i, name in enumerate(header)]
    columns = [column for column in columns if not cells or any(column.texts)]
    hanging: Sequence[str] = [""] * len(cells)
    if width is not None and columns:
        columns, hanging = _narrowed(columns, spare, width - len(indent) + 2)  # and two spaces per column
    lines = _lines(columns, [column.name for column in columns])
    for number, words in enumerate(hanging):
        lines += _lines(columns, [column.texts[number] for column in columns])
        lines += _wrap(words, (width or 0) - len(indent) - _HANGING, " " * _HANGING)
    return "\n".join((indent + line).rstrip() for line in lines)


def _narrowed(columns: list[_Column], spare: Sequence[str], room: int) -> tuple[list[_Column], Sequence[str]]:
    """The columns that fit; and, if the last one had too little room, its words, for lines below each row."""
    for name in spare:
        if sum(column.least(_READABLE) + 2 for column in columns) > room:
            columns = [column for column in columns if column.name != name]
    *others, last = columns
    texts = last.texts
    wordy = not last.right and any(" " in text for text in texts)
    if not wordy or not others:
        _narrow(columns, room)
        return columns, [""] * len(texts)
    natural = [column.width for column in others]
    _narrow(others, room - 2 - min(last.width, max(room // 3, last.least(_LEAST))))
    left = room - 2 - sum(column.width + 2 for column in others)
    if left < min(last.width, _WORDS):
        for column, width in zip(others, natural, strict=True):
            column.width = width
        _narrow(others, room)
        return others, texts
    last.width = min(last.width, left)
    return columns, [""] * len(texts)


def _narrow(columns: Sequence[_Column], room: int) -> None:
    """Makes the widest columns of text narrower until all columns fit, or none can become narrower."""
    over = sum(column.width + 2 for column in columns) - room
    while over > 0 and (giving := [column for column in columns if column.width > column.least(_LEAST)]):
        max(giving, key=lambda column: column.width).width -= 1
        over -= 1


def _lines(columns: Sequence[_Column], row: Sequence[str]) -> list[str]:
    """The lines of a row: the words of its last cell continue below."""
    *others, last = zip(columns, row, strict=True)
    cells = [text.rjust(c.width) if c.right else c.cut(text).ljust(c.width) for c, text in others]
    column, text = last
    if column.right:
        return ["  ".join([*cells, text.rjust(column.width)])]
    first, *more = (_wrap(text, column.width) if " " in text else [column.cut(text)]) or [""]
    return ["  ".join([*cells, first]), *("  ".join([*(" " * len(c) for c in cells), line]) for line in more)]


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of words; a text without a space is cut in its middle."""
    if not text:
        return []
    if len(text) <= width or " " not in text:
        return [indent + cut(text, width)]

    return [indent + line for line in textwrap.wrap(text, width, break_on_hyphens=False)]


def wrapped(text: str, width: int | None, indent: str = "  ") -> str:
    """A line of words, safe to print; if it is longer than `width`, it continues on indented lines."""
    text = visible(text)
    if width is None or len(text) <= width:
        return text
    return "\n".join(textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False))


def cut(text: str, width: int = 48) -> str:
    """The text, with its middle left out if it is longer than `width`."""
    return shortened(text, width)


def markup(text: str) -> str:
    """The text as HTML and SVG hold it: escaped, and safe to show."""
    return escape(visible(text))


def shape_text(shape: Sequence[int] | None) -> str:
    """``1x64x64x3``; ``scalar`` for rank 0; ``?`` for an unknown shape or dimension."""
    if shape is None:
        return "?"
    return "x".join("?" if dim < 0 else str(dim) for dim in shape) or "scalar"


def duration(seconds: float) -> str:
    """A time with three digits and its unit: ``12.3 us``."""
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return f"{seconds * scale:#.3g} {unit}".replace(". ", " ")
    return f"{seconds:#.3g} s"


def types_text(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """The types of a node's operands, each once: ``float32``, ``int8 int32 -> int8``."""
    sides = [" ".join(dict.fromkeys(side)) for side in (inputs, outputs)]
    return sides[1] if sides[0] == sides[1] else " -> ".join(filter(None, sides))


def significant(value: float) -> str:
    """A number with at least two significant digits: ``183``, ``9.4``, ``0.052``."""
    if abs(value) >= 9.95 or not value or not math.isfinite(value):
        return f"{value:.0f}"
    return f"{value:.{1 - math.floor(math.log10(abs(float(f'{value:.1e}'))))}f}"


def bytes_text(size: float) -> str:
    """Bytes as people read them: ``144 KiB``, ``1.5 MiB``, ``200 bytes``; with three digits, in powers of 1024."""
    if size < 1024:
        return f"{size:.0f} {'byte' if size == 1 else 'bytes'}"
    power = min((int(size).bit_length() - 1) // 10, 4)
    if size / 1024**power >= 999.5 and power < 4:
        power += 1
    value = size / 1024**power
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {('', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def exactly(size: int) -> str:
    """Bytes for people and for programs: ``144 KiB (147456 bytes)``."""
    text = bytes_text(size)
    return text if size < 1024 else f"{text} ({size} bytes)"


def count(number: int, what: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for notebooks; the text of cells is escaped, control characters are shown, blank columns are left out."""
    texts = [["" if cell is None else visible(str(cell)) for cell in row] for row in rows]
    kept = [i for i, _ in enumerate(header) if not texts or any(row[i] for row in texts)]

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{markup(cells[i])}</{tag}>" for i in kept) + "</tr>"

    return "<table>" + line("th", header) + "".join(line("td", row) for row in texts) + "</table>"
