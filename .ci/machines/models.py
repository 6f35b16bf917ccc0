"""Real models on another kind of machine, judged by what they gave on this one.

    models.py record --shared ../shared FOLDER                       here: FOLDER/<model>.pickle
    models.py judge --shared ../shared FOLDER --passed FILE [--levels scalar,neon] [--seconds 3000]

Recorded are three runs of each model with other inputs each, at its stored size, at up to two others, and at the stored
size again, at level scalar and at the best two of this machine. The judge runs the same there, at each of its levels:
scalar is judged by scalar, others by the best; --only scalar:A.tflite,... runs these alone. Integers, booleans, strings
and shapes have to be equal, and so has a refusal. Floats may be off as far as real models may from LiteRT: 2e-5 of the
value, and 2e-6 of the largest of its tensor, and 1e-7; and further where the model makes more of a last bit, as those
do that take logarithms of small numbers: four times as far as the best two levels here are apart in any run. The
quickest models come first. A model and level that passed are noted in FILE, and not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import pickle
import random
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from minilite import Interpreter, MiniliteError

ROUNDS, SIZES, MOST_ELEMENTS = 3, 2, 400_000
MIXED = 0.05
"""Of the largest value: how far those of models that quantize their floats as they run may be off, where a last bit may
move a value by a step."""
APART = 4
"""How many times as far as the best two levels are from each other another level may be from the best."""
SCALAR_SECONDS, LIMIT = 1.0, 900
"""What a model's runs may take where they are recorded, to run at scalar too; the most that they may take where they
are judged."""
SAMPLE, SAMPLE_BYTES = 16, 300_000
"""How many models a sample has, of at most how many bytes each."""


def drawn(detail: dict[str, Any], dice: np.random.Generator) -> np.ndarray[Any, Any]:
    """Values of an input that most operators take."""
    shape, dtype = tuple(detail["shape"]), np.dtype(detail["dtype"])
    if dtype.kind in "SO":
        return np.full(shape, b"the quick brown fox", object)
    if dtype.kind == "f":
        return dice.uniform(0, 1, shape).astype(dtype)
    if dtype.kind == "c":
        return (dice.uniform(-1, 1, shape) + 1j * dice.uniform(-1, 1, shape)).astype(dtype)
    if dtype.kind == "b":
        return dice.integers(0, 2, shape).astype(bool)
    if dtype.itemsize == 1 or detail["quantization"][0]:
        info = np.iinfo(dtype)
        return dice.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    return dice.integers(0, 2, shape).astype(dtype)


def outputs(path: pathlib.Path, sizes: list[Any], level: str) -> list[Any]:
    """The outputs of each run, or the name of the error that a size ends with."""
    interpreter = Interpreter(path, num_threads=2, level=level)
    found: list[Any] = []
    for number, size in enumerate(sizes):
        try:
            for detail, shape in zip(interpreter.get_input_details(), size or [], strict=False):
                interpreter.resize_tensor_input(detail["index"], shape)
            interpreter.allocate_tensors()
            for turn in range(ROUNDS):
                dice = np.random.default_rng((number, turn))
                for detail in interpreter.get_input_details():
                    interpreter.set_tensor(detail["index"], drawn(detail, dice))
                interpreter.invoke()
                found.append([interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()])
        except MiniliteError as error:
            found.append(type(error).__name__)
    return found


def sizes_of(entry: dict[str, Any]) -> list[Any]:
    """None for the stored size; then other sizes, and the stored one by its shapes."""
    worked = [w["inputs"] for w in entry["resize"]["worked"] or []]
    others = [size for size in worked if all(np.prod(shape) <= MOST_ELEMENTS for shape in size)][:SIZES]
    return [None, *others, [i["shape"] for i in entry["inputs"]]] if others else [None]


def entries(shared: pathlib.Path) -> list[dict[str, Any]]:
    found = json.loads((shared / "models" / "MANIFEST.json").read_text())
    return [entry for entry in found if entry["litert_2_3_0"]["runs_random"]]


def packed(run: Any) -> Any:
    """A run's outputs without numpy's own way to pickle arrays, which differs between its versions."""
    if isinstance(run, str):
        return run
    return [(a.dtype.str, a.shape, a.tolist() if a.dtype == object else a.tobytes()) for a in run]


def unpacked(run: Any) -> Any:
    """The outputs of which `packed` made this."""
    if isinstance(run, str):
        return run
    made: list[Any] = []
    for dtype, shape, data in run:
        flat = np.frombuffer(data, dtype) if isinstance(data, bytes) else np.array(data, object)
        made.append(flat.reshape(shape))
    return made


def record(shared: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes what each model gives here, and how long it took; with ML_SEED, of a sample of small ones."""
    from minilite._native.kernels import level_names

    waiting = entries(shared)
    if seed := os.environ.get("ML_SEED"):
        small = [e for e in waiting if (shared / "models" / e["file"]).stat().st_size < SAMPLE_BYTES]
        waiting = random.Random(seed).sample(small, SAMPLE)
    for entry in waiting:
        to = folder / f"{entry['file']}.pickle"
        if to.exists():
            continue
        began, path = time.monotonic(), shared / "models" / entry["file"]
        sizes = sizes_of(entry)
        second, best = level_names()[-2:]
        answers = {"best": outputs(path, sizes, best)}
        seconds = time.monotonic() - began
        answers["second"] = outputs(path, sizes, second)
        answers["scalar"] = outputs(path, sizes, "scalar") if seconds < SCALAR_SECONDS else []
        mixed = "dynamic-range" in entry["quantization"] or "float32 parts" in entry["quantization"]
        packed_answers = {level: list(map(packed, runs)) for level, runs in answers.items()}
        to.write_bytes(pickle.dumps((seconds, mixed, sizes, packed_answers)))


def apart(one: Any, other: Any) -> list[float]:
    """The largest difference of each output over the runs at two levels; floats of the same shapes count."""
    most: list[float] = []
    for a, b in zip(one, other, strict=True):
        outputs_of_run = [] if isinstance(a, str) or isinstance(b, str) else list(zip(a, b, strict=True))
        most += [0.0] * (len(outputs_of_run) - len(most))
        for which, (x, y) in enumerate(outputs_of_run):
            if x.dtype.kind in "fc" and x.shape == y.shape:
                off = np.nan_to_num(np.abs(x - y), posinf=0)
                most[which] = max(most[which], float(off.max(initial=0)))
    return most


def difference(a: Any, b: Any, mixed: bool, levels: Sequence[float], exact: bool = False) -> str | None:
    """What differs between the outputs of a run there and here, where levels are so far apart; None: nothing that
    matters."""
    if isinstance(a, str) or isinstance(b, str):
        return None if isinstance(a, str) and a == b else f"{a!r:.80} instead of {b!r:.80}"
    for which, (x, y) in enumerate(zip(a, b, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"output {which}: {x.dtype}{x.shape} instead of {y.dtype}{y.shape}"
        if x.dtype.kind not in "fc":
            if not np.array_equal(x, y):
                return f"output {which}: {int((x != y).sum())} of {x.size} integers differ"
        elif not np.array_equal(x, y, equal_nan=True):
            finite = np.isfinite(y)
            if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
                return f"output {which}: NaN or infinity at other places"
            off, size = np.abs(x[finite] - y[finite]), np.abs(y[finite])
            bound = 2e-5 * size + (MIXED if mixed else 2e-6) * size.max() + 1e-7
            if exact or not (off <= np.maximum(bound, APART * levels[which])).all():
                return f"output {which}: off by {off.max():.3g} where the largest value is {size.max():.3g}"
    return None


def judge_one(path: pathlib.Path, recorded: pathlib.Path, level: str) -> str:
    """Which of: equal to the bit, within the bound, or what differs."""
    _, mixed, sizes, answers = pickle.loads(recorded.read_bytes())
    wanted, second = (list(map(unpacked, answers[name])) for name in ("best", "second"))
    levels = apart(wanted, second)
    if level == "scalar":
        wanted, levels = list(map(unpacked, answers["scalar"])), [0.0] * len(levels)
    found = outputs(path, sizes, level)
    if len(found) != len(wanted):
        return f"{len(found)} answers instead of {len(wanted)}"
    for run, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if wrong := difference(a, b, mixed, levels):
            return f"run {run}, {wrong}"
    same = all(difference(a, b, mixed, levels, exact=True) is None for a, b in zip(found, wanted, strict=True))
    return "equal" if same else "within"


def in_child(path: pathlib.Path, recorded: pathlib.Path, level: str) -> str:
    """`judge_one` in a process of its own, which may crash or hang: starting Python anew would take seconds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            outcome = judge_one(path, recorded, level)
        except BaseException:  # noqa: BLE001 - the parent reports it
            outcome = traceback.format_exc()[-500:]
        os.write(write, outcome.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        outcome = answer.read().decode()
    _, status = os.waitpid(child, 0)
    return outcome or f"the process ended with {status}"


def judge(
    shared: pathlib.Path, folder: pathlib.Path, notes: pathlib.Path, levels: list[str], seconds: float, only: set[str]
) -> int:
    """Returns the exit status: 1 if a model differs, or nothing was judged."""
    until = time.monotonic() + seconds
    passed = dict(line.split(" ") for line in notes.read_text().splitlines()) if notes.exists() else {}
    seconds_of = {path: pickle.loads(path.read_bytes())[0] for path in folder.glob("*.pickle")}
    recorded = sorted(seconds_of, key=seconds_of.__getitem__)
    wrong: dict[str, str] = {}
    waiting = []
    for path in recorded:
        for level in levels:
            case = f"{level}:{path.stem}"
            if case in passed or (only and case not in only):
                continue
            if level == "scalar" and not pickle.loads(path.read_bytes())[3]["scalar"]:
                continue  # too slow
            if time.monotonic() > until:
                waiting.append(case)
                continue
            outcome = in_child(shared / "models" / path.stem, path, level)
            if outcome in ("equal", "within"):
                passed[case] = outcome
                with notes.open("a") as file:
                    file.write(f"{case} {outcome}\n")
            else:
                wrong[case] = outcome
                print(f"{case}: {outcome}", flush=True)
    for level in levels:
        mine = [outcome for case, outcome in passed.items() if case.startswith(f"{level}:")]
        print(f"{level}: {mine.count('equal')} models equal to the bit, {mine.count('within')} within the bound")
    print(
        f"pass: {len(passed)} of {len(recorded) * len(levels)} runs of {len(recorded)} models at {len(levels)} levels, "
        f"FAILED: {len(wrong)}, not run yet: {len(waiting)}"
    )
    return 1 if wrong or not passed else 0


def main() -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["record", "judge"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--passed", type=pathlib.Path)
    parser.add_argument("--levels", default="scalar,neon,neon_dot")
    parser.add_argument("--seconds", type=float, default=3000)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.what == "record":
        record(given.shared, given.folder)
        return 0
    only = set(filter(None, given.only.split(",")))
    return judge(given.shared, given.folder, given.passed, given.levels.split(","), given.seconds, only)


if __name__ == "__main__":
    sys.exit(main())
