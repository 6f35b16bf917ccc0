"""engine/sizes.py: `fit` finds what trying every size finds, within 40 plans, and says where it cannot know; sweeps."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minilite
from minilite.engine.engine import engine_of
from minilite.engine.sizes import MAX_PLANS, PlannedSize
from minilite.errors import InputError, ShapeError
from minilite.format.builder import ModelBuilder
from minilite.numeric import byte_count

Make = Callable[[Any, random.Random], None]


def weights(graph: Any, *shape: int) -> int:
    number: int = graph.constant(f"w{len(graph.subgraph().tensors)}", np.ones(shape, np.float32))
    return number


def images(graph: Any, rng: random.Random) -> None:
    """Convolutions, pools and sums of an image; those without padding refuse what is smaller than they are."""
    x, depth = graph.input("image", (1, 40, 40, 3), signature=(1, -1, -1, 3)), 3
    for n in range(rng.randint(3, 8)):
        kind = rng.choice(["conv", "pool", "twice", "relu"])
        window = {"padding": rng.choice(["SAME", "VALID"]), "stride_w": rng.choice([1, 1, 2])}
        window["stride_h"] = window["stride_w"]
        if kind == "conv":
            filters = rng.choice([4, 8, 24])
            x = graph.node("CONV_2D", [x, weights(graph, filters, 3, 3, depth)], out=(f"y{n}", None), options=window)
            depth = filters
        elif kind == "pool":
            options = {**window, "filter_width": 2, "filter_height": 2}
            x = graph.node("MAX_POOL_2D", [x], out=(f"y{n}", None), options=options)
        elif kind == "twice":
            y = graph.node("TANH", [x], out=(f"tanh{n}", None))
            x = graph.node("ADD", [x, y], out=(f"y{n}", None))
        else:
            x = graph.node("RELU", [x], out=(f"y{n}", None))
    graph.output(x)


def sequences(graph: Any, rng: random.Random) -> None:
    """Attention: the square of the length."""
    x, depth = graph.input("x", (1, 24, 8), signature=(1, -1, 8)), 8
    for n in range(rng.randint(1, 3)):
        y = graph.node("TANH", [x], out=(f"keys{n}", None))
        scores = graph.node("BATCH_MATMUL", [x, y], out=(f"scores{n}", None), options={"adj_y": True})
        scores = graph.node("SOFTMAX", [scores], out=(f"weights{n}", None), options={"beta": 1.0})
        x = graph.node("BATCH_MATMUL", [scores, x], out=(f"x{n}", None))
        if rng.random() < 0.5:
            wide = rng.choice([8, 48])
            options = {"keep_num_dims": True}
            x = graph.node("FULLY_CONNECTED", [x, weights(graph, wide, depth)], out=(f"fc{n}", None), options=options)
            depth = wide
    graph.output(x)


def batches(graph: Any, rng: random.Random) -> None:
    x, depth = graph.input("x", (2, 16)), 16
    for n in range(rng.randint(2, 6)):
        wide = rng.choice([4, 32, 100])
        x = graph.node("FULLY_CONNECTED", [x, weights(graph, wide, depth)], out=(f"y{n}", None))
        depth = wide
    graph.output(x)


def with_inputs(plan: Any) -> int:
    """The bytes that `fit` compares with its budget."""
    return int(plan.arena_bytes + plan.input_bytes)


def built(make: Make, seed: int = 0) -> minilite.Interpreter:
    builder = ModelBuilder()
    make(builder.subgraph(), random.Random(seed))
    return minilite.Interpreter(model_content=builder.build())


SHAPES = {"side": lambda n: (1, n, n, 3), "length": lambda n: (1, n, 8), "batch": lambda n: (n, 16)}
CASES = [(images, "side", seed) for seed in range(12)]
CASES += [(sequences, "length", seed) for seed in (1, 3, 5, 7)]  # all of whose plans meet their bounds
CASES += [(batches, "batch", seed) for seed in range(4)]
EVERY = 400


@pytest.mark.parametrize(("make", "axis", "seed"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_fit_finds_what_trying_every_size_finds(make: Make, axis: str, seed: int) -> None:
    interpreter = built(make, seed)
    arenas: dict[int, int] = {}
    for size in range(1, EVERY):
        try:
            arenas[size] = with_inputs(interpreter.plan_for({0: SHAPES[axis](size)}))
        except ShapeError:
            assert not arenas, "accepted sizes are monotone"
    assert sorted(arenas.values()) == list(arenas.values())
    rng = random.Random(seed)
    for size in (rng.randint(2, 20), rng.randint(20, 60), rng.randint(60, EVERY - 50)):
        budget = arenas.get(size, min(arenas.values())) + rng.randint(-200, 200)
        fitting = [each for each, arena in arenas.items() if arena <= budget]
        found = interpreter.fit(budget)
        assert (found.axis, found.monotone, found.finished) == (axis, True, True)
        assert (found.best.size if found.best else None) == (max(fitting) if fitting else None)
        assert len(found.tried) <= MAX_PLANS
        assert found.best is None or dict(found.best.shapes).popitem()[1] == SHAPES[axis](found.best.size)


def strided(graph: Any, _: random.Random) -> None:
    """Takes only multiples of 8: a tensor that is halved three times and doubled again is added to one that is not."""
    x = graph.input("image", (1, 32, 32, 1), signature=(1, -1, -1, 1))
    small = x
    for n in range(3):
        options = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
        small = graph.node("MAX_POOL_2D", [small], out=(f"half{n}", None), options=options)
    block = {"block_size": 8}
    small = graph.node(
        "CONV_2D",
        [small, weights(graph, 64, 1, 1, 1)],
        out=("deep", None),
        options={"padding": "SAME", "stride_w": 1, "stride_h": 1},
    )
    graph.output(
        graph.node(
            "ADD", [x, graph.node("DEPTH_TO_SPACE", [small], out=("large", None), options=block)], out=("y", None)
        )
    )


def test_fit_finds_the_step_between_sizes_that_a_model_accepts() -> None:
    interpreter = built(strided)
    arenas = {size: with_inputs(interpreter.plan_for({0: (1, size, size, 1)})) for size in range(8, 400, 8)}
    for budget in (arenas[16], arenas[200] + 5000, arenas[40] - 1):
        found = interpreter.fit(budget, "side")
        assert found.step == 8
        assert found.best is not None
        assert found.best.size == max(size for size, arena in arenas.items() if arena <= budget)
        assert found.monotone  # sizes in between are not considered
    refused = [one for one in interpreter.fit(arenas[200], step=3).tried if one.refused]
    assert refused
    assert "ADD" in (refused[0].refused or "")


def test_fit_starts_from_another_size_if_the_current_one_is_refused() -> None:
    """Also where the present size is accepted by chance, because 1 broadcasts."""
    interpreter = built(strided)
    found = [interpreter.fit("1MB", shapes={"image": (1, size, size, 1)}).best for size in (1, 3, 32)]
    assert len({one.size if one is not None else None for one in found}) == 1
    assert found[0] is not None
    assert found[0].size > 100


def wide_window(graph: Any, _: random.Random) -> None:
    """Refuses what is smaller than its window."""
    x = graph.input("image", (1, 40, 40, 3), signature=(1, -1, -1, 3))
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    graph.output(graph.node("CONV_2D", [x, weights(graph, 4, 25, 25, 3)], out=("y", None), options=options))


def test_fit_goes_up_from_sizes_that_are_too_small_for_the_model() -> None:
    interpreter = built(wide_window)
    for size in (25, 26, 27, 39):
        found = interpreter.fit(with_inputs(interpreter.plan_for({0: (1, size, size, 3)})))
        assert found.best is not None
        assert found.best.size == size
    assert interpreter.fit(100).best is None


def fixed(graph: Any, _: random.Random) -> None:
    x = graph.input("x", (1, 8))
    graph.output(graph.node("RESHAPE", [x, graph.constant("shape", np.array([2, 4], np.int32))], out=("y", (2, 4))))


def test_fit_of_a_model_that_takes_one_size() -> None:
    interpreter = built(fixed)
    best = interpreter.fit(10_000).best
    assert best is not None
    assert (best.size, best.arena_bytes) == (1, with_inputs(interpreter.plan_for()))
    assert interpreter.fit(10).best is None


def shrinking(plan_for: Callable[..., Any]) -> Callable[..., Any]:
    """An arena that is small again beyond 100."""

    class Plan:
        def __init__(self, size: int) -> None:
            self.arena_bytes = self.lower_bound = size * 100 if size < 100 else size
            self.input_bytes = 0

    return lambda shapes: Plan(shapes[0][0])


def test_fit_says_where_the_arena_does_not_grow_with_the_size() -> None:
    from minilite.engine.sizes import fit

    graph = built(batches).model.subgraphs[0]
    found = fit(shrinking(lambda _: None), graph, {0: (2, 16)}, 9800, "batch")
    assert not found.monotone
    assert found.best is not None
    assert found.best.size == max(
        one.size for one in found.tried if one.arena_bytes is not None and one.arena_bytes <= 9800
    )


def test_fit_refuses() -> None:
    interpreter = built(batches)
    for arguments, text in (
        (("8M",), "takes bytes such as 8000000, 8MB"),
        ((0,), "a budget in bytes is 0, must be from 1"),
        (("1MB", "side"), "no input has a side: the model's inputs are 'x' [2, 16]"),
        (("1MB", "depth"), "there is no axis 'depth': there are side, length, batch"),
    ):
        with pytest.raises(InputError, match=text.replace("[", r"\[")):
            interpreter.fit(*arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="step is 0"):
        interpreter.fit(100, step=0)
    with pytest.raises(ShapeError, match="every size tried is refused"):
        built(fixed).fit(100, shapes={"x": (1, 9)})


def test_images_keep_their_proportions_and_other_inputs_their_shapes() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (1, 3, 60, 80)), graph.input("b", (1, 7))
    graph.output(graph.node("RELU", [a], out=("y", None)), graph.node("RELU", [b], out=("z", None)))
    found = minilite.Interpreter(model_content=builder.build()).fit("1MB", "side")
    assert found.best is not None
    ((name, (_, channels, height, width)),) = found.best.shapes.items()
    assert (name, channels) == ("a", 3)
    assert abs(width / height - 80 / 60) < 0.02


def test_byte_count() -> None:
    assert [byte_count(text) for text in ("8MB", "8 mb", "8MiB", "1.5kB", "77")] == [
        8_000_000,
        8_000_000,
        8 << 20,
        1500,
        77,
    ]


def test_planned_sizes_are_kept_apart_from_refused_ones() -> None:
    from minilite.engine.sizes import sweep

    interpreter = built(strided)
    session = engine_of(interpreter).session()
    sizes = [(size, {0: (1, size, size, 1)}) for size in (8, 12, 16)]
    found: list[PlannedSize] = list(sweep(session.plan_for, interpreter.model.subgraphs[0], sizes))
    assert [one.arena_bytes is None for one in found] == [False, True, False]
    assert [bool(one.refused) for one in found] == [False, True, False]
    assert all(one.seconds > 0 for one in found)
