"""Draws figures of Pisarchyk & Lee again: the intermediate tensors of MobileNet v2, coloured by the buffer they lie in.

usage: python -m asv_bench.paper_figures FOLDER

Figure 1 has a buffer for each tensor, figure 2 the buffers that tensors share (the improved greedy by size). Above, a
bar for each tensor, as high as it is large, in the order of the network; below, the buffers in memory, a line of 1 MiB
after the other, with their sizes.

Source: Y. Pisarchyk, J. Lee, "Optimizing TensorFlow Lite Runtime Memory" (2020), figures 1 and 2.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from asv_bench.benchmarks.paper import MIB, problem
from minilite.memory import plan

if TYPE_CHECKING:
    from minilite.memory import MemoryPlan

FIGURES = {
    "mobilenet_v2_figure_1.svg": ("naive", "a buffer for each tensor"),
    "mobilenet_v2_figure_2.svg": ("shared_greedy_by_size_improved", "tensors share buffers"),
}
_WIDTH, _LEFT, _TOP = 900, 20, 60
_BARS, _LINE = 150, 16
"""Pixels that the largest tensor is high, and that a line of memory is."""
_TURN = 137.508
"""Degrees between the hues of neighbours: the golden angle."""


def buffers(made: MemoryPlan) -> list[int]:
    """Where each buffer begins, in order, and last where the last one ends."""
    return [*sorted(set(made.offsets)), made.arena_bytes]


def figure(strategy: str, title: str) -> str:
    """One drawing as a standalone <svg>."""
    made = plan(problem("mobilenet_v2"), strategy, 1)
    starts = buffers(made)
    lines = -(-made.arena_bytes // MIB)
    height = _TOP + _BARS + 40 + lines * _LINE + 12
    head = f"MobileNet v2: {len(made.records)} intermediate tensors, {title}"
    told = f"{len(starts) - 1} buffers, {made.arena_bytes / MIB:.3f} MiB ({strategy})"
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{head}</text>',
        f'<text x="{_LEFT}" y="40" font-size="13" fill="#555">{told}</text>',
        *_bars(made, starts),
        f'<text x="{_LEFT}" y="{_TOP + _BARS + 26}" fill="#555">memory, a line for each MiB</text>',
        *_memory(made, starts, _TOP + _BARS + 34),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _colour(buffer: int) -> str:
    return f"hsl({buffer * _TURN % 360:.0f},65%,62%)"


def _bars(made: MemoryPlan, starts: list[int]) -> Iterator[str]:
    """The tensors, in the colours of their buffers."""
    step = (_WIDTH - 2 * _LEFT) / len(made.records)
    most = max(record.size for record in made.records)
    for at, (record, offset) in enumerate(zip(made.records, made.offsets, strict=True)):
        high = max(1.0, _BARS * record.size / most)
        buffer = starts.index(offset)
        told = f"tensor {record.tensor}: {record.size} bytes, nodes {record.first_node} to {record.last_node}, buffer {buffer}"
        yield (
            f'<rect x="{_LEFT + at * step:.2f}" y="{_TOP + _BARS - high:.2f}" width="{step - 1:.2f}" height="{high:.2f}" '
            f'fill="{_colour(buffer)}" stroke="#333" stroke-width="0.5"><title>{told}</title></rect>'
        )


def _memory(made: MemoryPlan, starts: list[int], top: int) -> Iterator[str]:
    """The buffers one after the other, broken at the ends of lines; each says its size where it has room."""
    scale = (_WIDTH - 2 * _LEFT) / MIB
    for buffer, (begin, end) in enumerate(pairwise(starts)):
        pieces = []
        at = begin
        while at < end:
            until = min(end, (at // MIB + 1) * MIB)
            pieces.append((at, until))
            at = until
        widest = max(pieces, key=lambda piece: piece[1] - piece[0])
        users = [
            str(record.tensor) for record, offset in zip(made.records, made.offsets, strict=True) if offset == begin
        ]
        told = f"buffer {buffer}: {end - begin} bytes, tensors {', '.join(users)}"
        for start, until in pieces:
            x, y, wide = _LEFT + start % MIB * scale, top + start // MIB * _LINE, (until - start) * scale
            yield (
                f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{_LINE - 1}" fill="{_colour(buffer)}" '
                f'stroke="#333" stroke-width="0.5"><title>{told}</title></rect>'
            )
            if (start, until) == widest and wide > 60:
                text = f"{(end - begin) / 1024:,.0f} KiB"
                yield f'<text x="{x + wide / 2:.2f}" y="{y + 12}" text-anchor="middle">{text}</text>'


def main() -> None:
    """Writes the figures into a folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) == 2 else None
    if folder is None or not folder.is_dir():
        sys.exit("usage: python -m asv_bench.paper_figures FOLDER")
    for name, (strategy, title) in FIGURES.items():
        (folder / name).write_text(figure(strategy, title), encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
