"""The ladder's picture, as SVG: each step's share of run time by phase, the article's share as a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COLOURS = {"order": "#4c72b0", "resolve": "#55a868", "deallocate": "#c44e52", "allocate": "#8172b2"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 380, 60, 40, 90
MOST = 60.0
"""Percent at the top of the axis."""


def _y(percent: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - percent / MOST)


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def _wrapped(x: float, y: float, words: str) -> list[str]:
    """Words in lines of at most 16 letters."""
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + len(word) > 16:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [_text(x, y + 14 * row, line, size=11) for row, line in enumerate(lines)]


def draw(titles: Sequence[str], shares: Sequence[Mapping[str, float]], article: Sequence[float | None]) -> str:
    """The picture: `shares` are percent of run time by phase, a row per step; `article` the article's, None where it
    has none."""
    width = (WIDTH - LEFT - 20) / len(titles)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 20, "The planner's share of run time, step by step", size=15),
    ]
    for percent in range(0, int(MOST) + 1, 10):
        y = _y(percent)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{percent} %", "end"))
    for step, (title, phases, theirs) in enumerate(zip(titles, shares, article, strict=True)):
        x, height = LEFT + step * width + width * 0.2, 0.0
        for name, colour in COLOURS.items():
            top, bottom = _y(height + phases[name]), _y(height)
            parts.append(
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{width * 0.6:.1f}" height="{bottom - top:.1f}" fill="{colour}"/>'
            )
            height += phases[name]
        middle = x + width * 0.3
        parts.append(_text(middle, _y(height) - 5, f"{height:.1f} %"))
        if theirs is not None:
            y = _y(theirs)
            line = f'x1="{x - 8:.1f}" x2="{x + width * 0.6 + 8:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
            parts.append(f'<line {line} stroke="black" stroke-width="2" stroke-dasharray="5 3"/>')
        parts += _wrapped(middle, HEIGHT - BOTTOM + 18, title)
    for row, (name, colour) in enumerate(COLOURS.items()):
        y = TOP + 14 + 18 * row
        parts.append(f'<rect x="{WIDTH - 150}" y="{y - 10}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(WIDTH - 132, y, name, "start"))
    y = TOP + 14 + 18 * len(COLOURS)
    parts.append(
        f'<line x1="{WIDTH - 150}" x2="{WIDTH - 138}" y1="{y - 4}" y2="{y - 4}" stroke="black" stroke-width="2"/>'
    )
    parts.append(_text(WIDTH - 132, y, "the article", "start"))
    return "\n".join([*parts, "</svg>", ""])
