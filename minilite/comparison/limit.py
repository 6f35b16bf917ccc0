"""Limit: the largest difference of two tensors that does not count as divergence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from minilite.errors import InputError, shown
from minilite.numeric import real

if TYPE_CHECKING:
    from minilite.comparison.measure import Difference

STEPS = 16
"""The steps of its scale by which an output of a quantized network may differ from that of its float version, if no
tolerance is given."""
ROUNDING = 1e-4
"""The largest difference of floats that different code computed, if no tolerance is given: sums are rounded in another
order, through some hundred nodes. It is a share of the tensor's largest absolute value, as the tolerance is."""


def checked_tolerance(tolerance: float | None) -> float | None:
    """Returns a tolerance that is None or a number of at least 0. Raises: InputError."""
    number = None if tolerance is None else real("tolerance", tolerance)
    if number is not None and not 0 <= number < math.inf:
        message = f"tolerance is {shown(tolerance)}, must be a share of a tensor's largest value, 0 or more"
        raise InputError(message)
    return number


class Limit(NamedTuple):
    """The rule of one comparison."""

    tolerance: float | None
    """The largest error that passes, as a share of the tensor's largest absolute value."""
    same_code: bool
    """True if the same code ran both: then equal models give equal bits."""
    same_types: bool
    """True if tensors have the same types in both; False for a network and its quantized version."""
    flips: bool = False
    """True if the network quantizes floats on the way: rounding may move a value by a step, the error grows from there,
    and no bound is known."""

    def exceeded(self, found: Difference, step: float = 0.0) -> bool | None:
        """True if two tensors differ by more than the limit; None if there is no limit for them. `step` is the scale
        of an output that is quantized in one of two models.

        Indices, counts, booleans and strings must be equal whatever the tolerance.
        """
        if not found.differing:
            return False
        if found.is_exact:
            return True
        if self.tolerance is not None:
            return not found.largest <= self.tolerance * found.magnitude
        if not self.same_types:
            return found.largest > STEPS * step if step else None
        if self.same_code or found.steps or found.largest <= ROUNDING * found.magnitude:
            return self.same_code or bool(found.steps)
        return None if self.flips else True

    @property
    def text(self) -> str:
        """Describes the rule in words."""
        if self.tolerance is not None:
            return f"errors above {self.tolerance:g} of a tensor's largest value"
        if not self.same_types:
            return f"the types differ: errors of outputs above {STEPS} steps of their scale; of others nothing without a tolerance"
        if self.same_code:
            return "any difference, for both ran the same code"
        if self.flips:
            return "any difference of integers; floats are quantized on the way, so nothing is said of them without a tolerance"
        return f"any difference of integers; of floats, errors above {ROUNDING:g} of a tensor's largest value"
