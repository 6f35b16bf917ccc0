"""The measured history as two pictures and a table: the figures of milestones.py over the versions, and bytes.

In the picture each figure is divided by that of the first version that has it, so a line falls from 1. Instructions are
counted and are the same on every machine; cost has a line per machine. LiteRT's cost, measured beside the last version,
is a level.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asv_bench import builds

RESULTS = Path(__file__).resolve().parent / "results"
WIDTH, COLUMNS, PANEL, GAP, TOP = 940, 3, 166, 44, 56
COLUMN = (WIDTH - COLUMNS * GAP - 12) / COLUMNS
LETTER = 6.2
"""The width of a letter of a label."""
WORTH_NAMING = 1.5
"""The factor from which on the table names a step."""
BLUE, PALE, GREY, RED = "#1f5fa8", "#a9c4e4", "#777", "#c4572e"


class Kind(NamedTuple):
    """A kind of figure, and its benchmark."""

    title: str
    benchmark: str


class Line(NamedTuple):
    """A panel of the picture: its title and the operation's name in the benchmarks."""

    title: str
    operation: str


COST = Kind("cost", "milestones.Cost.track_cost")
INSTRUCTIONS = Kind("instructions", "milestones.Instructions.track_instructions")
LITERT = Kind("LiteRT's cost", "milestones.Peer.track_cost")
ARENA = Kind("bytes of the arena", "footprint.Arena.track_arena")
PLAN = Kind("bytes of a plan", "footprint.Arena.track_plan")
WHEEL = Kind("bytes of the wheel", "footprint.Package.track_wheel")
KINDS = (COST, INSTRUCTIONS, LITERT)
LINES = (
    Line("200 dynamic nodes, sizes change", "dynamic branches of 200, 2 sizes"),
    Line("50 nodes, half dynamic, 16 sizes", "dynamic branches, 16 sizes"),
    Line("the same in a chain", "dynamic chain, 16 sizes"),
    Line("the same in a loop", "dynamic loop, 16 sizes"),
    Line("a new size, 100 nodes", "resize new, chain 100"),
    Line("a size seen before, 100 nodes", "resize seen, chain 100"),
    Line("load and allocate, 100 nodes", "load, chain 100"),
    Line("a plan of 126 records", "plan default, 126 records"),
    Line("a run of one node", "invoke, chain 1"),
    Line("a run of 100 nodes", "invoke, chain 100"),
    Line("set_tensor, 16 floats", "set_tensor"),
    Line("a run of float32 convolutions", "invoke, layers float32"),
    Line("a run of int8 convolutions", "invoke, layers int8"),
)
BYTES = (Line(", a network of 11 nodes", "conv"), Line(", 100 nodes", "chain 100"))
WHOLE = (Line("", ""),)
MEASURED = (*((kind, LINES) for kind in KINDS), (ARENA, BYTES), (PLAN, BYTES), (WHEEL, WHOLE))
"""All that is read."""
Values = dict[tuple[Kind, Line], float]
"""Figures of one commit."""
Rows = list[tuple[str, Values]]


def _values(found: dict[str, Any], kind: Kind, lines: Sequence[Line]) -> Values:
    """The figures of a kind in what asv has written of a commit."""
    row = dict(zip(found["result_columns"], found["results"].get(kind.benchmark) or [], strict=False))
    (names,) = row.get("params") or [[repr("")]]
    by_name = dict(zip(names, row.get("result") or [], strict=False))
    measured = ((line, by_name.get(repr(line.operation))) for line in lines)
    return {
        (kind, line): float(value)
        for line, value in measured
        if isinstance(value, (int, float)) and math.isfinite(value) and value > 0
    }


def machines(results: Path = RESULTS) -> list[Rows]:
    """(commit, figures) of the commits of HEAD's own line, oldest first, by machine. First comes the machine that has
    measured the most versions, and of those the most commits."""
    order, known = builds.git("rev-list", "--first-parent", "--reverse", "HEAD").split(), builds.versions()
    every = []
    for folder in sorted(path for path in results.glob("*") if path.is_dir()):
        found: dict[str, Values] = {}
        for path in folder.glob("*-*.json"):
            row: dict[str, Any] = json.loads(path.read_text())
            values: Values = {}
            for kind, lines in MEASURED:
                values |= _values(row, kind, lines)
            found.setdefault(row["commit_hash"], {}).update(values)
        every.append([(commit, found[commit]) for commit in order if found.get(commit)])
    count = [(sum(name_of(commit) in known for commit, _ in rows), len(rows)) for rows in every]
    ranked = sorted(zip(count, every, strict=True), key=lambda pair: pair[0], reverse=True)
    return [rows for _, rows in ranked if rows]


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


def shown_commits(rows: Rows) -> list[str]:
    """The versions, and the last commit."""
    known = builds.versions()
    return [commit for k, (commit, _) in enumerate(rows) if k == len(rows) - 1 or name_of(commit) in known]


class Curve(NamedTuple):
    """A line of a panel: a value by position, relative to the first one."""

    values: dict[int, float]
    colour: str
    width: float


def curve(rows: Rows, commits: Sequence[str], kind: Kind, line: Line, look: tuple[str, float]) -> Curve:
    """A figure of one machine over the commits shown, divided by its first."""
    at = {commit: values.get((kind, line)) for commit, values in rows}
    there = {k: value for k, commit in enumerate(commits) if (value := at.get(commit)) is not None}
    first = next(iter(there.values()), 1.0)
    return Curve({k: value / first for k, value in there.items()}, *look)


def level(rows: Rows, commits: Sequence[str], line: Line) -> float | None:
    """LiteRT's cost beside the newest commit that was measured with it, relative to the first version's cost."""
    at = dict(rows)
    costs = [value for commit in commits if (value := at.get(commit, {}).get((COST, line))) is not None]
    newest = [value for _, values in rows if (value := values.get((LITERT, line))) is not None]
    return newest[-1] / costs[0] if costs and newest else None


def factor(value: float) -> str:
    """A share of what it was, in words that need no arithmetic: "12 times less"."""
    if value <= 0.67:
        return f"{1 / value:.{2 if value > 0.01 else 3}g} times less"
    if value >= 2:
        return f"{value:.2g} times as much"
    return f"{100 * (value - 1):+.0f} %" if abs(value - 1) >= 0.005 else "the same"


def _names(commits: Sequence[str], left: float, y: float) -> list[str]:
    """The versions' names where they have room; the last one always."""
    parts, free, last = [], -math.inf, len(commits) - 1
    names = [name_of(commit).removesuffix(".0") for commit in commits]
    for k, name in enumerate(names):
        x, half = COLUMN * k / max(1, last), LETTER * len(name) / 2
        if k != last and (x - half < free or x + half > COLUMN - LETTER * (len(names[last]) + 1)):
            continue
        anchor = "end" if k == last else "middle"
        parts.append(f'<text x="{left + x:.1f}" y="{y}" text-anchor="{anchor}" fill="{GREY}">{name}</text>')
        free = x + half + LETTER
    return parts


def _panel(
    commits: Sequence[str], curves: Sequence[Curve], peer: float | None, title: str, corner: tuple[float, float]
) -> list[str]:
    """Lines on a logarithmic axis below their title; the last value of the last one is written out."""
    left, top, height = corner[0], corner[1] + 38, PANEL - 66
    there = [value for one in curves for value in one.values.values()] + ([peer] if peer else [])
    low, high = min(-1, math.floor(math.log10(min(there)))), math.log10(max(1.0, *there))
    right = f"{left + COLUMN:.1f}"

    def y(value: float) -> float:
        return top + height * (high - math.log10(value)) / (high - low)

    parts = [f'<text x="{left}" y="{top - 24}" font-size="12.5">{title}</text>']
    for power in range(low, 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 5}" y="{at + 4:.1f}" text-anchor="end" fill="{GREY}">{10.0**power:g}</text>')
    if peer is not None:
        line = f'x1="{left}" x2="{right}" y1="{y(peer):.1f}" y2="{y(peer):.1f}"'
        parts.append(f'<line {line} stroke="{RED}" stroke-width="1.5" stroke-dasharray="5 4"/>')
    for one in curves:
        points = [(left + COLUMN * k / max(1, len(commits) - 1), y(value)) for k, value in one.values.items()]
        line = " ".join(f"{x:.1f},{at:.1f}" for x, at in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{one.colour}" stroke-width="{one.width}"/>')
    text, colour = factor(list(curves[-1].values.values())[-1]), curves[-1].colour
    parts.append(f'<text x="{left}" y="{top - 9}" font-weight="bold" fill="{colour}">{text}</text>')
    return parts + _names(commits, left, top + height + 15)


def _sheet(panels: Sequence[list[str]], heading: Sequence[str]) -> str:
    height = TOP + PANEL * math.ceil(len(panels) / COLUMNS)
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
    parts = [f'{opening} font-family="sans-serif" font-size="11" fill="#222">']
    parts.append(f'<rect width="{WIDTH}" height="{height}" fill="white"/>')
    return "\n".join([*parts, *heading, *(part for panel in panels for part in panel), "</svg>", ""])


def _corner(number: int) -> tuple[float, float]:
    return GAP + (number % COLUMNS) * (COLUMN + GAP), TOP + PANEL * (number // COLUMNS)


def _key(entries: Sequence[tuple[str, str, str]]) -> list[str]:
    """The key of the lines: (colour, dashes, words)."""
    parts, x = [], float(GAP)
    for colour, dashes, words in entries:
        line = f'<line x1="{x:.1f}" x2="{x + 24:.1f}" y1="38" y2="38" stroke="{colour}" stroke-width="2"'
        parts.append(f'{line} stroke-dasharray="{dashes}"/>')
        parts.append(f'<text x="{x + 30:.1f}" y="42">{words}</text>')
        x += 30 + LETTER * len(words) + 16
    return parts


def draw(rows: Rows, others: Sequence[Rows] = ()) -> str:
    """The picture: a panel per operation, versions from left to right. `others` are rows of other machines."""
    commits = shown_commits(rows)
    shown = [line for line in LINES if any((kind, line) in values for _, values in rows for kind in KINDS[:2])]
    levels = {line: level(rows, commits, line) for line in shown}
    panels: list[list[str]] = []
    for line in shown:
        curves = [curve(one, commits, COST, line, (PALE, 1.5)) for one in others]
        curves += [curve(rows, commits, INSTRUCTIONS, line, (GREY, 1.2)), curve(rows, commits, COST, line, (BLUE, 2.5))]
        there = [one for one in curves if one.values]
        panels.append(_panel(commits, there, levels[line], line.title, _corner(len(panels))))
    heading = [f'<text x="{GAP}" y="22" font-size="15">What each operation takes, relative to the first version</text>']
    key = [(BLUE, "none", "cost"), (GREY, "none", "instructions, counted")]
    key += [(RED, "5 4", "cost in LiteRT")] if any(levels.values()) else []
    key += [(PALE, "none", "cost on other machines")] if others else []
    return _sheet(panels, [*heading, *_key(key)])


def draw_memory(rows: Rows) -> str:
    """The second picture: bytes of the arena, of a plan, and of the wheel."""
    commits = shown_commits(rows)
    panels: list[list[str]] = []
    for kind, line in ((kind, line) for kind, lines in MEASURED if kind not in KINDS for line in lines):
        found = curve(rows, commits, kind, line, (BLUE, 2.5))
        if found.values:
            panels.append(_panel(commits, [found], None, f"{kind.title}{line.title}", _corner(len(panels))))
    heading = [
        f'<text x="{GAP}" y="22" font-size="15">Memory, relative to the first version that has the figure</text>'
    ]
    return _sheet(panels, heading)


def _cells(rows: Rows, shown: Sequence[str], kind: Kind, line: Line) -> list[str]:
    """At the commits shown, and the commit of the largest step."""
    values = [found.get((kind, line)) for _, found in rows]
    at = {commit: value for (commit, _), value in zip(rows, values, strict=True)}
    cells = [short(value) if value is not None else "" for value in (at[commit] for commit in shown)]
    found = largest_step(values)
    where = name_of(rows[found[0]][0]) if found else ""
    return [*cells, f"{found[1]:.3g} x less at {where}" if found and found[1] >= WORTH_NAMING else ""]


def table(rows: Rows) -> str:
    """The figures of the first commit, of each version and of the last commit, and the largest step, in Markdown."""
    shown = [
        commit for k, (commit, _) in enumerate(rows) if k in (0, len(rows) - 1) or name_of(commit) in builds.versions()
    ]
    names = [name_of(commit) for commit in shown]
    lines = [f"| | | {' | '.join(names)} | largest step |", "|---|---|" + "---:|" * len(names) + "---|"]
    for line in LINES:
        kinds = [kind for kind in KINDS if any((kind, line) in found for _, found in rows)]
        lines += [f"| {line.title} | {kind.title} | {' | '.join(_cells(rows, shown, kind, line))} |" for kind in kinds]
    return "\n".join(lines)
