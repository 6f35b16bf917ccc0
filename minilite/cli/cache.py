"""minilite cache: lists, verifies and removes files of packed weights."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minilite._native import packed
from minilite._native.file import map_file
from minilite.cli import arguments
from minilite.cli.arguments import UsageError
from minilite.cli.output import print_json, width
from minilite.errors import InputError, ModelFormatError
from minilite.format.bundle import parts_of
from minilite.terminal import say
from minilite.text import bytes_text, count, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minilite._native.packed import Head

_VARIABLE = "MINILITE_CACHE_DIR"


class _Found(NamedTuple):
    """A file of packed weights."""

    path: Path
    bytes: int
    model: str
    weights: int
    state: str
    """``serves``, or the reason why it does not."""
    damage: str
    """The first fault, or an empty text."""


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "cache",
        help="list, verify or remove files of packed weights",
        description="List the files of packed weights in a folder: what `cache_dir=` and MINILITE_CACHE_DIR keep.",
    )
    parser.add_argument("--dir", metavar="FOLDER", help="the folder (default: the one in MINILITE_CACHE_DIR)")
    parser.add_argument("--list", action="store_true", help="name each file, its model, and if it serves (the default)")
    parser.add_argument("--verify", action="store_true", help="the same, after reading every byte; status 1 for damage")
    parser.add_argument("--clear", action="store_true", help="remove all files of packed weights in the folder")
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Lists or removes; returns 1 if a file is damaged."""
    name = options.dir or os.environ.get(_VARIABLE)
    if not name:
        message = f"cache takes a folder: --dir FOLDER, or the environment variable {_VARIABLE}, which is not set"
        raise UsageError(message)
    folder = Path(name)
    if not folder.is_dir():
        message = f"{name!r} is not a folder: packed weights are kept in one"
        raise InputError(message)
    if options.list + options.verify + options.clear > 1:
        message = "cache takes one of --list, --verify and --clear: they do different things"
        raise UsageError(message)
    if options.clear:
        return _clear(folder, options.json)
    found = [_look(path, every_byte=options.verify) for path in sorted(folder.glob("*.packed"))]
    if options.json:
        print_json({"folder": str(folder), "files": [_facts(one) for one in found]})
    else:
        _print(folder, found)
    return int(any(one.damage for one in found))


def _clear(folder: Path, as_json: bool) -> int:
    """Removes files, and parts of files whose writers were ended. Processes that use one keep it until they end.

    Raises: OSError for the first one that the system keeps, once the others are removed."""
    sizes: list[int] = []
    refused: list[OSError] = []
    for path in [*folder.glob("*.packed"), *folder.glob(".*.packed.*")]:
        try:
            size = path.stat().st_size
            path.unlink()
            sizes.append(size)
        except FileNotFoundError:  # its writer has just given it its name, or somebody else removed it
            continue
        except OSError as error:
            refused.append(error)
    if as_json:
        print_json({"folder": str(folder), "removed": len(sizes), "bytes": sum(sizes)})
    else:
        say(wrapped(f"{folder}: removed {count(len(sizes), 'file')} of {bytes_text(sum(sizes))}", None))
    if refused:
        raise refused[0]
    return 0


def _look(path: Path, *, every_byte: bool) -> _Found:
    data, _ = map_file(path, any_kind=True)
    head: Head | None = None
    model = damage = ""
    try:
        head, model = packed.head_of(data)
        if head.is_of_this_build:  # others may be of another form
            packed.check(data, every_byte=every_byte)
    except ModelFormatError as error:
        damage = str(error)
    return _Found(path, len(data), model, head.rows if head else 0, _state(path, head, model, damage), damage)


def _state(path: Path, head: Head | None, model: str, damage: str) -> str:
    if head is None or damage:
        return damage
    if not head.is_of_this_build:
        return "of another version of minilite"
    try:
        about = Path(parts_of(model)[0]).stat()
    except (OSError, ValueError):
        return "the model is gone"
    if path.name != packed.file_name(model):
        return "of another path"
    same = (about.st_size, about.st_mtime_ns) == (head.model_bytes, head.modified)
    return "serves" if same else "the model has changed"


def _facts(one: _Found) -> dict[str, Any]:
    return {
        "file": one.path.name,
        "bytes": one.bytes,
        "model": one.model,
        "weights": one.weights,
        "state": one.state,
        "damaged": bool(one.damage),
    }


def _print(folder: Path, found: Sequence[_Found]) -> None:
    size = sum(one.bytes for one in found)
    say(wrapped(f"{folder}: {count(len(found), 'file')} of packed weights, {bytes_text(size)}", None))
    if found:
        rows = [(one.path.name, bytes_text(one.bytes), one.weights, Path(one.model).name, one.state) for one in found]
        say(table(("file", "size", "weights", "model", ""), rows, width=width()))
