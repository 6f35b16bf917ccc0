"""Changes models, and uses what comes out: loads, runs, resizes, reads, copies. Only a MiniliteError is in order.

    python tests/trust fuzz_models [--seed 0] [--count 1000] [--only NUMBER] [--seconds 10]

Mutant NUMBER of a seed is the same every time: --only runs it in this process. Otherwise children run them, in which
each mutant has so many seconds of processor time; a child that dies is replaced. Prints each failure with its number,
and how many mutants were models, ran, and failed. Ends with status 1 if any failed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import random
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import minilite
from minilite.errors import MiniliteError
from minilite.format.reader import read_model

REFERENCE = {"experimental_op_resolver_type": minilite.OpResolverType.BUILTIN_REF}
PLANNERS = ("default", "default", "default", "exact", "greedy_by_size", "naive", "tflite", "equality")


class Mutant(NamedTuple):
    """The bytes of a model, values for the inputs that it had, and options to use it with."""

    source: str
    model: bytes
    arrays: Sequence[Any]
    options: dict[str, Any]


def sources(chance: random.Random) -> tuple[str, bytes, Sequence[Any]]:
    """A model that nobody has changed yet: a node of any operator, or one of a few with loops, strings, variables."""
    from support.drawn import made
    from support.drawn_all import DRAWN
    from trust.sequence_models import MODELS
    from trust.test_reader_fuzz import SEEDS, seed

    if chance.random() < 0.7:
        op, number = chance.choice(sorted(DRAWN)), chance.randrange(1000)
        node = made(op, 7, number)
        return f"{op} {number}", node.model, node.arrays
    if chance.random() < 0.8:
        name = chance.choice(sorted(MODELS))
        return name, MODELS[name]().model, ()
    name = chance.choice(sorted(SEEDS))
    return name, seed(name, external=False), ()


def mutant_of(seed: int, number: int) -> Mutant | None:
    """Mutant `number`; None if its tables cannot be written as a file."""
    from trust.structure import restructured
    from trust.test_reader_fuzz import mutants

    chance = random.Random(f"{seed} {number}")
    name, model, arrays = sources(chance)
    change = restructured if chance.random() < 0.85 else mutants
    changed = None
    with contextlib.suppress(MiniliteError):  # a drawn node need not be a model
        changed = next(iter(change(model, 1, f"{seed} {number}")), None)
    options: dict[str, Any] = {"planner": chance.choice(PLANNERS), "num_threads": chance.choice((1, 1, 1, 2))}
    options |= {"preserve_inputs": chance.random() < 0.7, "in_place": chance.choice(("wide", "wide", "tflite", "none"))}
    options |= {"reorder": chance.random() < 0.1, **(REFERENCE if chance.random() < 0.12 else {})}
    return None if changed is None else Mutant(name, changed, arrays, options)


def outcome(mutant: Mutant | None, seed: int, number: int, seconds: float) -> str:
    """Returns the fate of a mutant: "not written", "refused", "a model", "ran". Raises errors that a caller must never
    see."""
    from support.time_limit import ends_within
    from trust.using import use

    if mutant is None:
        return "not written"
    with ends_within(seconds):
        try:
            read_model(mutant.model)
        except MiniliteError:
            return "refused"
        chance = random.Random(f"use {seed} {number}")
        return "ran" if use(mutant.model, mutant.arrays, chance, **mutant.options) else "a model"


def answer_of(seed: int, number: int, seconds: float) -> str:
    """The outcome of a mutant, also of one that fails; prints how."""
    try:
        return outcome(mutant_of(seed, number), seed, number, seconds)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - that is what is looked for
        print(f"--only {number}: {''.join(traceback.format_exception(error))}", flush=True)
        return f"FAILED {type(error).__name__}"


def fuzz(seed: int, count: int, seconds: float) -> collections.Counter[str]:
    """Uses mutants 0 to count - 1; how many had each outcome."""
    from support import apart

    total: collections.Counter[str] = collections.Counter()
    for number, found in apart.answers(lambda n: answer_of(seed, n, seconds), range(count), begin=faulthandler.enable):
        word = f"FAILED: ended with {found.status}" if isinstance(found, apart.Ended) else found
        total[word] += 1
        if isinstance(found, apart.Ended):
            print(f"--only {number}: {word}", flush=True)
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time that a mutant has")
    given = parser.parse_args(arguments)
    if given.only is not None:
        mutant = mutant_of(given.seed, given.only)
        print(mutant.source if mutant else "", mutant.options if mutant else "", flush=True)
        print(outcome(mutant, given.seed, given.only, given.seconds))
        return 0
    total = fuzz(given.seed, given.count, given.seconds)
    failed = sum(count for what, count in total.items() if what.startswith("FAILED"))
    print(", ".join(f"{what} {count}" for what, count in sorted(total.items())))
    print(f"seed {given.seed}: {sum(total.values())} mutants, {failed} failed")
    return 1 if failed else 0
