"""Circles of files: docs/architecture.md lists all of them, and none is between rooms."""

from __future__ import annotations

import ast
import re

from test_layout import ROOT, definitions, files, name_of, room_of, without_comments


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The groups of files that reach each other: strongly connected components of more than one file."""
    reached: dict[str, set[str]] = {}
    for start in arrows:
        found, waiting = set[str](), [start]
        while waiting:
            new = arrows.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        reached[start] = found
    groups = {
        frozenset(other for other in reached[each] if each in reached.get(other, ())) for each in arrows
    }  # itself included, if it is in a circle
    return sorted(sorted(group) for group in groups if len(group) > 1)


def python_arrows() -> dict[str, set[str]]:
    """Imports between modules, those within functions too, without those for type checkers."""
    names = {
        name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for path in files("minilite/*.py")
    }
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text())
        skipped = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for part in node.body
            for inner in ast.walk(part)
        }
        found[name] = set()
        for node in ast.walk(tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                several = {f"{node.module}.{alias.name}" for alias in node.names} & names.keys()
                found[name] |= several or {node.module} & names.keys()
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Later":
                found[name] |= {str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)} & names.keys()
    return {name_of(names[here]): {name_of(names[there]) for there in arrows} for here, arrows in found.items()}


def c_arrows() -> dict[str, set[str]]:
    """Functions and tables of one source that another names. Several sources may share a header."""
    sources = [path for path in files("csrc/*.c") if room_of(path) != "api"]
    owner = {name: name_of(path) for path in sources for name in definitions(path)}
    found: dict[str, set[str]] = {}
    for path in sources:
        used = set(re.findall(r"\bml_\w+", without_comments(path.read_text()))) & owner.keys()
        found[name_of(path)] = {owner[name] for name in used} - {name_of(path)}
    return found


def test_circles_of_files_are_found() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"f"}, "f": {"e"}}
    assert circles(arrows) == [["b", "c"], ["e", "f"]]


def test_circles_of_files_are_those_that_the_architecture_names() -> None:
    """Between rooms there is none."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    listed = text[text.index("<!-- circles -->") : text.index("<!-- end of circles -->")]
    named = {frozenset(re.findall(r"`([\w/.]+)`", item)) for item in listed.split("\n- ")[1:]}
    found = circles(python_arrows()) + circles(c_arrows())
    assert {frozenset(group) for group in found} == named
    for group in found:
        assert len({each.rsplit("/", 1)[0] for each in group}) == 1, group
        assert not group[0].startswith(("csrc/plan/", "csrc/run/", "csrc/state/")), group
