"""The bytes that tensors and plans take, by kind."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Usage(NamedTuple):
    """The bytes that one subgraph's tensors and plans take now; `total` adds up those of several."""

    arena_bytes: int = 0
    """The bytes of the plan in use, with capacities of dynamic tensors; 0 if there is none."""
    bound_bytes: int = 0
    """The most bytes live at once, for the sizes it was placed for: `arena_bytes` cannot be less."""
    input_bytes: int = 0
    """Bytes beside these for inputs; one that `run` reads in the caller's array takes none until something needs it."""
    arena_capacity: int = 0
    """Bytes that the arena holds, used or not."""
    resident_bytes: int = 0
    """The number of these bytes that are in memory; the rest were never touched, or given back."""
    kept_bytes: int = 0
    """Bytes of released arenas whose pages the process keeps for its next arenas: at most 64 MiB."""
    block_bytes: int = 0
    """The bytes of blocks outside the arena: strings, and carried values of loops that change their shape."""
    resource_bytes: int = 0
    """The bytes of resource variables and tables, which all subgraphs share."""
    taken_bytes: int = 0
    """Counted against `max_bytes`, for all subgraphs together: arenas, variables, blocks, scratch of workers."""
    packed_bytes: int = 0
    """The bytes of weights packed for the inner loops, and of those stored as float16 as float32, which all
    interpreters of a Model share."""
    mapped_bytes: int = 0
    """The share of them that lies in a file (`cache_dir`), which processes share."""
    larger_bytes: int = 0
    """The share of packed weights that those of Winograd's convolutions take, which are larger, packed or not yet."""
    cached_bytes: int = 0
    """The bytes of cached plans and their tables."""
    cached_plans: int = 0
    """The number of cached plans, including the one in use."""
    views: int = 0
    """Live arrays over the arena."""
    stays_mapped: bool = True
    """True if the addresses of the arena can be read and written as long as the state lives, whatever is resized."""

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks."""
        return _html({name: value for name, value in self._asdict().items() if name != "stays_mapped"})

    def total(self, other: "Usage") -> "Usage":
        """The sum of two subgraphs of one interpreter; what they share is counted once."""
        added = {name: getattr(self, name) + getattr(other, name) for name in _ADDED}
        mapped = self.stays_mapped and other.stays_mapped
        return other._replace(**added, stays_mapped=mapped)


class Counters(dict[str, int]):
    """Counts by name; notebooks show those that are not 0."""

    def _repr_html_(self) -> str:
        return _html({name: value for name, value in self.items() if value})


def _html(numbers: Mapping[str, int]) -> str:
    """A table of names and numbers; where a name says bytes, in KiB from 10 KiB on."""
    rows = []
    for name, value in numbers.items():
        kibibytes = name.endswith(("_bytes", "_capacity")) and value >= 10 << 10
        name = name.removesuffix("_bytes") if kibibytes else name
        shown = f"{value / 1024:,.4g} KiB" if kibibytes else f"{value:,}"
        rows.append(f'<tr><td style="text-align:left">{name.replace("_", " ")}</td><td>{shown}</td></tr>')
    return f"<table>{''.join(rows)}</table>"


_SHARED = (
    "packed_bytes",
    "mapped_bytes",
    "larger_bytes",
    "resource_bytes",
    "taken_bytes",
    "kept_bytes",
    "stays_mapped",
)
_ADDED = tuple(name for name in Usage._fields if name not in _SHARED)


def usage_of(taken: Any) -> Usage:
    """The value of an ml_usage."""
    return Usage(**{name: type(default)(getattr(taken, name)) for name, default in Usage._field_defaults.items()})
