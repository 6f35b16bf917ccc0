"""A model's metadata and associated files: read completely, and refused in one line if they are hostile."""

from __future__ import annotations

import copy
import io
import pathlib
import pickle
import random
import struct
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
from built import relu_chain
from support.metadata import RGB, labelled, metadata, normalized, passing, sound, with_files

import minilite
from minilite.format import associated
from minilite.format.about import ModelMetadata, read_metadata
from minilite.format.metadata import Metadata, split_labels
from minilite.format.reader import load_model, read_model

ABOUT = metadata(
    [{0: "image", 1: "what is seen"} | RGB | normalized([1.5, 2.0, 2.5], [4.0]), sound(16000, 2)],
    [{0: "scores"} | labelled("labels.txt"), labelled("numbers.txt", 3)],
    name="seer", description="sees", version="v1", author="somebody", license="free",
)  # fmt: skip
FILES = {"labels.txt": "cat \ndog\n\n", "numbers.txt": b"\xef\xbb\xbfone\r\ntwo", "other.txt": "x"}
MODEL = with_files(passing((1, 2), about=ABOUT), FILES)


def test_all_that_metadata_say_is_read() -> None:
    message = read_model(MODEL).metadata
    assert (message.name, message.description, message.version) == ("seer", "sees", "v1")
    assert (message.author, message.license) == ("somebody", "free")
    image, heard = message.inputs
    assert (image.name, image.description, image.color_space) == ("image", "what is seen", "RGB")
    assert (image.mean, image.std) == ((1.5, 2.0, 2.5), (4.0,))
    assert (heard.sample_rate, heard.channels) == (16000, 2)
    scores, numbers = message.outputs
    assert [file.labels for file in scores.files] == ["", "axis"]
    assert scores.files[1].description == "what it shows"
    assert numbers.files[1].labels == "value"
    assert message["TFLITE_METADATA"] == ABOUT
    assert list(message) == ["TFLITE_METADATA"]


def test_labels_come_from_associated_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(MODEL)
    for model in (read_model(MODEL), load_model(path), minilite.Interpreter(path).model):
        assert set(model.associated_files) == set(FILES)
        assert model.associated_files["other.txt"] == b"x"
        assert model.associated_files is model.associated_files
        assert model.metadata.labels() == model.metadata.labels(0) == ("cat", "dog")
        assert model.metadata.labels(1) == ("one", "two")
        assert model.metadata.labels(2) == ()


def test_a_lone_file_of_labels_belongs_to_the_first_output() -> None:
    bare = passing((1, 2))
    assert read_model(with_files(bare, {"my_labels.txt": "a\nb"})).metadata.labels() == ("a", "b")
    assert read_model(with_files(bare, {"my_labels.txt": "a\nb"})).metadata.labels(1) == ()
    assert read_model(with_files(bare, {"labels.txt": "a", "labels_de.txt": "b"})).metadata.labels() == ()
    assert read_model(with_files(bare, {"vocab.txt": "a"})).metadata.labels() == ()
    assert split_labels(b"a\n\n b\n\n") == ("a", "", "b")


def test_models_without_say_nothing() -> None:
    model = read_model(relu_chain())
    assert model.associated_files == {}
    assert model.metadata.about == ModelMetadata()
    assert (model.metadata.name, model.metadata.inputs, model.metadata.labels()) == ("", (), ())
    assert Metadata().about == ModelMetadata()
    assert Metadata({"a": b"b"}) == {"a": b"b"}


def test_copies_keep_them() -> None:
    for made in (pickle.loads(pickle.dumps(read_model(MODEL))), copy.deepcopy(read_model(MODEL))):
        assert made.associated_files == read_model(MODEL).associated_files
        assert made.metadata.labels() == ("cat", "dog")
    assert minilite.Interpreter(model_content=MODEL).run(np.ones((1, 2), np.float32))["y"].tolist() == [[1, 1]]


def refusal(model: bytes) -> str:
    """Returns the refusal of a model's files, in one line; the model itself runs."""
    minilite.Interpreter(model_content=model).allocate_tensors()
    with pytest.raises(minilite.ModelFormatError) as caught:
        _ = read_model(model).associated_files
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("associated files: ")
    return str(caught.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "../up.txt", "a/../../up", "C:\\x", "\\\\host\\x", "a\nb"])
def test_names_that_lead_out_are_refused(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "leads out of the archive" in refusal(with_files(relu_chain(), {"good": b"", name: b"x"}))
    assert list(tmp_path.iterdir()) == []


def test_archives_that_unpack_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    big = bytes(1 << 20)
    assert "65 files of 68157440 bytes, must be at most 1000 files" in refusal(
        with_files(relu_chain(), {str(i): big for i in range(65)})
    )
    assert "1001 files" in refusal(with_files(relu_chain(), {str(i): b"" for i in range(1001)}))
    packed = with_files(relu_chain(), {"a": big})
    at = packed.rindex(b"PK\x01\x02") + 24  # the size that the directory states
    assert struct.unpack_from("<I", packed, at)[0] == len(big)
    lying = packed[:at] + struct.pack("<I", 10) + packed[at + 4 :]
    assert "cannot be read" in refusal(lying)
    tracemalloc.start()
    with pytest.raises(minilite.ModelFormatError):
        associated.read_associated_files(lying)
    assert tracemalloc.get_traced_memory()[1] < len(big), "no more is unpacked than the directory states"
    tracemalloc.stop()
    monkeypatch.setattr(associated, "MOST_BYTES", len(big))
    assert len(read_model(packed).associated_files["a"]) == len(big)


def test_broken_archives_are_refused() -> None:
    good = with_files(relu_chain(), {"labels.txt": b"a\nb\n" * 100})
    start = good.index(b"PK\x03\x04")
    assert "cannot be read" in refusal(good[: start + 45] + bytes(4) + good[start + 49 :])
    at = good.rindex(b"PK\x01\x02")
    encrypted = bytearray(good)
    encrypted[at + 8] |= 1
    assert "cannot be read" in refusal(bytes(encrypted))
    whole = io.BytesIO(relu_chain())
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", b"x")
    assert "packed by method 14" in refusal(whole.getvalue())


def test_entries_without_a_name_are_refused() -> None:
    made = io.BytesIO(relu_chain())
    with zipfile.ZipFile(made, "a") as archive:
        entry = zipfile.ZipInfo("x")
        entry.filename = entry.orig_filename = ""
        archive.writestr(entry, b"1")
    assert "has no name" in refusal(made.getvalue())


def test_folders_are_no_files() -> None:
    assert set(read_model(with_files(relu_chain(), {"a/": b"", "a/b": b"1"})).associated_files) == {"a/b"}


@pytest.mark.parametrize("stage", ["is_zipfile", "ZipFile"])
@pytest.mark.parametrize("raised", [IndexError, zipfile.BadZipFile, TypeError, struct.error, OverflowError, OSError])
def test_any_exception_of_zipfile_becomes_one_refusal(
    stage: str, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise raised("first\nsecond")

    model = with_files(relu_chain(), {"a": b""})
    monkeypatch.setattr(zipfile, stage, fails)
    assert refusal(model) == ("associated files: the zip archive at the file's end cannot be read: first second")


def test_zips_of_models_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise IndexError

    monkeypatch.setattr(zipfile, "ZipFile", fails)
    with pytest.raises(minilite.ModelFormatError, match="a zip archive that is not whole"):
        minilite.Interpreter(model_content=b"PK\x03\x04" + bytes(100))


def test_damaged_archives_give_files_or_one_error() -> None:
    random_ = random.Random(7)
    good = with_files(relu_chain(), FILES)
    start, errors = good.index(b"PK\x03\x04"), []
    for _ in range(400):
        data = bytearray(good)
        for _ in range(random_.randrange(1, 4)):
            data[random_.randrange(start, len(data))] = random_.randrange(256)
        try:
            found = associated.read_associated_files(bytes(data))
        except minilite.ModelFormatError as error:
            errors.append(str(error))
        else:
            assert sum(map(len, found.values())) < 1000
    assert errors
    assert not any("\n" in error for error in errors)


def test_damaged_metadata_give_values_or_one_error() -> None:
    random_ = random.Random(8)
    errors = []
    for turn in range(1500):
        data = bytearray(ABOUT)
        for _ in range(random_.randrange(1, 4)):
            data[random_.randrange(8, len(data))] = random_.choice((0, 1, 127, 255, random_.randrange(256)))
        cut = random_.randrange(len(data)) if turn % 5 == 0 else len(data)
        try:
            read_metadata(bytes(data[:cut]))
        except minilite.ModelFormatError as error:
            errors.append(str(error))
    assert len(errors) > 100
    assert all(error.startswith("metadata TFLITE_METADATA: ") and "\n" not in error for error in errors)


def test_metadata_that_refer_to_the_same_bytes_too_often_are_refused() -> None:
    """Each of a thousand tensors names the same megabyte."""
    text = 1 << 20
    tensors = 1000
    # Root at 64, its list of graphs, one graph with a list of tensors, which all are the same table with the same text.
    data = bytearray(8192 + text)

    def put(at: int, *numbers: int) -> None:
        struct.pack_into(f"<{len(numbers)}I", data, at, *numbers)

    def table(at: int, fields: dict[int, int]) -> None:
        """A table at `at`, its vtable 48 bytes before, fields of references."""
        struct.pack_into("<2H", data, at - 48, 4 + 2 * 12, 64)
        for number, (slot, target) in enumerate(fields.items()):
            struct.pack_into("<H", data, at - 48 + 4 + 2 * slot, 4 + 4 * number)
            put(at + 4 + 4 * number, target - (at + 4 + 4 * number))
        struct.pack_into("<i", data, at, 48)

    put(0, 64)
    data[4:8] = b"M001"
    table(64, {3: 256})
    put(256, 1, 512 - 260)
    table(512, {2: 1024})
    put(1024, tensors)
    for i in range(tensors):
        put(1028 + 4 * i, 6000 - (1028 + 4 * i))
    table(6000, {0: 8188})
    put(8188, text - 1)
    with pytest.raises(minilite.ModelFormatError, match="leads to more than"):
        read_metadata(bytes(data))


def test_tables_with_fields_outside_the_bytes_are_refused() -> None:
    at = struct.unpack_from("<I", ABOUT)[0]
    for distance, place in ((at + 10, -10), (at - len(ABOUT) - 7, len(ABOUT) + 7)):
        data = bytearray(ABOUT)
        struct.pack_into("<i", data, at, distance)
        with pytest.raises(
            minilite.ModelFormatError, match=f"the table at byte {at} has its fields at byte {place} of"
        ):
            read_metadata(bytes(data))


def test_lists_that_are_longer_than_the_buffer_are_refused() -> None:
    """Lists of tables, and lists of numbers."""
    for mark in (struct.pack("<If", 3, 1.5), struct.pack("<I", 2)):
        at = ABOUT.index(mark)
        with pytest.raises(minilite.ModelFormatError, match="is broken"):
            read_metadata(ABOUT[:at] + struct.pack("<I", 2**31) + ABOUT[at + 4 :])


def test_other_identifiers_are_refused() -> None:
    model = read_model(passing((1, 2), about=b"\x00" * 16))
    with pytest.raises(minilite.ModelFormatError, match="identifier at byte 4 is"):
        _ = model.metadata.name
    assert model.metadata["TFLITE_METADATA"] == bytes(16)
