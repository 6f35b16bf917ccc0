"""String tensors: set and read like LiteRT's; and inputs on which LiteRT crashes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from built import Array, agree, graph_with, litert, ready, run, texts

import minilite
from minilite import InputError, ModelFormatError, StateError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

TEXT = TensorType.STRING
WORDS = [b"one", b"", b"th\0ree\0", "fünf".encode()]


def reshaped(shape: Sequence[int], new: Sequence[int], signature: Sequence[int] | None = None) -> bytes:
    """x -> RESHAPE -> y; outputs y and x."""

    def build(g: Any) -> list[int]:
        x = g.input("x", shape, TEXT, signature=signature)
        return [
            g.node(
                "RESHAPE",
                [x],
                out=("y", new if min(new, default=0) >= 0 else None, TEXT),
                options={"new_shape": list(new)},
            ),
            x,
        ]

    return graph_with(build)


# Written and read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        texts(*WORDS),
        texts("one", "zwölf", "", "x" * 5000),
        np.array([b"one", b"", b"three", b"4"]),
        np.array(["one", "", "drei", "\u00fc"]),
        texts(np.str_("a"), np.bytes_(b"b"), b"c", "d"),
        texts(*WORDS, *WORDS)[::2],
    ],
    ids=["bytes", "str", "S", "U", "numpy's", "strides"],
)
def test_as_litert_has_them(value: Array) -> None:
    y, x = agree(reshaped((4,), (2, 2)), [value])[0]
    assert x.tolist() == [v.encode() if isinstance(v, str) else v for v in value.tolist()]
    assert y.shape == (2, 2)
    assert all(type(v) is bytes for v in y.ravel())


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1), (2, 3)])
def test_shapes(shape: tuple[int, ...]) -> None:
    """For a scalar LiteRT stores the address of the object, and an empty tensor ends its process."""
    count = int(np.prod(shape))
    value = texts(*(f"{i}\0".encode() for i in range(count)), shape=shape)
    y, x = run(ready(reshaped(shape, (count, 1))), value)
    assert (x.shape, x.tolist()) == (shape, value.tolist())
    assert y.ravel().tolist() == value.ravel().tolist()


def test_plain_values_do() -> None:
    i = ready(reshaped((), (1,)))
    for value in (b"nul\0", "nul\0", texts("nul\0", shape=())):
        i.set_tensor(0, value)
        assert i.get_tensor(0).item() == b"nul\0"
    i = ready(reshaped((2,), (2, 1)))
    i.set_tensor(0, [b"nul\0", "x"])
    assert i.get_tensor(0).tolist() == [b"nul\0", b"x"]


def test_scalars_of_bytes_keep_nuls_at_their_end() -> None:
    """Raw bytes come so: numpy itself drops the NULs when it makes an object of one."""
    theirs, ours = litert(reshaped((), (1,))), ready(reshaped((), (1,)))
    for value in (
        np.array(b"ab\0\0"),
        np.array(b"ab", "S4"),
        np.array(b"\0"),
        np.frombuffer(b"\0a\0", "S3").reshape(()),
    ):
        for interpreter in (theirs, ours):
            interpreter.set_tensor(0, value)
            interpreter.invoke()
            assert interpreter.get_tensor(1).tolist() == [value.tobytes()]
    assert ours.get_tensor(0).item() == b"\0a\0"
    assert ours.run(np.array(b"c\0"))["y"].tolist() == [b"c\0"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(2, np.float32), r"^Cannot set tensor: Got value of type FLOAT32 but expected type STRING for input 0, name: x; pass bytes"),
        (texts(b"a", 3), r"^Cannot set tensor: tensor 0 \('x'\) takes strings \(bytes or str\), got an element of type int$"),
        (texts(b"a", None), "got an element of type NoneType$"),
        (texts(b"a", bytearray(b"b")), "got an element of type bytearray$"),
        (texts("\ud800", "a"), "takes strings that UTF-8 can write"),
        (texts(b"a"), r"^Cannot set tensor: Dimension mismatch\. Got 1 but expected 2 for dimension 0 of input 0"),
        (b"ab", r"^Cannot set tensor: Dimension mismatch\. Got 0 but expected 1 for input 0"),
        ([["a"], ["b", "c"]], "got an element of type list$"),
    ],
)  # fmt: skip
def test_values_that_are_not_strings_are_refused(value: Any, message: str) -> None:
    i = ready(reshaped((2,), (2, 1)))
    i.set_tensor(0, texts("kept", "too"))
    with pytest.raises(InputError, match=message):
        i.set_tensor(0, value)
    assert i.get_tensor(0).tolist() == [b"kept", b"too"]
    with pytest.raises(ValueError):  # noqa: PT011 - LiteRT's own texts
        litert(reshaped((2,), (2, 1))).set_tensor(0, value)


def test_inputs_have_empty_strings_at_first_and_outputs_no_value() -> None:
    i = ready(reshaped((3,), (3, 1)))
    assert i.get_tensor(0).tolist() == [b""] * 3
    with pytest.raises(StateError, match=r"^tensor 1 \('y'\) has no value yet: invoke\(\) computes it$"):
        i.get_tensor(1)
    i.invoke()
    assert i.get_tensor(1).tolist() == [[b""]] * 3


def test_a_resized_input_starts_empty_and_a_size_seen_before_too() -> None:
    i = ready(reshaped((2,), (-1, 1), signature=(-1,)))
    run(i, texts("a", "b"))
    for size in (3, 2, 3):
        i.resize_tensor_input(0, (size,))
        i.allocate_tensors()
        assert i.get_tensor(0).tolist() == [b""] * size
        with pytest.raises(StateError, match="no value yet"):
            i.get_tensor(1)
        assert run(i, texts(*["new"] * size))[0].tolist() == [[b"new"]] * size


def test_a_refused_size_leaves_the_strings() -> None:
    i = ready(reshaped((2,), (2, 1), signature=(-1,)))
    i.set_tensor(0, texts("a", "b"))
    i.resize_tensor_input(0, (3,))
    with pytest.raises(minilite.ShapeError):
        i.allocate_tensors()
    assert i.get_tensor(0).tolist() == [b"a", b"b"]
    for shape in ((2**30,), (2**31 - 1, 2**31 - 1), (2**31 - 1, 2**31 - 1, 2**31 - 1)):
        j = ready(graph_with(lambda g: [g.input("x", (2,), TEXT)]))
        j.set_tensor(0, texts("a", "b"))
        j.resize_tensor_input(0, shape)
        with pytest.raises((minilite.ArenaError, minilite.ShapeError)):
            j.allocate_tensors()
        assert j.get_tensor(0).tolist() == [b"a", b"b"]


def test_a_view_is_a_copy() -> None:
    i = ready(reshaped((2,), (2, 1)))
    i.set_tensor(0, texts("a", "b"))
    held, view = i.get_tensor(0), i.tensor(0)()
    i.set_tensor(0, texts("other", "words"))
    i.invoke()
    i.resize_tensor_input(0, (2,))
    i.allocate_tensors()
    i.trim()
    assert view.tolist() == held.tolist() == [b"a", b"b"]
    view[0] = b"mine"
    assert i.tensor(0)().tolist() == [b"other", b"words"]
    del i
    assert view.tolist() == [b"mine", b"b"]


def test_constants_are_strings_too() -> None:
    def build(g: Any) -> list[int]:
        c = g.constant("c", texts(*WORDS))
        return [g.node("RESHAPE", [c], out=("y", (2, 2), TEXT), options={"new_shape": [2, 2]}), c]

    y, c = agree(graph_with(build), [])[0]
    assert c.tolist() == y.ravel().tolist() == WORDS
    early = minilite.Interpreter(model_content=graph_with(build))
    assert early.get_tensor(0).tolist() == WORDS
    early.allocate_tensors()
    assert early.get_tensor(0).tolist() == early.tensor(0)().tolist() == WORDS
    with pytest.raises(InputError, match="is constant"):
        early.set_tensor(0, texts(*WORDS))


def test_a_variable_of_strings() -> None:
    """A variable starts empty, keeps its value from run to run, and is empty again when it is reset or tensors are
    allocated again."""

    def build(g: Any) -> list[int]:
        v, x = g.variable("v", (2,), TEXT), g.input("x", (4,), signature=(-1,))
        y = g.node("RESHAPE", [v], out=("y", (2, 1), TEXT), options={"new_shape": [2, 1]})
        return [y, g.node("RELU", [x], out=("z", None))]

    i, empty, kept = ready(graph_with(build)), [[b""], [b""]], [[b"a"], [b"b"]]

    def value() -> list[list[bytes]]:
        i.invoke()
        found: list[list[bytes]] = i.get_tensor("y").tolist()
        return found

    assert value() == empty
    for size in (5, 4):
        i.set_tensor("v", texts("a", "b"))
        assert [value(), value()] == [kept, kept]
        i.reset_all_variables()
        assert value() == empty
        i.set_tensor("v", texts("a", "b"))
        i.resize_tensor_input("x", (size,))
        i.allocate_tensors()
        assert value() == empty


def test_by_name_and_through_signatures() -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    x = g.input("x", (2,), TEXT, signature=(-1,))
    y = g.node("RESHAPE", [x], out=("y", None, TEXT), options={"new_shape": [-1, 1]})
    g.output(y)
    builder.signature("serve", {"words": x}, {"column": y})
    i = minilite.Interpreter(model_content=builder.build())
    assert i.run(["a\0", "b", "c"])["y"].tolist() == [[b"a\0"], [b"b"], [b"c"]]
    out = np.empty((2, 1), object)
    assert i.run(texts("d", "e"), out={"y": out})["y"] is out
    assert out.tolist() == [[b"d"], [b"e"]]
    assert i.get_signature_runner("serve")(words=["f\0", "g"])["column"].tolist() == [[b"f\0"], [b"g"]]
    with pytest.raises(InputError, match=r"out\['y'\] is of dtype \|S1, must be a writable array of dtype object"):
        i.run(texts("d"), out={"y": np.zeros((1, 1), "S1")})
    with pytest.raises(InputError, match="no array holds elements of type STRING"):
        i.bind_tensor("x", texts("a", "b"))


def test_outputs_that_become_strings_by_their_input() -> None:
    """A gathered tensor has the type of what it is gathered from, whatever the file says."""
    b = ModelBuilder()
    g = b.subgraph()
    x, i = g.input("x", (3,), TEXT), g.input("i", (2,), TensorType.INT32)
    g.output(g.node("GATHER", [x, i], out=("y", (2,))))
    interpreter = ready(b.build())
    interpreter.set_tensor(2, ["a", "b"])
    assert interpreter.get_tensor(2).tolist() == [b"a", b"b"]
    with pytest.raises(InputError, match=r"Got value of type FLOAT32 but expected type STRING .*; pass bytes or str"):
        interpreter.set_tensor(2, np.zeros(2, np.float32))
    assert run(interpreter, texts("a", "b", "c"), np.array([2, 0], np.int32))[0].tolist() == [b"c", b"a"]


# Refused files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([2, 16, 17, 20], "has string 1 from byte 17 to 20 of 19 bytes"),
        ([2, 16, 15, 19], "has string 0 from byte 16 to 15 of 19 bytes"),
        ([2, -4, 17, 19], "has string 0 from byte -4 to 17 of 19 bytes"),
        ([2, 16, 2**31 - 1, 19], "has string 0 from byte 16 to 2147483647 of 19 bytes"),
        ([3, 16, 17, 19], "has 3 strings in 19 bytes, its shape has 2 elements"),
        ([-1, 16, 17, 19], "has -1 strings in 19 bytes, its shape has 2 elements"),
        ([2**31 - 1, 16, 17, 19], "has 2147483647 strings in 19 bytes, its shape has 2 elements"),
        ([2, 16], "has 2 strings in 11 bytes, its shape has 2 elements"),
        ([], "has 0 strings in 3 bytes, its shape has 2 elements"),
    ],
)
def test_string_constants_with_offsets_outside_are_refused(used: bool, words: list[int], message: str) -> None:
    def build(g: Any) -> list[int]:
        data = np.frombuffer(np.array(words, "<i4").tobytes() + b"abc", np.uint8)
        c = g.constant("c", data, TEXT, shape=(2,))
        return [g.node("RESHAPE", [c if used else g.input("x", (2,), TEXT)], out=("y", (2, 1), TEXT),
                       options={"new_shape": [2, 1]})]  # fmt: skip

    with pytest.raises(ModelFormatError, match=rf"^tensor 0 \('c'\), a constant, {message}"):
        ready(graph_with(build))
    with pytest.raises(ModelFormatError, match=r"^tensor 0 \('c'\), a constant: a string tensor of shape"):
        minilite.Interpreter(model_content=graph_with(build)).get_tensor(0)


@pytest.mark.parametrize("shape", [(2**31 - 1,), (2**20, 2**20), (0, 2**31 - 1)])
def test_constants_of_fewer_strings_than_elements(shape: tuple[int, ...]) -> None:
    """However many strings a file states, no memory is taken before they are counted."""
    data = np.frombuffer(np.array([2, 16, 17, 18], "<i4").tobytes() + b"ab", np.uint8)
    interpreter = minilite.Interpreter(model_content=graph_with(lambda g: [g.constant("c", data, TEXT, shape=shape)]))
    tracemalloc.start()
    for read in (interpreter.get_tensor, lambda index: interpreter.tensor(index)()):
        with pytest.raises(ModelFormatError, match=r"has 2 strings in 18 bytes, (must have|its shape has) "):
            read(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_constants_of_strings_apart_and_of_more_bytes_than_they_need() -> None:
    data = np.frombuffer(np.array([2, 20, 21, 22], "<i4").tobytes() + b"----abc--", np.uint8)
    model = graph_with(lambda g: [g.constant("c", data, TEXT, shape=(2,))])
    assert ready(model).get_tensor(0).tolist() == litert(model).get_tensor(0).tolist() == [b"a", b"b"]
