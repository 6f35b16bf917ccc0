"""Names the machine, the version and the moment, for the head of a report."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path


def made_by(level: str, threads: int) -> str:
    """``minilite 0.19.0, level avx2, 1 thread, AMD EPYC 7B13 (Linux x86_64), 2026-11-29 08:30 UTC``."""
    from minilite import __version__

    now = datetime.datetime.now(datetime.timezone.utc)
    count = f"{threads} thread{'s' if threads != 1 else ''}"
    return f"minilite {__version__}, level {level}, {count}, {machine()}, {now:%Y-%m-%d %H:%M} UTC"


def machine() -> str:
    """The processor's name, where the system tells it, and the system."""
    system = f"{platform.system()} {platform.machine()}".strip()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    name = next(filter(None, names), platform.processor())
    return f"{' '.join(name.split())} ({system})" if name and name != platform.machine() else system
