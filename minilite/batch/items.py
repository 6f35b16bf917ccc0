"""Items: the rows of files and folders, listed before anything is read, then read one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.batch.parquet import Table
from minilite.errors import InputError, listed, shortened
from minilite.inputs import Feed, fitting, load_archive, load_input, map_array, read_input, read_source
from minilite.inputs.foreign import foreign
from minilite.inputs.reading import Window, windows
from minilite.inputs.sound import HEADER_BYTES, takes_windows, window_starts
from minilite.inputs.wav import is_wav

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.format.model import Array

Shape = tuple[int, ...]


class Source(NamedTuple):
    """A file of rows."""

    path: str
    rows: int | None
    """None if the whole file is one row."""


class Item(NamedTuple):
    """One row."""

    path: str
    row: int | None
    """The number of the row in the file, from 0; None if the file is the row."""

    def __str__(self) -> str:
        return self.path if self.row is None else f"{self.path}, row {self.row}"


class Taken(NamedTuple):
    """The inputs that a model takes from each row."""

    feeds: Mapping[str, Feed]
    """The feed of each input, by name."""
    constants: Mapping[str, Array]
    """Inputs that have the same value in each row."""
    batched: bool
    """True if inputs begin with a batch of 1, which rows do not have."""
    hop: float | None = None
    """The seconds from one window of a long sound to the next; None for windows without a gap."""

    def rank(self, name: str) -> int:
        """Returns the number of dimensions that a row of an input has."""
        return len(self.feeds[name].shape) - self.batched

    def rows_of(self, array: Array, name: str, path: str) -> int:
        """Counts the rows that an array has for an input. Raises: InputError."""
        rank = self.rank(name)
        if array.ndim in (rank, rank + 1):
            return array.shape[0] if array.ndim == rank + 1 else 1
        message = f"{path} is of shape {array.shape}, rows of {self.feeds[name].label()} have {rank} dimensions"
        raise InputError(message)


SKIPPING = "--on-error skip writes such a row with its error and goes on"


def sources_of(paths: Sequence[str], taken: Taken, *, skips: bool = False) -> list[Source]:
    """Returns the files of folders, in order of their names, and files as given. With `skips`, a table that cannot be
    read counts as one row, which will fail. Raises: InputError."""
    found = [Source(path, _rows_in(path, taken, skips=skips)) for given in paths for path in _files(given)]
    alone = next((source.path for source in found if source.rows is None), None)
    if len(taken.feeds) > 1 and alone is not None:
        names = ", ".join(f"'{shortened(name)}'" for name in taken.feeds)
        message = f"{alone}: a file is the value of one input, the model takes {names}: give .npz or Parquet files, or --set inputs that are the same for all rows"
        raise InputError(message)
    return found


def _files(given: str) -> list[str]:
    path = Path(given)
    if not path.is_dir():
        return [given]
    below = (each for each in path.rglob("*") if each.is_file())
    found = sorted(
        str(each) for each in below if not any(part.startswith(".") for part in each.relative_to(path).parts)
    )
    if not found:
        message = f"{given} has no files"
        raise InputError(message)
    return found


def _rows_in(path: str, taken: Taken, *, skips: bool) -> int | None:
    """Counts the rows of a table, None for other files. Only the suffix tells them apart, so that a million images are
    listed without being opened."""
    suffix = Path(path).suffix.lower()
    if suffix == ".wav" and len(taken.feeds) == 1:
        return _windows_in(path, next(iter(taken.feeds.values())), taken.hop)
    if suffix not in (".npy", ".npz", ".parquet") or (suffix == ".npy" and len(taken.feeds) > 1):
        if not Path(path).exists():
            read_source(path)
        return None
    try:
        return len(_opened(path, taken, ()))
    except InputError as error:
        if not Path(path).exists():
            raise
        if skips:
            return 1
        message = f"{error}; {SKIPPING}"
        raise InputError(message) from None


def _windows_in(path: str, feed: Feed, hop: float | None) -> int | None:
    """Counts the windows of a sound that is longer than the input; None for other sound, and if it cannot be read,
    which shows when it is. Raises: InputError if there is no such file."""
    if not Path(path).exists():
        read_source(path)
    if not takes_windows(feed):
        return None
    try:
        found = len(_starts(path, feed, hop))
    except (InputError, OSError):
        return None
    return found if found > 1 else None


def _starts(path: str, feed: Feed, hop: float | None) -> list[float]:
    """Returns the starts of the windows of a sound in seconds. Raises: InputError, OSError."""
    with Path(path).open("rb") as file:
        data, size = file.read(HEADER_BYTES), Path(path).stat().st_size
        if not is_wav(data):
            return [0.0]
        try:
            return window_starts(data, path, feed, hop, size)
        except InputError:  # the samples may begin further on
            return window_starts(data + file.read(), path, feed, hop)


def is_sound_file(path: str) -> bool:
    """True for a path whose rows are windows of a sound."""
    return Path(path).suffix.lower() == ".wav"


class _Arrays:
    """The arrays of a .npy or .npz file as columns."""

    def __init__(self, path: str, columns: Mapping[str, Array], taken: Taken) -> None:
        counts = {name: taken.rows_of(columns[name], name, path) for name in taken.feeds if name in columns}
        lacking = [name for name in taken.feeds if name not in columns]
        if lacking:
            message = f"{path} has no array '{shortened(lacking[0])}': it has {listed(columns)}"
            raise InputError(message)
        if len(set(counts.values())) > 1:
            message = f"{path} has arrays of unequal length: {counts}"
            raise InputError(message)
        self._rows = next(iter(counts.values()), 0)
        self._columns = {
            name: array if name not in taken.feeds or array.ndim > taken.rank(name) else array[None]
            for name, array in columns.items()
        }
        self._path = path

    def __len__(self) -> int:
        return self._rows

    def cell(self, name: str, row: int) -> Any:
        """Returns the value of one column in one row. Raises: InputError."""
        if name not in self._columns or len(self._columns[name]) != self._rows:
            message = f"{self._path} has no column '{shortened(name)}' of {self._rows} rows"
            raise InputError(message)
        return self._columns[name][row]


def _opened(path: str, taken: Taken, kept: Sequence[str]) -> _Arrays | Table:
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        return Table(path, list(taken.feeds), kept)
    if suffix == ".npy":
        return _Arrays(path, {name: map_array(path) for name in taken.feeds}, taken)
    arrays = load_archive(read_source(path), path)
    if len(arrays) == 1 == len(taken.feeds):
        arrays = dict(zip(taken.feeds, arrays.values(), strict=True))
    return _Arrays(path, arrays, taken)


class Reader:
    """Reads items; a table stays open while its rows are read."""

    def __init__(self, taken: Taken, kept: Sequence[str], base: str) -> None:
        """Takes `kept`, the columns of tables that are copied to the output. Paths are relative to `base`."""
        self._taken, self._kept = taken, kept
        self._base = base if base != str(Path.cwd()) else ""  # messages name files as they were given
        self._open: tuple[str, _Arrays | Table] | None = None
        self._heard: tuple[str, list[Window]] | None = None

    def cell(self, item: Item, name: str) -> Any:
        """Returns the value of a table's column. Raises: InputError."""
        if item.row is None or is_sound_file(item.path):
            message = f"{item.path} is no table, and has no column '{shortened(name)}'"
            raise InputError(message)
        if self._open is None or self._open[0] != item.path:
            self._open = item.path, _opened(str(Path(self._base, item.path)), self._taken, self._kept)
        return self._open[1].cell(name, item.row)

    def start(self, item: Item) -> float:
        """Returns the first second of an item in its sound; NaN for other items."""
        if item.row is None or not is_sound_file(item.path):
            return 0.0 if is_sound_file(item.path) else math.nan
        feed = next(iter(self._taken.feeds.values()))
        return _starts(str(Path(self._base, item.path)), feed, self._taken.hop)[item.row]

    def _window(self, item: Item, feed: Feed) -> Window:
        if self._heard is None or self._heard[0] != item.path:
            self._heard = item.path, windows(Path(self._base, item.path), feed, self._taken.hop)
        assert item.row is not None
        return self._heard[1][item.row]

    def value(self, item: Item, name: str) -> Array:
        """Returns the array for one input of one item. Raises: InputError."""
        if name in self._taken.constants:
            return self._taken.constants[name]
        feed = self._taken.feeds[name]
        if item.row is None:
            return load_input(Path(self._base, item.path), feed).array
        if is_sound_file(item.path):
            return self._window(item, feed).reading.array
        cell = self.cell(item, name)
        if isinstance(cell, dict) and "bytes" in cell:  # data sets of images often have such cells
            cell = cell["bytes"]
        if isinstance(cell, (bytes, bytearray)) and feed.tensor.type.name != "STRING":
            return read_input(bytes(cell), str(item), feed).array
        with foreign(f"{item}, column '{shortened(name)}', is no array"):
            array = np.asarray(cell, object) if isinstance(cell, (str, bytes)) else np.asarray(cell)
        return fitting(self._shaped(array, name), str(item), feed).array

    def _shaped(self, array: Array, name: str) -> Array:
        """Gives the array the input's shape if the table has it as one list."""
        shape = tuple(self._taken.feeds[name].shape)[self._taken.batched :]
        if array.ndim == 1 != len(shape) and min(shape, default=1) >= 0 and array.size == np.prod(shape, dtype=int):
            return array.reshape(shape)
        return array


class Column(Sequence[Any]):
    """The values of one input, read lazily, one per item."""

    def __init__(self, reader: Reader, items: Sequence[Item], name: str) -> None:
        self._reader, self._items, self._name = reader, items, name

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: Any) -> Any:
        return self._reader.value(self._items[number], self._name)
