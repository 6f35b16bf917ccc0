"""Writes the outputs of a run as .npy files, or as one .npz."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minilite.cli.arguments import UsageError
from minilite.writing import npz_bytes, without_objects, write_whole

if TYPE_CHECKING:
    from minilite.format.model import Array
    from minilite.report.results import Output


def check_target(path: Path, outputs: int) -> None:
    """Refuses targets that cannot be written, before anything runs. Raises: UsageError."""
    if path.suffix == ".npy" and outputs != 1:
        message = f"--out {path} is one array, the model has {outputs} outputs: give a folder or a .npz"
    elif path.suffix in (".npy", ".npz"):
        if path.parent.is_dir() and not path.is_dir():
            return
        message = (
            f"--out {path}: is a folder" if path.is_dir() else f"--out {path}: there is no folder {str(path.parent)!r}"
        )
    elif path.exists() and not path.is_dir():
        message = f"--out {path}: is a file, must be a folder, a .npy or a .npz"
    else:
        return
    raise UsageError(message)


def write_outputs(path: Path, outputs: Sequence[Output]) -> list[Path]:
    """Writes a .npy of the only output, a .npz of all, or one .npy per output in a folder; in the tensors' own types.

    Characters that a file name cannot have become '_'; repeated names get a number."""
    if path.suffix == ".npy":
        np.save(path, without_objects(outputs[0].tensor.name, outputs[0].array), allow_pickle=False)
        return [path]
    arrays: dict[str, Array] = {}
    for output in outputs:
        stem = re.sub(r"[^\w.-]", "_", output.tensor.name)[:200].lstrip(".") or "output"
        name, number = stem, 1
        while name in arrays:
            name, number = f"{stem}_{number}", number + 1
        arrays[name] = without_objects(output.tensor.name, output.array)
    if path.suffix == ".npz":
        write_whole(path, npz_bytes(arrays))
        return [path]
    path.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)
    return [path / f"{name}.npy" for name in arrays]
