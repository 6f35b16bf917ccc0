"""Tells a core with an operating system from one with ISO C alone (ML_OS=plain), and marks tests that need one."""

from __future__ import annotations

import os
import sys

import pytest

from minilite._core import lib
from minilite._native import owned


def _maps_files() -> bool:
    descriptor = os.open(__file__, os.O_RDONLY)
    try:
        mapping = owned.empty("ml_mapping *", lib.ml_os_unmap_file)
        return bool(lib.ml_os_map_file(mapping, descriptor, os.fstat(descriptor).st_size))
    finally:
        os.close(descriptor)


needs_reserved = pytest.mark.skipif(
    sys.maxsize < 1 << 32, reason="32 bits of addresses are too few to reserve some for each arena, which then moves"
)
HAS_SYSTEM = _maps_files()
needs_system = pytest.mark.skipif(
    not HAS_SYSTEM, reason="csrc/os/plain.c maps no files, and neither reserves memory nor gives it back"
)
