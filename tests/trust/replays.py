"""Records two runs of each model and replays them at every level of this machine, with one thread and with two.

python tests/trust replays MODEL ...

A model whose random inputs make a run fail has to fail in the same way. Exit status 1 if an output differs: integers at
all, floats by more than rounding.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import minilite
from minilite._native.kernels import level_names
from minilite.errors import MiniliteError
from minilite.inputs.random_values import random_values

RUNS = 2


def record(path: str, target: Path) -> None:
    """Runs on random inputs; errors of the model's become part of the recording."""
    interpreter = minilite.Interpreter(path)
    try:
        with interpreter.recording(target):
            interpreter.allocate_tensors()
            graph = interpreter.model.subgraphs[0]
            for run in range(RUNS):
                rng = np.random.default_rng(run)
                for index in graph.inputs:
                    shape = tuple(interpreter.get_tensor_details()[index]["shape"])
                    interpreter.set_tensor(index, random_values(graph.tensors[index], shape, rng))
                interpreter.invoke()
    except MiniliteError as error:
        print(f"{Path(path).name}: recorded up to {type(error).__name__}: {str(error)[:80]}")


def main(paths: Sequence[str]) -> int:
    replays = outputs = equal = whole = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            recording = Path(folder) / "r.npz"
            record(path, recording)
            for level in level_names():
                for threads in (1, 2):
                    try:
                        found = minilite.replay(recording, path, level=level, num_threads=threads)
                    except MiniliteError as error:
                        print(f"{Path(path).name}, {level}: {str(error)[:120]}")
                        bad += level != level_names()[-1] or "custom operators" not in str(error)
                        break
                    replays += 1
                    outputs += len(found.rows)
                    equal += sum(row.difference is not None and not row.difference.differing for row in found.rows)
                    whole += sum(not row.types[0].startswith(("float", "complex")) for row in found.rows)
                    if not found.agrees:
                        bad += 1
                        assert found.first is not None
                        print(f"{Path(path).name}, {level}, {threads} threads: {found.first.where} {found.first.note}")
    print(
        f"{len(paths)} models, {replays} replays; {outputs} outputs, {equal} of them bit-equal; {whole} not of floats"
    )
    print(f"{bad} replays differ")
    return int(bad > 0)
