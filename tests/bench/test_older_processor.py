"""A command runs as on an older processor."""

import shutil
import signal
import subprocess
import sys

import pytest
from support import peer

from asv_bench import builds, older_processor

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
refuses = pytest.mark.skipif(not older_processor.is_possible(), reason="CPUID cannot be refused here")


def output(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "asv_bench.older_processor", *arguments]
    return subprocess.run(command, cwd=builds.ROOT, capture_output=True, text=True, check=False)


@refuses
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


@refuses
def test_other_faults_end_the_process() -> None:
    done = output("avx2", sys.executable, "-c", "import ctypes; ctypes.string_at(1)")
    assert done.returncode == 128 + signal.SIGSEGV


def test_the_command_line_is_checked() -> None:
    for wrong in (["avx3", "true"], ["avx2"]):
        done = output(*wrong)
        assert done.returncode == 2
        assert "usage" in done.stderr


@pytest.mark.skipif(
    older_processor.is_possible() or shutil.which("objdump") is None or not peer.HERE,
    reason="CPUID can be refused here, or there is no LiteRT or objdump",
)
def test_a_copy_of_litert_asks_for_no_instructions() -> None:
    """Its own library is not read, and computes what it computes without LiteRT's vector code."""
    program = (
        "import sys; sys.path[:0] = ['tests']\n"
        "import ai_edge_litert, numpy as np\n"
        "from ai_edge_litert.interpreter import Interpreter\n"
        "from built import relu_chain\n"
        "interpreter = Interpreter(model_content=relu_chain())\n"
        "interpreter.allocate_tensors()\n"
        "interpreter.invoke()\n"
        "maps = open('/proc/self/maps').read()\n"
        "print(maps.count('libpywrap_litert_common.so') > 0, 'site-packages/ai_edge_litert/libpywrap' in maps)\n"
        "from minilite._native.kernels import level_names; import os; print(os.environ['MINILITE_ISA'])"
    )
    done = output("avx2", sys.executable, "-c", program)
    assert done.stdout.split() == ["True", "False", "avx2"], done.stderr
