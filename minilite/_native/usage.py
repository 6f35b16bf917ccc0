"""The bytes that tensors and plans take, by kind."""

from typing import Any, NamedTuple


class Usage(NamedTuple):
    """The bytes that one subgraph's tensors and plans take now; `total` adds up those of several."""

    arena_bytes: int = 0
    """Of the plan in force, capacities of dynamic tensors included; 0 when none is."""
    bound_bytes: int = 0
    """The most that are live at once, of the sizes it was placed for: what `arena_bytes` would be at best."""
    arena_capacity: int = 0
    """That the arena holds, in force or not."""
    resident_bytes: int = 0
    """Of these, in memory: the rest were never touched, or given back."""
    block_bytes: int = 0
    """Of blocks beside the arena: strings, carries of loops whose shapes change."""
    resource_bytes: int = 0
    """Of resource variables and tables, which all subgraphs share."""
    taken_bytes: int = 0
    """Of all that `max_bytes` bounds, by all subgraphs together: arenas, variables, blocks, workers' scratch."""
    cached_bytes: int = 0
    """Of the plans that are kept, with what belongs to them."""
    cached_plans: int = 0
    """How many these are, the one in force included."""
    views: int = 0
    """Arrays over the arena that are alive."""
    stays_mapped: bool = True
    """The arena's addresses can be read and written as long as the state lives, whoever resizes or trims it."""

    def total(self, other: "Usage") -> "Usage":
        """Both together, of one interpreter: what they share is counted once."""
        added = {name: getattr(self, name) + getattr(other, name) for name in _ADDED}
        mapped = self.stays_mapped and other.stays_mapped
        return other._replace(**added, stays_mapped=mapped)


_SHARED = ("resource_bytes", "taken_bytes", "stays_mapped")
_ADDED = tuple(name for name in Usage._fields if name not in _SHARED)


def usage_of(taken: Any) -> Usage:
    """The value of an ml_usage."""
    return Usage(**{name: type(default)(getattr(taken, name)) for name, default in Usage._field_defaults.items()})
