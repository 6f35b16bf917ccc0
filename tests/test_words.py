"""Phrases and names that need two readings are not in the tree: documents, comments, docstrings, messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
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
FIRST_WORDS = re.compile(r"(?:What|Whether|Why|Which|How|Of|By|In|It|That of|That|Those|One that|One of)\b")
"""Beginnings of docstrings and comments that do not say what they are about; a verb or a noun of the code does."""
VAGUE = re.compile(r"\b(?:anew|stands?|told|behind)\b")
"""Words that have a plainer one in docstrings and comments: again, is or says, after."""
FIRST_WORDS_OF_C = re.compile(rf"{FIRST_WORDS.pattern}|As\b|[\w.]+ -- (?:what|whether|why|how|by|as|that of|those)\b")
"""The same for comments of C, which name their file first."""
PLAIN = ["minilite", "tools", "tests", "asv_bench"]
"""Rooms and files of Python that keep to FIRST_WORDS and VAGUE; the others follow one by one."""
TESTS = re.compile(r"test_(?:what|whatever|which|it|its|they|those|there|of)_|test_\w+_(?:anew|behind|told)(?:_|$)")
"""Names of tests that do not say what is tested; a noun or a verb of the code at the beginning does."""
NOT_PROSE = {*GENERATED, "tests/test_words.py"}


def texts(*patterns: str) -> list[Path]:
    return [path for path in files(*patterns) if name_of(path) not in NOT_PROSE]


def sentences(source: str) -> list[str]:
    """The docstrings of modules, classes, functions and attributes, and the comments, without the marks of tools."""
    stated = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    found = [each.value for each in stated if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    own = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT]
    for before, token in zip([None, *own], own, strict=False):
        goes_on = before is not None and before.start == (token.start[0] - 1, token.start[1])
        text = re.sub(r"^#\s*(?:(?:noqa|type|fmt|pragma)\b[^#-]*(?:[#-]\s*)?)?", "", token.string)
        found.append(f"... {text}" if goes_on else text)
    return found


def comments_of_c(source: str) -> list[str]:
    """The comments, each as one line; what looks like one in a string is none."""
    pattern = r"""\"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|/\*(.*?)\*/"""
    found = [match[1] for match in re.finditer(pattern, source, re.DOTALL)]
    return [joined(text).strip() for text in found if text is not None]


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


def test_docstrings_and_comments_of_plain_rooms() -> None:
    found = []
    for path in texts("*.py"):
        if any(name_of(path) == room or name_of(path).startswith(f"{room}/") for room in PLAIN):
            for text in sentences(path.read_text()):
                matches = filter(None, (FIRST_WORDS.match(text), VAGUE.search(re.sub("`[^`]*`", "", text))))
                found += [f"{name_of(path)}: '{match[0]}' in '{text[:60]}'" for match in matches]
    assert found == []


def test_comments_of_c() -> None:
    found = []
    for path in texts("csrc/*.c", "csrc/*.h", "csrc/*.def"):
        for text in comments_of_c(path.read_text()):
            matches = filter(None, (FIRST_WORDS_OF_C.match(text), VAGUE.search(re.sub("`[^`]*`", "", text))))
            found += [f"{name_of(path)}: '{match[0]}' in '{text[:60]}'" for match in matches]
    assert found == []


def test_plain_rooms_are_there() -> None:
    assert all(any(name_of(path).startswith(room) for path in texts("*.py")) for room in PLAIN)


def test_identifiers_of_python() -> None:
    found = set()
    for path in texts("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (getattr(node, field, None) for field in ("id", "arg", "attr", "name"))
            found |= {f"{name_of(path)}: {name}" for name in names if isinstance(name, str) and NAMES.search(name)}
    assert found == set()


def test_names_of_tests() -> None:
    found = []
    for path in texts("test_*.py"):
        names = re.findall(r"^ *def (test_\w+)", path.read_text(), re.MULTILINE)
        found += [f"{name_of(path)}: {name}" for name in names if TESTS.match(name)]
    assert found == []


def test_identifiers_of_c() -> None:
    found = set()
    for path in texts("*.c", "*.h", "*.def"):
        code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", path.read_text(), flags=re.DOTALL)
        found |= {f"{name_of(path)}: {name}" for name in re.findall(r"\b[A-Za-z_]\w*", code) if NAMES.search(name)}
    assert found == set()


def test_refused_words_are_found() -> None:
    refused = [
        "a shape that\n * hangs on values",
        "77 is none of the 2 values",
        "one a row",
        "zeros, one behind\nthe other",
    ]
    refused += ["what stands behind the last", "for want of memory"]
    for text, phrase in zip(refused, PHRASES, strict=True):
        assert re.search(phrase, joined(text)), phrase
    source = (
        'def f():\n    """What it does."""\n    x = 1  # noqa: B023 - which is refused\n    # One line\n    # of two\n'
    )
    assert sentences(source) == ["What it does.", "which is refused", "One line", "... of two"]
    assert all(
        FIRST_WORDS.match(text) for text in ("What it is.", "Whether it is.", "Those of a run.", "One that runs.")
    )
    assert not FIRST_WORDS.match("One string per line.")
    code = 'char *of = "/* What */", quote = \'"\'; /* Of\n * two */ int x; /* nodes */'
    assert comments_of_c(code) == ["Of two", "nodes"]
    assert all(FIRST_WORDS_OF_C.match(text) for text in ("As in TFLite.", "One of two.", "os.h -- what it needs."))
    assert not any(FIRST_WORDS_OF_C.match(text) for text in ("Assigns it.", "os.h -- the system.", "of a row"))
    assert VAGUE.search("planned anew")
    assert TESTS.match("test_what_was_taken")
    assert TESTS.match("test_weights_packed_anew")
    assert not TESTS.match("test_memory_used_sums_signatures")
    assert NAMES.search("ml_asked_free")
    assert NAMES.search("said")
    assert not NAMES.search("ml_masked")


def test_words_of_documents() -> None:
    """Changelogs are left as they were written; tables of measurements have names that programs print."""
    found = []
    for path in texts("*.md"):
        prose = re.sub(r"^( *)```.*?^\1```$|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        if path.name not in ("CHANGELOG.md", "measurements.md"):
            found += [f"{name_of(path)}: '{match[0]}'" for match in re.finditer(rf"{VAGUE.pattern}(?!-)", prose)]
    assert found == []


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
