"""Four threads on one Predictor, with rows of mixed shapes in orders of their own, against single runs:
python -m batch.mixed [MODEL...], in tests/; without models, all of ../shared that pass `check`."""

from __future__ import annotations

import json
import pathlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from minilite import Interpreter, Predictor
from minilite.errors import MiniliteError
from minilite.inputs.random_values import random_values

SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "models"
BATCH, THREADS = 2, 4
Shapes = dict[str, tuple[int, ...]]


class Outcome(NamedTuple):
    """The number of rows; how many of them equal single runs, bit for bit or within rounding; and the number of
    shapes."""

    rows: int
    equal: int
    near: int
    shapes: int


def batched_models() -> list[str]:
    """The file names of the shared models whose inputs begin with 1."""
    if not (SHARED / "MANIFEST.json").exists():
        return []
    found = json.loads((SHARED / "MANIFEST.json").read_text())
    return [one["file"] for one in found if one["inputs"] and all(each["shape"][:1] == [1] for each in one["inputs"])]


def predictor_of(path: pathlib.Path, batch: int) -> Predictor | None:
    """A Predictor of the main subgraph; None if it refuses the model or such batches."""
    try:
        signatures = Interpreter(path).model.signatures
        made = Predictor(path, next((s.key for s in signatures if s.subgraph == 0), None), batch=batch)
        made.check(batch)
    except MiniliteError:
        return None
    return made


def drawn(predictor: Predictor, shapes: Shapes, rng: np.random.Generator) -> dict[str, Any]:
    """A row of random values."""
    return {name: random_values(tensor, shapes[name], rng) for name, tensor in predictor._entry.inputs.items()}


def accepted_shapes(predictor: Predictor) -> list[Shapes]:
    """The shapes in the file; and others, if the model takes them in batches: other sides of images, or another last
    dimension."""
    whole: Shapes = {name: tensor.shape for name, tensor in predictor._entry.inputs.items()}
    sides: Shapes = {name: (*s[:1], *((d + 1) // 2 for d in s[1:-1]), *s[1:][-1:]) for name, s in whole.items()}
    last: Shapes = {name: (*s[:-1], (s[-1] + 1) // 2) if len(s) > 1 else s for name, s in whole.items()}
    for other in (sides, last):
        if other != whole:
            try:
                predictor._checked(BATCH, other)
            except MiniliteError:
                continue
            return [whole, other]
    return [whole]


def single_runs(predictor: Predictor, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs of each row on one interpreter that begins in the state of a new one."""
    interpreter, key = Interpreter(predictor._path), predictor._signature
    new, found = interpreter.get_state(), []
    for row in rows:
        interpreter.set_state(new)
        found.append(interpreter.get_signature_runner(key)(**row) if key is not None else interpreter.run(row))
    return found


def compared(predictor: Predictor, seed: int) -> Outcome:
    """Runs the same five rows in four threads, in orders of their own, and compares with single runs."""
    rng, shapes = np.random.default_rng(seed), accepted_shapes(predictor)
    rows = [drawn(predictor, shapes[number % len(shapes)], rng) for number in range(5)]
    wanted = single_runs(predictor, rows)
    orders = [rng.permutation(len(rows)) for _ in range(THREADS)]

    start = threading.Barrier(THREADS)

    def work(order: Any) -> dict[str, Any]:
        start.wait()
        return predictor({name: [rows[number][name] for number in order] for name in rows[0]})

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads also meet in runs that are short
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            results = list(pool.map(work, orders))
    finally:
        sys.setswitchinterval(interval)
    equal = near = 0
    for order, found in zip(orders, results, strict=True):
        for at, number in enumerate(order):
            alike = [_alike(found[name][at], value) for name, value in wanted[number].items()]
            equal += min(alike) == 2
            near += min(alike) == 1
    return Outcome(len(rows) * THREADS, equal, near, len(shapes))


def _alike(found: Any, wanted: Any) -> int:
    """Returns 2 for equal bits, 1 for floats within rounding of the largest value, else 0."""
    found = np.asarray(found, wanted.dtype)
    if found.size != wanted.size or found.shape not in (wanted.shape, wanted.shape[1:]):
        return 0
    found = found.reshape(wanted.shape)
    floats = wanted.dtype.kind == "f"
    if np.array_equal(found, wanted, equal_nan=floats):
        return 2
    limit = 1e-5 * np.abs(wanted).max(initial=0) if floats else 0
    return int(floats and np.allclose(found, wanted, rtol=0, atol=limit, equal_nan=True))


def main(names: list[str]) -> int:
    """Prints a line for each model, and the sums. 1 if a row is wrong."""
    total = np.zeros(4, int)
    refused = models = 0
    for name in names or batched_models():
        begun = time.perf_counter()
        predictor = predictor_of(SHARED / name, BATCH)
        if predictor is None:
            refused += 1
            continue
        one = compared(predictor, 0)
        models += 1
        total += (one.rows, one.equal, one.near, one.shapes > 1)
        wrong = "" if one.equal + one.near == one.rows else "WRONG "
        print(f"{wrong}{name}: {one} in {time.perf_counter() - begun:.1f} s", flush=True)
    rows, equal, near, several = map(int, total)
    print(f"{models} models ({several} in two shapes), {refused} refused: {rows} rows, {equal} equal, {near} near")
    return int(equal + near < rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
