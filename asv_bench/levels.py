"""Measures the rates of matrix products at every level that this machine can run, and their share of the level's peak.

usage: python -m asv_bench.levels
"""

from __future__ import annotations

from minilite._native.kernels import level_names
from minilite._native.rates import byte_rate, float_rate

SHAPES = ["196 256 256", "3136 64 128", "49 960 320", "32 768 3072", "1 1024 1000"]
"""Rows, values of a row, outputs: of convolutions of 1 x 1 in small and large images, and of fully connected layers."""


def table() -> str:
    """A row per level and shape, in Markdown."""
    lines = [
        "| level | rows, values, outputs | float32, GMAC/s | of the level's peak | bytes, GMAC/s | of the level's peak |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for level in level_names():
        peaks = float_rate(level), byte_rate(level)
        for shape in SHAPES:
            cells = []
            sizes = tuple(map(int, shape.split()))
            for rate, peak in zip((float_rate(level, sizes), byte_rate(level, sizes)), peaks, strict=True):
                cells += [f"{rate / 1e9:.1f}", f"{100 * rate / peak:.0f} %"]
            lines.append(f"| {level} | {shape.replace(' ', ', ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
