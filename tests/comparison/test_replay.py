"""Recordings: what they hold, that they replay, and which files are refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import accumulator, custom_chain, floats, relu_chain, texts
from built import variable as builder_variable

import minilite
from minilite._native.kernels import level_names
from minilite.comparison.limit import Limit
from minilite.comparison.measure import difference
from minilite.engine.engine import engine_of
from minilite.engine.session import CHANGES, Session
from minilite.errors import InputError, KernelError, ShapeError, StateError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import Quantization
from minilite.recording.calls import Call
from minilite.recording.file import Writer, read_recording
from minilite.recording.recorder import model_hash

DIGITS = Path(minilite.__file__).with_name("data") / "digits.tflite"


def calls(path: Path) -> list[str]:
    return [call.call for call in read_recording(path).calls]


def int8_layers() -> bytes:
    """x -> CONV_2D -> CONV_2D -> FULLY_CONNECTED, int8."""
    builder, rng = ModelBuilder(), np.random.default_rng(1)
    graph = builder.subgraph()
    q = Quantization((0.02,), (3,))
    x = graph.input("x", (1, 9, 9, 5), TensorType.INT8, quantization=q)
    for number, depth in enumerate((5, 12)):
        w = graph.constant(
            f"w{number}",
            rng.integers(-127, 128, (12, 3, 3, depth)).astype(np.int8),
            quantization=Quantization((0.004,), (0,)),
        )
        x = graph.node(
            "CONV_2D", [x, w, graph.constant(f"b{number}", np.zeros(12, np.int32))],
            out=(f"y{number}", (1, 9, 9, 12), TensorType.INT8, q), options={"stride_w": 1, "stride_h": 1},
        )  # fmt: skip
    graph.output(x)
    return builder.build()


@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("threads", [1, 2])
def test_integers_replay_bit_equal_at_every_level(tmp_path: Path, level: str, threads: int) -> None:
    interpreter = minilite.Interpreter(model_content=int8_layers())
    rng = np.random.default_rng(2)
    with interpreter.recording(tmp_path / "r.npz"):
        for side in (9, 4, 9):
            interpreter.run(rng.integers(-128, 128, (1, side, side, 5)).astype(np.int8))
    found = minilite.replay(tmp_path / "r.npz", interpreter.model, level=level, num_threads=threads)
    assert found.agrees
    assert [row.difference is not None and row.difference.differing for row in found.rows] == [0, 0, 0]
    assert [row.run for row in found.rows] == [1, 2, 3]
    if level != level_names()[-1]:
        assert "any difference of integers" in found.rule


def test_floats_are_bit_equal_at_the_same_level_and_near_at_others(tmp_path: Path) -> None:
    interpreter = minilite.Interpreter(str(DIGITS))
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.run(np.linspace(0, 1, 196, dtype=np.float32).reshape(1, 14, 14, 1))
    same = minilite.replay(tmp_path / "r.npz", str(DIGITS), num_threads=2)
    assert "both ran the same code" in same.rule
    assert same.agrees
    other = minilite.replay(tmp_path / "r.npz", str(DIGITS), level="scalar")
    assert other.agrees
    assert other.labels[1] == "minilite scalar, 1 thread"
    beside = minilite.compare(tmp_path / "r.npz", str(DIGITS), level="scalar")
    assert beside == other


def test_every_call_is_recorded(tmp_path: Path) -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    bound = floats(1, -1, 1, -1)
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.resize_tensor_input(0, (3,))
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, floats(1, -2, 3))
        interpreter.invoke()
        interpreter.resize_tensor_input(0, (4,))
        interpreter.bind_tensor(0, bound)
        interpreter.allocate_tensors()
        interpreter.invoke()
        bound[:] = 7  # no call says so
        interpreter.invoke()
        interpreter.bind_tensor(0, None)
        interpreter.allocate_tensors()
        interpreter.tensor(0)()[:] = -5
        interpreter.invoke()
        interpreter.reset_all_variables()
    expected = [
        "resize",
        "allocate",
        "set",
        "invoke",
        "resize",
        "bind",
        "allocate",
        "invoke",
        "invoke",
        "bind",
        "allocate",
    ]
    assert calls(tmp_path / "r.npz") == [*expected, "invoke", "reset_variables"]
    found = minilite.replay(tmp_path / "r.npz", interpreter.model)
    assert found.agrees
    recording = read_recording(tmp_path / "r.npz")
    outputs = [recording.array(call.outputs[3]).tolist() for call in recording.calls if call.call == "invoke"]
    assert outputs == [[1, 0, 3], [1, 0, 1, 0], [7] * 4, [0] * 4]
    interpreter.invoke()  # is plain again
    assert set(CHANGES) & vars(engine_of(interpreter).session()).keys() == {"invoke_unchecked"}


def test_a_recording_hears_every_method_that_changes_a_session() -> None:
    """A new method of Session is either reported to listeners, or named here because it changes nothing that they
    note."""
    changes_nothing = {"listen", "shape", "plan_for", "log", "held", "bound_arrays", "tensor", "get", "view"}
    # Listeners hear `ask`, `invoke_unchecked` and `run_until`; while there is one, `set` copies and lends no array.
    changes_by_others = {"resize", "invoke", "run_on"}
    memory_alone = {"trim", "release_memory"}
    methods = {name for name, each in vars(Session).items() if name[0] != "_" and callable(each)}
    assert methods | {"invoke_unchecked"} == {*CHANGES, *changes_nothing, *changes_by_others, *memory_alone}


def test_recording_contains_the_state_before_it(tmp_path: Path) -> None:
    """Resource variables, shapes, variables, inputs."""
    interpreter = minilite.Interpreter(model_content=accumulator())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, floats(1, 2, 3, 4))
    interpreter.invoke()
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.invoke()
        interpreter.reset_resources()
        interpreter.invoke()
    assert calls(tmp_path / "r.npz") == ["allocate", "set_state", "invoke", "reset_resources", "set_state", "invoke"]
    found = minilite.replay(tmp_path / "r.npz", interpreter.model)
    assert found.agrees
    recording = read_recording(tmp_path / "r.npz")
    sums = [recording.array(name).tolist() for call in recording.calls for name in call.outputs.values()]
    assert sums == [[2, 4, 6, 8], [1, 2, 3, 4]]


def counted(variable: bool) -> bytes:
    """Adds its input to what it keeps: a variable tensor of an SVDF, or a resource variable."""
    if not variable:
        return accumulator()
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4))
    kept = graph.variable("kept", (1, 6))
    weights = [graph.constant("f", np.ones((2, 4), np.float32)), graph.constant("t", np.ones((2, 3), np.float32))]
    graph.output(graph.node("SVDF", [x, *weights, -1, kept], out=("y", (1, 2)), options={"rank": 1}))
    return builder.build()


@pytest.mark.parametrize("variable", [True, False])
def test_streams_that_branch_replay_as_they_ran(tmp_path: Path, variable: bool) -> None:
    """Snapshots put back at random, a profile, and values written through views, at every level."""
    rng = np.random.default_rng(3)
    interpreter = minilite.Interpreter(model_content=counted(variable))
    shape = interpreter.get_input_details()[0]["shape"]

    def step() -> None:
        interpreter.run(rng.normal(size=shape).astype(np.float32))

    step()
    branches = [interpreter.get_state()]
    with interpreter.recording(tmp_path / "r.npz"):
        for number in range(30):
            step()
            branches.append(interpreter.get_state())
            if number % 2:
                interpreter.set_state(branches[int(rng.integers(len(branches)))])
            if number % 7 == 0:
                interpreter.profile(2)
        step()
    for level in level_names():
        found = minilite.replay(tmp_path / "r.npz", interpreter.model, level=level)
        assert found.agrees
        assert len(found.rows) == calls(tmp_path / "r.npz").count("invoke")
    assert 15 <= calls(tmp_path / "r.npz").count("set_state") <= 22
    assert calls(tmp_path / "r.npz").index("set_state") == calls(tmp_path / "r.npz").index("invoke") - 1


def test_state_between_a_failure_and_a_run(tmp_path: Path) -> None:
    """A state that is put back after a run that failed half-way is not mistaken for what that run left."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (4,))
    handle = builder_variable(graph)
    graph.node("ASSIGN_VARIABLE", [handle, x])
    y = graph.node("READ_VARIABLE", [handle], out=("read", (4,)))
    graph.output(graph.node("Boom", [y], out=("y", (4,)), custom=True))

    def boom(_: Any, value: Any) -> Any:
        if value[0] < 0:
            message = "no"
            raise OSError(message)
        return value

    interpreter = minilite.Interpreter(model_content=builder.build(), custom_ops={"Boom": boom})
    with interpreter.recording(tmp_path / "r.npz"):
        blank = interpreter.get_state()
        with pytest.raises(OSError, match="no"):
            interpreter.run(floats(-1, 0, 0, 0))
        interpreter.set_state(blank)
        interpreter.run(floats(1, 2, 3, 4))
    assert calls(tmp_path / "r.npz")[-3:] == ["set", "set_state", "invoke"]
    assert minilite.replay(tmp_path / "r.npz", interpreter.model, custom_ops={"Boom": boom}).agrees


def test_recordings_of_minilite_0_10_replay(tmp_path: Path) -> None:
    """Recordings of that version restore resources one by one."""
    writer = Writer(tmp_path / "r.npz")
    writer.begin()
    bytes_of = floats(1, 2, 3, 4).view(np.uint8)
    interpreter = minilite.Interpreter(model_content=accumulator())
    for call in (
        Call("allocate"),
        Call("resource", tensor=0, shape=(4,), array=writer.array(bytes_of), kind=int(TensorType.FLOAT32)),
        Call("called_once", 1),
        Call("set", tensor=0, array=writer.array(floats(1, 1, 1, 1))),
        Call("invoke", outputs={interpreter.get_output_details()[0]["index"]: writer.array(floats(2, 3, 4, 5))}),
    ):
        writer.add(call)
    digest, size = model_hash(interpreter.model)
    facts = {"minilite": "0.10.0", "level": "", "model": digest, "model_bytes": size, "options": {}, "custom_ops": []}
    writer.finish(facts)
    assert minilite.replay(tmp_path / "r.npz", interpreter.model).agrees


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-8], "the snapshot is damaged: rows end at byte"),
        (lambda data: b"{" + data, "the snapshot is damaged: its first line"),
        (lambda data: b"", "the snapshot is damaged: its first line"),
        (lambda data: data.replace(b'"1 ', b'"9 '), "the snapshot has the form '9 "),
        (lambda data: data.replace(b"[[0, [", b"[[7, ["), "7"),
        (lambda data: data.replace(b"[[0, [", b"[[-1, ["), "the snapshot is damaged: it does not list its"),
        (lambda data: data.replace(b'sum"', b'total"'), "the snapshot is of another model"),
    ],
)
def test_damaged_states_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    interpreter = minilite.Interpreter(model_content=accumulator())
    interpreter.run(floats(1, 2, 3, 4))
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.run(floats(1, 2, 3, 4))

    def damaged(members: dict[str, Any]) -> None:
        calls = json.loads(members["recording"].tobytes())
        name = next(call["array"] for call in calls["calls"] if call["call"] == "set_state")
        data = change(members[name].tobytes())
        members[name] = np.frombuffer(data, np.uint8)
        row = {"type": "|u1", "shape": [len(data)], "sha256": hashlib.sha256(data).hexdigest()}
        telling(members, arrays=calls["arrays"] | {name: row})

    rewritten(tmp_path / "r.npz", damaged, seal=True)
    with pytest.raises(InputError, match=words):
        minilite.replay(tmp_path / "r.npz", accumulator())


def test_signatures_are_recorded(tmp_path: Path) -> None:
    builder = ModelBuilder()
    for name, op in (("first", "RELU"), ("second", "NEG")):
        graph = builder.subgraph(name)
        x = graph.input("x", (2,))
        y = graph.node(op, [x], out=("y", (2,)))
        graph.output(y)
        builder.signature(
            name, {"x": x}, {"y": y}, len(builder._subgraphs) - 1 if hasattr(builder, "_subgraphs") else None
        )
    interpreter = minilite.Interpreter(model_content=builder.build())
    early = interpreter.get_signature_runner("first")
    with interpreter.recording(tmp_path / "r.npz"):
        early(x=floats(1, -1))
        interpreter.get_signature_runner("second")(x=floats(1, -1))  # its session begins here
    found = minilite.replay(tmp_path / "r.npz", interpreter.model)
    assert [(row.subgraph, row.op) for row in found.rows] == [(0, "RELU"), (1, "NEG")]
    assert found.agrees


def test_strings_are_bytes_and_offsets(tmp_path: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3,), TensorType.STRING)
    i = graph.constant("i", np.array([2, 0], np.int32))
    graph.output(graph.node("GATHER", [x, i], out=("y", (2,), TensorType.STRING)))
    interpreter = minilite.Interpreter(model_content=builder.build())
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.run(texts(b"a\0", "ä", b""))
    with np.load(tmp_path / "r.npz", allow_pickle=False) as archive:
        assert archive["a0_bytes"].tobytes() == b"a\0" + "ä".encode()
        assert archive["a0_offsets"].tolist() == [0, 2, 4, 4]
        assert all(archive[name].dtype != object for name in archive.files)
    assert minilite.replay(tmp_path / "r.npz", interpreter.model).agrees


def test_failures_are_recorded_and_fail_again(tmp_path: Path) -> None:
    interpreter = minilite.Interpreter(str(DIGITS))
    with pytest.raises(ShapeError), interpreter.recording(tmp_path / "r.npz"):  # noqa: PT012
        interpreter.run(np.zeros((1, 8, 8, 1), np.float32))
        interpreter.resize_tensor_input(0, (1, 8, 8, 3))
        interpreter.allocate_tensors()
    call = read_recording(tmp_path / "r.npz").calls[-1]
    assert (call.call, call.error) == ("allocate", "ShapeError")
    assert "filter depth 1" in call.text
    assert minilite.replay(tmp_path / "r.npz", str(DIGITS)).agrees

    def boom(_: Any, x: Any) -> Any:
        if x[0] > 0:
            raise OSError("~somebody/secret.txt")
        return x

    custom = minilite.Interpreter(model_content=custom_chain("Boom"), custom_ops={"Boom": boom})
    with pytest.raises(OSError, match="secret"), custom.recording(tmp_path / "c.npz"):  # noqa: PT012
        custom.run(floats(-1, 0, 0, 0))
        custom.run(floats(1, 0, 0, 0))
    assert b"somebody" not in (tmp_path / "c.npz").read_bytes()
    assert minilite.replay(tmp_path / "c.npz", custom.model, custom_ops={"Boom": boom}).agrees
    healed = minilite.replay(tmp_path / "c.npz", custom.model, custom_ops={"Boom": lambda _, x: x})
    assert not healed.agrees
    assert healed.first is not None
    assert healed.first.note == "invoke: OSError when recorded, no error now"
    with pytest.raises(InputError, match="needs the custom operators Boom"):
        minilite.replay(tmp_path / "c.npz", custom.model)


def test_another_answer_is_seen(tmp_path: Path) -> None:
    custom = minilite.Interpreter(model_content=custom_chain("F"), custom_ops={"F": lambda _, x: x + 1})
    with custom.recording(tmp_path / "r.npz"):
        custom.run(floats(1, 2, 3, 4))
    found = minilite.replay(tmp_path / "r.npz", custom.model, custom_ops={"F": lambda _, x: x + (x > 3)})
    assert not found.agrees
    assert found.first is not None
    assert found.first.where == "run 1, subgraph 0, node 1 (RELU 'z')"


def test_no_path_is_inside_and_no_time(tmp_path: Path) -> None:
    shutil.copy(DIGITS, tmp_path / "private-name.tflite")
    for name in ("a.npz", "b.npz"):
        interpreter = minilite.Interpreter(str(tmp_path / "private-name.tflite"))
        with interpreter.recording(tmp_path / name):
            interpreter.run(np.zeros((1, 8, 8, 1), np.float32))
    whole = (tmp_path / "a.npz").read_bytes()
    assert whole == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as archive:
        header = archive["recording"].tobytes().decode()
    assert "private" not in header
    assert str(tmp_path) not in header
    assert json.loads(header)["model"] == hashlib.sha256(DIGITS.read_bytes()).hexdigest()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.run(floats(1, 2, 3, 4))
    return tmp_path / "r.npz"


def test_truncated_recordings_are_refused(recorded: Path) -> None:
    whole = recorded.read_bytes()
    for length in range(0, len(whole), 7):
        recorded.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"truncated|no \.npz"):
            minilite.replay(recorded, relu_chain())


def test_damaged_recordings_are_refused_or_equal(recorded: Path) -> None:
    """A bit of any byte: what zip does not use may change."""
    whole = bytearray(recorded.read_bytes())
    refused = 0
    for at in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[at] ^= 0x10
        recorded.write_bytes(changed)
        try:
            assert minilite.replay(recorded, relu_chain()).agrees
        except InputError:
            refused += 1
    assert refused > len(whole) // 10


def rewritten(path: Path, change: Any, *, seal: bool = False) -> None:
    """The recording with other members, by a program that knows zip; with the right seal if `seal`."""
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    change(members)
    if seal:
        members["seal"] = np.frombuffer(hashlib.sha256(members["recording"].tobytes()).digest(), np.uint8)
    with zipfile.ZipFile(path, "w") as archive_:
        for name, array in members.items():
            with archive_.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)


def telling(members: dict[str, Any], **facts: Any) -> None:
    whole = json.loads(members["recording"].tobytes()) | facts
    members["recording"] = np.frombuffer(json.dumps(whole).encode(), np.uint8)


@pytest.mark.parametrize(
    ("change", "seal", "words"),
    [
        (lambda m: m.update(a0=m["a0"] + 1), False, "edited: array 'a0' does not fit its hash"),
        (lambda m: m.update(a0=m["a0"].reshape(2, 2)), False, "edited: array 'a0'"),
        (lambda m: m.pop("a0"), False, "array 'a0' is missing"),
        (lambda m: telling(m, level="scalar"), False, "edited: its calls do not fit their seal"),
        (lambda m: m.pop("seal"), False, "it is no recording of minilite's"),
        (lambda m: telling(m, format=2), True, "its format is 2, this version reads 1"),
        (lambda m: telling(m, calls=[{"call": "system"}]), True, "a call that does not exist"),
        (lambda m: telling(m, calls=[{"call": "set", "path": "x"}]), True, "a call with 'path'"),
        (lambda m: telling(m, calls=[{"call": "set", "tensor": "x"}]), True, "a call whose 'tensor' is 'x'"),
        (
            lambda m: telling(m, calls=[{"call": "allocate"}, {"call": "set", "tensor": 0, "array": "a9"}]),
            True,
            "'a9', which is missing",
        ),
        (lambda m: telling(m, calls=[{"call": "resize", "tensor": 99, "shape": [1]}]), True, "99"),
        (lambda m: telling(m, calls=[{"call": "allocate", "subgraph": 5}]), True, "5"),
        (lambda m: telling(m, options={"planner": "x"}), True, "planner is 'x'"),
        (lambda m: telling(m, options={"nonsense": 1}), True, "nonsense"),
        (lambda m: telling(m, model="00"), True, "is a recording of another model"),
    ],
)
def test_edited_and_foreign_recordings_are_refused(recorded: Path, change: Any, seal: bool, words: str) -> None:
    rewritten(recorded, change, seal=seal)
    with pytest.raises(InputError, match=words):
        minilite.replay(recorded, relu_chain())


def test_a_size_that_a_member_cannot_have_is_refused(recorded: Path) -> None:
    def bomb(members: dict[str, Any]) -> None:
        members["a0"] = np.zeros(1, np.uint8)

    rewritten(recorded, bomb)
    whole = recorded.read_bytes()
    assert b"'shape': (1,)" in whole
    with zipfile.ZipFile(recorded) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["a0.npy"] = files["a0.npy"].replace(b"'shape': (1,), }         ", b"'shape': (1 << 40,), }   "[:25])
    files["a0.npy"] = files["a0.npy"].replace(b"(1 << 40,)", b"(99999999)")
    with zipfile.ZipFile(recorded, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match="a0"):
        minilite.replay(recorded, relu_chain())


def test_threads_may_go_on_while_it_records(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    interpreter = minilite.Interpreter(model_content=relu_chain())
    interpreter.allocate_tensors()

    def one(number: int) -> None:
        try:
            interpreter.set_tensor(0, floats(*[number] * 4))
            interpreter.invoke()
        except (StateError, KernelError):
            pass

    with interpreter.recording(tmp_path / "r.npz"), ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(40)))
    assert minilite.replay(tmp_path / "r.npz", interpreter.model).agrees


def test_steps_of_quantized_floats_have_no_bound() -> None:
    """An error beyond rounding counts, unless floats are quantized on the way."""
    kind = Tensor(0, "t", TensorType.FLOAT32, ())
    near = difference((kind, kind), (floats(1, 1), floats(1, 1 + 1e-6)))
    far = difference((kind, kind), (floats(1, 1), floats(1, 1.01)))
    plain = Limit(None, same_code=False, same_types=True)
    flipping = plain._replace(flips=True)
    assert [plain.exceeded(found) for found in (near, far)] == [False, True]
    assert [flipping.exceeded(found) for found in (near, far)] == [False, None]
    assert flipping._replace(tolerance=0.001).exceeded(far)
    assert flipping._replace(same_code=True).exceeded(near)
    assert "without a tolerance" in flipping.text


def test_runs_between_tensors_replay(tmp_path: Path) -> None:
    interpreter = minilite.Interpreter(DIGITS)
    rng, path = np.random.default_rng(0), tmp_path / "r.npz"
    with interpreter.recording(path):
        found = interpreter.run(rng.random((1, 12, 8, 1), np.float32), until="conv_1", taps=["probabilities"])
        interpreter.run(since={"conv_1": found["conv_1"]})
        with pytest.raises(ShapeError):
            interpreter.run(since={"conv_1": np.zeros((1, 8, 8, 9), np.float32)})
    recorded = read_recording(path).calls
    assert [(call.call, call.error) for call in recorded] == [("slice", ""), ("slice", ""), ("slice", "ShapeError")]
    again = minilite.replay(path, DIGITS)
    assert sorted((row.run, row.name) for row in again.rows) == [
        (1, "conv_1"),
        (1, "probabilities"),
        (2, "probabilities"),
    ]
    assert again.agrees

    def other_input(members: dict[str, Any]) -> None:
        calls = json.loads(members["recording"].tobytes())["calls"]
        calls[1]["inputs"]["3"] = next(iter(calls[0]["inputs"].values()))
        telling(members, calls=calls)

    rewritten(path, other_input, seal=True)
    with pytest.raises(ShapeError):
        minilite.replay(path, DIGITS)
