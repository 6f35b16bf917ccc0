"""What tests not yet moved to support.compare call it by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.compare import EPS, REFERENCE, Array, compare, run_litert, run_minilite
from support.compare import check as check_against


def check(
    model: bytes, inputs: Sequence[Array], *, tolerance: float | Array = 0.0, against_litert: bool = True
) -> list[Any]:
    """support.compare.check, against LiteRT's reference kernels or nothing."""
    return check_against(model, inputs, tolerance=tolerance, oracle=REFERENCE if against_litert else None)


__all__ = ["EPS", "Array", "check", "compare", "run_litert", "run_minilite"]
