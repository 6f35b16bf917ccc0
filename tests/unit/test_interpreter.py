"""LiteRT's surface: what every misuse is answered with, details dicts, signatures, and how arrays go in and come out."""

from __future__ import annotations

import mmap
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as oracle
from built import Array, custom_chain, floats, litert, ready, relu_chain, run

import minilite
from minilite import interpreter as ours
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

MODELS = pathlib.Path(__file__).resolve().parents[2] / "../shared/models"


def signed() -> bytes:
    """Two subgraphs with a signature each: a -> RELU -> b, and (p, q) -> (p + q, p)."""
    builder = ModelBuilder()
    first, second = builder.subgraph("first"), builder.subgraph("second")
    x = first.input("x", (4,), signature=(-1,))
    y = first.node("RELU", [x], out=("y", (4,)))
    first.output(y)
    p, q = second.input("p_in", (2,), signature=(-1,)), second.input("q_in", (2,), signature=(-1,))
    total = second.node("ADD", [p, q], out=("total", (2,)))
    copy = second.node("RELU", [p], out=("copy", (2,)))
    second.output(total, copy)
    builder.signature("clip", {"a": x}, {"b": y}, first)
    builder.signature("sum", {"p": p, "q": q}, {"total": total, "copy": copy}, second)
    return builder.build()


def one_signature() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4), signature=(-1, 4))
    y = graph.node("RELU", [x], out=("y", (1, 4)))
    graph.output(y)
    builder.signature("serving_default", {"a": x}, {"b": y})
    return builder.build()


# Misuse: each call is made on LiteRT too, and ours raises an error that is an instance of what LiteRT raises -----------------


def allocated(kind: Any, model: bytes | None = None) -> Any:
    interpreter = kind(model_content=relu_chain() if model is None else model)
    interpreter.allocate_tensors()
    return interpreter


def holding_a_view(kind: Any) -> Any:
    interpreter = allocated(kind)
    view = interpreter.tensor(0)()
    interpreter.resize_tensor_input(0, (9,))
    interpreter.allocate_tensors()
    return view


def resized_not_allocated(kind: Any) -> Any:
    interpreter = allocated(kind)
    interpreter.resize_tensor_input(0, (9,))
    return interpreter


ZEROS = np.zeros(4, np.float32)
MISUSE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing": (lambda kind: kind(), "`model_path` or `model_content` must be specified."),
    "empty path": (lambda kind: kind(""), "`model_path` or `model_content` must be specified."),
    "empty bytes": (lambda kind: kind(model_content=b""), "`model_path` or `model_content` must be specified."),
    "both": (lambda kind: kind("/nope", relu_chain()), "Can't both provide `model_path` and `model_content`"),
    "missing file": (lambda kind: kind("/nope.tflite"), "could not open '/nope.tflite'"),
    "directory": (lambda kind: kind("/"), "could not open '/'"),
    "garbage": (lambda kind: kind(model_content=b"garbage" * 20), ""),
    "truncated": (lambda kind: kind(model_content=relu_chain()[:200]), ""),
    "number as path": (lambda kind: kind(5), ""),
    "str as bytes": (lambda kind: kind(model_content="TFL3"), ""),
    "no threads": (lambda kind: kind(model_content=relu_chain(), num_threads=0), "num_threads should >= 1"),
    "minus one thread": (lambda kind: kind(model_content=relu_chain(), num_threads=-1), "num_threads should >= 1"),
    "threads as str": (lambda kind: kind(model_content=relu_chain(), num_threads="2"), "type of num_threads should be int"),
    "early invoke": (lambda kind: kind(model_content=relu_chain()).invoke(), "Invoke called on model that is not ready"),
    "invoke after resize": (lambda kind: resized_not_allocated(kind).invoke(), "Invoke called on model that is not ready"),
    "early set": (
        lambda kind: kind(model_content=relu_chain()).set_tensor(0, ZEROS),
        "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first",
    ),
    "early get": (
        lambda kind: kind(model_content=relu_chain()).get_tensor(0),
        "Tensor data is null. Run allocate_tensors() first",
    ),
    "early view": (
        lambda kind: kind(model_content=relu_chain()).tensor(0)(),
        "Tensor data is null. Run allocate_tensors() first",
    ),
    "float64": (
        lambda kind: allocated(kind).set_tensor(0, np.zeros(4)),
        "Cannot set tensor: Got value of type FLOAT64 but expected type FLOAT32 for input 0, name: x",
    ),
    "list": (
        lambda kind: allocated(kind).set_tensor(0, [1.0, 2.0, 3.0, 4.0]),
        "Cannot set tensor: Got value of type FLOAT64 but expected type FLOAT32 for input 0, name: x",
    ),
    "scalar": (
        lambda kind: allocated(kind).set_tensor(0, 1),
        "Cannot set tensor: Got value of type INT64 but expected type FLOAT32 for input 0, name: x",
    ),
    "None": (lambda kind: allocated(kind).set_tensor(0, None), "Cannot set tensor: Got value of type"),
    "rank": (
        lambda kind: allocated(kind).set_tensor(0, np.zeros((1, 4), np.float32)),
        "Cannot set tensor: Dimension mismatch. Got 2 but expected 1 for input 0",
    ),
    "dimension": (
        lambda kind: allocated(kind).set_tensor(0, np.zeros(5, np.float32)),
        "Cannot set tensor: Dimension mismatch. Got 5 but expected 4 for dimension 0 of input 0",
    ),
    "set, index": (lambda kind: allocated(kind).set_tensor(9999, ZEROS), "Invalid tensor index 9999 exceeds max tensor index"),
    "set, index below": (lambda kind: allocated(kind).set_tensor(-1, ZEROS), "Invalid tensor index -1 exceeds max tensor index"),
    "get, index": (lambda kind: allocated(kind).get_tensor(9999), "Invalid tensor index 9999 exceeds max tensor index"),
    "get, index below": (lambda kind: allocated(kind).get_tensor(-1), "Invalid tensor index -1 exceeds max tensor index"),
    "get, index str": (lambda kind: allocated(kind).get_tensor("x"), ""),
    "get, index float": (lambda kind: allocated(kind).get_tensor(1.0), ""),
    "view, index": (lambda kind: allocated(kind).tensor(9999)(), "Invalid tensor index 9999 exceeds max tensor index"),
    "get, subgraph": (lambda kind: allocated(kind).get_tensor(0, 5), "Invalid subgraph index 5 exceeds max subgraph index"),
    "details, subgraph": (lambda kind: allocated(kind).get_tensor_details(5), ""),
    "details, index": (lambda kind: allocated(kind)._get_tensor_details(99, 0), "Invalid tensor index 99 exceeds max tensor"),
    "resize, index": (lambda kind: allocated(kind).resize_tensor_input(9999, (3,)), "tensor_index"),
    "resize, index below": (lambda kind: allocated(kind).resize_tensor_input(-1, (3,)), "tensor_index"),
    "resize, None inside": (lambda kind: allocated(kind).resize_tensor_input(0, (None,)), ""),
    "resize, number": (lambda kind: allocated(kind).resize_tensor_input(0, 4), "Shape should be 1D instead of 0"),
    "resize, nested": (lambda kind: allocated(kind).resize_tensor_input(0, [[2, 3]]), "Shape should be 1D instead of 2"),
    "resize, minus one": (
        lambda kind: allocated(kind).resize_tensor_input(0, (-1,)),
        "BytesRequired number of elements overflowed",
    ),
    "resize, strict": (
        lambda kind: kind(model_content=one_signature()).resize_tensor_input(0, (2, 5), strict=True),
        "Attempting to resize dimension 1 of tensor 0 with value 4 to 5. ResizeInputTensorStrict only allows mutating",
    ),
    "resize, strict rank": (
        lambda kind: kind(model_content=one_signature()).resize_tensor_input(0, (2,), strict=True),
        "Attempting to resize tensor 0 ('x') from rank 2 to rank 1",
    ),
    "held view": (holding_a_view, "There is at least 1 reference to internal data"),
    "custom": (lambda kind: allocated(kind, custom_chain("Foo")), "subgraph 0, node 0 (Foo 'y'): unresolved custom op: Foo"),
    "Flex": (lambda kind: allocated(kind, custom_chain("FlexFoo")), "subgraph 0, node 0 (FlexFoo 'y'): Select TensorFlow op(s)"),
    "signature": (
        lambda kind: kind(model_content=one_signature()).get_signature_runner("zzz"),
        'Invalid signature_key provided: "zzz".',
    ),
    "no signature": (
        lambda kind: kind(model_content=relu_chain()).get_signature_runner(),
        "SignatureDef signature_key is None and model has 0 Signatures. None is only allowed when the model has 1 SignatureDef",
    ),
    "which signature": (
        lambda kind: kind(model_content=signed()).get_signature_runner(),
        "SignatureDef signature_key is None and model has 2 Signatures. None is only allowed when the model has 1 SignatureDef",
    ),
    "signature, count": (
        lambda kind: kind(model_content=one_signature()).get_signature_runner()(),
        "Invalid number of inputs provided for running a SignatureDef, expected 1 vs provided 0",
    ),
    "signature, name": (
        lambda kind: kind(model_content=one_signature()).get_signature_runner()(foo=ZEROS),
        "Invalid Input name (foo) for SignatureDef",
    ),
    "signature, dtype": (
        lambda kind: kind(model_content=one_signature()).get_signature_runner()(a=np.zeros((1, 4))),
        "Cannot set tensor: Got value of type FLOAT64 but expected type FLOAT32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name: str) -> None:
    call, text = MISUSE[name]
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - any: it says what ours has to be
        call(oracle.Interpreter)
    with pytest.raises(theirs.type) as caught:
        call(minilite.Interpreter)
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)
    if issubclass(theirs.type, (ValueError, RuntimeError)):
        assert isinstance(caught.value, minilite.MiniliteError)


def test_missing_file_is_also_file_not_found() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        minilite.Interpreter("/nope.tflite")
    assert str(caught.value) == "could not open '/nope.tflite': no such file or directory"


def test_big_endian_is_refused() -> None:
    with pytest.raises(minilite.InputError, match=r"byte order '>'.*\.astype\('float32'\)$") as caught:
        ready(relu_chain()).set_tensor(0, ZEROS.astype(">f4"))
    assert caught.value.tensors == ("x",)


def test_errors_leave_the_interpreter_usable() -> None:
    interpreter = ready(relu_chain())
    for call in (
        lambda: interpreter.set_tensor(0, np.zeros(4)),
        lambda: interpreter.set_tensor(77, ZEROS),
        lambda: interpreter.resize_tensor_input(0, (-1,)),
        lambda: interpreter.resize_tensor_input(0, (2,) * 9),
        lambda: interpreter.get_tensor(0, 3),
        lambda: interpreter.run({"y": ZEROS}),
        lambda: interpreter.run({"x": np.zeros(4)}),
    ):
        with pytest.raises(minilite.InputError):
            call()
        assert run(interpreter, floats(-1, 2, 3, -4))[0].tolist() == [0, 2, 3, 0]


def test_delegates() -> None:
    with pytest.raises(ValueError, match="delegates are not supported"):
        ours.load_delegate("libedgetpu.so")
    with pytest.raises(ValueError, match="delegates are not supported, got 1"):
        minilite.Interpreter(model_content=relu_chain(), experimental_delegates=[object()])
    assert minilite.Interpreter(model_content=relu_chain(), experimental_delegates=[])


def test_module_has_litert_names() -> None:
    names = {
        "Delegate",
        "Interpreter",
        "InterpreterWithCustomOps",
        "OpResolverType",
        "SignatureRunner",
        "load_delegate",
    }
    assert names <= set(dir(ours))
    assert {kind.name: kind.value for kind in ours.OpResolverType} == {k.name: k.value for k in oracle.OpResolverType}


# Details ----------------------------------------------------------------------------------------------------------------


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
        for expected in theirs.get_tensor_details(
            subgraph
        ):  # LiteRT leaves some out, and has its temporaries at the end
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


# Signatures -------------------------------------------------------------------------------------------------------------


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


# Arrays in and out ------------------------------------------------------------------------------------------------------


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


def test_what_a_model_is_read_from(tmp_path: pathlib.Path) -> None:
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
    from minilite.engine import lower as lowering
    from minilite.ops import operators

    seen: list[str] = []

    def spy(node: Any, x: Array) -> Array:
        seen.append(node.op)
        return np.maximum(x, 0)

    table = operators()
    monkeypatch.setattr(lowering, "operators", lambda: {**table, "RELU": table["RELU"]._replace(reference=spy)})
    for kind in (ours.OpResolverType.AUTO, ours.OpResolverType.BUILTIN, oracle.OpResolverType.BUILTIN):
        assert run(ready(relu_chain(), experimental_op_resolver_type=kind), ZEROS - 1)[0].tolist() == [0] * 4
    assert seen == []
    for kind in (ours.OpResolverType.BUILTIN_REF, oracle.OpResolverType.BUILTIN_REF):
        assert run(ready(relu_chain(), experimental_op_resolver_type=kind), ZEROS - 1)[0].tolist() == [0] * 4
    assert seen == ["RELU"] * 6


def test_intermediates_can_always_be_read() -> None:
    interpreter = ready(relu_chain(5))
    run(interpreter, floats(-1, 2, 3, 4))
    assert all(interpreter.get_tensor(index).shape == (4,) for index in range(6))


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
    assert repr(interpreter) == "<Interpreter: 3 nodes, 4 tensors, not allocated>"
    interpreter.allocate_tensors()
    assert repr(interpreter) == f"<Interpreter: 3 nodes, 4 tensors, arena {interpreter.arena_bytes} bytes>"
