"""The tables of the documents: how each is made, and what the pictures show."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from asv_bench import builds, documents, history_chart, performance, real_models, standing
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.reader import load_model


def test_every_table_has_its_marks() -> None:
    for name, section in performance.SECTIONS.items():
        text = section.document.read_text()
        assert documents.put(text, name, "new") != text


def test_a_table_without_its_models_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("<!-- begin speed -->\nold\n<!-- end speed -->\n")
    monkeypatch.setattr(real_models, "FOLDER", tmp_path)
    section = performance.Section(document, real_models.make)
    monkeypatch.setattr(performance, "SECTIONS", {"speed": section})
    assert not performance.write("speed")
    assert "old" in document.read_text()
    monkeypatch.setattr(performance, "SECTIONS", {"speed": section._replace(make=lambda: "new")})
    assert performance.write("speed")
    body = documents.TABLE.findall(document.read_text())[0][1]
    assert body.endswith("`python -m asv_bench.performance speed`.*\n\nnew\n")
    installed = importlib.metadata.version("minilite-runtime")
    assert list(documents.stale_tables(document.read_text(), installed)) == []


def test_words_for_ratios_of_costs() -> None:
    assert [performance.faster(ratio) for ratio in (0.43, 0.99, 1.02, 1.21)] == [
        "2.3 times faster", "as fast", "as fast", "1.2 times slower",
    ]  # fmt: skip


def test_words_on_calls_and_the_table_of_costs_come_from_peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = "\n".join(f"| {case} | 1.00 | {0.5 + 0.01 * k:.2f} |" for k, case in enumerate(performance.operations.API))
    table = f"| operation | minilite | litert |\n|---|---:|---:|\n{rows}"
    monkeypatch.setattr(performance, "MEASUREMENTS", tmp_path / "a.md")
    where = "*AMD EPYC, level avx2, Python 3.11.7, minilite 0.15.0, LiteRT 2.3.0: `command`.*"
    performance.MEASUREMENTS.write_text(f"<!-- begin peers -->\n{where}\n\n{table}\n<!-- end peers -->\n")
    assert "a run of one node is 2 times faster" in performance.make_calls()
    for made in (performance.make_calls(), performance.make_costs()):
        assert "AMD EPYC, level avx2, minilite 0.15.0" in made
    assert "| `invoke()` of one node | 0.50 |" in performance.make_costs()
    assert "| `set_tensor`, `get_tensor` of 16 floats | 0.55 to 0.56 |" in performance.make_costs()


COST, INSTRUCTIONS, LITERT = history_chart.KINDS
FIRST, SECOND = history_chart.LINES[:2]
ROWS: history_chart.Rows = [
    ("a" * 40, {(COST, FIRST): 3000.0}),
    ("b" * 40, {(COST, FIRST): 20.0, (COST, SECOND): 1.5, (INSTRUCTIONS, SECOND): 5e6}),
    ("c" * 40, {(COST, FIRST): 10.0, (LITERT, FIRST): 300.0}),
]


def known(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    monkeypatch.setattr(
        builds, "versions", lambda: {name.replace("_", "."): commit for name, commit in versions.items()}
    )


def test_the_picture_shows_versions_relative_to_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, **{"0_9_0": "a" * 7, "1_0": "b" * 7})
    drawn = history_chart.draw(ROWS)
    assert drawn.count("<polyline") == 3  # both costs, and the instructions of one
    assert drawn.count('stroke-dasharray="5 4"') == 2  # LiteRT's level, and the key
    assert "cost in LiteRT" in drawn
    assert "cost in LiteRT" not in history_chart.draw(ROWS[:2])
    assert "300 times less" in drawn
    assert SECOND.title in drawn
    assert history_chart.LINES[2].title not in drawn
    assert history_chart.level(ROWS, history_chart.shown_commits(ROWS), FIRST) == 0.1
    assert history_chart.level(ROWS, history_chart.shown_commits(ROWS), SECOND) is None
    assert history_chart.draw(ROWS, [ROWS]).count("<polyline") == 5  # the cost of another machine besides
    other = [("d" * 40, {(COST, FIRST): 1.0})]
    assert history_chart.draw(ROWS, [other]).count("<polyline") == 3  # no version of the first machine's


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.5, "2 times less"), (0.03, "33 times less"), (0.78, "-22 %"), (1.0, "the same"), (1.11, "+11 %")],
)
def test_shares_are_told_in_words(share: float, words: str) -> None:
    assert history_chart.factor(share) == words


def test_a_line_that_grew_stays_below_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, **{"1_0": "a" * 7})
    drawn = history_chart.draw([("a" * 40, {(COST, FIRST): 1.0}), ("b" * 40, {(COST, FIRST): 30.0})])
    (line,) = re.findall(r'<polyline points="(.*?)"', drawn)
    (title,) = re.findall(rf'y="([\d.]+)" font-size="12.5">{FIRST.title}', drawn)
    assert min(float(point.split(",")[1]) for point in line.split()) > float(title)


def test_the_second_picture_is_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, **{"1_0": "a" * 7})
    arena, wheel = (history_chart.ARENA, history_chart.BYTES[0]), (history_chart.WHEEL, history_chart.WHOLE[0])
    rows = [("a" * 40, {arena: 100.0, wheel: 10.0}), ("b" * 40, {arena: 50.0, wheel: 20.0})]
    drawn = history_chart.draw_memory(rows)
    assert "bytes of the arena, a network of 11 nodes" in drawn
    assert re.findall(r'font-weight="bold" fill="#\w+">(.*?)<', drawn) == ["2 times less", "2 times as much"]


def test_the_history_s_table_names_the_largest_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "versions", lambda: {"1.0": "b" * 7})
    lines = history_chart.table(ROWS).splitlines()
    assert lines[0] == "| | | aaaaaaa | 1.0 | ccccccc | largest step |"
    assert lines[2] == f"| {FIRST.title} | cost | 3k | 20 | 10 | 150 x less at 1.0 |"
    assert lines[3] == f"| {FIRST.title} | LiteRT's cost |  |  | 300 |  |"
    assert lines[4] == f"| {SECOND.title} | cost |  | 1.5 |  |  |"
    assert len(lines) == 6


def test_names_of_versions_do_not_lie_on_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: history_chart.Rows = [(f"{k:040x}", {(COST, FIRST): 1.0 + k}) for k in range(50)]
    monkeypatch.setattr(builds, "versions", lambda: {f"0.{k}.0": commit for k, (commit, _) in enumerate(rows)})
    drawn = history_chart.draw(rows)
    found = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="(\w+)" fill="#777">(0\.\d+)<', drawn)
    *rest, (end, anchor, last) = [(float(x), anchor, name) for x, anchor, name in found if name != "0.1"]
    assert (anchor, last) == ("end", "0.49")
    letter = history_chart.LETTER
    spans = [(x - letter * len(name) / 2, x + letter * len(name) / 2) for x, _, name in rest]
    spans.append((end - letter * len(last), end))
    assert len(spans) > 5
    assert all(left >= right for (_, right), (left, _) in itertools.pairwise(spans))


def test_the_history_is_of_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "versions", lambda: {"1.0": commits[1][:7]})
    commits = builds.git("rev-list", "--first-parent", "HEAD").split()[:3]

    def measured(machine: str, commit: str, value: float) -> None:
        (tmp_path / machine).mkdir(exist_ok=True)
        row = [[value, None], [[repr(FIRST.operation), "'other'"]]]
        every = {COST.benchmark: row, history_chart.WHEEL.benchmark: [[7], []]}
        found = {"commit_hash": commit, "result_columns": ["result", "params"], "results": every}
        (tmp_path / machine / f"{commit[:8]}-env.json").write_text(json.dumps(found))

    measured("first", commits[0], 1.0)
    measured("second", commits[0], 2.0)
    measured("second", commits[2], 4.0)
    wheel = {(history_chart.WHEEL, history_chart.WHOLE[0]): 7.0}
    second = [(commits[2], {(COST, FIRST): 4.0, **wheel}), (commits[0], {(COST, FIRST): 2.0, **wheel})]
    assert history_chart.machines(tmp_path) == [second, [(commits[0], {(COST, FIRST): 1.0, **wheel})]]
    measured("third", commits[1], 8.0)  # a version counts for more than two commits
    assert history_chart.machines(tmp_path)[0] == [(commits[1], {(COST, FIRST): 8.0, **wheel})]


def test_the_readme_has_its_table_of_models() -> None:
    table = performance.README.read_text().partition("<!-- begin speed -->")[2].partition("<!-- end speed -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) > 5
    assert any("int8" in row for row in rows)
    assert "level" in table


def test_columns_of_other_levels_stay() -> None:
    """The table of levels is read as it was written; a column that is measured again replaces the old one."""
    ratios = [standing.Ratio("a", "int8", 2.0), standing.Ratio("b", "int8", 0.5), standing.Ratio("c", "hybrid", 3.0)]
    neon = standing.column(ratios)
    assert neon == {"int8": "1.00, 0.50, 2", "hybrid": "3.00, 3.00, 1", "all": "1.44, 0.50, 3"}
    table = standing.write({"neon": neon}, {"neon": "a board, minilite 0.8.0: tried"})
    document = f"before\n<!-- begin standing -->\n{table}\n<!-- end standing -->\nafter"
    columns, stamps = standing.read(document)
    assert (columns, stamps) == ({"neon": neon}, {"neon": "a board, minilite 0.8.0: tried"})
    other = standing.column(ratios[2:])
    body = standing.merged(document, "avx2", other, "a PC, minilite 0.10.0", "0.10.0")
    assert standing.read(documents.put(document, "standing", body))[0] == {"neon": neon, "avx2": other}
    body = standing.merged(document, "avx2", other, "a PC, minilite 0.11.0", "0.11.0")
    assert standing.read(documents.put(document, "standing", body))[0] == {"avx2": other}


def test_class_of_a_model() -> None:
    assert standing.class_of(load_model(builds.ROOT / "minilite" / "data" / "digits.tflite")) == "float32"
    kinds = [(np.int8, TensorType.INT8, "int8"), (np.float16, TensorType.FLOAT32, "float16 weights")]
    for weights, computed, kind in [*kinds, (np.int8, TensorType.FLOAT32, "hybrid")]:
        builder = ModelBuilder()
        g = builder.subgraph()
        x, w = g.input("x", (1, 4), computed), g.constant("w", np.ones((3, 4), weights))
        g.output(g.node("FULLY_CONNECTED", [x, w], out=("y", (1, 3), computed)))
        assert standing.class_of(load_model(builder.build())) == kind


def test_the_document_has_its_table_of_levels() -> None:
    columns, stamps = standing.read(standing.DOCUMENT.read_text())
    assert columns.keys() == stamps.keys()
    assert all("LiteRT" in stamp for stamp in stamps.values())
    assert all("all" in column for column in columns.values())
