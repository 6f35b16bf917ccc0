"""LiteRT's API: the errors for misuse, details dicts, signatures, and how arrays are set and read."""

from __future__ import annotations

import contextlib
import mmap
import pathlib
from typing import Any

import numpy as np
import pytest
from built import Array, floats, litert, one_signature, ready, relu_chain, run, signed
from support.peer import interpreter as oracle

import minilite
from minilite import interpreter as ours
from minilite._native.state import debug_build
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

MODELS = pathlib.Path(__file__).resolve().parents[2] / "../shared/models"


# Details --------------------------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Equality of details: keys, values, and the types of both."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def check_details(mine: minilite.Interpreter, theirs: Any) -> None:
    assert same(theirs.get_input_details(), mine.get_input_details())
    assert same(theirs.get_output_details(), mine.get_output_details())
    for subgraph in range(theirs.num_subgraphs()):
        found = {detail["index"]: detail for detail in mine.get_tensor_details(subgraph)}
        # LiteRT leaves some out, and has its temporaries at the end.
        for expected in theirs.get_tensor_details(subgraph):
            index = expected["index"]
            assert index not in found or same(expected, found[index]), (subgraph, expected, found[index])
    assert mine.num_subgraphs() == theirs.num_subgraphs()
    assert mine.get_signature_list() == theirs.get_signature_list()
    assert mine._get_full_signature_list() == theirs._get_full_signature_list()


def kinds_of_tensors() -> bytes:
    """Unknown dimensions, no shape signature, per-tensor and per-channel quantization, scalars, every numpy type."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4, 2), signature=(-1, 4, -1))
    graph.tensor("s8", (2,), TensorType.INT8, quantization=Quantization((0.5,), (-3,)))
    channels = Quantization((0.5, 0.25), (0, 0), 1)
    graph.constant("channels", np.zeros((3, 2), np.int8), quantization=channels)
    graph.tensor("scalar", ())
    for kind in (
        np.bool_,
        np.uint8,
        np.int16,
        np.int32,
        np.int64,
        np.float16,
        np.float64,
        np.complex64,
        np.uint32,
        np.uint64,
    ):
        graph.constant(np.dtype(kind).name, np.zeros(3, kind))
    graph.constant("string", ["a", "bc"])
    for kind in TensorType:
        graph.tensor(kind.name, (2,), kind)
    dense = {"format": "DENSE", "dense_size": 2}
    rows = {"array_segments_type": "Int32Vector", "array_segments": {"values": (0, 1, 3)}}
    columns = {"array_indices_type": "Uint8Vector", "array_indices": {"values": (2, 0, 3)}}
    sparsity = {"traversal_order": (0, 1), "dim_metadata": (dense, {"format": "SPARSE_CSR", **rows, **columns})}
    graph.constant("sparse", floats(1, 2, 3), shape=(2, 4), sparsity=sparsity)
    graph.output(graph.node("RELU", [x], out=("y", (1, 4, 2))))
    return builder.build()


@pytest.mark.parametrize("model", [relu_chain(), signed(), one_signature(), kinds_of_tensors()], ids=range(4))
def test_details_equal_litert(model: bytes) -> None:
    mine, theirs = minilite.Interpreter(model_content=model), oracle.Interpreter(model_content=model)
    check_details(mine, theirs)
    for interpreter in (mine, theirs):
        interpreter.allocate_tensors()
    check_details(mine, theirs)


def test_details_after_a_resize() -> None:
    mine, theirs = minilite.Interpreter(model_content=relu_chain()), litert(relu_chain())
    for size in (6, 2):
        for interpreter in (mine, theirs):
            interpreter.resize_tensor_input(0, (size,))
        assert mine.get_input_details()[0]["shape"].tolist() == [size]
        assert same(theirs.get_input_details(), mine.get_input_details())
        for interpreter in (mine, theirs):
            interpreter.allocate_tensors()
        check_details(mine, theirs)


def test_operators_equal_litert() -> None:
    model = kinds_of_tensors()
    theirs = oracle.Interpreter(
        model_content=model, experimental_op_resolver_type=oracle.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    assert same(theirs._get_ops_details(), minilite.Interpreter(model_content=model).get_ops_details())


@pytest.mark.skipif(not MODELS.is_dir(), reason="the real models are not here")
def test_details_of_real_models() -> None:
    checked = 0
    for path in sorted(MODELS.glob("*.tflite")):
        # LiteRT shows the float16 scales of blocks as a tensor's own.
        if path.stat().st_size > 300_000 or path.stem == "litert_blockwise_quantized":
            continue
        theirs = oracle.Interpreter(
            str(path), experimental_op_resolver_type=oracle.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        )
        mine = minilite.Interpreter(path)
        check_details(mine, theirs)
        checked += 1
    assert checked > 50


def test_model_without_anything() -> None:
    builder = ModelBuilder()
    builder.subgraph()
    interpreter = ready(builder.build())
    interpreter.invoke()
    assert interpreter.get_input_details() == interpreter.get_output_details() == interpreter.get_tensor_details() == []


# Signatures -----------------------------------------------------------------------------------------------------------


def test_signatures_of_several_subgraphs() -> None:
    for kind in (minilite.Interpreter, oracle.Interpreter):
        interpreter = kind(model_content=signed())
        clip, total = interpreter.get_signature_runner("clip"), interpreter.get_signature_runner("sum")
        assert {name: array.tolist() for name, array in clip(a=floats(1, -2, 3, -4)).items()} == {"b": [1, 0, 3, 0]}
        for size in (2, 5, 2):
            found = total(q=np.full(size, 2, np.float32), p=np.full(size, -1, np.float32))
            assert {name: array.tolist() for name, array in found.items()} == {"total": [1] * size, "copy": [0] * size}
        assert clip(a=floats(-1, 2))["b"].tolist() == [0, 2]


def test_signature_details_equal_litert() -> None:
    mine = minilite.Interpreter(model_content=signed()).get_signature_runner("sum")
    theirs = oracle.Interpreter(model_content=signed()).get_signature_runner("sum")
    assert dict(sorted(mine.get_input_details().items())).keys() == theirs.get_input_details().keys()
    for name, detail in theirs.get_input_details().items():
        assert same(detail, mine.get_input_details()[name])
    for name, detail in theirs.get_output_details().items():
        assert same(detail, mine.get_output_details()[name])


def test_only_signature_needs_no_name() -> None:
    runner = minilite.Interpreter(model_content=one_signature()).get_signature_runner()
    assert runner(a=np.full((3, 4), -1, np.float32))["b"].tolist() == [[0] * 4] * 3
    assert repr(runner) == "SignatureRunner('serving_default', inputs=['a'])"


def test_signature_refused_then_called_again() -> None:
    runner = minilite.Interpreter(model_content=signed()).get_signature_runner("sum")
    with pytest.raises(minilite.ShapeError):
        runner(p=floats(1, 2), q=floats(1, 2, 3))
    assert runner(p=floats(1, 2), q=floats(3, 4))["total"].tolist() == [4, 6]


# Arrays in and out ----------------------------------------------------------------------------------------------------


def test_get_tensor_gives_owned_copies() -> None:
    interpreter = ready(relu_chain())
    interpreter.set_tensor(0, floats(1, 2, 3, 4))
    interpreter.invoke()
    first = interpreter.get_tensor(3)
    assert first.flags.owndata
    assert first.flags.writeable
    assert first.flags.c_contiguous
    first[:] = 9
    assert interpreter.get_tensor(3).tolist() == [1, 2, 3, 4]


def test_constants_are_read_as_copies_and_never_written() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    c = graph.constant("c", floats(1, 2))
    graph.output(graph.node("ADD", [graph.input("x", (2,)), c], out=("y", (2,))))
    early = minilite.Interpreter(model_content=builder.build())
    for interpreter in (early, ready(builder.build())):
        found = interpreter.get_tensor(c)
        found[:] = 7
        assert interpreter.get_tensor(c).tolist() == [1, 2]
    with pytest.raises(minilite.InputError, match=r"^Cannot set tensor: tensor 0 \('c'\) is constant"):
        interpreter.set_tensor(c, floats(3, 4))
    with pytest.raises(ValueError, match="read-only"):
        interpreter.tensor(c)()[:] = 1


@pytest.mark.parametrize(
    "value",
    [
        np.arange(8, dtype=np.float32)[::2],
        np.arange(6, -1, -2, dtype=np.float32)[::-1],
        np.asfortranarray(np.arange(0, 8, 2, dtype=np.float32)),
        np.broadcast_to(np.float32(2), (4,)) * np.arange(4, dtype=np.float32),
    ],
)
def test_strided_arrays_are_taken_as_they_look(value: Array) -> None:
    interpreter = ready(relu_chain())
    interpreter.set_tensor(np.int64(0), value)
    assert interpreter.get_tensor(np.int32(0)).tolist() == [0, 2, 4, 6]


def test_models_are_read_from_paths_bytes_and_buffers(tmp_path: pathlib.Path) -> None:
    data = relu_chain()
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        sources = [
            {"model_path": str(path)},
            {"model_path": path},
            {"model_path": str(path).encode()},
            {"model_path": path, "load": "copy"},
            {"model_content": data},
            {"model_content": bytearray(data)},
            {"model_content": memoryview(data)},
            {"model_content": np.frombuffer(data, np.uint8)},
            {"model_content": bytes(mapped)},
            {"model_path": ready(data).model},
        ]
        for source in sources:
            interpreter = minilite.Interpreter(**source)
            interpreter.allocate_tensors()
            assert run(interpreter, floats(-1, 2, 3, 4))[0].tolist() == [0, 2, 3, 4]
    assert minilite.Interpreter(str(path)).get_input_details()[0]["name"] == "x"


def test_mapped_content_is_used_in_place(tmp_path: pathlib.Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    weights = np.arange(1 << 16, dtype=np.float32)
    graph.output(graph.node("ADD", [graph.input("x", (1,)), graph.constant("w", weights)], out=("y", (1 << 16,))))
    path = tmp_path / "model.tflite"
    path.write_bytes(builder.build())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    interpreter = ready(mapped)  # type: ignore[arg-type]
    del mapped
    assert np.array_equal(run(interpreter, floats(1))[0], weights + 1)


def test_run_by_name() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (1,), signature=(-1,)), graph.input("b", (1,), signature=(-1,))
    graph.output(graph.node("ADD", [a, b], out=("sum", (1,))), graph.node("RELU", [a], out=("relu", (1,))))
    interpreter = minilite.Interpreter(model_content=builder.build())
    for size in (3, 1, 3):
        found = interpreter.run({"b": np.ones(size, np.float32), "a": np.arange(size, dtype=np.float32)})
        assert list(found) == ["sum", "relu"]
        assert found["sum"].tolist() == (np.arange(size) + 1).tolist()
    with pytest.raises(minilite.InputError, match=r"^got inputs \['a'\], the model takes \['a', 'b'\]$"):
        interpreter.run({"a": floats(1)})


@pytest.mark.parametrize("threads", [None, 1, 2, 4, np.int64(3)])
def test_num_threads_changes_no_answer(threads: Any) -> None:
    assert run(ready(relu_chain(), num_threads=threads), floats(-1, 2, 3, 4))[0].tolist() == [0, 2, 3, 4]


def test_builtin_ref_runs_the_numpy_references(monkeypatch: pytest.MonkeyPatch) -> None:
    from minilite.engine import operands as lowering
    from minilite.ops import operators

    seen: list[str] = []

    def spy(node: Any, x: Array) -> Array:
        seen.append(node.op)
        return np.maximum(x, 0)

    table = operators()
    patched = {**table, "RELU": table["RELU"]._replace(reference=spy)}
    monkeypatch.setattr(lowering, "find_operator", patched.get)
    for kind in (ours.OpResolverType.AUTO, ours.OpResolverType.BUILTIN, oracle.OpResolverType.BUILTIN):
        assert (
            run(ready(relu_chain(), experimental_op_resolver_type=kind), np.full(4, -1, np.float32))[0].tolist()
            == [0] * 4
        )
    assert seen == []
    for kind in (ours.OpResolverType.BUILTIN_REF, oracle.OpResolverType.BUILTIN_REF):
        assert (
            run(ready(relu_chain(), experimental_op_resolver_type=kind), np.full(4, -1, np.float32))[0].tolist()
            == [0] * 4
        )
    assert seen == ["RELU"] * 6


def unless_poisoned() -> contextlib.AbstractContextManager[Any]:
    """Expects an error in debug builds, which overwrite dead tensors at once; in others their values stay until their
    bytes are used."""
    return pytest.raises(minilite.StateError, match="overwritten") if debug_build() else contextlib.nullcontext()


def test_intermediates_are_whole_or_refused() -> None:
    """Computed in place, all five RELUs share one place: intermediate results are gone, and the first input is kept."""
    interpreter = ready(relu_chain(5))
    assert all(interpreter.get_tensor(index).shape == (4,) for index in range(6))  # nothing has run
    run(interpreter, floats(-1, 2, 3, 4))
    with unless_poisoned():
        assert interpreter.get_tensor(4).tolist() == [0, 2, 3, 4]  # the last node writes elsewhere
    for index in range(1, 4):
        text = rf"tensor {index} \('y{index - 1}'\) was overwritten by node {index} \(RELU\): .*experimental_preserve_all_tensors"
        with pytest.raises(minilite.StateError, match=text):
            interpreter.get_tensor(index)
    assert interpreter.get_tensor(0).tolist() == [-1, 2, 3, 4]
    assert interpreter.get_tensor(5).tolist() == [0, 2, 3, 4]
    keeps = ready(relu_chain(5), experimental_preserve_all_tensors=True)
    run(keeps, floats(-1, 2, 3, 4))
    assert all(keeps.get_tensor(index).tolist() == [0, 2, 3, 4] for index in range(1, 6))
    apart = ready(relu_chain(2), in_place="none")
    run(apart, floats(-1, 2, 3, 4))
    with unless_poisoned():
        assert apart.get_tensor(1).tolist() == [0, 2, 3, 4]  # dead, but nobody took its bytes


def test_an_input_that_may_be_reused_is_whole_or_refused() -> None:
    interpreter = ready(relu_chain(5), preserve_inputs=False)
    interpreter.set_tensor(0, floats(-1, 2, 3, 4))
    assert interpreter.get_tensor(0).tolist() == [-1, 2, 3, 4]
    interpreter.invoke()
    with pytest.raises(minilite.StateError, match=r"tensor 0 \('x'\) was overwritten by node 0 \(RELU\)"):
        interpreter.get_tensor(0)
    interpreter.set_tensor(0, floats(5, 6, 7, 8))
    assert interpreter.get_tensor(0).tolist() == [5, 6, 7, 8]


def test_equal_shapes_of_other_tensors_are_other_requests() -> None:
    """Requests the same two shapes in the same order, for the other tensors."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (2,)), graph.input("b", (2,))
    graph.output(graph.node("ADD", [a, b], out=("y", (2,))))
    interpreter = ready(builder.build())
    for first, second, shapes in ((a, b, r"\(3\) and \(7\)"), (b, a, r"\(7\) and \(3\)")):
        interpreter.resize_tensor_input(first, (3,))
        interpreter.resize_tensor_input(second, (7,))
        with pytest.raises(minilite.ShapeError, match=f"shapes {shapes} do not broadcast"):
            interpreter.allocate_tensors()


def test_resizing_another_tensor_is_tolerated() -> None:
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(3, (9,))
    interpreter.allocate_tensors()
    assert run(interpreter, floats(-1, 2, 3, 4))[0].tolist() == [0, 2, 3, 4]


def test_empty_and_other_rank() -> None:
    interpreter, other = ready(relu_chain()), litert(relu_chain())
    for shape in ((0,), (2, 3), (), (3, 0, 2)):
        x = np.full(shape, -1, np.float32)
        for one in (interpreter, other):
            one.resize_tensor_input(0, shape)
            one.allocate_tensors()
        found, expected = run(interpreter, x)[0], run(other, x)[0]
        assert found.shape == expected.shape == shape
        assert np.array_equal(found, expected)


def test_repr_says_what_it_is() -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    assert repr(interpreter).splitlines()[0] == "<Interpreter: 3 nodes, 4 tensors, not allocated>"
    interpreter.allocate_tensors()
    assert (
        repr(interpreter).splitlines()[0] == f"<Interpreter: 3 nodes, 4 tensors, arena {interpreter.arena_bytes} bytes>"
    )
