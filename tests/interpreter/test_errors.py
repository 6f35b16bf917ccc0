"""Error classes and the wording of their messages."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from built import custom_chain, floats, ready, relu_chain, run

import minilite
from minilite import errors
from minilite._core import ffi, lib
from minilite._native import raised as seam
from minilite._native import status
from minilite.engine import python_nodes
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.ops_shared.operator import OpNode

SOURCES = pathlib.Path(minilite.__file__).parent
COORDINATES = r"subgraph \d+, node \d+ \(\w+( '[^']*')?\): "


def test_every_status_has_its_class() -> None:
    statuses = {name: getattr(lib, name) for name in ffi.typeof("ml_status").relements}
    assert statuses.pop("ML_OK") == 0
    assert set(seam._CLASSES) == set(statuses.values())
    expected = {
        "ML_SHAPE_ERROR": errors.ShapeError,
        "ML_ARENA_ERROR": errors.ArenaError,
        "ML_KERNEL_ERROR": errors.KernelError,
        "ML_VIEW_HELD": errors.StateError,
        "ML_NOT_READY": errors.StateError,
        "ML_BUSY": errors.StateError,
        "ML_GRAPH_ERROR": errors.ModelFormatError,
    }
    for name, kind in expected.items():
        with pytest.raises(kind, match=r"^why$"):
            status.raise_error(ffi.new("ml_error *", {"status": statuses[name], "node": -1, "text": b"why"}), None)


@pytest.mark.parametrize(
    ("kind", "builtins"),
    [
        (errors.ModelNotFoundError, (FileNotFoundError, ValueError)),
        (errors.ModelFormatError, (ValueError,)),
        (errors.UnsupportedOpError, (RuntimeError, ValueError)),
        (errors.ShapeError, (RuntimeError, ValueError)),
        (errors.InputError, (ValueError,)),
        (errors.StateError, (RuntimeError, ValueError)),
        (errors.ArenaError, (MemoryError,)),
        (errors.KernelError, (RuntimeError,)),
    ],
)
def test_classes_are_builtins_too(kind: type[errors.MiniliteError], builtins: tuple[type[Exception], ...]) -> None:
    assert issubclass(kind, errors.MiniliteError)
    assert issubclass(kind, builtins)
    error = kind("text", subgraph=1, node=2, op="ADD", tensors=["a", "b"], shapes=[(1, 2)])
    assert str(error) == "text"
    assert (error.subgraph, error.node, error.op, error.tensors, error.shapes) == (1, 2, "ADD", ("a", "b"), ((1, 2),))


def unsupported() -> bytes:
    builder = ModelBuilder()
    main, other = builder.subgraph("main"), builder.subgraph("other")
    x = main.input("x", (4,))
    a = main.node("CONCAT_EMBEDDINGS", [x, x], out=("a", (4,)))
    b = main.node("RELU", [a], out=("b", (4,)))
    c = main.node("Strange", [b], out=("c", (4,)), custom=True)
    d = main.node("ADD", [c, c], out=("d", (4,)), version=99)
    main.output(d)
    text = other.input("text", (4,), TensorType.STRING)
    other.output(other.node("RELU", [text], out=("e", (4,))))
    return builder.build()


def test_unsupported_operators_are_listed_at_once() -> None:
    interpreter = minilite.Interpreter(model_content=unsupported())
    assert interpreter.get_input_details()[0]["name"] == "x"
    for _ in range(2):
        with pytest.raises(minilite.UnsupportedOpError) as caught:
            interpreter.allocate_tensors()
        assert str(caught.value).split("\n") == [
            "4 nodes of 4 operators are not supported:",
            "  CONCAT_EMBEDDINGS x1 (subgraph 0, node 0): this operator is not supported",
            "  Strange x1 (subgraph 0, node 2): Encountered unresolved custom op: Strange, custom_ops is empty",
            "  ADD x1 (subgraph 0, node 3): version 99 is not supported, versions 1 to 6 are",
            "  RELU x1 (subgraph 1, node 0): types string -> f32 of x -> y are not supported, f32 -> f32 are",
        ]
        assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, "CONCAT_EMBEDDINGS")
        assert [(found.op, found.nodes) for found in caught.value.operators] == [
            ("CONCAT_EMBEDDINGS", ((0, 0),)),
            ("Strange", ((0, 2),)),
            ("ADD", ((0, 3),)),
            ("RELU", ((1, 0),)),
        ]


def many(kinds: int, each: int, name: str = "Kind") -> bytes:
    """A model with `kinds` custom operators, each in several nodes of two subgraphs."""
    builder = ModelBuilder()
    for graph in (builder.subgraph("main"), builder.subgraph("other")):
        x = graph.input("x", (4,))
        for number in range(kinds * each):
            op = f"{name}{number % kinds}" + "long" * 100 * (name == "Kind")
            graph.output(graph.node(op, [x], out=(f"{number}" + "y" * 300, (4,)), custom=True))
    return builder.build()


def test_the_list_of_unsupported_operators_is_bounded() -> None:
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(many(40, 50))
    lines = str(caught.value).split("\n")
    assert lines[0] == "4000 nodes of 40 operators are not supported:"
    assert lines[-1] == "and 24 more, in the error's `operators`"
    assert len(lines) == 18
    assert max(map(len, lines)) < 280
    assert len(caught.value.operators) == 40
    assert all(len(found.nodes) == 100 for found in caught.value.operators)
    assert "x100 (subgraph 0, nodes 1, 41, 81, ...): Encountered unresolved custom op: Kind1" in lines[2]


@pytest.mark.parametrize("reference", [False, True])
def test_c_and_numpy_fail_with_one_class(reference: bool) -> None:
    """An exception that a numpy reference raises is the cause of the error."""
    resolver = minilite.OpResolverType.BUILTIN_REF if reference else minilite.OpResolverType.AUTO
    integers = TensorType.INT32
    for op, index, text in (("GATHER_ND", 7, "index .*7"), ("FLOOR_MOD", 0, "division by 0")):
        builder = ModelBuilder()
        graph = builder.subgraph()
        x, i = graph.input("x", (3,), integers), graph.input("i", (1,), integers)
        graph.output(graph.node(op, [x, i], out=("y", (3,), integers)))
        interpreter = ready(builder.build(), experimental_op_resolver_type=resolver)
        with pytest.raises(errors.KernelError, match=rf"^subgraph 0, node 0 \({op} 'y'\): .*{text}") as caught:
            run(interpreter, np.arange(3, dtype=np.int32), np.array([index], np.int32))
        assert (caught.value.subgraph, caught.value.node, caught.value.op) == (0, 0, op)
        assert isinstance(caught.value.__cause__, (IndexError, ValueError)) == reference


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        (ZeroDivisionError("a\nb"), errors.KernelError, "ZeroDivisionError: a b"),
        (MemoryError("1 TiB"), errors.ArenaError, "MemoryError: 1 TiB"),
        (ValueError("why"), errors.KernelError, "why"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
)
def test_errors_of_references_name_their_node(raised: BaseException, kind: type[BaseException], text: str) -> None:
    node = OpNode(0, 3, "ADD", 1, (), (), {}, b"")

    def reference(*_: object) -> None:
        raise raised

    with pytest.raises(kind) as caught:
        python_nodes._results(python_nodes.Handler(node, reference, None, custom=False), Any)
    assert str(caught.value) == (f"subgraph 0, node 3 (ADD): {text}" if text else "")


def test_names_keep_to_their_lines() -> None:
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(many(2, 1, "two\nlines"))
    assert len(str(caught.value).split("\n")) == 3
    assert "  two lines0 x2 (" in str(caught.value)


def test_unsupported_nodes_are_named_with_their_subgraph() -> None:
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(many(1, 2))
    assert "x4 (subgraph 0, nodes 0, 1; subgraph 1, node 0, ...): " in str(caught.value)
    assert str(caught.value).startswith("4 nodes of 1 operator are not supported:\n")
    assert caught.value.operators[0].nodes == ((0, 0), (0, 1), (1, 0), (1, 1))


def test_select_tensorflow_operators_come_with_a_hint() -> None:
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(custom_chain("FlexErf"))
    assert str(caught.value) == (
        "Select TensorFlow op(s), included in the given model, is(are) not supported by this interpreter: convert the "
        "model without tf.lite.OpsSet.SELECT_TF_OPS, or give functions in custom_ops: subgraph 0, node 0 (FlexErf 'y')"
    )
    assert caught.value.operators[0].op == "FlexErf"
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(many(2, 1, "Flex"))
    refused = "Select TensorFlow op(s), included in the given model, is(are) not supported by this interpreter"
    assert str(caught.value).split("\n") == [
        "4 nodes of 2 operators are not supported:",
        f"  Flex0 x2 (subgraph 0, node 0; subgraph 1, node 0): {refused}",
        f"  Flex1 x2 (subgraph 0, node 1; subgraph 1, node 1): {refused}",
        "Select TensorFlow op(s): convert the model without tf.lite.OpsSet.SELECT_TF_OPS, or give functions in custom_ops",
    ]
    assert ready(custom_chain("FlexErf"), custom_ops={"FlexErf": lambda node, x: x}).plan is not None


def test_tensors_of_too_many_dimensions_are_listed_too() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,) * 9)
    graph.output(graph.node("Strange", [x], out=("y", (1,)), custom=True))
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(builder.build())
    lines = str(caught.value).split("\n")
    assert lines[0] == "1 node of 1 operator and 1 tensor are not supported:"
    assert lines[2] == "  subgraph 0, tensor 0 ('x'): 9 dimensions, at most 8 are supported"


def test_nodes_refused_by_c_are_all_listed() -> None:
    """Quantization that a kernel's derive refuses: every node, its tensors by name."""
    builder = ModelBuilder()
    graph, one = builder.subgraph(), Quantization((0.5,), (0,))
    x = graph.input("x", (1, 2), TensorType.INT8, quantization=one)
    for name, scales in (("good", (0.5,)), ("bad", ()), ("worse", (0.5, 0.5))):
        kernel = np.ones((2, 2), np.int8)
        w = graph.constant(
            name, kernel, TensorType.INT8, quantization=Quantization(scales, (0,) * len(scales), len(scales) // 2)
        )
        made = (f"{name}_y", (1, 2), TensorType.INT8, one)
        graph.output(graph.node("FULLY_CONNECTED", [x, w], out=made, version=4))
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(builder.build())
    assert str(caught.value).split("\n") == [
        "2 nodes of 1 operator are not supported:",
        "  FULLY_CONNECTED x1 (subgraph 0, node 1): tensor 3 ('bad') has 0 scales for 2 outputs",
        "  FULLY_CONNECTED x1 (subgraph 0, node 2): tensor 5 ('worse') is quantized along dimension 1, it must be 0",
    ]
    assert [found.nodes for found in caught.value.operators] == [((0, 1),), ((0, 2),)]
    assert caught.value.tensors == ("bad",)


def test_one_unsupported_operator_is_named_alone() -> None:
    with pytest.raises(minilite.UnsupportedOpError) as caught:
        ready(custom_chain("Strange"), custom_ops={"Other": lambda node, x: x})
    assert (
        str(caught.value)
        == "Encountered unresolved custom op: Strange, custom_ops has Other: subgraph 0, node 0 (Strange 'y')"
    )


def broken_calls() -> Iterator[Any]:
    """Calls that fail in every class, with what they raise."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = graph.input("a", (2,), signature=(-1,)), graph.input("b", (2,), signature=(-1,))
    graph.output(graph.node("ADD", [a, b], out=("sum", (2,))))
    pair = ready(builder.build())

    def refused(shape: tuple[int, ...]) -> None:
        pair.resize_tensor_input(0, shape)
        pair.allocate_tensors()

    relu = ready(relu_chain())
    yield lambda: refused((3,))
    yield lambda: refused((2**31 - 1, 2**25))
    yield lambda: refused((2**31 - 1,) * 4)
    yield lambda: minilite.Interpreter("/nope.tflite")
    yield lambda: minilite.Interpreter(model_content=b"no model")
    yield lambda: minilite.Interpreter(model_content=relu_chain()[:99])
    yield lambda: ready(unsupported())
    yield lambda: relu.plan_for({"z": (1,)})
    yield lambda: relu.run({})
    yield lambda: ready(custom_chain("C"), custom_ops={"C": lambda node, x: np.zeros(4)}).invoke()
    yield lambda: ready(custom_chain("C"), custom_ops={"C": lambda node, x: (x, x)}).invoke()


@pytest.mark.parametrize("number", range(11))
def test_shape_of_messages(number: int) -> None:
    """One line; coordinates, if any; then lower case; no full stop; the same the second time.

    Several unsupported operators are a list: a line for each, under a first one that ends in a colon.
    """
    call = list(broken_calls())[number]
    texts = []
    for _ in range(2):
        with pytest.raises(minilite.MiniliteError) as caught:
            call()
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    head, *items = texts[0].split("\n")
    if items:
        assert isinstance(caught.value, minilite.UnsupportedOpError)
        assert head.endswith(" are not supported:")
        assert all(re.match(r"  \w+ x\d+ \(subgraph \d+, node \d+\): [^\n]*[^.]$", item) for item in items)
        return
    rest = re.sub(COORDINATES, "", head)
    assert not rest.endswith(".")
    assert rest[:1] == rest[:1].lower() or rest.startswith(("Model", *LITERT_OWN_WORDS))  # a table of the file format
    if caught.value.node is not None:
        assert re.search(COORDINATES, texts[0])


LITERT_OWN_WORDS = (  # first clauses kept from LiteRT
    "`model_path`", "Can't both", "No subgraph", "Invoke called", "Cannot set tensor", "Tensor data is null",
    "There is at least", "Invalid ", "SignatureDef", "Attempting to resize", "BytesRequired", "Shape should",
    "Dimension mismatch", "Got value", "Select TensorFlow", "Unrecognized passed", "Could not open",
    "The model is not", "Encountered unresolved", "None ", "Dimensions must", "Failed to register", "Pass either",
    "Environment is", "TensorBuffer has", "No acceleration", "Signature ", "Unknown ", "The given map", "Unsupported dtype",
    "WriteTensorBuffer:", "ReadTensorToBuffer:",
)  # fmt: skip


def test_messages_in_the_sources_are_worded_alike() -> None:
    """Every literal given to an error class, or to node.refuse, reads as the DESIGN says."""
    checked = 0
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "message":
                text = node.value
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "refuse" and node.args:
                text = node.args[0]
            else:
                continue
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            literals = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if not literals:
                continue
            checked += 1
            words = "".join(literals)
            starts_literal = isinstance(parts[0], ast.Constant)
            where = f"{path.name}:{node.lineno}: {words}"
            assert "\n" not in words, where
            if starts_literal and not words.startswith(LITERT_OWN_WORDS):
                name = re.match(r"[A-Z]\w*\.|LiteRT\b", words)  # a message may begin with a name
                assert name or not re.match(r"[A-Z][a-z]", words), where
            if isinstance(parts[-1], ast.Constant) and not words.startswith(LITERT_OWN_WORDS):
                assert not literals[-1].endswith("."), where
    assert checked > 40


def test_errors_of_c_are_worded_alike() -> None:
    root = pathlib.Path(__file__).resolve().parents[2] / "csrc"
    texts = [
        text
        for path in sorted(root.rglob("*.c"))
        for text in re.findall(r'ml_fail\([^;]*?ML_\w+_?\w*,\s*"((?:[^"\\]|\\.)*)"', path.read_text())
    ]
    assert len(texts) > 40
    for text in texts:
        assert not text.endswith("."), text
        assert "\\n" not in text, text
        assert not re.match(r"[A-Z][a-z]", text), text


def test_floats_of_the_wrong_length_name_both() -> None:
    with pytest.raises(minilite.InputError) as caught:
        ready(relu_chain()).set_tensor(0, floats(1, 2))
    assert caught.value.shapes == ((4,), (2,))


def test_errors_of_nodes_have_their_inputs_and_shapes() -> None:
    """C sets inputs and shapes, while sizes are planned and in a run; also if the name of a tensor is a phrase of a
    message."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, at = graph.input("tensor 1", (4, 2)), graph.input("tensor 0", (1,), TensorType.INT32)
    graph.output(graph.node("GATHER", [x, at], out=("y", (1, 2))))
    interpreter = ready(builder.build())
    interpreter.set_tensor(0, np.ones((4, 2), np.float32))
    interpreter.set_tensor(1, np.array([7], np.int32))
    with pytest.raises(minilite.KernelError) as caught:
        interpreter.invoke()
    error = caught.value
    assert (error.subgraph, error.node, error.op) == (0, 0, "GATHER")
    assert (error.tensors, error.shapes) == (("tensor 1", "tensor 0"), ((4, 2), (1,)))
    interpreter.resize_tensor_input(0, ())
    with pytest.raises(minilite.ShapeError) as refused:
        interpreter.allocate_tensors()
    assert (refused.value.tensors, refused.value.shapes) == (("tensor 1", "tensor 0"), ((), (1,)))


def test_a_tensor_that_is_to_blame_has_its_shape() -> None:
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(0, (1 << 30, 1 << 30, 1 << 30))
    with pytest.raises(minilite.ShapeError, match=r"^input tensor 0 \('x'\) of shape .* has more elements") as caught:
        interpreter.allocate_tensors()
    assert (caught.value.subgraph, caught.value.node, caught.value.tensors) == (0, None, ("x",))
    assert caught.value.shapes == ((1 << 30, 1 << 30, 1 << 30),)


def test_lists_in_messages_have_no_holes() -> None:
    """If a list or a name is empty, the message says so."""
    assert errors.listed([]) == "none"
    assert errors.listed(["a", "", "b\n"]) == "a, '', b"
    builder = ModelBuilder()
    graph = builder.subgraph()
    y = graph.node("ABS", [graph.constant("c", np.ones(2, np.float32))], out=("y", (2,)))
    graph.output(y)
    builder.signature("none", {}, {"y": y})
    runner = minilite.Interpreter(model_content=builder.build()).get_signature_runner("none")
    with pytest.raises(errors.InputError, match=r"takes none$"):
        runner(x=np.ones(2, np.float32))
    with pytest.raises(errors.InputTypeError, match=r"by name: it takes none$"):
        runner(np.ones(2, np.float32))
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2,))
    y = graph.node("ABS", [x], out=("y", (2,)))
    graph.output(y)
    builder.signature("", {"": x}, {"y": y})
    interpreter = minilite.Interpreter(model_content=builder.build())
    with pytest.raises(errors.InputError, match=r"Invalid Input name \(x\) for SignatureDef: takes ''$"):
        interpreter.get_signature_runner("")(x=np.ones(2, np.float32))
    with pytest.raises(errors.InputError, match=r"The model has ''$|there are ''$"):
        interpreter.get_signature_runner("other")


@pytest.mark.parametrize(
    ("op", "advice"),
    [
        ("edgetpu-custom-op", "compiled for a Coral Edge TPU: take the one without _edgetpu"),
        ("ethos-u", "compiled by Vela for an Arm Ethos-U"),
        ("DISPATCH_OP", "compiled for an NPU by LiteRT"),
        ("MTKEXT_CONV_2D", "MediaTek's NeuroPilot"),
        ("XC_conv2d_v2", "for an xcore chip"),
        ("LceBconv2d", "Larq's binary convolution"),
    ],
)
def test_operators_of_vendors_are_explained(op: str, advice: str) -> None:
    with pytest.raises(errors.UnsupportedOpError, match=f"^Encountered unresolved custom op: {op}: .*{advice}"):
        minilite.Interpreter(model_content=custom_chain(op)).allocate_tensors()
