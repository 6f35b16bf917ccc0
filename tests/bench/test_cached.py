"""The command that measures a cache of packed weights: a row per model, and the memory that is shared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.system import HAS_SYSTEM

from asv_bench import cached


def test_a_row_has_shares_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "products.tflite"
    path.write_bytes(cached.products())
    monkeypatch.setattr(sys, "argv", ["cached", "--rounds", "1", str(path)])
    monkeypatch.setenv("MINILITE_CACHE_DIR", str(tmp_path))  # which is left alone
    cached.main()
    heading, _, row = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == heading.count("|") - 1
    assert cells[:2] == ["products", "33.6"]
    assert all(float(cell) >= 0 for cell in cells[2:6])
    if HAS_SYSTEM and Path("/proc/self/smaps").exists():
        assert 32 <= float(cells[6]) <= 36
        assert 16 <= float(cells[7]) <= 20
    assert list(tmp_path.iterdir()) == [path]
