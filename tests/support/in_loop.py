"""A model of one node, and the same node in the body of a WHILE that runs once."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.node import Array

import minilite
from minilite.format.dtypes import TensorType
from minilite.format.model import Model, Node, Subgraph, Tensor

_COUNT = Tensor(0, "count", TensorType.INT32, ())


def _numbered(tensors: list[Tensor]) -> list[Tensor]:
    return [tensor._replace(index=i) for i, tensor in enumerate(tensors)]


def in_loop(model: Model) -> Model:
    """Carries are a count, the model's inputs, and its outputs, which begin as they are given; all of them are
    inputs."""
    body, *others = model.subgraphs
    first = len(model.subgraphs)  # the others keep their numbers
    count = len(body.tensors)
    carried = [body.tensors[i] for i in (*body.inputs, *body.outputs)]
    bare = [tensor._replace(data=None, name=f"{tensor.name}_{i}") for i, tensor in enumerate(carried)]
    begun = [tensor._replace(name=f"begun_{tensor.name}") for tensor in bare[len(body.inputs) :]]
    one = Tensor(0, "one", TensorType.INT32, (), data=np.array(1, np.int32))
    tensors = [*body.tensors, _COUNT, one, _COUNT._replace(name="next"), *begun]
    inside = body._replace(
        index=first + 1,
        name="body",
        tensors=_numbered(tensors),
        inputs=(count, *body.inputs, *range(count + 3, len(tensors))),
        outputs=(count + 2, *body.inputs, *body.outputs),
        nodes=[*body.nodes, Node(len(body.nodes), "ADD", 1, (count, count + 1), (count + 2,), {})],
    )
    carries = tuple(range(1 + len(bare)))
    answer, end = 1 + len(bare), 2 + len(bare)
    test = Subgraph(
        first,
        "test",
        _numbered([_COUNT, *bare, Tensor(0, "answer", TensorType.BOOL, ()), one._replace(name="end")]),
        carries,
        (answer,),
        [Node(0, "LESS", 1, (0, end), (answer,), {})],
    )
    after = [tensor._replace(name=f"after_{tensor.name}") for tensor in (_COUNT, *bare)]
    outs = tuple(range(len(carries), 2 * len(carries)))
    options = {"cond_subgraph_index": first, "body_subgraph_index": first + 1}
    node = Node(0, "WHILE", 1, carries, outs, options)
    shown = outs[1 + len(body.inputs) :]
    main = Subgraph(0, "main", _numbered([_COUNT, *bare, *after]), carries, shown, [node])
    return model._replace(subgraphs=[main, *others, test, inside], signatures=())


def outputs(model: Model, arrays: list[Array], planner: str = "default") -> list[Array]:
    """The outputs of a new interpreter, whose inputs are resized to these arrays."""
    interpreter = minilite.Interpreter(model, planner=planner)
    details = interpreter.get_input_details()
    for detail, array in zip(details, arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def same(a: Array, b: Array) -> bool:
    """Type, shape and bytes."""
    alike = (a.dtype, a.shape) == (b.dtype, b.shape)
    return alike and (a.tolist() == b.tolist() if a.dtype.kind in "OS" else a.tobytes() == b.tobytes())


def check_in_loop(node: Any, planners: list[str]) -> None:
    """Checks that the node (anything with `model` and `arrays`, as a OneNode has) gives the same alone and in the loop,
    under each of the planners."""
    model = minilite.load_model(node.model)
    expected = outputs(model, node.arrays)
    loop = in_loop(model)
    begun = [np.full(y.shape, b"", object) if y.dtype.kind in "OS" else np.zeros_like(y) for y in expected]
    carried = [np.array(0, np.int32), *node.arrays, *begun]
    for planner in planners:
        for where, found in (
            ("alone", outputs(model, node.arrays, planner)),
            ("looped", outputs(loop, carried, planner)),
        ):
            for number, (a, b) in enumerate(zip(expected, found, strict=True)):
                assert same(a, b), f"{where}, planner {planner}, output {number}: {a} expected, found {b}"
