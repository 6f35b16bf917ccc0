"""csrc/format/flexbuffer.c, compiled by itself: maps of numbers, strings and vectors; the flatbuffers package is the
oracle."""

from __future__ import annotations

import ctypes
import math
import os
import pathlib
import shlex
import shutil
import struct
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from simd.guarded import at_end, at_start, shifted

CORE = pathlib.Path(__file__).parents[2] / "csrc"
COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

OTHER, INTEGER, UNSIGNED, REAL, BOOL, STRING, NUMBERS = range(7)
TYPICAL = (
    {"frame_size": 6, "frame_step": 2, "prefill": True},
    {"y_scale": 10.0, "h_scale": 1e-300, "num_classes": 90, "nms_iou_threshold": 0.5},
    {"subset_idxs": [0, 1, 70000], "weights": [1.5, -2.5], "flags": [True, False], "mixed": [1, 2.5, -7]},
    {"text": "a\0b", "umlaut": "ä", "nothing": None, "bytes": b"abc", "map": {"a": "b"}, "words": ["p", "q"]},
    {"small": -5, "big": 2**40, "least": -(2**63), "most": 2**63 - 1, "empty": [], "": 3},
    {"long": "x" * 300, **{f"n{i}": i * 1000 for i in range(70)}},
    {},
)
FAULTS = (ValueError, TypeError, LookupError, OverflowError, struct.error, AttributeError)
"""The exceptions that the package raises for bytes that are no flexbuffer."""


class Value(ctypes.Structure):
    """ml_flex_value."""

    _fields_ = (
        ("kind", ctypes.c_int), ("integer", ctypes.c_int64), ("real", ctypes.c_double),
        ("at", ctypes.c_int64), ("count", ctypes.c_int64), ("width", ctypes.c_int32), ("element", ctypes.c_int32),
    )  # fmt: skip


class Reader:
    """The compiled file."""

    def __init__(self, library: Any) -> None:
        self.open, self.find, self.number = library.ml_flex_open, library.ml_flex_find, library.ml_flex_number
        self.open.restype = self.find.restype = ctypes.c_bool

    def read(self, data: Any, names: Any) -> dict[str, Any] | None:
        """The entries of those names; None if the bytes are refused."""
        array = np.frombuffer(data, np.uint8)
        found = ctypes.create_string_buffer(256)  # an ml_flex_map, with room
        if not self.open(ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(len(array)), found):
            return None
        entries = {}
        for name in names:
            value = Value()
            if self.find(found, ctypes.c_char_p(name.encode()), ctypes.byref(value)):
                entries[name] = self.value(found, array, value)
        return entries

    def value(self, found: Any, array: Any, value: Value) -> Any:
        """A value in Python: numbers as a tuple; None for values that options cannot have."""
        if value.kind == STRING:
            return array[value.at : value.at + value.count].tobytes()
        if value.kind == NUMBERS:
            elements = [Value() for _ in range(value.count)]
            for i, element in enumerate(elements):
                self.number(found, ctypes.byref(value), ctypes.c_int64(i), ctypes.byref(element))
            return tuple(self.value(found, array, element) for element in elements)
        numbers = {INTEGER: value.integer, UNSIGNED: value.integer % 2**64, REAL: value.real, BOOL: bool(value.integer)}
        return numbers.get(value.kind)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    library = tmp_path_factory.mktemp("flexbuffer") / "flexbuffer.so"
    flags = ["-std=c11", "-O1", "-shared", "-fPIC", f"-I{CORE}", "-o", str(library)]
    flags += [flag for name in ("CFLAGS", "LDFLAGS") for flag in shlex.split(os.environ.get(name, ""))]
    subprocess.run([str(COMPILER), *flags, str(CORE / "format" / "flexbuffer.c")], check=True)
    return Reader(ctypes.CDLL(str(library)))


def expected_value(ref: Any) -> Any:
    forms = (
        (ref.IsVector and not ref.IsMap, "AsVector"),
        (ref.IsTypedVector, "AsTypedVector"),
        (ref.IsFixedTypedVector, "AsFixedTypedVector"),
    )
    for taken, form in forms:
        if taken:
            vector = getattr(ref, form)
            if len(vector) > 1000:
                raise ValueError
            parts = [vector[i] for i in range(len(vector))]
            return tuple(part.Value for part in parts) if all(part.IsNumeric for part in parts) else None
    if ref.IsString:
        return bytes(ref.AsStringBytes)
    return ref.Value if ref.IsNumeric or ref.IsBool else None


def expected(data: bytes) -> dict[str, Any]:
    """The value that the package reads."""
    found = flexbuffers.GetRoot(bytearray(data)).AsMap
    return {found.Keys[i].AsKey: expected_value(found.Values[i]) for i in range(len(found))}


@pytest.mark.parametrize("values", TYPICAL, ids=lambda values: next(iter(values), "none") or "empty")
def test_typical(reader: Reader, values: dict[str, Any]) -> None:
    data = bytes(flexbuffers.Dumps(values))
    assert reader.read(data, values) == expected(data)
    assert reader.read(data, ("no", "frame_siz", "frame_size2", "n1000")) == {}
    for offset in range(8):
        assert reader.read(shifted(np.frombuffer(data, np.uint8), offset), values) == expected(data)


def built(add: Callable[[Any], None]) -> bytes:
    """A map made by hand."""
    builder = flexbuffers.Builder()
    with builder.Map():
        add(builder)
    return bytes(builder.Finish())


INTEGERS, REALS = ("Int", "IndirectInt", "UInt", "IndirectUInt"), ("Float", "IndirectFloat")


@pytest.mark.parametrize(
    ("form", "width"), [*((f, w) for f in INTEGERS for w in (0, 1, 2, 4, 8)), *((f, w) for f in REALS for w in (4, 8))]
)
def test_numbers_of_all_widths(reader: Reader, form: str, width: int) -> None:
    numbers = (1.5, -0.25, math.inf) if form in REALS else (0, 1, 127) if "U" in form else (0, 1, -1, -128)
    for number in numbers:
        data = built(lambda b, number=number: (b.Key("x"), getattr(b, form)(number, width)))
        assert reader.read(data, "x") == {"x": number}


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_vectors_of_indirect_numbers(reader: Reader, count: int) -> None:
    """Each element is an offset; at the start of the bytes a wrong one would lie before them."""

    def add(b: Any) -> None:
        b.Key("x")
        with b.Vector():
            for number in range(count):
                b.IndirectInt(number)

    assert reader.read(built(add), "x") == {"x": tuple(range(count))}


def test_large_unsigned_numbers(reader: Reader) -> None:
    data = built(lambda b: (b.Key("x"), b.UInt(2**62, 8)))
    assert reader.read(data.replace(struct.pack("<Q", 2**62), struct.pack("<Q", 2**64 - 2)), "x") == {"x": 2**64 - 2}


@pytest.mark.parametrize(
    "number", [0.0, -0.0, 1.5, -1.5, 2.0**-24, -(2.0**-15), 65504.0, math.inf, -math.inf, math.nan]
)
def test_halves(reader: Reader, number: float) -> None:
    """Floats of two bytes, which the package does not write."""
    data = built(lambda b: (b.Key("x"), b.Int(2**14, 2)))
    place = data.index(struct.pack("<H", 2**14))
    half = data[:place] + struct.pack("<e", number) + data[place + 2 :]
    at = half.rindex(bytes([1 << 2 | 1]))  # the type of the value: INT of two bytes becomes FLOAT
    found = reader.read(half[:at] + bytes([3 << 2 | 1]) + half[at + 1 :], "x")
    assert repr(found) == repr({"x": number})


def shared_vector(entries: int, count: int) -> bytes:
    """A map of so many entries that are all the same vector of `count` bytes."""
    data = bytearray([count, *range(count)])
    keys = []
    for k in range(entries):
        keys.append(len(data))
        data += bytes([ord("a") + k, 0])
    data.append(entries)
    first = len(data)
    data += bytes(first + k - key for k, key in enumerate(keys))
    data += bytes([len(data) - first, 1, entries])
    values = len(data)
    data += bytes(values + k - 1 for k in range(entries))
    data += bytes([11 << 2] * entries)
    return bytes(data + bytes([len(data) - values, 9 << 2, 1]))


@pytest.mark.parametrize("entries", [1, 2, 3, 8])
def test_vectors_that_are_shared_too_often_are_refused(reader: Reader, entries: int) -> None:
    """Their elements and the names are counted each time: as many as there are bytes at most."""
    names = "abcdefgh"[:entries]
    for count in range(60):
        data = shared_vector(entries, count)
        whole = entries * (count + 1) <= len(data)
        assert reader.read(data, names) == (dict.fromkeys(names, tuple(range(count))) if whole else None), count


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("kind", ["INT", "UINT", "FLOAT"])
def test_tuples(reader: Reader, kind: str, count: int) -> None:
    values = [1.5, 2.5, -3.5, 4.5] if kind == "FLOAT" else [1, 2, 300, 4]
    data = built(
        lambda b: (b.Key("x"), b.FixedTypedVectorFromElements(values[:count], getattr(flexbuffers.Type, kind)))
    )
    assert reader.read(data, "x") == {"x": tuple(values[:count])}


def test_last_of_repeated_keys_counts(reader: Reader) -> None:
    data = bytes(flexbuffers.Dumps({"a": 1, "b": 2})).replace(b"b\0", b"a\0")
    assert reader.read(data, "a") == {"a": 2}


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\0\0", b"\0\0\0", b"nonsense", *(bytes(flexbuffers.Dumps(x)) for x in (3, "a", [1, 2], None))],
)
def test_flexbuffers_other_than_maps_read_as_none(reader: Reader, data: bytes) -> None:
    assert reader.read(data, ()) is None


def mutated(rng: np.random.Generator) -> tuple[bytes, Any]:
    """A typical map with some other bytes, mostly near its end, which has types and widths; and its names."""
    values = TYPICAL[rng.integers(len(TYPICAL))]
    data = np.frombuffer(flexbuffers.Dumps(values), np.uint8).copy()
    for _ in range(rng.integers(1, 4)):
        back = rng.integers(1, min(len(data), 12 if rng.random() < 0.5 else len(data)) + 1)
        data[-back] = rng.integers(256) if rng.random() < 0.5 else rng.integers(48)
    return data.tobytes(), values


def test_other_bytes_are_read_as_the_package_reads_them(reader: Reader) -> None:
    """Compares where both accept the bytes, and floats have a width that the package reads."""
    rng = np.random.default_rng(3)
    both = 0
    for _ in range(2500):
        data, names = mutated(rng)
        if (here := reader.read(data, names)) is None:  # nor is the package asked: bytes that are no map keep it busy
            continue
        try:
            there = expected(data)
        except FAULTS:
            continue
        both += 1
        for name in here.keys() & there.keys():
            if here[name] is None and there[name] == ():  # of keys or bools: there are none that could be numbers
                continue
            assert repr(here[name]) == repr(there[name]), (data, name)
    assert both > 500


def test_nothing_beyond_the_bytes_is_read(reader: Reader) -> None:
    """Their memory ends, or begins, where a read ends the process."""
    rng = np.random.default_rng(4)
    taken = 0
    for number in range(3000):
        data, names = mutated(rng)
        if number % 3 == 0:
            data = rng.integers(0, 256 if number % 2 else 12, rng.integers(1, 40), np.uint8).tobytes()
        elif number % 3 == 1:
            data = data[rng.integers(len(data)) :]
        for placed in (at_end, at_start):
            taken += reader.read(placed(np.frombuffer(data, np.uint8)), names) is not None
    assert taken > 500


def test_values_of_any_type_never_read_outside_the_bytes(reader: Reader) -> None:
    """Each type there may be, close to the end and the beginning."""
    data = bytearray(flexbuffers.Dumps({"a": 1}))
    assert data[-5:] == b"\1\4\2\44\1"  # the value, its type, where the map is, the root's type and width
    for packed in range(256):
        for offset in (0, 1, 2, 4, 7, 255):
            data[-5:-3] = bytes((offset, packed))
            for placed in (at_end, at_start):
                reader.read(placed(np.frombuffer(data, np.uint8)), "a")
