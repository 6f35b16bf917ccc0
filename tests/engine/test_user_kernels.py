"""Kernels compiled by the user (user_kernels.c), given by the addresses of their rows: every part of the contract."""

from __future__ import annotations

import ctypes
import gc
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from built import COUNTER, below, count_since, floats, graph_with, loop, next_count, ready, resized, run, texts

import minilite
from minilite import InputError, KernelError, ShapeError, UnsupportedOpError
from minilite._native.state import debug_build
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

SOURCE = pathlib.Path(__file__).with_name("user_kernels.c")
COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

Address = Callable[[str], int]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Address:
    """The addresses of the rows in the compiled file, by name."""
    library = tmp_path_factory.mktemp("kernels") / "user_kernels.so"
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    include = f"-I{minilite.get_include()}"
    subprocess.run([str(COMPILER), *flags, "-Wl,-z,defs", include, "-o", str(library), str(SOURCE)], check=True)
    loaded = ctypes.CDLL(str(library))
    return lambda name: ctypes.addressof(ctypes.c_char.in_dll(loaded, name))


def one(inputs: list[Any], outs: list[Any], custom_options: bytes = b"") -> bytes:
    """A model of the custom operator Mine alone; inputs are (shape, type, ...) or arrays, which become constants."""

    def build(g: Any) -> Any:
        made = [
            g.constant(f"c{i}", given) if isinstance(given, np.ndarray) else g.input(f"x{i}", *given[:2], **dict(given[2:]))
            for i, given in enumerate(inputs)
        ]  # fmt: skip
        out = [(f"y{i}", *out) for i, out in enumerate(outs)]
        return g.node("Mine", made, out=out, custom=True, custom_options=custom_options)

    return graph_with(build)


F32, S32, S8 = TensorType.FLOAT32, TensorType.INT32, TensorType.INT8
VECTOR = ((4,), F32, ("signature", (-1,)))


def mine(model: bytes, row: int, params: Any = None, **options: Any) -> minilite.Interpreter:
    return ready(model, custom_ops={"Mine": minilite.kernel(row, params)}, **options)


# Fields of a row ------------------------------------------------------------------------------------------------------


def test_headers_are_all_that_a_kernel_includes() -> None:
    folder = pathlib.Path(minilite.get_include())
    assert (folder / "kernel.h").exists()
    sources = [path.read_text().partition("#if __has_include")[0] for path in folder.rglob("*.h")]
    included = {line.split('"')[1] for text in sources for line in text.splitlines() if line.startswith('#include "')}
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.h")} == {"kernel.h", *included}


@pytest.mark.skipif(not debug_build(), reason="debug builds look for this")
@pytest.mark.parametrize(("in_scratch", "where"), [(0, "the end of output 0"), (1, "its scratch")])
def test_a_write_after_a_kernel_s_memory_is_detected(address: Address, in_scratch: int, where: str) -> None:
    interpreter = mine(one([VECTOR], [((4,), F32)]), address("my_overrun"), {"in_scratch": in_scratch})
    with pytest.raises(KernelError, match=f"byte 0 after {where} was written"):
        interpreter.invoke()


@pytest.mark.parametrize("threads", [1, 3])
def test_parallel_and_sizes(address: Address, threads: int) -> None:
    i = mine(one([VECTOR], [((4,), F32)]), address("my_relu"), {"minimum": 0.5}, num_threads=threads)
    for size in (4, 1000, 0, 4):
        resized(i, size)
        x = np.random.default_rng(size).normal(size=size).astype(np.float32)
        assert run(i, x)[0].tolist() == np.maximum(x, np.float32(0.5)).tolist()
    resized(i, 1000)
    x = np.full(1000, 1, np.float32)
    x[[500, 900]] = 13
    with pytest.raises(
        KernelError, match=r"^subgraph 0, node 0 \(Mine 'y0'\): element 500 is 13, which brings bad luck$"
    ):
        run(i, x)


def test_signals_are_heard_between_blocks_of_any_length(address: Address) -> None:
    """A signal is handled after 50 ms, which are ten blocks, whatever holds up the process: the clock is read between
    any two blocks."""
    interpreter = mine(one([VECTOR], [((4,), F32)]), address("my_slow"))
    resized(interpreter, 1000)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interpreter.invoke()
    finally:
        signal.signal(signal.SIGINT, before)
    assert 1 <= interpreter.get_tensor(1).sum() <= 12


def test_a_run_calls_no_python(address: Address) -> None:
    def calls(interpreter: minilite.Interpreter) -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []

        def note(frame: Any, event: str, argument: Any) -> None:
            seen.append((event, getattr(argument, "__name__", None) or frame.f_code.co_name))

        interpreter.invoke()
        gc.disable()  # whose finalizers would be noted
        sys.setprofile(note)
        interpreter.invoke()
        sys.setprofile(None)
        gc.enable()
        return seen

    built_in = ready(graph_with(lambda g: [g.node("RELU", [g.input("x", (4,))], out=("y", (4,)))]))
    ours = mine(one([VECTOR], [((4,), F32)]), address("my_relu"), {"minimum": 0})
    assert calls(ours) == calls(built_in)
    assert [name for event, name in calls(ours) if event == "c_call"].count("ml_state_run") <= 1


def test_derived_from_quantization(address: Address) -> None:
    of_input, of_output = Quantization((0.5,), (3,)), Quantization((0.25,), (-7,))
    x = np.arange(-128, 128).astype(np.int8)
    real = 2 * 0.5 * (x.astype(float) - 3)
    wanted = np.clip(np.round(real / 0.25 - 7), -128, 127).astype(np.int8)
    given = ((256,), S8, ("quantization", of_input))
    for row in ("my_double", "my_double_at_once"):
        i = mine(one([given], [((256,), S8, of_output)]), address(row))
        assert run(i, x)[0].tolist() == wanted.tolist()
    with pytest.raises(UnsupportedOpError, match=r"node 0 \(Mine 'y0'\): input and output must be quantized"):
        mine(one([given[:2]], [((256,), S8)]), address("my_double"))


def test_folded_values_know_their_quantization(address: Address) -> None:
    """If the constant is small enough, the kernel runs while planning, where its operands have other numbers."""

    def build(g: Any) -> list[int]:
        for k in range(3):  # so that numbers differ
            g.constant(f"unused{k}", np.zeros(1, np.int8), quantization=Quantization((99.0,), (1,)))
        x = g.constant("x", np.array([3, 4, 5], np.int8), quantization=Quantization((0.5,), (3,)))
        return [g.node("Mine", [x], out=("y", (3,), S8, Quantization((0.25,), (-7,))), custom=True)]

    i = mine(graph_with(build), address("my_double_at_once"))
    assert i.plan is not None
    assert i.plan.tensor(i.get_output_details()[0]["index"]).storage == "folded"
    assert run(i)[0].tolist() == [-7, -3, 1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("constant", [True, False])
def test_packed_weights_and_both_kinds_of_scratch(address: Address, constant: bool, threads: int) -> None:
    rng = np.random.default_rng(1)
    w = rng.integers(-4, 5, (3, 2)).astype(np.float32)
    x_in, w_in = ((5, 3), F32, ("signature", (-1, 3))), ((3, 2), F32)
    model = one([x_in, w if constant else w_in], [((5, 2), F32)])
    i = mine(model, address("my_product"), num_threads=threads)
    for rows in (5, 300, 1):
        i.resize_tensor_input(0, (rows, 3))
        i.allocate_tensors()
        x = rng.integers(-4, 5, (rows, 3)).astype(np.float32)
        y = x @ w
        assert run(i, *([x] if constant else [x, w]))[0].tolist() == (y - y.sum(1, keepdims=True)).tolist()
    i.resize_tensor_input(0, (5, 4))
    with pytest.raises(ShapeError, match=r"^subgraph 0, node 0 \(Mine 'y0'\): \(5, 4\) times \(3, 2\), both f32$"):
        i.allocate_tensors()


def test_an_input_that_is_not_there_is_not_packed(address: Address) -> None:
    assert run(mine(one([floats(1, 2, 3)], [((3,), F32)]), address("my_unpacked")))[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("constant", [True, False])
def test_absent_inputs_have_no_bytes(address: Address, constant: bool) -> None:
    """While planning and in a run."""

    def build(g: Any) -> list[int]:
        x = g.constant("x", floats(1)) if constant else g.input("x", (1,))
        return [g.node("Mine", [x, more], out=(f"y{more}", (1,)), custom=True) for more in (-1, x)]

    i = mine(graph_with(build), address("my_in_bytes"))
    assert i.plan is not None
    assert i.plan.tensor(i.get_output_details()[0]["index"]).storage == ("folded" if constant else "arena")
    assert [y.tolist() for y in run(i, *([] if constant else [floats(1)]))] == [[0], [4]]


def test_a_table_refuses_damaged_strings_of_a_kernel(address: Address) -> None:
    def build(g: Any) -> list[int]:
        numbers = g.input("x", (2,), TensorType.INT64)
        keys = g.node("Mine", [numbers], out=("keys", (2,), TensorType.STRING), custom=True)
        options = {"table_id": 0, "key_dtype": "STRING", "value_dtype": "INT64"}
        table = g.node("HASHTABLE", [], out=("table", (1,), TensorType.RESOURCE), options=options)
        g.node("HASHTABLE_IMPORT", [table, keys, numbers])
        return [g.node("HASHTABLE_SIZE", [table], out=("size", (1,), TensorType.INT64))]

    i = mine(graph_with(build), address("my_wrong_strings"))
    with pytest.raises(KernelError, match="string 0 goes from byte 99 to 16 of a tensor of 16 bytes"):
        run(i, np.array([1, 2], np.int64))


def test_shapes_that_stay_open_are_refused(address: Address) -> None:
    i = mine(one([VECTOR], [(None, F32)]), address("my_open"))
    with pytest.raises(KernelError, match=r"node 0 \(Mine 'y0'\): its output shapes do not follow from its values"):
        run(i, floats(1, 2, 3, 4))


def test_outputs_whose_shape_hangs_on_values(address: Address) -> None:
    def build(g: Any) -> list[int]:
        y = g.node("Mine", [g.input("x", (4,))], out=("y", None), custom=True)
        return [g.node("RELU6", [y], out=("z", None))]

    i = mine(graph_with(build), address("my_positive"))
    for x in (floats(1, -2, 3, 9), floats(-1, -1, -1, -1), floats(1, 2, 3, 4)):
        assert run(i, x)[0].tolist() == np.minimum(x[x > 0], 6).tolist()
    i = mine(one([VECTOR, ((), S32)], [(None, F32), (None, F32)]), address("my_split"))
    for at in (1, 4, 0):
        first, second = run(i, floats(1, 2, 3, 4), np.array(at, np.int32))
        assert (first.tolist(), second.tolist()) == ([1, 2, 3, 4][:at], [1, 2, 3, 4][at:])
    with pytest.raises(KernelError, match=r"node 0 \(Mine 'y0'\): split at 5 of 4 elements"):
        run(i, floats(1, 2, 3, 4), np.array(5, np.int32))


def test_strings(address: Address) -> None:
    i = mine(one([((3,), TensorType.STRING)], [((3,), TensorType.STRING)]), address("my_backwards"))
    assert run(i, texts("abc", "", "de\0"))[0].tolist() == [b"cba", b"", b"\0ed"]


# Memory of a node -----------------------------------------------------------------------------------------------------


def test_memory_lasts_until_it_is_reset(address: Address) -> None:
    def build(g: Any) -> list[int]:
        x = g.input("x", (4,), signature=(-1,))
        return [g.node("Mine", [x], out=(f"y{k}", (), S32), custom=True) for k in range(2)]

    i = mine(graph_with(build), address("my_count"))
    other = i.clone()
    other.allocate_tensors()

    def counted(interpreter: minilite.Interpreter) -> list[int]:
        interpreter.invoke()
        return [int(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]

    assert [counted(i) for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    assert counted(other) == [1, 1]
    i.allocate_tensors()  # nothing changes
    assert counted(i) == [4, 4]
    i.reset_all_variables()
    assert counted(i) == [1, 1]
    resized(i, 5)
    assert counted(i) == [1, 1]
    resized(i, 4)
    assert [counted(i), counted(i)] == [[1, 1], [2, 2]]


def test_memory_of_a_node_in_a_loop(address: Address) -> None:
    def body(g: Any, carries: list[int]) -> list[int]:
        return [next_count(g, carries[0]), g.node("Mine", [carries[1]], out=("n", (), S32), custom=True)]

    i = mine(loop([COUNTER, ("n", (), S32)], below(3), body), address("my_count"))
    zero = np.array(0, np.int32)
    assert [int(run(i, zero, zero)[1]) for _ in range(2)] == [3, 6]


# Parameters -----------------------------------------------------------------------------------------------------------


def test_parameters_of_every_kind(address: Address) -> None:
    params = {"a": -5, "b": 0.1, "c": b"\1\0\3\0", "d": 0.5, "e": 2**40}
    i = mine(one([VECTOR], [(None, TensorType.FLOAT64)]), address("my_all"), params)
    assert run(i, floats(0, 0, 0, 0))[0].tolist() == [-5, 0.1, 0.5, 2.0**40, 1, 0, 3, 0]


def test_parameters_from_custom_options(address: Address) -> None:
    """A function of the node is asked once, when the model is lowered; clones share what it gave."""
    requested: list[str] = []

    def params(node: Any) -> dict[str, Any]:
        requested.append(node.outputs[0].name)
        return {"minimum": struct.unpack("<f", node.custom_options)[0]}

    i = mine(one([VECTOR], [((4,), F32)], struct.pack("<f", 2.5)), address("my_relu"), params)
    other = i.clone()
    other.allocate_tensors()
    for interpreter in (i, other):
        assert run(interpreter, floats(1, 2, 3, 4))[0].tolist() == [2.5, 2.5, 3, 4]
    assert requested == ["y0"]


def test_an_exception_of_the_function_comes_through(address: Address) -> None:
    def params(node: Any) -> dict[str, Any]:
        return {"minimum": node.custom_options[7]}

    with pytest.raises(IndexError):
        mine(one([VECTOR], [((4,), F32)]), address("my_relu"), params)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (None, "kernel 'my_relu' takes the parameters minimum, got none"),
        ({"maximum": 1}, "kernel 'my_relu' takes the parameters minimum, got maximum"),
        ({"minimum": 1, "maximum": 2}, "takes the parameters minimum, got minimum, maximum"),
        ({"minimum": "low"}, "parameter 'minimum' is 'low', must be a float32"),
        ({"minimum": 1e300}, r"parameter 'minimum' is 1e\+300, must be a float32"),
        (lambda node: 3, "the parameters came as int, must be a mapping by name"),
    ],
)
def test_parameters_that_do_not_fit(address: Address, params: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^custom_ops\['Mine'\]: .*{message}"):
        mine(one([VECTOR], [((4,), F32)]), address("my_relu"), params)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("a", 2**31, "parameter 'a' is 2147483648, must be an int32"),
        ("a", 1.5, "parameter 'a' is 1.5, must be an int32"),
        ("e", 2**63, "must be an int64"),
        ("c", "text", "parameter 'c' is of type str, must be bytes or an array of numbers"),
        ("c", [object()], "parameter 'c' is of type list, must be bytes"),
    ],
)
def test_values_that_do_not_fit(address: Address, field: str, value: Any, message: str) -> None:
    params = {"a": 1, "b": 1, "c": b"", "d": 1, "e": 1, field: value}
    with pytest.raises(InputError, match=message):
        mine(one([VECTOR], [(None, TensorType.FLOAT64)]), address("my_all"), params)


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("of_another_abi", "^the kernel was compiled for version 11 of kernel.h, this is version 10$"),
        ("without_table", "^kernel 'without_table' lacks a name, prepare or its table of types$"),
        ("of_no_memory", "^kernel 'of_no_memory' has impossible counts: .*memory of -1 bytes"),
        ("of_misplaced_fields", "^kernel 'of_misplaced_fields' has the field 'a' at byte 4 of its 8 of parameters"),
        ("without_prepare", "^kernel 'without_prepare' lacks a name, prepare or its table of types$"),
        ("without_name", "^kernel '' lacks a name, prepare or its table of types$"),
        ("of_no_params", "has impossible counts: 0 fields in -1 bytes of parameters"),
        ("of_no_blob", "has impossible counts: .* a blob of -1"),
        ("of_no_packs", "has impossible counts: .* packs input -1"),
        ("of_no_effects", "^kernel 'of_no_effects' writes inputs: declare ML_KERNEL_HAS_EFFECTS$"),
        ("of_less_fields", "has impossible counts: -1 fields in"),
        ("without_fields", "has impossible counts: 1 fields in"),
        ("of_unnamed_fields", "has the field '' at byte 0 of its 8 of parameters"),
        ("of_fields_of_no_kind", "has the field 'a' at byte 0 of its 16 of parameters"),
        ("of_wide_fields", "has the field 'a' at byte 0 of its 7 of parameters"),
    ],
)
def test_rows_that_are_refused(address: Address, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        minilite.kernel(address(row))


def test_wrong_addresses_and_parameters_of_kernels_are_refused(address: Address) -> None:
    with pytest.raises(InputError, match=r"^there is no kernel at address 0$"):
        minilite.kernel(0)
    for place in (-1, 3, address("my_relu") + 1, 2**64):
        with pytest.raises(
            InputError, match=rf"^{place} is not the address of a kernel row: ctypes.addressof\(row\) gives it$"
        ):
            minilite.kernel(place)
    with pytest.raises(TypeError, match=r"^a kernel's address is of type str, must be a number: ctypes.addressof"):
        minilite.kernel("my_relu")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^params is of type list, must map"):
        minilite.kernel(address("my_relu"), [1])  # type: ignore[arg-type]


def test_types_that_its_table_lacks(address: Address) -> None:
    message = r"subgraph 0, node 0 \(Mine 'y0'\): types s32 -> f32 are not what its kernel takes, f32 -> f32"
    with pytest.raises(UnsupportedOpError, match=message):
        mine(one([((4,), S32)], [((4,), F32)]), address("my_relu"), {"minimum": 0})
    with pytest.raises(UnsupportedOpError, match="types f32 f32 -> f32 are not"):
        mine(one([VECTOR, VECTOR], [((4,), F32)]), address("my_relu"), {"minimum": 0})


@pytest.mark.parametrize(
    ("inputs", "output", "taken"),
    [
        ("FLOAT32", "FLOAT64", True), ("UINT32", "INT32", True), ("INT32 COMPLEX128", "FLOAT32", True),
        ("INT16", "STRING", True), ("BFLOAT16", "FLOAT64", True), ("INT8 INT8", "INT8", True), ("BOOL BOOL", "BOOL", True),
        ("FLOAT64", "FLOAT32", False), ("FLOAT32", "INT64", False), ("FLOAT32 COMPLEX64", "FLOAT32", False),
        ("INT8 INT8", "BOOL", False), ("INT8 BOOL", "INT8", False), ("INT8", "INT8", False), ("STRING", "STRING", False),
    ],
)  # fmt: skip
def test_types_by_size_and_by_list(address: Address, inputs: str, output: str, taken: bool) -> None:
    model = one([((4,), TensorType[kind]) for kind in inputs.split()], [((4,), TensorType[output])])
    assert ready(model, custom_ops={"Mine": minilite.kernel(address("my_any"))})
    if taken:
        assert mine(model, address("my_groups"))
    else:
        with pytest.raises(UnsupportedOpError, match="are not what its kernel takes, f99 -> f32"):
            mine(model, address("my_groups"))


MOST = 2**31 - 1


NO_SHAPES: list[tuple[int, int, Any, str]] = [
    (1, 0, (), "there is no output 1"),
    (-1, 0, (), "there is no output -1"),
    (0, -1, (), "output 0 would have rank -1, at most 8 is supported"),
    (0, 9, (), "output 0 would have rank 9, at most 8 is supported"),
    (0, 2, (3, -4), r"output 0 would have the shape \(3, -4\), with a negative dimension"),
    (0, 3, (2**28, 2**28, MOST), r"output 0 would have the shape .*, more elements than an int64 counts"),
    (0, 3, (MOST, MOST, MOST), r"output 0 would have the shape .*, more elements than an int64 counts"),
]


@pytest.mark.parametrize(("output", "rank", "dims", "message"), NO_SHAPES)
def test_shapes_that_no_output_has(address: Address, output: int, rank: int, dims: Any, message: str) -> None:
    params = {"output": output, "rank": rank, "dims": np.int32(dims)}
    with pytest.raises((ShapeError, KernelError), match=message):
        mine(one([VECTOR], [((4,), F32)]), address("my_shape"), params)


@pytest.mark.parametrize(("output", "rank", "dims", "message"), NO_SHAPES)
def test_shapes_that_no_output_takes_in_a_run(
    address: Address, output: int, rank: int, dims: Any, message: str
) -> None:
    """The interpreter goes on with another size after each."""
    params = {"output": output, "rank": rank, "dims": np.int32(dims)}
    interpreter = mine(one([VECTOR], [(None, F32)]), address("my_late_shape"), params)
    for _ in range(2):
        with pytest.raises((ShapeError, KernelError), match=message):
            run(interpreter, floats(1, 2, 3, 4))


def test_a_shape_that_is_settled_in_the_run_or_was_before(address: Address) -> None:
    params = {"output": 0, "rank": 2, "dims": np.int32([2, 3])}
    assert run(mine(one([VECTOR], [(None, F32)]), address("my_late_shape"), params), floats(1, 2, 3, 4))[0].shape == (
        2,
        3,
    )
    interpreter = mine(one([VECTOR], [((4,), F32)]), address("my_other_shape"), params)
    with pytest.raises(KernelError, match=r"output 0 was given shape \(2, 3\), but prepare has set \(4\)"):
        run(interpreter, floats(1, 2, 3, 4))
    params = {"output": 0, "rank": 1, "dims": np.int32([4])}
    assert run(mine(one([VECTOR], [((4,), F32)]), address("my_other_shape"), params), floats(1, 2, 3, 4))[0].shape == (
        4,
    )


@pytest.mark.parametrize(
    ("kind", "output", "size", "message"),
    [
        (F32, 0, 4, "output 0 does not hold values of variable size"),
        (TensorType.STRING, 1, 4, "output 1 does not hold values of variable size"),
        (TensorType.STRING, -1, 4, "output -1 does not hold values of variable size"),
        (TensorType.STRING, 0, -1, "output 0 was given -1 bytes"),
        (TensorType.STRING, 0, 2**62, f"output 0 was given {2**62} bytes"),
        (TensorType.STRING, 0, 2**63 - 1, f"output 0 was given {2**63 - 1} bytes"),
    ],
)
def test_sizes_of_values_that_are_refused(address: Address, kind: Any, output: int, size: int, message: str) -> None:
    interpreter = mine(one([((1,), kind)], [((1,), kind)]), address("my_bytes"), {"bytes": size, "output": output})
    for _ in range(2):
        with pytest.raises(KernelError, match=message):
            interpreter.invoke()


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("grain", [-(2**63), -1, 0, 1, 3, 4, 2**62])
def test_blocks_of_any_length(address: Address, grain: int, constant: bool) -> None:
    """A constant is folded, while the plan is made."""
    x = floats(1, 2, 3, 4)
    model, arrays = one([x if constant else VECTOR], [((4,), F32)]), [] if constant else [x]
    interpreter = mine(model, address("my_grain"), {"grain": grain, "fails": 0})
    assert run(interpreter, *arrays)[0].tolist() == [2, 3, 4, 5]
    if grain < 4:
        with pytest.raises(KernelError, match=f"block at {max(grain, 1)}"):
            run(mine(model, address("my_grain"), {"grain": grain, "fails": 1}), *arrays)


def test_a_kernel_that_fails_without_a_word(address: Address) -> None:
    def build(g: Any) -> list[int]:
        return [g.node("Mine", [g.input("x", (4,)), -1], out=("y", (4,)), custom=True)]

    for model in (one([VECTOR], [((4,), F32)]), graph_with(build)):
        with pytest.raises(UnsupportedOpError, match=r"node 0 \(Mine .*its quantization is not supported"):
            mine(model, address("my_silence"))


def test_kernel_prints_its_signature(address: Address) -> None:
    assert repr(minilite.kernel(address("my_split"))).endswith(": 'f32 s32 -> f32 f32'>")


def test_keep_lives_as_long_as_users_of_the_kernel(address: Address) -> None:
    """`keep` stays as long as anything that could call the code."""
    import weakref

    class Library:
        pass

    library = Library()
    alive = weakref.ref(library)
    kernel = minilite.kernel(address("my_relu"), {"minimum": 0}, keep=library)
    i = ready(one([VECTOR], [((4,), F32)]), custom_ops={"Mine": kernel})
    plan = i.plan
    del library, kernel
    assert alive() is not None
    del i
    assert alive() is not None
    assert plan is not None
    del plan
    assert alive() is None


def test_reference_kernels_and_sizes_are_no_different(address: Address) -> None:
    resolver = minilite.OpResolverType.BUILTIN_REF
    model = one([VECTOR], [((4,), F32)])
    i = mine(model, address("my_relu"), {"minimum": 0}, experimental_op_resolver_type=resolver)
    assert run(i, floats(-1, 2, -3, 4))[0].tolist() == [0, 2, 0, 4]
    resized(i, 6)
    counted = count_since(i, lambda: resized(i, 4))
    assert (counted["plans"], counted["plan_hits"]) == (0, 1)
