"""LiteRT's interpreter module, or a substitute where LiteRT has no wheel: there, tests that run LiteRT are skipped."""

from __future__ import annotations

import contextlib
import types
from enum import Enum
from typing import Any

import pytest


class _OpResolverType(Enum):
    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


def _skip(*_arguments: Any, **_options: Any) -> None:
    pytest.skip("LiteRT is not installed")


with contextlib.suppress(ImportError):
    import ml_dtypes  # noqa: F401 - LiteRT takes bfloat16 if this comes before its first look at such a tensor
interpreter: Any
try:
    from ai_edge_litert import interpreter
except ImportError:
    names = {"Interpreter", "InterpreterWithCustomOps", "SignatureRunner", "Delegate", "load_delegate"}
    interpreter = types.SimpleNamespace(OpResolverType=_OpResolverType, **dict.fromkeys(names, _skip))

HERE = not isinstance(interpreter, types.SimpleNamespace)
"""True if LiteRT is installed."""
needed = pytest.mark.skipif(not HERE, reason="LiteRT is not installed")
"""Marks tests that start LiteRT in a process of its own."""
