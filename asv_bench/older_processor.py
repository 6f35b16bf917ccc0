"""Runs a command as on an older processor: all its libraries, LiteRT and numpy too, find no instructions above a level.

usage: python -m asv_bench.older_processor avx_vnni|avx2|sse2 COMMAND [ARGUMENT ...]

So both sides of a comparison are timed at a level that is not this machine's best, which MINILITE_ISA does for minilite
alone. What is left is this machine's own: its caches, clock and pipes. Needs Linux on x86-64, a C compiler, and a
processor that can refuse CPUID (`cpuid_fault` in /proc/cpuinfo: most of Intel's since 2012, in virtual machines too).
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from asv_bench.benchmarks import costs

LEVELS = ("avx_vnni", "avx2", "sse2")
SOURCE = Path(__file__).with_suffix(".c")


def is_possible() -> bool:
    """True if this processor and this system can refuse CPUID. Asks the system to execute CPUID, as it does anyway."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    arch_prctl, set_cpuid, executed = 158, 0x1012, 1
    return bool(ctypes.CDLL(None).syscall(arch_prctl, set_cpuid, executed) == 0)


def run(level: str, command: list[str]) -> int:
    """Runs a command. Returns its exit status, or 128 plus the number of the signal that ended it. Raises:
    NotImplementedError, with the reason; OSError."""
    with tempfile.TemporaryDirectory() as folder:
        library = costs.compiled(Path(folder), SOURCE.read_text())
        environment = {**os.environ, "OLDER_PROCESSOR": level, "LD_PRELOAD": str(library)}
        status = subprocess.run(command, env=environment, check=False).returncode
    return status if status >= 0 else 128 - status


def main() -> int:
    """Runs what the command line says."""
    if len(sys.argv) < 3 or sys.argv[1] not in LEVELS:
        print(__doc__, file=sys.stderr)
        return 2
    return run(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
