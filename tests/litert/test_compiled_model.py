"""CompiledModel over buffers: results, which tensors are not copied, shapes, and refusals."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import accumulator, custom_chain, floats, graph_with, one_signature, relu_chain

import minilite
from minilite import ArenaError, InputError, ModelFormatError, ModelNotFoundError, StateError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.litert.compiled_model import CompiledModel, HardwareAccelerator, Options
from minilite.litert.environment import Environment, EnvironmentOptions
from minilite.litert.options import CpuKernelMode, CpuOptions
from minilite.litert.tensor_buffer import TensorBuffer

DIGITS = str(Path(minilite.__file__).with_name("data") / "digits.tflite")


def made(model: bytes, **options: Any) -> CompiledModel:
    return CompiledModel.from_buffer(model, **options)


def buffers(model: CompiledModel) -> tuple[list[TensorBuffer], list[TensorBuffer]]:
    return model.create_input_buffers(0), model.create_output_buffers(0)


def sizes(model: CompiledModel) -> tuple[int, int]:
    """Returns the counts of rebinds and plans so far."""
    assert model._model is not None
    counters = model._model.signatures[0].session.state.counters()
    return counters["rebinds"], counters["plans"]


def adder(size: int = 4) -> bytes:
    """a + b -> c, of any number of floats."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = (graph.input(name, (size,), signature=(-1,)) for name in "ab")
    graph.output(graph.node("ADD", [a, b], out=("c", (size,))))
    return builder.build()


# Results --------------------------------------------------------------------------------------------------------------


def test_the_digits_model_gives_what_the_interpreter_gives() -> None:
    image = np.random.default_rng(1).random((3, 20, 30, 1), np.float32)
    wanted = minilite.Interpreter(DIGITS).run(image)["probabilities"]
    for options in (
        None,
        Options(cpu_options=CpuOptions(num_threads=2)),
        Options(cpu_options=CpuOptions(kernel_mode=CpuKernelMode.BUILTIN)),
    ):
        with CompiledModel.from_file(DIGITS, options=options) as model:
            model.resize_input_tensor_by_name("serving_default", "image", image.shape)
            inputs, outputs = buffers(model)
            inputs[0].write(image)
            model.run_by_index(0, inputs, outputs)
            assert np.array_equal(outputs[0].read((3, 10), np.float32), wanted)
    with CompiledModel.from_file(
        DIGITS, options=Options(cpu_options=CpuOptions(kernel_mode=CpuKernelMode.REFERENCE))
    ) as m:
        inputs, outputs = buffers(m)
        m.run_by_index(0, inputs, outputs)
        plain = minilite.Interpreter(DIGITS, experimental_op_resolver_type=minilite.OpResolverType.BUILTIN_REF)
        assert np.array_equal(
            outputs[0].read((1, 10), "float32"), plain.run(np.zeros((1, 8, 8, 1), "f4"))["probabilities"]
        )


def test_a_model_without_signatures_has_one_of_litert_s_name() -> None:
    model = made(relu_chain())
    key = "<placeholder signature>"
    assert model.get_signature_list() == {key: {"inputs": ["x"], "outputs": ["y2"]}}
    assert model.get_signature_by_index(0) == {"key": key, "inputs": ["x"], "outputs": ["y2"]}
    assert (model.get_num_signatures(), model.get_signature_index(key), model.get_signature_index("z")) == (1, 0, -1)
    assert model.get_input_tensor_details(key) == {"x": {"name": "x", "index": 0, "dtype": "float32", "shape": [4]}}
    assert model.get_output_buffer_requirements(0) == {"buffer_size": 16, "supported_types": [1]}
    assert (repr(model), model.is_fully_accelerated()) == (f"<CompiledModel: signatures {key}>", True)


def test_signatures_have_the_order_of_their_subgraph() -> None:
    """The order is that of the subgraph, not that of names, which get_signature_runner uses."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    b, a = graph.input("b", (2,)), graph.input("a", (2,))
    graph.output(graph.node("SUB", [b, a], out=("z", (2,))), graph.node("ADD", [b, a], out=("c", (2,))))
    builder.signature("sums", {"a": a, "b": b}, {"c": 3, "z": 2})
    model = made(builder.build())
    assert model.get_signature_list() == {"sums": {"inputs": ["b", "a"], "outputs": ["z", "c"]}}
    inputs, outputs = buffers(model)
    inputs[0].write(floats(5, 6))
    inputs[1].write(floats(1, 2))
    model.run_by_index(0, inputs, outputs)
    assert [one.read(2, np.float32).tolist() for one in outputs] == [[4, 4], [6, 8]]


def test_variables_last_from_run_to_run() -> None:
    model = made(accumulator())
    inputs, outputs = buffers(model)
    inputs[0].write(floats(1, 2, 3, 4))
    for turn in (1, 2, 3):
        model.run_by_index(0, inputs, outputs)
        assert outputs[0].read(4, np.float32).tolist() == [turn, 2 * turn, 3 * turn, 4 * turn]


# Memory ---------------------------------------------------------------------------------------------------------------


def test_arrays_of_the_caller_are_the_tensors() -> None:
    """Neither an input nor an output is copied, at any alignment."""
    model = made(relu_chain(2))
    whole = np.zeros(12, np.float32)
    x, y = whole[1:5], whole[6:10]
    x[:] = [-1, 2, -3, 4]
    one, other = TensorBuffer.create_from_host_memory(x), TensorBuffer.create_from_host_memory(y)
    model.run_by_index(0, [one], [other])
    assert y.tolist() == [0, 2, 0, 4]
    x[0] = 7
    model.run_by_index(0, [one], [other])
    assert y.tolist() == [7, 2, 0, 4]
    signature = model._model.signatures[0]  # type: ignore[union-attr]
    assert signature.session.state.place(0).address == x.ctypes.data
    assert signature.session.state.place(2).address == y.ctypes.data
    assert (signature._copied_in, signature._copied_out) == ([], [])


def test_alternating_buffers_make_no_plan() -> None:
    model = made(relu_chain())
    pairs = [buffers(model) for _ in range(2)]
    for turn in range(2):
        model.run_by_index(0, *pairs[turn])
    before = sizes(model)
    for turn in range(6):
        pairs[turn % 2][0][0].write(floats(turn, 0, 0, -1))
        model.run_by_index(0, *pairs[turn % 2])
        assert pairs[turn % 2][1][0].read(4, np.float32).tolist() == [turn, 0, 0, 0]
    assert sizes(model) == (before[0] + 6, before[1])


def test_buffers_may_share_memory() -> None:
    model = made(adder())
    (a, _), (c,) = buffers(model)
    a.write(floats(1, 2, 3, 4))
    model.run_by_index(0, [a, a], [c])
    assert c.read(4, np.float32).tolist() == [2, 4, 6, 8]
    for wanted in ([2, 4, 6, 8], [4, 8, 12, 16]):
        model.run_by_index(0, [a, a], [a])
        assert a.read(4, np.float32).tolist() == wanted


def test_a_cache_bound_to_input_and_output_is_updated_in_place() -> None:
    """One buffer is an input and the output that a node writes over it, as a language model's caches are."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    cache, new, at = graph.input("cache", (4,)), graph.input("new", (1,)), graph.input("at", (1,), TensorType.INT32)
    graph.output(graph.node("DYNAMIC_UPDATE_SLICE", [cache, new, at], out=("cache_out", (4,))))
    model = made(builder.build())
    memory = np.zeros(4, np.float32)
    kept = TensorBuffer.create_from_host_memory(memory)
    value, position = (model.create_input_buffer_by_name("<placeholder signature>", name) for name in ("new", "at"))
    for at_ in range(4):
        value.write(floats(at_ + 1))
        position.write(np.int32([at_]))
        model.run_by_index(0, [kept, value, position], [kept])
    assert memory.tolist() == [1, 2, 3, 4]
    assert model._model.signatures[0]._copied_out == []  # type: ignore[union-attr]


def test_outputs_without_memory_of_their_own_are_copied_to_buffers() -> None:
    """A constant, an input that is an output, one tensor that is two outputs, a value known while planning."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3,), signature=(-1,))
    fixed = graph.constant("fixed", floats(7, 8))
    y = graph.node("RELU", [x], out=("y", (3,)))
    shape = graph.node("SHAPE", [x], out=("shape", (1,), TensorType.INT32), options={"out_type": "INT32"})
    graph.output(x, fixed, y, shape)
    model = made(builder.build())
    inputs, outputs = buffers(model)
    inputs[0].write(floats(-1, 2, 3))
    for _ in range(2):
        model.run_by_index(0, inputs, outputs)
        found = [one.read(one.get_tensor_details()["shape"], one.get_tensor_details()["dtype"]) for one in outputs]
        assert [one.tolist() for one in found] == [[-1, 2, 3], [7, 8], [0, 2, 3], [3]]


def where() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,), TensorType.BOOL)
    graph.output(graph.node("WHERE", [x], out=("at", (1, 1), TensorType.INT64)))
    return builder.build()


def test_an_output_whose_shape_depends_on_values_grows_its_buffer() -> None:
    model = made(where())
    inputs, outputs = buffers(model)
    for mask, found in (([1, 0, 1, 1], [0, 2, 3]), ([0, 1, 0, 0], [1]), ([0] * 4, [])):
        inputs[0].write(np.array(mask, np.bool_))
        model.run_by_index(0, inputs, outputs)
        details = outputs[0].get_tensor_details()
        assert details == {"dtype": "int64", "shape": [len(found), 1]}
        assert outputs[0].read(len(found), np.int64).tolist() == found
    small = TensorBuffer.create_from_host_memory(np.zeros(2, np.int64))
    inputs[0].write(np.ones(4, np.bool_))
    with pytest.raises(RuntimeError, match=r"the output has 32 bytes, as \(4, 1\), its buffer 16"):
        model.run_by_index(0, inputs, [small])
    model.run_by_index(0, inputs, outputs)
    assert outputs[0].read(4, np.int64).tolist() == [0, 1, 2, 3]


# Shapes ---------------------------------------------------------------------------------------------------------------


def test_runs_have_the_shapes_of_their_buffers() -> None:
    """Buffers set the shapes that the model leaves open; a size that was resized to earlier needs no second resize."""
    model = made(relu_chain())
    small = buffers(model)
    model.resize_input_tensor(0, [6])
    assert model.get_input_tensor_details("<placeholder signature>")["x"]["shape"] == [6]
    assert model.get_output_tensor_details("<placeholder signature>")["y2"]["shape"] == [6]
    large = buffers(model)
    for inputs, outputs, count in ((*large, 6), (*small, 4), (*large, 6)):
        inputs[0].write(np.arange(count, dtype=np.float32) - 2)
        model.run_by_index(0, inputs, outputs)
        assert outputs[0].read(count, np.float32).tolist() == [max(0, i - 2) for i in range(count)]
    with pytest.raises(ArenaError, match="needs 24 bytes, the buffer bound to it has 16"):
        model.run_by_index(0, large[0], small[1])
    model.run_by_index(0, *small)


def test_shapes_that_the_model_fixes_stay() -> None:
    model = made(graph_with(lambda g: [g.node("RELU", [g.input("x", (4,))], out=("y", (4,)))]))
    with pytest.raises(RuntimeError, match="Attempting to resize dimension 0 of tensor 0 with value 4 to 5"):
        model.resize_input_tensor(0, [5])
    old = buffers(model)
    model.resize_input_tensor(0, [5], strict=False)
    new = buffers(model)
    model.run_by_index(0, *new)
    with pytest.raises(RuntimeError, match=r"Cannot auto-resize tensor x: it has the shape \(5,\), its buffer \(4,\)"):
        model.run_by_index(0, *old)
    for dims in ([0], [-1]):
        with pytest.raises(RuntimeError, match=r"Dimensions must be positive|overflowed"):
            model.resize_input_tensor(0, dims, strict=False)
    model.run_by_index(0, *new)


def test_a_flat_array_is_any_tensor_of_its_size() -> None:
    with CompiledModel.from_file(DIGITS) as model:
        flat = TensorBuffer.create_from_host_memory(np.zeros(64, np.float32))
        outputs = model.create_output_buffers(0)
        model.run_by_index(0, [flat], outputs)
        assert flat.get_tensor_details() == {"dtype": "float32", "shape": [64]}


# Refusals -------------------------------------------------------------------------------------------------------------


def test_programs_with_a_fallback_take_it() -> None:
    for accelerator, name in ((HardwareAccelerator.GPU, "GPU"), (6, "GPU and NPU"), (0, "none")):
        with pytest.raises(RuntimeError, match=f"the accelerator asked for is {name}, minilite runs on the CPU alone"):
            CompiledModel.from_file(DIGITS, accelerator)  # type: ignore[arg-type]
    model = CompiledModel.from_file(DIGITS, HardwareAccelerator.GPU | HardwareAccelerator.CPU)
    assert not model.is_fully_accelerated()


def test_models_that_cannot_be_loaded_are_runtime_errors_as_in_litert(tmp_path: Path) -> None:
    for call, kind in (
        (lambda: CompiledModel.from_file(str(tmp_path / "none")), ModelNotFoundError),
        (lambda: CompiledModel.from_buffer(b"garbage" * 9), ModelFormatError),
        (lambda: CompiledModel.from_buffer(b""), InputError),
        (
            lambda: CompiledModel.from_buffer(custom_chain("Nope")),
            UnsupportedOpError,
        ),
    ):
        with pytest.raises(kind) as raised:
            call()
        assert isinstance(raised.value, RuntimeError)
        assert "\n" not in str(raised.value)


def test_mistakes_name_both_values() -> None:
    model = made(adder())
    inputs, outputs = buffers(model)
    key = "<placeholder signature>"
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: inputs[0].write(np.zeros(4)), RuntimeError, "holds float32, got an array of float64"),
        (lambda: inputs[0].write(np.zeros(4, np.int8)), RuntimeError, "holds float32, got an array of int8"),
        (
            lambda: inputs[0].write(np.zeros(5, np.float32)),
            RuntimeError,
            "larger than the tensor buffer: .* 20 bytes.* 16",
        ),
        (lambda: inputs[0].write([1.0]), ValueError, "must be a NumPy array, got list"),
        (lambda: inputs[0].write(np.zeros(4, ">f4")), ValueError, "Unsupported dtype: >f4"),
        (lambda: inputs[0].read(5, np.float32), RuntimeError, "destination buffer is larger"),
        (lambda: inputs[0].read(4, np.int32), RuntimeError, "holds float32, cannot be read as int32"),
        (lambda: inputs[0].read(-1, np.float32), ValueError, "num_elements is -1"),
        (lambda: inputs[0].read(1, "text"), ValueError, "Unsupported dtype: text"),
        (lambda: TensorBuffer.create_from_host_memory(np.zeros((4, 4), "f4")[:, ::2]), ValueError, "C-contiguous"),
        (
            lambda: model.run_by_index(1, inputs, outputs),
            RuntimeError,
            "out of range of signature keys: 1, there are 1",
        ),
        (lambda: model.run_by_index(0, inputs[:1], outputs), RuntimeError, "number of inputs:2 vs buffers:1"),
        (lambda: model.run_by_index(0, inputs, []), RuntimeError, "number of outputs:1 vs buffers:0"),
        (lambda: model.run_by_index(0, [np.zeros(4)] * 2, outputs), TypeError, "buffer 0 is of type ndarray"),  # type: ignore[list-item]
        (lambda: model.run_by_name("x", {}, {}), RuntimeError, "Signature not found: x"),
        (lambda: model.run_by_name(key, {}, {}), RuntimeError, "missing some output TensorBuffers: c"),
        (
            lambda: model.run_by_name(key, {"a": inputs[0]}, {"c": outputs[0]}),
            RuntimeError,
            "no buffer was ever given for the input b",
        ),
        (lambda: model.create_input_buffer_by_name(key, "z"), RuntimeError, "Input tensor not found: 'z'.* has a, b"),
        (lambda: model.get_input_buffer_requirements(2), RuntimeError, "Input index out of range: 2"),
        (lambda: model.resize_input_tensor_by_name("x", "a", [1]), ValueError, "Unknown signature: x"),
        (lambda: model.resize_input_tensor_by_name(key, "z", [1]), ValueError, "Unknown input 'z'"),
        (lambda: CompiledModel.from_file(DIGITS, HardwareAccelerator.CPU, options=Options()), ValueError, "not both"),
        (lambda: CompiledModel.from_file(DIGITS, environment="x"), TypeError, "must be an Environment"),  # type: ignore[arg-type]
        (lambda: Environment.create(options=EnvironmentOptions(), runtime_path="x"), ValueError, "either options"),
        (lambda: Environment.create(options="x", runtime_path="y"), ValueError, "provided twice"),
        (lambda: Environment.create(EnvironmentOptions(), compiler_cache_dir="x"), ValueError, "either options"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message) as raised:
            call()
        assert isinstance(raised.value, minilite.MiniliteError)
    for one in inputs:
        one.write(floats(1, 2, 3, 4))
    model.run_by_index(0, inputs, outputs)  # all is as it was
    model.run_by_name(key, {}, {"c": outputs[0], "else": outputs[0]})  # an input left out keeps its buffer
    assert outputs[0].read(4, np.float32).tolist() == [2, 4, 6, 8]


def test_bytes_pass_as_they_are() -> None:
    """One-byte types mean bytes: all of a buffer when they are written, any number when they are read."""
    model = made(relu_chain())
    inputs, _ = buffers(model)
    inputs[0].write(floats(1, 2, 3, 4).view(np.uint8))
    assert inputs[0].read(16, np.int8).view(np.float32).tolist() == [1, 2, 3, 4]


def test_strings_have_no_buffers() -> None:
    model = made(
        graph_with(
            lambda g: [
                g.node(
                    "RESHAPE",
                    [g.input("x", (1,), TensorType.STRING), g.constant("s", np.int32([1, 1]))],
                    out=("y", (1, 1), TensorType.STRING),
                )
            ]
        )
    )
    assert model.get_input_buffer_requirements(0)["buffer_size"] == 0
    with pytest.raises(RuntimeError, match="input 'x' is of STRING, which no buffer holds"):
        model.create_input_buffers(0)


def test_closed_models_and_destroyed_buffers_are_refused() -> None:
    model = made(relu_chain())
    inputs, outputs = buffers(model)
    outputs[0].destroy()
    outputs[0].destroy()
    with pytest.raises(RuntimeError, match="ReadTensorToBuffer: invalid capsule"):
        outputs[0].read(1, np.float32)
    with pytest.raises(ValueError, match="has been destroyed"):
        model.run_by_index(0, inputs, outputs)
    with model as same:
        assert same is model
    with pytest.raises(StateError, match="the CompiledModel is closed"):
        model.get_signature_list()
    assert inputs[0].read(4, np.float32).tolist() == [0] * 4
    kept = Environment.create(EnvironmentOptions("/opt", compiler_cache_dir="/tmp/kept"))
    assert kept.options == EnvironmentOptions("/opt", "", "", "/tmp/kept")
    assert Environment.create("/opt", compiler_cache_dir="/tmp/kept").options == kept.options
    with Environment.create() as environment:
        CompiledModel.from_file(DIGITS, environment=environment)
    with pytest.raises(ValueError, match="Environment is no longer valid"):
        CompiledModel.from_file(DIGITS, environment=environment)


def test_threads_wait_for_each_other() -> None:
    model = made(adder())
    failures: list[Any] = []

    def work(number: int) -> None:
        inputs, outputs = buffers(model)
        for turn in range(200):
            for one in inputs:
                one.write(np.full(4, number + turn, np.float32))
            model.run_by_index(0, inputs, outputs)
            if outputs[0].read(4, np.float32).tolist() != [2 * (number + turn)] * 4:
                failures.append((number, turn))

    threads = [threading.Thread(target=work, args=(1000 * number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_two_signatures_of_one_model() -> None:
    model = made(one_signature())
    assert model.get_num_signatures() == 1
    assert model.get_signature_index(next(iter(model.get_signature_list()))) == 0
