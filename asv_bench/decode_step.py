"""Times a decode step of a small transformer, and compares it with LiteRT's and with this machine's rate of reading
memory.

usage: python -m asv_bench.decode_step [--rounds 60]

The model is that of benchmarks/decode.py, whose class Step shows how caches stay where they are. Times are the least
and the median of rounds that take turns, one thread each; a line says how much a step reads, weights and caches, and
how fast. LiteRT computes its outputs, the caches too, from its inputs, as the file has it.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np

from asv_bench.benchmarks import decode, timing


def theirs(decoder: decode.Decoder) -> Any:
    """LiteRT, ready for the last token of a full cache."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=decoder.model, num_threads=1)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        value = np.zeros(detail["shape"], detail["dtype"])
        if detail["name"].startswith("position"):
            value[...] = decode.PLACES - 1
        interpreter.set_tensor(detail["index"], value)
    return interpreter


def read_rate() -> float:
    """Bytes a nanosecond that a sum over as much as a step reads gets from memory."""
    data = np.ones(6 << 20, np.float32)
    cost = min(timing.in_turn([lambda: data.max()], 30, 2_000_000)[0])
    return data.nbytes / cost


def main() -> None:
    """Prints a line for each kind of weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="times each side is measured")
    rounds = parser.parse_args().rounds
    rate = read_rate()
    print(f"memory is read at {rate:.1f} GB/s by one thread (numpy's max)")
    for weights in decode.WEIGHTS:
        decoder = decode.Decoder(weights)
        step = decode.Step(decoder)
        step.mask[...], step.position[...] = 0, decode.PLACES - 1
        sides = [step.interpreter.invoke, theirs(decoder).invoke]
        ours, other = ([cost / 1000 for cost in side] for side in timing.in_turn(sides, rounds, 5_000_000))
        read = decoder.weight_bytes + decoder.cache_bytes
        print(
            f"{weights:10} ours {min(ours):8.1f} us ({statistics.median(ours):.1f}), "
            f"LiteRT {min(other):8.1f} ({statistics.median(other):.1f}), theirs over ours {min(other) / min(ours):.2f} "
            f"({statistics.median(other) / statistics.median(ours):.2f}); weights {decoder.weight_bytes / 1e6:.1f} MB, "
            f"caches {decoder.cache_bytes / 1e6:.1f} MB, {read / min(ours) / 1e3:.1f} GB/s"
        )


if __name__ == "__main__":
    main()
