"""The arena on systems whose pages are larger than 4 KiB, shown by a library that has memory calls behave as there."""

from __future__ import annotations

import mmap
import os
import pathlib
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
from built import ready, relu_chain, resized, run
from processes import TESTS, apart
from support.system import needs_system

pytestmark = needs_system
COMPILER = shutil.which("cc")
SIZES = (10, 7_000, 100_000, 300_001, 400_003, 500_009, 600_011, 700_013, 10, 2_000_003)
"""Elements: arenas in a block of malloc's, above 32 KiB in pages of their own; most end in the middle of a page."""


@pytest.fixture(scope="module")
def larger_pages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """LD_PRELOAD for a process whose pages have so many bytes."""
    if COMPILER is None or sys.platform != "linux" or mmap.PAGESIZE != 4096:
        pytest.skip("needs a C compiler, and a Linux with pages of 4 KiB")
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("AddressSanitizer maps its own memory by the page size that the system has")
    library = tmp_path_factory.mktemp("pages") / "pages.so"
    source = TESTS / "support" / "pages.c"
    command = [COMPILER, "-O2", f"-DPAGE={request.param}", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return str(library)


def grow_and_give_back(page: int, address_space: int = resource.RLIM_INFINITY) -> None:
    """Every size runs; the arena has whole pages, all of which are given back, and as many as the system says."""
    assert page == mmap.PAGESIZE
    interpreter = ready(relu_chain(), preserve_inputs=False)
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    for size in SIZES:
        resized(interpreter, size)
        x = np.arange(size, dtype=np.float32)
        assert np.array_equal(run(interpreter, x)[0], x), size
        held = interpreter.usage
        assert held.arena_capacity % page == 0
        assert 4 * size <= held.resident_bytes <= held.arena_capacity
    assert held.stays_mapped == (address_space == resource.RLIM_INFINITY)
    resized(interpreter, 10)
    interpreter.trim()
    held = interpreter.usage
    assert held.arena_capacity == page
    assert held.resident_bytes <= page
    assert run(interpreter, np.ones(10, np.float32))[0].tolist() == [1] * 10


@pytest.mark.parametrize(("larger_pages", "page"), [(16384, 16384), (65536, 65536)], indirect=["larger_pages"])
def test_arena_on_larger_pages(larger_pages: str, page: int) -> None:
    apart(grow_and_give_back, page, LD_PRELOAD=larger_pages)


@pytest.mark.parametrize(("larger_pages", "page"), [(16384, 16384), (65536, 65536)], indirect=["larger_pages"])
def test_arena_on_larger_pages_without_a_reservation(larger_pages: str, page: int) -> None:
    apart(grow_and_give_back, page, 4 << 30, LD_PRELOAD=larger_pages)


@pytest.mark.parametrize("larger_pages", [16384], indirect=True)
def test_tests_of_moving_memory_on_larger_pages(larger_pages: str, tmp_path: pathlib.Path) -> None:
    """Runs in a folder without a package minilite, which Python 3.10 would take for the installed one."""
    names = ("run/test_moving_memory.py", "state/test_memory_limits.py", "state/test_between_runs.py")
    tests = [TESTS / name for name in names]
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist", "-o", "pythonpath=tests"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *map(str, tests)]
    environment = {**os.environ, "LD_PRELOAD": larger_pages, "PYTEST_ADDOPTS": "", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
