"""The forms of a plan: table, TFLM's memory map, SVG, CSV, differences."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from minilite.errors import InputError
from minilite.memory import FOREVER, UsageRecord, plan, read_csv

RECORDS = [
    UsageRecord(4, 4096, 0, 1),
    UsageRecord(5, 2048, 1, 2),
    UsageRecord(6, 0, 1, 1),
    UsageRecord(7, 4096, 2, FOREVER),
    UsageRecord(8, 1024, 1, 1),
]
MADE = plan(RECORDS, "greedy_by_size", names={5: "a<b"})

TABLE = """\
5 records, strategy greedy_by_size: arena 7168 bytes, lower bound 7168, optimal
one place each would take 11264: reuse factor 1.57
         node   live        bytes
            0      1         4096   #######################
            1      3         7168 * ########################################
            2      2         6144   ##################################
        3-end      1         4096   #######################"""

MAP = f"""\
0 (id=0): size=4096, offset=0, first_used=0 last_used=1
1 (id=1): size=2048, offset=4096, first_used=1 last_used=2
* (id=2): size=0, offset=0, first_used=1 last_used=1
3 (id=3): size=4096, offset=0, first_used=2 last_used=end
* (id=4): size=1024, offset=6144, first_used=1 last_used=1
   0: {"0" * 45}{"." * 35} (4k)
   1: {"0" * 45}{"1" * 23}{"*" * 12} (7k)
   2: {"3" * 45}{"1" * 23}{"." * 12} (6k)
   3: {"3" * 45}{"." * 35} (4k)"""


def test_table() -> None:
    assert MADE.table() == str(MADE) == TABLE


def test_table_says_how_far_the_bound_is() -> None:
    assert "arena 11264 bytes, lower bound 7168, 4096 above it (57.1 %)" in str(plan(RECORDS, "naive"))
    assert str(plan([])) == (
        "0 records, strategy default: arena 0 bytes, lower bound 0, optimal\n"
        "one place each would take 0: reuse factor 1.00"
    )


def test_memory_map() -> None:
    assert MADE.memory_map() == MAP


def test_memory_map_of_another_width() -> None:
    narrow = [line for line in MADE.memory_map(8).splitlines() if ": " in line[:6]]
    assert narrow == ["   0: 0000.... (4k)", "   1: 000011** (7k)", "   2: 333311.. (6k)", "   3: 3333.... (4k)"]
    with pytest.raises(InputError, match="columns is 0, must be from 1 to 100000"):
        MADE.memory_map(0)


def test_memory_map_shows_overlap() -> None:
    broken = MADE.__class__(tuple(RECORDS[:2]), (0, 0), 4096, 4096, False, "by hand", 0)
    assert broken.memory_map().splitlines()[-2] == f"   1: {'!' * 40}{'0' * 40} (6k)"
    fault = broken.check()
    assert fault is not None
    assert fault.kind == "overlap"


def test_memory_map_of_long_lives_has_a_line_where_something_changes() -> None:
    made = plan([UsageRecord(0, 8, 0, 1_000_000), UsageRecord(1, 8, 500, 600)], alignment=8)
    assert [line.split(":")[0].strip() for line in made.memory_map().splitlines()[2:]] == ["0", "500", "601"]


def test_svg() -> None:
    root = ET.fromstring(MADE.to_svg(800, 300))
    assert MADE._repr_svg_() == MADE.to_svg()
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [
        "tensor 4: 4096 bytes at 0 to 4096, nodes 0 to 1",
        "a<b: 2048 bytes at 4096 to 6144, nodes 1 to 2",
        "tensor 7: 4096 bytes at 0 to 4096, nodes 2 to the end",
        "tensor 8: 1024 bytes at 6144 to 7168, nodes 1 to 1",
        "lower bound: 7168 bytes",
    ]
    boxes = [box for box in root.iter("{http://www.w3.org/2000/svg}rect") if len(box)]
    assert all(float(box.get("x", "")) + float(box.get("width", "")) <= 800 for box in boxes)
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"tensor 4", "a<b", "tensor 7", "bytes", "node"} <= set(texts)
    narrow = ET.fromstring(MADE.to_svg(110, 90)).iter("{http://www.w3.org/2000/svg}text")
    assert not {"tensor 4", "tensor 8"} & {text.text for text in narrow}  # no room
    assert all(0 <= float(box.get("y", "")) <= 300 - float(box.get("height", "")) for box in boxes)
    ET.fromstring(plan([]).to_svg())
    ET.fromstring(MADE.to_svg(60, 40))


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    text = MADE.to_csv(path)
    assert path.read_text() == text
    assert text.splitlines()[:3] == ["id,lower,upper,size,offset", "4,0,2,4096,0", "5,1,3,2048,4096"]
    again = plan(read_csv(path))
    assert again.offsets == MADE.offsets
    assert again.check() is None


def test_diff() -> None:
    assert len(MADE.diff(MADE).splitlines()) == 1
    other = plan([*RECORDS[:1], RECORDS[1]._replace(size=8192), UsageRecord(9, 64, 3, 4)], names={5: "a<b"})
    text = MADE.diff(other)
    assert text.startswith("arena 7168 -> 12288 bytes (+5120), lower bound 7168 -> 12288, ")
    assert re.search(r"^~ a<b: size 2048 -> 8192, offset 4096 -> 0$", text, re.MULTILINE)
    assert "- tensor 7: 4096 bytes at 0, nodes 2 to" in text
    assert "+ tensor 9: 64 bytes at 0, nodes 3 to 4" in text


@pytest.mark.parametrize("strategy", ["default", "naive"])
def test_reuse_factor(strategy: str) -> None:
    made = plan(RECORDS, strategy)
    assert made.reuse_factor == pytest.approx(11264 / made.arena_bytes)
