"""The arena of TensorFlow Lite Micro: its head, where tensors and scratch lie, and its persistent part, byte by byte.

TFLM's allocator takes persistent memory from the end of the arena downwards: its own objects, a struct per tensor, node
and operand, the options of each node, and what kernels keep. The head is planned last, from the start of the arena
upwards; while it is planned, the planner's working memory lies there.

Source: tflite-micro, micro_allocator.cc, micro_interpreter.cc, single_arena_buffer_allocator.cc, commit 90b983c2
(2026-08-20); held against the package tflite-micro 0.dev20261023.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from minilite.format.model import Model, Node, Tensor
from minilite.memory.lower_bound import lower_bound
from minilite.memory.records import UsageRecord
from minilite.memory.tflm import ALIGNMENT, HOST, Lifetimes, greedy, scratch_records
from minilite.memory.tflm_kernels import EVAL_TENSOR, Build, Call, byte_size, call_of, kernel_of, sizes_for, struct, up

BUILDS = {
    "package": HOST,
    "64-bit": Build(pointer=8),
    "32-bit": Build(pointer=4),
}
"""The package tflite-micro, which is built with compression and counts what it allocates; and TFLM as its makefile
builds it, on machines with pointers of 8 and of 4 bytes."""
_REQUESTS = 12
"""TFLM reserves room for so many further requests of scratch while it prepares a node."""
_PLANNING = 16 + 4 + 4 + 12 + 4
"""The planner's working memory for one record, in bytes."""
_ALLOCATOR, _RECORDED_ALLOCATOR = "8Pi", "8Pi4P"
_PLANNER = "P2i4P2iPb"
_MICRO_ALLOCATOR = "5Pb3P"
_RECORDS, _COMPRESSION_RECORDS = "P21P", "P24P"
_TENSOR = "{iP}2i3P2ib"
_AFFINE = "2Pi"
_NODE = "{6Pi}P"
_VARIABLE = "4Pb"


class TflmArena(NamedTuple):
    """The arena of one build of TFLM for one model."""

    build: Build
    head: int
    """The bytes of tensors and scratch; without the scratch of unknown kernels."""
    head_bound: int
    """The most that is live at once: no plan makes the head smaller."""
    persistent: int
    """The bytes of everything else; without what unknown kernels keep."""
    shares: dict[str, int]
    """The persistent bytes by what they are for, before alignment."""
    operators: dict[str, int]
    """The persistent bytes that kernels of each operator keep, options included, before alignment."""
    planning: int
    """The least arena in which TFLM can prepare and plan the model; its working memory lies where the head comes to
    lie."""
    unknown: tuple[str, ...]
    """Operators whose kernels keep memory that is not known."""
    unknown_scratch: tuple[str, ...]
    """Operators whose kernels may request scratch that is not known."""

    @property
    def total(self) -> int:
        """Head and persistent part: what TFLM reports as used."""
        return self.head + self.persistent

    @property
    def tensor_arena_size(self) -> int:
        """The number for a manifest: the smallest arena, of a start that is aligned to 16, that is surely enough."""
        return up(max(self.total, self.planning), ALIGNMENT)


class _Tail:
    """Takes persistent memory from the arena's end downwards, and keeps account of what for."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.used = 0
        self.shares: Counter[str] = Counter()
        self.operators: Counter[str] = Counter()
        self.working = 0

    def take(self, share: str, size: int, alignment: int = ALIGNMENT) -> None:
        self.used = up(self.used + size, alignment)
        self.shares[share] += size

    def structs(self, share: str, fields: str, count: int = 1, alignment: int = 0) -> None:
        size, least = struct(fields, self.build)
        self.take(share, size * count, alignment or least)

    def keep(self, node: Node, size: int, alignment: int = ALIGNMENT) -> None:
        self.take("kernels", size, alignment)
        self.operators[node.op] += size

    def needs(self, bytes_in_head: int) -> None:
        """Notes that so much of the head is in use at this moment."""
        self.working = max(self.working, self.used + bytes_in_head)


def _bytes(fields: str, build: Build) -> int:
    return struct(fields, build)[0]


def _start(tail: _Tail, model: Model) -> None:
    """Takes what the interpreter needs before any node is looked at."""
    recording, compression = tail.build.recording, tail.build.compression
    tail.structs("allocator and planner", _RECORDED_ALLOCATOR if recording else _ALLOCATOR)
    tail.structs("allocator and planner", _PLANNER)
    records = (_COMPRESSION_RECORDS if compression else _RECORDS) if recording else ""
    tail.structs("allocator and planner", _MICRO_ALLOCATOR + records)
    if names := {node.options["shared_name"] for node, _ in _nodes(model) if node.op == "VAR_HANDLE"}:
        tail.structs("resource variables", "P2i", 1, ALIGNMENT)
        tail.structs("resource variables", _VARIABLE, len(names), ALIGNMENT)
    tail.structs("allocator and planner", "2P")
    tail.structs("tensors and nodes", "3P" if compression else "2P", len(model.subgraphs))
    for subgraph in model.subgraphs:
        tail.structs("tensors and nodes", EVAL_TENSOR, len(subgraph.tensors))
    for subgraph in model.subgraphs:
        tail.structs("tensors and nodes", _NODE, len(subgraph.nodes))


def _nodes(model: Model) -> list[tuple[Node, int]]:
    return [(node, subgraph.index) for subgraph in model.subgraphs for node in subgraph.nodes]


def _prepare(tail: _Tail, model: Model, lifetimes: Lifetimes) -> None:
    """Takes options of all nodes, then states of all, then what each keeps when it is prepared."""
    calls = [(call_of(model, index, node, tail.build), index) for node, index in _nodes(model)]
    for call, _ in calls:
        kernel = kernel_of(call.node)
        if kernel is not None and kernel.options:
            tail.keep(call.node, *struct(kernel.options, tail.build))
    for call, _ in calls:
        kernel = kernel_of(call.node)
        if kernel is not None and (size := _state(kernel.state, tail.build)):
            tail.keep(call.node, size)
    requests = {(s.subgraph, s.node): len(s.sizes or ()) for s in lifetimes.scratch(tail.build)}
    requested, variables = 0, _Variables(model)
    for call, index in calls:
        kernel = kernel_of(call.node)
        kept = sizes_for(kernel.keeps, call) if kernel is not None else ()
        for size in (*kept, *variables.allocated(call, index)):
            tail.keep(call.node, size)
        seen = [tensor for tensor in (*call.inputs, *call.outputs) if tensor is not None]
        looked_at = (kernel.looks if kernel is not None else 2) * sum(_temporary(tensor, tail.build) for tensor in seen)
        tail.needs(_bytes("P2i", tail.build) * (requested + _REQUESTS) + looked_at)
        requested += requests.get((index, call.node.index), 0)
    tail.take("scratch handles", tail.build.pointer * requested, tail.build.pointer)


def _state(fields: str, build: Build) -> int:
    return 0 if not fields or (fields == "c" and not build.compression) else _bytes(fields, build)


class _Variables:
    """The resource variables that have memory so far: ASSIGN_VARIABLE gives it to those whose handle is known."""

    def __init__(self, model: Model) -> None:
        self.names = {
            (index, node.outputs[0]): (node.options["container"], node.options["shared_name"])
            for node, index in _nodes(model)
            if node.op == "VAR_HANDLE"
        }
        self.ready: set[tuple[int, int]] = set()
        self.given: set[tuple[str, str]] = set()

    def allocated(self, call: Call, subgraph: int) -> list[int]:
        if call.node.op == "VAR_HANDLE":
            self.ready.add((subgraph, call.node.outputs[0]))
        handle = (subgraph, call.node.inputs[0] if call.node.inputs else -1)
        name = self.names.get(handle)
        if call.node.op != "ASSIGN_VARIABLE" or handle not in self.ready or name is None or name in self.given:
            return []
        self.given.add(name)
        return [byte_size(call.input(1))]


def _temporary(tensor: Tensor, build: Build) -> int:
    """The bytes of the struct that a kernel looks at a tensor by, at most."""
    scales = len(tensor.quantization.scales)
    return _bytes(_TENSOR, build) + (_bytes(_AFFINE, build) + 4 + 4 * scales + 8 if scales else 0)


def _ends(tail: _Tail, model: Model) -> None:
    """Takes the structs by which the program reaches the graph's inputs and outputs."""
    main = model.subgraphs[0]
    for numbers in (main.inputs, main.outputs):
        tail.structs("inputs and outputs", "P", len(numbers), ALIGNMENT)
        for number in numbers:
            tail.structs("inputs and outputs", _TENSOR)
            if scales := len(main.tensors[number].quantization.scales):
                tail.structs("inputs and outputs", _AFFINE)
                tail.take("inputs and outputs", 4 + 4 * scales, 4)


def tflm_arena(model: Model, build: Build = HOST, offsets: dict[int, int] | None = None) -> TflmArena:
    """The arena that TFLM needs for a model, with some tensors at given offsets. Raises: InputError for a node that
    lacks an operand, a dimension or an option that its kernel looks at."""
    lifetimes = Lifetimes(model)
    tail = _Tail(build)
    _start(tail, model)
    _prepare(tail, model, lifetimes)
    scratch = lifetimes.scratch(build)
    records: list[UsageRecord] = [*lifetimes.records(), *scratch_records(scratch)]
    infos = sum(len(subgraph.tensors) for subgraph in model.subgraphs) + sum(len(s.sizes or ()) for s in scratch)
    for subgraph in model.subgraphs:
        for tensor in subgraph.tensors:
            if tensor.is_variable:
                tail.take("variables", byte_size(tensor))
    requests = _bytes("P2i", build) * (sum(len(s.sizes or ()) for s in scratch) + _REQUESTS)
    planning = up(requests + build.pointer * len(model.subgraphs), 8) + infos * _bytes("2P3ib", build)
    tail.needs(up(planning, ALIGNMENT) + _PLANNING * len(records))
    _ends(tail, model)
    custom = {node.op for node, _ in _nodes(model) if kernel_of(node) is None}
    hidden = {model.subgraphs[s.subgraph].nodes[s.node].op for s in scratch if s.sizes is None}
    return TflmArena(
        build, greedy(records, offsets or {}), lower_bound(records, ALIGNMENT), tail.used, dict(tail.shares),
        dict(tail.operators), tail.working, tuple(sorted(custom)), tuple(sorted(hidden)),
    )  # fmt: skip
