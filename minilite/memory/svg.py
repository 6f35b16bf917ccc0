"""Draws a plan as SVG: tensors as rectangles over time (across) and offset (up); hovering shows their names."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from minilite.errors import shortened
from minilite.memory.records import FOREVER

if TYPE_CHECKING:
    from minilite.memory.plan import MemoryPlan

_LEFT, _TOP, _RIGHT, _BOTTOM = 90, 30, 10, 30
_LETTER, _LINE = 6.8, 14
"""The width of a letter and the height of a line, in pixels."""
_FEWEST = 12
"""The least number of letters of a name that is worth showing."""
_LARGE = 10 << 10
"""Bytes of an arena from which on the axis is in KiB."""
_TURN = 137.508
"""Degrees between the hues of neighbours: the golden angle, so that adjacent rectangles look different."""


def to_svg(plan: MemoryPlan, width: int = 900, height: int = 420) -> str:
    """The drawing as one standalone <svg>."""
    ends = [r.last_node + 1 for r in plan.records if r.last_node < FOREVER]
    starts = [r.first_node for r in plan.records]
    begin, end = min(starts, default=0), max([*ends, *(s + 1 for s in starts)], default=1)
    across = (width - _LEFT - _RIGHT) / max(end - begin, 1)
    up = (height - _TOP - _BOTTOM) / max(plan.arena_bytes, 1)
    floor = height - _BOTTOM
    title = (
        f"{plan.strategy}: {plan.arena_bytes} bytes, lower bound {plan.lower_bound}, "
        f"reuse factor {plan.reuse_factor:.2f}"
    )
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18" font-size="13">{escape(title)}</text>',
        f'<text x="{width - _RIGHT}" y="18" text-anchor="end" fill="#c00">dashed: lower bound</text>',
        *_rectangles(plan, begin, end, across, up, floor),
        *_axes(plan, begin, end, across, up, floor),
        "</svg>",
    ]
    return "\n".join(parts)


def _rectangles(plan: MemoryPlan, begin: int, end: int, across: float, up: float, floor: float) -> Iterator[str]:
    for position, (record, offset) in enumerate(zip(plan.records, plan.offsets, strict=True)):
        if record.size == 0:
            continue
        until = min(record.last_node + 1, end)
        last = "the end" if record.last_node >= FOREVER else record.last_node
        x, y = _LEFT + (record.first_node - begin) * across, floor - (offset + record.size) * up
        hover = (
            f"{plan.label(position)}: {record.size} bytes at {offset} to {offset + record.size}, "
            f"nodes {record.first_node} to {last}"
        )
        hue = position * _TURN % 360
        wide, high = (until - record.first_node) * across, record.size * up
        yield (
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{high:.2f}" '
            f'fill="hsl({hue:.0f},60%,70%)" stroke="#333" stroke-width="0.5"><title>{escape(hover)}</title></rect>'
        )
        letters, label = int((wide - 8) / _LETTER), plan.label(position)
        if high >= _LINE and (len(label) <= letters or letters >= _FEWEST):
            name = escape(shortened(label, letters))
            yield f'<text x="{x + 4:.2f}" y="{y + high / 2 + 4:.2f}" pointer-events="none">{name}</text>'


def _axes(plan: MemoryPlan, begin: int, end: int, across: float, up: float, floor: float) -> Iterator[str]:
    right = _LEFT + (end - begin) * across
    unit, name = (1024, "KiB") if plan.arena_bytes >= _LARGE else (1, "bytes")
    for share in (0, 1, 2, 3, 4):
        bytes_here = plan.arena_bytes * share // 4
        y = floor - bytes_here * up
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.2f}" text-anchor="end">{bytes_here // unit}</text>'
        node = begin + (end - 1 - begin) * share // 4
        x = _LEFT + (node - begin + 0.5) * across
        yield f'<text x="{x:.2f}" y="{floor + 14}" text-anchor="middle">{node}</text>'
    yield f'<text x="{_LEFT - 6}" y="{_TOP - 8}" text-anchor="end" fill="#666">{name}</text>'
    yield f'<text x="{_LEFT - 6}" y="{floor + 14}" text-anchor="end" fill="#666">node</text>'
    y = floor - plan.lower_bound * up
    yield (
        f'<line x1="{_LEFT}" x2="{right:.2f}" y1="{y:.2f}" y2="{y:.2f}" stroke="#c00" stroke-dasharray="4 3">'
        f"<title>lower bound: {plan.lower_bound} bytes</title></line>"
    )
    yield f'<path d="M{_LEFT} {_TOP}V{floor}H{right:.2f}" fill="none" stroke="#333"/>'
