"""The plan cache, plans that are not used, clones; the arena given back and taken again, variable tensors."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from built import (
    Array,
    accumulator,
    count_since,
    custom_chain,
    floats,
    head,
    ready,
    relu_chain,
    resized,
    run,
)
from support.crowd import Crowd

import minilite
from minilite import InputError, ShapeError, StateError
from minilite._core import ffi, lib
from minilite._native.state import debug_build
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

if TYPE_CHECKING:
    from collections.abc import Callable

DIGITS = Path(minilite.__file__).parent / "data" / "digits.tflite"

# Plans ----------------------------------------------------------------------------------------------------------------


def test_going_back_to_a_size_is_a_hit() -> None:
    interpreter = ready(relu_chain())
    first = count_since(interpreter, lambda: resized(interpreter, 9))
    # Two of the three nodes repeat the first one. The second plan of a graph is the first to look for such nodes.
    assert (first["plans"], first["plan_hits"], first["nodes_prepared"]) == (1, 0, 1)
    back = count_since(interpreter, lambda: [resized(interpreter, size) for size in (4, 9, 4)])
    assert (back["plans"], back["plan_hits"], back["nodes_prepared"]) == (0, 3, 0)
    same = count_since(interpreter, lambda: resized(interpreter, 4))
    assert not any(same.values())


def hashes(*words: Any) -> Array:
    """The hashes of many keys, as csrc/plan/plan.c makes them: a word of a key is a number, or has one for each key."""
    found = np.full(np.broadcast_shapes(*(np.shape(word) for word in words)), 1469598103934665603, np.uint64)
    for word in words:
        found = (found ^ np.asarray(word, np.uint32).astype(np.uint64)) * np.uint64(1099511628211)
    return (found ^ found >> np.uint64(32)).astype(np.uint32)


ANY = np.random.default_rng(0).integers(2000, size=(2, 1_000_000)) + 2000 * np.arange(1_000_000)
SMALL = np.mgrid[0:800, 0:800].reshape(2, -1)
FLAT, DEEP = hashes(0, 2, 0, ANY[0]), hashes(0, 3, 0, ANY[0] // 2**10, ANY[1] // 2**10)
BOUND = hashes(0, 2, SMALL[0], SMALL[1], ~np.uint32(3))
"""Keys of input 0: of empty matrices, of empty tensors of rank 3, and of matrices with a buffer bound to tensor 3."""


def same_hash(a: Array, b: Array) -> tuple[int, int]:
    """Returns the position of the first hash that both have."""
    _, at, there = np.intersect1d(a, b, return_indices=True)
    return int(at[0]), int(there[0])


def keys_of_same_hash(kind: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes; for the second one, "bound" binds tensor 3."""
    deep, half = np.stack([0 * ANY[0], *(ANY // 2**10)], axis=1), len(DEEP) // 2
    flat, small = np.stack([0 * ANY[0], ANY[0]], axis=1), SMALL.T
    sides = {
        "sizes": ((DEEP[:half], deep[:half]), (DEEP[half:], deep[half:])),
        "ranks": ((DEEP, deep), (FLAT, flat)),
        "bound": ((FLAT, flat), (BOUND, small)),
    }
    (keys, shapes), (other_keys, other_shapes) = sides[kind]
    one, two = same_hash(keys, other_keys)
    return tuple(shapes[one].tolist()), tuple(other_shapes[two].tolist())


@pytest.mark.parametrize("kind", ["sizes", "ranks", "bound"])
def test_keys_of_the_same_hash_have_plans_of_their_own(kind: str) -> None:
    interpreter, shapes = ready(relu_chain()), keys_of_same_hash(kind)
    for shape, binds in zip(shapes, (False, kind == "bound"), strict=True):
        if binds:
            interpreter.bind_tensor(3, np.zeros(shape, np.float32))
        grown = count_since(interpreter, lambda: resized_to(interpreter, shape))  # noqa: B023
        assert (grown["plans"], grown["plan_hits"]) == (1, 0)
        assert interpreter.run(-np.ones(shape, np.float32))["y2"].shape == shape


def resized_to(interpreter: Any, shape: tuple[int, ...]) -> None:
    interpreter.resize_tensor_input(0, shape)
    interpreter.allocate_tensors()


def test_the_plan_longest_unused_goes_first() -> None:
    one = engine_of(ready(relu_chain())).session().state.usage().cached_bytes
    room = 16
    interpreter = ready(relu_chain(), plan_cache_bytes=room * (one + 8) + one // 2)
    for size in range(5, 5 + room - 1):
        resized(interpreter, size)
    assert count_since(interpreter, lambda: resized(interpreter, 4))["plan_hits"] == 1
    grown = count_since(interpreter, lambda: resized(interpreter, 1000))  # 5 had to go
    assert (grown["plans"], grown["plans_evicted"]) == (1, 1)
    assert count_since(interpreter, lambda: resized(interpreter, 4))["plan_hits"] == 1
    assert count_since(interpreter, lambda: resized(interpreter, 5))["plans"] == 1
    assert count_since(interpreter, lambda: resized(interpreter, 1000))["plan_hits"] == 1


def chain(nodes: int) -> bytes:
    """x, of any size -> x + x, doubled so many times in all."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    for number in range(nodes):
        x = graph.node("ADD", [x, x], out=(f"t{number}", (4,)))
    graph.output(x)
    return builder.build()


@pytest.mark.parametrize(("nodes", "sizes"), [(1, 500), (31, 500), (620, 64)])
def test_sizes_in_rotation_stay_in_the_cache(nodes: int, sizes: int) -> None:
    """With the default bound."""
    interpreter = ready(chain(nodes))
    first = count_since(interpreter, lambda: [resized(interpreter, 4 + size) for size in range(sizes)])
    assert (first["plans"], first["plan_hits"], first["plans_evicted"]) == (sizes - 1, 0, 0)
    again = count_since(interpreter, lambda: [resized(interpreter, 4 + size) for size in range(sizes)])
    assert (again["plans"], again["plan_hits"], again["plans_evicted"]) == (0, sizes, 0)


REAL = Path(__file__).resolve().parents[2].parent / "shared" / "models"
LEAN = ["vww_96_int8", "kws_ref_model", "pretrainedResnet_quant", "ad01_fp32", "str_ww_ref_model"]


@pytest.mark.skipif(debug_build(), reason="debug builds place bytes after tensors, which makes plans larger")
@pytest.mark.parametrize("path", [DIGITS, *(REAL / f"mlperftiny_{name}.tflite" for name in LEAN)], ids=lambda p: p.stem)
def test_each_size_takes_the_same_bytes(path: Path) -> None:
    """Plan, key and residence count. The gate watches how many bytes they are (footprint.Arena.track_plan)."""
    if not path.exists():
        pytest.skip("needs ../shared/models")
    interpreter = minilite.Interpreter(path)
    shape = interpreter.get_input_details()[0]["shape"]
    bytes_then = []
    for batch in (1, 2, 3):
        interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (batch, *shape[1:]))
        interpreter.allocate_tensors()
        bytes_then.append(engine_of(interpreter).session().state.usage().cached_bytes)
    grown = np.diff(bytes_then)
    assert grown[0] == grown[1] > 0


def with_lifetimes_by_size() -> bytes:
    """x, of any size: what shares memory with what, what is known while planning and what takes memory at all depend on
    it."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    four, zero = graph.constant("four", np.ones(4, np.float32)), graph.constant("zero", np.zeros((), np.int32))
    up = graph.node("RELU", [x], out=("up", (4,)))
    wide = graph.node("ADD", [up, four], out=("wide", (4,)))  # over `up` where x has 4 elements, not where it has 1
    long = graph.node("CONCATENATION", [x] * 20, out=("long", (80,)), options={"axis": 0})
    dims = graph.node("SHAPE", [long], out=("dims", (1,), TensorType.INT32), options={"out_type": "INT32"})
    many = graph.node("FILL", [dims, zero], out=("many", (80,), TensorType.INT32))  # folded up to 64 elements
    options = {"in_data_type": "INT32", "out_data_type": "FLOAT32"}
    few = graph.node("CAST", [many], out=("few", (80,)), options=options)
    sides = [graph.node("ADD", [long, few], out=(f"side{k}", (80,))) for k in range(6)]
    while len(sides) > 1:
        sides.append(graph.node("MUL", [sides.pop(0), sides.pop(0)], out=(f"product{len(sides)}", (80,))))
    graph.output(wide, sides[0])
    return builder.build()


def test_kept_lifetimes_are_those_of_an_interpreter_of_its_own() -> None:
    model = with_lifetimes_by_size()
    interpreter = ready(model, plan_cache_bytes=0)  # each size is planned whenever it comes
    for size in (1, 4, 1, 4, 4, 1):
        resized(interpreter, size)
        alone = ready(model)
        resized(alone, size)
        assert interpreter.plan is not None
        assert alone.plan is not None
        assert sorted(r[:4] for r in interpreter.plan.records()) == sorted(r[:4] for r in alone.plan.records())
        assert interpreter.plan.nodes() == alone.plan.nodes()
        x = np.arange(size, dtype=np.float32) - 1
        for mine, other in zip(run(interpreter, x), run(alone, x), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_a_plan_outlives_its_place_in_the_cache() -> None:
    interpreter = ready(relu_chain())
    plan = interpreter.plan
    assert plan is not None
    for size in range(5, 60):
        resized(interpreter, size)
    assert (plan.shape(0), plan.arena_bytes) == ((4,), ready(relu_chain()).arena_bytes)
    del interpreter
    gc.collect()
    assert plan.tensor(3).shape == (4,)


def test_interpreters_in_reference_cycles_are_freed() -> None:
    """The collector frees graph, state and plans in any order; run under AddressSanitizer to see it fail."""
    for order in range(4):
        interpreters = [minilite.Interpreter(model_content=relu_chain()) for _ in range(3)]
        for interpreter in interpreters:
            interpreter.allocate_tensors()
        cycle = [interpreters, engine_of(interpreters[0]).program(), *[i.plan for i in interpreters]]
        cycle.append(cycle[order:])
        cycle.append(cycle)
        del interpreters, interpreter, cycle
        gc.collect()


def test_plan_for_leaves_everything_untouched() -> None:
    interpreter = ready(relu_chain())
    run(interpreter, floats(-1, 2, 3, 4))
    before = (
        interpreter.counters,
        interpreter.arena_bytes,
        interpreter.get_tensor(3).tolist(),
        engine_of(interpreter).session().state.generation,
    )
    plan = interpreter.plan_for({"x": (1_000_000,)})
    assert plan.shape(3) == (1_000_000,)
    assert plan.arena_bytes >= 4_000_000
    with pytest.raises(minilite.InputError, match="there is no tensor 'nope': inputs are x, outputs are y2"):
        interpreter.plan_for({"nope": (1,)})
    for key, shape in ((4, (1,)), (-1, (1,)), (0, (-1,)), ("x", (2**31,)), (0, (2,) * 9)):
        with pytest.raises(minilite.InputError):
            interpreter.plan_for({key: shape})
    after = (
        interpreter.counters,
        interpreter.arena_bytes,
        interpreter.get_tensor(3).tolist(),
        engine_of(interpreter).session().state.generation,
    )
    assert before == after
    assert count_since(interpreter, lambda: resized(interpreter, 1_000_000))["plans"] == 1


def test_plan_for_equals_what_comes_into_force() -> None:
    interpreter = ready(relu_chain())
    planned = interpreter.plan_for({"x": (77,)})
    resized(interpreter, 77)
    assert interpreter.plan is not None
    assert planned.records() == interpreter.plan.records()
    assert planned.arena_bytes == interpreter.arena_bytes


def test_a_node_without_elements_has_no_step() -> None:
    """Its status is `empty` at that size alone; nodes after it that have elements run."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2, 3))
    y = graph.node("NEG", [x], out=("y", (2, 3)))
    axis = graph.constant("axis", np.array([1], np.int32))
    graph.output(y, graph.node("SUM", [y, axis], options={"keep_dims": False}, out=("sum", (2,))))
    interpreter = minilite.Interpreter(model_content=builder.build())
    for width, status in ((3, "runs"), (0, "empty"), (4, "runs"), (0, "empty")):
        interpreter.resize_tensor_input(x, (2, width))
        interpreter.allocate_tensors()
        assert interpreter.plan is not None
        assert [interpreter.plan.node_status(node) for node in (0, 1)] == [status, "runs"]
        interpreter.set_tensor(x, np.ones((2, width), np.float32))
        interpreter.invoke()
        assert interpreter.get_tensor(interpreter.get_output_details()[1]["index"]).tolist() == [-width, -width]


def test_node_is_empty_in_runs_without_elements() -> None:
    """Where values decide how many elements there are, a node is `empty` in one run and computes in the next."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    count, x = graph.input("count", (1,), TensorType.INT32), graph.input("x", ())
    filled = graph.node("FILL", [count, x], out=("filled", None))
    graph.output(graph.node("NEG", [filled], out=("y", None)))
    interpreter = minilite.Interpreter(model_content=builder.build())
    interpreter.allocate_tensors()
    for elements in (2, 0, 0, 3, 0, 1):
        interpreter.set_tensor(count, np.array([elements], np.int32))
        interpreter.set_tensor(x, np.float32(elements))
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        assert found.tolist() == [-elements] * elements


def test_clones_share_nothing_that_changes() -> None:
    interpreter = ready(accumulator())
    run(interpreter, floats(1, 1, 1, 1))
    other = interpreter.clone()
    assert other.plan is None
    other.allocate_tensors()
    assert run(other, floats(2, 2, 2, 2))[0].tolist() == [2] * 4
    assert run(interpreter, floats(1, 1, 1, 1))[0].tolist() == [2] * 4
    assert other.counters["invokes"] == 1


def test_preserve_all_keeps_every_tensor() -> None:
    reusing = ready(relu_chain(6, 1000))
    keeping = ready(relu_chain(6, 1000), experimental_preserve_all_tensors=True)
    assert reusing.arena_bytes < keeping.arena_bytes
    assert keeping.plan is not None
    places = [keeping.plan.tensor(t).offset for t in range(1, 7)]  # 0 is an input, which shares nothing
    assert all(abs(a - b) >= 4000 for a, b in itertools.combinations(places, 2))
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    run(keeping, x)
    assert keeping.get_tensor(0).tolist() == x.tolist()
    assert all(keeping.get_tensor(t).tolist() == np.maximum(x, 0).tolist() for t in range(1, 7))


# Memory ---------------------------------------------------------------------------------------------------------------


def test_release_and_acquire() -> None:
    interpreter = ready(relu_chain(3, 100_000))
    session = engine_of(interpreter).session()
    session.release_memory()
    assert session.state.usage().arena_capacity == 0
    for call in (interpreter.invoke, lambda: interpreter.get_tensor(0), lambda: interpreter.tensor(3)()):
        with pytest.raises(StateError):
            call()
    with pytest.raises(StateError):
        interpreter.set_tensor(0, np.zeros(100_000, np.float32))
    counted = count_since(interpreter, interpreter.allocate_tensors)
    assert (counted["plans"], counted["plan_hits"]) == (0, 1)
    assert run(interpreter, np.full(100_000, 3, np.float32))[0].sum() == 300_000


def test_release_does_not_forget_a_resize() -> None:
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(0, (8,))
    engine_of(interpreter).session().release_memory()
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).shape == (8,)


def test_release_is_refused_under_a_view() -> None:
    interpreter = ready(relu_chain())
    view = interpreter.tensor(0)()
    with pytest.raises(StateError, match="view"):
        engine_of(interpreter).session().release_memory()
    view[:] = 1
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [1] * 4


def test_variable_tensors() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    state = graph.variable("state", (100_000,))
    graph.output(graph.node("RELU", [state], out=("y", (100_000,))), graph.node("RELU", [x], out=("z", (4,))))
    interpreter = ready(builder.build())
    assert interpreter.get_tensor(state).any() == np.False_
    interpreter.set_tensor(state, np.ones(100_000, np.float32))
    for _ in range(2):
        run(interpreter, floats(1, 2, 3, 4))
        assert interpreter.get_tensor(2).sum() == 100_000
    interpreter.reset_all_variables()
    interpreter.invoke()
    assert interpreter.get_tensor(2).sum() == 0
    interpreter.set_tensor(state, np.ones(100_000, np.float32))
    resized(interpreter, 5)  # variable tensors are zeroed when they are allocated again, as in LiteRT
    assert interpreter.get_tensor(state).sum() == 0


def test_variable_tensor_of_impossible_size() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.input("x", (4,))
    state = graph.variable("state", (4,))
    graph.output(graph.node("RELU", [state], out=("y", (4,))))
    interpreter = ready(builder.build())
    interpreter.resize_tensor_input(state, (2**31 - 1,) * 4)
    with pytest.raises(ShapeError, match="more elements than an int64 counts"):
        interpreter.allocate_tensors()
    interpreter.set_tensor(state, floats(1, 2, 3, 4))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [1, 2, 3, 4]
    interpreter.resize_tensor_input(state, (0, 3))
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(2).shape == (0, 3)
    assert interpreter.model.subgraphs[0].tensors[state].type == TensorType.FLOAT32


def above_its_bound(interpreter: minilite.Interpreter) -> bool:
    assert interpreter.plan is not None
    return interpreter.arena_bytes > interpreter.plan.lower_bound


def test_a_plan_above_its_bound_improves_when_its_shapes_come_back() -> None:
    crowd = Crowd()
    interpreter = ready(crowd.model, custom_ops={"Step": crowd})
    assert interpreter.plan is not None
    before, bound = interpreter.arena_bytes, interpreter.plan.lower_bound
    assert above_its_bound(interpreter), "the short search is expected to miss the bound here"
    want, _ = run(interpreter, floats(1, 2, 3, 4))
    for size in (1, 4):  # the sum of x and the variable takes no other
        resized(interpreter, size)
    assert interpreter.counters["plans_improved"] == 1
    assert bound <= interpreter.arena_bytes < before
    np.testing.assert_array_equal(run(interpreter, floats(1, 2, 3, 4))[0], want)


def test_a_plan_with_dynamic_tensors_is_not_improved() -> None:
    """The plan is placed again after runs."""
    crowd = Crowd(dynamic=True)
    interpreter = ready(crowd.model, custom_ops={"Step": crowd, "Head": head})
    assert above_its_bound(interpreter)
    for size in (1, 4, 1, 4):
        resized(interpreter, size)
    assert interpreter.counters["plans_improved"] == 0


def test_records_of_a_file_that_numbers_an_output_first() -> None:
    """Tensor 0 lies where tensor 1 does, which is computed before it."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    first = graph.tensor("first", (4,))
    soft = graph.node("SOFTMAX", [graph.input("x", (4,))], out=("soft", (4,)), options={"beta": 1.0})
    graph.node("NEG", [soft], [first])
    graph.output(graph.node("SOFTMAX", [first], out=("y", (4,)), options={"beta": 1.0}))
    plan = ready(builder.build()).plan
    assert plan is not None
    assert plan.tensor(first).root == soft
    assert first not in [tensor for tensor, *_ in plan.records()]


def test_memory_learnt_by_runs_counts_as_cached_bytes() -> None:
    """Among the bytes of cached plans."""

    def known(node: Any, x: Array) -> Array:
        return x

    known.shape = lambda node, x: x  # type: ignore[attr-defined]
    found = [ready(custom_chain("Foo"), custom_ops={"Foo": f}).usage.cached_bytes for f in (known, lambda node, x: x)]
    assert found[1] > found[0]


def test_the_current_plan_is_not_improved() -> None:
    """Another buffer for an input changes one pointer only, and improves no plan."""
    crowd = Crowd()
    interpreter = minilite.Interpreter(model_content=crowd.model, custom_ops={"Step": crowd})
    for number in range(3):
        interpreter.bind_tensor("x", np.full(4, number, np.float32))
        interpreter.allocate_tensors()
        if number == 0:
            assert above_its_bound(interpreter), "the short search is expected to miss the bound here"
            interpreter.set_tensor(crowd.kept, np.ones(4, np.float32))
        interpreter.invoke()
        assert interpreter.counters["rebinds"] == number
        assert interpreter.counters["plans_improved"] == 0
        assert interpreter.get_tensor(crowd.kept).tolist() == [1] * 4
        assert interpreter.get_tensor(interpreter.get_output_details()[1]["index"]).tolist() == [number + 1] * 4


# Questions about what is not there ------------------------------------------------------------------------------------

FRAME = "does not exist: the plan has frames 0 to 0"
TENSOR = "subgraph 0 has tensors 0 to 3"
NODE = "subgraph 0 has positions 0 to 2"
ABSENT: list[tuple[Callable[[Any], Any], str]] = [
    (lambda plan: plan.tensor(99), f"frame 0 has no tensor 99: {TENSOR}"),
    (lambda plan: plan.tensor(-1), f"frame 0 has no tensor -1: {TENSOR}"),
    (lambda plan: plan.tensor(2**40), f"frame 0 has no tensor {2**40}: {TENSOR}"),
    (lambda plan: plan.tensor(0, 1), f"frame 1 {FRAME}"),
    (lambda plan: plan.tensor(99, 2**40), f"frame {2**40} {FRAME}"),
    (lambda plan: plan.shape(4), f"frame 0 has no tensor 4: {TENSOR}"),
    (lambda plan: plan.without([0, 4]), f"frame 0 has no tensor 4: {TENSOR}"),
    (lambda plan: plan.records(10**6), f"frame 1000000 {FRAME}"),
    (lambda plan: plan.records(-1), f"frame -1 {FRAME}"),
    (lambda plan: plan.nodes(1), f"frame 1 {FRAME}"),
    (lambda plan: plan.node(3), f"frame 0 has no node at position 3: {NODE}"),
    (lambda plan: plan.node(0, -1), f"frame -1 {FRAME}"),
    (lambda plan: plan.node_status(-1), f"frame 0 has no node at position -1: {NODE}"),
    (lambda plan: plan.part_of(3), f"frame 0 has no node at position 3: {NODE}"),
    (lambda plan: plan.kernel(2**31), f"frame 0 has no node at position {2**31}: {NODE}"),
]


@pytest.mark.parametrize(("ask", "text"), ABSENT, ids=[text[:40] for _, text in ABSENT])
def test_plan_refuses_tensors_nodes_and_frames_that_do_not_exist(ask: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(ready(relu_chain()).plan)
    assert str(caught.value) == text


@pytest.mark.parametrize(("frame", "number"), [(-1, 0), (1, 0), (2**31 - 1, 0), (0, -1), (0, 4), (0, 2**31 - 1)])
def test_numbers_out_of_range_that_reach_c(frame: int, number: int) -> None:
    """Calls the functions of csrc/plan/look.c directly, because Python refuses such numbers first; they find
    nothing."""
    plan = ready(relu_chain()).plan
    assert plan is not None
    pointer, index, other = plan._pointer, ffi.new("int32_t *"), ffi.new("int32_t *")
    types = ffi.new("char const **")
    assert lib.ml_plan_tensor(pointer, frame, number) == ffi.NULL
    assert (lib.ml_plan_node(pointer, frame, number, index), index[0]) == (-1, -1)
    assert lib.ml_plan_part_of(pointer, frame, number) == -1
    assert lib.ml_plan_kernel(pointer, frame, number, types) == ffi.NULL
    if frame != 0:
        assert lib.ml_plan_frame_subgraph(pointer, frame, index, other) == -1
        assert lib.ml_plan_records(pointer, frame, ffi.NULL, 0) == 0
    else:
        outlook, numbers = ffi.new("ml_outlook *"), ffi.new("int32_t[]", [number])
        assert lib.ml_plan_without(pointer, numbers, 1, outlook, ffi.NULL) == lib.ML_OK
        assert outlook.arena_bytes == plan.arena_bytes


def test_variable_tensors_of_bytes_begin_with_their_zero_point() -> None:
    """Each with its own, whatever else lies at the same offsets of the arena."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), signature=(-1,))
    quantized = [Quantization((0.5,), (zero,)) for zero in (-7, 0, 9)]
    states = [graph.variable(f"state{k}", (70,), TensorType.INT8, quantization=q) for k, q in enumerate(quantized)]
    for k, state in enumerate(states):
        graph.output(graph.node("DEQUANTIZE", [state], out=(f"y{k}", (70,))))
    graph.output(graph.node("RELU", [graph.node("RELU", [x], out=("between", (4,)))], out=("z", (4,))))
    interpreter = ready(builder.build())
    for size in (4, 1000):
        resized(interpreter, size)
        assert [set(interpreter.get_tensor(state).tolist()) for state in states] == [{-7}, {0}, {9}]
        run(interpreter, np.zeros(size, np.float32))
        assert not any(interpreter.get_tensor(detail["index"]).any() for detail in interpreter.get_output_details())
        interpreter.set_tensor(states[0], np.ones(70, np.int8))
