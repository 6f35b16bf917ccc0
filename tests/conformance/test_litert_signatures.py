"""Every public name, signature, default and enum value of LiteRT's CompiledModel API is ours as well."""

from __future__ import annotations

import enum
import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from minilite.litert.stand_in import OURS, PARTS

pytest.importorskip("ai_edge_litert")

MODULES = {"interpreter": OURS, **PARTS}
OTHERS = {"interpreter": {"Delegate"}}
"""Names with other attributes than LiteRT's: our delegates cannot be made."""
ANOTHER_DEFAULT = {
    "interpreter.Interpreter.get_tensor": "subgraph_index",
    "interpreter.Interpreter.get_tensor_details": "subgraph_index",
}
"""Parameters whose default is None where LiteRT has 0: the main subgraph, which `signature` may choose."""
LATER = {
    "compiled_model.Environment.create",
    "compiled_model.EnvironmentOptions.__init__",
    "compiled_model.QualcommOptions.__init__",
    "environment.Environment.create",
    "environment.EnvironmentOptions.__init__",
    "options.QualcommOptions.__init__",
    "qualcomm_options.QualcommOptions.__init__",
}
"""Functions that are as LiteRT 2.4 has them: they take what 2.3 takes, in its order, and more by position."""


def public(module: ModuleType) -> dict[str, Any]:
    """The classes and functions of a module of LiteRT's that are its own."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.startswith("ai_edge_litert")
    }


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of every parameter; an enum's member by its name."""
    return [
        (one.name, one.kind, one.default.name if isinstance(one.default, enum.Enum) else one.default)
        for one in inspect.signature(function).parameters.values()
    ]


def served(theirs: Any, ours: Any, where: str) -> None:
    """LiteRT's parameters come first, in LiteRT's order; what follows is ours and may be left out."""
    wanted, found = parameters(theirs), parameters(ours)
    if where in LATER:
        names = [name for name, _, _ in found]
        assert [name for name in names if name in {one[0] for one in wanted}] == [one[0] for one in wanted], where
        assert all(
            default is not inspect._empty for name, _, default in found if name not in {one[0] for one in wanted}
        )
        return
    if where in ANOTHER_DEFAULT:
        wanted = [(name, kind, None if name == ANOTHER_DEFAULT[where] else default) for name, kind, default in wanted]
    assert found[: len(wanted)] == wanted, where
    for _, kind, default in found[len(wanted) :]:
        assert (
            kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL) or default is not inspect._empty
        )
        assert kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD, where


@pytest.mark.parametrize("part", MODULES)
def test_a_module_has_what_litert_s_has(part: str) -> None:
    theirs, ours = import_module(f"ai_edge_litert.{part}"), import_module(MODULES[part])
    names = public(theirs)
    assert names
    for name, value in names.items():
        assert hasattr(ours, name), f"{part}.{name}"
        same(value, getattr(ours, name), f"{part}.{name}", deep=name not in OTHERS.get(part, ()))


def same(theirs: Any, ours: Any, where: str, *, deep: bool = True) -> None:
    if not inspect.isclass(theirs):
        return served(theirs, ours, where)
    if issubclass(theirs, enum.Enum):
        assert {n: m.value for n, m in theirs.__members__.items()} == {n: m.value for n, m in ours.__members__.items()}
        return None
    served(theirs.__init__, ours.__init__, f"{where}.__init__")
    for name, value in vars(theirs).items() if deep else ():
        if name.startswith("_"):
            continue
        assert hasattr(ours, name), f"{where}.{name}"
        mine = inspect.getattr_static(ours, name)
        assert isinstance(mine, property) == isinstance(value, property), f"{where}.{name}"
        assert isinstance(mine, classmethod) == isinstance(value, classmethod), f"{where}.{name}"
        if callable(getattr(theirs, name)) and not inspect.isclass(getattr(theirs, name)):
            served(getattr(theirs, name), getattr(ours, name), f"{where}.{name}")
        elif not isinstance(value, property) and not inspect.isclass(value):
            assert getattr(ours, name) == value, f"{where}.{name}"
    return None
