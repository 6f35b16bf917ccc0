"""The programs of docs/gallery: each runs, prints what docs/gallery.md shows, draws the picture there, and is short."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import runpy
import shutil

import pytest

from minilite._native.state import debug_build
from tools import notebook

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gallery.md"
PROGRAMS = sorted((ROOT / "docs" / "gallery").glob("*.py"))
SHOWN = dict(re.findall(r"^\[(\w+\.py)\]\(gallery/\1\)\n\n```\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))
"""The output of each program in the page, by its name."""


def test_the_page_has_every_program() -> None:
    assert list(SHOWN) != []
    assert sorted(SHOWN) == [path.name for path in PROGRAMS]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_what_the_page_shows(
    path: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs in another folder than the checkout's. `cd docs/pictures && python ../gallery/PROGRAM.py` draws its picture
    again."""
    if '"cc"' in path.read_text() and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    if debug_build() and path.stem == "keyword_spotting":
        pytest.skip("bytes that debug builds place after tensors make its arena larger")
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(path), run_name="__main__")
    assert printed.getvalue() == SHOWN[path.name]
    for drawn in tmp_path.iterdir():
        assert f"(pictures/{drawn.name})" in PAGE.read_text()
        assert drawn.read_text() == (ROOT / "docs" / "pictures" / drawn.name).read_text()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_short_and_says_what_it_does(path: pathlib.Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 60
    assert text.startswith('"""')


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "gallery").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_give(
    path: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m tools.notebook NOTEBOOK` runs the cells and writes the outputs again."""
    monkeypatch.chdir(tmp_path)
    stored = json.loads(path.read_text())
    assert f"(gallery/{path.name})" in PAGE.read_text()
    assert notebook.run(stored) == [cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == "code"]
