"""A command runs as on an older processor."""

import shutil
import signal
import subprocess
import sys

import pytest

from asv_bench import builds, older_processor

pytestmark = pytest.mark.skipif(
    not older_processor.is_possible() or shutil.which("cc") is None, reason="CPUID cannot be refused here, or no cc"
)


def output(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "asv_bench.older_processor", *arguments]
    return subprocess.run(command, cwd=builds.ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("level", "gone"),
    [("avx_vnni", {"avx512", "amx"}), ("avx2", {"avx_vnni", "avx512", "amx"}), ("sse2", {"avx2", "avx512", "amx"})],
)
def test_later_instructions_are_not_found(level: str, gone: set[str]) -> None:
    """Neither the process nor a child of it finds them; lower levels are still found."""
    program = (
        "import subprocess, sys; from minilite._native.kernels import level_names; print(*level_names(), flush=True)\n"
        "if len(sys.argv) == 1: subprocess.run([sys.executable, '-c', sys.orig_argv[2], 'child'])"
    )
    done = output(level, sys.executable, "-c", program)
    own, child = (set(line.split()) for line in done.stdout.splitlines())
    assert own == child
    assert "sse2" in own
    assert not own & gone


def test_other_faults_end_the_process() -> None:
    done = output("avx2", sys.executable, "-c", "import ctypes; ctypes.string_at(1)")
    assert done.returncode == 128 + signal.SIGSEGV


def test_the_command_line_is_checked() -> None:
    for wrong in (["avx3", "true"], ["avx2"]):
        done = output(*wrong)
        assert done.returncode == 2
        assert "usage" in done.stderr
