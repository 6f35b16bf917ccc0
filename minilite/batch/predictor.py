"""Predictor: a model as a function of columns, which can be pickled and called from any thread."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minilite import options
from minilite.batch.check import check
from minilite.batch.columns import Row, checked_columns, failed_row, objects, passed_through, row_of, stacked
from minilite.batch.entry import Entry, Runner
from minilite.batch.rebatched import rebatched
from minilite.batch.sizing import LARGEST, best_batch
from minilite.engine.engine import engine_of
from minilite.engine.float_values import floats
from minilite.errors import InputError, MiniliteError, ShapeError, listed
from minilite.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite.batch.entry import Shape
    from minilite.format.model import Array

_Key = tuple[tuple[str, "Shape"], ...]
"""The shapes of a row's arrays by input: rows with equal keys can form a batch."""


class Predictor:
    """A model as a function of columns: ``predictor({"image": [a, b, c]})`` gives a column per output.

    A row of a column is an input without its batch dimension, or a whole input where the model has none. Rows may
    differ in shape; each gives what a run of its own on a new interpreter gives. Columns that are not inputs are
    returned unchanged. It can be called from several threads, each of which gets an interpreter of its own, and
    pickled: from a path, the pickle holds the path and the options.

    `model` is a path, bytes or a Model; `signature` its key, None for the only one. `batch` is how many rows of equal
    shape run together: "auto" measures once for each shape whether more than 1 is faster; a number is checked (`check`)
    before its first use. A model that refuses batches only because of constant shapes is rewritten (`rebatched`).
    `max_bytes` is what the tensors of one interpreter may take. With ``on_error="skip"`` a row that fails gets its
    error's text in the column ``error`` (None elsewhere), NaN in outputs of floats and zero in others. With `real`,
    quantized inputs take real numbers and quantized outputs give them.
    Raises: ModelNotFoundError, ModelFormatError, InputError; calls also ShapeError, KernelError and ArenaError, which
    name the row.
    """

    def __init__(
        self,
        model: Any,
        signature: str | None = None,
        batch: int | Literal["auto"] = "auto",
        max_bytes: int | None = None,
        num_threads: int = 1,
        on_error: Literal["raise", "skip"] = "raise",
        *,
        real: bool = False,
        custom_ops: Mapping[str, Any] | None = None,
    ) -> None:
        if on_error not in ("raise", "skip"):
            message = f"on_error is {on_error!r}, must be one of raise, skip"
            raise InputError(message)
        if not isinstance(batch, str) or batch != "auto":
            batch = options.checked_count("batch", batch, 1, "rows")
        self._arguments = (signature, batch, max_bytes, num_threads, on_error, real, custom_ops)
        self._skips, self._real, self._batch = on_error == "skip", bool(real), batch
        self._max_bytes, self._num_threads, self._custom_ops = max_bytes, num_threads, custom_ops
        self._path = str(pathlib.Path(model).absolute()) if isinstance(model, (str, os.PathLike)) and model else None
        self._interpreter = self._opened(model if self._path is None else self._path)
        self._signature = signature
        self._entry = Entry.of(self._interpreter.model, signature)
        self._batched = not self._entry.unbatched()
        if not self._entry.inputs or batch not in ("auto", 1):
            self._entry.check_batched(f"batch={batch!r}")
        self._made = [*self._entry.outputs, *(["error"] if self._skips else [])]
        if self._made.count("error") > 1:
            message = "the model has an output 'error', on_error='skip' makes a column of that name: use 'raise'"
            raise InputError(message)
        self._lock = threading.Lock()
        self._of_thread = threading.local()
        self._rewritten: Interpreter | None = None
        self._sizes: dict[tuple[_Key, int], tuple[int, bool]] = {}
        self._arena_bytes: dict[_Key, int] = {}
        self._has_rows: Mapping[str, bool] = {}

    def _opened(self, model: Any) -> Interpreter:
        return Interpreter(model, num_threads=self._num_threads, max_bytes=self._max_bytes, custom_ops=self._custom_ops)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path, or the model's bytes, and the options."""
        file = self._interpreter.model.file
        source = self._path if self._path is not None or file is None else bytes(file.data)
        return _remade, (type(self), self._interpreter.model if source is None else source, self._arguments)

    def __repr__(self) -> str:
        takes, gives = (listed(names) for names in (self._entry.inputs, self._entry.outputs))
        return f"<minilite.Predictor: {takes} -> {gives}, batch {self._batch}>"

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Returns a column per output, in the order of the rows, and the columns that are not inputs. Raises: see the
        class."""
        given, count = checked_columns(columns, self._entry, self._made)
        found: list[Row | None] = [None] * count
        failed: list[MiniliteError | None] = [None] * count
        groups: dict[_Key, list[tuple[int, Row]]] = {}
        for number in range(count):
            try:
                row = row_of(given, number, self._entry, batched=self._batched, real=self._real)
                groups.setdefault(tuple((name, array.shape) for name, array in row.items()), []).append((number, row))
            except MiniliteError as error:
                self._fail(failed, number, error)
        for key, rows in groups.items():
            self._run_group(key, rows, found, failed)
        made = {name: self._column(name, found) for name in self._entry.outputs}
        if self._skips:
            made["error"] = objects([str(error) if error is not None else None for error in failed])
        return {n: passed_through(column) for n, column in given.items() if n not in self._entry.inputs} | made

    def check(self, n: int) -> None:
        """Refuses a batch of n rows that would not give what n single runs give, as far as random items tell.

        A model that refuses it only because of constant shapes is rewritten (`rebatched`).
        Raises: ShapeError, which names the node that refuses or mixes items; InputError without a batch dimension.
        """
        self._checked(options.checked_count("n", n, 1, "rows"), None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the columns that the model takes."""
        return tuple(self._entry.inputs)

    def arena_bytes(self, row: Mapping[str, Any]) -> int:
        """Returns the bytes of the arena that a run of one row takes: plans its shapes, once for each.

        Raises: InputError, ShapeError, ArenaError.
        """
        given = {name: [row[name]] for name in self._entry.inputs}
        arrays = row_of(given, 0, self._entry, batched=self._batched, real=self._real)
        key = tuple((name, array.shape) for name, array in arrays.items())
        if key not in self._arena_bytes:
            self._arena_bytes[key] = self._runner().arena_bytes(dict(key))
        return self._arena_bytes[key]

    def _checked(self, n: int, shapes: Mapping[str, Shape] | None) -> bool:
        """Returns True if the rewritten model, False if the model itself, can run n rows. Raises: ShapeError,
        InputError."""
        try:
            check(self._runner(), n, shapes)
        except ShapeError as refusal:
            with self._lock:
                if self._rewritten is None:
                    try:
                        made = rebatched(self._interpreter.model, self._signature, self._custom_ops)
                    except MiniliteError:
                        raise refusal from None
                    self._rewritten = self._opened(made)
            check(self._runner(rewritten=True), n, shapes)
            return True
        return False

    def _pack(self) -> None:
        """Packs the weights before forking, so that workers share them. Does nothing if the file's own shapes do not
        run."""
        with contextlib.suppress(MiniliteError):
            engine_of(self._interpreter).clone().session(self._entry.subgraph.index).allocate()

    def _runner(self, *, rewritten: bool = False) -> Runner:
        """Returns the calling thread's runner."""
        known: dict[str, Runner] = self._of_thread.__dict__
        name = "rewritten" if rewritten else "plain"
        if name not in known:
            source = self._rewritten if rewritten else self._interpreter
            assert source is not None
            interpreter = source.clone()
            known[name] = Runner(interpreter, Entry.of(interpreter.model, self._signature))
        return known[name]

    def _size(self, key: _Key, rows: int) -> tuple[int, bool]:
        """Returns how many rows of these shapes run together, and whether in the rewritten model; decides once."""
        if not self._batched or rows < 2 or self._batch == 1 or (self._batch != "auto" and rows < self._batch):
            return 1, False
        most = min(1 << rows.bit_length() - 1, LARGEST) if self._batch == "auto" else self._batch
        if (key, most) not in self._sizes:
            shapes = dict(key)
            if self._batch == "auto":
                check_at = functools.partial(self._checked, shapes=shapes)
                self._sizes[key, most] = best_batch(self._runner, check_at, shapes, most, self._max_bytes)
            else:
                self._sizes[key, most] = most, self._checked(most, shapes)
        return self._sizes[key, most]

    def _run_group(
        self,
        key: _Key,
        rows: Sequence[tuple[int, Row]],
        found: list[Row | None],
        failed: list[MiniliteError | None],
    ) -> None:
        """Runs rows of equal shapes in batches of `_size`; the rest, and the rows of batches that fail, one by one."""
        try:
            n, rewritten = self._size(key, len(rows))
        except MiniliteError:  # a single run names the row, unless only the batch is wrong
            if not self._skips:
                self._one_by_one(rows[:1], found, failed)
                raise
            n, rewritten = 1, False
        whole = len(rows) - len(rows) % n if n > 1 else 0
        if whole and not self._has_rows:
            self._one_by_one(rows[:1], found, failed)
        for start in range(0, whole, n):
            part = rows[start : start + n]
            try:
                runner = self._runner(rewritten=rewritten)
                outputs = runner.run({name: np.concatenate([row[name] for _, row in part]) for name in part[0][1]})
            except MiniliteError:
                self._one_by_one(part, found, failed)
                continue
            for at, (number, _) in enumerate(part):
                one = {name: array[at : at + 1] for name, array in outputs.items()}
                found[number] = {name: self._without_batch(name, array) for name, array in one.items()}
        self._one_by_one(rows[whole:], found, failed)

    def _one_by_one(
        self, rows: Sequence[tuple[int, Row]], found: list[Row | None], failed: list[MiniliteError | None]
    ) -> None:
        runner = self._runner()
        for number, row in rows:
            try:
                outputs = runner.run(row)
                if not self._has_rows:
                    self._has_rows = runner.has_rows() if self._batched else dict.fromkeys(outputs, False)
                found[number] = {name: self._without_batch(name, array) for name, array in outputs.items()}
            except MiniliteError as error:
                self._fail(failed, number, error)

    def _without_batch(self, name: str, array: Array) -> Array:
        if not self._has_rows[name]:
            return array
        if array.shape[0] != 1:
            message = f"output '{name}' has the shape {array.shape} for one row, must begin with 1 as for other rows"
            raise ShapeError(message, tensors=[name], shapes=[array.shape])
        return array.reshape(array.shape[1:])

    def _fail(self, failed: list[MiniliteError | None], number: int, error: MiniliteError) -> None:
        if not self._skips:
            raise failed_row(error, number) from None
        failed[number] = error

    def _column(self, name: str, found: Sequence[Row | None]) -> Array:
        tensor = self._entry.outputs[name]
        column = stacked([None if row is None else row[name] for row in found], self._entry.no_rows(name))
        made: Array = floats(tensor, column) if self._real and column.dtype.kind in "iu" else column
        return made


def _remade(kind: type[Predictor], source: Any, arguments: Sequence[Any]) -> Predictor:
    signature, batch, max_bytes, num_threads, on_error, real, custom_ops = arguments
    return kind(source, signature, batch, max_bytes, num_threads, on_error, real=real, custom_ops=custom_ops)
