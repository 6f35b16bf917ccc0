"""Outputs of a run, written as .npy files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minilite.errors import InputError

if TYPE_CHECKING:
    from minilite.format.model import Array
    from minilite.report.results import Output


def write_outputs(folder: Path, outputs: Sequence[Output]) -> list[Path]:
    """One .npy file an output, in the tensor's own type; what a file name cannot hold becomes '_', names used before get a number."""
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[Path] = []
    for output in outputs:
        stem = re.sub(r"[^\w.-]", "_", output.tensor.name)[:200].lstrip(".") or "output"
        path, number = folder / f"{stem}.npy", 1
        while path in taken:
            path, number = folder / f"{stem}_{number}.npy", number + 1
        taken.append(path)
        np.save(path, _without_objects(output.tensor.name, output.array), allow_pickle=False)
    return taken


def _without_objects(name: str, array: Array) -> Array:
    """The array as a .npy file of plain types holds it."""
    if array.dtype != object:
        return array
    if any(value.endswith(b"\0") for value in array.ravel()):
        message = f"output '{name}' has strings that end in a zero byte: a .npy file cannot hold them"
        raise InputError(message)
    return array.astype(bytes)
