"""Compares slices with full runs: for tensors that nodes compute, `run(until=)` and `run(since=)` give what a full run
does, bit for bit.

    python tests/trust slices MODEL... [--sample N]     # every tensor of the models, or N of each

Prints a line per model; status 1 if any value differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minilite import Interpreter, MiniliteError
from minilite.errors import InputError
from minilite.inputs.random_values import random_values


class Found(NamedTuple):
    """The counts of comparisons of a model."""

    tensors: int
    """The number of tensors for which both ways gave a value."""
    refused: int
    """For which a slice is refused, or that a full run does not leave."""
    differing: list[str]


def same(found: Any, wanted: Any) -> bool:
    """Bit for bit, but for which NaN it is."""
    return bool(found.dtype == wanted.dtype and np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc"))


def compare(model: Any, sample: int | None = None, seed: int = 0) -> Found:
    """Every tensor that a node computes, or a sample of them. Raises: MiniliteError where the full run fails."""
    full, part = Interpreter(model, experimental_preserve_all_tensors=True), Interpreter(model)
    graph = full.model.subgraphs[0]
    rng = np.random.default_rng(seed)
    inputs = {i: random_values(graph.tensors[i], graph.tensors[i].shape, rng) for i in graph.inputs}
    full.run(inputs)
    outputs = {i: full.get_tensor(i) for i in graph.outputs}
    computed = [i for node in graph.nodes for i in node.outputs if i >= 0]
    if sample is not None and sample < len(computed):
        computed = [computed[i] for i in sorted(rng.choice(len(computed), sample, replace=False))]
    refused, differing = 0, []
    for index in computed:
        name = graph.tensors[index].name
        try:
            value = full.get_tensor(index)
            (until,) = part.run(inputs, until=index).values()
            since = part.run(inputs, since={index: value})
        except (InputError, MiniliteError):
            refused += 1
            continue
        if not same(until, value):
            differing.append(f"until {index} '{name}'")
        wrong = [i for i in graph.outputs if not same(since[graph.tensors[i].name], outputs[i])]
        differing += [f"since {index} '{name}': output {i}" for i in wrong]
    return Found(len(computed) - refused, refused, differing)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares the models that the command names."""
    parser = argparse.ArgumentParser(description="Compare slices of models with full runs.")
    parser.add_argument("models", metavar="MODEL", nargs="+")
    parser.add_argument("--sample", metavar="N", type=int, help="tensors of each model (default: all)")
    options = parser.parse_args(arguments)
    tensors = models = wrong = 0
    for path in options.models:
        try:
            found = compare(path, options.sample)
        except MiniliteError as error:
            print(f"{path}: not run: {error}")
            continue
        tensors, models, wrong = tensors + found.tensors, models + (found.tensors > 0), wrong + len(found.differing)
        text = f"{path}: {found.tensors} tensors, {found.refused} refused, {len(found.differing)} differ"
        print("\n  ".join([text, *found.differing]), flush=True)
    print(f"{models} models, {tensors} tensors, {wrong} differences")
    return int(wrong > 0)
