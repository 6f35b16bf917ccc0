"""Bundles: files of the public builders are read back section by section; damaged ones are refused with coordinates."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from built import relu_chain

import minilite
from minilite import Bundle
from minilite._native import file as native_file
from minilite.cli import main
from minilite.errors import InputError, MiniliteError, ModelFormatError, ModelNotFoundError
from minilite.format.builder import ModelBuilder
from minilite.format.bundle import is_bundle

TOKENIZER = json.dumps({"model": {"vocab": {f"word{i}": i for i in range(300)}}}).encode()
PIECES = bytes(range(256)) * 3
MUTANTS = 1000


def weighted() -> bytes:
    """A model with float weights, which a mapping at an odd byte cannot use where they are."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 64))
    w = graph.constant("w", np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32))
    graph.output(graph.node("FULLY_CONNECTED", [x, w], out=("y", (1, 8))))
    return builder.build()


def task(**packed: bool) -> bytes:
    """A .task as MediaPipe writes it: a zip archive; `packed` chooses names that are deflated."""
    made = io.BytesIO()
    files = {
        "a.tflite": relu_chain(),
        "b.tflite": weighted(),
        "TOKENIZER_MODEL": PIECES,
        "METADATA": b"meta",
        "x.txt": b"",
    }
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            method = zipfile.ZIP_DEFLATED if packed.get(name.split(".")[0]) else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return made.getvalue()


def litertlm(folder: Path) -> bytes:
    """A .litertlm that the public builder writes."""
    builder_of = pytest.importorskip("litert_lm_builder.litertlm_builder")
    files = {
        "a.tflite": relu_chain(),
        "b.tflite": weighted(),
        "t.json": TOKENIZER,
        "t.model": PIECES,
        "d.bin": b"data" * 9,
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    made = builder_of.LitertLmFileBuilder()
    for key, value, kind in (
        ("Authors", "we", "STRING"),
        ("n", 2.5, "DOUBLE"),
        ("k", -3, "INT16"),
        ("yes", True, "BOOL"),
    ):
        made.add_system_metadata(builder_of.Metadata(key=key, value=value, dtype=builder_of.DType[kind]))
    kinds = builder_of.TfLiteModelType
    made.add_tflite_model(str(folder / "a.tflite"), kinds.EMBEDDER, backend_constraint="cpu")
    made.add_tflite_model(str(folder / "b.tflite"), kinds.VISION_ENCODER)
    made.add_tflite_model(str(folder / "b.tflite"), kinds.AUX)
    made.add_hf_tokenizer(str(folder / "t.json"))
    made.add_sentencepiece_tokenizer(str(folder / "t.model"), kinds.EMBEDDER)
    made.add_generic_binary_data(str(folder / "d.bin"))
    made.add_generic_binary_data(str(folder / "t.model"))
    out = io.BytesIO()
    made.build(out)
    return out.getvalue()


def test_a_litertlm_of_the_public_builder_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "m.litertlm"
    path.write_bytes(litertlm(tmp_path))
    bundle = Bundle(path)
    assert (bundle.kind, bundle.version.split(".")[0]) == (".litertlm", "1")
    assert {key: bundle.about[key] for key in ("Authors", "n", "k", "yes")} == {
        "Authors": "we",
        "n": 2.5,
        "k": -3,
        "yes": True,
    }
    expected = {
        "embedder": ("model", relu_chain()),
        "vision_encoder": ("model", weighted()),
        "aux": ("model", weighted()),
        "tokenizer.json": ("tokenizer", TOKENIZER),
        "tokenizer_embedder": ("tokenizer", PIECES),
        "data": ("data", b"data" * 9),
        "data_1": ("data", PIECES),
    }
    assert {each.name: (each.kind, bytes(bundle.read(each.name))) for each in bundle.sections} == expected
    assert [each.packed for each in bundle.sections] == [False, False, False, True, False, False, False]
    assert bundle.sections[0].about["backend_constraint"] == "cpu"
    assert bundle.models() == ["embedder", "vision_encoder", "aux"]
    assert bundle.section("1") == bundle.section("vision_encoder")


@pytest.mark.parametrize("packed", [{}, {"a": True, "b": True, "TOKENIZER_MODEL": True}])
def test_a_task_is_read_back(packed: dict[str, bool], tmp_path: Path) -> None:
    path = tmp_path / "m.task"
    path.write_bytes(task(**packed))
    bundle = Bundle(path)
    kinds = {each.name: each.kind for each in bundle.sections}
    assert kinds == {
        "a.tflite": "model", "b.tflite": "model", "TOKENIZER_MODEL": "tokenizer", "METADATA": "metadata", "x.txt": "data"
    }  # fmt: skip
    assert bytes(bundle.read("TOKENIZER_MODEL")) == PIECES
    assert bytes(bundle.read("x.txt")) == b""
    for name, data in (("a.tflite", relu_chain()), ("b.tflite", weighted())):
        assert bytes(bundle.read(name)) == data
        assert minilite.load_model(f"{path}:{name}") == minilite.load_model(data)


def test_a_bundle_that_cannot_be_mapped_is_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where files are not mapped, and from pipes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("b.tflite", weighted() + bytes(1 << 18))
        archive.writestr("t.json", TOKENIZER)
    (tmp_path / "m.task").write_bytes(made.getvalue())
    monkeypatch.setattr(native_file, "_mapped", lambda *_: None)
    bundle = Bundle(tmp_path / "m.task")
    assert [section.name for section in bundle.sections] == ["b.tflite", "t.json"]
    x = np.ones((1, 64), np.float32)
    expected = minilite.Interpreter(weighted()).run(x)["y"]
    assert np.array_equal(minilite.Interpreter(f"{tmp_path / 'm.task'}:b.tflite").run(x)["y"], expected)


def test_a_section_runs_like_a_file_wherever_it_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(1).normal(size=(1, 64)).astype(np.float32)
    expected = minilite.Interpreter(weighted()).run(x)["y"]
    for shift in range(8):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("n" * (shift + 1), b"")
            archive.writestr("b.tflite", weighted() + bytes(1 << 16))  # large enough to be mapped
        (tmp_path / "m.task").write_bytes(made.getvalue())
        name = f"{tmp_path / 'm.task'}:b.tflite"
        for load in ("map", "copy"):
            one = minilite.Interpreter(minilite.load_model(name, load))  # type: ignore[arg-type]
            assert np.array_equal(one.run(x)["y"], expected)
    np.save(tmp_path / "x.npy", x)
    assert main(["run", name, str(tmp_path / "x.npy"), "--out", str(tmp_path / "y.npy")]) == 0
    assert np.array_equal(np.load(tmp_path / "y.npy"), expected)
    assert main(["batch", name, str(tmp_path / "x.npy"), "--out", str(tmp_path / "y.npz"), "--workers", "2"]) == 0
    assert np.array_equal(np.load(tmp_path / "y.npz")["y"], expected)
    assert capsys.readouterr().out.startswith("m.task:b.tflite: 1 node")


def test_bundles_within_bundles(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("stored.task", task())
        archive.writestr("packed.task", task(), zipfile.ZIP_DEFLATED)
        archive.writestr("a:b.tflite", relu_chain())
    path = tmp_path / "outer:1.task"  # names of files may have colons too
    path.write_bytes(made.getvalue())
    bundle = Bundle(path)
    assert [each.kind for each in bundle.sections] == ["bundle", "bundle", "model"]
    assert bundle.models() == ["stored.task:a.tflite", "stored.task:b.tflite", "a:b.tflite"]
    for name in (*bundle.models(), "packed.task:a.tflite"):
        assert minilite.load_model(f"{path}:{name}").subgraphs
    assert Bundle(f"{path}:stored.task").sections == Bundle(task()).sections
    assert bundle.bundle("packed.task").name == f"{path}:packed.task"
    assert is_bundle(path)
    assert is_bundle(f"{path}:packed.task")
    assert not is_bundle(f"{path}:a:b.tflite")
    assert not is_bundle(tmp_path)


def test_inspect_lists_sections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "m.task"
    path.write_bytes(task(TOKENIZER_MODEL=True))
    assert main(["inspect", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "m.task: bundle (.task), 5 sections"
    assert lines[3].split() == ["1", "b.tflite", "model", str(Bundle(path).sections[1].offset), str(len(weighted())),
                                "1", "node:", "float32", "1x64", "->", "float32", "1x8"]  # fmt: skip
    assert lines[4].split()[1:3] == ["TOKENIZER_MODEL", "tokenizer"]
    assert lines[-1].endswith("m.task:a.tflite")
    assert main(["inspect", f"{path}:b.tflite"]) == 0
    assert "FULLY_CONNECTED" in capsys.readouterr().out
    assert main(["inspect", str(path), "--check"]) == 1
    assert "a.tflite, b.tflite" in capsys.readouterr().err
    assert main(["run", str(path)]) == 1
    assert (
        "it looks like a bundle (.task or .zip) of 2 models, a.tflite, b.tflite: ':a.tflite' after its path"
        in capsys.readouterr().err
    )


def refused(data: bytes | str) -> str:
    with pytest.raises(ModelFormatError) as caught:
        Bundle(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_no_bundle(tmp_path: Path) -> None:
    assert "byte 0 to 7 are" in refused(relu_chain())
    with pytest.raises(ModelNotFoundError, match="no such file"):
        Bundle(tmp_path / "none.task")
    with pytest.raises(InputError, match="must be a path"):
        Bundle(3)  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match=r"has no section 'c': it has a\.tflite, b\.tflite, TOKENIZER_MODEL, METADATA, x\.txt"
    ):
        Bundle(task()).read("c")
    with pytest.raises(ModelFormatError, match=r"section 'METADATA' at byte .*: the model has 4 bytes"):
        Bundle(task()).model("METADATA")


def test_damaged_tasks_are_refused_with_coordinates() -> None:
    whole = task(a=True)
    assert "the index at the end of the zip archive cannot be read" in refused(whole[:-30])
    index = whole.index(b"PK\x01\x02")
    second = whole.index(b"PK\x01\x02", index + 1)
    at = Bundle(whole).sections[1].offset - 38

    def changed(position: int, form: str, value: int) -> bytes:
        data = bytearray(whole)
        struct.pack_into(form, data, position, value)
        return bytes(data)

    assert f"section 'b.tflite' at byte {at}: there is" in refused(changed(at, "<I", 7))
    assert f"section 'b.tflite' at byte {at}: is packed by method 12" in refused(changed(second + 10, "<H", 12))
    assert f"section 'b.tflite' at byte {at}: is encrypted" in refused(changed(second + 8, "<H", 1))
    assert f"section 'b.tflite' at byte {at}: is stored as it is in" in refused(changed(second + 24, "<I", 9))
    assert f"section 'b.tflite' at byte {at}: reaches byte" in refused(changed(second + 20, "<I", 1 << 20))
    assert "section 'a.tflite' at byte 0 says that its" in refused(changed(index + 24, "<I", 1 << 30))
    for position, form, value, text in (
        (index + 24, "<I", 100, "unpacks to more than 100 bytes, the index says 100"),
        (index + 16, "<I", 5, "its checksum is .*, the index says 0x5"),
    ):
        with pytest.raises(ModelFormatError, match=text):
            Bundle(changed(position, form, value)).read("a.tflite")


def test_damaged_litertlms_are_refused_with_coordinates(tmp_path: Path) -> None:
    whole = litertlm(tmp_path)
    (end,) = struct.unpack_from("<Q", whole, 24)

    def changed(position: int, form: str, value: int) -> bytes:
        data = bytearray(whole)
        struct.pack_into(form, data, position, value)
        return bytes(data)

    assert "the file has 20 bytes, the start of a .litertlm file has 32" in refused(whole[:20])
    assert "the version at byte 8 is 2." in refused(changed(8, "<I", 2))
    assert f"the header's end at byte 24 is {1 << 40}, must be from 40 to {len(whole)}" in refused(
        changed(24, "<Q", 1 << 40)
    )
    assert f"the header, bytes 32 to {end}, is broken" in refused(changed(32, "<I", 1 << 30))
    begin = whole.index(struct.pack("<Q", 16384))
    assert "section 0 (embedder) lies from byte 7 to" in refused(changed(begin, "<Q", 7))
    assert f"the file's at {len(whole) - 100}" in refused(whole[:-100])
    packed = Bundle(whole).section("tokenizer.json")
    assert "section 3 (tokenizer.json) at byte" in refused(changed(packed.offset - 8, "<Q", 1 << 50))
    for data in (changed(packed.offset - 8, "<Q", 9), changed(packed.offset + 5, "<I", 0xFFFFFFFF)):
        with pytest.raises(ModelFormatError, match=r"section 'tokenizer\.json' at byte .*unpack"):
            Bundle(data).read("tokenizer.json")


def use(data: bytes) -> int:
    """Reads everything in a bundle; returns the number of sections that could be read."""
    done, texts = 0, []
    try:
        for section in (bundle := Bundle(data)).sections:
            try:
                assert len(bundle.read(section.name)) == section.bytes
                done += 1
                if section.kind == "model":
                    minilite.Interpreter(bundle.model(section.name)).allocate_tensors()
            except MiniliteError as error:
                texts.append(str(error))
    except MiniliteError as error:
        texts.append(str(error))
    assert not any("\n" in text and "operator" not in text for text in texts)
    return done


@pytest.mark.parametrize("kind", ["task", "litertlm"])
def test_mutants_give_sections_or_an_error(kind: str, tmp_path: Path) -> None:
    whole = litertlm(tmp_path) if kind == "litertlm" else task(a=True, TOKENIZER_MODEL=True)
    header = struct.unpack_from("<Q", whole, 24)[0] if kind == "litertlm" else 0
    index = range(header) if header else range(whole.index(b"PK\x01\x02"), len(whole))
    draw = random.Random(7)
    done = []
    for number in range(MUTANTS):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 8))):
            where = draw.choice(index) if number % 3 else draw.randrange(len(data))
            data[where] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        if number % 16 == 0:
            del data[draw.randrange(len(data)) :]
        done.append(use(bytes(data)))
    assert {0, len(Bundle(whole).sections)} <= set(done)
