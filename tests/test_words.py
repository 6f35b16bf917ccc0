"""Phrases and names that need two readings are not in the tree: documents, comments, docstrings, messages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_layout import GENERATED, files, name_of

PHRASES = {
    r"\bhangs? on\b": "depends on",
    r"\b(?:is|are) none of (?:the|its|their|\d)": "is not one of",
    r"\b(?:one|once|bits|us) an? (?:node|tensor|graph|row|line|model|lane|element|input|output|record|thread)\b": "per",
    r"\bone behind the other\b": "one after the other",
    r"\bbehind (?:the last|the first|the node|all nodes|the point)\b": "after",
    r"\bfor want of\b": "for lack of, without",
}
"""What is refused, and what to say instead."""
NAMES = re.compile(r"(?:^|_)(?:tame|tide|blind|loose|said|asked|misfits?)(?:_|$)", re.IGNORECASE)
"""Parts of identifiers that say nothing to a stranger."""
NOT_PROSE = {*GENERATED, "tests/test_words.py"}


def texts(*patterns: str) -> list[Path]:
    return [path for path in files(*patterns) if name_of(path) not in NOT_PROSE]


def joined(text: str) -> str:
    """The text with comment marks and ends of lines as single spaces, so that phrases over two lines are seen."""
    return re.sub(r"\s*\n[\s*#]*", " ", text)


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases(phrase: str) -> None:
    found = []
    for path in texts("*.py", "*.c", "*.h", "*.def", "*.md", "*.toml", ".ci/*"):
        matches = re.finditer(phrase, joined(path.read_text()))
        found += [f"{name_of(path)}: '{match[0]}', say '{PHRASES[phrase]}'" for match in matches]
    assert found == []


def test_identifiers_of_python() -> None:
    found = set()
    for path in texts("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (getattr(node, field, None) for field in ("id", "arg", "attr", "name"))
            found |= {f"{name_of(path)}: {name}" for name in names if isinstance(name, str) and NAMES.search(name)}
    assert found == set()


def test_identifiers_of_c() -> None:
    found = set()
    for path in texts("*.c", "*.h", "*.def"):
        code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", path.read_text(), flags=re.DOTALL)
        found |= {f"{name_of(path)}: {name}" for name in re.findall(r"\b[A-Za-z_]\w*", code) if NAMES.search(name)}
    assert found == set()


def test_it_sees_what_it_refuses() -> None:
    refused = [
        "a shape that\n * hangs on values",
        "77 is none of the 2 values",
        "one a row",
        "zeros, one behind\nthe other",
    ]
    refused += ["what stands behind the last", "for want of memory"]
    for text, phrase in zip(refused, PHRASES, strict=True):
        assert re.search(phrase, joined(text)), phrase
    assert NAMES.search("ml_asked_free")
    assert NAMES.search("said")
    assert not NAMES.search("ml_masked")


def test_lines_of_documents_are_at_most_120_columns() -> None:
    """Tables and code are as wide as they are."""
    wide = []
    for path in files("*.md"):
        code = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code ^= line.lstrip().startswith("```")
            if len(line) > 120 and not code and not line.startswith("|"):
                wide.append(f"{name_of(path)}:{number}")
    assert wide == []
