"""Measures the rates of matrix products at every level that this machine can run, and their share of the level's peak.

usage: python -m asv_bench.levels
"""

from __future__ import annotations

import math

from asv_bench.benchmarks import primitives
from minilite._native.kernels import level_names
from minilite._native.rates import best_seconds, byte_rate, float_rate

SHAPES = ["196 256 256", "3136 64 128", "49 960 320", "32 768 3072", "1 1024 1000"]
"""Rows, values of a row, outputs: of convolutions of 1 x 1 in small and large images, and of fully connected layers."""


def rates(level: str, shape: str) -> tuple[float, float]:
    """Multiply-adds a second of float32 and of bytes."""
    work = math.prod(map(int, shape.split()))
    floats, integers = primitives.MatmulF32(), primitives.MatmulS8()
    floats.setup(level, shape)
    integers.setup(level, shape)
    return (
        work / best_seconds(lambda: floats.time_matmul_f32(level, shape)),
        work / best_seconds(lambda: integers.time_matmul_s8(level, shape)),
    )


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
            for rate, peak in zip(rates(level, shape), peaks, strict=True):
                cells += [f"{rate / 1e9:.1f}", f"{100 * rate / peak:.0f} %"]
            lines.append(f"| {level} | {shape.replace(' ', ', ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
