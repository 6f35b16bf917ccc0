"""Built models read back equal; parts that the format does not have are refused."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from minilite.format._model_tree import model_tree
from minilite.format._writer import write_tree
from minilite.format.builder import ModelBuilder, with_metadata, write_model
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.format.reader import load_model, read_model

if TYPE_CHECKING:
    from minilite.format.model import Model

MODELS = pathlib.Path(__file__).resolve().parents[2] / "../shared/models"
CSR = {
    "traversal_order": (0, 1),
    "block_map": (),
    "dim_metadata": (
        {"format": "DENSE", "dense_size": 2, "array_segments_type": "NONE", "array_segments": None,
         "array_indices_type": "NONE", "array_indices": None},
        {"format": "SPARSE_CSR", "dense_size": 0, "array_segments_type": "Int32Vector",
         "array_segments": {"values": (0, 1, 3)}, "array_indices_type": "Uint8Vector",
         "array_indices": {"values": (2, 0, 3)}},
    ),
}  # fmt: skip


def same(a: Any, b: Any) -> bool:
    """Equality of models, arrays included, NaN equal to itself."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, Sequence) and not isinstance(a, str | bytes):  # a read model's are views of rows
        alike = type(a) is type(b) or (isinstance(b, Sequence) and not hasattr(a, "_fields"))
        return alike and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return type(a) is type(b) and bool(a == b)


def everything() -> ModelBuilder:
    """A model with one of each thing that the format can say."""
    b = ModelBuilder(description="one of each, ünïcode")
    g = b.subgraph("main")
    x = g.input("x", (1, 4), signature=(-1, 4))
    w = g.constant("w", np.arange(8, dtype=np.int8).reshape(2, 4), quantization=Quantization((0.5, 0.25), (3, -4), 0))
    bias = g.constant("bias", [1.0, 2.0])
    state = g.variable("state", (1, 2))
    options = {"fused_activation_function": "RELU6", "keep_num_dims": True}
    y = g.node("FULLY_CONNECTED", [x, w, bias], out=("y", (1, 2)), options=options, version=4)
    lo, hi = g.node(
        "SPLIT",
        [g.constant("axis", np.array(1, np.int32)), y],
        out=[("lo", (1, 1), TensorType.FLOAT32), ("hi", None, TensorType.INT8, Quantization((0.125,), (-3,)))],
        options={"num_splits": 2},
    )
    z = g.tensor("z", (1,), TensorType.INT64)
    g.node("MyOp", [lo, hi, -1, state], [z], custom=True, custom_options=b"\x01\x02\x03", version=2)
    g.node("RESHAPE", [z], out=("r", (1, 1), TensorType.INT64), options={"new_shape": [1, 1]})
    g.node("WHILE", [x], out=("loop", (1, 4)), options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
    composite = {"name": "odml.norm", "decomposition_subgraph_index": 1, "composite_attributes": b"\x04\x00"}
    g.node("STABLEHLO_COMPOSITE", [x], out=("c", ()), options=composite)
    g.node("LSTM", [x], [g.tensor("o", (1,))], intermediates=[w, -1], options={"kernel_type": "BASIC"})
    g.node("BUILTIN_999", [x], out=("new", (1,)))
    g.constant("strings", ["a", "", "ünï"])
    g.constant("nibbles", np.array([[-8, 7, 3]], np.int8), TensorType.INT4)
    g.constant("brain", np.array([1, 2], np.uint16), TensorType.BFLOAT16)
    g.constant("sparse", np.array([1.0, 2.0, 3.0], np.float32), shape=(2, 4), sparsity=CSR)
    g.constant("empty", np.zeros((0, 3), np.float32))
    scales = g.constant("scales", np.ones((2, 2), np.float16))
    blocks = Quantization((), (), 0, 2, scales, -1)
    g.constant("blocks", np.zeros((2, 4), np.int8), TensorType.INT4, quantization=blocks)
    for kind in (np.bool_, np.complex64, np.float64, np.uint16, np.int64, np.complex128):
        g.constant(np.dtype(kind).name, np.array([[1, 0, 1]], kind))
    g.tensor("handle", (), TensorType.RESOURCE)
    g.output(y, z)
    for name in ("cond", "body"):
        h = b.subgraph(name)
        h.output(h.node("LOGICAL_NOT", [h.input("i", (1, 4), TensorType.BOOL)], out=("o", (1, 4), TensorType.BOOL)))
        b.signature(name, {"i": 0}, {"o": 1}, h)
    b.signature("serving_default", inputs={"x": x}, outputs={"y": y, "z": z}, subgraph=0)
    b.metadata("min_runtime_version", b"1.14.0\0\0")
    b.metadata("nothing", b"")
    return b


@pytest.mark.parametrize("external", [False, True])
def test_round_trip_of_everything(external: bool) -> None:
    builder = everything()
    model = read_model(builder.build(external_buffers=external))
    assert same(model, builder.model())
    assert same(read_model(write_model(model, external_buffers=external)), model)
    assert same(read_model(ModelBuilder.from_model(model).build()), model)


def test_same_can_tell_models_apart() -> None:
    model = everything().model()
    first = model.subgraphs[0]
    for tensor in first.tensors:
        other = tensor._replace(data=np.zeros(1) if tensor.data is None else None)
        changed = first._replace(tensors=(*first.tensors[: tensor.index], other, *first.tensors[tensor.index + 1 :]))
        assert not same(model, model._replace(subgraphs=(changed, *model.subgraphs[1:]))), tensor.name


def test_reader_returns_what_the_builder_wrote() -> None:
    """Compares with literals, so that builder and reader cannot both be wrong in the same way."""
    model = read_model(everything().build())
    assert model.description == "one of each, ünïcode"
    assert [graph.name for graph in model.subgraphs] == ["main", "cond", "body"]
    main = model.subgraphs[0]
    tensors = {tensor.name: tensor for tensor in main.tensors}
    x, w = tensors["x"], tensors["w"]
    assert (x.shape, x.shape_signature, x.type, x.data, x.has_rank) == ((1, 4), (-1, 4), TensorType.FLOAT32, None, True)
    assert w.type == TensorType.INT8
    assert w.data is not None
    assert w.data.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert w.quantization == Quantization((0.5, 0.25), (3, -4), 0)
    assert tensors["state"].is_variable
    assert (tensors["hi"].shape, tensors["hi"].has_rank, tensors["hi"].quantization.zero_point) == ((), False, -3)
    assert (tensors["c"].shape, tensors["c"].has_rank) == ((), True)
    assert main.inputs == (x.index,)
    assert main.outputs == (tensors["y"].index, tensors["z"].index)
    full, split, custom, reshape, loop, composite, lstm, newer = main.nodes
    assert (full.op, full.version, full.inputs, full.outputs) == ("FULLY_CONNECTED", 4, (0, 1, 2), (4,))
    assert full.options == {
        "fused_activation_function": "RELU6", "weights_format": "DEFAULT", "keep_num_dims": True,
        "asymmetric_quantize_inputs": False, "quantized_bias_type": "FLOAT32", "quant_spec": b"",
    }  # fmt: skip
    assert split.options == {"num_splits": 2}
    assert (custom.op, custom.custom, custom.custom_options, custom.version) == ("MyOp", True, b"\x01\x02\x03", 2)
    assert custom.inputs[2] == -1
    assert custom.options == {}
    assert reshape.options == {"new_shape": (1, 1)}
    assert loop.options == {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    assert composite.options["composite_attributes"] == b"\x04\x00"
    assert composite.options["name"] == "odml.norm"
    assert lstm.intermediates == (1, -1)
    assert (newer.op, newer.custom, newer.options) == ("BUILTIN_999", False, {})
    packed = tensors["nibbles"].data
    assert packed is not None
    assert packed.tolist() == [0x78, 0x03]
    assert tensors["nibbles"].shape == (1, 3)
    strings = tensors["strings"].data
    assert strings is not None
    assert strings.tobytes() == np.array([3, 20, 21, 21, 26], "<i4").tobytes() + "aünï".encode()
    assert tensors["sparse"].sparsity == CSR
    assert tensors["empty"].data is not None
    assert tensors["empty"].data.shape == (0, 3)
    assert tensors["blocks"].quantization.scales_tensor == tensors["scales"].index
    assert model.signatures[-1] == ("serving_default", {"x": 0}, {"y": 4, "z": tensors["z"].index}, 0, "")
    assert model.signatures[0].subgraph == 1
    assert model.metadata == {"min_runtime_version": b"1.14.0\0\0", "nothing": b""}


def test_constants_are_aligned() -> None:
    for external in (False, True):
        data = everything().build(external_buffers=external)
        address = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
        for tensor in read_model(data).subgraphs[0].tensors:
            if tensor.data is not None and tensor.data.size:
                start = tensor.data.__array_interface__["data"][0] - address
                assert not 0 <= start < len(data) or start % 16 == 0, tensor.name


def test_external_buffers_leave_the_flatbuffer() -> None:
    b = ModelBuilder()
    b.subgraph().constant("w", np.full(10_000, 7, np.uint8))
    inside, outside = b.build(), b.build(external_buffers=True)
    assert inside.find(bytes([7]) * 10_000) < len(inside) - 10_000
    assert outside.endswith(bytes([7]) * 10_000)
    assert len(outside) - outside.find(bytes([7]) * 10_000) == 10_000


def test_constants_on_the_same_bytes_share_a_buffer() -> None:
    b = ModelBuilder()
    weights = np.ones(50_000, np.float32)
    g = b.subgraph()
    g.constant("a", weights)
    model = b.model()
    twice = model.subgraphs[0]._replace(tensors=(model.subgraphs[0].tensors[0],) * 2)
    assert len(write_model(model._replace(subgraphs=(twice,)))) < 1.1 * weights.nbytes


def test_types_of_python_numbers() -> None:
    g = ModelBuilder().subgraph()
    for values in (1, [1, 2], 1.5, [[1.5]], True, np.float64(1.5), "text", [b"x"], np.int64([3])):
        g.constant("c", values)  # type: ignore[arg-type]
    kinds = [tensor.type.name for tensor in g.subgraph().tensors]
    assert kinds == ["INT32", "INT32", "FLOAT32", "FLOAT32", "BOOL", "FLOAT64", "STRING", "STRING", "INT64"]


@pytest.mark.parametrize(
    ("op", "options", "complaint"),
    [
        ("CONV2D", {}, "'CONV2D' is not a builtin operator, near it are .*CONV_2D"),
        ("CONV_2D", {"stride": 1}, "CONV_2D: Conv2DOptions has no 'stride'; it has padding, stride_w"),
        ("CONV_2D", {"padding": "same"}, "CONV_2D: padding is 'same', expected one of SAME, VALID"),
        ("RELU", {"alpha": 1.0}, "RELU has no options, got 'alpha'"),
    ],
)
def test_unknown_names_are_refused(op: str, options: dict[str, Any], complaint: str) -> None:
    g = ModelBuilder().subgraph()
    with pytest.raises(ValueError, match=complaint):
        g.node(op, [], [], options=options)


def test_an_option_without_a_value_has_the_default_of_the_file() -> None:
    b = ModelBuilder()
    b.subgraph().node("SOFTMAX", [], [], options={"beta": None})
    assert read_model(b.build()).subgraphs[0].nodes[0].options == {"beta": 0.0}


def test_arrays_that_no_type_holds_are_refused() -> None:
    g = ModelBuilder().subgraph()
    with pytest.raises(ValueError, match="no element type holds datetime64"):
        g.constant("t", np.zeros(1, "M8[s]"))
    with pytest.raises(ValueError, match="float32 values do not make a constant of BFLOAT16"):
        g.constant("t", np.zeros(1, np.float32), TensorType.BFLOAT16)


def test_node_answers_with_its_outputs() -> None:
    g = ModelBuilder().subgraph()
    x = g.input("x", (2,))
    assert g.node("ABS", [x], out=("y", (2,))) == 1
    assert g.node("ABS", [x], out=[("z", (2,))]) == (2,)
    assert g.node("ABS", [x], [1]) == 1
    assert g.node("SPLIT", [x], [1, 2]) == (1, 2)
    assert g.node("ASSIGN_VARIABLE", [x]) == ()


def test_with_metadata_keeps_the_rest() -> None:
    """Keeps also the parts of a file that a Model does not hold: minima and maxima, mutating inputs, custom schemes,
    older metadata."""
    tree = model_tree(everything().model())
    tensor, node = tree["subgraphs"][0]["tensors"][0], tree["subgraphs"][0]["operators"][2]
    tensor["quantization"] = {
        "min": (-1.0,), "max": (1.0,), "details_type": "CustomQuantization", "details": {"custom": b"own"},
    }  # fmt: skip
    tensor["variant_tensors"] = ({"shape": (2,), "type": "INT8", "has_rank": True},)
    node["mutating_variable_inputs"] = (False, True)
    tree["metadata_buffer"] = (1,)
    for external in (False, True):
        before = write_tree(tree, external)
        after = with_metadata(before, "mine", b"payload")
        model, expected = read_model(after), read_model(before)
        assert same(model, expected._replace(metadata={**expected.metadata, "mine": b"payload"}))
        for kept in (b"own", np.float32([-1.0]).tobytes()):
            assert kept in after
        once_more = with_metadata(after, "mine", b"other")
        assert read_model(once_more).metadata["mine"] == b"other"
        assert len(read_model(once_more).metadata) == len(model.metadata)
        assert (after.find(b"\x01\x02\x03") > after.find(b"one of each")) or not external


def test_with_metadata_refuses_what_is_no_model() -> None:
    with pytest.raises(ValueError, match="file identifier"):
        with_metadata(b"\x08\0\0\0TFL2" + bytes(100), "mine", b"")


def real_models() -> list[pathlib.Path]:
    return sorted(MODELS.glob("*.tflite"))


@pytest.mark.skipif(not real_models(), reason="the real models are not here")
def test_round_trip_of_real_models() -> None:
    for path in real_models():
        model = load_model(path)
        assert same(read_model(write_model(model)), model), path.name


@pytest.mark.skipif(not real_models(), reason="the real models are not here")
def test_with_metadata_on_real_models() -> None:
    for path in real_models()[::6]:
        model = read_model(with_metadata(path.read_bytes(), "mine", b"payload"))
        expected = load_model(path)
        assert same(model, expected._replace(metadata={**expected.metadata, "mine": b"payload"})), path.name


def test_litert_reads_what_is_built() -> None:
    """LiteRT runs a built file and gives the right result."""
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    b = ModelBuilder()
    g = b.subgraph()
    x = g.input("x", (1, 3), signature=(-1, 3))
    w = g.constant("w", np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    y = g.node("FULLY_CONNECTED", [x, w, -1], out=("y", (1, 2)), options={"fused_activation_function": "RELU"})
    g.output(y)
    b.signature("serving_default", {"x": x}, {"y": y})
    for external in (False, True):
        runner = litert.Interpreter(model_content=b.build(external)).get_signature_runner("serving_default")
        assert runner(x=np.array([[1, 1, -1]], np.float32))["y"].tolist() == [[0, 3]]


def test_model_is_not_shared_with_the_builder() -> None:
    b = ModelBuilder()
    b.metadata("a", b"1")
    model: Model = b.model()
    b.metadata("b", b"2")
    assert list(model.metadata) == ["a"]
