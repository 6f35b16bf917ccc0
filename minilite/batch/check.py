"""Checks that a batch gives what its items give one by one; if not, names the first node that differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from minilite.batch.entry import Runner
from minilite.engine.engine import engine_of
from minilite.engine.lower import node_label
from minilite.errors import ArenaError, KernelError, ShapeError
from minilite.inputs.random_values import random_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minilite.batch.entry import Entry, Shape
    from minilite.format.model import Array
    from minilite.interpreter import Interpreter

ROUNDING = 1e-5
"""The largest difference between floats of a batch and of single runs, as a share of the largest value: sums may be
added in another order."""
_APART = 1e-2
"""The largest difference as a share of the difference between two items, so that mixed-up items are not taken for
rounding."""
_DRAWS = 50


def check(runner: Runner, n: int, shapes: Mapping[str, Shape] | None = None, seed: int = 0) -> None:
    """Refuses a batch of n items unless every output has n rows, each equal to the row of a single run.

    Integers and strings have to be equal, floats within ROUNDING. Items are random; `shapes` are of inputs with a batch
    of 1, the file's where they are not given. Raises: ShapeError, which names the node; InputError for a model without
    a batch dimension; KernelError where single runs fail.
    """
    entry = runner.entry
    entry.check_batched(f"a batch of {n}")
    items = _items(entry, n, {**{k: t.shape for k, t in entry.inputs.items()}, **(shapes or {})}, seed)
    singles = [runner.run(item) for item in items]
    try:
        batch = runner.run(_joined(items))
    except (ShapeError, KernelError, ArenaError) as error:
        message = f"a batch of {n} is refused: {error}"
        raise ShapeError(message, subgraph=error.subgraph, node=error.node, op=error.op) from None
    rows = [_rows(name, found, [one[name] for one in singles], n) for name, found in batch.items()]
    if (faults := [fault for fault, _ in rows if fault]) or not any(apart for _, apart in rows):
        _blame(runner, items, faults)


def _items(entry: Entry, n: int, shapes: Mapping[str, Shape], seed: int) -> list[dict[str, Array]]:
    """Returns random items; no two are equal if the types allow it."""
    rng = np.random.default_rng(seed)
    found: list[dict[str, Array]] = []
    for _ in range(n + _DRAWS):
        item = {name: random_values(tensor, shapes[name], rng) for name, tensor in entry.inputs.items()}
        if all(any((item[k] != other[k]).any() for k in item) for other in found):
            found.append(item)
        if len(found) == n:
            return found
    return (found * n)[:n]


def _joined(items: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([item[name] for item in items]) for name in items[0]}


def _close(found: Array, wanted: Array, apart: float = np.inf) -> bool:
    if found.dtype.kind not in "fc":
        return bool((found == wanted).all())
    if not wanted.size or np.array_equal(found, wanted, equal_nan=True):
        return True
    with np.errstate(invalid="ignore"):
        largest = np.abs(wanted).max(initial=0, where=np.isfinite(wanted))
        limit = min(ROUNDING * float(largest), _APART * apart)
        return bool(np.isclose(found, wanted, rtol=0, atol=limit, equal_nan=True).all())


def _rows(name: str, found: Array, singles: Sequence[Array], n: int) -> tuple[str, bool]:
    """Returns the fault of an output ("" if none), and whether its rows differ enough to reveal mixed rows."""
    shapes = {one.shape for one in singles}
    wanted = (n, *singles[0].shape[1:])
    if shapes != {(1, *wanted[1:])} or found.shape != wanted:
        return f"output '{name}' has the shape {found.shape}, {n} rows have {wanted}", True
    joined = np.concatenate(singles)
    differs = n == 1 or any((one != singles[0]).any() for one in singles[1:])
    apart = np.inf
    if differs and n > 1 and joined.dtype.kind in "fc":
        apart = float(np.nanmax(np.abs(joined - joined[:1]), initial=0))
    if _close(found, joined, apart):
        return "", differs
    return f"output '{name}' has other values than single runs", True


def _blame(runner: Runner, items: Sequence[Mapping[str, Array]], faults: Sequence[str]) -> None:
    """Looks for the first node whose output has other elements than the single runs. Raises: ShapeError if there is
    one, or if there are faults."""
    graph = runner.entry.subgraph
    whole = Runner(_keeping(runner.interpreter), runner.entry)
    readable = [i for node in graph.nodes for i in node.outputs if i >= 0]
    singles = []
    for item in items:
        whole.run(item)
        singles.append(whole.values(readable))
    whole.run(_joined(items))
    batch = whole.values(readable)
    for node in graph.nodes:
        for i in node.outputs:
            if i in batch and not _made_of(batch[i], [one[i] for one in singles if i in one]):
                _refuse(runner, len(items), faults, node.index)
    if faults:
        makers = [node.index for node in graph.nodes if set(node.outputs) & set(graph.outputs)]
        _refuse(runner, len(items), faults, makers[-1] if makers else None)


def _made_of(found: Array, singles: Sequence[Array]) -> bool:
    """True if the batch has the elements of the single runs, in any order. Integer outputs of the size of one run are
    taken for shapes and pass."""
    if not singles or (found.size == singles[0].size and found.dtype.kind in "iub"):
        return True
    joined = np.concatenate([one.reshape(-1) for one in singles])
    flat = found.reshape(-1)
    if flat.size != joined.size:
        return flat.size == singles[0].size and all(_close(flat, one.reshape(-1)) for one in singles)
    return _close(flat, joined) or _close(np.sort(flat), np.sort(joined))


def _keeping(interpreter: Interpreter) -> Interpreter:
    """Returns an interpreter of the same model that keeps every computed tensor."""
    return type(interpreter)(
        interpreter.model, experimental_preserve_all_tensors=True, custom_ops=engine_of(interpreter).options.custom_ops
    )


def _refuse(runner: Runner, n: int, faults: Sequence[str], node: int | None) -> NoReturn:
    graph = runner.entry.subgraph
    what = "; ".join(faults) or "items are mixed"
    message = f"a batch of {n} is not {n} items: {what}"
    op = None
    if node is not None:
        op, name = node_label(runner.interpreter.model, graph.index, node)
        message = f"subgraph {graph.index}, node {node} ({op} '{name}') mixes items: {message}"
    raise ShapeError(message, subgraph=graph.index, node=node, op=op)
