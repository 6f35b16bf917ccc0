"""Custom operators in Python: the arguments they get, and the errors for their mistakes."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import Array, custom_chain, floats, ready, relu_chain, run

import minilite
from minilite import InputError, KernelError
from minilite._core import ffi, lib
from minilite._native.call import Call
from minilite.format.builder import ModelBuilder

HEAD = r"^subgraph 0, node 0 \(Foo 'y'\): "


def model(
    inputs: int = 1, outputs: int = 1, shape: tuple[int, ...] = (4,), signature: tuple[int, ...] | None = None
) -> bytes:
    """A custom operator Foo alone, with `signature` on its outputs."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    arrays = [graph.input(f"x{i}", (4,), signature=(-1,)) for i in range(inputs)]
    names = ["y"] + [f"y{i}" for i in range(1, outputs)]
    out = [graph.tensor(name, shape, signature=signature) for name in names]
    graph.node("Foo", arrays, out, custom=True, custom_options=b"secret")
    graph.output(*out)
    return builder.build()


def foo(function: Callable[..., Any], **kind: Any) -> minilite.Interpreter:
    return ready(model(**kind), custom_ops={"Foo": function})


def with_shape(function: Callable[..., Any], shape: Callable[..., Any]) -> Callable[..., Any]:
    function.shape = shape  # type: ignore[attr-defined]
    return function


# Exceptions -----------------------------------------------------------------------------------------------------------


def raiser(node: Any, x: Array) -> Any:
    return {}["missing key"]


def test_an_exception_keeps_its_own_traceback() -> None:
    interpreter = foo(raiser)
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            interpreter.invoke()
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert (frames[-1].name, frames[-1].line) == ("raiser", 'return {}["missing key"]')
        assert [frame.name for frame in frames].count("raiser") == 1
        if sys.version_info >= (3, 11):
            assert caught.value.__notes__ == ["subgraph 0, node 0 (Foo 'y')"]


def test_an_exception_raised_again_is_noted_once() -> None:
    mine = ValueError("mine")

    def again(node: Any, x: Array) -> Any:
        raise mine

    interpreter = foo(again)
    for _ in range(3):
        with pytest.raises(ValueError, match="mine") as caught:
            interpreter.invoke()
        assert caught.value is mine
        assert len(getattr(mine, "__notes__", [1])) == 1


def test_an_exception_of_a_shape_function_keeps_its_traceback() -> None:
    function = with_shape(lambda node, x: x, raiser)
    interpreter = minilite.Interpreter(model_content=model(), custom_ops={"Foo": function})
    with pytest.raises(KeyError) as caught:
        interpreter.allocate_tensors()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "raiser"
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["subgraph 0, node 0 (Foo 'y')"]


def test_a_traceback_gives_no_access_to_freed_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frames of a traceback may be examined at any time; no C struct and no view of the arena is left there."""

    def reference(node: Any, x: Array) -> Any:
        raise ArithmeticError(float(x[0]))

    from minilite.engine import operands as lowering
    from minilite.ops import operators

    table = operators()
    patched = {**table, "RELU": table["RELU"]._replace(reference=reference)}
    monkeypatch.setattr(lowering, "find_operator", patched.get)
    built_in = ready(relu_chain(), experimental_op_resolver_type=minilite.OpResolverType.BUILTIN_REF)
    for interpreter, kind in ((built_in, minilite.KernelError), (foo(reference), ArithmeticError)):
        with pytest.raises(kind) as caught:
            run(interpreter, floats(7, 1, 1, 1))
        cause = caught.value.__cause__ or caught.value
        assert (type(cause), cause.args) == (ArithmeticError, (7.0,))
        steps = [step for each in {caught.value, cause} for step in traceback.walk_tb(each.__traceback__)]
        for frame, _ in steps:
            local = frame.f_locals
            assert getattr(local.get("handed"), "_call", None) is None
            for value in [*local.values(), *(local.get("inputs") or ())]:
                assert not isinstance(value, np.ndarray) or value.flags.owndata


# Arguments of functions -----------------------------------------------------------------------------------------------


def test_a_function_gets_the_node_and_its_arrays() -> None:
    seen: list[Any] = []

    def function(node: Any, *arrays: Array) -> Array:
        seen.append((node.op, node.custom_options, [t.name for t in node.inputs], [t.name for t in node.outputs]))
        return arrays[0] + arrays[1]

    found = run(foo(function, inputs=2), floats(1, 2, 3, 4), floats(1, 1, 1, 1))[0]
    assert found.tolist() == [2, 3, 4, 5]
    assert seen == [("Foo", b"secret", ["x0", "x1"], ["y"])]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x, r"custom_ops\['Foo'\] takes \(x\), must take the node and its 2 inputs$"),
        (lambda node, x: x, r"custom_ops\['Foo'\] takes \(node, x\), must take the node and its 2 inputs$"),
        (lambda node, x, y, z: x, r"takes \(node, x, y, z\), must"),
        (lambda node, x, *, y: x, r"takes \(node, x, \*, y\), must"),
        (with_shape(lambda node, x, y: x, lambda node, x: x), r"custom_ops\['Foo'\]\.shape takes \(node, x\), must"),
    ],
)
def test_functions_that_cannot_be_called_are_refused_before_a_run(function: Any, text: str) -> None:
    with pytest.raises(InputError, match=HEAD + ".*" + text) as caught:
        foo(function, inputs=2)
    assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, "Foo")


@pytest.mark.parametrize(
    "function",
    [
        lambda node, x, y: x,
        lambda *arguments: arguments[1],
        lambda node, x, y, z=None: x,
        type("Adder", (), {"__call__": lambda self, node, x, y: x + y})(),
        max,  # has no signature to look at
    ],
)
def test_functions_that_can_be_called_are_taken(function: Any) -> None:
    minilite.Interpreter(model_content=model(inputs=2), custom_ops={"Foo": function}).allocate_tensors()


# Results of functions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "answer", "text"),
    [
        (1, None, "the function gave None, the node has 1 output$"),
        (2, None, "the function gave None, the node has 2 outputs$"),
        (2, floats(1), "the function gave 1 output, the node has 2$"),
        (1, (floats(1), floats(2)), "the function gave 2 outputs, the node has 1$"),
        (1, (), "the function gave 0 outputs, the node has 1$"),
        (1, np.zeros(4), r"output 0 is float64, the model says float32: convert it with \.astype\('float32'\)$"),
        (1, "text", "output 0 is str, the model says float32$"),
        (1, [[1.0], [2.0, 3.0]], "output 0 is a list whose parts differ in shape$"),
        (2, (floats(1), None), "output 1 is NoneType, the model says float32$"),
    ],
)
def test_wrong_results_of_custom_operators_are_refused(outputs: int, answer: Any, text: str) -> None:
    interpreter = foo(lambda node, x: answer, outputs=outputs)
    with pytest.raises(KernelError, match=HEAD + text) as caught:
        interpreter.invoke()
    assert caught.value.op == "Foo"


@pytest.mark.parametrize(
    ("signature", "shape", "text"),
    [
        ((4,), (3, 3), r"output 0 has shape \(3, 3\), the model fixes \(4,\)$"),
        ((4,), (3,), r"output 0 has shape \(3,\), the model fixes \(4,\)$"),
        ((-1, 2), (3, 3), r"output 0 has shape \(3, 3\), the model fixes \(-1, 2\)$"),
        ((-1, 2), (3, 2), ""),
        ((4,), (4,), ""),
        (None, (3, 3), ""),
    ],
)
def test_shapes_that_the_file_fixes(signature: tuple[int, ...] | None, shape: tuple[int, ...], text: str) -> None:
    interpreter = foo(lambda node, x: np.zeros(shape, np.float32), signature=signature)
    if text:
        with pytest.raises(KernelError, match=HEAD + text):
            interpreter.invoke()
    else:
        interpreter.invoke()
        assert interpreter.get_tensor("y").shape == shape


def test_sizes_that_the_file_leaves_open_release_no_output() -> None:
    interpreter = minilite.Interpreter(
        model_content=model(signature=(4,)), custom_ops={"Foo": lambda node, x: np.zeros(x.shape, np.float32)}
    )
    assert interpreter.run(floats(1, 2, 3, 4))["y"].shape == (4,)
    with pytest.raises(KernelError, match=r"output 0 has shape \(2,\), the model fixes \(4,\)$"):
        interpreter.run(floats(1, 2))


def test_inputs_beyond_the_file_let_outputs_go_beyond_it_too() -> None:
    """Like LiteRT, minilite resizes dimensions that the file calls fixed; outputs then follow."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, y = graph.input("x", (4,), signature=(4,)), graph.tensor("y", (4,), signature=(4,))
    graph.node("Foo", [x], [y], custom=True)
    graph.output(y)
    interpreter = minilite.Interpreter(model_content=builder.build(), custom_ops={"Foo": lambda node, x: -x})
    assert interpreter.run(floats(1, 2))["y"].tolist() == [-1, -2]


@pytest.mark.parametrize("answer", [(), [], [()], ((),)])
def test_a_shape_function_may_answer_a_scalar(answer: Any) -> None:
    function = with_shape(lambda node, x: x.sum(), lambda node, x: answer)
    interpreter = foo(function, shape=())
    assert interpreter.plan.shape(1) == ()  # type: ignore[union-attr]
    assert run(interpreter, floats(1, 2, 3, 4))[0] == 10


@pytest.mark.parametrize("answer", [(4,), [4], (np.int64(4),), [(4,)], np.array([4])])
def test_a_shape_function_may_answer_one_shape_bare(answer: Any) -> None:
    assert foo(with_shape(lambda node, x: x, lambda node, x: answer)).plan.shape(1) == (4,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "the shape function gave None, must give one shape per output$"),
        (4, "the shape function gave 4, must give one shape per output$"),
        ("ab", "the shape function gave 'ab', must give one shape per output$"),
        ([(4,), (4,)], "the shape function gave 2 shapes, the node has 1 output$"),
        ((-1,), r"the shape function gave the shape \(-1,\), dimensions must be from 0 to 2147483647$"),
        ((4, 2**31), r"gave the shape \(4, 2147483648\), dimensions must be from 0 to 2147483647$"),
        ((2**63,), r"gave the shape \(9223372036854775808,\), dimensions must be from 0 to 2147483647$"),
        ((1,) * 9, r"gave the shape \(1, 1, 1, 1, 1, 1, 1, 1, 1\), which has 9 dimensions: at most 8$"),
    ],
)
def test_shape_functions_that_answer_nonsense(answer: Any, text: str) -> None:
    with pytest.raises(minilite.KernelError, match=rf"^subgraph 0, node 0 \(Foo 'y'\): .*{text}"):
        foo(with_shape(lambda node, x: x, lambda node, x: answer))


@pytest.mark.parametrize("outputs", [16, 17])
def test_a_shape_function_has_at_most_16_outputs(outputs: int) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    out = [(f"y{k}", (2,)) for k in range(outputs)]
    graph.output(*graph.node("Foo", [graph.input("x", (2,))], out=out, custom=True))
    function = with_shape(lambda node, x: tuple(x + k for k in range(outputs)), lambda node, x: [x] * outputs)
    interpreter = minilite.Interpreter(model_content=builder.build(), custom_ops={"Foo": function})
    if outputs == 16:
        assert [y.tolist() for y in interpreter.run(floats(1, 2)).values()] == [[1 + k, 2 + k] for k in range(16)]
        return
    with pytest.raises(minilite.ShapeError, match="17 outputs with a shape function: at most 16"):
        interpreter.allocate_tensors()


def test_results_of_shapes_that_no_tensor_has() -> None:
    too_many = ((1,) * 9, "9 dimensions: at most 8")
    too_long = ((0, 2**31), "dimensions must be from 0 to 2147483647")
    # With pointers of 32 bits numpy has no such array.
    for shape, text in (too_many, *([too_long] if sys.maxsize > 2**32 else [])):
        interpreter = foo(lambda node, x, shape=shape: np.zeros(shape, np.float32))
        with pytest.raises(minilite.KernelError, match=rf"node 0 \(Foo 'y'\): the function gave the shape .*{text}$"):
            run(interpreter, floats(1, 2, 3, 4))


def test_shape_functions_fail_with_their_own_errors() -> None:
    def shape(node: Any, x: Any) -> Any:
        return {}[x]

    with pytest.raises(KeyError) as caught:
        foo(with_shape(lambda node, x: x, shape))
    assert caught.traceback[-1].name == "shape"


def test_a_result_keeps_to_its_shape_function() -> None:
    """Memory was planned for the shape that the shape function gave."""
    lengths = [4, 2, 4]
    function = with_shape(lambda node, x: x[: lengths.pop(0)], lambda node, x: (4,))
    interpreter = ready(custom_chain("Foo"), custom_ops={"Foo": function})
    assert run(interpreter, floats(1, 2, 3, 4))[0].tolist() == [1, 2, 3, 4]
    text = r"^subgraph 0, node 0 \(Foo 'y'\): output 0 was given shape \(2\), but prepare has set \(4\)$"
    with pytest.raises(minilite.KernelError, match=text):
        interpreter.invoke()
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [1, 2, 3, 4]


# Built-in operators ---------------------------------------------------------------------------------------------------


def custom_node(name: str, options: bytes) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    given = [graph.input("x", (1, 2, 2, 1)), graph.constant("w", np.ones((1, 1, 1, 1), np.float32))]
    given.append(graph.constant("b", np.ones(1, np.float32)))
    graph.output(graph.node(name, given, out=("y", (1, 2, 2, 1)), custom=True, custom_options=options))
    return builder.build()


OPTIONS = bytes([2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])


def test_a_function_comes_before_what_is_built_in() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    model = custom_node("Convolution2DTransposeBias", OPTIONS)
    assert run(ready(model), x)[0].ravel().tolist() == [1, 2, 3, 4]
    custom_ops = {"Convolution2DTransposeBias": lambda node, x, w, b: -x}
    assert run(ready(model, custom_ops=custom_ops), x)[0].ravel().tolist() == [0, -1, -2, -3]


def test_custom_operators_are_no_builtin_ones() -> None:
    """A custom operator that is called ADD is not the builtin ADD."""
    with pytest.raises(minilite.UnsupportedOpError, match="unresolved custom op: TRANSPOSE_CONV"):
        ready(custom_node("TRANSPOSE_CONV", b""))


@pytest.mark.parametrize("seed", range(40))
def test_damaged_options(seed: int) -> None:
    """Any bytes give numbers, strings and vectors of numbers by name, or a ValueError."""
    from flatbuffers import flexbuffers

    from minilite.format.flexbuffer import scalars

    message = {
        "most": 10,
        "score": 0.5,
        "wide": 2**40,
        "by_class": True,
        "name": "x",
        "deep": {"a": [1, 2.5]},
        "list": [1, 2],
    }
    whole = bytes(flexbuffers.Dumps(message))
    assert scalars(whole) == {**{name: message[name] for name in message if name != "deep"}, "list": (1, 2)}
    rng = np.random.default_rng(seed)
    for _ in range(200):
        data = bytearray(whole[: rng.integers(0, len(whole) + 1)] if rng.random() < 0.3 else whole)
        for at in rng.integers(0, max(len(data), 1), 3)[: len(data)]:
            data[at] = rng.integers(256)
        with contextlib.suppress(ValueError):
            for value in scalars(bytes(data)).values():
                parts = value if isinstance(value, tuple) else (value,)
                assert all(isinstance(part, (bool, int, float, str)) for part in parts)


def test_operands_that_a_node_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """C returns none, although other operands, of this node and the next, are adjacent in memory."""
    seen, close = list[list[bool]](), Call.close

    def look(call: Call) -> None:
        pointer = call._call
        given = [lib.ml_call_operand(pointer, number) for number in (-1, 1, 2**31 - 1)]
        given += [lib.ml_call_output(pointer, number) for number in (-1, 1, 2**31 - 1)]
        seen.append([(one.tensor, one.data, one.bytes) == (ffi.NULL, ffi.NULL, 0) for one in given])
        close(call)

    monkeypatch.setattr(Call, "close", look)
    interpreter = ready(custom_chain("Foo"), custom_ops={"Foo": with_shape(lambda _, x: x, lambda _, x: x)})
    run(interpreter, floats(1, 2, 3, 4))
    assert len(seen) == 2  # in the shape function, and in the run
    assert all(map(all, seen))
