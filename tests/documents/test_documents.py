"""The documents tell the truth: their Python runs and prints what they say, their links lead somewhere, their options
exist."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from asv_bench.benchmarks import paper
from asv_bench.paper_figures import FIGURES, figure
from minilite.cli import COMMANDS, main, parsers
from minilite.report.operators import lines
from tools.api_reference import HEADS, PAGES, page
from tools.pictures import PICTURES

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """Fenced text: its language, the text, and its first line in the document."""

    language: str
    text: str
    line: int


def blocks(path: pathlib.Path) -> list[Block]:
    text = path.read_text()
    return [
        Block(found[2], textwrap.dedent(found[3]), text[: found.start(3)].count("\n") + 1)
        for found in FENCE.finditer(text)
    ]


def named(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


IN_A_FOLDER = "command.md"
"""Writes files, and is run with its commands by tests/cli/test_document.py."""


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if "```python" in path.read_text() and path.name != IN_A_FOLDER], ids=named
)
def test_python_runs_and_prints_what_the_page_shows(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document's blocks run one after the other, as a reader would. A block without a language after one shows
    all that it prints."""
    if '"cc"' in path.read_text() and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    monkeypatch.chdir(ROOT)
    for name in ("tflite_runtime", "tflite_runtime.interpreter"):  # what a page installs goes with the test
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(path)
    for block, following in zip(found, [*found[1:], None], strict=True):
        if block.language != "python":
            continue
        code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)  # noqa: S102
        shown = following is not None and not following.language and adjoining(path, block, following)
        assert printed.getvalue() == (following.text if following is not None and shown else "")


def adjoining(path: pathlib.Path, block: Block, following: Block) -> bool:
    """True if only blank lines and fences are between two blocks."""
    between = path.read_text().splitlines()[block.line - 1 + block.text.count("\n") : following.line - 1]
    return all(line.strip() in ("", "```") for line in between)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_kernels_in_c_compile(tmp_path: pathlib.Path) -> None:
    """Kernels compile without a warning; they are not linked, because their symbols are in the core."""
    found = [block.text for block in blocks(ROOT / "docs" / "kernels.md") if block.language == "c"]
    assert found
    for number, text in enumerate(found):
        source = tmp_path / f"kernel{number}.c"
        source.write_text(text)
        flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fsyntax-only"]
        subprocess.run(["cc", *flags, f"-I{ROOT / 'csrc'}", str(source)], check=True)


def test_blocks_are_seen() -> None:
    """This file finds the Python blocks of every page."""
    for path in DOCUMENTS:
        found = sum(block.language == "python" for block in blocks(path))
        assert found == path.read_text().count("```python"), named(path)
    assert sum(block.language == "python" for path in DOCUMENTS for block in blocks(path)) > 40


def anchors(path: pathlib.Path) -> set[str]:
    """The anchors of a page, which links name after `#`: its headings, as GitHub and the site write them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_lead_somewhere(path: pathlib.Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", path.read_text()):
        if "://" in target:
            continue
        found = path.parent / target if target else path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


def test_all_documents_are_listed() -> None:
    text = (ROOT / "docs" / "README.md").read_text()
    assert [path.name for path in DOCUMENTS[1:] if path.name != "README.md" and f"({path.name})" not in text] == []


@pytest.mark.parametrize("name", HEADS)
def test_api_is_described_as_its_docstrings_say(name: str) -> None:
    """`python -m tools.api_reference NAME > /tmp/NAME && cp /tmp/NAME docs/NAME` prints it again."""
    assert (ROOT / "docs" / name).read_text() == page(name)


def test_each_public_name_is_on_one_page_of_the_api() -> None:
    pages = [(ROOT / "docs" / name).read_text() for name in HEADS]
    found = [name for text in pages for name in re.findall(r"^### (\w+)$", text, re.MULTILINE)]
    items = [item for _, _, items in PAGES for item in items if callable(item)]
    assert sorted(found) == sorted(item.__name__ for item in items)


def test_site_finds_methods_by_parts_of_their_names() -> None:
    """The search of the site gives headings the most weight, and splits them as mkdocs.yml says."""
    (separator,) = re.findall(r"separator: '(.+)'", (ROOT / "mkdocs.yml").read_text())
    headings = re.findall(r"^#### (.+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    found = [heading for heading in headings if {"resize", "input"} <= set(re.split(separator, heading))]
    assert found == ["Interpreter.resize_tensor_input"]


def test_picture_of_a_plan_is_what_the_command_draws(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`minilite plan minilite/data/digits.tflite --shape image=1,64,64,1 --svg docs/pictures/plan.svg` draws it
    again."""
    monkeypatch.chdir(ROOT)
    drawn = tmp_path / "plan.svg"
    command = ["plan", "minilite/data/digits.tflite", "--shape", "image=1,64,64,1", "--svg", str(drawn)]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(command) == 0
    assert (ROOT / "docs" / "pictures" / "plan.svg").read_text() == drawn.read_text()


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_plans_are_what_their_program_draws(name: str) -> None:
    """`python -m tools.pictures NAME > docs/pictures/NAME.svg` draws them again."""
    assert (ROOT / "docs" / "pictures" / f"{name}.svg").read_text() == PICTURES[name]()


def test_figures_of_mobilenet_are_what_their_script_draws() -> None:
    """`python -m asv_bench.paper_figures docs/pictures` draws them again."""
    for name, (strategy, title) in FIGURES.items():
        assert (ROOT / "docs" / "pictures" / name).read_text() == figure(strategy, title)


def test_memory_maps_are_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The console blocks of docs/binding.md; `...` means lines that are left out."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    found = [block.text for block in blocks(ROOT / "docs" / "binding.md") if block.language == "console"]
    assert len(found) == 2
    for text in found:
        command, _, shown = text.partition("\n")
        assert main(command.removeprefix("$ minilite ").split()) == 0
        pattern = "(?s:.*?)".join(map(re.escape, shown.split("...\n")))
        assert re.fullmatch(pattern, capsys.readouterr().out)


def test_tables_of_the_paper_are_what_their_script_prints() -> None:
    """`python -m asv_bench.benchmarks.paper` prints them again."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        paper.main()
    assert f"```\n{printed.getvalue()}```\n" in (ROOT / "docs" / "planning.md").read_text()


def test_operators_are_listed_as_their_rows_say() -> None:
    """`python -m minilite.report.operators > docs/operators.md` prints it again."""
    assert (ROOT / "docs" / "operators.md").read_text().splitlines() == "\n".join(lines()).splitlines()


def options_of() -> dict[str, set[str]]:
    """Options by command."""
    _, known = parsers([*COMMANDS])
    return {
        name: {option for argument in command.arguments for option in argument.option_strings}
        for name, command in known.items()
    }


def commands_in(text: str) -> Iterator[tuple[str, str]]:
    """(command, option) of every use of the minilite command in code; a bare option belongs to the command named
    before."""
    command = ""
    fenced = [
        part
        for found in FENCE.finditer(text)
        if found[2] in ("", "sh", "console")
        for part in found[3].split("\n" if found[2] == "sh" else "\n$ ")
    ]
    for span in fenced + re.findall(r"`([^`]+)`", FENCE.sub("", text)):
        found = re.search(r"(?<!from )\bminilite\s+([a-z]+)\b", span)
        command = found[1] if found else command
        if found or span.startswith("--"):
            yield command, ""
            yield from ((command, option) for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span))


def test_commands_are_seen() -> None:
    found = set(commands_in((ROOT / "README.md").read_text()))
    assert {
        ("run", "--labels"),
        ("inspect", ""),
        ("plan", "--compare"),
        ("plan", "--write-offline"),
    } <= found


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_commands_and_options_exist(path: pathlib.Path) -> None:
    known = options_of()
    for command, option in commands_in(path.read_text()):
        assert command in known, command
        assert not option or option in known[command], f"minilite {command} {option}"
