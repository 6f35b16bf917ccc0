"""How far two tensors may be apart before they count as diverging."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from minilite.comparison.measure import Difference

ROUNDING = 1e-4
"""What floats of different code may be apart where no tolerance is given: rounding in another order, through some
hundred nodes. A share of the tensor's largest absolute value, as the tolerance is."""


class Limit(NamedTuple):
    """The rule of one comparison."""

    tolerance: float | None
    """The largest error that is let pass, as a share of the tensor's largest absolute value."""
    same_code: bool
    """The same code ran both: then equal models give equal bits."""
    same_types: bool
    """Tensors have the same types in both; not so for a network and its quantized version."""

    def exceeded(self, found: Difference) -> bool | None:
        """Whether two tensors are further apart than they may be; None where nothing says how far that is.

        Numbers that stand for themselves, and strings, have to be equal whatever the tolerance.
        """
        if not found.differing:
            return False
        if found.is_exact:
            return True
        if self.tolerance is not None:
            return not found.largest <= self.tolerance * found.magnitude
        if not self.same_types:
            return None
        return self.same_code or bool(found.steps) or not found.largest <= ROUNDING * found.magnitude

    @property
    def text(self) -> str:
        """The rule in words."""
        if self.tolerance is not None:
            return f"errors above {self.tolerance:g} of a tensor's largest value"
        if not self.same_types:
            return "the types differ, so nothing is said of real numbers without a tolerance"
        if self.same_code:
            return "any difference, for both ran the same code"
        return f"any difference of integers; of floats, errors above {ROUNDING:g} of a tensor's largest value"
