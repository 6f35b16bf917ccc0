"""Recordings that were changed and sealed again, as anybody can: each is refused by an error, or replays."""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
import tokenize
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import floats, relu_chain, texts, variable

import minilite
from minilite.errors import InputError, MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.recording import file as recording_file

HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 7, 1 << 31, 1 << 40, 1 << 64, -(1 << 70), 1.5, float("inf"), float("nan"), "", "x", "a0", "\0",
    [], ["x"], [float("inf")], [1 << 40, 1 << 40], [-1], [None], [[1]], list(range(100)), {}, {"0": "a0"}, {"x": 1}, {"-1": "a0"},
)  # fmt: skip


def every_call() -> bytes:
    """Keeps its input in a variable, and passes strings on."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (2,), signature=(-1,))
    words = graph.input("words", (2,), TensorType.STRING)
    kept = variable(graph, "kept")
    graph.node("ASSIGN_VARIABLE", [kept, x])
    graph.output(graph.node("READ_VARIABLE", [kept], out=("y", (2,))), words)
    return builder.build()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A recording with resizes, bound buffers, strings and a state."""
    interpreter = minilite.Interpreter(model_content=every_call())
    with interpreter.recording(tmp_path / "r.npz"):
        interpreter.resize_tensor_input(0, (3,))
        interpreter.bind_tensor(0, floats(1, 2, 3))
        interpreter.run({"x": floats(1, 2, 3), "words": texts("a", "bc")})
        interpreter.set_state(minilite.Interpreter(model_content=every_call()).get_state())
        interpreter.run({"x": floats(4, 5, 6), "words": texts("", "d")})
    return tmp_path / "r.npz"


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, members: dict[str, bytes], text: bytes | None = None) -> None:
    """A recording of these members; with another JSON, sealed."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if text is None or name not in ("recording.npy", "seal.npy"):
                archive.writestr(name, data)
        if text is None:
            return
        for name, data in (("recording", text), ("seal", hashlib.sha256(text).digest())):
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.frombuffer(data, np.uint8))


def facts_of(path: Path) -> Any:
    with np.load(path) as archive:
        return json.loads(archive["recording"].tobytes())


def places(facts: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value in a recording's JSON."""
    inside = facts.items() if isinstance(facts, dict) else enumerate(facts) if isinstance(facts, list) else ()
    return [path, *(way for key, value in inside for way in places(value, (*path, key)))]


def put(facts: Any, way: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at one place."""
    if not way:
        return value
    copy = dict(facts) if isinstance(facts, dict) else list(facts)
    copy[way[0]] = put(copy[way[0]], way[1:], value) if len(way) > 1 else value
    return copy


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_any_value_at_any_place_is_refused_or_replays(recorded: Path, step: int) -> None:
    whole, members = facts_of(recorded), members_of(recorded)
    assert {"resize", "bind", "invoke", "set_state"} <= {call["call"] for call in whole["calls"]}
    outcomes = {"refused": 0, "replayed": 0, "two lines": 0}
    for way, value in itertools.islice(itertools.product(places(whole), HOSTILE), 0, None, step):
        write(recorded, members, json.dumps(put(whole, way, value)).encode())
        try:
            str(minilite.replay(recorded, every_call()))
        except MiniliteError as error:
            outcomes["refused" if "\n" not in str(error) else "two lines"] += 1
        else:
            outcomes["replayed"] += 1
    assert outcomes["refused"] > 2 * outcomes["replayed"] > 0 == outcomes["two lines"], outcomes


@pytest.mark.parametrize("name", ["self", "model_path", "model_content", "custom_ops", "level", "unknown"])
def test_options_that_recordings_do_not_have_are_refused(recorded: Path, name: str) -> None:
    write(recorded, members_of(recorded), json.dumps(put(facts_of(recorded), ("options", name), "x")).encode())
    with pytest.raises(InputError, match=f"has the option '{name}'"):
        minilite.replay(recorded, every_call())


def test_resources_of_other_types_are_refused(recorded: Path) -> None:
    whole = facts_of(recorded)
    whole["calls"].insert(1, {"call": "resource", "tensor": 0, "kind": 99, "shape": [1], "array": "a0"})
    write(recorded, members_of(recorded), json.dumps(whole).encode())
    with pytest.raises(InputError, match="snapshot is damaged: its row at byte 0"):
        minilite.replay(recorded, every_call())


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 200_000, b"1" * 10_000, b"Infinity", b"\xff", b""])
def test_texts_that_no_recording_has_are_refused(recorded: Path, text: bytes) -> None:
    write(recorded, members_of(recorded), text)
    with pytest.raises(InputError, match="cannot be replayed"):
        minilite.replay(recorded, every_call())


@pytest.mark.parametrize("shape", [[1 << 40, 1 << 40], [1 << 64], ["x"], [-1], [1] * 99, [(1 << 31) - 1] * 8, [1.0]])
def test_shapes_of_strings_that_no_tensor_has_are_refused(recorded: Path, shape: list[Any]) -> None:
    whole = facts_of(recorded)
    name = next(name for name, row in whole["arrays"].items() if row["type"] == "strings")
    write(recorded, members_of(recorded), json.dumps(put(whole, ("arrays", name, "shape"), shape)).encode())
    with pytest.raises(InputError, match="cannot be replayed"):
        minilite.replay(recorded, every_call())


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1 << 40,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -1), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (4,), }",
        b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        b"{'descr': '<f4' '', 'fortran_order': '",
        b"{" * 90,
        b"\x00" * 60,
    ],
)
def test_headers_that_no_array_has_are_refused(recorded: Path, header: bytes) -> None:
    members = members_of(recorded)
    data = members["a0.npy"]
    size = int.from_bytes(data[8:10], "little")
    members["a0.npy"] = data[:10] + header.ljust(size - 1) + b"\n" + data[10 + size :]
    write(recorded, members)
    with pytest.raises(InputError, match="array 'a0'"):
        minilite.replay(recorded, every_call())


def test_arrays_have_a_limit(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_file, "_MOST_ARRAY", 11)
    with pytest.raises(InputError, match="array 'a0' needs 12 bytes, must be at most 11"):
        minilite.replay(recorded, every_call())


@pytest.mark.parametrize("raised", [IndexError, TypeError, OverflowError, struct.error, tokenize.TokenError, OSError])
@pytest.mark.parametrize(("owner", "name"), [(zipfile, "ZipFile"), (np.lib.format, "read_array")])
def test_any_exception_of_reading_becomes_an_input_error(
    recorded: Path, owner: Any, name: str, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise raised("first\nsecond")

    monkeypatch.setattr(owner, name, fails)
    with pytest.raises(InputError, match="cannot be replayed") as caught:
        minilite.replay(recorded, relu_chain())
    assert "\n" not in str(caught.value)
