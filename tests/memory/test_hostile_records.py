"""Numbers that no usage record has are refused wherever records are taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minilite.errors import ArenaError, InputError
from minilite.memory import UsageRecord, check, lower_bound, plan, positional_maxima, sections, shared_objects_bound

NUMBERS = (-(2**70), -(2**63), 2**63, 2**64, True, 1.5, float("nan"), float("inf"), "x", [], b"1")
TAKERS = (
    plan, sections, lower_bound, positional_maxima, shared_objects_bound, lambda records, **options: check(records, [0], **options)
)  # fmt: skip


@pytest.mark.parametrize("value", [*NUMBERS, None])
@pytest.mark.parametrize("field", ["tensor", "size", "first_node", "last_node", "offset"])
@pytest.mark.parametrize("take", TAKERS)
def test_records_are_of_integers_in_range(take: Any, field: str, value: Any) -> None:
    record = UsageRecord(0, 64, 0, 1)._replace(**{field: value})
    if field == "offset" and value is None:
        take([record])
        return
    with pytest.raises(InputError) if field != "size" else pytest.raises((InputError, ArenaError)):
        if take([record]) and field == "size" and value > 2**62:  # bounds count with integers of any size
            raise ArenaError(str(value))


@pytest.mark.parametrize(
    "change",
    [
        *({field: value} for field in UsageRecord._fields[:-1] for value in (True, 1.5, "x", -(2**63))),
        *({"memory": value} for value in (True, 1.5, (), ("x", 1))),
        {"tensor": 2**31}, {"tensor": -(2**31)}, {"size": -1}, {"first_node": -1},
        {"first_node": 2}, {"last_node": 2**31}, {"offset": -1}, {"offset": 2**62}, {"size": None},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_error_names_the_record_among_valid_ones(count: int, change: dict[str, Any]) -> None:
    records = [UsageRecord(i, 64, 0, 1) for i in range(3)]
    records[count] = records[count]._replace(**change)
    for take in TAKERS:
        with pytest.raises(InputError, match=f"^record {count}[:,]"):
            take(records)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_records_are_of_integers_of_any_type(kind: Any) -> None:
    plain = [UsageRecord(i, 64, 0, i) for i in range(3)]
    mixed = [*plain[:2], UsageRecord(*map(kind, plain[2][:4]))]
    assert plan(mixed).offsets == plan(plain).offsets
    assert sections(mixed) == sections(plain)


@pytest.mark.parametrize("value", [*NUMBERS, None, 0, -64])
@pytest.mark.parametrize("take", TAKERS)
def test_alignments_are_integers(take: Any, value: Any) -> None:
    with pytest.raises(InputError):
        take([UsageRecord(0, 64, 0, 1)], alignment=value)


@pytest.mark.parametrize("value", [*NUMBERS[2:], None])
def test_offsets_are_integers(value: Any) -> None:
    with pytest.raises(InputError):
        check([UsageRecord(0, 64, 0, 1)], [value])


@pytest.mark.parametrize("value", [*NUMBERS, -1])
@pytest.mark.parametrize("limit", ["capacity", "max_nodes", "max_seconds"])
def test_limits_of_a_search_are_numbers(limit: str, value: Any) -> None:
    if limit == "max_seconds" and value == 1.5:
        plan([UsageRecord(0, 64, 0, 1)], "exact", max_seconds=value)
        return
    with pytest.raises(InputError):
        plan([UsageRecord(0, 64, 0, 1)], "exact", **{limit: value})
