"""The models whose lowering is recorded: nodes in every combination of types, drawn ones, ones of a kind, and mutants.

Nothing here reads which types an operator takes now: `lowering/takes.txt` has those of the day the record began, so
that the cases stay the same while operators change. `python -m support.lowering_record --takes` writes it anew.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import pathlib
import sys
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from flatbuffers import flexbuffers
from support.cases import Case as TypesCase
from support.lowering_mutants import Dice, mutant, operands_of, some_options, some_quantization
from support.lowering_sweeps import sweeps
from support.node import OneNode, Out

import minilite
from minilite._core import ffi
from minilite._native.kernels import find_kernel
from minilite.errors import MiniliteError
from minilite.format._spec import options_table
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Model
from minilite.format.reader import read_model
from minilite.ops_shared.types import written_out

TAKES = pathlib.Path(__file__).parent / "lowering" / "takes.txt"
OPS = pathlib.Path(__file__).parents[1] / "ops"
TYPES, DRAWN_NODES, SEED = 180, 10, 20
KINDS, KIND_NODES = 2, 8
MUTANTS, CORRUPTED = 51, 30
F32, S32, S64, S16, B8 = (TensorType[name] for name in ("FLOAT32", "INT32", "INT64", "INT16", "BOOL"))


class Case(NamedTuple):
    """One model."""

    name: str
    data: bytes
    custom_ops: Mapping[str, Any] = {}
    references: bool = False
    """It is recorded as its numpy references run it, too."""


Sides = tuple[tuple[int, ...], tuple[int, ...]]
"""The types of inputs and of outputs, by code."""


class Takes(NamedTuple):
    """What an operator takes."""

    first: int
    last: int
    """Its versions."""
    types: tuple[str, ...]

    def combinations(self, most: int) -> list[Sides]:
        """Operand types, so many of them at most, spread over all."""
        every = [sides for text in self.types for sides in itertools.islice(written_out(text), TYPES)]
        return [every[i * len(every) // most] for i in range(most)] if len(every) > most else every


@functools.cache
def takes() -> dict[str, Takes]:
    """What every operator takes, read from the file."""
    found = {}
    for line in TAKES.read_text().splitlines():
        op, versions, types = line.split(" ", 2)
        first, _, last = versions.partition("-")
        found[op] = Takes(int(first), int(last), tuple(types.split("; ")))
    return found


@functools.cache
def type_cases() -> dict[str, Any]:
    """EVERY_TYPE of the tests of all families."""
    if str(OPS) not in sys.path:
        sys.path.insert(0, str(OPS))
    found = [getattr(importlib.import_module(p.stem), "EVERY_TYPE", {}) for p in sorted(OPS.glob("test_*.py"))]
    return {op: case for family in found for op, case in family.items()}


def groups() -> list[str]:
    """The arguments that `cases_of` takes: the operators, and two groups that belong to no operator."""
    return [*takes(), "corrupted", "customs"]


def cases_of(op: str) -> Iterator[Case]:
    """All models of an operator; for "corrupted" and "customs", those that these functions make."""
    if op not in takes():
        yield from {"corrupted": corrupted, "customs": customs}[op]()
        return
    whole = [*_typed(op), *_drawn(op), *_special(op)]
    yield from whole
    templates = _readable(whole)
    yield from _kinds(op, templates)
    yield from (Case(*made) for made in sweeps(op, templates, takes()[op].last))
    for number in range(MUTANTS):
        yield _mutant(op, number, templates, corrupted=False)


def corrupted() -> Iterator[Case]:
    """Nodes of custom operators whose options have damaged bytes."""
    for op in takes():
        templates = _readable([*_typed(op), *_special(op)])
        customs = [model for model in templates if any(node.custom_options for node in model.subgraphs[0].nodes)]
        if customs:
            yield from (_mutant(op, number, customs, corrupted=True) for number in range(CORRUPTED))


def _readable(cases: list[Case]) -> list[Model]:
    """The models that the reader takes."""
    found = []
    for case in cases:
        with contextlib.suppress(MiniliteError):
            found.append(read_model(case.data))
    return found


def _mutant(op: str, number: int, templates: list[Model], *, corrupted: bool) -> Case:
    """The first of some mutants that the reader accepts; the last one if it accepts none."""
    for attempt in range(6):
        dice = Dice(op, number, attempt, corrupted)
        made = mutant(dice.one(*templates), op, dice, takes()[op].last, corrupted=corrupted)
        if made is not None and (made.readable or attempt == 5):
            return Case(f"{op} {'corrupted' if corrupted else 'mutant'} {number}: {made.how}", made.data)
    message = f"no mutant {number} of {op} can be written"
    raise AssertionError(message)


def _typed(op: str) -> Iterator[Case]:
    printed = type_cases().get(op)
    for sides in takes()[op].combinations(TYPES) if printed is not None else ():
        inputs, outputs = (tuple(TensorType(code).suffix for code in side) for side in sides)
        rng = np.random.default_rng(zlib.crc32(repr((op, inputs, outputs)).encode()))
        case = printed if isinstance(printed, TypesCase) else printed(rng, inputs, outputs)
        node = case.node(op, rng, inputs, outputs) if isinstance(case, TypesCase) else case[0]
        yield Case(f"{op} types {' '.join(inputs)} -> {' '.join(outputs)}", node.model, references=True)


def _drawn(op: str) -> Iterator[Case]:
    from support.drawn import made
    from support.drawn_all import DRAWN

    for number in range(DRAWN_NODES) if op in DRAWN else ():
        yield Case(f"{op} drawn {number}", made(op, SEED, number).model, references=True)


def _kinds(op: str, templates: list[Model]) -> Iterator[Case]:
    """Models of several nodes of the same types, whose quantization and options differ."""
    if not templates:
        return
    number = 0
    for i, (inputs, outputs) in enumerate(takes()[op].combinations(KINDS)):
        variants = [(inputs, outputs)]
        if i == 0 and inputs:
            variants += [((*inputs[:-1], -1), outputs), (inputs[:-1], outputs), (inputs[::-1], outputs)]
        for sides in variants:
            dice = Dice(op, "kind", number)
            yield Case(f"{op} kinds {number}", _nodes(op, sides, dice, templates))
            number += 1


def _nodes(op: str, sides: Sides, dice: Dice, templates: list[Model]) -> bytes:
    graph = (made := ModelBuilder()).subgraph()
    table = options_table(op)
    for _ in range(KIND_NODES):
        old = operands_of(dice.one(*templates), op)
        base = some_quantization(dice) if dice.often(0.6) else None
        sign = dice.often(0.5)

        def operand(code: int, base: Any = base, sign: bool = sign) -> int:
            if code < 0:
                return -1
            q = some_quantization(dice, TensorType(code)) if base is None or dice.often(0.2) else base
            if sign and dice.often(0.5):
                return graph.tensor("v", (2, 2), TensorType(code), quantization=q, variable=True)
            return graph.input("x", (2, 2), TensorType(code), quantization=q)

        inputs = [operand(code) for code in sides[0]]
        outputs = [
            graph.tensor("y", (2, 2), TensorType(code), quantization=base or some_quantization(dice, TensorType(code)))
            for code in sides[1]
        ]
        middle = [operand(int(dice.one(9, 7))) for _ in old.intermediates]
        options = dict(old.options)
        if table is not None and dice.often(0.7):
            options |= some_options(table.table, dice)
        custom: dict[str, Any] = {"custom": old.custom, "custom_options": old.custom_options}
        version = takes()[op].first
        graph.node(op, inputs, outputs, version=version, options=options, intermediates=middle, **custom)
    return made.build()


# By hand: what is more than a node ------------------------------------------------------------------------------------


def flexbuffer(**options: Any) -> bytes:
    """The options of a custom operator."""
    return bytes(flexbuffers.Dumps(options))


def _special(op: str) -> Iterator[Case]:
    for number, (known, data) in enumerate(_by_hand()):
        if op in known:
            yield Case(f"{op} by hand {number}", data, references=True)


@functools.cache
def _by_hand() -> tuple[tuple[tuple[str, ...], bytes], ...]:
    noise = {
        "alternate_one_minus_smoothing": 15401,
        "alternate_smoothing": 983,
        "clamping": False,
        "min_signal_remaining": 819,
        "num_channels": 6,
        "one_minus_smoothing": 15975,
        "smoothing": 409,
        "smoothing_bits": 10,
        "spectral_subtraction_bits": 14,
    }
    x, two = np.zeros((2, 8), np.int16), [Out("u32", shape=(6,))] * 2
    frames, stacked = [Out("s16", shape=(2, 4, 6)), Out("b8", shape=())], [Out("s16", shape=(4,)), Out("b8", shape=())]
    single = {
        "SignalFilterBankSpectralSubtraction": ([np.zeros(6, np.uint32)], two, noise),
        "SignalFramer": ([x], frames, {"frame_size": 6, "frame_step": 2, "prefill": True}),
        "SignalOverlapAdd": ([x], [Out("s16", shape=(4,))], {"T": int(S16), "frame_step": 2}),
        "SignalDelay": ([x], [Out("s16", shape=(2, 8))], {"delay_length": 3}),
        "SignalStacker": (
            [x[0]],
            stacked,
            {"num_channels": 2, "stacker_left_context": 1, "stacker_right_context": 0, "stacker_step": 2},
        ),
    }
    made = [
        ((op,), OneNode(op, given, outs=outs, custom=flexbuffer(**printed)).model)
        for op, (given, outs, printed) in single.items()
    ]
    return (
        *made,
        (("WHILE", "IF", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "CALL_ONCE"), _control_flow()),
        (("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"), _variables()),
        (("HASHTABLE", "HASHTABLE_IMPORT", "HASHTABLE_FIND", "HASHTABLE_SIZE"), _tables()),
        (("DENSIFY", "DEQUANTIZE", "FULLY_CONNECTED"), _folds()),
    )


def _control_flow() -> bytes:
    made = ModelBuilder()
    g = made.subgraph("main")
    x, count, which, either = (
        g.input(name, shape, kind)
        for name, shape, kind in (("x", (3,), F32), ("count", (), S32), ("which", (), S32), ("either", (), B8))
    )
    g.node("CALL_ONCE", [], options={"init_subgraph_index": 5})
    carried = g.node(
        "WHILE",
        [count, x],
        out=[("n", (), S32), ("w", (3,))],
        options={"cond_subgraph_index": 1, "body_subgraph_index": 2},
    )
    y = g.node("IF", [either, x], out=("i", (3,)), options={"then_subgraph_index": 3, "else_subgraph_index": 4})
    z = g.node("STABLEHLO_CASE", [which, x], out=("c", (3,)), options={"branch_subgraph_indices": (3, 4, 3)})
    w = g.node("STABLEHLO_COMPOSITE", [x], out=("o", (3,)), options={"name": "n", "decomposition_subgraph_index": 3})
    g.output(*carried, y, z, w)
    condition = made.subgraph("condition")
    n, _ = condition.input("n", (), S32), condition.input("w", (3,))
    condition.output(condition.node("LESS", [n, condition.constant("most", np.array(4, np.int32))], out=("t", (), B8)))
    body = made.subgraph("body")
    n, w = body.input("n", (), S32), body.input("w", (3,))
    n = body.node("ADD", [n, body.constant("one", np.array(1, np.int32))], out=("m", (), S32))
    body.output(n, body.node("ADD", [w, w], out=("v", (3,))))
    for name, op in (("then", "NEG"), ("else", "ABS")):
        branch = made.subgraph(name)
        branch.output(branch.node(op, [branch.input("x", (3,))], out=("y", (3,))))
    once = made.subgraph("once")
    once.node("NEG", [once.constant("c", np.zeros(3, np.float32))], out=("d", (3,)))
    return made.build()


def _variables() -> bytes:
    made = ModelBuilder()
    g = made.subgraph("main")
    x = g.input("x", (4,))
    g.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    names = (("", "a"), ("c", "a"), ("", "b"), ("", "a"))
    handles = [_handle(g, container, name) for container, name in names]
    for i, handle in enumerate(handles):
        y = g.node("READ_VARIABLE", [handle], out=(f"y{i}", (4,)))
        g.node("ASSIGN_VARIABLE", [handle, g.node("ADD", [x, y], out=(f"z{i}", (4,)))])
        g.output(y)
    once = made.subgraph("once")
    once.node("ASSIGN_VARIABLE", [_handle(once, "", "z"), once.constant("c", np.zeros(4, np.float32))])
    once.node("ASSIGN_VARIABLE", [_handle(once, "", "b"), once.constant("d", np.ones(4, np.float32))])
    return made.build()


def _handle(graph: Any, container: str, name: str) -> Any:
    out = (f"h{container}{name}", (), TensorType.RESOURCE)
    return graph.node("VAR_HANDLE", [], out=out, options={"container": container, "shared_name": name})


def _tables() -> bytes:
    graph = (made := ModelBuilder()).subgraph()
    words = np.array([b"a", b"bc"], object)
    numbers = np.array([1, -2], np.int64)
    pairs = (("STRING", "INT64", words, numbers), ("INT64", "STRING", numbers, words))
    for number, (key, to, keys, values) in enumerate(pairs):
        options = {"table_id": number, "key_dtype": key, "value_dtype": to}
        table = graph.node("HASHTABLE", [], out=(f"t{number}", (1,), TensorType.RESOURCE), options=options)
        wanted = graph.input(f"w{number}", (4,), TensorType[key])
        graph.node("HASHTABLE_IMPORT", [table, graph.constant("k", keys), graph.constant("v", values)])
        operands = [table, wanted, graph.constant("d", values[:1])]
        found = graph.node("HASHTABLE_FIND", operands, out=(f"f{number}", (4,), TensorType[to]))
        graph.output(found, graph.node("HASHTABLE_SIZE", [table], out=(f"s{number}", (1,), S64)))
    return made.build()


def _folds() -> bytes:
    """Halves and sparse weights that become float32 before any run, one through the other; and a sparse constant."""
    from support.sparse import compressed

    graph = (made := ModelBuilder()).subgraph()
    x = graph.input("x", (2, 4))
    weights = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 4]])
    for kind in (np.float32, np.float16):
        stored, sparsity = compressed(weights.astype(kind))
        half = TensorType.FLOAT32 if kind == np.float32 else TensorType.FLOAT16
        sparse = graph.constant("s", stored, half, shape=(3, 4), sparsity=sparsity)
        dense = graph.node("DENSIFY", [sparse], out=("d", (3, 4), half))
        if half != F32:
            dense = graph.node("DEQUANTIZE", [dense], out=("f", (3, 4)))
        graph.output(graph.node("FULLY_CONNECTED", [x, dense, -1], out=("y", (2, 3))))
        if half == F32:
            graph.output(graph.node("FULLY_CONNECTED", [x, sparse, -1], out=("z", (2, 3))))
    halves = graph.constant("h", weights.astype(np.float16))
    wide = graph.node("DEQUANTIZE", [halves], out=("w", (3, 4)))
    graph.output(graph.node("FULLY_CONNECTED", [x, wide, -1], out=("u", (2, 3))))
    return made.build()


# The caller's operators -----------------------------------------------------------------------------------------------


def customs() -> Iterator[Case]:
    """Custom operators of the caller's: functions, kernels by address, missing ones, and names that are built in."""

    def plain(node: Any, *inputs: Any) -> Any:
        return inputs[0]

    def shaped(node: Any, *inputs: Any) -> Any:
        return inputs[0]

    shaped.shape = lambda node, shapes: [shapes[0]]  # type: ignore[attr-defined]
    info = find_kernel("leaky_relu")
    assert info is not None
    address = int(ffi.cast("uintptr_t", info.pointer))
    ops = {
        "Plain": plain,
        "Shaped": shaped,
        "Kernel": minilite.kernel(address, {"alpha": 0.25}),
        "ByNode": minilite.kernel(address, lambda node: {"alpha": len(node.custom_options)}),
        "Wrong": minilite.kernel(address, {"beta": 1.0}),
        "NoFunction": 3,
        "SignalDelay": plain,
    }
    made = [("SignalDelay", flexbuffer(delay_length=3)), *((name, b"abc") for name in ("Missing", "FlexAdd", *ops))]
    for name, options in made:
        for kind in (F32, S16, TensorType.INT8, TensorType.STRING):
            graph = (builder := ModelBuilder()).subgraph()
            x = graph.input("x", (2, 8), kind)
            out = ("y", (2, 8), kind)
            graph.output(graph.node(name, [x], out=out, custom=True, custom_options=options))
            data = builder.build()
            yield Case(f"custom {name} {kind.suffix}", data)
            yield Case(f"custom {name} {kind.suffix} given", data, ops, True)
    for op in ("CALL", "DELEGATE", "BUILTIN_999", "ADD"):
        graph = (builder := ModelBuilder()).subgraph()
        x = graph.input("x", (2,))
        graph.output(graph.node(op, [x, x], out=("y", (2,))))
        yield Case(f"builtin {op}", builder.build(), {op: plain})
