"""Draws a sweep of sizes as SVG: arena, lower bound and planning time over size; refused sizes are marked, with
reasons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from minilite.engine.sizes import PlannedSize
from minilite.errors import shortened
from minilite.text import bytes_text, duration, markup

_WIDTH, _HEIGHT = 900, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 80, 50, 40
_SERIES = (("arena", "#3d85d0", ""), ("lower bound", "#e05a4e", "5 4"), ("planning time", "#3a9d68", "2 3"))
_STYLE = (
    ".sizes{background:#fff;color:#222;font:11px sans-serif}"
    "@media(prefers-color-scheme:dark){.sizes{background:#15171a;color:#ddd}}"
)


def plot(title: str, found: Sequence[PlannedSize]) -> str:
    """Returns the drawing as one standalone <svg>, which follows the reader's light or dark colours."""
    accepted = [one for one in found if one.arena_bytes is not None]
    first, last = found[0].size, max(found[-1].size, found[0].size + 1)
    most = max((one.arena_bytes or 0 for one in accepted), default=0) or 1
    slowest = max((one.seconds for one in accepted), default=0) or 1e-6

    def across(size: int) -> float:
        return _LEFT + (size - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def up(share: float) -> float:
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sizes" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<text x="{_LEFT}" y="18" font-size="13" fill="currentColor">{markup(shortened(title, 60))}</text>',
        *_legend(refused=len(accepted) < len(found)),
        *_axes(across, up, (first, last), most, slowest),
    ]
    heights = (
        [(one.arena_bytes or 0) / most for one in accepted],
        [(one.lower_bound or 0) / most for one in accepted],
        [one.seconds / slowest for one in accepted],
    )
    for (_, colour, dashes), shares in zip(_SERIES, heights, strict=True):
        places = " ".join(
            f"{across(one.size):.1f},{up(share):.1f}" for one, share in zip(accepted, shares, strict=True)
        )
        line = f'stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{places}" fill="none" {line}/>')
    parts += _points(found, across, up, most)
    return "\n".join([*parts, "</svg>"])


def _legend(*, refused: bool) -> Iterator[str]:
    for number, (name, colour, dashes) in enumerate(_SERIES):
        x = _LEFT + 130 * number
        yield (
            f'<path d="M{x} 34h24" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
            f'<text x="{x + 30}" y="38" fill="currentColor">{name}</text>'
        )
    if refused:
        x = _LEFT + 130 * len(_SERIES)
        yield f'<path d="M{x + 9} 31l6 6m0 -6l-6 6" stroke="#b7791f" stroke-width="1.6"/>'
        yield f'<text x="{x + 24}" y="38" fill="currentColor">refused</text>'


def _axes(
    across: Callable[[int], float], up: Callable[[float], float], ends: tuple[int, int], most: int, slowest: float
) -> Iterator[str]:
    floor, right = up(0), _WIDTH - _RIGHT
    yield f'<path d="M{_LEFT} {_TOP}V{floor}H{right}V{_TOP}" fill="none" stroke="currentColor" opacity=".6"/>'
    texts = [(float(_LEFT - 6), up(place / most) + 4, "end", bytes_text(place)) for place in ticks(most, binary=True)]
    times = ticks(slowest * 1e9)  # in nanoseconds
    texts += [
        (float(right + 6), up(at / slowest / 1e9) + 4, "start", duration(at / 1e9) if at else "0") for at in times
    ]
    paces = ticks(ends[1] - ends[0])
    pace = max(1, round(paces[1] - paces[0])) if len(paces) > 1 else 1
    marks = range(-(-ends[0] // pace) * pace, ends[1] + 1, pace)
    texts += [(across(size), floor + 16, "middle", str(size)) for size in marks]
    for x, height, anchor, text in texts:
        yield f'<text x="{x:.1f}" y="{height:.1f}" text-anchor="{anchor}" fill="currentColor">{text}</text>'
    yield f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle" fill="currentColor">size</text>'


def ticks(most: float, *, binary: bool = False) -> list[float]:
    """Round numbers from 0 to `most`, three to six of them: steps are a power of two, or 1, 2 or 5 times one of ten."""
    if most <= 0:
        return [0.0]
    if binary:
        step = 2.0 ** math.ceil(math.log2(most / 5))
    else:
        power = 10.0 ** math.floor(math.log10(most / 5))
        step = next(pace * power for pace in (1, 2, 5, 10) if pace * power >= most / 5 * (1 - 1e-9))
    return [step * at for at in range(math.floor(most / step + 1e-9) + 1)]


def _points(
    found: Sequence[PlannedSize], across: Callable[[int], float], up: Callable[[float], float], most: int
) -> Iterator[str]:
    """Yields a mark per size; hovering shows its arena, or the reason for its refusal."""
    for one in found:
        x = across(one.size)
        if one.arena_bytes is None:
            told = f"{one.size} is refused: {one.refused}"
            mark = f'<path d="M{x - 3:.1f} {up(0) - 4:.1f}l6 -6m0 6l-6 -6" stroke="#b7791f" stroke-width="1.6">'
            yield f"{mark}<title>{markup(told)}</title></path>"
        else:
            told = f"{one.size}: arena {one.arena_bytes} bytes, lower bound {one.lower_bound}, planning {duration(one.seconds)}"
            mark = f'<circle cx="{x:.1f}" cy="{up(one.arena_bytes / most):.1f}" r="3" fill="#3d85d0">'
            yield f"{mark}<title>{markup(told)}</title></circle>"
