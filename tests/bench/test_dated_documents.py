"""Tables and sentences with figures of versions that are too old are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repository

from asv_bench import documents

NOW = "0.15.0"


def table(name: str, version: str, body: str = "| a | 1.25 |") -> str:
    return f"<!-- begin {name} -->\n*AMD EPYC, minilite {version}: `command`.*\n\n{body}\n<!-- end {name} -->\n"


def test_only_a_table_is_replaced() -> None:
    before = "a\n<!-- begin ladder -->\nold\n<!-- end ladder -->\nb\n"
    assert documents.put(before, "ladder", r"new \1") == before.replace("old", r"new \1")
    with pytest.raises(ValueError, match="no table"):
        documents.put("", "ladder", "new")


@pytest.mark.parametrize(
    ("name", "version", "stale"),
    [
        ("peers", "0.15.0", False),
        ("peers", "0.15.3", False),
        ("peers", "0.14.1", True),
        ("levels", "0.13.0", False),
        ("levels", "0.12.9", True),
    ],
)
def test_age_of_tables(name: str, version: str, stale: bool) -> None:
    lines = list(documents.stale_tables(table(name, version), NOW))
    assert bool(lines) == stale
    assert all(version in line and name in line for line in lines)


def test_a_table_says_its_version_and_command() -> None:
    for text in (table("levels", "0.15.0").replace("`", ""), table("levels", "0.15.0").replace("minilite ", "")):
        assert list(documents.stale_tables(text, NOW)) == ["table levels does not say its version and its command"]


def test_the_oldest_version_of_a_table_counts() -> None:
    body = "| a |\n\n- avx2: minilite 0.15.0\n- neon: minilite 0.9.0"
    (line,) = documents.stale_tables(table("standing", "0.15.0", body), NOW)
    assert "0.9.0" in line


TABLES = {"peers": "| a | 1.25 |\n| b | 97 % |", "levels": "| c | 3.5 |"}


@pytest.mark.parametrize(
    "sentence",
    [
        "It is 2 nodes long.",
        "In 0.14.1 it was 1.3 times faster.",
        "It takes 1.25 times LiteRT's time. <!-- figures: peers -->",
        "It reaches 97 %. <!-- figures: peers -->",
        "It reaches 3.5 GB/s with minilite 0.13.0. <!-- figures: levels -->",
        "At most 16 times the bytes of a file. <!-- figures: limit -->",
        "| a row | 3 times |",
        "```\n3 times\n```",
        "`3 times`",
    ],
)
def test_sentences_with_a_source(sentence: str) -> None:
    assert list(documents.stale_sentences(sentence, TABLES, NOW)) == []


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("It is 2.3 times faster.", "figures without a version of the last 2 minor ones: 2.3"),
        ("In 0.12.1 it was 30 % less.", "figures without a version of the last 2 minor ones: 30"),
        ("It takes 1.3 times as long. <!-- figures: peers -->", "1.3 not in table peers"),
        ("The ratio is 1.26. <!-- figures: peers -->", "1.26 not in table peers"),
        ("It reaches 3.5 GB/s. <!-- figures: levels -->", "figures without a version of the last 2 minor ones: 3.5"),
        ("It takes 3 times as long. <!-- figures: gone -->", "there is no table gone"),
        ("Plain.\n\n- One entry.\n- Another takes 7 us.\n", "figures without a version of the last 2 minor ones: 7"),
    ],
)
def test_sentences_without_a_source(sentence: str, why: str) -> None:
    (line,) = documents.stale_sentences(sentence, TABLES, NOW)
    assert line.endswith(why)


def test_documents_are_of_the_version_from_the_commit_after_the_one_that_numbers_it(tmp_path: Path) -> None:
    def commit(path: str, text: str) -> list[str]:
        repository.commit(tmp_path, path, text)
        return documents.stale(tmp_path)

    repository.git(tmp_path, "init", "--quiet")
    (tmp_path / "README.md").write_text(table("speed", "0.14.1") + "\nIt is 2 times faster.\n")
    assert commit("pyproject.toml", '[project]\nversion = "0.15.0"\n') == []
    assert [line.partition(":")[0] for line in commit("docs/trust.md", "It takes 3 us.\n")] == [
        "README.md", "README.md", "docs/trust.md",
    ]  # fmt: skip
    assert commit("docs/trust.md", "") == documents.stale(tmp_path)
    (tmp_path / "README.md").write_text(table("speed", "0.15.0") + "\nIt is fast.\n")
    assert documents.stale(tmp_path) == []
    assert commit("docs/measurements.md", "| a | b |\n|---|---|\n| c | 1 |\n") == [
        "docs/measurements.md: a table without marks: | a | b |"
    ]
