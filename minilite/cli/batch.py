"""minilite batch: runs a model on many files, or on the rows of tables, and writes predictions part by part."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.batch import job as jobs
from minilite.batch import running
from minilite.batch.items import Taken, is_sound_file, sources_of
from minilite.batch.job import Job, has_scores
from minilite.batch.predictor import Predictor
from minilite.cli import arguments, feeding
from minilite.cli.arguments import UsageError
from minilite.cli.found import LEAST
from minilite.cli.output import print_json, width
from minilite.cli.writing import no_file_at
from minilite.errors import ModelFormatError, listed
from minilite.inputs import Feed, load_input
from minilite.progress import working
from minilite.recording.recorder import model_hash
from minilite.report.detections import roles
from minilite.report.results import labels_of
from minilite.terminal import say
from minilite.text import count, cut, shape_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from minilite.batch.job import Done, Part
    from minilite.report.results import Labels

_ROWS = 1000
_FORMS = ("npz", "csv", "parquet")


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "batch",
        help="run a model on many files, and write the predictions",
        description="Run a model on many files, or on the rows of tables. Predictions are written part by part, each whole or not at all; "
        "parts that are there already are skipped, so the same command goes on where one was stopped.",
    )
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")
    parser.add_argument(
        "data",
        metavar="INPUTS",
        nargs="+",
        help="folders and files: images, .wav, text or raw bytes, one row each; .npy, .npz and .parquet, whose rows are "
        "rows of the model's inputs",
    )
    parser.add_argument(
        "--out",
        metavar="OUT",
        type=Path,
        required=True,
        help="a folder for parts; or a .csv, .npz or .parquet file, which is one part",
    )
    parser.add_argument(
        "--format", choices=_FORMS, help="of the parts in a folder (default: npz); parquet needs pyarrow"
    )
    parser.add_argument(
        "--part", metavar="ROWS", type=arguments.positive, help=f"rows of a part in a folder (default: {_ROWS})"
    )
    _add_columns(parser)
    parser.add_argument(
        "--on-error", choices=("raise", "skip"), default="raise",
        help="a row that fails ends the job (raise), or is written with its error (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--batch",
        metavar="N",
        type=_batch,
        default="auto",
        help="rows that run together (default: as many as is faster)",
    )
    where = parser.add_mutually_exclusive_group()
    workers = where.add_argument(
        "--workers", metavar="W", type=arguments.positive, default=1, help="processes of this machine (default: 1)"
    )
    scheduler = where.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786")
    parser.arguments += [workers, scheduler]
    arguments.add_threads(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    """Adds options about the columns that are read and written."""
    parser.add_argument(
        "--set", metavar="NAME=FILE", action="append", default=[], help="an input that is the same for all rows; may be repeated"
    )  # fmt: skip
    parser.add_argument(
        "--keep", metavar="NAME", action="append", default=[], help="copy a column of the tables; may be repeated"
    )
    arguments.add_shape(parser)
    feeding.add_reading(parser)
    feeding.add_hop(parser)
    parser.add_argument("--signature", metavar="KEY", help="a signature of the model (default: the only one)")
    parser.add_argument(
        "--top", metavar="N", type=arguments.positive, default=0, help="write the N best classes in place of scores"
    )
    parser.add_argument(
        "--min-score", metavar="S", type=float, help=f"write objects that a detector found from this score on (default: {LEAST})"
    )  # fmt: skip
    parser.add_argument(
        "--raw", action="store_true", help="a detector's tensors as they are, in place of a row for each object"
    )
    parser.add_argument(
        "--real", action="store_true", help="real numbers in place of the integers of quantized outputs"
    )


def _batch(text: str) -> int | str:
    return text if text == "auto" else arguments.positive(text)


def execute(options: argparse.Namespace) -> None:
    """Runs the parts that are not written yet. Raises: UsageError, InputError, OSError."""
    form = _form(options)
    job = _job(options, form)
    jobs.check_names(job)
    with working("listing the inputs"):
        sources = sources_of(options.data, job.taken, skips=job.skips)
    if any(source.rows is not None and is_sound_file(source.path) for source in sources):
        job = job._replace(timed=True)
        jobs.check_names(job)
    elif options.hop is not None:
        message = f"--hop {options.hop:g}: goes with .wav files that are longer than the model's only input"
        raise UsageError(message)
    if options.out.suffix:
        parts = jobs.parts_of(sources, options.out, form, None)
    else:
        size = options.part or _ROWS
        parts = jobs.parts_of(sources, options.out, form, size)
        jobs.begin(options.out, jobs.facts_of(job, model_hash(job.predictor._interpreter.model)[0], size), sources)
    begun = time.perf_counter()
    waiting = jobs.waiting(parts)
    done = _run(options, job, waiting, sum(part.rows for part in parts)) if waiting else []
    _tell(options, parts, done, time.perf_counter() - begun)


def _form(options: argparse.Namespace) -> str:
    """Returns the form of the output. Raises: UsageError."""
    suffix = options.out.suffix.lower().removeprefix(".")
    if not suffix:
        return str(options.format or "npz")
    if suffix not in _FORMS:
        message = f"--out {options.out}: takes a folder, or a file that ends in .csv, .npz or .parquet"
        raise UsageError(message)
    if options.part is not None or options.format not in (None, suffix):
        given = "--part" if options.part is not None else "--format"
        message = f"{given} goes with a folder: --out {options.out} is one file"
        raise UsageError(message)
    wrong = no_file_at(options.out)
    if not wrong and options.out.exists():  # only a folder says which job it belongs to
        wrong = "is there already: remove it, or give another name"
    if wrong:
        message = f"--out {options.out}: {wrong}"
        raise UsageError(message)
    return str(suffix)


def _job(options: argparse.Namespace, form: str) -> Job:
    predictor = Predictor(
        options.model,
        options.signature,
        options.batch,
        num_threads=options.threads or 1,
        on_error="skip",
    )
    objects = None if options.raw else _detector(predictor)
    labels = _labels(predictor) if options.top or objects is not None else {}
    if options.min_score is not None and objects is None:
        message = (
            f"--min-score {options.min_score:g}: goes with a detector, whose outputs are boxes, classes and scores"
        )
        raise UsageError(message)
    return Job(
        predictor=predictor,
        taken=_taken(options, predictor),
        form=form,
        kept=options.keep,
        real=options.real,
        best=options.top,
        ranked=_ranked(options, predictor, labels) if options.top else (),
        labels={name: found.texts for name, found in labels.items()},
        skips=options.on_error == "skip",
        base=str(Path.cwd()),
        objects=objects,
        min_score=LEAST if options.min_score is None else options.min_score,
    )


def _detector(predictor: Predictor) -> Mapping[str, str] | None:
    """Returns the outputs of a detector by role; None for other models, and where an output has no name of its own."""
    model, entry = predictor._interpreter.model, predictor._entry
    places = roles(model) if entry.subgraph.index == 0 else None
    if places is None:
        return None
    outputs = entry.subgraph.outputs
    names = {tensor.index: name for name, tensor in entry.outputs.items()}
    found = {role: names[outputs[at]] for role, at in places.items() if outputs[at] in names}
    return found if len(found) == len(places) else None


def _taken(options: argparse.Namespace, predictor: Predictor) -> Taken:
    """Returns the columns that the model takes, and their feeds. Raises: UsageError, InputError."""
    about = feeding.descriptions(predictor._interpreter)
    shapes = arguments.shapes(predictor._interpreter, options.shape)
    inputs = predictor._entry.inputs
    feeds = {}
    for name, tensor in inputs.items():
        feed = feeding.with_options(Feed.of(tensor, about.get(tensor.index)), options)
        feeds[name] = feed._replace(shape=shapes.get(tensor.index, feed.shape))
    constants = {}
    for text in options.set:
        fitting = [name for name in inputs if text.startswith(f"{name}=")]
        if not fitting:
            message = f"--set {text}: takes NAME=FILE, the model's inputs are {listed(inputs)}"
            raise UsageError(message)
        name = max(fitting, key=len)
        constants[name] = load_input(text[len(name) + 1 :], feeds.pop(name)).array
    if not feeds:
        message = f"no input is left to read from files: the model's are {listed(inputs)}, --set names all of them"
        raise UsageError(message)
    return Taken(feeds, constants, predictor._batched, options.hop)


def _labels(predictor: Predictor) -> Mapping[str, Labels]:
    """Returns the names of classes in the model's metadata, by output."""
    model, entry = predictor._interpreter.model, predictor._entry
    numbers = model.subgraphs[0].outputs
    try:
        found = dict(zip(numbers, labels_of(model.metadata, len(numbers)), strict=True))
    except ModelFormatError:
        return {}
    named = {name: found[tensor.index] for name, tensor in entry.outputs.items() if tensor.index in found}
    return {name: labels for name, labels in named.items() if labels.texts}


def _ranked(options: argparse.Namespace, predictor: Predictor, labels: Mapping[str, Labels]) -> list[str]:
    """Returns the outputs that have a score per class, as far as the file tells. Raises: UsageError if there is
    none."""
    entry = predictor._entry
    found, told = [], []
    for name, tensor in entry.outputs.items():
        row = entry.no_rows(name)
        known = tensor.shape_signature
        shape = row.shape[1:] if known is None or len(known) != len(tensor.shape) else known[-row.ndim + 1 :]
        of_values = name in labels and labels[name].of_values
        if row.dtype.kind in "fiu" and not of_values and (not tensor.shape or has_scores(shape)):
            found.append(name)
        told.append(f"'{cut(name)}' {shape_text(row.shape[1:])}")
    if entry.subgraph.index == 0 and roles(predictor._interpreter.model) is not None:
        message = f"--top {options.top}: the model is a detector: its outputs are boxes, classes and scores of objects"
        raise UsageError(message)
    if not found:
        message = f"--top {options.top}: no output has a score per class: a row of outputs is {', '.join(told)}"
        raise UsageError(message)
    return found


def _run(options: argparse.Namespace, job: Job, parts: Sequence[Part], total: int) -> list[Done]:
    """Runs parts. The progress counts all `total` rows, those of finished parts included: in this process as they are
    predicted, else when their part is written."""
    with working("row", total) as work:
        work.started = min(total - sum(part.rows for part in parts) + 1, total)

        def follow(rows: int) -> None:
            work.started = min(work.started + rows, total)

        return list(_running(options, job, parts, follow))


def _running(
    options: argparse.Namespace, job: Job, parts: Sequence[Part], follow: Callable[[int], None]
) -> Iterator[Done]:
    if options.scheduler is None and options.workers == 1:
        yield from running.run_here(job, parts, follow)
        return
    for done in _elsewhere(options, job, parts):
        follow(done.rows)
        yield done


def _elsewhere(options: argparse.Namespace, job: Job, parts: Sequence[Part]) -> Iterator[Done]:
    if options.scheduler is not None:
        import logging  # long to import

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the command reports errors in one line
        return running.run_on_dask(job, parts, options.scheduler)
    return running.run_in_processes(job, parts, options.workers)


def _tell(options: argparse.Namespace, parts: Sequence[Part], done: Sequence[Done], seconds: float) -> None:
    rows, failed = sum(each.rows for each in done), sum(each.failed for each in done)
    if options.json:
        facts = {
            "model": options.model,
            "out": str(options.out),
            "parts": [str(part.path) for part in parts],
            "written": sorted(str(each.path) for each in done),
            "rows": rows,
            "failed": failed,
            "seconds": seconds,
        }
        print_json(facts)
        return
    there = len(parts) - len(done)
    text = f"wrote {count(rows, 'row')} in {count(len(done), 'part')} to {options.out}: {seconds:.3g} s"
    if rows and seconds:
        text += f", {rows / seconds:.3g} rows/s"
    if there:
        text += f"; {count(there, 'part')} {'was' if there == 1 else 'were'} there already"
    if failed:
        text += f"; {count(failed, 'row')} failed, their column 'error' says why"
    say(wrapped(text, width()))
