"""minilite.read and read_windows: a file becomes what `minilite run` makes of it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.media import npy, png, wav

import minilite
from minilite.cli import main
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.inputs import Feed, read_input, read_windows

SAMPLES = (np.arange(1000) % 256 - 128) * 64


def copying(shape: tuple[int, ...], kind: TensorType = TensorType.FLOAT32) -> bytes:
    """A model that gives its input back, doubled."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", shape, kind)
    graph.output(graph.node("ADD", [x, x], out=("y", shape, kind)))
    return builder.build()


def ran(folder: Path, *arguments: str) -> np.ndarray:
    assert main(["run", str(folder / "m.tflite"), *arguments, "--out", str(folder / "y.npy")]) == 0
    found: np.ndarray = np.load(folder / "y.npy")
    return found


def test_read_does_what_the_command_does(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(copying((1, 8, 6, 3)))
    path = tmp_path / "p.png"
    path.write_bytes(png(np.random.default_rng(0).integers(0, 256, (9, 20, 3), np.uint8)))
    one = minilite.Interpreter(str(tmp_path / "m.tflite"))
    for options, given in (
        ([], {}),
        (["--mean", "127.5", "--std", "127.5"], {"mean": 127.5, "std": 127.5}),
        (["--mean", "1,2,3", "--fit", "crop"], {"mean": (1, 2, 3), "fit": "crop"}),
        (["--fit", "pad", "--shape", "1,5,7,3"], {"fit": "pad", "shape": (1, 5, 7, 3)}),
    ):
        array = minilite.read(path, one, **given)  # type: ignore[arg-type]
        assert np.array_equal(one.run(array)["y"], ran(tmp_path, str(path), *options))
    one.resize_tensor_input(0, (1, 4, 4, 3))
    assert minilite.read(path, one).shape == (1, 4, 4, 3)
    assert minilite.read(path, one.model, "x").shape == (1, 8, 6, 3)
    assert minilite.read(path, one, 0).shape == (1, 4, 4, 3)


def test_read_refuses_what_it_cannot_tell(tmp_path: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, y = graph.input("x", (2,)), graph.input("y", (2,))
    graph.output(graph.node("ADD", [x, y], out=("z", (2,))))
    one = minilite.Interpreter(builder.build())
    path = tmp_path / "a.npy"
    path.write_bytes(npy(np.float32([1, 2])))
    with pytest.raises(InputError, match="the model's inputs are x, y: name= says which one is read"):
        minilite.read(path, one)
    assert minilite.read(path, one, "y").tolist() == [1, 2]
    with pytest.raises(InputError, match="tensor 2 is no input"):
        minilite.read(path, one, "z")
    with pytest.raises(InputError, match="must be an Interpreter or a Model"):
        minilite.read(path, "m.tflite", "x")
    with pytest.raises(InputError, match=r"a.npy is no \.wav file"):
        read_windows(path, one, "x")


def test_long_sound_is_a_row_per_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.tflite").write_bytes(copying((1, 400)))
    path = tmp_path / "s.wav"
    path.write_bytes(wav(SAMPLES, rate=1000))
    padded = np.concatenate([SAMPLES, np.zeros(400)]).astype(np.float32) / 16384
    for hop, starts in ((None, [0, 400, 800]), (0.25, [0, 250, 500, 750]), (0.6, [0, 600]), (5.0, [0])):
        options = [] if hop is None else ["--hop", str(hop)]
        if len(starts) == 1:
            assert main(["run", str(tmp_path / "m.tflite"), str(path), *options]) == 2
            continue
        expected = np.stack([padded[start : start + 400] for start in starts])
        assert np.array_equal(ran(tmp_path, str(path), *options), expected)
        found = read_windows(path, minilite.load_model(tmp_path / "m.tflite"), hop=hop)
        assert [start for start, _ in found] == [start / 1000 for start in starts]
        assert np.array_equal(2 * np.concatenate([array for _, array in found]), expected)
        capsys.readouterr()
        assert main(["run", str(tmp_path / "m.tflite"), str(path), *options, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)["files"]
        assert [each["start"] for each in facts] == [start / 1000 for start in starts]
        out = tmp_path / f"{hop}.csv"
        assert main(["batch", str(tmp_path / "m.tflite"), str(path), *options, "--out", str(out)]) == 0
        rows = list(csv.DictReader(out.read_text().splitlines()))
        assert [(float(row["start"]), row["row"]) for row in rows] == [(s / 1000, str(n)) for n, s in enumerate(starts)]
        assert np.array_equal(np.float32([json.loads(row["y"]) for row in rows]), expected)


def test_sound_that_fits_is_one_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "m.tflite").write_bytes(copying((1, 400)))
    for name, count in (("short", 300), ("equal", 400)):
        (tmp_path / f"{name}.wav").write_bytes(wav(SAMPLES[:count], rate=1000))
    (tmp_path / "long.wav").write_bytes(wav(SAMPLES, rate=1000))
    (tmp_path / "bad.wav").write_bytes(b"RIFF1234WAVE")
    names = [str(tmp_path / f"{name}.wav") for name in ("short", "equal", "long", "bad")]
    assert (
        main(["batch", str(tmp_path / "m.tflite"), *names, "--out", str(tmp_path / "o.npz"), "--on-error", "skip"]) == 0
    )
    with np.load(tmp_path / "o.npz") as made:
        assert made["row"].tolist() == [0, 0, 0, 1, 2, 0]
        assert made["start"].tolist() == [0, 0, 0, 0.4, 0.8, 0]
        assert [bool(text) for text in made["error"]] == [False] * 5 + [True]
    assert main(["batch", str(tmp_path / "m.tflite"), *names[:2], "--out", str(tmp_path / "p.npz")]) == 0
    with np.load(tmp_path / "p.npz") as made:
        assert sorted(made) == ["file", "row", "y"]
    capsys.readouterr()
    assert main(["batch", str(tmp_path / "m.tflite"), *names[:2], "--hop", "1", "--out", str(tmp_path / "q.npz")]) == 2
    assert "--hop 1: goes with .wav files that are longer" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "m.tflite"), names[0], names[2]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-4:]] == [names[0], *[names[2]] * 3]


PICTURES = {
    "grey": ("L", {}), "palette": ("P", {}), "transparent palette": ("P", {"transparency": 0}), "rgba": ("RGBA", {}),
    "grey and alpha": ("LA", {}), "one bit": ("1", {}), "16 bits": ("I;16", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_in_other_forms(name: str, tmp_path: Path) -> None:
    """All have the same content: a black half beside a white one."""
    mode, options = PICTURES[name]
    pixels = np.zeros((8, 8), np.uint8)
    pixels[:, 4:] = 255
    image = Image.fromarray(pixels.astype(np.uint16) * 257 if mode == "I;16" else pixels)
    image = image if mode == "I;16" else image.convert("RGB").convert(mode)
    image.save(tmp_path / "p.png", **options)  # type: ignore[arg-type]
    for channels in (1, 3):
        array = minilite.read(tmp_path / "p.png", minilite.Interpreter(copying((1, 8, 8, channels))))
        assert np.array_equal(array, np.repeat(pixels[None, ..., None], channels, -1) / np.float32(255))


def test_pictures_that_a_camera_turned_are_upright(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, 4:] = 255
    turned = Image.fromarray(np.rot90(pixels, 1).copy())
    exif = turned.getexif()
    exif[0x0112] = 6  # turned by a quarter, clockwise
    turned.save(tmp_path / "p.png", exif=exif)
    one = minilite.Interpreter(copying((1, 8, 8, 3)))
    assert np.array_equal(minilite.read(tmp_path / "p.png", one)[0], pixels / np.float32(255))


def test_arrays_in_other_forms(tmp_path: Path) -> None:
    one = minilite.Interpreter(copying((1, 2, 3)))
    values = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    for array in (
        values.astype(">f4"),
        np.asfortranarray(values),
        values.astype(np.float64),
        values.astype(np.float16),
    ):
        (tmp_path / "a.npy").write_bytes(npy(array))
        assert np.array_equal(minilite.read(tmp_path / "a.npy", one), values)
    (tmp_path / "a.npy").write_bytes(npy(values.astype(np.int64)))
    with pytest.raises(InputError, match=r"int64"):
        minilite.read(tmp_path / "a.npy", one)


@pytest.mark.parametrize(
    "data", [b"ID3\4", b"\xff\xf3\x84", b"OggS", b"fLaC", b"\0\0\0 ftypM4A ", b"FORM1234AIFF", b".snd"]
)
def test_other_sound_gets_the_command_that_converts_it(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(data + bytes(999))
    with pytest.raises(InputError, match=r"sound in another format than \.wav: ffmpeg -i FILE out\.wav converts it"):
        minilite.read(tmp_path / "s", minilite.Interpreter(copying((1, 400))))


@pytest.mark.parametrize(
    ("kind", "value"), [(TensorType.FLOAT32, 1e300), (TensorType.FLOAT32, -3.5e38), (TensorType.FLOAT16, 65536.0)]
)
def test_numbers_beyond_the_inputs_type_are_refused(kind: TensorType, value: float) -> None:
    feed = Feed.of(minilite.load_model(copying((1, 3), kind)).subgraphs[0].tensors[0])
    given = np.float64([[np.inf, np.nan, value]])
    with pytest.raises(InputError, match=re.escape(f"a.npy has {value:.6g} at element 2, input 'x' (")):
        read_input(npy(given), "a.npy", feed)
    given[0, 2] = 65504
    assert np.array_equal(read_input(npy(given), "a.npy", feed).array, given, equal_nan=True)
