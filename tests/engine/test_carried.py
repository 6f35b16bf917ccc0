"""Slices of models that keep values: they give the results of the next whole run, and change nothing."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from built import Array, accumulator, floats, variable
from flatbuffers import flexbuffers

from minilite import Interpreter, replay
from minilite.errors import InputError, StateError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

S16 = TensorType.INT16
X = np.array([1, 2, 3, 4], np.int16)


def delayed(graph: Any, x: int, name: str, length: int, size: int = 4) -> int:
    options = bytes(flexbuffers.Dumps({"delay_length": length}))
    number: int = graph.node("SignalDelay", [x], out=(name, (size,), S16), custom=True, custom_options=options)
    return number


def looped(main: Any, builder: Any, x: int, name: str) -> int:
    """A WHILE that runs while a value is above 6; its body delays the values by two samples."""
    test, body = builder.subgraph("test"), builder.subgraph("body")
    value = test.input("x", (4,), S16)
    axis = test.constant("axis", np.array([0], np.int32))
    least = test.node("REDUCE_MAX", [value, axis], out=("most", (), S16), options={"keep_dims": False})
    low = test.constant("low", np.array(6, np.int16))
    test.output(test.node("GREATER", [least, low], out=("goes_on", (), TensorType.BOOL)))
    value = delayed(body, body.input("x", (4,), S16), "late", 2)
    high = body.constant("high", np.full(4, 6, np.int16))
    body.output(body.node("MINIMUM", [value, high], out=("less", (4,), S16)))
    options = {"cond_subgraph_index": test.index, "body_subgraph_index": body.index}
    number: int = main.node("WHILE", [x], out=(name, (4,), S16), options=options)
    return number


def branches() -> bytes:
    """x -> a delay, a loop with one, a delay of the greater one, and one that nobody needs."""
    builder = ModelBuilder()
    main = builder.subgraph()
    x = main.input("x", (4,), S16)
    first = delayed(main, x, "first", 3)
    loop = looped(main, builder, x, "loop")
    both = main.node("MAXIMUM", [first, loop], out=("both", (4,), S16))
    last = delayed(main, both, "last", 1)
    delayed(main, main.input("z", (4,), S16), "unread", 5)
    main.output(main.node("MAXIMUM", [last, x], out=("y", (4,), S16)))
    return builder.build()


def read(graph: Any, handle: int, name: str) -> int:
    number: int = graph.node("READ_VARIABLE", [handle], out=(name, (2,)))
    return number


def resources() -> bytes:
    """Two variables that a CALL_ONCE sets: `a` is read, set to x, and read again; `a` is added to `b`."""
    builder = ModelBuilder()
    graph, begin = builder.subgraph("main"), builder.subgraph("begin")
    x = graph.input("x", (2,))
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    for name, value in (("b", 5), ("a", 7)):
        begin.node("ASSIGN_VARIABLE", [variable(begin, name), begin.constant(name + "0", floats(value, value))])
    a, b = variable(graph, "a"), variable(graph, "b")
    before = read(graph, a, "before")
    graph.node("ASSIGN_VARIABLE", [a, x])
    after = read(graph, a, "after")
    total = graph.node("ADD", [read(graph, b, "b_before"), before], out=("total", (2,)))
    graph.node("ASSIGN_VARIABLE", [b, total])
    graph.output(graph.node("ADD", [after, read(graph, b, "b_after")], out=("y", (2,))))
    return builder.build()


def frames() -> bytes:
    """Two SVDFs, each with a variable tensor of its own, and the sum of the first one's variable."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 2))
    made = []
    for name in ("one", "two"):
        features = graph.constant(f"features {name}", np.arange(6.0, dtype=np.float32).reshape(3, 2) + len(made))
        times = graph.constant(f"times {name}", np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4))
        memory = graph.variable(f"frames {name}", (1, 12))
        options = {"rank": 1, "fused_activation_function": "NONE"}
        made.append(graph.node("SVDF", [x, features, times, -1, memory], out=(name, (1, 3)), options=options))
        if name == "one":
            axis = graph.constant("axis", np.array([1], np.int32))
            graph.node("SUM", [memory, axis], out=("kept", (1,)), options={"keep_dims": False})
    graph.output(graph.node("ADD", made, out=("y", (1, 3))))
    return builder.build()


def check(model: bytes, names: Sequence[str], steps: Sequence[Mapping[str, Array]]) -> None:
    """Compares slices to each tensor, made twice before each run, with the run."""
    whole = Interpreter(model, experimental_preserve_all_tensors=True)
    used = Interpreter(model)
    for step, arrays in enumerate(steps):
        whole.run(arrays)
        for name in [*names, *names]:
            found = used.run(arrays, until=name)[name]
            np.testing.assert_array_equal(found, whole.get_tensor(name), f"'{name}', step {step}")
        for name, array in used.run(arrays).items():
            np.testing.assert_array_equal(array, whole.get_tensor(name), f"'{name}', whole run {step}")


def test_memory_of_some_nodes() -> None:
    steps = [{"x": X + 5 * step, "z": X} for step in range(4)]
    check(branches(), ["first", "loop", "both", "last", "unread", "y"], steps)


def test_memory_when_earlier_nodes_are_left_out() -> None:
    whole, used = Interpreter(branches(), experimental_preserve_all_tensors=True), Interpreter(branches())
    for step in range(4):
        arrays = {"x": X + 5 * step, "z": X}
        expected = whole.run(arrays)["y"]
        given = {"both": whole.get_tensor("both"), "x": arrays["x"]}
        for _ in range(2):
            np.testing.assert_array_equal(used.run(since=given)["y"], expected)
        used.run(arrays)


def test_resources_that_nodes_change_before_they_are_read() -> None:
    steps = [{"x": floats(step, -step)} for step in (3, 4, 5)]
    check(resources(), ["before", "after", "b_before", "total", "b_after", "y"], steps)


def test_resources_go_by_their_names() -> None:
    """The slice to `b_now` has its variable first."""
    builder = ModelBuilder()
    graph, begin = builder.subgraph("main"), builder.subgraph("begin")
    graph.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    for name, value in (("b", 5), ("a", 7)):
        begin.node("ASSIGN_VARIABLE", [variable(begin, name), begin.constant(name + "0", floats(value, value))])
    first = graph.node("ADD", [read(graph, variable(graph, "a"), "a_now"), graph.input("x", (2,))], out=("first", (2,)))
    second = graph.node("ADD", [read(graph, variable(graph, "b"), "b_now"), first], out=("y", (2,)))
    graph.output(second)
    check(builder.build(), ["b_now", "a_now", "first", "y"], [{"x": floats(3, 4)}] * 3)


def test_variable_tensors_and_their_readers() -> None:
    steps = [{"x": floats(step, 1).reshape(1, 2)} for step in range(4)]
    check(frames(), ["one", "two", "kept", "y", "frames one", "frames two"], steps)


def test_streaming_state_is_reset_when_a_shape_changes() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(delayed(graph, graph.input("x", (4,), S16, signature=(-1,)), "y", 2))
    model = builder.build()
    check(model, ["y"], [{"x": X}, {"x": X + 4}, {"x": np.arange(9, dtype=np.int16)}, {"x": X}, {"x": X + 4}])
    used = Interpreter(model)
    used.run(X)
    used.resize_tensor_input(0, [7])
    used.resize_tensor_input(0, [4])
    whole = Interpreter(model)
    whole.run(X)
    whole.resize_tensor_input(0, [7])
    whole.resize_tensor_input(0, [4])
    np.testing.assert_array_equal(used.run(X, until="y")["y"], whole.run(X)["y"])


def test_variables_that_a_user_resizes_and_sets() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,), signature=(-1,))
    double = graph.node("ADD", [x, graph.variable("v", (1,))], out=("sum", (1,)))
    graph.output(graph.node("RELU", [double], out=("y", (1,))))
    used = Interpreter(builder.build())
    assert used.run(floats(1), until="sum")["sum"].tolist() == [1]
    used.resize_tensor_input("x", [3])
    used.resize_tensor_input("v", [3])
    used.allocate_tensors()
    used.set_tensor("v", floats(5, 6, 7))
    for _ in range(2):
        assert used.run(floats(1, 2, 3), until="sum")["sum"].tolist() == [6, 8, 10]
    used.close()
    assert used.run(floats(1, 2, 3), until="sum")["sum"].tolist() == [6, 8, 10]
    assert used.run(until="v")["v"].tolist() == [5, 6, 7]
    assert used.run(floats(1, 2), until="v")["v"].tolist() == [0, 0, 0]


def test_states_that_are_put_back_or_reset() -> None:
    used, whole = Interpreter(branches()), Interpreter(branches())
    arrays = {"x": X, "z": X}
    for one in (used, whole):
        one.run(arrays)
    state = used.get_state()
    used.run(arrays)
    used.set_state(state)
    np.testing.assert_array_equal(used.run(arrays, until="y")["y"], whole.run(arrays)["y"])
    for one in (used, whole):
        one.reset_all_variables()
    np.testing.assert_array_equal(used.run(arrays, until="y")["y"], whole.run(arrays)["y"])
    sums = Interpreter(accumulator())
    fresh = sums.run(floats(1, 2, 3, 4))
    sums.reset_resources()
    (found,) = sums.run(floats(1, 2, 3, 4), until=list(fresh)[:1]).values()
    np.testing.assert_array_equal(found, next(iter(fresh.values())))


def test_threads_that_use_one_slice() -> None:
    used = Interpreter(branches())
    arrays = {"x": X, "z": X}
    used.run(arrays)
    expected = used.run(arrays, until="y")["y"].tolist()
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(50):
            try:
                found = used.run(arrays, until="y")["y"].tolist()
            except StateError:  # the other one has the interpreter's turn
                continue
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_recording_of_slices(tmp_path: pathlib.Path) -> None:
    used = Interpreter(branches())
    arrays = {"x": X, "z": X}
    used.run(arrays)
    with used.recording(tmp_path / "r.npz"):
        for step in range(3):
            used.run({"x": X + step, "z": X}, until="y")
            used.run({"x": X + step, "z": X})
    found = replay(tmp_path / "r.npz", branches())
    assert found.agrees
    assert len(found.rows) == 6


def test_slices_refuse_state_that_they_cannot_copy() -> None:
    builder = ModelBuilder()
    main, inner = builder.subgraph("main"), builder.subgraph("inner")
    for graph in (main, inner):
        graph.input("x", (2,))
    inner.output(inner.node("ADD", [0, inner.variable("v", (2,))], out=("y", (2,))))
    options = {"name": "own", "decomposition_subgraph_index": 1, "version": 1}
    main.output(main.node("STABLEHLO_COMPOSITE", [0], out=("z", (2,)), options=options))
    with pytest.raises(
        InputError, match=r"node 0 \(STABLEHLO_COMPOSITE\) runs subgraph 1, whose variable tensor 1 \('v'\)"
    ):
        Interpreter(builder.build()).run(floats(1, 2), until="z")


def test_a_node_that_changes_variables_and_is_given() -> None:
    builder = ModelBuilder()
    main, inner = builder.subgraph("main"), builder.subgraph("inner")
    x = main.input("x", (2,))
    value = inner.input("x", (2,))
    inner.node("ASSIGN_VARIABLE", [variable(inner, "v"), value])
    inner.output(inner.node("RELU", [value], out=("same", (2,))))
    options = {"name": "own", "decomposition_subgraph_index": 1, "version": 1}
    called = main.node("STABLEHLO_COMPOSITE", [x], out=("called", (2,)), options=options)
    main.output(main.node("ADD", [called, read(main, variable(main, "v"), "now")], out=("y", (2,))))
    check(builder.build(), ["called", "now", "y"], [{"x": floats(3, 4)}, {"x": floats(5, 6)}])
    with pytest.raises(
        InputError, match=r"node 0 \(STABLEHLO_COMPOSITE\) computes 'called', which since gives, and changes"
    ):
        Interpreter(builder.build()).run({"x": floats(1, 2)}, since={"called": floats(1, 2)})
