"""Writes the outputs of a run as .npy files, or as one .npz."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minilite.cli.arguments import UsageError
from minilite.errors import InputError

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
        np.save(path, _without_objects(outputs[0].tensor.name, outputs[0].array), allow_pickle=False)
        return [path]
    arrays: dict[str, Array] = {}
    for output in outputs:
        stem = re.sub(r"[^\w.-]", "_", output.tensor.name)[:200].lstrip(".") or "output"
        name, number = stem, 1
        while name in arrays:
            name, number = f"{stem}_{number}", number + 1
        arrays[name] = _without_objects(output.tensor.name, output.array)
    if path.suffix == ".npz":
        import zipfile  # long to import

        with zipfile.ZipFile(
            path, "w"
        ) as archive:  # numpy's savez has arguments of its own, which a tensor may be called like
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
        return [path]
    path.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)
    return [path / f"{name}.npy" for name in arrays]


def _without_objects(name: str, array: Array) -> Array:
    """The array in a form that a .npy file without objects can hold."""
    if array.dtype != object:
        return array
    if any(value.endswith(b"\0") for value in array.ravel()):
        message = f"output '{name}' has strings that end in a zero byte: a .npy file cannot hold them"
        raise InputError(message)
    return array.astype(bytes)
