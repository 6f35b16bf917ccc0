"""Several interpreters that use one memory in turn: which values each keeps, and two that run at once."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import Array, relu_chain

import minilite
from minilite import ArenaError, InputError, Interpreter, StateError, Workspace
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def chain(*ops: str, size: int = 64) -> bytes:
    """x -> an output by each of these operators, one after the other."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (size,), signature=(-1,))
    for at, op in enumerate(ops):
        x = graph.node(op, [x], out=(f"y{at}", (size,)))
    graph.output(x)
    return bytes(builder.build())


def growing() -> bytes:
    """The positions of positive elements, and their double: shapes that depend on values."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, zero = graph.input("x", (64,), signature=(-1,)), graph.constant("zero", np.zeros(1, np.float32))
    mask = graph.node("LESS", [zero, x], out=("mask", (64,), TensorType.BOOL))
    where = graph.node("WHERE", [mask], out=("where", (64, 1), TensorType.INT64))
    graph.output(graph.node("ADD", [where, where], out=("y", (64, 1), TensorType.INT64)))
    return bytes(builder.build())


def remembering() -> bytes:
    """A node that keeps its last inputs in a variable."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 3))
    features = graph.constant("features", np.arange(12, dtype=np.float32).reshape(4, 3))
    times = graph.constant("times", np.arange(16, dtype=np.float32).reshape(4, 4))
    operands = [x, features, times, -1, graph.variable("state", (1, 16))]
    graph.output(graph.node("SVDF", operands, out=("y", (1, 4)), options={"rank": 1}, version=1))
    return bytes(builder.build())


def passing() -> bytes:
    """An input that is an output too, and its double."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (64,), signature=(-1,))
    graph.output(x, graph.node("ADD", [x, x], out=("y", (64,))))
    return bytes(builder.build())


MODELS: dict[str, Callable[[], bytes]] = {
    "chain": lambda: chain("EXP", "NEG", "TANH"),
    "growing": growing,
    "passing": passing,
}


def of(model: bytes, workspace: Workspace | None, **options: Any) -> Interpreter:
    return Interpreter(model_content=model, workspace=workspace, **options)


def output(interpreter: Interpreter) -> Array:
    return interpreter.get_tensor(interpreter.get_output_details()[-1]["index"])


def values(seed: int, size: int = 64) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, size).astype(np.float32)


def equal(found: dict[str, Array], wanted: dict[str, Array]) -> bool:
    return found.keys() == wanted.keys() and all(np.array_equal(found[name], wanted[name]) for name in wanted)


# Runs in turn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_runs_in_turn_give_what_a_fresh_interpreter_gives(seed: int) -> None:
    dice, workspace = random.Random(seed), Workspace()
    names = [dice.choice(list(MODELS)) for _ in range(4)]
    shared = [of(MODELS[name](), workspace, preserve_inputs=dice.random() < 0.7) for name in names]
    last: int | None = None
    for turn in range(60):
        at = dice.randrange(4)
        x = values(turn, dice.choice([3, 64, 64, 1000, 40_000]))
        wanted = of(MODELS[names[at]](), None).run(x)
        kind = dice.random()
        if kind < 0.6:
            assert equal(shared[at].run(x), wanted)
        elif kind < 0.9:
            shared[at].resize_tensor_input(0, x.shape)
            shared[at].allocate_tensors()
            shared[at].set_tensor(0, x)
            if last is not None and last != at:
                shared[last].invoke()  # inputs of the other one stay
            shared[at].invoke()
            assert np.array_equal(output(shared[at]), list(wanted.values())[-1])
        else:
            dice.choice([shared[at].trim, workspace.trim])()
            continue
        last = at


def test_memory_is_that_of_the_largest() -> None:
    workspace = Workspace()
    sizes = (100_000, 400_000, 50_000)
    shared = [of(chain("EXP", "NEG"), workspace) for _ in sizes]
    needs = []
    for interpreter, size in zip(shared, sizes, strict=True):
        interpreter.run(values(0, size))
        needs.append(interpreter.arena_bytes)
    assert max(needs) <= workspace.nbytes < max(needs) + 2 * 65536
    assert sum(one.usage.arena_capacity for one in shared) == workspace.nbytes
    assert [one.usage.arena_capacity > 0 for one in shared] == [False, False, True]


def test_pointers_are_made_once_where_memory_stays() -> None:
    workspace = Workspace()
    large, small = of(chain("EXP"), workspace), of(chain("NEG"), workspace)
    large.run(values(0, 400_000))
    for turn in range(5):
        for one in (small, large):
            one.run(values(turn, 400_000))
    assert (large.counters["resolves"], small.counters["resolves"]) == (2, 2)  # when allocated, and in the first run


def test_inputs_stay_while_others_run() -> None:
    workspace = Workspace()
    first, second = of(chain("EXP"), workspace), of(chain("NEG"), workspace)
    for one, seed in ((first, 1), (second, 2)):
        one.allocate_tensors()
        one.set_tensor(0, values(seed))
    first.invoke()
    assert np.array_equal(output(first), of(chain("EXP"), None).run(values(1))["y0"])
    second.invoke()
    assert np.array_equal(output(second), -values(2))
    assert np.array_equal(first.get_tensor(0), values(1))
    first.invoke()
    assert np.array_equal(output(first), of(chain("EXP"), None).run(values(1))["y0"])


def test_variables_are_not_shared() -> None:
    workspace = Workspace()
    shared, alone = ([of(remembering(), used) for _ in range(2)] for used in (workspace, None))
    for turn in range(6):
        at = turn % 3 % 2
        x = values(turn, 3).reshape(1, 3)
        assert equal(shared[at].run(x), alone[at].run(x))


# Values of others -----------------------------------------------------------------------------------------------------


def lost(workspace: Workspace) -> Interpreter:
    """An interpreter whose outputs another one has overwritten."""
    first, second = of(chain("EXP"), workspace), of(chain("NEG"), workspace)
    first.run(values(1))
    second.run(values(2))
    return first


READS: dict[str, Callable[[Interpreter], object]] = {
    "get_tensor": output,
    "a view": lambda one: one.tensor(1)().copy(),
    "set_tensor": lambda one: one.set_tensor(1, values(3)),
}


@pytest.mark.parametrize("read", READS)
def test_overwritten_values_are_refused_until_the_next_run(read: str) -> None:
    workspace = Workspace()
    one = lost(workspace)
    for _ in range(2):
        with pytest.raises(StateError, match="tensor 1 has no values: the workspace has those of another interpreter"):
            READS[read](one)
    one.invoke()
    READS[read](one)


def test_outputs_before_the_first_run_and_after_a_resize_are_refused() -> None:
    one = of(chain("EXP"), Workspace())
    one.allocate_tensors()
    with pytest.raises(StateError, match="has no values"):
        output(one)
    one.invoke()
    assert output(one).shape == (64,)
    one.resize_tensor_input(0, [100_000])
    one.allocate_tensors()
    with pytest.raises(StateError, match="has no values"):
        output(one)


def test_an_interpreter_that_has_ended_is_followed_by_another() -> None:
    workspace = Workspace()
    for seed in range(20):
        one = of(chain("EXP"), workspace)
        one.allocate_tensors()
        with pytest.raises(StateError, match="has no values"):
            output(one)
        one.run(values(seed))
        del one
        gc.collect()


def test_while_a_view_is_held_others_do_not_run() -> None:
    workspace = Workspace()
    first, second = of(chain("EXP"), workspace), of(chain("NEG"), workspace)
    wanted = first.run(values(1))["y0"]
    second.allocate_tensors()
    view = first.tensor(1)()
    for refused in (second.invoke, lambda: second.run(values(2)), workspace.trim, workspace.close):
        with pytest.raises(StateError, match="1 views of the workspace's memory are held"):
            refused()
    assert np.array_equal(view, wanted)
    first.invoke()
    del view
    assert np.array_equal(second.run(values(2))["y0"], -values(2))


# Runs at once ---------------------------------------------------------------------------------------------------------


def in_two_threads(workspace: Workspace) -> list[str]:
    """Runs two interpreters in threads; returns what went wrong, and how often runs were refused."""
    ops, refused, wrong = ("EXP", "NEG"), [], []

    def work(op: str) -> None:
        one, alone = of(chain(op, size=2000), workspace), of(chain(op, size=2000), None)
        for turn in range(150):
            x = values(turn, 2000)
            try:
                if not equal(one.run(x), alone.run(x)):
                    wrong.append(op)
            except StateError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=(op,)) for op in ops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    return refused


def test_threads_get_memory_of_their_own_where_that_was_chosen() -> None:
    assert in_two_threads(Workspace(at_once="own")) == []


def test_threads_are_refused_or_get_their_own_values() -> None:
    told = in_two_threads(Workspace())
    assert all("another interpreter" in text for text in told)


def nested(at_once: Any) -> tuple[Interpreter, Interpreter, list[str]]:
    """An interpreter whose custom operator runs another one of the same workspace."""
    workspace, told = Workspace(at_once=at_once), []
    inner = of(chain("NEG"), workspace)

    def run_inner(_: Any, x: Array) -> Array:
        try:
            return inner.run(x)["y0"]
        except StateError as error:
            told.append(str(error))
            return x

    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (64,))
    y = graph.node("EXP", [x], out=("y", (64,)))
    z = graph.node("Own", [y], out=("z", (64,)), custom=True)
    graph.output(graph.node("ADD", [y, z], out=("sum", (64,))))
    return of(bytes(builder.build()), workspace, custom_ops={"Own": run_inner}), inner, told


def test_a_run_within_a_run_is_refused() -> None:
    outer, inner, told = nested("refuse")
    found = outer.run(values(1))["sum"]
    y = of(chain("EXP"), None).run(values(1))["y0"]
    assert np.array_equal(found, y + y)
    assert told
    assert set(told) == {
        "the workspace is in use by a call of another interpreter: one runs at a time, or Workspace(at_once='own')"
    }
    assert np.array_equal(inner.run(values(2))["y0"], -values(2))


def test_a_run_within_a_run_gets_memory_of_its_own_where_that_was_chosen() -> None:
    outer, inner, told = nested("own")
    for seed in range(3):
        assert not outer.run(values(seed))["sum"].any()
        assert inner.usage.arena_capacity > 0
        assert outer.usage.arena_capacity > 0
    assert told == []


def test_with_memory_of_its_own_it_runs_while_a_view_is_held() -> None:
    workspace = Workspace(at_once="own")
    first, second = of(chain("EXP"), workspace), of(chain("NEG"), workspace)
    wanted = first.run(values(1))["y0"]
    view = first.tensor(1)()
    assert np.array_equal(second.run(values(2))["y0"], -values(2))
    assert np.array_equal(view, wanted)
    assert np.array_equal(output(second), -values(2))


# Bad input ------------------------------------------------------------------------------------------------------------


def test_a_closed_workspace_is_refused() -> None:
    with Workspace() as workspace:
        one = of(chain("EXP"), workspace)
        one.run(values(1))
        assert repr(workspace) == f"<minilite.Workspace, {workspace.nbytes} bytes>"
    assert (workspace.closed, workspace.nbytes, repr(workspace)) == (True, 0, "<minilite.Workspace, closed>")
    message = "the workspace was closed: its interpreters have no memory to run in"
    for refused in (one.invoke, lambda: one.run(values(1)), lambda: of(chain("EXP"), workspace)):
        with pytest.raises(StateError, match=message):
            refused()
    assert np.array_equal(one.get_tensor(0), values(1))
    workspace.close()


def test_limits_are_those_of_each_interpreter() -> None:
    workspace = Workspace()
    large, small = of(chain("EXP", "NEG"), workspace), of(chain("NEG"), workspace, max_bytes=100_000)
    large.run(values(1, 100_000))
    assert np.array_equal(small.run(values(2))["y0"], -values(2))
    with pytest.raises(ArenaError, match=r"max_bytes is 100000\b|100000"):
        small.run(values(3, 100_000))
    assert np.array_equal(small.run(values(2))["y0"], -values(2))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Workspace(at_once="wait"), InputError, "at_once is 'wait', must be 'refuse' or 'own'"),  # type: ignore[arg-type]
        (lambda: of(relu_chain(), 3), InputError, "workspace is of type int, must be a minilite.Workspace"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments(make: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_clones_have_memory_of_their_own() -> None:
    workspace = Workspace()
    one = of(chain("EXP"), workspace)
    wanted = one.run(values(1))
    twin = one.clone()
    assert equal(twin.run(values(1)), wanted)
    assert np.array_equal(output(one), wanted["y0"])
    assert minilite.Workspace().nbytes == 0


def test_a_cancelled_run_ends_and_the_next_one_is_right() -> None:
    workspace, token = Workspace(), minilite.Cancel()
    first, second = of(chain("EXP"), workspace), of(chain("NEG"), workspace)
    first.run(values(1))
    token.cancel()
    with pytest.raises(minilite.KernelError):
        second.run(values(2), cancel=token)
    assert np.array_equal(second.run(values(2))["y0"], -values(2))
    assert equal(first.run(values(1)), of(chain("EXP"), None).run(values(1)))
