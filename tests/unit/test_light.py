"""What keeps importing light: a NamedTuple that is typing's in all that is used of it, and modules that wait."""

from __future__ import annotations

import copy
import enum
import inspect
import pickle
import sys
import typing

import pytest

from minilite import light
from minilite.light import Later, NamedTuple


class Ours(NamedTuple):
    """A row."""

    number: int
    name: str = "x"

    @property
    def twice(self) -> int:
        """A property."""
        return 2 * self.number


class Theirs(typing.NamedTuple):
    """The same."""

    number: int
    name: str = "x"

    @property
    def twice(self) -> int:
        """A property."""
        return 2 * self.number


class Said(Ours):
    """A class derived from one adds no field."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self.number}>"


def test_values_are_as_typings_are() -> None:
    for one, other in (
        (Ours(1), Theirs(1)),
        (Ours(1, "y"), Theirs(1, "y")),
        (Ours(name="z", number=2), Theirs(2, "z")),
    ):
        assert tuple(one) == tuple(other) == one
        assert (one.number, one.name, one.twice) == (other.number, other.name, other.twice)
        assert one._asdict() == other._asdict()
        assert tuple(one._replace(number=7)) == tuple(other._replace(number=7))
        assert repr(one) == repr(other).replace("Theirs", "Ours")
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    assert Ours._make([3, "w"]) == Ours(3, "w")
    assert not hasattr(Ours(1), "__dict__")
    assert (repr(Said(3)), Said(3)._replace(number=4).number, type(Said(3)._replace(number=4))) == ("<3>", 4, Said)


def test_classes_are_as_typings_are() -> None:
    assert (Ours._fields, Ours._field_defaults) == (Theirs._fields, Theirs._field_defaults)
    assert Ours.__match_args__ == Theirs.__match_args__  # type: ignore[attr-defined]
    assert str(inspect.signature(Ours)) == "(number: 'int', name: 'str' = 'x')"
    assert typing.get_type_hints(Ours) == {"number": int, "name": str}


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, "x", 2), {}), ((1,), {"number": 2}), ((1,), {"other": 2}), ((), {"name": "x"})]
)
def test_values_that_do_not_fit_are_refused(values: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*values, **named)
    for one in (Ours(1), Theirs(1)):
        with pytest.raises((TypeError, ValueError)):
            one._replace(other=1)


def test_a_module_waits_until_something_of_it_is_asked_for() -> None:
    sys.modules.pop("colorsys", None)
    waits = Later("colorsys")
    assert "colorsys" not in sys.modules
    asked = waits.rgb_to_hsv
    assert "colorsys" in sys.modules
    assert waits.rgb_to_hsv is asked is sys.modules["colorsys"].rgb_to_hsv
    with pytest.raises(AttributeError):
        _ = waits.nothing_of_the_kind


class Letters(light.Enum):
    """Members."""

    A = 0
    B = 2


class Numbers(light.IntEnum):
    """Members that are numbers."""

    ONE = 1
    TWO = 2


class TheirLetters(enum.Enum):
    """The same."""

    A = 0
    B = 2


class TheirNumbers(enum.IntEnum):
    """The same."""

    ONE = 1
    TWO = 2


@pytest.mark.parametrize(("ours", "theirs"), [(Letters, TheirLetters), (Numbers, TheirNumbers)])
def test_members_are_as_enums_are(ours: type[enum.Enum], theirs: type[enum.Enum]) -> None:
    assert [(m.name, m.value) for m in ours] == [(m.name, m.value) for m in theirs]
    assert list(ours.__members__) == list(theirs.__members__)
    assert len(ours) == 2
    for one, other in zip(ours, theirs, strict=True):
        assert repr(one) == repr(other).replace("Their", "")
        assert ours(one.value) is ours[one.name] is getattr(ours, one.name) is one
        assert pickle.loads(pickle.dumps(one)) is copy.deepcopy(one) is copy.copy(one) is one
        assert one in ours
        assert isinstance(one, ours)
        assert (one == one.value) == (other == other.value)  # type: ignore[comparison-overlap]
        assert {one: 1}[ours(one.value)] == 1
    with pytest.raises(ValueError, match=f"7 is not a valid {ours.__name__}"):
        ours(7)
    with pytest.raises(KeyError):
        ours["C"]
    assert f"{Numbers.TWO} {Numbers.TWO + 1} {min(Numbers)!r}" == "2 3 <Numbers.ONE: 1>"
    assert str(Letters.B) == "Letters.B"
