"""The gate: which figures it calls worse, and that it notices extra work planted in a scratch clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asv_bench import builds, gate
from asv_bench.benchmarks import counted

COUNTS = r"counted\.(Counters|Allocations|Instructions)"


def figure(value: float | None, tolerance: float = 0.0) -> dict[str, Any]:
    row: dict[str, Any] = {"unit": "count", "tolerance": tolerance}
    return row | ({"reason": "not there"} if value is None else {"value": value})


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (figure(3), figure(3), 0),
        (figure(3), figure(4), 1),
        (figure(0), figure(1), 1),
        (figure(4), figure(3), 0),
        (figure(3), figure(None), 1),
        (figure(None), figure(3), 0),
        (figure(100, 0.02), figure(102, 0.02), 0),
        (figure(100, 0.02), figure(102.1, 0.02), 1),
    ],
)
def test_worse_is_more_than_the_tolerance_or_gone(before: Any, after: Any, worse: int) -> None:
    assert gate.judge({"a.B.track_c": before}, {"a.B.track_c": after}) == worse
    assert gate.judge({"a.B.track_c": before}, {"a.B.track_c": after}, accepted=["track_c"]) == 0


def test_five_percent_more_instructions_are_worse() -> None:
    tolerance = counted.Instructions.tolerance
    assert gate.judge({"plan": figure(3_876_000, tolerance)}, {"plan": figure(1.05 * 3_876_000, tolerance)}) == 1


def test_a_figure_that_is_no_longer_measured_is_gone() -> None:
    assert gate.judge({"a.B.track_c": figure(1)}, {}) == 1


@pytest.mark.parametrize("before", [{}, {"x": figure(None)}, {"x": figure(None) | {"not_yet": True}}, {"x": figure(1)}])
def test_a_figure_that_neither_has_is_worse_unless_it_is_the_machine_s_fault(before: Any) -> None:
    missing = figure(None) | {"not_yet": True}
    assert gate.judge(before, {"x": missing}) == 1
    assert gate.judge(before, {"x": missing | {"not_yet": False}}) == ("value" in before.get("x", {}))


def test_changes_and_reasons_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    gate.judge({"x": figure(4), "y": figure(None)}, {"x": figure(5), "y": figure(None)})
    assert capsys.readouterr().out.splitlines() == [
        "WORSE     x: 4 -> 5 (+25.0%)",
        "skipped   1 figures: not there",
        "1 figures compared, 1 worse",
    ]


def test_a_pull_request_shows_what_changed_worse_first(capsys: pytest.CaptureFixture[str]) -> None:
    before = {"a": figure(2), "b('x|y')": figure(1000), "c": figure(5), "d": figure(0), "e": figure(7), "f": figure(1)}
    after = {
        "a": figure(1),
        "b('x|y')": figure(1500),
        "c": figure(None),
        "d": figure(0),
        "e": figure(8),
        "f": figure(3),
    }
    assert gate.judge(before, after, ["^e"], gate.as_markdown) == 3
    assert capsys.readouterr().out.splitlines() == [
        "### Counted figures",
        "",
        "6 figures compared, 3 worse.",
        "",
        "| | figure | before | after | change |",
        "|---|---|---:|---:|---:|",
        "| WORSE | `c` | 5 | gone |  |",
        "| WORSE | `f` | 1 | 3 | +200.0% |",
        r"| WORSE | `b('x\|y')` | 1,000 | 1,500 | +50.0% |",
        "| accepted | `e` | 7 | 8 | +14.3% |",
        "| better | `a` | 2 | 1 | -50.0% |",
        "",
        "Skipped: 1 figures: not there.",
    ]


def test_a_pull_request_says_that_nothing_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.judge({"a": figure(2)}, {"a": figure(2)}, form=gate.as_markdown) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "1 figures compared, 0 worse.",
        "",
        "No figure changed beyond its tolerance.",
    ]


def test_a_commit_s_message_accepts_figures(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--allow-empty", "-m", "first\n\nAccept-figures: before.*")
    git(tmp_path, "commit", "--allow-empty", "-m", "second\n\nWhy.\nAccept-figures: resize new, conv ")
    assert gate.accepted_by("HEAD~1", builds.WORKING_TREE, tmp_path) == ["resize new, conv"]
    assert gate.accepted_by("HEAD", "HEAD", tmp_path) == []


def test_commits_with_the_same_core_share_one(tmp_path: Path) -> None:
    """A changed, new or removed file of the core, committed or not, is a difference; a Python file is none."""
    git(tmp_path, "init", "--quiet")
    for name in ("csrc/a.c", "CMakeLists.txt", "pyproject.toml", "minilite/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    commit(tmp_path, "first")
    (tmp_path / "minilite/a.py").write_text("1")
    commit(tmp_path, "second")
    assert builds.same_core("HEAD~1", "HEAD", tmp_path)
    assert builds.same_core("HEAD", builds.WORKING_TREE, tmp_path)
    for path in ("csrc/a.c", "csrc/new.c", "CMakeLists.txt", "pyproject.toml"):
        (tmp_path / path).write_text("1")
        assert not builds.same_core("HEAD", builds.WORKING_TREE, tmp_path)
        commit(tmp_path, path)
        assert not builds.same_core("HEAD~1", "HEAD", tmp_path)
        assert builds.same_core("HEAD", builds.WORKING_TREE, tmp_path)
    (tmp_path / "csrc/a.c").unlink()
    assert not builds.same_core("HEAD", builds.WORKING_TREE, tmp_path)


def test_the_core_of_a_wheel_is_put_beside_the_python_files_of_a_commit(tmp_path: Path) -> None:
    source, target, wheel = tmp_path / "source", tmp_path / "package", tmp_path / "minilite.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name in ("_core.abi3.so", "include/kernel.h", "old.py", "memory/old.py"):
            packed.writestr(f"minilite/{name}", "wheel")
        packed.writestr("minilite_runtime-1.dist-info/RECORD", "wheel")
    (source / "minilite" / "memory").mkdir(parents=True)
    (source / "minilite" / "memory" / "new.py").write_text("commit")
    builds.assemble(source, target, wheel)
    found = {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert found == {
        "minilite/_core.abi3.so": "wheel",
        "minilite/include/kernel.h": "wheel",
        "minilite/memory/new.py": "commit",
        "minilite_runtime-1.dist-info/RECORD": "wheel",
    }


# Planted work ---------------------------------------------------------------------------------------------------------


def replaced(root: Path, pattern: str, text: str, *globs: str) -> None:
    """Replaces the one place in the clone that a regular expression finds."""
    found = 0
    for path in (path for glob in globs for path in sorted(root.glob(glob))):
        changed, times = re.subn(pattern, text, path.read_text(), flags=re.MULTILINE)
        if times:
            path.write_text(changed)
        found += times
    assert found == 1, f"{pattern}: found {found} times"


def more_planning(root: Path) -> None:
    """A loop before each plan, which adds 5 % to the instructions of one of 126 records."""
    call = "return problem->alignments && !s->aligns ? ML_STRATEGY_UNSUPPORTED : s->plan(problem);"
    loop = "{ for (volatile int32_t k = problem->count * problem->count * 3 / 2; k > 0; k--) continue; " + call + " }"
    replaced(root, re.escape(call), loop, "csrc/memory/strategies.c")


def a_malloc_per_run(root: Path) -> None:
    """ml_state_run takes and frees a block."""
    heading = r"^(static uintptr_t run\(ml_state \*s, const run_options \*o\) \{)$"
    block = r"\1\n    void *volatile block = malloc(48);\n    free(block);"
    replaced(root, heading, block, "csrc/run/run.c")


def a_preparation_per_resize(root: Path) -> None:
    """resize_tensor_input forgets the plans that are not in use, so that sizes seen before are prepared again."""
    ask = r"^(        session = self\._engine\.main\n)(        if session is not None and not strict and session\.ask)"
    forget = "        if session is not None and session.ready:\n            self.trim()\n"
    replaced(root, ask, r"\1" + forget + r"\2", "minilite/interpreter.py")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of this checkout, including what is not committed."""
    root = tmp_path_factory.mktemp("clone") / "minilite"
    builds.export(builds.WORKING_TREE, root)
    git(root, "init", "--quiet")
    commit(root, "as it is")
    return root


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=gate", "-c", "user.email=gate@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)


@pytest.fixture(scope="module")
def before(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> gate.Figures:
    return gate.measure("HEAD", tmp_path_factory.mktemp("before"), COUNTS, clone)


PLANTED = [
    (a_malloc_per_run, [r"track_allocations\('invoke, chain 1'\): "]),
    (
        a_preparation_per_resize,
        [
            r"track_nodes_prepared_per_seen_resize\('chain 10'\): 0 -> ",
            r"track_c_calls_per_seen_resize\('chain 10'\): ",
        ],
    ),
    (more_planning, [r"track_instructions\('plan default, 126 records'\)"]),
]


@pytest.mark.parametrize("plant", [plant for plant, _ in PLANTED], ids=lambda plant: plant.__name__)
def test_planted_work_has_its_place(plant: Callable[[Path], None], tmp_path: Path) -> None:
    for name in ("csrc/memory/strategies.c", "csrc/run/run.c", "minilite/interpreter.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copyfile(builds.ROOT / name, tmp_path / name)
    plant(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("cc") or "libasan" in os.environ.get("LD_PRELOAD", ""), reason="needs cc, and no AddressSanitizer"
)
@pytest.mark.parametrize(("plant", "caught"), PLANTED, ids=lambda value: getattr(value, "__name__", ""))
def test_planted_work_is_caught(
    plant: Callable[[Path], None],
    caught: list[str],
    clone: Path,
    before: gate.Figures,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if any("instructions" in figure for figure in caught) and not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    git(clone, "reset", "--quiet", "--hard")
    plant(clone)
    after = gate.measure(builds.WORKING_TREE, tmp_path, COUNTS, clone)
    git(clone, "reset", "--quiet", "--hard")
    capsys.readouterr()
    assert gate.judge(before, after) > 0
    worse = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WORSE")]
    for figure in caught:
        assert [line for line in worse if re.search(figure, line)], worse


@pytest.mark.slow
def test_the_same_tree_is_no_worse(clone: Path, before: gate.Figures, tmp_path: Path) -> None:
    assert gate.judge(before, gate.measure("HEAD", tmp_path, COUNTS, clone)) == 0
