"""minilite.compare: runs two models, runtimes or levels on the same inputs, and compares every tensor with its
counterpart."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite._native.kernels import level_names
from minilite.comparison import changes
from minilite.comparison.foreign_sides import foreign_side
from minilite.comparison.inputs import both_inputs
from minilite.comparison.limit import Limit, checked_tolerance
from minilite.comparison.matching import matched
from minilite.comparison.measure import difference, scores
from minilite.comparison.replay import replay
from minilite.comparison.result import Comparison, Row
from minilite.comparison.sides import LITERT, REFERENCE, LiteRTSide, MiniliteSide
from minilite.engine.engine import engine_of
from minilite.errors import InputError
from minilite.format.dtypes import TensorType, array_type
from minilite.interpreter import Interpreter
from minilite.numeric import whole
from minilite.progress import silent
from minilite.text import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite.comparison.sides import Side
    from minilite.engine.engine import Engine
    from minilite.engine.tensor_arguments import Shapes
    from minilite.format.model import Array, Node, Subgraph, Tensor
    from minilite.options import CustomOp
    from minilite.progress import Progress

_SAME_VALUES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE")
"""Operators whose output has the values of their first input."""


def runtimes() -> tuple[str, ...]:
    """Returns what the first run can be compared against: runtimes, and the levels of this machine."""
    return (*LITERT, REFERENCE, *level_names())


def compare(
    first: Any,
    second: Any = None,
    inputs: Any = None,
    *,
    against: str | None = None,
    level: str | None = None,
    shapes: Shapes | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    num_threads: int | None = None,
    custom_ops: Mapping[str, CustomOp] | None = None,
    fused: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Runs two models on the same inputs and compares every tensor that both have, node by node.

    `first` and `second` are models (whatever `Interpreter` takes first) or Interpreters, whose model and options are
    used; they are not changed. `second` may also be an .onnx file, for onnxruntime, or a folder of .npy files named as
    tensors are. Without `second` it is the first model again, run `against` another runtime: "litert" (its built-in
    kernels) or "litert-reference" (its reference kernels), both without default delegates and with all tensors kept, in
    a process of its own, and with XNNPACK for only the outputs; "reference" (numpy); or a level of instructions.
    `level` is minilite's level everywhere else. If `first` is a recording (the path of a .npz), it is replayed on the
    second, the model that was recorded: see `replay`.

    `inputs` is one array per input in order, or a mapping by name or number; those that are missing are random, from
    `seed`. Floats given to a quantized input are quantized; both runs get the same real numbers. `shapes` resizes
    inputs that are not given. Tensors are matched by number if the graphs are wired alike, else by name, else by
    order; quantized ones are compared in real numbers. A tensor between nodes that run as one has no memory, and only
    what both sides have is compared; `fused=False` runs every node by itself.

    `tolerance` is the largest error that passes, as a share of each tensor's largest absolute value. `progress` is
    called as the comparison goes on.
    Raises: InputError, and whatever making and running the models raises.
    """
    tolerance, seed = checked_tolerance(tolerance), whole("seed", seed, 1 << 10, least=0)
    options: dict[str, Any] = {"num_threads": num_threads, "custom_ops": custom_ops, "level": level}
    if isinstance(first, (str, os.PathLike)) and os.fsdecode(first).endswith(".npz"):
        _check_replay(second, inputs, against, shapes)
        return replay(first, second, tolerance=tolerance, progress=progress, **options)
    _check_against(second, against)
    one = _interpreter(first, options)
    theirs = foreign_side(second, engine_of(one).graph)
    other = one if second is None or theirs is not None else _interpreter(second, options)
    with ExitStack() as stack:
        sides = _sides(one, theirs or other, against, stack, fused=fused)
        given, source = both_inputs((sides[0].graph, sides[1].graph), one, inputs, shapes, seed)
        show = progress or silent
        for side, arrays in show(zip(sides, given, strict=True), "run", total=len(sides)):
            side.run(arrays)
        names = _file_name(first), _file_name(first if second is None else second)
        found = compared(sides, names, source, tolerance, show)
        if isinstance(sides[1], LiteRTSide):
            found = _with_delegates(found, sides, engine_of(other), given[1], tolerance)
        return found


def _check_against(second: Any, against: str | None) -> None:
    if against is not None and against not in runtimes():
        message = f"against is {against!r}, must be one of {', '.join(runtimes())}"
        raise InputError(message)
    if second is None and against is None:
        message = f"there is nothing to compare with: give a second model, or against, one of {', '.join(runtimes())}"
        raise InputError(message)


def _check_replay(second: Any, inputs: Any, against: str | None, shapes: Any) -> None:
    """Refuses arguments that do not go with a recording, which has its own inputs and is compared only with minilite.
    Raises: InputError."""
    if second is None or isinstance(second, Interpreter):
        message = "a recording is compared with a run of the model that was recorded: give it second"
        raise InputError(message)
    if inputs or against is not None or shapes:
        what = "against" if against is not None else "inputs"
        message = f"{what} does not go with a recording, which brings its inputs; level chooses the level"
        raise InputError(message)


def _interpreter(source: Any, options: Mapping[str, Any]) -> Interpreter:
    if not isinstance(source, Interpreter):
        return Interpreter(source, **options)
    given = [name for name, value in options.items() if value is not None]
    if given:
        message = f"{given[0]} goes with a model, an Interpreter has its own"
        raise InputError(message)
    return source


def _sides(
    one: Interpreter, other: Interpreter | Side, against: str | None, stack: ExitStack, *, fused: bool
) -> tuple[Side, Side]:
    """Makes both sides; the stack removes the files of LiteRT's process."""
    ours = MiniliteSide(engine_of(one), fused=fused)
    if not isinstance(other, Interpreter):
        return ours, other
    if against not in LITERT:
        return ours, MiniliteSide(engine_of(other), kernels=against, fused=fused)
    theirs = LiteRTSide(engine_of(other), LITERT[against], engine_of(other).options.threads)
    stack.callback(theirs.close)
    return ours, theirs


def _file_name(source: Any) -> str:
    return Path(os.fsdecode(source)).name if isinstance(source, (str, os.PathLike)) else ""


def compared(
    sides: tuple[Side, Side], models: tuple[str, str], inputs: str, tolerance: float | None, progress: Progress = silent
) -> Comparison:
    """Compares the values of two sides after their runs."""
    pairs = matched(sides[0].graph, sides[1].graph)
    limit = _limit(sides, pairs, tolerance)
    rows = _rows(sides, pairs, limit, progress)
    taken = set(pairs.values())
    computed = [[index for node in side.graph.nodes for index in node.outputs if index >= 0] for side in sides]
    unmatched = sum(index not in pairs for index in computed[0]), sum(index not in taken for index in computed[1])
    notes = tuple(side.note for side in sides if isinstance(side, LiteRTSide) and side.note)
    return Comparison(
        models,
        (sides[0].label, sides[1].label),
        inputs,
        tolerance,
        limit.text,
        tuple(rows),
        unmatched,
        notes=notes,
    )


def _limit(sides: tuple[Side, Side], pairs: Mapping[int, int], tolerance: float | None) -> Limit:
    tensors = [side.graph.tensors for side in sides]
    same_types = all(tensors[0][a].type == tensors[1][b].type for a, b in pairs.items())
    return Limit(tolerance, same_code=sides[0].code == sides[1].code, same_types=same_types)


def _rows(sides: tuple[Side, Side], pairs: Mapping[int, int], limit: Limit, progress: Progress = silent) -> list[Row]:
    """Returns rows of the inputs, then of the outputs of each node."""
    first = sides[0].graph
    by_output = {index: node for node in sides[1].graph.nodes for index in node.outputs}
    rows = [_row(sides, None, index, pairs.get(index, -1), limit) for index in first.inputs if index >= 0]
    for node in progress(first.nodes, "node"):
        for place, index in enumerate(index for index in node.outputs if index >= 0):
            other = pairs.get(index, -1)
            row = _row(sides, node, index, other, limit)
            if not place and other in by_output and row.types[0] == row.types[1]:
                row = row._replace(
                    changes=(*changes.of_nodes(first, node, sides[1].graph, by_output[other]), *row.changes)
                )
            rows.append(row)
    return rows


def _row(sides: tuple[Side, Side], node: Node | None, index: int, other: int, limit: Limit) -> Row:
    a = sides[0].graph.tensors[index]
    b = sides[1].graph.tensors[other] if other >= 0 else None
    row = Row(
        node.index if node is not None else -1,
        node.op if node is not None else "",
        index,
        a.name,
        other,
        b.name if b is not None else "",
        (a.type.name.lower(), b.type.name.lower() if b is not None else ""),
        (a.shape, b.shape if b is not None else ()),
        index in sides[0].graph.outputs,
        None,
        "",
        (),
        None,
    )
    if b is None:
        return row._replace(note="the second has no such tensor")
    row = row._replace(changes=tuple(changes.of_tensors(a, b)) if sides[0].graph is not sides[1].graph else ())
    return _measured(row, sides, (a, b), limit)


def _measured(row: Row, sides: tuple[Side, Side], tensors: tuple[Tensor, Tensor], limit: Limit) -> Row:
    """Returns the row with the difference of its values."""
    arrays: list[Array] = []
    for side, index in zip(sides, (row.tensor, row.other), strict=True):
        array, why = side.value(index)
        if array is None:
            return row._replace(note=why)
        arrays.append(array)
    a, b = arrays
    tensors = _as_run(tensors[0], a), _as_run(tensors[1], b)
    kinds = tensors[0].type.name.lower(), tensors[1].type.name.lower()
    row = row._replace(shapes=(a.shape, b.shape), types=kinds)
    if a.shape != b.shape:
        return row._replace(note=f"shape {shape_text(a.shape)} against {shape_text(b.shape)}", diverges=True)
    if (a.dtype == object) != (b.dtype == object):
        return row._replace(note="strings against numbers", diverges=True)
    found = difference(tensors, (a, b))
    if row.is_output:
        steps = map(_step, (side.graph for side in sides), (row.tensor, row.other), (a, b))
        row = _with_outcome(row, tensors, (a, b), max(steps))
    return row._replace(difference=found, diverges=limit.exceeded(found, row.step))


def _step(graph: Subgraph, index: int, array: Array) -> float:
    """Returns the scale of a quantized output, or that of the integers which it holds as floats; 0 if there is none."""
    kind = array.dtype.kind
    while kind == "f":
        maker = next((node for node in graph.nodes if index in node.outputs), None)
        if maker is None or maker.op not in ("DEQUANTIZE", *_SAME_VALUES):
            return 0.0
        index = maker.inputs[0]
        kind = "i" if maker.op == "DEQUANTIZE" else kind
    return float(graph.tensors[index].quantization.scale) if kind in "iu" else 0.0


def _with_outcome(row: Row, tensors: tuple[Tensor, Tensor], arrays: tuple[Array, Array], step: float) -> Row:
    """Returns the row of an output with its scale, its scores and the greatest of them."""
    pairs = scores(tensors, arrays)
    shape, best = arrays[0].shape, None
    if len(pairs) > 1 and shape[-1] == len(pairs) and not any(math.isnan(a) or math.isnan(b) for a, b in pairs):
        greatest = [max(range(len(pairs)), key=lambda at, side=side: pairs[at][side]) for side in (0, 1)]  # type: ignore[misc]
        best = (greatest[0], greatest[1])
    return row._replace(step=step, best=best, scores=pairs)


def _as_run(tensor: Tensor, array: Array) -> Tensor:
    """Returns the tensor with the type that it has in runs: an output may get its input's, whatever the file says."""
    if array.dtype == array_type(tensor.type) or array.dtype.name.upper() not in TensorType.__members__:
        return tensor
    return tensor._replace(type=TensorType[array.dtype.name.upper()])


def _with_delegates(
    found: Comparison, sides: tuple[Side, Side], engine: Engine, inputs: Mapping[int, Array], tolerance: float | None
) -> Comparison:
    """Adds the outputs of LiteRT with its default delegates to the comparison; or a note, if it does not run."""
    theirs = LiteRTSide(engine, "AUTO", outputs_alone=True)
    try:
        theirs.run(inputs)
        pairs, both = matched(sides[0].graph, theirs.graph), (sides[0], theirs)
        rows = _rows(both, pairs, _limit(both, pairs, tolerance))
        return found._replace(delegated=tuple(row for row in rows if row.is_output))
    except InputError as error:
        return found._replace(notes=(*found.notes, f"with its default delegates {error}"))
    finally:
        theirs.close()
