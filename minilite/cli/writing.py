"""Writes the outputs of a run as .npy files, or as one .npz."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.cli.arguments import UsageError
from minilite.inputs.drawing import save_pixels
from minilite.report.pictures import picture_of
from minilite.text import cut, shape_text
from minilite.writing import npz_bytes, without_objects, write_whole

if TYPE_CHECKING:
    from minilite.report.results import Output


PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
"""The suffixes of pictures that --out writes."""


def no_file_at(path: Path) -> str:
    """Says why no file can be written there; an empty text if one can."""
    if path.is_dir():
        return "is a folder"
    return "" if path.parent.is_dir() else f"there is no folder {str(path.parent)!r}"


def check_target(path: Path, outputs: int) -> None:
    """Refuses targets that cannot be written, before anything runs. Raises: UsageError."""
    if path.suffix.lower() in PICTURES:
        wrong = no_file_at(path)
        if not wrong:
            return
        message = f"--out {path}: {wrong}"
    elif path.suffix == ".npy" and outputs != 1:
        message = f"--out {path} is one array, the model has {outputs} outputs: give a folder or a .npz"
    elif path.suffix in (".npy", ".npz"):
        wrong = no_file_at(path)
        if not wrong:
            return
        message = f"--out {path}: {wrong}"
    elif path.exists() and not path.is_dir():
        message = f"--out {path}: is a file, must be a folder, a .npy, a .npz or a picture such as .png"
    else:
        return
    raise UsageError(message)


def check_apart(written: Mapping[str, Sequence[Path]], read: Iterable[str]) -> None:
    """Refuses options that would write to one file, or over a file that is read. Raises: UsageError."""
    taken = {_identity(Path(path)): path for path in read}
    for option, paths in written.items():
        here = {_identity(path): f"{option} {path}" for path in paths if not path.is_dir()}
        for identity, told in here.items():
            if identity in taken:
                message = f"{told}: would be written over {taken[identity]}: give another file"
                raise UsageError(message)
        taken |= here


def _identity(path: Path) -> Any:
    """Returns a value that is equal for two paths of one file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return str(path.absolute())
    return found.st_dev, found.st_ino


def distinct(names: Iterable[str]) -> list[str]:
    """Returns the names with a number after repeated ones; names that differ only in capitals are repeated, because
    some file systems take them for the same."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        one, number = name, 1
        while one.casefold() in taken:
            one, number = f"{name}_{number}", number + 1
        found.append(one)
        taken.add(one.casefold())
    return found


def write_outputs(path: Path, outputs: Sequence[Output]) -> list[Path]:
    """Writes a .npy of the only output, a .npz of all, or one .npy per output in a folder; in the tensors' own types.

    A picture (.png and others) is made of the outputs that are images, masks or maps of classes; of several, each name
    is added to the path. Characters that a file name cannot have become '_'; repeated names get a number."""
    if path.suffix.lower() in PICTURES:
        return _write_pictures(path, outputs)
    if path.suffix == ".npy":
        np.save(path, without_objects(outputs[0].tensor.name, outputs[0].array), allow_pickle=False)
        return [path]
    stems = map(_stem, outputs)
    arrays = {
        name: without_objects(output.tensor.name, output.array)
        for name, output in zip(distinct(stems), outputs, strict=True)
    }
    if path.suffix == ".npz":
        write_whole(path, npz_bytes(arrays))
        return [path]
    path.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)
    return [path / f"{name}.npy" for name in arrays]


def _stem(output: Output) -> str:
    return re.sub(r"[^\w.-]", "_", output.tensor.name)[:200].lstrip(".") or "output"


def _write_pictures(path: Path, outputs: Sequence[Output]) -> list[Path]:
    """Raises: UsageError if no output is a picture."""
    found = [(output, picture) for output in outputs if (picture := picture_of(output)) is not None]
    if not found:
        shapes = ", ".join(f"'{cut(output.tensor.name)}' {shape_text(output.array.shape)}" for output in outputs)
        message = f"--out {path}: no output is an image, a mask or a map of classes: {shapes}; give a .npy or .npz"
        raise UsageError(message)
    names = distinct(_stem(output) for output, _ in found)
    written = []
    for name, (_, picture) in zip(names, found, strict=True):
        target = path if len(found) == 1 else path.with_stem(f"{path.stem}_{name}")
        save_pixels(picture.pixels, picture.palette(), target)
        written.append(target)
    return written
