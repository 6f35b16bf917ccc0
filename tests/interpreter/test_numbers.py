"""Every number that a public call takes: integers of any type are taken alike, and what is no number, or does not fit,
is refused by one line of the family. The calls are found by their signatures, so that none is forgotten."""

from __future__ import annotations

import contextlib
import functools
import inspect
import pathlib
import re
import tempfile
import wave
from collections.abc import Callable, Iterator
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built import one_signature, relu_chain
from PIL import Image

import minilite
from minilite import Interpreter, MiniliteError, Predictor, compare, memory
from minilite.format._spec import Field, operator_names, options_table, table_spec
from minilite.format.builder import ModelBuilder, SubgraphBuilder
from minilite.format.dtypes import TensorType
from minilite.format.metadata import Metadata
from minilite.format.model import Quantization
from minilite.format.reader import read_model
from minilite.inputs import Feed, read_windows
from minilite.litert.compiled_model import CompiledModel, CpuOptions, Options
from minilite.memory import PlannerGraph, PlannerNode, UsageRecord
from minilite.memory.offline import offline_payload
from tools.api_reference import MADE_BY_CALLERS, PAGES

NUMERIC = re.compile(r"\b(int|float|Shape|Shapes|Dims|TensorKey|Out|Quantization|HardwareAccelerator)\b")
NO_NUMBERS = (True, False, np.True_, 1.5, np.float32(1.5), float("nan"), "seven", b"1", [], {}, 1j, Fraction(1, 2), object(), np.array([0, 1]), np.array(0.5))  # fmt: skip
"""Nothing takes one of these as an integer."""
FAR = (-1, -(2**31) - 1, 2**31, -(2**63) - 1, 2**63, 2**64, -(2**65536), 2**65536, np.uint64(2**64 - 1), float("inf"), 1e300)  # fmt: skip
"""Numbers, most of which few calls take."""


def made() -> Interpreter:
    interpreter = Interpreter(model_content=relu_chain())
    interpreter.allocate_tensors()
    return interpreter


def plan() -> Any:
    found = made().plan
    assert found is not None
    return found


def planner() -> memory.ArenaPlanner:
    nodes = [PlannerNode([0], [1]), PlannerNode([1], [2])]
    one = memory.ArenaPlanner(PlannerGraph([64] * 3, nodes, [0], [2]))
    one.plan_allocations()
    one.execute_allocations(0, 1)
    return one


def compiled() -> CompiledModel:
    return CompiledModel.from_buffer(one_signature())


def graph() -> SubgraphBuilder:
    return ModelBuilder().subgraph()


def wide() -> memory.MemoryPlan:
    return memory.plan([UsageRecord(i, 64, 0, 1) for i in range(3)])


def in_memories(**options: Any) -> memory.MemoriesPlan:
    return memory.plan_memories([UsageRecord(0, 64, 0, 1)], [memory.Memory("one", 4096)], **options)


@functools.cache
def file(kind: str) -> str:
    """A small picture or sound."""
    path = str(pathlib.Path(tempfile.mkdtemp()) / f"x.{kind}")
    if kind == "wav":
        with wave.open(path, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(bytes(200))
    else:
        Image.new("L", (2, 2)).save(path)
    return path


def picture(**options: Any) -> object:
    builder = ModelBuilder()
    main = builder.subgraph()
    main.output(main.node("RELU", [main.input("x", (1, 2, 2, 1))], out=("y", (1, 2, 2, 1))))
    return minilite.read(file("png"), builder.model(), **options)


def sound(read: Callable[..., object], **options: Any) -> object:
    builder = ModelBuilder()
    main = builder.subgraph()
    main.output(main.node("RELU", [main.input("x", (1, 40))], out=("y", (1, 40))))
    return read(file("wav"), builder.model(), **options)


def recorded(field: str) -> Callable[[Any], object]:
    return lambda value: memory.plan([UsageRecord(0, 64, 0, 1)._replace(**{field: value})])


def planned(**fields: Any) -> object:
    return memory.ArenaPlanner(
        PlannerGraph(**{"sizes": [64] * 2, "nodes": [], "inputs": [0], "outputs": [1], **fields})
    )


def node(**fields: Any) -> object:
    return planned(nodes=[PlannerNode(**{"inputs": [0], "outputs": [1], **fields})])


def quantized(**fields: Any) -> object:
    return graph().tensor("x", (1,), quantization=Quantization(**{"scales": (1.0,), "zero_points": (0,), **fields}))


def of_file(options: Options) -> object:
    return CompiledModel.from_buffer(one_signature(), options=options)


def pixels(**fields: Any) -> object:
    tensor = made().model.subgraphs[0].tensors[0]
    return Feed(tensor, (1, 2, 2, 1), **fields).of_pixels(np.zeros((2, 2, 1), np.uint8))


def small(value: Any) -> Any:
    """A number of runs that does not take for ever."""
    return -1 if isinstance(value, (int, np.integer)) and value > 2**20 else value


def replayed(tolerance: Any) -> None:
    """The tolerance is checked before the recording, of which there is none."""
    with contextlib.suppress(FileNotFoundError):
        minilite.replay("missing.npz", relu_chain(), tolerance=tolerance)


DIGITS = str(pathlib.Path(minilite.__file__).with_name("data") / "digits.tflite")
RECORDS = [UsageRecord(0, 64, 0, 1)]
CALLS: dict[str, tuple[int | float, Callable[[Any], object]]] = {
    "Interpreter num_threads": (1, lambda v: Interpreter(model_content=relu_chain(), num_threads=v)),
    "Interpreter plan_cache_bytes": (1, lambda v: Interpreter(model_content=relu_chain(), plan_cache_bytes=v)),
    "Interpreter max_bytes": (64, lambda v: Interpreter(model_content=relu_chain(), max_bytes=v)),
    "Interpreter max_arena": (64, lambda v: Interpreter(model_content=relu_chain(), max_arena=v)),
    "Interpreter max_iterations": (1, lambda v: Interpreter(model_content=relu_chain(), max_iterations=v)),
    "Interpreter.resize_tensor_input input_index": (0, lambda v: made().resize_tensor_input(v, [4])),
    "Interpreter.resize_tensor_input tensor_size": (4, lambda v: made().resize_tensor_input(0, [v])),
    "Interpreter.set_tensor tensor_index": (0, lambda v: made().set_tensor(v, np.zeros(4, np.float32))),
    "Interpreter.get_tensor tensor_index": (0, lambda v: made().get_tensor(v)),
    "Interpreter.get_tensor subgraph_index": (0, lambda v: made().get_tensor(0, v)),
    "Interpreter.tensor tensor_index": (0, lambda v: made().tensor(v)()),
    "Interpreter.get_tensor_details subgraph_index": (0, lambda v: made().get_tensor_details(v)),
    "Interpreter.run until": (3, lambda v: made().run(np.zeros(4, np.float32), until=v)),
    "Interpreter.run taps": (3, lambda v: made().run(np.zeros(4, np.float32), taps=[v])),
    "Interpreter.bind_tensor tensor": (0, lambda v: made().bind_tensor(v, np.zeros(4, np.float32))),
    "Interpreter.profile runs": (1, lambda v: made().profile(small(v))),
    "Interpreter.plan_for shapes": (
        4,
        lambda v: (made().plan_for({0: [v]}), made().plan_for({v: [4]} if v == 0 else {})),
    ),
    "Interpreter.fit budget": (100, lambda v: made().fit(v)),
    "Interpreter.fit shapes": (4, lambda v: made().fit("1kB", shapes={0: [v]})),
    "Interpreter.fit step": (1, lambda v: made().fit("1kB", step=v)),
    "CompiledModel.get_signature_by_index index": (0, lambda v: compiled().get_signature_by_index(v)),
    "CompiledModel.get_input_buffer_requirements input_index": (
        0,
        lambda v: compiled().get_input_buffer_requirements(v),
    ),
    "CompiledModel.get_input_buffer_requirements signature_index": (
        0,
        lambda v: compiled().get_input_buffer_requirements(0, v),
    ),
    "CompiledModel.get_output_buffer_requirements output_index": (
        0,
        lambda v: compiled().get_output_buffer_requirements(v),
    ),
    "CompiledModel.get_output_buffer_requirements signature_index": (
        0,
        lambda v: compiled().get_output_buffer_requirements(0, v),
    ),
    "CompiledModel.create_input_buffers signature_index": (0, lambda v: compiled().create_input_buffers(v)),
    "CompiledModel.create_output_buffers signature_index": (0, lambda v: compiled().create_output_buffers(v)),
    "CompiledModel.resize_input_tensor input_index": (0, lambda v: compiled().resize_input_tensor(v, [2, 4])),
    "CompiledModel.resize_input_tensor dims": (2, lambda v: compiled().resize_input_tensor(0, [v, 4])),
    "CompiledModel.resize_input_tensor signature_index": (0, lambda v: compiled().resize_input_tensor(0, [2, 4], v)),
    "CompiledModel.resize_input_tensor_by_name dims": (
        2,
        lambda v: compiled().resize_input_tensor_by_name("serving_default", "a", [v, 4]),
    ),
    "CompiledModel.run_by_index signature_index": (
        0,
        lambda v: (m := compiled()).run_by_index(v, m.create_input_buffers(0), m.create_output_buffers(0)),
    ),
    "TensorBuffer.read num_elements": (1, lambda v: compiled().create_input_buffers(0)[0].read(v, np.float32)),
    "CompiledModel.from_file hardware_accel": (1, lambda v: CompiledModel.from_file(DIGITS, hardware_accel=v)),
    "CompiledModel.from_buffer hardware_accel": (
        1,
        lambda v: CompiledModel.from_buffer(one_signature(), hardware_accel=v),
    ),
    "Options hardware_accelerators": (1, lambda v: of_file(Options(hardware_accelerators=v))),
    "CpuOptions num_threads": (1, lambda v: of_file(Options(cpu_options=CpuOptions(num_threads=v)))),
    "kernel address": (0, lambda v: minilite.kernel(-1 if isinstance(v, int) and v in (2**31, 2**63) else v)),
    "ModelPlan.to_svg width": (100, lambda v: plan().to_svg(width=v)),
    "ModelPlan.to_svg height": (100, lambda v: plan().to_svg(height=v)),
    "ModelPlan.kernel position": (0, lambda v: plan().kernel(v)),
    "ModelPlan.kernel frame": (0, lambda v: plan().kernel(0, v)),
    "read name": (0, lambda v: picture(name=v)),
    "read mean": (1.5, lambda v: picture(mean=v)),
    "read std": (1.5, lambda v: picture(std=v)),
    "read shape": (2, lambda v: picture(shape=(1, v, 2, 1))),
    "read rate": (100, lambda v: sound(minilite.read, rate=v)),
    "read_windows name": (0, lambda v: sound(read_windows, name=v)),
    "read_windows hop": (1.5, lambda v: sound(read_windows, hop=v)),
    "read_windows rate": (100, lambda v: sound(read_windows, rate=v)),
    "read_windows shape": (40, lambda v: sound(read_windows, shape=(1, v))),
    "ModelPlan.way position": (0, lambda v: plan().way(v)),
    "ModelPlan.way frame": (0, lambda v: plan().way(0, v)),
    "ModelPlan.node position": (0, lambda v: plan().node(v)),
    "ModelPlan.node frame": (0, lambda v: plan().node(0, v)),
    "ModelPlan.node_status node": (0, lambda v: plan().node_status(v)),
    "ModelPlan.node_status frame": (0, lambda v: plan().node_status(0, v)),
    "ModelPlan.nodes frame": (0, lambda v: plan().nodes(v)),
    "ModelPlan.part_of position": (0, lambda v: plan().part_of(v)),
    "ModelPlan.part_of frame": (0, lambda v: plan().part_of(0, v)),
    "ModelPlan.records frame": (0, lambda v: plan().records(v)),
    "ModelPlan.shape index": (0, lambda v: plan().shape(v)),
    "ModelPlan.tensor index": (0, lambda v: plan().tensor(v)),
    "ModelPlan.tensor frame": (0, lambda v: plan().tensor(0, v)),
    "ModelPlan.without tensors": (0, lambda v: plan().without([v])),
    "ArenaPlanner alignment": (64, lambda v: memory.ArenaPlanner(PlannerGraph([64], [], [0], [0]), alignment=v)),
    "ArenaPlanner.set_bytes tensor": (1, lambda v: planner().set_bytes(v, 64)),
    "ArenaPlanner.set_bytes nbytes": (64, lambda v: planner().set_bytes(1, v)),
    "ArenaPlanner.execute_allocations first": (0, lambda v: planner().execute_allocations(v, 1)),
    "ArenaPlanner.execute_allocations last": (1, lambda v: planner().execute_allocations(0, v)),
    "ArenaPlanner.reset_allocations_after node": (1, lambda v: planner().reset_allocations_after(v)),
    "ArenaPlanner.deallocate_after node": (1, lambda v: planner().deallocate_after(v)),
    "ArenaPlanner.purge_active_allocations node": (1, lambda v: planner().purge_active_allocations(v)),
    "ArenaPlanner.pointer tensor": (1, lambda v: planner().pointer(v)),
    "ArenaPlanner.offset tensor": (1, lambda v: planner().offset(v)),
    "ArenaPlanner.temporary_offset node": (1, lambda v: planner().temporary_offset(v)),
    "ArenaPlanner.root tensor": (1, lambda v: planner().root(v)),
    "ArenaPlanner.lifetime tensor": (1, lambda v: planner().lifetime(v)),
    "ArenaPlanner.buffer tensor": (1, lambda v: planner().buffer(v)),
    "PlannerGraph sizes": (64, lambda v: planned(sizes=[v, v])),
    "PlannerGraph inputs": (0, lambda v: planned(inputs=[v])),
    "PlannerGraph outputs": (1, lambda v: planned(outputs=[v])),
    "PlannerGraph variables": (1, lambda v: planned(variables=[v])),
    "PlannerGraph constants": (1, lambda v: planned(constants=[v])),
    "PlannerNode inputs": (0, lambda v: node(inputs=[v])),
    "PlannerNode outputs": (1, lambda v: node(outputs=[v])),
    "PlannerNode in_place": (0, lambda v: node(in_place=[v])),
    "PlannerNode temporary_bytes": (200, lambda v: node(temporary_bytes=v)),
    **{f"UsageRecord {name}": (200, recorded(name)) for name in ("tensor", "size", "last_node")},
    "UsageRecord first_node": (1, recorded("first_node")),
    "UsageRecord offset": (64, recorded("offset")),
    "MemoryPlan.label position": (0, lambda v: wide().label(v)),
    "MemoryPlan.memory_map columns": (80, lambda v: wide().memory_map(v)),
    "MemoryPlan.to_svg width": (200, lambda v: wide().to_svg(width=v)),
    "MemoryPlan.to_svg height": (200, lambda v: wide().to_svg(height=v)),
    "check offsets": (0, lambda v: memory.check(RECORDS, [v])),
    "check alignment": (64, lambda v: memory.check(RECORDS, [0], alignment=v)),
    "check arena_bytes": (64, lambda v: memory.check(RECORDS, [0], arena_bytes=v)),
    "check_arrays arena_bytes": (64, lambda v: memory.check_arrays([64], [0], [1], [0], arena_bytes=v)),
    "lower_bound_arrays alignment": (64, lambda v: memory.lower_bound_arrays([64], [0], [1], v)),
    "plan_arrays max_seconds": (1.5, lambda v: memory.plan_arrays([64], [0], [1], max_seconds=v)),
    "lower_bound alignment": (64, lambda v: memory.lower_bound(RECORDS, v)),
    "plan alignment": (64, lambda v: memory.plan(RECORDS, alignment=v)),
    "plan capacity": (64, lambda v: memory.plan(RECORDS, "exact", capacity=v)),
    "plan max_nodes": (64, lambda v: memory.plan(RECORDS, "exact", max_nodes=v)),
    "MemoriesPlan.label position": (0, lambda v: in_memories().label(v)),
    "MemoriesPlan.address position": (0, lambda v: in_memories().address(v)),
    "MemoriesPlan.to_svg width": (200, lambda v: in_memories().to_svg(width=v)),
    "MemoriesPlan.to_svg height": (200, lambda v: in_memories().to_svg(height=v)),
    "plan_memories traffic": (1, lambda v: in_memories(traffic=[v])),
    "plan_memories most_states": (9, lambda v: in_memories(most_states=v)),
    "plan_memories max_seconds": (1.5, lambda v: in_memories(max_seconds=v)),
    "plan max_seconds": (1.5, lambda v: memory.plan(RECORDS, "exact", max_seconds=v)),
    "positional_maxima alignment": (64, lambda v: memory.positional_maxima(RECORDS, v)),
    "sections alignment": (64, lambda v: memory.sections(RECORDS, v)),
    "shared_objects_bound alignment": (64, lambda v: memory.shared_objects_bound(RECORDS, v)),
    "Quantization scales": (1.5, lambda v: quantized(scales=(v,))),
    **{f"Quantization {name}": (0, lambda v, name=name: quantized(**{name: v})) for name in Quantization._fields[2:]},
    "Quantization zero_points": (200, lambda v: quantized(zero_points=(v,))),
    "Metadata.label_file output": (0, lambda v: Metadata({}).label_file(v)),
    "Metadata.labels output": (0, lambda v: Metadata({}).labels(v)),
    "Predictor batch": (1, lambda v: Predictor(relu_chain(), batch=v)),
    "Predictor max_bytes": (200, lambda v: Predictor(relu_chain(), max_bytes=v)),
    "Predictor num_threads": (1, lambda v: Predictor(relu_chain(), num_threads=v)),
    "Predictor.check n": (1, lambda v: Predictor(relu_chain(size=1)).check(small(v))),
    "compare seed": (1, lambda v: compare(relu_chain(), against="reference", seed=v)),
    "compare tolerance": (1.5, lambda v: compare(relu_chain(), against="reference", tolerance=v)),
    "compare num_threads": (1, lambda v: compare(relu_chain(), against="reference", num_threads=v)),
    "compare shapes": (4, lambda v: compare(relu_chain(), against="reference", shapes={0: [v]})),
    "replay num_threads": (1, lambda v: Interpreter(model_content=relu_chain(), num_threads=v)),
    "replay tolerance": (1.5, replayed),
    "Feed mean": (1.5, lambda v: pixels(mean=[v])),
    "Feed std": (1.5, lambda v: pixels(std=[v])),
    "ModelBuilder version": (3, lambda v: ModelBuilder(version=v)),
    "ModelBuilder.signature inputs": (0, lambda v: ModelBuilder().signature("s", {"x": v}, {})),
    "ModelBuilder.signature outputs": (0, lambda v: ModelBuilder().signature("s", {}, {"y": v})),
    "ModelBuilder.signature subgraph": (0, lambda v: ModelBuilder().signature("s", {}, {}, v)),
    "SubgraphBuilder.tensor shape": (4, lambda v: graph().tensor("x", (v,))),
    "SubgraphBuilder.tensor signature": (4, lambda v: graph().tensor("x", (4,), signature=(v,))),
    "SubgraphBuilder.input shape": (4, lambda v: graph().input("x", (v,))),
    "SubgraphBuilder.input signature": (4, lambda v: graph().input("x", (4,), signature=(v,))),
    "SubgraphBuilder.variable shape": (4, lambda v: graph().variable("x", (v,))),
    "SubgraphBuilder.constant shape": (4, lambda v: graph().constant("x", [0], shape=(v,))),
    "SubgraphBuilder.output tensors": (0, lambda v: graph().output(v)),
    "SubgraphBuilder.node inputs": (0, lambda v: graph().node("RELU", [v], [0])),
    "SubgraphBuilder.node outputs": (0, lambda v: graph().node("RELU", [0], [v])),
    "SubgraphBuilder.node out": (4, lambda v: graph().node("RELU", [0], out=("y", (v,)))),
    "SubgraphBuilder.node intermediates": (0, lambda v: graph().node("RELU", [0], [1], intermediates=[v])),
    "SubgraphBuilder.node version": (1, lambda v: graph().node("RELU", [0], [1], version=v)),
}
"""A number that a parameter takes, and a call with it, by class or function and parameter."""
KINDS = ("tensor", "input", "variable", "constant")
CHECKED_ELSEWHERE = {
    *(f"SubgraphBuilder.{kind} quantization" for kind in KINDS),  # by the fields of Quantization
    *(f"{name} records" for name in ("check", "lower_bound", "plan", "positional_maxima", "sections", "shared_objects_bound", "write_csv")),
    "CpuOptions xnnpack_flags", "CpuOptions kernel_mode", "plan names", "plan_memories names", "Interpreter.run since",  # no numbers, or without effect
    "InterpreterWithCustomOps custom_op_registerers", "Feed shape", "Feed rate", "Feed.of tensor",
}  # fmt: skip
LITERT_TAKES = ("tensor_size", "dims", "shapes")
"""Parameters for which numpy makes integers of what is none, and so LiteRT takes it."""


def functions() -> Iterator[tuple[str, Any]]:
    """Every public function and method, and the constructors of classes that callers make, with names."""
    for _, _, found in PAGES:
        for one in found:
            if not inspect.isclass(one):
                if callable(one):
                    yield one.__name__, one
                continue
            if issubclass(one, (Enum, BaseException)):
                continue
            if one in MADE_BY_CALLERS or one in (UsageRecord, PlannerNode, Quantization, Feed):
                yield one.__name__, one
            for name in dir(one):
                member = inspect.getattr_static(one, name)
                member = getattr(member, "__func__", member)
                if not name.startswith("_") and inspect.isfunction(member) and member.__module__.startswith("minilite"):
                    yield f"{one.__name__}.{name}", member


def parameters() -> set[str]:
    """Every parameter of theirs that is, or has, a number."""
    found = set()
    for name, function in functions():
        if name.startswith("InterpreterWithCustomOps."):
            continue  # as Interpreter's
        with contextlib.suppress(ValueError):
            for parameter in inspect.signature(function).parameters.values():
                if NUMERIC.search(str(parameter.annotation)) and parameter.name not in ("self", "cls"):
                    found.add(f"{name} {parameter.name}")
    return found


def test_every_number_of_the_public_interface_is_walked() -> None:
    assert parameters() - CHECKED_ELSEWHERE == set(CALLS) - CHECKED_ELSEWHERE


def refusal(call: Callable[[Any], object], value: Any) -> MiniliteError | None:
    try:
        call(value)
    except MiniliteError as raised:
        error = raised
    else:
        return None
    assert len(str(error).splitlines()) == 1
    assert len(str(error)) < 600
    return error


@pytest.mark.parametrize("name", CALLS)
def test_non_numbers_are_refused_in_one_line(name: str) -> None:
    if name in CHECKED_ELSEWHERE:
        return
    valid, call = CALLS[name]
    for value in NO_NUMBERS:
        error = refusal(call, value)
        real = isinstance(valid, float) and isinstance(value, (float, np.floating, Fraction))
        none = isinstance(value, list) and name.endswith(("num_elements", "until"))  # no dimensions, no tensors
        taken = real or none or name.endswith(LITERT_TAKES)
        assert taken or error is not None, value


@pytest.mark.parametrize("name", CALLS)
def test_numbers_that_are_far_off_are_taken_or_refused_by_one_line(name: str) -> None:
    for value in FAR:
        refusal(CALLS[name][1], value)


@pytest.mark.parametrize("kind", [int, np.uint8, np.int16, np.int64, np.uint64, np.array])
@pytest.mark.parametrize("name", CALLS)
def test_integers_of_every_type_are_taken_alike(name: str, kind: Any) -> None:
    valid, call = CALLS[name]
    if isinstance(valid, int):
        with np.errstate(all="raise"):
            error = refusal(call, valid)
            assert error is None or name == "kernel address"
            assert str(refusal(call, kind(valid))) == str(error)


# Numbers in files -----------------------------------------------------------------------------------------------------


def options() -> Iterator[tuple[str, Field]]:
    """An operator for each table of options, and its fields of numbers."""
    tables = {table: op for op in operator_names() if (found := options_table(op)) and (table := found.table)}
    for table, op in tables.items():
        yield from (
            (op, field) for field in table_spec(table).fields if field.name and field.form in ("scalar", "scalars")
        )


@pytest.mark.parametrize(("op", "field"), [pytest.param(*each, id=f"{each[0]} {each[1].name}") for each in options()])
def test_options_hold_what_they_are_given_or_refuse_it(op: str, field: Field) -> None:
    many = field.form == "scalars"

    def read(value: Any) -> Any:
        builder = ModelBuilder()
        builder.subgraph().node(op, [], [], options={field.name: [value] if many else value})
        found = read_model(builder.build()).subgraphs[0].nodes[0].options[field.name]
        return found[0] if many else found

    for value in (*NO_NUMBERS, *FAR, 0, 1, np.int8(1), np.uint64(1), np.float64(0.1)):
        if refusal(read, value) is not None:
            continue
        held = read(value)
        wanted = np.float32(value) if field.code == "f" else value
        assert held == wanted or (np.isnan(held) and np.isnan(wanted)), value
    assert read(np.uint8(1)) == 1


def test_the_bytes_of_a_model_are_no_count_of_bytes() -> None:
    for value in (5, 2**65536, True, 1.5, "text", None, [1]):
        assert refusal(lambda given: ModelBuilder().metadata("m", given), value) is not None
        assert refusal(lambda given: graph().node("C", [], [], custom=True, custom_options=given), value) is not None
        if value is not None:
            assert refusal(lambda given: graph().tensor("t", (1,), data=given), value) is not None
    for given in (bytearray(b"12"), memoryview(b"12"), np.frombuffer(b"12", np.uint8)):
        builder = ModelBuilder()
        builder.metadata("m", given)  # type: ignore[arg-type]
        assert builder.model().metadata["m"] == b"12"


def test_constants_keep_their_numbers_or_are_refused() -> None:
    wrong: list[tuple[Any, TensorType | None]] = [
        ([2**31], None), ([2**65536], None), (-(2**31) - 1, None), ([1e300], None), ([300], TensorType.INT8), ([-1], TensorType.UINT8),
        (np.array([2**40]), TensorType.INT32), ([1.5], TensorType.INT32), ([float("nan")], TensorType.INT32), ([8], TensorType.INT4),
        ([70000.0], TensorType.FLOAT16), ([[1], [1, 2]], None),
    ]  # fmt: skip
    for values, kind in wrong:
        error = refusal(lambda given: graph().constant("c", given, kind), values)  # noqa: B023
        assert error is not None, values
        assert str(error).startswith("constant 'c': ")
    for value, kind in (
        (float("inf"), None),
        (float("nan"), None),
        (2**31 - 1, None),
        (255, TensorType.UINT8),
        (3.0, TensorType.INT8),
    ):
        built = graph()
        built.constant("c", value, kind)
        data = built.subgraph().tensors[0].data
        assert data is not None
        assert np.array_equal(data, np.asarray(value), equal_nan=True)


def test_a_kind_of_tensor_is_a_number_of_the_format() -> None:
    for value in (True, 2.0, 99, -1, "FLOAT32", 2**65536):
        assert refusal(lambda given: graph().tensor("t", (1,), given), value) is not None
    built = graph()
    built.tensor("t", (1,), 9)  # type: ignore[arg-type]
    assert built.subgraph().tensors[0].type is TensorType.INT8


def test_offsets_of_an_offline_plan_are_integers() -> None:
    model = minilite.load_model(DIGITS)
    for value in (*NO_NUMBERS, *FAR):
        assert refusal(lambda given: offline_payload(model, {0: given}), value) is not None
        assert refusal(
            lambda given: offline_payload(model, {given: 0}),
            -1 if isinstance(value, (list, dict, np.ndarray)) else value,
        )
    assert offline_payload(model, {np.uint8(0): np.int16(64)}) == offline_payload(model, {0: 64})  # type: ignore[dict-item]
