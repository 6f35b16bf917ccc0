"""Many cycles and many threads leak nothing. They run in processes of their own, without the cyclic collector."""

from __future__ import annotations

import gc
import mmap
import multiprocessing
import os
import pathlib
import sys
import threading
from typing import Any

import numpy as np
import pytest
from built import Array, accumulator, floats, ready, run, signed
from processes import in_subprocess, patience

import minilite
from minilite.format.builder import ModelBuilder

pytestmark = pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="needs /proc")
ROOM = 2 << 20
"""Bytes by which a process may grow: caches of the allocator, which do not grow with each cycle."""


def weights() -> bytes:
    """x -> x + weights -> z, with enough weights for the file to be mapped."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    w = graph.constant("w", np.arange(20_000, dtype=np.float32).reshape(1, -1))
    x = graph.input("x", (1, 20_000), signature=(-1, 20_000))
    y = graph.node("ADD", [x, w], out=("y", (1, 20_000)))
    graph.output(graph.node("RELU", [y], out=("z", (1, 20_000))))
    return builder.build()


def taken() -> tuple[int, int]:
    """Returns the bytes and file descriptors that this process has."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * mmap.PAGESIZE, len(list(pathlib.Path("/proc/self/fd").iterdir()))


def grown(before: tuple[int, int]) -> tuple[int, int]:
    return tuple(now - then for now, then in zip(taken(), before, strict=True))  # type: ignore[return-value]


def cycle(path: str, number: int) -> None:
    """Does everything that a user does with an interpreter, and makes an error."""
    with minilite.Interpreter(path) as interpreter:
        interpreter.resize_tensor_input("x", (1 + number % 3, 20_000))
        interpreter.allocate_tensors()
        view = interpreter.tensor("x")()
        view[:] = number
        interpreter.invoke()
        assert interpreter.get_tensor("z")[0, 1] == number + 1
        interpreter.clone().run(np.zeros((2, 20_000), np.float32))
        with pytest.raises(minilite.InputError):
            interpreter.set_tensor(0, np.zeros(3))
        del view
    two = ready(signed())
    two.get_signature_runner("sum")(p=floats(1, 2), q=floats(number, 4))
    assert run(ready(accumulator()), floats(1, 2, 3, number))[0][3] == number


def cycles(folder: str) -> None:
    """Prints by how much 1000 cycles have grown this process, beyond the first 200."""
    path = pathlib.Path(folder, "model.tflite")
    path.write_bytes(weights())
    gc.disable()
    for number in range(1000):
        if number == 200:
            before = taken()
        cycle(str(path), number)
    print(*grown(before))


def threads() -> None:
    """Eight threads with a clone each, two threads per run: prints by how much 1000 runs of each have grown this
    process."""
    first, wrong = minilite.Interpreter(weights(), num_threads=2), []
    clones = [first.clone() for _ in range(8)]

    def work(number: int, runs: int) -> None:
        for turn in range(runs):
            x = np.full((1 + turn % 2, 20_000), number + turn, np.float32)
            found = clones[number].run(x)["z"]
            if found.shape != x.shape or found[-1, 7] != number + turn + 7:
                wrong.append((number, turn))

    def together(runs: int) -> None:
        started = [threading.Thread(target=work, args=(number, runs)) for number in range(8)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    gc.disable()
    together(50)
    before = taken()
    together(1000)
    assert not wrong
    print(*grown(before))


@pytest.mark.parametrize("what", ["cycles", "threads"])
def test_repeated_use_leaks_no_memory_or_descriptors(what: str, tmp_path: pathlib.Path) -> None:
    given = repr(str(tmp_path)) if what == "cycles" else ""
    done = in_subprocess(f"import test_endurance as t; t.{what}({given})", seconds=240, MALLOC_ARENA_MAX="2")
    assert done.status == 0, done.output
    grew, descriptors = map(int, done.output.split())
    assert descriptors == 0
    assert grew < ROOM or "ASAN_OPTIONS" in os.environ  # AddressSanitizer keeps what was freed


def test_trim_frees_layouts_of_other_sizes() -> None:
    """A size that comes back after a trim is laid out again; the next trim leaves nothing of that layout."""
    interpreter, blocks = minilite.Interpreter(weights()), []
    for number in range(600):
        if number in (100, 599):
            gc.collect()
            blocks.append(sys.getallocatedblocks())
        interpreter.resize_tensor_input("x", (1 + number % 5, 20_000))
        interpreter.allocate_tensors()
        interpreter.get_tensor("x")
        interpreter.get_tensor("z")
        interpreter.trim()
    assert blocks[1] - blocks[0] < 500


# Other processes ------------------------------------------------------------------------------------------------------


def in_child(interpreter: minilite.Interpreter, x: Array, answers: Any) -> None:
    answers.put(interpreter.run(x)["z"])


def forked() -> None:
    """An interpreter with threads at work goes on in a fork's child, and in its parent."""
    interpreter = minilite.Interpreter(weights(), num_threads=2)
    x = np.ones((3, 20_000), np.float32)
    here = interpreter.run(x)["z"]
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    children = [context.Process(target=in_child, args=(interpreter, x + n, answers)) for n in range(3)]
    for child in children:
        child.start()
    found = sorted((answers.get(timeout=patience(60)) for _ in children), key=lambda z: z[0, 0])
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert all(np.array_equal(z, here + n) for n, z in enumerate(found))
    assert np.array_equal(interpreter.run(x + 5)["z"], here + 5)
    print("same")


def test_children_of_a_fork_go_on() -> None:
    done = in_subprocess("import test_endurance as t; t.forked()")
    assert (done.status, done.output) == (0, "same\n")
