"""Short names of tensors: what tells them apart, of the long names that converters write.

The rule: of several names joined by ``;`` the last; without the first and last parts that most names share; and where
two tensors would still have one name, the tensor's number after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minilite.errors import visible

_PARTS = re.compile(r"([/:.])")
_ENOUGH = 3
"""Names that have to share a part before it is left out."""


def short_names(names: Mapping[int, str]) -> dict[int, str]:
    """Returns a short name for each tensor number, all of them different."""
    parts = {number: _PARTS.split(_last(visible(name))) for number, name in names.items()}
    for end in (slice(0, 2), slice(-2, None)):
        while (shared := _shared(parts.values(), end)) is not None:
            for number, each in parts.items():
                if len(each) > 1 and each[end] == shared:
                    parts[number] = each[2:] if end.start == 0 else each[:-2]
    short = {number: "".join(each) for number, each in parts.items()}
    counts = Counter(short.values())
    return {number: name if counts[name] == 1 else f"{name} #{number}".lstrip() for number, name in short.items()}


def names_of(tensors: Sequence[Any]) -> dict[int, str]:
    """Returns the short names of a subgraph's tensors; constants give way to computed tensors of the same name."""
    every = short_names({tensor.index: tensor.name for tensor in tensors})
    computed = short_names({tensor.index: tensor.name for tensor in tensors if tensor.data is None})
    found = {**every, **computed}
    return found if len({*found.values()}) == len(found) else every


def _last(name: str) -> str:
    """Returns the last of the names that a converter has joined."""
    return next((part for part in reversed(name.split(";")) if part.strip()), name).strip()


def _shared(names: Iterable[Sequence[str]], end: slice) -> Sequence[str] | None:
    """Returns the part with its separator at this end that more than half of the names share; None without one."""
    ends = Counter(tuple(each[end]) for each in names if len(each) > 1)
    (part, count), *_ = [*ends.most_common(1), ((), 0)]
    most = count >= _ENOUGH and 2 * count > sum(ends.values())
    return [*part] if most else None


def kept_apart(texts: Sequence[str], width: int) -> list[str]:
    """Cuts texts to a width: in the way, of three, that leaves the most of them different."""
    longest = max(map(len, texts), default=0)
    if longest <= width:
        return [*texts]
    ways: tuple[Callable[[str], str], ...] = (
        lambda text: f"{text[: (width - 2) // 2]}..{text[(width - 2) // 2 + 2 - width :]}",
        lambda text: f"..{text[2 - width :]}",
        lambda text: f"{text[: width - 2]}..",
    )
    tried = [[text if len(text) <= width else way(text) for text in texts] for way in ways]
    return max(tried, key=lambda found: len({*found}))
