"""Importing late: a module is imported when something in it is first used."""

from __future__ import annotations

import sys

import pytest

from minilite.late import Later


def test_a_module_waits_until_an_attribute_is_used() -> None:
    sys.modules.pop("colorsys", None)
    waits = Later("colorsys")
    assert "colorsys" not in sys.modules
    found = waits.rgb_to_hsv
    assert "colorsys" in sys.modules
    assert waits.rgb_to_hsv is found is sys.modules["colorsys"].rgb_to_hsv
    with pytest.raises(AttributeError):
        _ = waits.nothing_of_the_kind
