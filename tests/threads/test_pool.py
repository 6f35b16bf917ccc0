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


@pytest.mark.skipif(COMPILER is None or not CORE.exists(), reason="needs a C compiler and the sources")
@pytest.mark.parametrize("system", [("posix", "linux"), ("posix", "macos")], ids=["futex", "condition_variables"])
def test_pool(tmp_path: pathlib.Path, system: tuple[str, ...]) -> None:
    """Each item once, the first failure, cancelling, polling, scratch, forks: see pool_test.c."""
    program = tmp_path / "pool_test"
    sources = [HERE / "pool_test.c", *sorted((CORE / "threads").glob("*.c")), CORE / "core" / "error.c"]
    sources += [CORE / "os" / f"{name}.c" for name in system]
    flags = ["-std=gnu11", "-O2", "-pthread", f"-I{CORE}"]
    subprocess.run([str(COMPILER), *flags, "-o", str(program), *map(str, sources)], check=True)
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=patience(120), check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "all well\n", "")
