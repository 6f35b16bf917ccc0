"""The search for tiles against a slow one: bounds patch by patch, and the least work over all sets of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_tiles
from slow_tiles import Slow

import minilite
from minilite._native.tiles import find_tiles
from minilite.format.builder import ModelBuilder

SAME = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}


class Image:
    """A model of float images that grows by a node at a time."""

    def __init__(self, seed: int, batch: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = ModelBuilder()
        self.g = self.builder.subgraph()
        self.channels = {}
        self.latest = self.named(self.g.input("x", (batch, 24, 26, 4)), 4)
        self.all = [self.latest]

    def named(self, tensor: Any, channels: int) -> Any:
        self.channels[tensor] = channels
        return tensor

    def add(self, op: str, inputs: list[Any], channels: int, options: Any) -> None:
        self.latest = self.named(self.g.node(op, inputs, out=(f"y{len(self.all)}", None), options=options), channels)
        self.all.append(self.latest)

    def conv(self, channels: int, size: int = 3, stride: int = 1, padding: str = "SAME") -> None:
        x = self.latest
        w = self.rng.normal(size=(channels, size, size, self.channels[x])).astype(np.float32)
        options = SAME | {"padding": padding, "stride_h": stride, "stride_w": stride}
        self.add("CONV_2D", [x, self.g.constant(f"w{len(self.all)}", w)], channels, options)

    def pool(self) -> None:
        options = {"padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
        self.add("MAX_POOL_2D", [self.latest], self.channels[self.latest], options)

    def grow(self) -> None:
        """Doubles the sides."""
        self.add("DEPTH_TO_SPACE", [self.latest], self.channels[self.latest] // 4, {"block_size": 2})

    def unary(self, op: str = "LOGISTIC") -> None:
        self.add(op, [self.latest], self.channels[self.latest], {})

    def residual(self) -> None:
        """A branch of two convolutions, added to its input."""
        x, channels = self.latest, self.channels[self.latest]
        self.conv(channels)
        self.unary()
        self.conv(channels)
        self.add("ADD", [self.latest, x], channels, {})

    def random(self, nodes: int) -> Image:
        for _ in range(nodes):
            draw = self.rng.integers(6)
            if draw < 2:
                self.conv(int(self.rng.integers(1, 5)) * 4, int(self.rng.choice([1, 3])))
            elif draw == 2:
                self.conv(8, 3, 2, str(self.rng.choice(["SAME", "VALID"])))
            elif draw == 3:
                self.unary()
            elif draw == 4 and self.channels[self.latest] % 4 == 0:
                self.grow()
            else:
                self.pool()
        return self

    def interpreter(self, **options: Any) -> minilite.Interpreter:
        self.g.output(self.latest)
        interpreter = minilite.Interpreter(model_content=self.builder.build(), num_threads=1, **options)
        interpreter.allocate_tensors()
        return interpreter


def check_bound(slow: Slow, limit: int, most: float = -1.0) -> Any:
    """The result of the search, whose bound and work are those of the slow one for these groups."""
    found = find_tiles(slow.plan, limit, most)
    groups = [slow.group(g.first, g.last, (g.rows, g.columns)) for g in found.groups]
    assert None not in groups
    for fast, group in zip(found.groups, groups, strict=True):
        assert (fast.live, round(fast.more)) == (group.live, round(group.more)), fast
    assert found.bound == slow_tiles.bound_of(slow, groups)
    assert found.untiled == max(slow.live) == slow.plan.lower_bound
    assert found.work == slow.work
    assert found.more == pytest.approx(sum(g.more for g in groups))
    return found


def residual(batch: int) -> Image:
    image = Image(1, batch)
    image.conv(8)
    image.residual()
    image.conv(4, 3, 2)
    image.residual()
    return image


@pytest.mark.parametrize("batch", [1, 2])
def test_bounds_of_residuals(batch: int) -> None:
    """Their parts are read with and without rows around them."""
    slow = Slow(residual(batch).interpreter())
    smallest = check_bound(slow, 0).smallest
    assert smallest < 0.8 * slow.plan.lower_bound
    for limit in range(smallest, slow.plan.lower_bound, 8192):
        assert check_bound(slow, limit).bound <= limit


@pytest.mark.parametrize("seed", range(12))
def test_no_set_of_groups_is_better(seed: int) -> None:
    slow = Slow(Image(seed, 1 + seed % 2).random(6).interpreter())
    sets = [(slow_tiles.bound_of(slow, s), sum(g.more for g in s)) for s in slow_tiles.sets_of(slow.groups())]
    smallest = min(bound for bound, _ in sets)
    for limit in {0, smallest, (smallest + slow.plan.lower_bound) // 2, slow.plan.lower_bound}:
        found = check_bound(slow, limit)
        assert found.smallest == smallest if smallest > limit else found.smallest <= limit
        reached = max(limit, smallest)
        assert found.bound <= reached
        assert found.more == pytest.approx(min(more for bound, more in sets if bound <= reached))
    for most in (0.0, 0.05, 0.3):
        found = check_bound(slow, 0, most)
        assert found.bound == min(bound for bound, more in sets if more <= most * slow.work + 1e-6)


def test_a_limit_that_is_met_needs_no_groups() -> None:
    slow = Slow(residual(1).interpreter())
    found = find_tiles(slow.plan, slow.plan.lower_bound)
    assert (found.groups, found.bound, found.more) == ((), slow.plan.lower_bound, 0)


def test_kept_tensors_are_not_cut() -> None:
    plan = residual(1).interpreter(experimental_preserve_all_tensors=True).plan
    assert plan is not None
    assert find_tiles(plan, 0).groups == ()


def test_a_node_without_window_ends_a_group() -> None:
    image = Image(2)
    image.conv(16)
    image.unary()
    image.add("REVERSE_V2", [image.latest, image.g.constant("axis", np.array([1], np.int32))], 16, {})
    image.conv(16)
    plan = image.interpreter().plan
    assert plan is not None
    assert all(not group.first <= 2 <= group.last for group in find_tiles(plan, 0).groups)


def test_fused_nodes_lie_within_groups() -> None:
    """Their padding is a part of the convolution, and so is the clamp."""
    image = Image(3)
    image.conv(16)
    pads = np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32)
    image.add("PAD", [image.latest, image.g.constant("pads", pads)], 16, {})
    image.conv(16, padding="VALID")
    image.unary("RELU")
    image.conv(4, 3, 2)
    plan = image.interpreter().plan
    assert plan is not None
    assert [status for _, status in plan.nodes()] == ["runs", "fused", "runs", "fused", "runs"]
    found = find_tiles(plan, 0)
    assert [(group.first, group.last) for group in found.groups] == [(0, 4)]
    assert found.bound < 0.7 * plan.lower_bound


def test_a_model_without_images() -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    g.output(g.node("LOGISTIC", [g.input("x", (4,))], out=("y", (4,))))
    interpreter = minilite.Interpreter(model_content=builder.build())
    interpreter.allocate_tensors()
    assert interpreter.plan is not None
    assert find_tiles(interpreter.plan, 0).groups == ()
