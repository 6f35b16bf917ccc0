"""Tables and figures in the documents: how each is written there, and which are of an older version than they may be.

A table lies between `<!-- begin NAME -->` and `<!-- end NAME -->`, with a line that says where it was measured, by
which version and by which command. *Release tables* are made by `python -m asv_bench.release` and are of the present
minor version. *Study tables* are made now and then, and are at most two minor versions old. In the text around them, a
paragraph with a figure names its source: `<!-- figures: NAME -->`, a table, in which each of the figures occurs;
`<!-- figures: limit -->`, for what was decided and not measured; or else the version, which may be as old as a study.
The version is always said where the table is a study.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from asv_bench import builds, history

RELEASE = frozenset({"speed", "calls", "costs", "peers", "counted", "history"})
"""Names of the release tables; all others are studies."""
CHECKED = ("README.md", "docs/performance.md", "docs/measurements.md", "docs/trust.md", "docs/sizing.md")
MARKED = "docs/measurements.md"
"""The document all of whose tables have marks."""
STUDY_AGE = 2
"""Minor versions."""
TABLE = re.compile(r"<!-- begin ([\w-]+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
SOURCE = re.compile(r"<!-- figures: ([\w-]+) -->")
VERSION = re.compile(r"\b0\.\d+\.\d+\b")
STAMP = re.compile(r"\bminilite\s(\d+\.\d+\.\d+)\b")
FIGURE = re.compile(
    r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?= (?:times\b(?! out of)|%|GB/s|GMAC/s|MiB more|us\b|ms\b|ns\b|M instructions))"
    r"|(?<![\w.(x])(?<!cffi )(?<!numpy )([01]\.\d\d)(?!\w|\.\d)"
)
"""A figure in a sentence: a ratio, a share, a rate or a time."""


def processor() -> str:
    """The processor's name, with its family and model where the name has no number."""
    name, family, model = history.processor()
    if not name:
        return platform.processor() or platform.machine()
    nameless = family and model and not re.search(r"\d", name)
    return f"{name}, family {family} model {model}" if nameless else name


def level() -> str:
    """The level that minilite uses here."""
    from minilite._native.kernels import level_names

    return os.environ.get("MINILITE_ISA") or next(name for name in reversed(level_names()) if name != "amx")


def wrapped(text: str) -> str:
    """The text in lines of 120 columns, code unbroken."""
    kept = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(kept, 120, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def stamp(command: str, *, note: str = "") -> str:
    """The line under a table's mark: where, with what and when it was measured, and the command that measures it."""
    packages = (("minilite", "minilite-runtime"), ("LiteRT", "ai-edge-litert"), ("numpy", "numpy"))
    versions = ", ".join(f"{label} {importlib.metadata.version(package)}" for label, package in packages)
    day = datetime.datetime.now(datetime.timezone.utc).date()
    changed = builds.git("status", "--porcelain", "--untracked-files=no", "--", "csrc", "minilite")
    commit = builds.git("rev-parse", "HEAD")[:10] + (" with changes" if changed else "")
    where = f"{processor()}, level {level()}{note}, Python {platform.python_version()}"
    return wrapped(f"*{where}, {versions}, {day}, commit {commit}: `{command}`.*")


def put(text: str, name: str, body: str) -> str:
    """The document with a table's contents replaced. Raises: ValueError for a document without its marks."""
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marks.search(text):
        message = f"the document has no table {name}"
        raise ValueError(message)
    return marks.sub(lambda found: f"{found[1]}{body}\n{found[2]}", text)


def rows(text: str, name: str) -> list[list[str]]:
    """The cells of a document's table, its heading first. Raises: KeyError for a document without it."""
    body = {found[1]: found[2] for found in TABLE.finditer(text)}[name]
    lines = [line for line in body.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _age(version: str, present: str) -> int:
    """Minor versions between two versions of one major version."""
    return int(present.split(".")[1]) - int(version.split(".")[1])


def is_too_old(line: str, present: str) -> bool:
    """True for a line that says a version that is too old for a study, or none."""
    found = STAMP.findall(line)
    return not found or any(_age(version, present) > STUDY_AGE for version in found)


def stale_tables(text: str, present: str) -> Iterator[str]:
    """Yields a line for each table that is too old, or does not say what it is of."""
    for name, body in (found.groups() for found in TABLE.finditer(text)):
        versions = STAMP.findall(body)
        if not versions or "`" not in body:
            yield f"table {name} does not say its version and its command"
            continue
        oldest = min(versions, key=lambda version: [int(part) for part in version.split(".")])
        kind, most = ("release", 0) if name in RELEASE else ("study", STUDY_AGE)
        if _age(oldest, present) > most:
            yield f"{kind} table {name} is of {oldest}: it may be {most} minor versions older than {present}"


def paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs and entries of lists outside of tables with marks and of code, each as one line."""
    plain = re.sub(r"^```.*?^```", "", TABLE.sub("\n\n", text), flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:-|\d+\.) )", plain):
        yield " ".join(block.split())


def stale_sentences(text: str, tables: dict[str, str], present: str) -> Iterator[str]:
    """Yields a line for each paragraph whose figures have no source, are not in it, or are too old."""
    for paragraph in paragraphs(text):
        figures = [first or second for first, second in FIGURE.findall(re.sub(r"`[^`]*`", "", paragraph))]
        if not figures or paragraph.startswith(("|", "#")):
            continue
        shown, source = paragraph[:60], SOURCE.search(paragraph)
        name = source[1] if source else ""
        if name == "limit":
            continue
        if name and name not in tables:
            yield f"'{shown}': there is no table {name}"
            continue
        lacks = [figure for figure in figures if figure not in re.findall(r"[\d.,]*\d", tables.get(name, ""))]
        if name and lacks:
            yield f"'{shown}': {', '.join(lacks)} not in table {name}"
        versions = VERSION.findall(paragraph)
        if name not in RELEASE and (not versions or min(_age(version, present) for version in versions) > STUDY_AGE):
            yield f"'{shown}': figures without a version of the last {STUDY_AGE} minor ones: {', '.join(figures)}"


def stale(root: Path = builds.ROOT) -> list[str]:
    """Lists tables and sentences of the documents that are too old, a line each; nothing at the commit that numbers a
    version, which may have the tables of the one before."""
    present = history.version(root)
    if history.may_lack(root):
        return []
    texts = {name: (root / name).read_text() for name in CHECKED if (root / name).exists()}
    tables = {found[1]: found[2] for text in texts.values() for found in TABLE.finditer(text)}
    found = []
    for name, text in texts.items():
        found += [f"{name}: {line}" for line in stale_tables(text, present)]
        found += [f"{name}: {line}" for line in stale_sentences(text, tables, present)]
    unmarked = TABLE.sub("", texts.get(MARKED, ""))
    return found + [
        f"{MARKED}: a table without marks: {row}" for row in re.findall(r"^\|.*(?=\n\|---)", unmarked, re.MULTILINE)
    ]
