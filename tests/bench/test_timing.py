"""Timing: calls are interleaved, a new size is really new, and all operations of the history run on this commit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minilite
from asv_bench.benchmarks import binding, common, milestones, operations, timing


def test_a_sample_is_the_time_of_a_call() -> None:
    clock = itertools.count(0, 10).__next__
    assert timing.sample(lambda: None, 5, clock) == 2.0
    assert timing.times(lambda: None, 500, clock) == 100


def test_calls_take_turns_in_both_orders() -> None:
    text: list[str] = []
    clock = itertools.count(0, 10).__next__
    found = timing.in_turn([lambda: text.append("a"), lambda: text.append("b")], 3, 10, clock)
    assert [len(times) for times in found] == [3, 3]
    assert [name for name, _ in itertools.groupby(text[-12:])] == ["a", "b", "a", "b"]


@pytest.mark.parametrize("name", ["conv", "chain 1"])
def test_new_sizes_are_new_to_their_interpreter(name: str) -> None:
    places = itertools.islice(common.new_sizes(name), 2 * common.NEW_SIDES**2)
    seen: dict[int, set[tuple[int, ...]]] = {}
    kept = []
    for made, _, size in places:
        kept.append(made)
        assert size not in seen.setdefault(id(made), set())
        seen[id(made)].add(size)
    assert 2 <= len(seen) <= 3


@pytest.mark.parametrize("name", ["conv", "chain 100"])
def test_every_call_of_the_new_resize_plans(name: str) -> None:
    made: list[minilite.Interpreter] = []

    def make(**options: object) -> minilite.Interpreter:
        made.append(common.interpreter(**options))
        return made[-1]

    resize = operations.API[f"resize new, {name}"](make)
    resize()
    before = made[0].counters["plans"]
    for _ in range(200):
        resize()
    assert made[0].counters["plans"] - before == 200


def test_the_history_s_operations_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milestones, "SECONDS", 0.0)
    monkeypatch.setattr(milestones, "ROUNDS", 1)
    found = milestones.one_process()
    assert found.keys() == {"reference", *operations.HISTORY}
    assert all(0 < cost < float("inf") for cost in found.values())


def test_costs_are_the_least_in_units_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = iter([{"reference": 4.0, "a": 8.0}, {"reference": 2.0, "a": 12.0}, {"reference": 5.0, "a": 9.0}])
    monkeypatch.setattr(milestones.apart, "call", lambda *_: next(processes))
    assert milestones.measure() == {"a": 4.0}


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1 << 16,)])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_arrays_lie_where_they_are_placed(shape: tuple[int, ...], dtype: Any) -> None:
    values = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    for place in (0, common.PAGE // 2):
        found = common.placed(values, place)
        assert found.ctypes.data % common.PAGE == place
        assert (found.dtype, found.shape) == (values.dtype, shape)
        np.testing.assert_array_equal(found, values)


def test_arrays_of_a_bound_run_are_half_a_page_apart() -> None:
    suite = binding.Binding()
    suite.setup(4096)
    for source, target in suite.pairs:
        assert (target.ctypes.data - source.ctypes.data) % 4096 == 2048
