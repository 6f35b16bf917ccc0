"""A pytest plugin: of the folders with most tests a sample is run (-p sampled_tests), of all others every test.

ML_SEED draws another sample. Which tests are in it depends on their names alone, so all processes of a run agree.
"""

from __future__ import annotations

import os
import zlib

import pytest

FOLDERS, SHARE = ("ops", "simd", "conformance"), 20
"""One of so many tests of these."""
SEED = os.environ.get("ML_SEED", "")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not drawn."""
    out = {
        item.nodeid
        for item in items
        if item.path.parent.name in FOLDERS and zlib.crc32(f"{SEED}{item.nodeid}".encode()) % SHARE
    }
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]
