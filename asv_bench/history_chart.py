"""The measured history as a picture and a table: the figures of milestones.py over the commits for which asv has
results."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import builds

RESULTS = Path(__file__).resolve().parent / "results"
WIDTH, PANEL, LEFT, GAP, TOP = 940, 118, 62, 70, 34
COLUMN = (WIDTH - 2 * LEFT - GAP) / 2
LABEL = 36
"""The room that a version's name needs."""
WORTH_NAMING = 1.5
"""The factor from which on a step is named."""


class Kind(NamedTuple):
    """A column of the picture: its title and the benchmark."""

    title: str
    benchmark: str


class Line(NamedTuple):
    """A row of the picture: its title and the operation's name in the benchmarks."""

    title: str
    operation: str


KINDS = (
    Kind("cost, in units of the reference (about 1 us)", "milestones.Cost.track_cost"),
    Kind("instructions, counted", "milestones.Instructions.track_instructions"),
)
LINES = (
    Line("a run of 200 dynamic nodes, sizes changing", "dynamic branches of 200, 2 sizes"),
    Line("resize to a new size, 100 nodes", "resize new, chain 100"),
    Line("resize to a size seen before, 100 nodes", "resize seen, chain 100"),
    Line("load and allocate, 100 nodes", "load, chain 100"),
    Line("a run of float32 convolutions", "invoke, layers float32"),
    Line("a run of int8 convolutions", "invoke, layers int8"),
    Line("a run of one node", "invoke, chain 1"),
    Line("a run of 100 nodes", "invoke, chain 100"),
    Line("set_tensor, 16 floats", "set_tensor"),
    Line("a run of 50 nodes, half of them dynamic, 16 sizes", "dynamic branches, 16 sizes"),
    Line("a plan of 126 records", "plan default, 126 records"),
)
Values = dict[tuple[Kind, Line], float]
"""What was measured of one commit."""


def _values(found: dict[str, Any], kind: Kind) -> Values:
    """A column's figures in what asv has written of a commit."""
    row = dict(zip(found["result_columns"], found["results"].get(kind.benchmark) or [], strict=False))
    (names,) = row.get("params") or [[]]
    by_name = dict(zip(names, row.get("result") or [], strict=False))
    measured = ((line, by_name.get(repr(line.operation))) for line in LINES)
    return {
        (kind, line): float(value)
        for line, value in measured
        if isinstance(value, (int, float)) and math.isfinite(value) and value > 0
    }


def read(results: Path = RESULTS) -> list[tuple[str, Values]]:
    """(commit, figures) of the commits of HEAD's own line, oldest first, on the machine that has measured the most
    versions, and of those the most commits."""
    order = builds.git("rev-list", "--first-parent", "--reverse", "HEAD").split()
    most: list[tuple[str, Values]] = []
    known = builds.versions()
    for folder in sorted(path for path in results.glob("*") if path.is_dir()):
        found: dict[str, Values] = {}
        for path in folder.glob("*-*.json"):
            row = json.loads(path.read_text())
            for kind in KINDS:
                found.setdefault(row["commit_hash"], {}).update(_values(row, kind))
        rows = [(commit, found[commit]) for commit in order if found.get(commit)]
        most = max(
            most, rows, key=lambda measured: (sum(name_of(commit) in known for commit, _ in measured), len(measured))
        )
    return most


def name_of(commit: str) -> str:
    """The version that a commit is, else its short hash."""
    return next((version for version, named in builds.versions().items() if commit.startswith(named)), commit[:7])


def short(value: float) -> str:
    """Three digits at most: 0.15, 6.6, 180, 4.66M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def largest_step(values: Sequence[float | None]) -> tuple[int, float] | None:
    """The position after the largest fall from one commit to the next that has a figure, and its factor; None without
    one."""
    there = [(at, value) for at, value in enumerate(values) if value is not None]
    falls = [(at, before / value) for (_, before), (at, value) in itertools.pairwise(there)]
    return max(falls, key=lambda fall: fall[1], default=None)


def _panel(values: Sequence[float | None], names: Sequence[str], left: float, top: float) -> list[str]:
    """A line on a logarithmic axis, with the last figure and the largest step."""
    there = [value for value in values if value is not None]
    last = [name for name, value in zip(names, values, strict=True) if value is not None][-1]
    low, high = math.floor(math.log10(min(there))), math.ceil(math.log10(max(there)))
    high = max(high, low + 1)
    height, step = PANEL - 44, COLUMN / max(1, len(values) - 1)

    def y(value: float) -> float:
        return top + 24 + height * (1 - (math.log10(value) - low) / (high - low))

    parts = []
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left}" x2="{left + COLUMN}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{short(10.0**power)}</text>')
    points = [(left + k * step, y(value)) for k, value in enumerate(values) if value is not None]
    line = " ".join(f"{x:.1f},{at:.1f}" for x, at in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#4c72b0" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{at:.1f}" r="2.5" fill="#4c72b0"/>' for x, at in points]
    parts.append(f'<text x="{left + COLUMN}" y="{top + 14}" text-anchor="end">{last}: {short(there[-1])}</text>')
    found = largest_step(values)
    if found and found[1] >= WORTH_NAMING:
        x, at = next(point for point in points if point[0] >= left + found[0] * step - 0.01)
        near_the_end = x > left + 0.8 * COLUMN
        under = f'x="{x - 5:.1f}" y="{at + 12:.1f}" text-anchor="end"'  # the line comes from above on the left
        placed = under if near_the_end else f'x="{x + 5:.1f}" y="{at - 6:.1f}"'
        parts.append(f'<text {placed} fill="#2a7d3f">{found[1]:.3g} x less</text>')
    return parts


def _marks(commits: Sequence[str], left: float, height: float) -> list[str]:
    """A dashed line at each version; names of the versions, and of the first and the last commit, where they have
    room."""
    step = COLUMN / max(1, len(commits) - 1)
    parts, free, last = [], -LABEL, len(commits) - 1
    for k, name in enumerate(map(name_of, commits)):
        x, is_version = left + k * step, name in builds.versions()
        if is_version:
            dashed = 'stroke="#c44e52" stroke-dasharray="3 3"'
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - 22}" {dashed}/>')
        has_room = k == last or (k * step >= free and k * step <= COLUMN - LABEL)
        if has_room and (is_version or k in (0, last)):
            parts.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{name}</text>')
            free = k * step + LABEL
    return parts


def draw(rows: Sequence[tuple[str, Values]]) -> str:
    """The picture: a row per figure, with its cost and its counts; commits from left to right, with gaps where a commit
    cannot do it yet."""
    shown = [line for line in LINES if any((kind, line) in values for _, values in rows for kind in KINDS)]
    height = TOP + PANEL * len(shown) + 24
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
    parts = [f'{opening} font-family="sans-serif" font-size="11" fill="#222">']
    parts.append(f'<rect width="{WIDTH}" height="{height}" fill="white"/>')
    for column, kind in enumerate(KINDS):
        left = LEFT + column * (COLUMN + GAP)
        parts.append(f'<text x="{left}" y="18" font-size="15">{kind.title}</text>')
        for k, line in enumerate(shown):
            top = TOP + k * PANEL
            values = [found.get((kind, line)) for _, found in rows]
            parts.append(f'<text x="{left}" y="{top + 14}" font-size="13">{line.title}</text>')
            if any(value is not None for value in values):
                parts += _panel(values, [name_of(commit) for commit, _ in rows], left, top)
        parts += _marks([commit for commit, _ in rows], left, height)
    return "\n".join([*parts, "</svg>", ""])


def _cells(rows: Sequence[tuple[str, Values]], shown: Sequence[str], kind: Kind, line: Line) -> list[str]:
    """At the commits shown, and the commit of the largest step."""
    values = [found.get((kind, line)) for _, found in rows]
    at = {commit: value for (commit, _), value in zip(rows, values, strict=True)}
    cells = [short(value) if value is not None else "" for value in (at[commit] for commit in shown)]
    found = largest_step(values)
    where = name_of(rows[found[0]][0]) if found else ""
    return [*cells, f"{found[1]:.3g} x less at {where}" if found and found[1] >= WORTH_NAMING else ""]


def table(rows: Sequence[tuple[str, Values]]) -> str:
    """The figures of the first commit, of each version and of the last commit, and the largest step, in Markdown."""
    shown = [
        commit for k, (commit, _) in enumerate(rows) if k in (0, len(rows) - 1) or name_of(commit) in builds.versions()
    ]
    names = [name_of(commit) for commit in shown]
    lines = [f"| | | {' | '.join(names)} | largest step |", "|---|---|" + "---:|" * len(names) + "---|"]
    for line in LINES:
        for kind, word in zip(KINDS, ("cost", "instructions"), strict=True):
            if any((kind, line) in found for _, found in rows):
                lines.append(f"| {line.title} | {word} | {' | '.join(_cells(rows, shown, kind, line))} |")
    return "\n".join(lines)
