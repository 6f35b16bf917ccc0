"""The search for tiles against a slow one: bounds patch by patch, and the least work over all sets of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_tiles
from image_models import Image, residual
from slow_tiles import Slow

import minilite
from minilite._native.tiles import find_tiles
from minilite.format.builder import ModelBuilder


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
