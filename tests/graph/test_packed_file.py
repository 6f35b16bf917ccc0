"""Files of packed weights that are damaged, cut, or made to do harm: they are refused, with the reason, and never lead
outside."""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.packed import kept, outputs, ready, same, sizes

import minilite
from minilite._native import packed
from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder

HEAD, ROW = 128, 32


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with convolutions and products."""
    return Path(shutil.copy(Path(minilite.__file__).parent / "data" / "digits.tflite", tmp_path / "model.tflite"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MINILITE_CACHE_DIR", raising=False)
    return tmp_path / "kept"


WORD, START, FACTOR = 2**64 - 1, 1469598103934665603, 0x9E3779B97F4A7C15


def hashed(start: int, data: bytes) -> int:
    """ml_hash of csrc/core/hash.h."""

    def word(value: int, more: int) -> int:
        value = (value ^ more) * FACTOR & WORD
        return value ^ value >> 29

    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        start = word(start, int.from_bytes(data[at : at + 8], "little"))
    return word(word(start, int.from_bytes(data[whole:], "little")), len(data))


def number(data: bytearray, at: int, value: int | None = None) -> int:
    """The 64 bits at a place, which become `value`."""
    if value is not None:
        data[at : at + 8] = (value & WORD).to_bytes(8, "little")
    return int.from_bytes(data[at : at + 8], "little", signed=True)


def sealed(data: bytearray) -> bytes:
    """The file with the checksum that its head should have."""
    front = HEAD + number(data, 48) * ROW + number(data, 56)
    number(data, 64, 0)
    number(data, 64, hashed(hashed(START, bytes(data[:HEAD])), bytes(data[HEAD:front])))
    return bytes(data)


@pytest.fixture
def written(model: Path, folder: Path) -> bytearray:
    """The bytes of a file that serves."""
    ready(model, folder)
    return bytearray(kept(folder).read_bytes())


def refused(data: bytes) -> str:
    with pytest.raises(ModelFormatError) as error:
        packed.check(data)
    return str(error.value)


def test_the_hash_is_the_one_of_the_core(written: bytearray) -> None:
    assert sealed(bytearray(written)) == bytes(written)
    for row in range(number(written, 48)):
        at, size, checksum = (number(written, HEAD + row * ROW + 8 * i) for i in (1, 2, 3))
        assert hashed(START, bytes(written[at : at + size])) == checksum & WORD


def test_every_byte_before_the_weights_counts(written: bytearray, model: Path, folder: Path) -> None:
    front = HEAD + number(written, 48) * ROW + number(written, 56)
    file, wanted = kept(folder), outputs(ready(model, ""))
    for at in range(front):
        data = bytearray(written)
        data[at] ^= 1 << at % 8
        assert "\n" not in refused(bytes(data))
        if at % 16 == 0:
            file.write_bytes(data)
            interpreter = ready(model, folder)
            assert sizes(interpreter)[1] == 0
            assert same(outputs(interpreter), wanted)
            assert sizes(ready(model, folder))[0] == 0  # it was written again


def test_every_length_is_checked(written: bytearray, model: Path, folder: Path) -> None:
    file = kept(folder)
    lengths = [*range(0, HEAD + 3 * ROW, 7), HEAD - 1, HEAD, len(written) // 2, len(written) - 64, len(written) - 1]
    for length in lengths:
        assert "bytes" in refused(bytes(written[:length])) or length < HEAD
        file.write_bytes(written[:length])
        assert sizes(ready(model, folder))[1] == 0
    refused(bytes(written) + bytes(64))
    assert refused(bytes(written[:100])) == "the file has 100 bytes, packed weights have 128 or more"


HOSTILE = {
    "at past the end": (8, lambda at, size, end: end),
    "at far past the end": (8, lambda at, size, end: 2**63 - 64),
    "at before all": (8, lambda at, size, end: -64),
    "at in the head": (8, lambda at, size, end: 0),
    "at between lines": (8, lambda at, size, end: at + 8),
    "too many bytes": (16, lambda at, size, end: end - at + 1),
    "far too many bytes": (16, lambda at, size, end: 2**63 - 1),
    "fewer than no bytes": (16, lambda at, size, end: -1),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_rows_cannot_point_outside(what: str, written: bytearray, model: Path, folder: Path) -> None:
    field, value = HOSTILE[what]
    file = kept(folder)
    for row in range(number(written, 48)):
        data = bytearray(written)
        place = HEAD + row * ROW
        number(data, place + field, value(number(data, place + 8), number(data, place + 16), len(data)))
        text = refused(sealed(data))
        assert text.startswith(f"row {row} is of ")
        file.write_bytes(sealed(data))
        assert sizes(ready(model, folder))[1] == 0


@pytest.mark.parametrize("field", [48, 56])
@pytest.mark.parametrize("value", [-1, 2**40, 2**62, 2**63 - 1])
def test_counts_cannot_lie(field: int, value: int, written: bytearray, model: Path, folder: Path) -> None:
    number(written, field, value)
    assert refused(bytes(written)).startswith("its head says ")
    kept(folder).write_bytes(written)
    assert sizes(ready(model, folder))[1] == 0


def test_weights_of_another_size_are_not_taken(written: bytearray, model: Path, folder: Path) -> None:
    wanted = outputs(ready(model, ""))
    for row in range(number(written, 48)):
        place = HEAD + row * ROW + 16
        number(written, place, number(written, place) - 64)
    kept(folder).write_bytes(sealed(written))
    interpreter = ready(model, folder)
    assert sizes(interpreter)[1] == 0
    assert same(outputs(interpreter), wanted)


def test_large_weights_begin_at_pages_after_the_small_ones(tmp_path: Path, folder: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 8))
    for name, depth, width in (("small", 8, 128), ("large", 128, 300), ("tiny", 300, 16)):
        weights = graph.constant(name, np.ones((width, depth), np.float32))
        x = graph.node("FULLY_CONNECTED", [x, weights, -1], out=(f"y {name}", (1, width)))
    graph.output(x)
    path = tmp_path / "made.tflite"
    path.write_bytes(builder.build())
    ready(path, folder)
    data = bytearray(kept(folder).read_bytes())
    packed.check(bytes(data), every_byte=True)
    rows = [[number(data, HEAD + row * ROW + 8 * i) for i in (1, 2)] for row in range(number(data, 48))]
    large = [at for at, size in rows if size >= 1 << 16]
    assert len(rows) == 3
    assert len(large) == 1
    assert large[0] % mmap.PAGESIZE == 0
    assert all(at < large[0] for at, size in rows if size < 1 << 16)


def test_rows_in_disorder(written: bytearray) -> None:
    first = bytes(written[HEAD : HEAD + ROW])
    written[HEAD : HEAD + ROW] = written[HEAD + ROW : HEAD + 2 * ROW]
    written[HEAD + ROW : HEAD + 2 * ROW] = first
    assert refused(sealed(written)) == "row 1 is not in the order of keys"


@pytest.mark.parametrize(
    ("at", "message"),
    [(0, "byte 0 to 7 are not 'MLPACKED'"), (8, "it is of build "), (40, "its head says")],
    ids=["mark", "build", "size"],
)
def test_other_files_say_why(at: int, message: str, written: bytearray, model: Path, folder: Path) -> None:
    number(written, at, number(written, at) + 1)
    assert message in refused(sealed(written) if at != 40 else bytes(written))
    kept(folder).write_bytes(written)
    assert sizes(ready(model, folder))[1] == 0


@pytest.mark.parametrize("at", [16, 24, 32], ids=["structure", "model_bytes", "modified"])
def test_files_of_another_model_are_sound_but_not_taken(at: int, written: bytearray, model: Path, folder: Path) -> None:
    number(written, at, number(written, at) + 1)
    packed.check(sealed(written), every_byte=True)
    kept(folder).write_bytes(written)
    assert sizes(ready(model, folder))[1] == 0
    assert sizes(ready(model, folder))[0] == 0


def test_damaged_weights_change_values_alone(written: bytearray, model: Path, folder: Path) -> None:
    for row in range(number(written, 48)):
        at, size = (number(written, HEAD + row * ROW + 8 * i) for i in (1, 2))
        written[at : at + size] = bytes([255]) * size
    packed.check(bytes(written))
    with pytest.raises(ModelFormatError, match=r"bytes \d+ to \d+ do not have the checksum of row 0"):
        packed.check(bytes(written), every_byte=True)
    kept(folder).write_bytes(written)
    interpreter = ready(model, folder)
    assert sizes(interpreter)[0] == 0
    assert not same(outputs(interpreter), outputs(ready(model, "")))
