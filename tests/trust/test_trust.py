"""The commands that fuzz, simulate and compare: each runs, and finds nothing."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import patience
from support import apart, peer
from trust.sequence_oracle import Run, arrays_of, expected, fresh, resize, run_plainly

from minilite import ArenaError

ROOT = Path(__file__).parents[2]


def test_the_linker_is_told_of_each_function_that_fails() -> None:
    """Without --wrap a build with ML_FAILING has no definition of __real_NAME, or calls NAME as it is."""
    listed = re.search(r"foreach\(name ([^)]*)\)\n *target_link_options", (ROOT / "csrc/CMakeLists.txt").read_text())
    text = "".join((ROOT / f"tests/trust/{name}.c").read_text() for name in ("failing", "scheduled"))
    macros = re.compile(r"^(WRAPPED|REFUSABLE|SHARED|CLOCK)\((?:[^,()]*, )?(\w+)", re.MULTILINE)
    defined = {f"ml_share_{name}" if macro == "SHARED" else name for macro, name in macros.findall(text)}
    assert listed is not None
    assert sorted(defined) == sorted(listed[1].split())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_children_that_end_are_replaced() -> None:
    def work(number: int) -> int:
        if number in (3, 60):
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 99:
            os._exit(7)
        if number == 100:
            raise ValueError
        return number * number

    found = dict(apart.answers(work, range(120)))
    ended = {number: answer.status for number, answer in found.items() if isinstance(answer, apart.Ended)}
    assert ended == {3: -signal.SIGKILL, 60: -signal.SIGKILL, 99: 7, 100: 1}
    assert {number: number * number for number in range(120) if number not in ended} == {
        number: answer for number, answer in found.items() if number not in ended
    }


def command(folder: Path, *arguments: str) -> str:
    """Returns the output of a command, on the installed package."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "trust"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=patience(300),
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_fuzz_models(tmp_path: Path) -> None:
    found = command(tmp_path, "fuzz_models", "--seed", "5", "--count", "60")
    assert found.endswith("seed 5: 60 mutants, 0 failed\n")
    assert "ran " in found


def test_simulate(tmp_path: Path) -> None:
    """Runs each program twice; both runs have the same digest."""
    found = command(tmp_path, "simulate", "--seed", "3", "--count", "5", "--steps", "12", "--twice")
    assert found.endswith("5 programs of 12 steps, 0 failed\n")


def test_threads_that_have_interpreters_alone(tmp_path: Path) -> None:
    found = command(
        tmp_path, "threads", "--seconds", "3", "--threads", "3", "--models", "chain,strings", "--alone", "6"
    )
    assert found.endswith(" calls, 0 answered wrongly\n")
    assert "MiB in the first half" in found


def test_other_sizes_after_a_run_without_memory() -> None:
    one = fresh("dynamic", max_bytes=1 << 28)
    resize(one, "dynamic", 5)
    one.allocate_tensors()
    x, _, _, pick = arrays_of("dynamic", Run(5, 0))
    count, shape = np.array(1 << 30, np.int32), np.array([1, 1 << 30], np.int32)
    for tensor, array in zip(one.model.subgraphs[0].inputs, (x, count, shape, pick), strict=True):
        one.set_tensor(tensor, array)
    with pytest.raises(ArenaError, match="RANGE"):
        one.invoke()
    run = Run(3, 0)
    assert run_plainly(one, "dynamic", run).equals(expected("dynamic", (run,)))


@peer.needed
def test_differ(tmp_path: Path) -> None:
    found = command(tmp_path, "differ", "--seed", "3", "--count", "20")
    assert found.endswith("20 graphs, 0 differ, 0 refused by minilite alone\n")


# Commands that change the core ---------------------------------------------------------------------------------------


@pytest.fixture
def mutants() -> Any:
    """The module; nothing is built."""
    return importlib.import_module("trust.mutants")


def test_places_of_mutants(mutants: Any) -> None:
    """Operators, numbers and negations of code; not of comments, strings, macros and pointers."""
    code = """#define MOST 7
/* a < b */
static const char *name = "1 < 2";
int f(int a, char *b) { // !a
    return !a && *b >= 12 ? a << 1 : x2;
}
"""
    found = [(code[p.at :].split()[0], p.old, p.new) for p in mutants.places(Path("f.c"), code)]
    assert found == [
        ("&&", "&&", ("||",)),
        (">=", ">=", (">", "<")),
        ("<<", "<<", (">>",)),
        ("12", "12", ("13", "11")),
        ("1", "1", ("2", "0")),
        ("!a", "!", ("",)),
    ]


@pytest.mark.parametrize("room", ["format", "graph", "plan", "state", "run", "memory", "control"])
def test_mutants_of_a_room(mutants: Any, room: str, tmp_path: Path) -> None:
    """A seed gives the same mutants each time; each changes its file in one place and can be undone."""
    first, again, other = (mutants.mutants(room, seed)[:40] for seed in (5, 5, 6))
    assert len({m.name for m in first}) == 40
    assert [m.name for m in first] == [m.name for m in again] != [m.name for m in other]
    for mutant in first[:5]:
        plain, target = (ROOT / mutant.place.path).read_text(), tmp_path / mutant.place.path
        target.parent.mkdir(parents=True, exist_ok=True)
        mutant.write(tmp_path)
        changed, at = target.read_text(), mutant.place.at
        assert changed[:at] == plain[:at]
        assert changed[at:] == mutant.new + plain[at + len(mutant.place.old) :] != plain[at:]
        mutant.undo(tmp_path)
        assert target.read_text() == plain
    tests = f"{mutants.FIRST} {mutants.TESTS[room]} {mutants.LAST}".split()
    assert all((ROOT / f"tests/{name.replace('/', '/test_')}.py").exists() for name in tests)


def test_survivors_that_are_explained_are_mutants(mutants: Any) -> None:
    """Each explained survivor has a reason, and a name that mutants of the present code have."""
    names = {m.name for room in mutants.TESTS for _, changes in mutants.ways(room) for m in changes}
    assert all(mutants.explained().values())
    assert set(mutants.explained()) <= names


def test_outcomes_are_kept(mutants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call tries no mutant again; with `--again` it tries those that survived without a reason."""
    tried: list[str] = []
    sample = mutants.mutants("run", 0)[:4]
    became = dict(zip((m.name for m in sample), ("tests/a.py::b", "no mutant", "SURVIVED", "SURVIVED"), strict=True))
    monkeypatch.setattr(mutants.Judge, "_try", lambda self, mutant: tried.append(mutant.name) or became[mutant.name])
    monkeypatch.setattr(mutants, "explained", lambda: {sample[3].name: "a reason"})

    def judge(again: bool) -> Any:
        return mutants.judge(tmp_path, "run", argparse.Namespace(seed=0, count=3, again=again))

    assert judge(again=False) == judge(again=False) == (3, 1, 1)
    assert tried == list(became)
    became[sample[2].name] = "tests/a.py::c"
    assert judge(again=True) == judge(again=False) == (3, 2, 1)
    assert tried[4:] == [sample[2].name]


@pytest.mark.parametrize(
    ("killed", "count", "low", "high"), [(36, 40, 0.769, 0.960), (40, 40, 0.912, 1.0), (0, 0, 0, 1)]
)
def test_interval_of_a_rate(mutants: Any, killed: int, count: int, low: float, high: float) -> None:
    assert mutants.interval(killed, count) == pytest.approx((low, high), abs=1e-3)


def test_each_planted_fault_has_its_place(mutants: Any, tmp_path: Path) -> None:
    planted = importlib.import_module("trust.faults")
    for fault in planted.FAULTS.values():
        (tmp_path / fault.path).parent.mkdir(parents=True, exist_ok=True)
        planted.planted(tmp_path, fault)
        changed = (tmp_path / fault.path).read_text()
        assert changed == (ROOT / fault.path).read_text().replace(fault.old, fault.new)
        assert fault.tool in planted.COMMANDS


def test_a_command_ends_when_it_prints_the_wanted_line(mutants: Any, tmp_path: Path) -> None:
    planted = importlib.import_module("trust.faults")
    endless = [sys.executable, "-c", "print('--seed 3 --count 1', flush=True)\nwhile True: pass"]
    assert planted.line_of(endless, r"^--seed \d+ --count 1", tmp_path, 60) == "--seed 3 --count 1"
    assert planted.line_of(endless, "other", tmp_path, 1) == ""


# Reach of the tests --------------------------------------------------------------------------------------------------


def test_coverage_of_rooms(mutants: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of rooms, what is left of a file, and a status that says whether enough branches are reached."""
    table = importlib.import_module("trust.coverage_table")
    source = tmp_path / "csrc" / "graph" / "a.c"
    source.parent.mkdir(parents=True)
    source.write_text("int f(int a, int b) {\n    return a && b;\n}\n")
    counts = {"lines": (3, 3), "branches": (1, 4), "mcdc": (0, 1)}
    summary = {kind: {"covered": covered, "count": count} for kind, (covered, count) in counts.items()}
    branches = [[2, 12, 2, 13, 0, 7, 0, 0, 4], [2, 17, 2, 18, 0, 0, 0, 0, 4]]
    decisions = [[2, 12, 2, 18, 0, 5, [True, False]]]
    file = {"filename": str(source), "summary": summary, "branches": branches, "mcdc_records": decisions}
    other = {"filename": "/x/csrc/run/b.h", "summary": summary, "branches": [], "mcdc_records": []}
    export = tmp_path / "export.json"
    export.write_text(json.dumps({"data": [{"files": [file, other]}]}))
    assert table.main([str(export), "--least", "25", "--missing", "graph/"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| graph | 3 of 3, 100.0% | 1 of 4, 25.0% | 0 of 1, 0.0% |",
        "| run | 3 of 3, 100.0% | 1 of 4, 25.0% | 0 of 1, 0.0% |",
        "| all | 6 of 6, 100.0% | 2 of 8, 25.0% | 0 of 2, 0.0% |",
        "graph/a.c:2: never true: a",
        "graph/a.c:2: never reached: b",
        "graph/a.c:2: conditions [2] of 2 never decided",
    ]
    assert table.main([str(export), "--least", "26"]) == 1
