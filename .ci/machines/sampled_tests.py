"""A pytest plugin (-p sampled_tests): runs a sample of the tests in the largest folders, and all tests of the others.

ML_SEED draws another sample. Which tests are in it depends on their names alone, so all processes of a run agree.
"""

from __future__ import annotations

import os
import zlib

import pytest

FOLDERS, SHARE = ("ops", "simd", "conformance"), 20
"""The folders of which a sample is run: one test in so many."""
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
