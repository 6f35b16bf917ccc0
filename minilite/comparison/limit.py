"""How far two tensors may be apart before they count as diverging."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from minilite.errors import InputError, shown
from minilite.numeric import real

if TYPE_CHECKING:
    from minilite.comparison.measure import Difference

ROUNDING = 1e-4
"""What floats of different code may be apart where no tolerance is given: rounding in another order, through some
hundred nodes. A share of the tensor's largest absolute value, as the tolerance is."""


def checked_tolerance(tolerance: float | None) -> float | None:
    """Raises: InputError."""
    number = None if tolerance is None else real("tolerance", tolerance)
    if number is not None and not 0 <= number < math.inf:
        message = f"tolerance is {shown(tolerance)}, must be a share of a tensor's largest value, 0 or more"
        raise InputError(message)
    return number


class Limit(NamedTuple):
    """The rule of one comparison."""

    tolerance: float | None
    """The largest error that is let pass, as a share of the tensor's largest absolute value."""
    same_code: bool
    """The same code ran both: then equal models give equal bits."""
    same_types: bool
    """Tensors have the same types in both; not so for a network and its quantized version."""
    flips: bool = False
    """The network quantizes floats on the way, so that rounding may move a value by a step, and the error grows from
    there: no bound is known."""

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
        if self.same_code or found.steps or found.largest <= ROUNDING * found.magnitude:
            return self.same_code or bool(found.steps)
        return None if self.flips else True

    @property
    def text(self) -> str:
        """The rule in words."""
        if self.tolerance is not None:
            return f"errors above {self.tolerance:g} of a tensor's largest value"
        if not self.same_types:
            return "the types differ, so nothing is said of real numbers without a tolerance"
        if self.same_code:
            return "any difference, for both ran the same code"
        if self.flips:
            return "any difference of integers; floats are quantized on the way, so nothing is said of them without a tolerance"
        return f"any difference of integers; of floats, errors above {ROUNDING:g} of a tensor's largest value"
