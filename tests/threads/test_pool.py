"""The pool of threads: its test program, built with the core's sources; .ci/threads runs the same under a sanitizer."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from processes import patience

HERE = pathlib.Path(__file__).parent
CORE = HERE.parents[1] / "csrc"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


SYSTEMS = {"futex": ("posix", "linux"), "condition_variables": ("posix", "macos")}


def all_is_well(program: pathlib.Path, of_threads: list[str], system: str) -> None:
    """Builds the program with these files of csrc/threads, and runs it."""
    sources = [HERE / f"{program.name}.c", CORE / "core" / "error.c"]
    sources += [CORE / "threads" / f"{name}.c" for name in of_threads]
    sources += [CORE / "os" / f"{name}.c" for name in SYSTEMS[system]]
    flags = ["-std=gnu11", "-O2", "-pthread", f"-I{CORE}"]
    subprocess.run([str(COMPILER), *flags, "-o", str(program), *map(str, sources)], check=True)
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=patience(120), check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "all well\n", "")


@pytest.mark.skipif(COMPILER is None or not CORE.exists(), reason="needs a C compiler and the sources")
@pytest.mark.parametrize("system", SYSTEMS)
def test_pool(tmp_path: pathlib.Path, system: str) -> None:
    """Each item once, the first failure, cancelling, polling, scratch, forks: see pool_test.c."""
    all_is_well(tmp_path / "pool_test", ["pool", "share"], system)


@pytest.mark.skipif(COMPILER is None or not CORE.exists(), reason="needs a C compiler and the sources")
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_caller_waits_a_fixed_number_of_looks(tmp_path: pathlib.Path, system: str) -> None:
    """For blocks that are left to workers whose processor is busy: see looks_test.c, which includes pool.c."""
    all_is_well(tmp_path / "looks_test", ["share"], system)
