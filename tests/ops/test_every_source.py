"""Every operand of every operator, from a constant, an input, a node, a variable or a bound buffer: the answer is the
same, and what is refused is refused by LiteRT, too."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import apart, peer
from support.cases import Case
from support.compare import BUILTIN, REFERENCE, run_litert
from support.drawn import attempt, near
from support.litert_types import cases, named
from support.node import Array
from support.sources import (
    ASSIGNED,
    ASSIGNED_LAST,
    COMPUTED,
    CONSTANT,
    INITIAL,
    INPUT,
    Sourced,
    may_be_constant,
    sourced,
    tensors_of,
)

import minilite
from minilite._native.kernels import level_names
from minilite.format.builder import write_model
from minilite.ops import operators

KNOWN = cases()
ROWS = [row for row in operators().values() if row.name in KNOWN]
BOUND = "bound"
SOURCES = (INPUT, COMPUTED, INITIAL, ASSIGNED, BOUND)


def node_of(op: str, types: Any) -> Any:
    """The case's node in these types."""
    rng = np.random.default_rng(zlib.crc32(repr((op, types)).encode()))
    case = KNOWN[op] if isinstance(KNOWN[op], Case) else KNOWN[op](rng, *types)
    return case.node(op, rng, *types) if isinstance(case, Case) else case[0]


def runs(one: Sourced, values: list[Array], *, bound: bool = False, **options: Any) -> list[Any]:
    """Returns the outputs or the error of a new interpreter for each value of the operand."""

    def run(value: Array) -> list[Array]:
        arrays = list(one.arrays)
        if one.at >= 0:
            arrays[one.at] = value
        for i, (detail, array) in enumerate(zip(details, arrays, strict=True)):
            if bound and i == one.at:
                buffer[...] = array
            else:
                interpreter.set_tensor(detail["index"], array)
        interpreter.reset_all_variables()
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    interpreter = minilite.Interpreter(one.model, **options)
    details, buffer = interpreter.get_input_details(), values[0].copy()
    for detail, array in zip(details, one.arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    if bound:
        interpreter.bind_tensor(details[one.at]["index"], buffer)
    interpreter.allocate_tensors()
    return [attempt(partial(run, value)) for value in values]


class Different(NamedTuple):
    """An operand from a source, whose answer is not that of a constant."""

    message: str
    refused: bool
    """Only this source is refused."""
    one: Sourced
    value: Array


def another(value: Array) -> Array:
    """The same elements in the opposite order: another value of this type and shape, except of scalars."""
    return value.reshape(-1)[::-1].reshape(value.shape).copy()


def outcomes(one: Sourced, values: list[Array], **how: Any) -> list[Any]:
    """As `runs`; where no run begins, its error for each value."""
    found = attempt(lambda: runs(one, values, **how))
    return [found] * len(values) if isinstance(found, Exception) else found


def differences(op: str, types: Any, sources: Sequence[str], **options: Any) -> Iterator[Different]:
    """Compares the sources of each operand with a constant, for a value, for another one, and for the first again."""
    node = node_of(op, types)
    model = minilite.load_model(node.model)
    for number, value in tensors_of(model, node.arrays).items():
        values, constant = [value, another(value), value], may_be_constant(model, number)
        first = CONSTANT if constant else INPUT
        expected = [outcomes(sourced(model, node.arrays, number, x, first), [x], **options)[0] for x in values[:2]]
        for source in sources:
            if source in (INITIAL, BOUND) and not constant:
                continue
            one = sourced(model, node.arrays, number, value, INPUT if source == BOUND else source)
            tried = values[:1] if source == INITIAL else values
            found = outcomes(one, tried, bound=source == BOUND, **options)
            for run, (a, b) in enumerate(zip([*expected, expected[0]], found, strict=False)):
                refused = isinstance(b, Exception)
                if refused and isinstance(a, Exception):
                    continue
                text = str(b) if refused else str(a) if isinstance(a, Exception) else near(a, b, 1e-5)
                if text:
                    where = f"{types}, tensor {number} {source} against {first}, run {run}"
                    yield Different(f"{where}: {text}", refused, one, tried[run])


def litert_runs(one: Sourced, value: Array) -> bool:
    """True if LiteRT computes the node, by any of its kernels; it may end the process."""
    arrays = [value if i == one.at else array for i, array in enumerate(one.arrays)]
    model = write_model(one.model)
    kernels = (REFERENCE, BUILTIN)
    return not all(isinstance(attempt(partial(run_litert, model, arrays, k)), Exception) for k in kernels)


def faults(op: str, lines: Sequence[Any], sources: Sequence[str] = SOURCES, **options: Any) -> list[str]:
    """The differences that LiteRT does not excuse by a refusal of its own."""
    found = [different for types in lines for different in differences(op, types, sources, **options)]
    judged = [different for different in found if different.refused and peer.HERE]
    answers = apart.answers(lambda i: litert_runs(judged[i].one, judged[i].value), range(len(judged)))
    excused = [judged[i].message for i, runs_there in answers if runs_there is not True]
    return [different.message for different in found if different.message not in excused]


def test_every_operator_has_a_case() -> None:
    """The others have subgraphs, resources or random numbers."""
    assert [row.name for row in operators().values() if row.name not in KNOWN and row.reference is not None] == []


@pytest.mark.parametrize("op", [row.name for row in ROWS])
def test_one_line_of_types(op: str) -> None:
    assert faults(op, list(named(operators()[op]))[:1]) == []


def packs(op: str) -> bool:
    """True if a plan asks the Model's store for weights in the order of a level's inner loops."""
    interpreter = minilite.Interpreter(node_of(op, next(named(operators()[op]))).model)
    interpreter.allocate_tensors()
    return interpreter.counters["store_lookups"] > 0


PACKING = [row.name for row in ROWS if packs(row.name)]
STEPPING = [row.name for row in ROWS if row.writes and row.name not in PACKING]
"""Operators that step through a sequence, which pack weights by themselves; they have many operands."""


def test_operators_that_pack_weights_are_found() -> None:
    assert {"CONV_2D", "FULLY_CONNECTED", "SVDF"} <= {*PACKING}
    assert {"RNN", "LSTM"} <= {*STEPPING}


@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("op", [*PACKING, *STEPPING])
def test_weights_assigned_between_runs(op: str, level: str) -> None:
    lines = list(named(operators()[op]))
    assert faults(op, lines if op in PACKING else lines[:1], [ASSIGNED], level=level) == []


def other_shapes(value: Array) -> Iterator[Array]:
    """The values, repeated or cut, in shapes that differ in one dimension or in rank."""
    shapes = [(*value.shape, 1), (value.size,), value.shape[1:]]
    for d, n in enumerate(value.shape):
        shapes += [(*value.shape[:d], other, *value.shape[d + 1 :]) for other in (0, n - 1, n + 1, 2 * n)]
    for shape in dict.fromkeys(shapes):
        if shape != value.shape:
            yield np.resize(value, shape) if value.size else np.zeros(shape, value.dtype)


def next_run(interpreter: minilite.Interpreter, arrays: Sequence[Array]) -> Any:
    """The outputs of a run that no earlier one has touched but by resource variables, or its error."""
    inputs = interpreter.model.subgraphs[0].inputs
    attempt(interpreter.reset_all_variables)
    return attempt(lambda: list(interpreter.run(dict(zip(inputs, arrays, strict=True))).values()))


@pytest.mark.parametrize("op", [*PACKING, *STEPPING])
def test_a_variable_takes_a_value_of_another_shape(op: str) -> None:
    """The node then computes what it does with an input of that shape, or both are refused: in the run that assigns the
    value, and in the run after one that assigned it last."""
    node = node_of(op, next(named(operators()[op])))
    model, found = minilite.load_model(node.model), []
    for number, value in tensors_of(model, node.arrays).items():
        if not may_be_constant(model, number):
            continue
        given, now, later = (sourced(model, node.arrays, number, value, s) for s in (INPUT, ASSIGNED, ASSIGNED_LAST))
        at_once, afterwards = minilite.Interpreter(now.model), minilite.Interpreter(later.model)
        for other in [*other_shapes(value), value]:
            arrays = [[other if i == one.at else x for i, x in enumerate(one.arrays)] for one in (given, now, later)]
            expected = next_run(minilite.Interpreter(given.model), arrays[0])
            answers = {"at once": next_run(at_once, arrays[1])}
            afterwards.reset_resources()
            first = next_run(afterwards, arrays[2])
            assert not isinstance(first, Exception), first
            answers["afterwards"] = next_run(afterwards, arrays[2])
            for when, answer in answers.items():
                refused = [isinstance(each, Exception) for each in (expected, answer)]
                text = "" if all(refused) else near(expected, answer, 1e-5) if not any(refused) else str(answer)
                if text:
                    found.append(f"tensor {number} of shape {other.shape} {when}: {text}, input: {expected}")
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("op", [row.name for row in ROWS])
def test_every_line_of_types(op: str) -> None:
    assert faults(op, list(named(operators()[op]))) == []
