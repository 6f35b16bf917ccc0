"""Programs from PyPI, unmodified, give the same results on minilite and on LiteRT. `.ci/programs` installs them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clients.drive import CLIENTS

HERE = Path(__file__).resolve().parent
BOUNDS = {"basic-pitch": 5e-3, "ai-edge-quantizer": 1e-3}
"""The largest difference of results, as a share of the largest one: a logistic after logarithms of very small numbers
amplifies the last bits, and errors of quantization depend on the kernels' rounding."""


def findings(client: str, runtime: str, folder: Path) -> dict[str, np.ndarray]:
    out = folder / f"{runtime}.npz"
    command = [sys.executable, str(HERE / "drive.py"), client, runtime, str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    with np.load(out) as found:
        return dict(found)


@pytest.mark.parametrize("client", CLIENTS)
def test_program_finds_the_same(client: str, tmp_path: Path) -> None:
    package = CLIENTS[client][0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{client} is not installed")
    ours, theirs = findings(client, "minilite", tmp_path), findings(client, "litert", tmp_path)
    assert ours.keys() == theirs.keys()
    for name, found in theirs.items():
        if not found.size:  # what LiteRT refuses
            assert ours[name].size
            assert np.isfinite(ours[name]).all()
            continue
        assert ours[name].shape == found.shape, name
        scale = max(1e-3, float(np.abs(found).max()))
        assert np.abs(ours[name] - found).max() <= BOUNDS.get(client, 1e-4) * scale, name
        assert np.ptp(found) > 0, f"{name}: nothing was found"
