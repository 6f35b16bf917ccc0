"""A program that counts how often runs of large nodes check whether to go on, under the clock of clock.c.

    LD_PRELOAD=clock.so python -m support.polls

For each operator, and each row of its kernel's table, it prints the polls of a run on one thread, whether a poll that
refuses ends the run, and whether three threads make the same outputs.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from support.large import LARGE, MODELS, large_node

import minilite
import minilite._native.hooks  # first: its poll is replaced below
from minilite._core import ffi, lib
from minilite.format.dtypes import TensorType
from minilite.ops import operators
from minilite.ops_shared.types import written_out


class Poll:
    """Stands where Python handles signals."""

    count = 0
    refuses = False


@ffi.def_extern(name="ml_hook_poll")
def poll(owner: Any) -> int:
    Poll.count += 1
    return int(Poll.refuses)


def made(node: Any, threads: int) -> minilite.Interpreter:
    interpreter = minilite.Interpreter(model_content=node.model, num_threads=threads)
    for detail, array in zip(interpreter.get_input_details(), node.arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), node.arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    return interpreter


def outputs(interpreter: minilite.Interpreter) -> list[Any]:
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def stops(interpreter: minilite.Interpreter) -> bool:
    """True if the run ends when a poll refuses to go on."""
    Poll.refuses, Poll.count = True, 0
    try:
        interpreter.invoke()
    except minilite.MiniliteError:
        return Poll.count == 1
    finally:
        Poll.refuses = False
    return False


def found(node: Any) -> tuple[int, bool, bool]:
    """The polls of a run, whether one can end it, and whether results are the same with threads."""
    interpreter, other = made(node, 1), made(node, 3)
    Poll.count = 0
    ours = outputs(interpreter)
    count = Poll.count
    same = all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fV") for a, b in zip(ours, outputs(other), strict=True))
    return count, stops(interpreter), same


def combinations(op: str) -> Iterator[tuple[list[str], list[str]]]:
    """Types of inputs and outputs, the first that each row of the kernel's table takes."""
    row, seen = operators()[op], set()
    kernel = lib.ml_kernel_find(row.kernel.encode())
    for signature in row.types:
        for inputs, outs in written_out(signature):
            match = lib.ml_kernel_match(kernel, ffi.new("int32_t[]", [*inputs, *outs]), len(inputs), len(outs))
            has_eval = ffi.new("int32_t *")
            if match >= 0 and match not in seen and lib.ml_kernel_types(kernel, match, has_eval) and has_eval[0]:
                seen.add(match)
                yield tuple([TensorType(code).suffix for code in side] for side in (inputs, outs))


def main(ops: list[str]) -> None:
    result: dict[str, dict[str, Any]] = {}
    for op in ops or [*LARGE, *MODELS]:
        for inputs, outs in combinations(op):
            name = f"{' '.join(inputs)} -> {' '.join(outs)}"
            rng = np.random.default_rng(zlib.crc32(f"{op} {name}".encode()))
            try:
                result.setdefault(op, {})[name] = found(large_node(op, rng, tuple(inputs), tuple(outs)))
            except minilite.MiniliteError as error:
                result.setdefault(op, {})[name] = repr(error)
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
