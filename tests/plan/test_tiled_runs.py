"""max_arena: parts of a model run patch by patch, with the same results in a smaller arena."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from image_models import Image, residual

import minilite
from minilite import ArenaError, InputError, Interpreter, KernelError, StateError
from minilite._native.kernels import level_names
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.memory import UsageRecord, check

SHARES = (0.9, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2)


def fed(interpreter: Interpreter, seed: int = 0) -> list[Any]:
    """The outputs of a run on random values."""
    rng = np.random.default_rng(seed)
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], rng.normal(size=detail["shape"]).astype(detail["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def bits(arrays: list[Any]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


def arena_of(interpreter: Interpreter) -> int:
    plan = interpreter.plan
    assert plan is not None
    return plan.arena_bytes


def smallest_of(model: bytes, **options: Any) -> int:
    """The smallest arena, as the error for too small a limit names it."""
    with pytest.raises(ArenaError, match="max_arena is 1:") as caught:
        Interpreter(model_content=model, max_arena=1, **options).allocate_tensors()
    found = re.search(r"at least (\d+)", str(caught.value))
    assert found is not None
    return int(found[1])


def model_of(image: Image) -> bytes:
    image.g.output(image.latest)
    return image.builder.build()


MODELS = {f"random{seed}": model_of(Image(seed, 1 + seed % 2).random(7)) for seed in range(10)} | {
    "residual": model_of(residual(1)),
    "residual of two images": model_of(residual(2)),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_the_same_at_every_limit(name: str) -> None:
    plain = Interpreter(model_content=MODELS[name])
    plain.allocate_tensors()
    want, smallest = bits(fed(plain)), smallest_of(MODELS[name])
    for limit in sorted({smallest, *(max(smallest, int(share * arena_of(plain))) for share in SHARES)}):
        tiled = Interpreter(model_content=MODELS[name], max_arena=limit)
        tiled.allocate_tensors()
        plan = tiled.plan
        assert plan is not None
        assert plan.lower_bound <= plan.arena_bytes <= limit
        assert bool(plan.tiles()) == (limit < arena_of(plain))
        assert bits(fed(tiled)) == want
        assert bits(fed(tiled)) == want


def test_some_models_get_much_smaller() -> None:
    shares = []
    for model in MODELS.values():
        plain = Interpreter(model_content=model)
        plain.allocate_tensors()
        shares.append(smallest_of(model) / arena_of(plain))
    assert sorted(shares)[3] < 0.6, shares


@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_levels_and_threads(level: str, threads: int) -> None:
    for model in (MODELS["residual"], MODELS["random3"]):
        whole = Interpreter(model_content=model, num_threads=threads, level=level)
        whole.allocate_tensors()
        tiled = Interpreter(
            model_content=model, num_threads=threads, level=level, max_arena=smallest_of(model, level=level)
        )
        tiled.allocate_tensors()
        assert bits(fed(tiled)) == bits(fed(whole))


def test_sizes() -> None:
    """Each size is cut for itself; the groups of the size before are tried first."""
    model = MODELS["residual"]
    tiled, whole = Interpreter(model_content=model, max_arena="100kB"), Interpreter(model_content=model)
    seen = {}
    for height, width in ((24, 26), (40, 26), (32, 64), (40, 26), (16, 16), (24, 26)):
        for one in (tiled, whole):
            one.resize_tensor_input(0, (1, height, width, 4))
            one.allocate_tensors()
        plan = tiled.plan
        assert plan is not None
        assert plan.arena_bytes <= 100_000
        assert bits(fed(tiled)) == bits(fed(whole))
        assert seen.setdefault((height, width), plan.tiles()) == plan.tiles()
    assert seen[16, 16] == ()
    assert seen[32, 64] != ()


def test_a_size_that_does_not_fit_changes_nothing() -> None:
    model = MODELS["residual"]
    tiled = Interpreter(model_content=model, max_arena=smallest_of(model))
    tiled.allocate_tensors()
    before = bits(fed(tiled))
    tiled.resize_tensor_input(0, (1, 200, 200, 4))
    with pytest.raises(ArenaError, match=r"the arena needs \d+ bytes at these shapes, and max_arena is"):
        tiled.allocate_tensors()
    assert bits(fed(tiled)) == before


def test_records_are_proved_by_the_checker() -> None:
    tiled = Interpreter(model_content=MODELS["residual"], max_arena=smallest_of(MODELS["residual"]))
    tiled.allocate_tensors()
    plan = tiled.plan
    assert plan is not None
    rows = plan.records()
    assert (
        check([UsageRecord(tensor, size, first, last) for tensor, size, first, last, _ in rows], [r[4] for r in rows])
        is None
    )


def test_tensors_between_nodes_have_no_memory() -> None:
    model = MODELS["residual"]
    tiled = Interpreter(model_content=model, max_arena=smallest_of(model))
    tiled.allocate_tensors()
    fed(tiled)
    plan = tiled.plan
    assert plan is not None
    lost = [t for t in range(plan.n_tensors) if plan.tensor(t).storage == "none"]
    assert lost
    with pytest.raises(StateError, match="run as one, fused or patch by patch; experimental_preserve_all_tensors"):
        tiled.get_tensor(lost[0])
    assert {"in patches"} <= {status for _, status in plan.nodes()}


def test_kept_tensors_stay_whole() -> None:
    model = MODELS["residual"]
    with pytest.raises(ArenaError, match="max_arena"):
        Interpreter(
            model_content=model, max_arena=smallest_of(model), experimental_preserve_all_tensors=True
        ).allocate_tensors()


def test_bound_tensors_stay_whole() -> None:
    model = MODELS["residual"]
    whole = Interpreter(model_content=model)
    whole.allocate_tensors()
    want = bits(fed(whole))
    limit = (smallest_of(model) + arena_of(whole)) // 2
    tiled = Interpreter(model_content=model, max_arena=limit)
    tiled.allocate_tensors()
    plan = tiled.plan
    assert plan is not None
    between = next(t for t in range(plan.n_tensors) if plan.tensor(t).storage == "none")
    buffer = np.zeros(plan.shape(between), np.float32)
    tiled.bind_tensor(between, buffer)
    tiled.allocate_tensors()
    assert bits(fed(tiled)) == want
    assert np.any(buffer)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "many", "", "-3", [1], np.float32(7), 2**70])
def test_bad_limits(value: Any) -> None:
    with pytest.raises(InputError, match="max_arena"):
        Interpreter(model_content=MODELS["residual"], max_arena=value)


def test_text_limits() -> None:
    for text, size in (("90kB", 90_000), ("0.1 MB", 100_000), ("1MiB", 1 << 20)):
        tiled = Interpreter(model_content=MODELS["residual"], max_arena=text)
        tiled.allocate_tensors()
        assert arena_of(tiled) <= size


def dividing() -> bytes:
    """Images of integers, three nodes that can be cut, one of which divides."""
    builder = ModelBuilder()
    g = builder.subgraph()
    x, y = (g.input(name, (1, 64, 64, 8), TensorType.INT32) for name in "xy")
    a = g.node("MUL", [x, x], out=("a", (1, 64, 64, 8), TensorType.INT32), options={})
    b = g.node("ADD", [x, a], out=("b", (1, 64, 64, 8), TensorType.INT32), options={})
    c = g.node("DIV", [b, y], out=("c", (1, 64, 64, 8), TensorType.INT32), options={})
    d = g.node("ADD", [c, a], out=("d", (1, 64, 64, 8), TensorType.INT32), options={})
    g.output(g.node("SUB", [d, b], out=("e", (1, 64, 64, 8), TensorType.INT32), options={}))
    return builder.build()


def test_errors_name_the_patch() -> None:
    model = dividing()
    whole = Interpreter(model_content=model)
    whole.allocate_tensors()
    tiled = Interpreter(model_content=model, max_arena=int(0.6 * arena_of(whole)))
    tiled.allocate_tensors()
    ones = np.ones((1, 64, 64, 8), np.int32)
    bad = ones.copy()
    bad[0, 50, 3, 2] = 0
    want = whole.run({"x": 5 * ones, "y": 2 * ones})
    for _ in range(2):
        with pytest.raises(KernelError, match=r"node 2 \(DIV 'c'\).*\(patch \d+ of \d+\)"):
            tiled.run({"x": ones, "y": bad})
        got = tiled.run({"x": 5 * ones, "y": 2 * ones})
        assert {k: v.tobytes() for k, v in got.items()} == {k: v.tobytes() for k, v in want.items()}


def test_profile_counts_patches() -> None:
    model = MODELS["residual"]
    tiled = Interpreter(model_content=model, max_arena=smallest_of(model))
    tiled.allocate_tensors()
    plan = tiled.plan
    assert plan is not None
    group = plan.tiles()[0]
    assert group.rows * group.columns > 1
    profile = tiled.profile(runs=2)
    assert profile.nodes


def test_a_token_ends_it() -> None:
    tiled = Interpreter(model_content=MODELS["residual"], max_arena=smallest_of(MODELS["residual"]))
    tiled.allocate_tensors()
    want = bits(fed(tiled))
    token = minilite.Cancel()
    token.cancel()
    with pytest.raises(KernelError, match="cancelled"):
        tiled.invoke(cancel=token)
    assert bits(fed(tiled)) == want


def growing() -> bytes:
    """A model whose output grows with a value."""
    builder = ModelBuilder()
    g = builder.subgraph()
    count, x = g.input("count", (1,), TensorType.INT32), g.input("x", (1,))
    g.output(g.node("FILL", [count, g.constant("v", np.float32(2))], out=("y", None), options={}))
    g.output(g.node("RELU", [x], out=("z", None), options={}))
    return builder.build()


def test_runs_place_no_more_than_allowed() -> None:
    one = Interpreter(model_content=growing(), max_arena=4096)
    one.allocate_tensors()
    for count, fits in ((10, True), (5000, False), (100, True), (2000, False), (7, True)):
        one.set_tensor(0, np.array([count], np.int32))
        if fits:
            one.invoke()
            assert one.get_tensor(one.get_output_details()[0]["index"]).size == count
        else:
            with pytest.raises(ArenaError, match="max_arena is 4096"):
                one.invoke()


def growing_images() -> bytes:
    """A residual network of images, and an output that grows with a value."""
    image = residual(1)
    g = image.g
    count = g.input("count", (1,), TensorType.INT32)
    g.output(image.latest)
    filled = g.node("FILL", [count, g.constant("v", np.float32(2))], out=("filled", None), options={})
    g.output(g.node("NEG", [filled], out=("grown", None), options={}))
    return image.builder.build()


def test_dynamic_tensors_beside_patches() -> None:
    model = growing_images()
    whole = Interpreter(model_content=model)
    whole.allocate_tensors()
    limit = arena_of(whole) // 2 + 8192
    tiled = Interpreter(model_content=model, max_arena=limit)
    tiled.allocate_tensors()
    image = np.random.default_rng(3).normal(size=(1, 24, 26, 4)).astype(np.float32)
    refused = set()
    counts = (5, 300, 20, 100_000, 700, 1, 50_000, 900)
    for count in counts:
        given = {"x": image, "count": np.array([count], np.int32)}
        want = whole.run(given)
        try:
            got = tiled.run(given)
        except ArenaError as error:
            assert f"max_arena is {limit}" in str(error)  # noqa: PT017
            refused.add(count)
        else:
            assert {k: v.tobytes() for k, v in got.items()} == {k: v.tobytes() for k, v in want.items()}
            assert tiled.arena_bytes <= limit
    assert {50_000, 100_000} <= refused
    assert not {1, 5, 20} & refused  # the plan may leave no room for more


def test_in_a_workspace() -> None:
    """Two interpreters with limits of their own use one arena in turn."""
    workspace = minilite.Workspace()
    made = []
    for name in ("residual", "random3", "residual"):
        whole = Interpreter(model_content=MODELS[name])
        whole.allocate_tensors()
        tiled = Interpreter(model_content=MODELS[name], max_arena=smallest_of(MODELS[name]), workspace=workspace)
        tiled.allocate_tensors()
        made.append((whole, tiled))
    for seed in range(3):
        for whole, tiled in made:
            assert bits(fed(tiled, seed)) == bits(fed(whole, seed))
    assert workspace.nbytes <= max(smallest_of(MODELS[name]) for name in ("residual", "random3")) + 4096


def test_clones_and_snapshots_keep_the_limit() -> None:
    model = MODELS["residual"]
    tiled = Interpreter(model_content=model, max_arena=smallest_of(model))
    tiled.allocate_tensors()
    want = bits(fed(tiled))
    for other in (tiled.clone(), pickle.loads(pickle.dumps(tiled))):
        other.allocate_tensors()
        assert arena_of(other) == arena_of(tiled)
        assert bits(fed(other)) == want


def test_plans_of_sizes_that_fit() -> None:
    """`fit` of an interpreter with a limit counts sizes that run patch by patch."""
    model = MODELS["residual"]
    whole, tiled = Interpreter(model_content=model), Interpreter(model_content=model, max_arena=60_000)
    sizes = [one.fit(90_000, "side").best for one in (whole, tiled)]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[1].size > sizes[0].size
    assert (sizes[1].arena_bytes or 0) <= 90_000


@pytest.mark.parametrize(
    "options",
    [
        {"planner": "tflite"},
        {"planner": "greedy_by_size"},
        {"in_place": "none"},
        {"in_place": "tflite"},
        {"preserve_inputs": False},
        {"experimental_disable_delegate_node_fusion": True},
    ],
    ids=str,
)
def test_options_of_planning(options: dict[str, Any]) -> None:
    for name in ("residual", "residual of two images", "random5"):
        model = MODELS[name]
        whole = Interpreter(model_content=model, **options)
        whole.allocate_tensors()
        want = bits(fed(whole))
        for limit in {smallest_of(model, **options), int(0.7 * arena_of(whole))}:
            tiled = Interpreter(model_content=model, max_arena=max(limit, smallest_of(model, **options)), **options)
            tiled.allocate_tensors()
            assert bits(fed(tiled)) == want
            assert bits(fed(tiled)) == want
