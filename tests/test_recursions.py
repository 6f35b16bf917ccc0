"""Functions of the core that call themselves, directly or through others: each is listed with what bounds its depth."""

from __future__ import annotations

import re
from pathlib import Path

CORE = Path(__file__).parents[1] / "csrc"
BOUNDED = {
    "ml_read_values read_deep read_tables": "the tables of the schema, none of which lies within itself",
    "read_flex_vector read_value": "elements of a vector are numbers: two levels",
    "add_frame": "ML_MAX_DEPTH calls",
    "resolve_children resolve_frame resolve_like resolve_step": "ML_MAX_DEPTH frames, one within the other",
    "transform": "the logarithm of the length of a transform",
    "ml_copy_block": "ML_MAX_RANK dimensions",
    "tile_from": "ML_MAX_RANK dimensions",
    "gather_from": "ML_MAX_RANK dimensions",
    "scatter_from": "ML_MAX_RANK dimensions",
    "give_from": "MOST_WORDS of skip_gram.c",
    "put_values": "MOST_LEVELS of densify.c",
    "ml_plan_free": "a copy holds the plan that it was copied from, never another copy",
    "follow ml_mark_readers ml_run_unsettled moved place_output place_outputs prepare_again": (
        "none: ml_mark_readers only stores the address of ml_run_unsettled"
    ),
}
"""Nodes that run subgraphs prepare and run them through the row of their operator, which no text shows: as deep as
ML_MAX_DEPTH, too."""
DEFINITION = re.compile(r"^[A-Za-z_][^;={}()\n]*?\b(\w+)\([^;{}]*?\)\s*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
NO_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)

Function = tuple[str, Path]


def functions() -> dict[Function, set[Function]]:
    """Every function of the core, and those that its text names: its own file's first, else public ones."""
    bodies: dict[str, dict[Path, str]] = {}
    for path in sorted(CORE.rglob("*.[ch]")):
        for name, body in DEFINITION.findall(NO_CODE.sub("", path.read_text(encoding="utf-8"))):
            bodies.setdefault(name, {})[path] = body
    found: dict[Function, set[Function]] = {}
    for name, places in bodies.items():
        for path, body in places.items():
            named = {*re.findall(r"(?<![.>\w])(\w+)\(", body), *re.findall(r"\b(ml_\w+)\b", body)} & bodies.keys()
            found[name, path] = {
                (other, place)
                for other in named
                for place in ([path] if path in bodies[other] else bodies[other])
                if place == path or other.startswith("ml_") or place.suffix == ".h"
            }
    return found


def reached(calls: dict[Function, set[Function]], start: Function) -> set[Function]:
    """All that a function calls, at any depth."""
    found: set[Function] = set()
    todo = [start]
    while todo:
        for other in calls[todo.pop()] - found:
            found.add(other)
            todo.append(other)
    return found


def test_every_recursion_of_the_core_is_bounded() -> None:
    calls = functions()
    assert len(calls) > 2000
    circles: dict[Function, set[Function]] = {}
    reaches = {function: reached(calls, function) for function in calls}
    for function, all_ in reaches.items():
        if function in all_:
            circles[function] = {other for other in all_ if function in reaches[other]}
    names = {" ".join(sorted(name for name, _ in circle)) for circle in circles.values()}
    assert names == BOUNDED.keys()
