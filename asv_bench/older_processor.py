"""Runs a command as on an older processor: all its libraries, LiteRT and numpy too, find no instructions above a level.

usage: python -m asv_bench.older_processor avx_vnni|avx2|sse2 COMMAND [ARGUMENT ...]

So both sides of a comparison are timed at a level that is not this machine's best, which MINILITE_ISA does for minilite
alone. What is left is this machine's own: its caches, clock and pipes. Needs Linux on x86-64 and a C compiler. Where
the processor cannot refuse CPUID (most of Intel's since 2012 can, `cpuid_fault` in /proc/cpuinfo), a copy of LiteRT is
used in which another instruction takes its place, and MINILITE_ISA is set; this needs objdump.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import shutil
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


def _without_cpuid(library: Path) -> None:
    """Replaces each CPUID of a library by UD2. Raises: OSError, subprocess.CalledProcessError."""
    listing = subprocess.run(
        ["objdump", "-hd", "-j", ".text", library], capture_output=True, text=True, check=True
    ).stdout
    section = re.search(r" \.text +[0-9a-f]+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", listing)
    data = bytearray(library.read_bytes())
    for at in re.findall(r"^ *([0-9a-f]+):\s+0f a2 +\s*cpuid", listing, re.MULTILINE):
        start = int(at, 16) - int(section[1], 16) + int(section[2], 16) if section else 0
        data[start : start + 2] = b"\x0f\x0b"
    library.write_bytes(data)


def _copy_of_litert(folder: Path) -> dict[str, str]:
    """Copies LiteRT's package, and returns the environment in which that copy is imported. Raises:
    NotImplementedError."""
    found = importlib.util.find_spec("ai_edge_litert")
    if shutil.which("objdump") is None or found is None or not found.submodule_search_locations:
        message = "this processor or system does not refuse CPUID, and there is no objdump or no LiteRT to copy"
        raise NotImplementedError(message)
    shutil.copytree(found.submodule_search_locations[0], folder / "ai_edge_litert")
    for library in (folder / "ai_edge_litert").glob("libpywrap_*.so"):
        _without_cpuid(library)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"OLDER_PROCESSOR_UD2": "1", "PYTHONPATH": os.pathsep.join(paths)}


def run(level: str, command: list[str]) -> int:
    """Runs a command. Returns its exit status, or 128 plus the number of the signal that ended it. Raises:
    NotImplementedError, with the reason; OSError."""
    with tempfile.TemporaryDirectory() as folder:
        library = costs.compiled(Path(folder), SOURCE.read_text())
        environment = {**os.environ, "OLDER_PROCESSOR": level, "LD_PRELOAD": str(library)}
        if not is_possible():
            environment |= {"MINILITE_ISA": level, **_copy_of_litert(Path(folder))}
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
