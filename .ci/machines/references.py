"""References and blocks that cycles of an interpreter's life leave behind, on a debug build of CPython.

A cycle loads a model, runs it at two sizes by LiteRT's calls and by `run`, looks at the plan, makes a clone, runs into
an error, and closes. After some cycles that fill caches, a thousand more leave nothing. References are added up over
all objects that the collector knows, all types, and None, True and False: Python's own sum, sys.gettotalrefcount(),
leaves out what extensions like numpy's wheels do, which are not built for debugging.
"""

from __future__ import annotations

import contextlib
import gc
import pathlib
import sys

import numpy as np

import minilite

WARM, CYCLES, ROOM = 400, 1000, 60
"""The room is for numbers and names that Python keeps by chance, none of which comes with each cycle."""


def cycle(model: bytes) -> None:
    """All that one does with an interpreter."""
    with minilite.Interpreter(model_content=model) as interpreter:
        for side in (8, 12):
            interpreter.resize_tensor_input("image", (1, side, side, 1))
            interpreter.allocate_tensors()
            interpreter.set_tensor("image", np.zeros((1, side, side, 1), np.float32))
            interpreter.invoke()
            interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        interpreter.run(np.zeros((2, 8, 8, 1), np.float32))
        str(interpreter.plan)
        interpreter.clone().run(np.zeros((1, 8, 8, 1), np.float32))
        with contextlib.suppress(minilite.InputError):
            interpreter.set_tensor("image", np.zeros(3))


def types_of(kind: type) -> set[type]:
    """A type and all that are made from it."""
    found = {kind}
    for one in type.__subclasses__(kind):
        found |= types_of(one)
    return found


def left() -> tuple[int, int]:
    """References and blocks of memory that Python has."""
    gc.collect()
    blocks = sys.getallocatedblocks()
    objects = {id(one): one for one in [*gc.get_objects(), *types_of(object), None, True, False]}
    return sum(map(sys.getrefcount, objects.values())) - 3 * len(objects), blocks


def main() -> int:
    """The command: the exit status."""
    model = (pathlib.Path(minilite.__file__).parent / "data" / "digits.tflite").read_bytes()
    for _ in range(WARM):
        cycle(model)
    before = left()
    for _ in range(CYCLES):
        cycle(model)
    references, blocks = (now - then for now, then in zip(left(), before, strict=True))
    print(f"pass: {CYCLES} cycles left {references} references and {blocks} blocks")
    return int(references > ROOM or blocks > ROOM)


if __name__ == "__main__":
    sys.exit(main())
