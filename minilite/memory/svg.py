"""Draws a plan as SVG: tensors as rectangles over time (across) and offset (up), with their names where there is
room; hovering shows names and exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from minilite.errors import shortened
from minilite.memory.records import FOREVER
from minilite.text import markup

if TYPE_CHECKING:
    from minilite.memory.plan import MemoryPlan

_LEFT, _TOP, _RIGHT, _BOTTOM = 90, 50, 10, 30
_FONTS = ((11, 6.8, 14), (8, 4.9, 9))
"""Sizes of names: of the letters, the width of one, the height of a line, in pixels; the larger one first."""
_FEWEST = 12
"""The least number of letters of a name that is worth showing."""
_TITLE = 7.0
"""The width of a letter of the title."""
_APART = 14
"""The least distance of two numbers of bytes, in pixels."""
_WIDE = 80
"""The letters of a title from which on a picture has room for all that is said of it."""
_CROWDED = 300
"""The largest number of tensors for which names of low boxes are written above them, in free space."""
_UNITS = ((10 << 20, 1 << 20, "MiB"), (10 << 10, 1 << 10, "KiB"), (0, 1, "bytes"))
"""The arena's bytes from which on a unit is used, the bytes of one, and its name."""
_TURN = 137.508
"""Degrees between the hues of neighbours: the golden angle, so that adjacent rectangles look different."""
STYLE = (
    ".plan{font:11px sans-serif}.plan .card{fill:#fff}.plan .text{fill:#222}.plan .axis{stroke:#333;fill:none}"
    ".plan .bound{stroke:#c00;stroke-dasharray:4 3}.plan .box{stroke:#333;stroke-width:.5}"
    ".plan .name{fill:#111;pointer-events:none}"
    "@media(prefers-color-scheme:dark){.plan .card{fill:#15171a}.plan .text{fill:#ddd}.plan .axis{stroke:#999}"
    ".plan .bound{stroke:#ff6b60}.plan .box{stroke:#999}}"
)


class _Area(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Area) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class _Scale(NamedTuple):
    """Where nodes and bytes lie, in pixels."""

    begin: int
    end: int
    """The node after the last."""
    across: float
    """Pixels of a node."""
    up: float
    """Pixels of a byte."""
    floor: float

    def x(self, node: float) -> float:
        return _LEFT + (node - self.begin) * self.across

    def y(self, place: float) -> float:
        return self.floor - place * self.up


def to_svg(plan: MemoryPlan, width: int = 900, height: int = 420) -> str:
    """The drawing as one standalone <svg>; it follows the reader's light or dark colours."""
    ends = [r.last_node + 1 for r in plan.records if r.last_node < FOREVER]
    starts = [r.first_node for r in plan.records]
    begin, end = min(starts, default=0), max([*ends, *(s + 1 for s in starts)], default=1)
    across = (width - _LEFT - _RIGHT) / max(end - begin, 1)
    floor = height - _BOTTOM
    scale = _Scale(begin, end, across, (floor - _TOP) / max(plan.arena_bytes, 1), floor)
    letters = int((width - _LEFT - _RIGHT) / _TITLE)
    arena = f": arena {_size(plan.arena_bytes)}"
    arena += f", reuse factor {plan.reuse_factor:.2f}" if letters >= _WIDE else ""
    title = shortened(plan.title or plan.strategy, max(letters - len(arena), _FEWEST)) + arena
    legend = f"lower bound, {_size(plan.lower_bound)}: no plan is smaller"
    legend += ". Boxes too small for a name have the number of the tensor" if letters >= _WIDE else ""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" {size} role="img">',
        f"<style>{STYLE}</style>",
        f'<rect class="card" width="{width}" height="{height}"/>',
        f'<text class="text" x="{_LEFT}" y="18" font-size="13">{markup(title)}</text>',
        f'<path class="bound" d="M{_LEFT} 32h28"/>',
        f'<text class="text" x="{_LEFT + 34}" y="36">{legend}</text>',
        *_boxes(plan, scale),
        *_axes(plan, scale),
        "</svg>",
    ]
    return "\n".join(parts)


def _unit(arena: int) -> tuple[int, str]:
    return next((unit, name) for least, unit, name in _UNITS if arena >= least)


def _size(size: int) -> str:
    """``192 KiB``; one digit after the point."""
    unit, name = _unit(size)
    return f"{round(size / unit, 1):,g} {name}" if size < 1000 * unit else f"{size / unit:,.0f} {name}"


def _boxes(plan: MemoryPlan, scale: _Scale) -> Iterator[str]:
    """All rectangles, then the names, which would else lie below later rectangles."""
    areas: dict[int, _Area] = {}
    for position, (record, offset) in enumerate(zip(plan.records, plan.offsets, strict=True)):
        if record.size == 0:
            continue
        until = min(record.last_node + 1, scale.end)
        last = "the end" if record.last_node >= FOREVER else record.last_node
        area = _Area(scale.x(record.first_node), scale.y(offset + record.size), scale.x(until), scale.y(offset))
        areas[position] = area
        hover = (
            f"{plan.label(position)}: {record.size} bytes at {offset} to {offset + record.size}, "
            f"nodes {record.first_node} to {last}"
        )
        yield (
            f'<rect class="box" x="{area.left:.2f}" y="{area.top:.2f}" width="{area.right - area.left:.2f}" '
            f'height="{area.bottom - area.top:.2f}" fill="hsl({position * _TURN % 360:.0f},60%,70%)">'
            f"<title>{markup(hover)}</title></rect>"
        )
    taken = list(areas.values())
    labels = plan.short_labels()
    for position, area in areas.items():
        label = labels[position]
        if found := _inside(label, area) or _inside(str(plan.records[position].tensor), area):
            yield found
        elif area.bottom - area.top < _FONTS[-1][2] and len(areas) <= _CROWDED:
            size, letter, line = _FONTS[-1]
            over = _Area(area.left, area.top - line, area.left + 8 + len(label) * letter, area.top)
            if over.right <= area.right and over.top >= _TOP and not any(over.meets(other) for other in taken):
                taken.append(over)
                yield _name(label, over.left + 4, over.bottom - 2, size, "text")


def _inside(label: str, area: _Area) -> str:
    """The name in its rectangle: across, or upwards in one that is high and narrow; in large letters, in small ones,
    or shortened; "" where there is no room."""
    wide, high = area.right - area.left, area.bottom - area.top
    for whole in (True, False):
        for size, letter, line in _FONTS if whole else _FONTS[:1]:
            for long, thick, upright in ((wide, high, False), (high, wide, True)):
                letters = int((long - 8) / letter)
                if thick < line or (len(label) > letters if whole else letters < _FEWEST):
                    continue
                text = shortened(label, letters)
                if not upright:
                    return _name(text, area.left + 4, area.top + high / 2 + size * 0.36, size)
                return _name(text, area.left + wide / 2 + size * 0.36, area.bottom - 4, size, upright=True)
    return ""


def _name(text: str, x: float, y: float, size: int, kind: str = "name", upright: bool = False) -> str:
    turned = f' transform="rotate(-90 {x:.2f} {y:.2f})"' if upright else ""
    return f'<text class="{kind}" x="{x:.2f}" y="{y:.2f}" font-size="{size}"{turned}>{markup(text)}</text>'


def _axes(plan: MemoryPlan, scale: _Scale) -> Iterator[str]:
    """Ticks at every so many nodes and bytes, the lower bound, and the two lines."""
    right, floor = scale.x(scale.end), scale.floor
    unit, name = _unit(plan.arena_bytes)
    beside = f'<text class="text" x="{_LEFT - 6}" text-anchor="end"'
    step = 1 << max(0, (max(plan.arena_bytes, 1) - 1).bit_length() - 3)  # 4 to 8 of them, fewer in a low picture
    while step * scale.up < _APART and step < plan.arena_bytes:
        step *= 2
    for place in range(0, plan.arena_bytes + 1, step):
        yield f'{beside} y="{scale.y(place) + 4:.2f}">{round(place / unit, 1):g}</text>'
    paces = (pace for power in range(12) for pace in (10**power, 2 * 10**power, 5 * 10**power))
    pace = next((pace for pace in paces if pace * scale.across >= 28), 10**12)  # in a picture too small for any
    for node in range(-(-scale.begin // pace) * pace, scale.end, pace):
        yield f'<text class="text" x="{scale.x(node + 0.5):.2f}" y="{floor + 14}" text-anchor="middle">{node}</text>'
    yield f'{beside} y="{_TOP - 12}">{name}</text>'
    yield f'{beside} y="{floor + 20}">node</text>'
    y = scale.y(plan.lower_bound)
    yield (
        f'<path class="bound" d="M{_LEFT} {y:.2f}H{right:.2f}">'
        f"<title>lower bound: {plan.lower_bound} bytes</title></path>"
    )
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{right:.2f}"/>'
