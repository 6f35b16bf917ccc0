"""Job: runs many items through a model, part by part; each part is a file that is written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minilite.batch.columns import objects, spread, stacked
from minilite.batch.formats import FORMS
from minilite.batch.items import SKIPPING, Column, Item, Reader, Source, Taken
from minilite.batch.sizing import LARGEST
from minilite.engine.float_values import floats
from minilite.errors import InputError, shortened
from minilite.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from minilite.batch.predictor import Predictor
    from minilite.format.model import Array

_ABOUT = "_job.json"
"""The file that identifies the job. Readers of folders of tables leave out names that begin with an underscore."""
_MADE = ("file", "row", "error", "start")
OBJECT_COLUMNS = ("class", "score", "left", "top", "right", "bottom")
NO_CLASS = -1
"""The class of a row that failed, in files that cannot leave a number out."""


class Job(NamedTuple):
    """The options of a job. It can be pickled, and carries no data."""

    predictor: Predictor
    """A predictor that skips rows which fail."""
    taken: Taken
    form: str
    """The form of the output: npz, csv or parquet."""
    kept: Sequence[str]
    """Columns of tables that are copied to the output."""
    real: bool
    """True if quantized outputs are written as real numbers."""
    best: int
    """The number of classes that are written in place of the scores of `ranked`."""
    ranked: Sequence[str]
    """The outputs that have a score per class, if best classes are written."""
    labels: Mapping[str, Sequence[str]]
    """The names of classes, by output."""
    skips: bool
    """True if a row that fails is written with its error; else it ends the job."""
    base: str
    """The folder that paths are relative to."""
    objects: Mapping[str, str] | None = None
    """The outputs of a detector that are boxes, classes, scores and their number, by role: each object is a row."""
    min_score: float = 0.0
    """The least score of objects that are written."""
    timed: bool = False
    """True if the start of each window of a sound is written."""


class Part(NamedTuple):
    """Items whose predictions are one file."""

    path: Path
    items: Sequence[tuple[Source, int, int]]
    """A source, its first row, and the row after its last."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(last - first for _, first, last in self.items)

    def listed(self) -> list[Item]:
        """Returns the items one by one."""
        return [
            Item(source.path, None if source.rows is None else row)
            for source, first, last in self.items
            for row in range(first, last)
        ]


class Done(NamedTuple):
    """A part that was written."""

    path: Path
    rows: int
    failed: int


def parts_of(sources: Sequence[Source], out: Path, form: str, size: int | None) -> list[Part]:
    """Divides the sources into parts of at most `size` rows, in order; None makes one part, which is the file `out`."""
    parts: list[list[tuple[Source, int, int]]] = [[]]
    room = total = sum(1 if source.rows is None else source.rows for source in sources)
    size = room = size or max(total, 1)
    for source in sources:
        first, last = 0, 1 if source.rows is None else source.rows
        while first < last:
            if room == 0:
                parts.append([])
                room = size
            taken = min(room, last - first)
            parts[-1].append((source, first, first + taken))
            first, room = first + taken, room - taken
    if out.suffix:
        return [Part(out, parts[0])]
    return [Part(out / f"part-{number:05d}.{form}", part) for number, part in enumerate(parts)]


def begin(out: Path, facts: Mapping[str, Any], sources: Sequence[Source]) -> None:
    """Creates the folder and writes _job.json, which identifies the job. Raises: InputError if the folder is another
    job's; OSError."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(f"{source.path}\0{source.rows}\n".encode("utf-8", "surrogateescape"))
    about = {**facts, "files": len(sources), "list": digest.hexdigest()}
    out.mkdir(parents=True, exist_ok=True)
    path = out / _ABOUT
    if not path.exists():
        if any(out.iterdir()):
            message = f"{out} has files of something else: give a folder that is new or empty"
            raise InputError(message)
        write_whole(path, json.dumps(about, indent=1))
        return
    _check_same(out, about, path.read_text())
    for rest in out.glob(".part-*"):  # left by a process that was killed while it wrote
        rest.unlink(missing_ok=True)


def _check_same(out: Path, about: Mapping[str, Any], text: str) -> None:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    before = found if isinstance(found, dict) else {}
    for name, value in about.items():
        if before.get(name) != value:
            what = f"{name}: {before.get(name)!r} there, {value!r} here" if name != "list" else "the files differ"
            message = f"{out} has parts of another job ({what}): give another folder, or remove it"
            raise InputError(message)


def run_part(job: Job, part: Part, follow: Callable[[int], None] | None = None) -> Done:
    """Reads, predicts and writes a part. Calls `follow` with the number of rows just predicted, a few at a time.
    Raises: InputError, which names the item; OSError."""
    items = part.listed()
    reader = Reader(job.taken, job.kept, job.base)
    columns: dict[str, list[Array | None]] = {name: [] for name in job.predictor._entry.outputs}
    kept: dict[str, list[Any]] = {name: [] for name in job.kept}
    errors: list[str | None] = []
    for start in range(0, len(items), LARGEST):
        some = items[start : start + LARGEST]
        names = job.predictor._entry.inputs
        found = job.predictor({name: Column(reader, some, name) for name in names})
        texts = [_named(text, item, at) for at, (text, item) in enumerate(zip(found.pop("error"), some, strict=True))]
        _stop(job, texts)
        errors += texts
        for name, column in found.items():
            rows = (row if isinstance(row, np.ndarray) else np.array(row, column.dtype) for row in column)
            columns[name] += [None if text else row for text, row in zip(texts, rows, strict=True)]
        for name, values in kept.items():
            values += [_kept(reader, item, name, text) for item, text in zip(some, texts, strict=True)]
        if follow is not None:
            follow(len(some))
    made = {
        "file": np.array([item.path for item in items], str),
        "row": np.array([item.row or 0 for item in items], np.int64),
        **({"start": np.array([reader.start(item) for item in items])} if job.timed else {}),
        **{name: objects(values) for name, values in kept.items()},
        **dict(_outputs(job, columns)),
        **({"error": objects(errors)} if job.skips else {}),
    }
    if job.objects is not None:
        made = _object_rows(job, made, columns)
    path = Path(job.base, part.path)
    write_whole(path, FORMS[job.form](made, str(path)))
    return Done(part.path, len(items), sum(text is not None for text in errors))


def _object_rows(job: Job, made: dict[str, Array], columns: Mapping[str, Sequence[Array | None]]) -> dict[str, Array]:
    """Returns a row for each object that a detector found, best first; a file without any has one row without a class,
    so that each file is there."""
    assert job.objects is not None
    entry, names = job.predictor._entry, job.objects
    texts = job.labels.get(names["classes"], ())
    numbers: list[int] = []
    found: list[tuple[Any, float, Any]] = []
    for number in range(len(made["file"])):
        raw = {role: columns[name][number] for role, name in names.items()}
        values = {role: None if row is None else floats(entry.outputs[names[role]], row) for role, row in raw.items()}
        best = _objects(values, job.min_score)
        numbers += [number] * max(len(best), 1)
        found += best or [(None, math.nan, [math.nan] * 4)]
    kinds = [None if kind is None else texts[kind] if 0 <= kind < len(texts) else str(kind) for kind, _, _ in found]
    missing = np.array([kind is None for kind in kinds], bool)
    boxes = np.ma.array([[score, *box] for _, score, box in found], np.float32).reshape(-1, 5)
    boxes[missing] = np.ma.masked
    rows = {name: column[numbers] for name, column in made.items() if name not in entry.outputs}
    error = {"error": rows.pop("error")} if job.skips else {}
    places = zip(OBJECT_COLUMNS[1:], (0, 2, 1, 4, 3), strict=True)  # of a score, then top, left, bottom, right
    return {**rows, "class": objects(kinds), **{name: boxes[:, at] for name, at in places}, **error}


def _objects(values: Mapping[str, Array | None], least: float) -> list[tuple[int, float, Array]]:
    """Returns class, score and box of the objects of one item, best first."""
    boxes, classes, scores = (values[role] for role in ("boxes", "classes", "scores"))
    if boxes is None or classes is None or scores is None:
        return []
    count = values.get("count")
    most = len(scores.reshape(-1)) if count is None else int(count.reshape(-1)[0])
    each = zip(classes.reshape(-1)[:most], scores.reshape(-1), boxes.reshape(-1, 4), strict=False)
    found = [(int(kind), float(score), box) for kind, score, box in each if score >= least]
    return sorted(found, key=lambda one: -one[1])


def _named(text: str | None, item: Item, at: int) -> str | None:
    """Returns the error message with the item's name in place of its row number in the batch."""
    if text is None:
        return None
    text = text.removeprefix(f"row {at}: ").removeprefix(f"row {at} of ")
    return text if item.path in text else f"{item}: {text}"


def _stop(job: Job, texts: Sequence[str | None]) -> None:
    first = next((text for text in texts if text is not None), None)
    if first is not None and not job.skips:
        message = f"{first}; {SKIPPING}"
        raise InputError(message)


def _kept(reader: Reader, item: Item, name: str, failed: str | None) -> Any:
    """Returns a value to copy; None if it cannot be read and the row has failed anyway."""
    try:
        return reader.cell(item, name)
    except InputError:
        if failed is None:
            raise
        return None


def _outputs(job: Job, columns: Mapping[str, Sequence[Array | None]]) -> Iterator[tuple[str, Array]]:
    entry = job.predictor._entry
    for name, rows in columns.items():
        tensor = entry.outputs[name]
        there = [number for number, row in enumerate(rows) if row is not None]
        column = stacked([rows[number] for number in there], entry.no_rows(name))
        if name in job.ranked and has_scores(column.shape[1:]):
            best = _best(name, floats(tensor, column), job.best, job.labels.get(name, ()))
            yield from ((part, spread(found, there, len(rows), NO_CLASS)) for part, found in best.items())
        else:
            made = floats(tensor, column) if job.real and column.dtype.kind in "iu" else column
            yield name, spread(made, there, len(rows))


def has_scores(row: Sequence[int]) -> bool:
    """True if a row of this shape can have a score per class: along its last dimension, with 1 for all others. -1 may
    become any size."""
    return bool(row) and row[-1] != 1 and row[-1] != 0 and all(size in (1, -1) for size in row[:-1])


def _best(name: str, scores: Array, best: int, labels: Sequence[str]) -> dict[str, Array]:
    """Returns the best classes of each row, by name if they have one, and their scores."""
    scores = scores.reshape(len(scores), scores.shape[-1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :best]
    classes = np.array(labels, str)[order] if len(labels) == scores.shape[1] else order
    found = np.take_along_axis(scores, order, axis=1)
    if best == 1:
        classes, found = classes[:, 0], found[:, 0]
    return {f"{name}.class": classes, f"{name}.score": found}


def waiting(parts: Sequence[Part]) -> list[Part]:
    """Returns the parts whose files do not exist yet."""
    return [part for part in parts if not part.path.exists()]


def facts_of(job: Job, model: str, size: int | None) -> dict[str, Any]:
    """Returns the settings that must match for a job to resume this one."""
    feeds = {n: [list(feed.shape), feed.mean, feed.std, feed.fit, feed.rate] for n, feed in job.taken.feeds.items()}
    facts = {
        "model": model,
        "form": job.form,
        "rows of a part": size,
        "signature": job.predictor._signature,
        "inputs": feeds,
        "inputs set for all rows": {n: _digest(array.tobytes()) for n, array in job.taken.constants.items()},
        "columns kept": list(job.kept),
        "real numbers": job.real,
        "best classes": job.best,
        "least score of objects": job.min_score if job.objects is not None else None,
        "labels": {name: _digest("\n".join(texts).encode()) for name, texts in job.labels.items()},
        "seconds from window to window": job.taken.hop,
        "errors": "skip" if job.skips else "raise",
    }
    return dict(json.loads(json.dumps(facts)))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def check_names(job: Job) -> None:
    """Refuses columns that would have the same name. Raises: InputError."""
    outputs = (
        list(OBJECT_COLUMNS)
        if job.objects is not None
        else [
            column
            for name in job.predictor._entry.outputs
            for column in ((f"{name}.class", f"{name}.score") if name in job.ranked else (name,))
        ]
    )
    made = [name for name, there in zip(_MADE, (True, True, job.skips, job.timed), strict=True) if there]
    taken = [*made, *outputs, *job.kept]
    twice = [name for name in taken if taken.count(name) > 1]
    if twice:
        message = (
            f"two columns would be called '{shortened(twice[0])}': file, row, error, start, outputs and kept columns"
        )
        raise InputError(message)
