"""The measured history as a picture: a few figures over the commits that asv has results of, as SVG."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import builds

RESULTS = Path(__file__).resolve().parent / ".asv" / "results"
WIDTH, PANEL, LEFT, RIGHT = 760, 130, 70, 20


class Line(NamedTuple):
    """A figure: its panel's title, the benchmark and the values of its parameters as asv writes them."""

    title: str
    benchmark: str
    params: tuple[str, ...]


LINES = (
    Line("a dynamic run, sizes changing (200 nodes)", "dynamic.Family.time_two_sizes", ("'branches'", "200", "100")),
    Line("63 resizes, each to a new size, 100 nodes", "resizing.Direction.time_grow", ("'chain 100'",)),
    Line("resize to a size seen before, 100 nodes", "resizing.Resize.time_seen", ("'chain 100'",)),
    Line("load and allocate, 100 nodes", "loading.Load.time_load_and_allocate", ("'chain 100'",)),
    Line("a run of a small convolutional network", "invoking.Invoke.time_invoke", ("'conv'",)),
)


def _value(found: dict[str, Any], line: Line) -> float | None:
    row = dict(zip(found["result_columns"], found["results"].get(line.benchmark) or [], strict=False))
    keys = list(itertools.product(*(row.get("params") or [])))
    if not row.get("result") or line.params not in keys:
        return None
    value = row["result"][keys.index(line.params)]
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) and value > 0 else None


def read(results: Path = RESULTS) -> list[tuple[str, dict[Line, float]]]:
    """(commit, seconds by figure) of every commit of HEAD's own line that was measured, oldest first."""
    found = {}
    for path in results.glob("*/*-*.json"):
        row = json.loads(path.read_text())
        if "results" in row:
            values = {line: value for line in LINES if (value := _value(row, line)) is not None}
            found[row["commit_hash"]] = found.get(row["commit_hash"], {}) | values
    order = builds.git("rev-list", "--first-parent", "--reverse", "HEAD").split()
    return [(commit, found[commit]) for commit in order if commit in found]


def _label(seconds: float) -> str:
    return (
        f"{seconds * 1e6:.2g} us"
        if seconds < 1e-4
        else f"{seconds * 1e6:.0f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.3g} ms"
    )


def _panel(title: str, values: Sequence[float | None], top: float) -> list[str]:
    there = [value for value in values if value is not None]
    low, high = math.floor(math.log10(min(there))), math.ceil(math.log10(max(there)))
    high = max(high, low + 1)
    height, step = PANEL - 50, (WIDTH - LEFT - RIGHT) / max(1, len(values) - 1)

    def y(value: float) -> float:
        return top + 28 + height * (1 - (math.log10(value) - low) / (high - low))

    parts = [f'<text x="{LEFT}" y="{top + 14}" font-size="13">{title}</text>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{at + 4:.1f}" font-size="11" text-anchor="end">{_label(10.0**power)}</text>'
        )
    points = [(LEFT + k * step, y(value)) for k, value in enumerate(values) if value is not None]
    line = " ".join(f"{x:.1f},{at:.1f}" for x, at in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#4c72b0" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{at:.1f}" r="2.5" fill="#4c72b0"/>' for x, at in points]
    last = there[-1]
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{top + 14}" font-size="12" text-anchor="end">now {_label(last)}</text>')
    return parts


def _marks(commits: Sequence[str], height: float) -> list[str]:
    """A dashed line at each version."""
    step = (WIDTH - LEFT - RIGHT) / max(1, len(commits) - 1)
    parts = []
    for version, commit in builds.versions().items():
        at = [k for k, known in enumerate(commits) if known.startswith(commit)]
        for k in at:
            x = f"{LEFT + k * step:.1f}"
            parts.append(
                f'<line x1="{x}" x2="{x}" y1="20" y2="{height - 22}" stroke="#c44e52" stroke-dasharray="3 3"/>'
            )
            parts.append(f'<text x="{x}" y="{height - 8}" font-size="11" text-anchor="middle">{version}</text>')
    return parts


def draw(rows: Sequence[tuple[str, dict[Line, float]]]) -> str:
    """The picture: a panel a figure, commits from left to right, logarithmic; gaps where a commit could not do it yet."""
    shown = [line for line in LINES if any(line in values for _, values in rows)]
    height = PANEL * len(shown) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" fill="#222">'
    ]
    parts.append(f'<rect width="{WIDTH}" height="{height}" fill="white"/>')
    for k, line in enumerate(shown):
        parts += _panel(line.title, [values.get(line) for _, values in rows], k * PANEL)
    parts += _marks([commit for commit, _ in rows], height)
    first, last = rows[0][0][:7], rows[-1][0][:7]
    parts.append(f'<text x="{LEFT}" y="{height - 8}" font-size="11">{first}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{height - 8}" font-size="11" text-anchor="end">{last}</text>')
    return "\n".join([*parts, "</svg>", ""])
