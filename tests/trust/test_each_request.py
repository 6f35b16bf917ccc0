"""Each request for memory fails once: the error is MemoryError, nothing is lost, and what is done again has the same
answers."""

from __future__ import annotations

import contextlib
import pickle
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from built import F32, S32, below, bound, custom_chain, graph_with, head, loop, next_count, request
from support.crowd import Crowd
from support.drawn import made
from support.drawn_all import DRAWN
from trust.sequence_models import MODELS
from trust.short_memory import TOTALS, Core, Seam, each_fails, has_core

import minilite
from minilite._native import packed
from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.memory import UsageRecord, check, plan, strategies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from trust.short_memory import Step

    Array = Any
    Objects = dict[str, Any]

KINDS = ("core", "seam")


@pytest.fixture(params=KINDS)
def requests(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Iterator[Core | Seam]:
    """Each kind of requests that can be made to fail; how many failed is noted for the summary."""
    if request.param == "core" and not has_core():
        pytest.skip("the core is built without ML_FAILING: .ci/full failing")
    kind: Core | Seam = Core() if request.param == "core" else Seam()
    TOTALS.clear()
    with kind.in_place():
        yield kind
    record_property("short_memory", dict(TOTALS))


# Steps ----------------------------------------------------------------------------------------------------------------


def made_of(model: Any, **options: Any) -> Step:
    """Makes an interpreter."""

    def step(o: Objects) -> None:
        o["i"] = minilite.Interpreter(**({"model_content": model} if isinstance(model, bytes) else model), **options)

    return step


def allocated(o: Objects) -> None:
    o["i"].allocate_tensors()


def resized(*shapes: Sequence[int]) -> Step:
    """Resizes the first inputs."""

    def step(o: Objects) -> list[Any]:
        i = o["i"]
        for detail, shape in zip(i.get_input_details(), shapes, strict=False):
            i.resize_tensor_input(detail["index"], shape)
        i.allocate_tensors()
        return [detail["shape"] for detail in i.get_input_details()]

    return step


def ran(*arrays: Array, of: str = "i") -> Step:
    """Forgets what runs before have left, sets all inputs, runs, reads the outputs."""

    def step(o: Objects) -> list[Array]:
        i = o[of]
        i.reset_all_variables()
        i.reset_resources()
        for detail, array in zip(i.get_input_details(), arrays, strict=True):
            i.set_tensor(detail["index"], array)
        i.invoke()
        return [i.get_tensor(detail["index"]) for detail in i.get_output_details()]

    return step


def called(do: Callable[[minilite.Interpreter], Any], of: str = "i") -> Step:
    """Calls a function of the interpreter."""
    return lambda o: do(o[of])


# Models ---------------------------------------------------------------------------------------------------------------


def dense(size: int) -> bytes:
    """x (size, 64) times weights that are packed, RELU, and a sum with x."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (size, 64), signature=(-1, 64))
        weights = g.constant("w", np.arange(64 * 64, dtype=np.float32).reshape(64, 64) % 7 - 3)
        y = g.node("FULLY_CONNECTED", [x, weights, -1], out=("y", (size, 64)))
        z = g.node("RELU", [y], out=("z", (size, 64)))
        return [g.node("ADD", [x, z], out=("sum", (size, 64)))]

    return graph_with(build)


def convolved() -> bytes:
    """A CONV_2D wide enough for several threads, and an AVERAGE_POOL_2D."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 40, 40, 16))
        w = g.constant("w", np.arange(16 * 9 * 16, dtype=np.float32).reshape(16, 3, 3, 16) % 5 - 2)
        bias = g.constant("b", np.zeros(16, np.float32))
        options = {"stride_w": 1, "stride_h": 1, "padding": "SAME"}
        y = g.node("CONV_2D", [x, w, bias], out=("y", (1, 40, 40, 16)), options=options)
        pool = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2, "padding": "VALID"}
        return [g.node("AVERAGE_POOL_2D", [y], out=("z", (1, 20, 20, 16)), options=pool)]

    return graph_with(build)


def images() -> bytes:
    """Two CONV_2D and their sum with x, which run patch by patch within a limit of bytes."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 16, 16, 4))
        w = g.constant("w", np.arange(4 * 9 * 4, dtype=np.float32).reshape(4, 3, 3, 4) % 5 - 2)
        options = {"stride_w": 1, "stride_h": 1, "padding": "SAME"}
        y = g.node("CONV_2D", [x, w, -1], out=("y", (1, 16, 16, 4)), options=options)
        z = g.node("LOGISTIC", [y], out=("z", (1, 16, 16, 4)), options={})
        t = g.node("CONV_2D", [z, w, -1], out=("t", (1, 16, 16, 4)), options=options)
        return [g.node("ADD", [t, x], out=("sum", (1, 16, 16, 4)), options={})]

    return graph_with(build)


def merged() -> bytes:
    """A PAD that becomes part of its CONV_2D."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 4, 4, 1))
        t = g.node("PAD", [x, g.constant("pads", np.int32([[0, 0], [1, 1], [1, 1], [0, 0]]))], out=("t", (1, 6, 6, 1)))
        w, bias = g.constant("w", np.ones((1, 3, 3, 1), np.float32)), g.constant("b", np.zeros(1, np.float32))
        options = {"stride_w": 1, "stride_h": 1, "padding": "VALID"}
        return [g.node("CONV_2D", [t, w, bias], out=("y", (1, 4, 4, 1)), options=options)]

    return graph_with(build)


def squared() -> bytes:
    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 4, 4, 1))
        t = g.node("MUL", [x, x], out=("t", (1, 4, 4, 1)))
        return [g.node("SUM", [t, g.constant("axes", np.int32([1]))], out=("y", (1, 4, 1)))]

    return graph_with(build)


def clamped() -> bytes:
    def build(g: Any) -> list[int]:
        x = g.input("x", (1, 4, 4, 1))
        return [g.node("RELU6", [g.node("ADD", [x, x], out=("t", (1, 4, 4, 1)))], out=("y", (1, 4, 4, 1)))]

    return graph_with(build)


def large_parts() -> bytes:
    """Each part of the file takes a block of rows for itself."""
    builder = ModelBuilder()
    g = builder.subgraph()
    many = Quantization((1.0,) * 2500, tuple(range(2500)))
    g.tensor("signed", (1,), signature=(1,) * 3000)
    g.constant("scaled", np.zeros(2500, np.int8), quantization=many)
    g.constant("moved", np.arange(4000, dtype=np.float32))
    g.tensor("shaped", (1,) * 32)
    g.node("Mine", [0] * 3000, [], custom=True)
    for _ in range(40):
        g.node("RESHAPE", [0, 0], [], options={"new_shape": (1,) * 300})
        g.node("UNIDIRECTIONAL_SEQUENCE_LSTM", [], [])
    return builder.build()


def worded() -> bytes:
    """A table from numbers to strings, and a variable of strings that is read as it was."""
    builder = ModelBuilder()
    g = builder.subgraph()
    kinds = {"table_id": 1, "key_dtype": "INT64", "value_dtype": "STRING"}
    resource, text = TensorType.RESOURCE, TensorType.STRING
    keys = g.input("keys", (3,), TensorType.INT64)
    words = g.constant("words", np.array([b"one", b"two", b"t" * 200]), text)
    table = g.node("HASHTABLE", [], out=("table", (1,), resource), options=kinds)
    g.node("HASHTABLE_IMPORT", [table, g.constant("known", np.array([1, 2, 3])), words])
    found = g.node("HASHTABLE_FIND", [table, keys, g.constant("none", np.array([b"?"]), text)], out=("f", (3,), text))
    handle = g.node("VAR_HANDLE", [], out=("h", (), resource), options={"container": "", "shared_name": "v"})
    g.node("ASSIGN_VARIABLE", [handle, found])
    g.output(found, g.node("READ_VARIABLE", [handle], out=("r", (3,), text)))
    return builder.build()


def halved() -> bytes:
    """A constant of half floats, which becomes one of floats when the model is lowered."""

    def build(g: Any) -> list[int]:
        x, halves = g.input("x", (1, 4, 4, 1)), g.constant("h", np.arange(16, dtype=np.float16).reshape(1, 4, 4, 1))
        return [g.node("ADD", [x, g.node("DEQUANTIZE", [halves], out=("w", (1, 4, 4, 1)))], out=("y", (1, 4, 4, 1)))]

    return graph_with(build)


def growing() -> bytes:
    """A loop that doubles its carry in each of six turns."""

    def body(g: Any, c: list[int]) -> list[int]:
        x, i = c
        return [g.node("CONCATENATION", [x, x], out=("more", (4,)), options={"axis": 0}), next_count(g, i)]

    return loop([("x", (2,), F32), ("i", (), S32)], lambda g, c: below(6)(g, c[1:]), body)


def rows(count: int) -> Array:
    return (np.arange(count * 64, dtype=np.float32).reshape(count, 64) % 11) - 5


ZERO = np.array(0, np.int32)


# Scenarios ------------------------------------------------------------------------------------------------------------


def test_growing_through_all_kinds_of_memory(requests: Core | Seam) -> None:
    """The arena grows from a block of malloc to reserved pages; then the interpreter goes to a size seen before, and
    back."""
    sizes = (1, 200, 1500, 5000, 200, 5000, 1)
    steps = [made_of(dense(2)), allocated, ran(rows(2))]
    for size in sizes:
        steps += [resized((size, 64)), ran(rows(size))]
    assert each_fails(steps, requests) > 0


@pytest.mark.parametrize("model", [merged, squared, clamped, halved])
def test_nodes_that_become_one(model: Callable[[], bytes], requests: Core | Seam) -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1) - 8
    assert each_fails([made_of(model()), allocated, ran(x)], requests) > 0


@pytest.mark.parametrize("offset", [0, 1])
def test_parts_of_a_file_that_are_large(offset: int, requests: Core | Seam) -> None:
    """Values that are not aligned are copied."""
    given = memoryview(bytes(offset) + large_parts())[offset:]
    steps = [made_of({"model_content": given}), called(lambda i: len(i.model.subgraphs[0].nodes))]
    assert each_fails(steps, requests) > 0


def test_tables_and_variables_of_strings(requests: Core | Seam) -> None:
    def kept(o: Objects) -> None:
        made_of(worded())(o)
        allocated(o)
        o["i"].set_state(o["kept"])

    def keep(o: Objects) -> None:
        o["kept"] = o["i"].get_state()

    steps = [made_of(worded()), allocated, ran(np.array([1, 3, 7])), ran(np.array([3, 3, 3])), keep, kept]
    steps += [ran(np.array([2, 1, 1]))]
    assert each_fails(steps, requests) > 0


def test_growth_in_a_run(requests: Core | Seam) -> None:
    steps: list[Step] = [made_of(growing()), allocated]
    for size in (2, 900, 10_000, 2):
        x = np.arange(size, dtype=np.float32)
        steps += [resized((size,), ()), ran(x, ZERO), ran(x, ZERO)]
    custom = [made_of(custom_chain("Head", 4), custom_ops={"Head": head}), allocated]
    custom += [ran(request(count)) for count in (3, 100_000, 3)]
    assert each_fails(steps, requests) > 0
    assert each_fails(custom, requests) > 0


def test_threads(requests: Core | Seam) -> None:
    x = np.arange(40 * 40 * 16, dtype=np.float32).reshape(1, 40, 40, 16) % 13
    steps = [made_of(convolved(), num_threads=3), allocated, ran(x), ran(x)]
    steps += [called(lambda i: i.trim()), ran(x)]
    assert each_fails(steps, requests) > 0


def test_groups_that_run_in_patches(requests: Core | Seam) -> None:
    """Groups are found for a size, and for another one; the first comes back."""
    small, large = np.ones((1, 16, 16, 4), np.float32), np.ones((1, 20, 16, 4), np.float32)
    steps = [made_of(images(), max_arena=7600), allocated, ran(small), called(lambda i: i.plan.tiles())]
    steps += [resized(large.shape), ran(large), resized(small.shape), ran(small), called(lambda i: i.plan.tiles())]
    assert each_fails(steps, requests) > 0


def test_packed_weights_in_a_file(requests: Core | Seam, tmp_path: Path) -> None:
    """An interpreter packs and writes them, and another one takes them; either does without where that fails."""
    model, folder = tmp_path / "m.tflite", tmp_path / "kept"
    model.write_bytes(dense(2))

    def forgotten(_: Objects) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    ready = [made_of({"model_path": str(model)}, cache_dir=folder), allocated, ran(rows(2))]
    assert each_fails([forgotten, *ready, *ready], requests) > 0
    packed.check(next(folder.iterdir()).read_bytes(), every_byte=True)


def test_clone_trim_pickle_and_state(requests: Core | Seam) -> None:
    size, array = (30, 64), rows(30)

    def cloned(o: Objects) -> None:
        o["clone"] = o["i"].clone()

    def pickled(o: Objects) -> None:
        o["pickled"] = pickle.loads(pickle.dumps(o["i"]))

    def kept(o: Objects) -> None:
        o["i"].set_state(o["i"].get_state())

    def ready(name: str) -> Step:
        return lambda o: o[name].allocate_tensors()

    steps = [made_of(dense(2)), allocated, resized(size), ran(array), cloned, ready("clone"), kept, ran(array)]
    steps += [called(lambda i: i.trim()), ran(array), pickled, ready("pickled"), ran(rows(2), of="clone")]
    steps += [lambda o: repr(o["pickled"])[:20], called(lambda i: i.close())]
    assert each_fails(steps, requests) > 0


def test_plans(requests: Core | Seam) -> None:
    """Plans made and looked at, and a search for a size."""
    steps = [made_of(dense(2), reorder=True), allocated]
    steps += [
        called(lambda i: i.plan_for({"x": (9, 64)}).arena_bytes),
        # But for the tensor's number: nodes for whose fused parameters there is no memory run apart, in place here.
        called(lambda i: [record[1:] for record in i.plan.records()]),
        called(lambda i: i.fit(200_000).budget),  # its search takes a size without memory for one that is too large
        called(lambda i: bool(i.plan.advise_bind())),  # how many depends on the nodes that run apart
        called(lambda i: sorted(i.counters)),
        called(lambda i: len(i.get_tensor_details())),
        ran(rows(2)),
    ]
    assert each_fails(steps, requests) > 0


@pytest.mark.parametrize("name", strategies())
def test_strategies(name: str, requests: Core | Seam) -> None:
    size = 5
    steps = [made_of(dense(2), planner=name), allocated, ran(rows(2)), resized((size, 64)), ran(rows(size))]
    each_fails(steps, requests)


def test_plans_with_and_without_sharing(requests: Core | Seam) -> None:
    """The strategy misses the lower bound with sharing in place, so it also plans without."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (2, 64))
        for n in range(4):
            x = g.node("SOFTMAX", [x], out=(f"y{n}", (2, 64)), options={"beta": 1.0})
        return [x]

    assert each_fails([made_of(graph_with(build), planner="naive"), allocated, ran(rows(2))], requests) > 0


def test_plans_above_their_bound(requests: Core | Seam) -> None:
    """Planned with and without sharing, and planned longer once their sizes come back."""
    crowd = Crowd()
    x = np.ones(4, np.float32)
    steps = [made_of(crowd.model, custom_ops={"Step": crowd}), allocated, ran(x), resized((1,)), resized((4,)), ran(x)]
    assert each_fails(steps, requests) > 0


def test_files_and_bound_memory(tmp_path: Path, requests: Core | Seam) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(dense(2) + bytes(1 << 17))  # so large that it is mapped
    array = np.zeros((2, 64), np.float32)

    def given(o: Objects) -> Any:
        o["b"] = bound(dense(2), {"x": array})
        o["b"].invoke()
        return o["b"].get_tensor(o["b"].get_output_details()[0]["index"])

    def viewed(o: Objects) -> None:
        o["i"].resize_tensor_input(0, (2, 64))  # an attempt before may have been refused below
        o["i"].allocate_tensors()
        view = o["i"].tensor(0)()
        with contextlib.suppress(minilite.StateError):
            o["i"].resize_tensor_input(0, (7, 64))
            o["i"].allocate_tensors()
        view[0, 0] = 0
        del view
        o["i"].resize_tensor_input(0, (2, 64))
        o["i"].allocate_tensors()

    steps = [made_of({"model_path": str(path)}), allocated, ran(rows(2)), given, viewed, ran(rows(2))]
    steps += [made_of({"model_path": str(path)}, load="copy"), allocated, ran(rows(2))]
    assert each_fails(steps, requests) > 0


def test_signatures_profiles_and_tokens(requests: Core | Seam) -> None:
    model = MODELS["signatures"]().model
    x, pick, y = np.ones((2, 4), np.float32), np.zeros(1, np.int32), np.full((3, 4), 2, np.float32)

    def anew(o: Objects) -> Any:
        o["i"].reset_resources()
        first = o["i"].get_signature_runner("anew")(y=y)
        return first, o["i"].get_signature_runner("more")(x=x, pick=pick)

    def timed(o: Objects) -> int:
        return len(o["i"].profile(2).nodes)

    def until(o: Objects) -> None:
        o["i"].invoke(cancel=minilite.Cancel())

    def at_once(o: Objects) -> Any:
        o["i"].reset_resources()
        return o["i"].run({"x": np.ones((5, 4), np.float32), "pick": pick})

    steps = [made_of(model), allocated, anew, timed, until, at_once, anew]
    assert each_fails(steps, requests) > 0


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, requests: Core | Seam) -> None:
    """Static and dynamic, variables, custom operators, loops, branches, resources, strings."""
    drawn = MODELS[name]()
    rng = np.random.default_rng(5)
    steps = [made_of(drawn.model, custom_ops=drawn.custom_ops), allocated]
    for size in (2, 40, 3, 40):
        arrays = drawn.feed(size, rng)
        steps += [resized(*drawn.shapes(size)), ran(*arrays), ran(*arrays)]
    assert each_fails(steps, requests) > 0


@pytest.mark.parametrize("op", DRAWN)
def test_operators(op: str, requests: Core | Seam) -> None:
    """Three nodes of each operator if requests of C fail; one if those of Python do, which are alike. Nodes that are
    refused for other reasons are refused again."""
    for number in range(3 if isinstance(requests, Core) else 1):
        node = made(op, 1, number)

        def used(_: Objects, node: Any = node) -> Any:
            try:
                i = minilite.Interpreter(model_content=node.model)
                for detail, array in zip(i.get_input_details(), node.arrays, strict=True):
                    i.resize_tensor_input(detail["index"], array.shape)
                i.allocate_tensors()
                for detail, array in zip(i.get_input_details(), node.arrays, strict=True):
                    i.set_tensor(detail["index"], array)
                i.invoke()
                return [i.get_tensor(detail["index"]) for detail in i.get_output_details()]
            except MemoryError:
                raise
            except MiniliteError as error:
                return type(error)

        each_fails([used], requests)


def test_strategies_of_any_records(requests: Core | Seam) -> None:
    """The strategies by name, without a model."""
    records = [UsageRecord(t, 100 * t + 1, t % 7, t % 7 + t % 5) for t in range(40)]

    def planned(name: str) -> Step:
        return lambda _: check(records, plan(records, strategy=name).offsets)

    for name in strategies():  # a search that has no memory may end with the best plan so far
        each_fails([planned(name)], requests)
