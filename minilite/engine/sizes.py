"""Plans many sizes of inputs: finds the largest within a budget (`fit`), and plans one after the other (`sweep`)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from minilite.engine.array_call import by_key
from minilite.errors import ArenaError, InputError, ShapeError
from minilite.format.dtypes import TensorType, element_bits
from minilite.format.model import Subgraph, Tensor
from minilite.numeric import byte_count, whole

Shape = tuple[int, ...]
Axis = Literal["batch", "length", "side"]
AXES: tuple[Axis, ...] = ("side", "length", "batch")
"""The axes, in the order in which they are tried if none is named."""
MAX_PLANS = 40
_STEPS = (1, 2, 4, 8, 16, 32, 64)
"""Steps between sizes that a model may require: multiples of its total stride."""
_STARTS = (64, 128, 32, 16, 8, 4, 2, 1)
"""The sizes to start with if the current one is refused, or is a special case, such as 1, which broadcasts."""
_LARGEST = 2**31 - 1
_QUICK = 0.05
"""Seconds below which a sweep repeats planning."""
_POINTS = 24
"""The number of sizes in a sweep without given sizes."""
_CHANNELS = 4


class PlannedSize(NamedTuple):
    """A size, with the bytes of its plan's arena and inputs."""

    size: int
    shapes: Mapping[str, Shape]
    """Shapes of the inputs that have this size, by name, or by number where several have one name."""
    arena_bytes: int | None
    """The bytes of the arena and the inputs; None if the model refuses the size."""
    lower_bound: int | None
    seconds: float
    """Seconds of planning."""
    refused: str | None = None
    """The reason why there is no plan; None if there is one."""


class Fit(NamedTuple):
    """The largest size whose arena fits a budget, and every size that was planned to find it."""

    budget: int
    """Bytes that the arena may take."""
    axis: Axis
    step: int
    """The step between the sizes that were considered."""
    best: PlannedSize | None
    """The largest size tried that fits; None if none does."""
    tried: tuple[PlannedSize, ...]
    """All sizes tried, ascending; at most 40."""
    finished: bool
    """True if the next larger size (by `step`) is known not to fit."""

    @property
    def monotone(self) -> bool:
        """True if, among the sizes tried, larger sizes never have smaller arenas, and none between two accepted ones is
        refused. If False, there may be a larger size that fits."""
        accepted = [one for one in self.tried if one.arena_bytes is not None]
        arenas = [one.arena_bytes or 0 for one in accepted]
        span = range(accepted[0].size, accepted[-1].size) if accepted else range(0)
        holes = any(one.size in span for one in self.tried if one.arena_bytes is None and self._considered(one.size))
        return arenas == sorted(arenas) and not holes

    def _considered(self, size: int) -> bool:
        return self.best is None or (size - self.best.size) % self.step == 0


def _sides(shape: Shape) -> tuple[int, int]:
    """Returns the dimensions that are height and width of an image. Channels come last, unless they can only be
    first."""
    return (2, 3) if 0 < shape[1] <= _CHANNELS < shape[3] else (1, 2)


def _dimensions(shape: Shape, axis: Axis) -> tuple[int, ...]:
    """Returns the dimensions of an input that belong to an axis; empty if it has no such axis."""
    if axis == "batch":
        return (0,) if len(shape) > 1 else ()
    if axis == "length":
        return {1: (0,), 2: (1,), 3: (1,)}.get(len(shape), ())
    return _sides(shape) if len(shape) == 4 else ()


def _open(tensor: Tensor, dimensions: Sequence[int]) -> bool:
    """True if the file leaves all of these dimensions open."""
    signature = tensor.shape_signature or ()
    return bool(dimensions) and all(at < len(signature) and signature[at] < 0 for at in dimensions)


def _find_axis(inputs: Sequence[Tensor], shapes: Mapping[int, Shape]) -> Axis:
    """Returns the first axis that an input leaves open; batch if none does."""
    for axis in AXES:
        if any(_open(tensor, _dimensions(shapes[tensor.index], axis)) for tensor in inputs):
            return axis
    return "batch" if any(len(shapes[tensor.index]) > 1 for tensor in inputs) else "length"


class Scale:
    """The inputs that have the axis, and their shapes at any size."""

    def __init__(self, graph: Subgraph, shapes: Mapping[int, Shape], axis: Axis | None) -> None:
        inputs = [graph.tensors[index] for index in graph.inputs]
        self.axis: Axis = axis or _find_axis(inputs, shapes)
        self._shapes = shapes
        with_axis = [tensor for tensor in inputs if _dimensions(shapes[tensor.index], self.axis)]
        if not with_axis:
            texts = ", ".join(f"'{tensor.name}' {list(shapes[tensor.index])}" for tensor in inputs) or "none"
            message = f"no input has a {self.axis}: the model's inputs are {texts}"
            raise InputError(message)
        opened = [t for t in with_axis if _open(t, _dimensions(shapes[t.index], self.axis))]
        first = (opened or with_axis)[0]
        self.start: int = shapes[first.index][_dimensions(shapes[first.index], self.axis)[0]]
        self._tensors = opened or [t for t in with_axis if self._sizes(t) == self._sizes(first)]
        self._bits = {t.index: element_bits(t.type) if t.type != TensorType.STRING else 0 for t in self._tensors}

    def _sizes(self, tensor: Tensor) -> list[int]:
        shape = self._shapes[tensor.index]
        return [shape[at] for at in _dimensions(shape, self.axis)]

    def at(self, size: int) -> dict[int, Shape]:
        """Returns shapes by tensor number; an image keeps its proportions."""
        found = {}
        for tensor in self._tensors:
            shape = list(self._shapes[tensor.index])
            dimensions = _dimensions(tuple(shape), self.axis)
            height = max(shape[dimensions[0]], 1)
            for dimension in dimensions:
                shape[dimension] = max(1, round(size * max(shape[dimension], 1) / height))
            found[tensor.index] = tuple(shape)
        return found

    def largest(self, budget: int) -> int:
        """Returns an upper limit: at this size a single input takes the whole budget."""
        low, high = 0, _LARGEST
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._input_bytes(middle) <= budget else (low, middle - 1)
        return low

    def _input_bytes(self, size: int) -> int:
        return max(math.prod(shape) * self._bits[index] // 8 for index, shape in self.at(size).items())


def _planned(
    plan_for: Callable[[dict[int, Shape]], Any],
    graph: Subgraph,
    size: int,
    shapes: dict[int, Shape],
    errors: list[ShapeError | ArenaError],
) -> PlannedSize:
    """Plans one size; a refusal is added to `errors`. Raises only errors that do not depend on the size:
    UnsupportedOpError, InputError."""
    names = {key: shapes[index] for key, index in by_key(graph, shapes).items()}
    started = time.perf_counter()
    try:
        plan = plan_for(shapes)
    except (ShapeError, ArenaError) as error:
        errors.append(error)
        return PlannedSize(size, names, None, None, time.perf_counter() - started, " ".join(str(error).split()))
    inputs = plan.input_bytes
    seconds = time.perf_counter() - started
    return PlannedSize(size, names, plan.arena_bytes + inputs, plan.lower_bound + inputs, seconds)


class _Search:
    """Searches for the largest size that fits, with at most MAX_PLANS plans."""

    def __init__(self, look: Callable[[int], PlannedSize], budget: int, limit: int) -> None:
        self._look, self._budget, self._limit = look, budget, limit
        self.tried: dict[int, PlannedSize] = {}
        self.step = 1
        self.finished = True

    def run(self, start: int, step: int | None) -> None:
        """Tries sizes from `start` on; the results are in `tried`."""
        steps = (step,) if step is not None else _STEPS
        if not self._from(start, steps):
            other = next((size for size in _STARTS if self._accepted(size)), start)
            if other == start or not self._from(other, steps):
                return
        self._look_beyond()

    def _from(self, begin: int, steps: Sequence[int]) -> bool:
        """Goes up from a size that fits, or down from one that does not; False if no neighbouring size is accepted."""
        if begin < 1 or not self._accepted(begin):
            return False
        up = self._fits(begin)
        near = ((each, begin + each if up else begin - each) for each in steps)
        found = next((each for each, size in near if size > 0 and self._accepted(size)), None)
        if found is None:
            return False
        self.step = found
        if up:
            self._bisect(begin, 0, max(self._limit - begin, 0) // found + 1, too_small=False)
        else:
            below = (begin - 1) // found
            self._bisect(begin - below * found, -1, below, too_small=True)
        return True

    def best(self) -> PlannedSize | None:
        """The largest size tried that fits."""
        fitting = [one for size, one in self.tried.items() if self._fits(size)]
        return max(fitting, key=lambda one: one.size, default=None)

    def _at(self, size: int) -> PlannedSize:
        if size not in self.tried:
            self.tried[size] = self._look(size)
        return self.tried[size]

    def _accepted(self, size: int) -> bool:
        return self._at(size).arena_bytes is not None

    def _fits(self, size: int) -> bool:
        arena = self._at(size).arena_bytes
        return arena is not None and arena <= self._budget

    def _bisect(self, base: int, low: int, high: int, *, too_small: bool) -> None:
        """Searches the sizes base + i * step between `low`, which fits (or is None), and `high`, which is too large. A
        refused size between them is too small if `too_small`, else too large for the model."""
        guessed = False
        while high - low > 1:
            if len(self.tried) >= MAX_PLANS:
                self.finished = False
                return
            spare = MAX_PLANS - len(self.tried) - (high - low).bit_length()
            guess = self._guess(base, low, high) if spare > 1 and not guessed else None
            guessed = guess is not None
            at = (low + high) // 2 if guess is None else guess
            size = base + at * self.step
            low, high = (at, high) if self._fits(size) or (too_small and not self._accepted(size)) else (low, at)

    def _guess(self, base: int, low: int, high: int) -> int | None:
        """Returns the size at which a straight line between two known arenas meets the budget."""
        ends = (self.tried.get(base + at * self.step) for at in (low, high))
        below, above = (one.arena_bytes if one is not None else None for one in ends)
        if below is None or above is None or above <= below:
            return None
        return min(max(low + (high - low) * (self._budget - below) // (above - below), low + 1), high - 1)

    def _look_beyond(self) -> None:
        """Tries a few larger sizes, to see whether the arena grows with the size."""
        best = self.best()
        if best is None:
            return
        for size in (*(best.size + times * self.step for times in (2, 3, 4, 8)), best.size * 2):
            if size <= self._limit and len(self.tried) < MAX_PLANS:
                self._at(size)


def fit(
    plan_for: Callable[[dict[int, Shape]], Any],
    graph: Subgraph,
    shapes: Mapping[int, Shape],
    budget: int | str,
    axis: Axis | None = None,
    step: int | None = None,
) -> Fit:
    """Searches for the largest size whose arena fits, starting from the inputs' `shapes`.

    Raises: InputError; UnsupportedOpError; ShapeError if every size tried is refused, ArenaError if memory was the
    reason each time.
    """
    if axis is not None and axis not in AXES:
        message = f"there is no axis {axis!r}: there are {', '.join(AXES)}"
        raise InputError(message)
    step = None if step is None else whole("step", step, least=1, most=2**31 - 1)
    most, scale = byte_count(budget), Scale(graph, shapes, axis)
    errors: list[ShapeError | ArenaError] = []
    search = _Search(lambda size: _planned(plan_for, graph, size, scale.at(size), errors), most, scale.largest(most))
    search.run(scale.start, step)
    tried = tuple(sorted(search.tried.values(), key=lambda one: one.size))
    if all(one.refused is not None for one in tried):
        message = f"every size tried is refused ({', '.join(str(one.size) for one in tried)}): {tried[0].refused}"
        raise (ArenaError if all(isinstance(error, ArenaError) for error in errors) else ShapeError)(message)
    return Fit(most, scale.axis, search.step, search.best(), tried, search.finished)


def open_sizes(graph: Subgraph, shapes: Mapping[int, Shape]) -> list[tuple[int, dict[int, Shape]]]:
    """Returns sizes around the current one along an axis that the file leaves open, with their shapes; empty if it
    leaves none open."""
    inputs = [graph.tensors[index] for index in graph.inputs]
    if not any(_open(t, _dimensions(shapes[t.index], axis)) for t in inputs for axis in AXES):
        return []
    scale = Scale(graph, shapes, None)
    middle = scale.start if scale.start >= _POINTS // 2 else 16 * _POINTS // 3
    sizes = sorted({max(1, middle * 3 * part // _POINTS) for part in range(1, _POINTS + 1)})
    return [(size, scale.at(size)) for size in sizes]


def other_sizes(
    plan_for: Callable[[dict[int, Shape]], Any],
    graph: Subgraph,
    shapes: Mapping[int, Shape],
    count: int,
    axis: Axis | None = None,
) -> list[dict[int, Shape]]:
    """Returns shapes of at most `count` sizes that the model takes besides the current one, larger ones first. Without
    an axis it tries all axes until one has two sizes, beginning with the one that the file leaves open, or with the
    batch.

    Raises: UnsupportedOpError; InputError if no input has the axis.
    """
    if not graph.inputs:
        return []
    inputs = [graph.tensors[index] for index in graph.inputs]
    wanted = [axis] if axis else list(dict.fromkeys((_find_axis(inputs, shapes), *AXES)))
    for each in wanted:
        try:
            scale = Scale(graph, shapes, each)
        except InputError:  # no input has the axis
            if axis:
                raise
            continue
        for step in _STEPS:
            found = _accepted_beside(plan_for, graph, scale, step, count)
            if len(found) >= min(count, 2):
                return found
    return []


def _accepted_beside(
    plan_for: Callable[[dict[int, Shape]], Any], graph: Subgraph, scale: Scale, step: int, count: int
) -> list[dict[int, Shape]]:
    """Returns sizes that the model takes, step by step up to the first that it refuses; smaller ones if there are not
    enough larger ones."""
    found: list[dict[int, Shape]] = []
    for way in (step, -step):
        size = scale.start + way
        while len(found) < count and size > 0:
            shapes = scale.at(size)
            if _planned(plan_for, graph, size, shapes, []).refused is not None:
                break
            found.append(shapes)
            size += way
    return found


def sweep(
    plan_for: Callable[[dict[int, Shape]], Any], graph: Subgraph, sizes: Iterable[tuple[int, dict[int, Shape]]]
) -> Iterator[PlannedSize]:
    """Plans each size. Quick plans are made three times, and the least time counts, which excludes one-off work and
    noise.

    Raises: UnsupportedOpError, InputError.
    """
    for size, shapes in sizes:
        found = _planned(plan_for, graph, size, shapes, [])
        if found.seconds < _QUICK:
            again = [_planned(plan_for, graph, size, shapes, []) for _ in range(2)]
            found = min(found, *again, key=lambda one: one.seconds)
        yield found
