"""Usage records as numpy arrays, a column for each field: checked, joined in place, and cut by memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minilite._native.memory import UNPLACED
from minilite.errors import InputError
from minilite.memory.records import FARTHEST, FOREVER, MAX_ALIGNMENT
from minilite.numeric import whole

IntArray = np.ndarray[Any, np.dtype[Any]]


class Columns(NamedTuple):
    """Checked columns of as many entries each; None where there is nothing to say."""

    sizes: IntArray
    first: IntArray
    last: IntArray
    alignment: int
    """All offsets are multiples of it."""
    alignments: IntArray | None = None
    """Multiples of `alignment` by record."""
    offsets: IntArray | None = None
    memory: IntArray | None = None
    pairs: IntArray | None = None
    """Rows of two records, of which the second takes over the place of the first."""

    def only(self, members: IntArray) -> Columns:
        """The records at these positions, without pairs."""
        cut = (None if column is None else column[members] for column in (*self[:3], *self[4:7]))
        sizes, first, last, alignments, offsets, memory = cut
        assert sizes is not None
        assert first is not None
        assert last is not None
        return Columns(sizes, first, last, self.alignment, alignments, offsets, memory)


def column(name: str, values: Any, count: int | None = None, *, least: int = 0, most: int = FARTHEST) -> IntArray:
    """An array of integers, checked. Raises: InputError, InputTypeError with the index."""
    array = np.asarray(values)
    if array.ndim != 1:
        message = f"{name} has {array.ndim} dimensions, must have one: an entry for each record"
        raise InputError(message)
    if array.dtype.kind not in "iu":
        array = _whole_numbers(name, array.tolist())
    if count is not None and len(array) != count:
        message = f"{name} has {len(array)} entries, sizes has {count}: record {min(len(array), count)} is in one only"
        raise InputError(message)
    wrong = (array < least) | (array > most)
    if wrong.any():
        at = int(wrong.argmax())
        message = f"record {at}: {name} {int(array[at])}, must be from {least} to {most}"
        raise InputError(message)
    return array.astype(np.int64, copy=False)


def _whole_numbers(name: str, values: list[Any]) -> IntArray:
    """Entries of an array that numpy has not made one of integers: because one of them is none, or does not fit."""
    return np.array([whole(f"{name}[{at}]", value) for at, value in enumerate(values)], np.int64)


def lives(sizes: Any, first: Any, last: Any) -> tuple[IntArray, IntArray, IntArray]:
    """The columns that every record has. Raises: InputError with the index."""
    sizes = column("sizes", sizes)
    first = column("first", first, len(sizes), most=FOREVER)
    last = column("last", last, len(sizes), most=FOREVER)
    backwards = last < first
    if backwards.any():
        at = int(backwards.argmax())
        message = f"record {at}: last node {int(last[at])} lies before first node {int(first[at])}"
        raise InputError(message)
    return sizes, first, last


def steps(alignment: Any, count: int) -> tuple[int, IntArray | None]:
    """The alignment of all records, and that of each if they differ. Raises: InputError with the index."""
    if np.ndim(alignment) == 0:
        step, array = whole("alignment", alignment, least=1, most=FARTHEST), None
        wrong, which = not _is_step(step), ""
    else:
        array = column("alignment", alignment, count)
        unfit = ~_is_step(array)
        wrong = bool(unfit.any())
        at = int(unfit.argmax()) if wrong else 0
        step, which = (int(array[at]) if count else 1), f"record {at}: "
    if wrong:
        message = f"{which}alignment {step}, must be a power of two from 1 to {MAX_ALIGNMENT}"
        raise InputError(message)
    if array is None or count == 0 or array.min() == array.max():
        return step, None
    return int(array.min()), array.astype(np.int32)


def _is_step(number: Any) -> Any:
    return (number >= 1) & (number <= MAX_ALIGNMENT) & (number & (number - 1) == 0)


def checked(sizes: Any, first: Any, last: Any, *, alignment: Any, offsets: Any, memory: Any, in_place: Any) -> Columns:
    """All columns of a problem. Raises: InputError with the index."""
    sizes, first, last = lives(sizes, first, last)
    count = len(sizes)
    step, alignments = steps(alignment, count)
    made = Columns(sizes, first, last, step, alignments)
    if offsets is not None:
        made = made._replace(offsets=_fixed_places(made, column("offsets", offsets, count, least=UNPLACED)))
    if memory is not None:
        made = made._replace(memory=column("memory", memory, count, least=-FOREVER, most=FOREVER))
    if in_place is not None and np.size(in_place):
        made = made._replace(pairs=_checked_pairs(made, in_place))
    return made


def _fixed_places(rows: Columns, offsets: IntArray) -> IntArray:
    step = rows.alignment if rows.alignments is None else rows.alignments
    wrong = (offsets != UNPLACED) & (offsets % step != 0)
    if wrong.any():
        at = int(wrong.argmax())
        needed = step if isinstance(step, int) else int(step[at])
        message = f"record {at}: fixed offset {int(offsets[at])}, must be a multiple of the alignment, {needed}"
        raise InputError(message)
    beyond = offsets > FARTHEST - rows.sizes
    if beyond.any():
        at = int(beyond.argmax())
        end = int(offsets[at]) + int(rows.sizes[at])
        message = f"record {at}: fixed offset {int(offsets[at])}: it ends at {end}, beyond {FARTHEST}"
        raise InputError(message)
    return offsets


def _checked_pairs(rows: Columns, in_place: Any) -> IntArray:
    """Rows of two records that can lie in one place, each of which is in one pair at most as the first, and in one as
    the second. Raises: InputError with the index of the pair."""
    pairs = np.asarray(in_place)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        message = f"in_place is an array of {pairs.dtype}, shape {pairs.shape}, must be of integers, shape (pairs, 2)"
        raise InputError(message)
    count = len(rows.sizes)
    outside = (pairs.min(axis=1) < 0) | (pairs.max(axis=1) >= count)
    _refuse_pair(outside, pairs, f"there are records 0 to {count - 1}")
    pairs = pairs.astype(np.int64)
    read, written = pairs.T
    for side, name in ((read, "is taken over"), (written, "takes over")):
        again = np.ones(len(pairs), bool)
        again[np.unique(side, return_index=True)[1]] = False
        _refuse_pair(again, pairs, f"its record {name} a place in an earlier pair already")
    _refuse_pair(rows.last[read] != rows.first[written], pairs, "the second must begin at the last node of the first")
    if rows.memory is not None:
        _refuse_pair(rows.memory[read] != rows.memory[written], pairs, "both must lie in one memory")
    both = np.isin(read, written) & (rows.first[read] == rows.last[read])
    _refuse_pair(both, pairs, "the first takes over a place at the same node")
    return pairs


def _refuse_pair(wrong: IntArray, pairs: IntArray, rule: str) -> None:
    if wrong.any():
        at = int(wrong.argmax())
        message = f"in_place, pair {at}: records {int(pairs[at, 0])} and {int(pairs[at, 1])}: {rule}"
        raise InputError(message)


class Joined(NamedTuple):
    """Each place that records take over from one another as one record."""

    rows: Columns
    records: IntArray | None
    """The record that has the place first, for each row. None if rows are records."""
    rows_of: IntArray | None
    """The row of each record."""


def joined(rows: Columns) -> Joined:
    """Joins pairs. Raises: InputError if they are fixed at different offsets."""
    if rows.pairs is None:
        return Joined(rows, None, None)
    root = np.arange(len(rows.sizes))
    root[rows.pairs[:, 1]] = rows.pairs[:, 0]
    while not np.array_equal(further := root[root], root):
        root = further
    sizes, last = rows.sizes.copy(), rows.last.copy()
    np.maximum.at(sizes, root, rows.sizes)
    np.maximum.at(last, root, rows.last)
    alignments, offsets = rows.alignments, rows.offsets
    if alignments is not None:
        alignments = alignments.copy()
        np.maximum.at(alignments, root, alignments.copy())
    if offsets is not None:
        offsets = offsets.copy()
        np.maximum.at(offsets, root, offsets.copy())
        _refuse_moved(rows, offsets[root])
    kept = np.flatnonzero(root == np.arange(len(root)))
    whole_rows = rows._replace(sizes=sizes, last=last, alignments=alignments, offsets=offsets)
    return Joined(whole_rows.only(kept), kept, np.searchsorted(kept, root))


def _refuse_moved(rows: Columns, places: IntArray) -> None:
    assert rows.offsets is not None
    wrong = (rows.offsets != UNPLACED) & (rows.offsets != places)
    if wrong.any():
        at = int(wrong.argmax())
        other = f"another record of its place is fixed at {int(places[at])}"
        message = f"record {at}: fixed offset {int(rows.offsets[at])}, {other}"
        raise InputError(message)


def by_memory(rows: Columns) -> Iterator[tuple[int, IntArray | None]]:
    """The number of each memory, and the positions of its records; None for all."""
    if rows.memory is None:
        yield 0, None
        return
    order = np.argsort(rows.memory, kind="stable")
    numbers, starts = np.unique(rows.memory[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)


def halves(rows: Columns) -> tuple[IntArray, IntArray]:
    """First and last halves of nodes in which records are live: of a node at which one record takes over from another,
    either has one half."""
    first, last = 2 * rows.first, 2 * rows.last + 1
    if rows.pairs is not None:
        last[rows.pairs[:, 0]] -= 1
        first[rows.pairs[:, 1]] += 1
    return first, last


def bound(rows: Columns) -> int:
    """The largest sum of sizes, rounded up to the alignment, that are live at once; no less than the end of every fixed
    record. O(n log n)."""
    if len(rows.sizes) == 0:
        return 0
    sizes = rows.sizes + np.int64(rows.alignment - 1)
    sizes &= -rows.alignment
    order = np.argsort(rows.first, kind="stable")
    begin, came = rows.first[order], np.cumsum(sizes[order])
    order = np.argsort(rows.last, kind="stable")
    gone = np.concatenate(([0], np.cumsum(sizes[order])))
    came -= gone[np.searchsorted(rows.last[order], begin)]
    most = int(came.max())
    if rows.offsets is not None:
        fixed = np.flatnonzero((rows.offsets != UNPLACED) & (rows.sizes > 0))
        ends = rows.offsets[fixed] - rows.offsets[fixed] % rows.alignment + sizes[fixed]
        most = max(most, int(ends.max(initial=0)))
    return most
