"""Reads profiles of callgrind: instructions by function and by call; draws flame graphs of one, or of what changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple
from xml.sax.saxutils import escape

Function = tuple[str, str]
"""Source file as the compiler named it, "???" where unknown, and name."""

WIDTH, ROW, LEAST = 1000, 17, 0.4
"""Pixels; functions narrower than LEAST are left out."""


class Profile(NamedTuple):
    """Instructions of one run."""

    own: dict[Function, int]
    """Instructions by function, without those of the functions it calls."""
    calls: dict[Function, dict[Function, int]]
    """Instructions by caller and callee: those of the callee for this caller, with all that it called."""

    @property
    def total(self) -> int:
        """Instructions of all functions."""
        return sum(self.own.values())


def parse(text: str) -> Profile:
    """Reads a callgrind.out file of one event. Raises: ValueError for a line that is of no such file.

    Source: the format as Valgrind's manual describes it: names are numbered at their first mention, and the line after
    `calls=` is the inclusive cost of that call.
    """
    names: dict[str, dict[str, str]] = defaultdict(dict)
    own: dict[Function, int] = defaultdict(int)
    calls: dict[Function, dict[Function, int]] = defaultdict(lambda: defaultdict(int))
    file, function, callee_file, callee = "???", ("???", "???"), "", ""
    called = False
    for line in text.splitlines():
        if found := re.match(r"(fl|fi|fe|fn|cfi|cfl|cfn|ob|cob)=\((\d+)\)(?: (.*))?$", line):
            what, number, name = found.groups()
            table = names["fn" if what.endswith("fn") else "ob" if what.endswith("ob") else "file"]
            if name is not None:
                table[number] = name
            if what == "fl":
                file = table[number]
            elif what == "fn":
                function, callee_file = (file, table[number]), file
            elif what in ("cfi", "cfl"):
                callee_file = table[number]
            elif what == "cfn":
                callee = table[number]
        elif line.startswith("calls="):
            called = True
        elif line[:1] in "+-*0123456789" and line:
            cost = int(line.split()[1]) if len(line.split()) > 1 else 0
            if called:
                calls[function][callee_file, callee] += cost
                called, callee_file = False, file
            else:
                own[function] += cost
    return Profile(dict(own), {caller: dict(found) for caller, found in calls.items()})


class _Box(NamedTuple):
    function: Function
    x: float
    width: float
    path: tuple[str, ...]
    """Names of the functions between the root and this one, this one included; none for a root."""
    cost: float

    @property
    def depth(self) -> int:
        """Boxes below this one."""
        return len(self.path)


def _boxes(profile: Profile, roots: list[Function], least: float = LEAST) -> list[_Box]:
    """Each function under its caller, as wide as what it took for it: of what it took in all, the caller's part."""
    inclusive = {
        f: profile.own.get(f, 0) + sum(profile.calls.get(f, {}).values()) for f in {*profile.own, *profile.calls}
    }
    scale = WIDTH / max(1, sum(inclusive.get(root, 0) for root in roots))
    boxes: list[_Box] = []

    def put(function: Function, cost: float, x: float, above: tuple[Function, ...]) -> None:
        if cost * scale < least or function in above:
            return
        path = tuple(name.split(".")[0] for _, name in (*above, function)[1:])
        boxes.append(_Box(function, x, cost * scale, path, cost))
        part = cost / max(1, inclusive.get(function, 0))
        for callee, taken in sorted(profile.calls.get(function, {}).items()):
            put(callee, taken * part, x, (*above, function))
            x += taken * part * scale

    x = 0.0
    for root in roots:
        put(root, inclusive.get(root, 0), x, ())
        x += inclusive.get(root, 0) * scale
    return boxes


def flame(profile: Profile, roots: list[Function], title: str, colours: dict[str, str]) -> str:
    """A flame graph, callers below: `roots` side by side at the bottom, colours by a part of the source file's path."""
    boxes = _boxes(profile, roots)
    total = sum(box.cost for box in boxes if box.depth == 0)

    def fill(box: _Box) -> str:
        return next((colour for part, colour in colours.items() if part in box.function[0]), "#cccccc")

    legend = {part.strip("/"): colour for part, colour in colours.items()}
    return _drawn(boxes, title, fill, lambda box: f"{100 * box.cost / total:.1f} %", legend)


def difference(before: Profile, after: Profile, roots: tuple[list[Function], list[Function]], title: str) -> str:
    """A flame graph of `after`, callers below, whose colours say how much each stack of calls grew or shrank since
    `before`. `roots` are those of both; stacks are matched by the names of their functions above the roots."""
    known: dict[tuple[str, ...], float] = defaultdict(float)
    for box in _boxes(before, roots[0], LEAST / 100):
        known[box.path] += box.cost

    def change(box: _Box) -> float:
        return (box.cost - known[box.path]) / max(box.cost, known[box.path], 1)

    def fill(box: _Box) -> str:
        paler = round(235 * (1 - abs(change(box)))) + 20
        return f"#ff{paler:02x}{paler:02x}" if change(box) > 0 else f"#{paler:02x}{paler:02x}ff"

    def label(box: _Box) -> str:
        was = known[box.path]
        return f"{was:,.0f} -> {box.cost:,.0f} instructions" + (f" ({box.cost / was - 1:+.1%})" if was else ", new")

    legend = {"more": "#ff1414", "the same": "#ffffff", "less": "#1414ff"}
    return _drawn(_boxes(after, roots[1]), title, fill, label, legend)


def _drawn(
    boxes: list[_Box],
    title: str,
    fill: Callable[[_Box], str],
    label: Callable[[_Box], str],
    legend: dict[str, str],
) -> str:
    """The boxes as SVG: each has its colour, and a text that appears when the pointer is on it."""
    rows = max((box.depth for box in boxes), default=0) + 1
    height = 40 + rows * ROW + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="22" text-anchor="middle" font-size="15">{escape(title)}</text>',
    ]
    for box in boxes:
        y = 40 + (rows - 1 - box.depth) * ROW
        name = box.function[1]
        parts.append(
            f"<g><title>{escape(name)}: {label(box)}</title>"
            f'<rect x="{box.x:.1f}" y="{y}" width="{box.width:.1f}" height="{ROW - 1}" fill="{fill(box)}"/>'
        )
        letters = int(box.width / 6)
        if letters >= 4:
            shown = name if len(name) <= letters else name[: letters - 1] + "…"
            parts.append(f'<text x="{box.x + 3:.1f}" y="{y + 12}">{escape(shown)}</text>')
        parts.append("</g>")
    for column, (meaning, colour) in enumerate(legend.items()):
        x = 10 + 110 * column
        parts.append(f'<rect x="{x}" y="{height - 20}" width="12" height="12" fill="{colour}" stroke="#888888"/>')
        parts.append(f'<text x="{x + 17}" y="{height - 10}">{escape(meaning)}</text>')
    return "\n".join([*parts, "</svg>", ""])
