"""Input files of strangers: whatever is in them, reading one gives an array or an InputError."""

from __future__ import annotations

import ast
import io
import random
import struct
import wave
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import minilite
from minilite import inputs
from minilite.cli import main
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import Quantization
from minilite.inputs import Feed, read_input

SOURCES = Path(minilite.__file__).parent
FEEDS = (
    Feed(Tensor(0, "floats", TensorType.FLOAT32, (1, 16)), (1, 16)),
    Feed(Tensor(0, "picture", TensorType.UINT8, (1, 8, 8, 3)), (1, -1, -1, 3)),
    Feed(Tensor(0, "grey", TensorType.FLOAT32, (1, 4, 4, 1)), (1, 4, 4, 1), fit="pad"),
    Feed(Tensor(0, "sound", TensorType.INT8, (1, 16), quantization=Quantization((0.1,), (0,))), (1, 16), rate=8000),
    Feed(Tensor(0, "samples", TensorType.INT16, (1, -1)), (1, -1)),
    Feed(Tensor(0, "texts", TensorType.STRING, (1,)), (-1,)),
)
MUTANTS = 300


def npy(array: Any) -> bytes:
    made = io.BytesIO()
    np.lib.format.write_array(made, np.asarray(array))
    return made.getvalue()


def npz(save: Callable[..., None]) -> bytes:
    made = io.BytesIO()
    save(made, floats=np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 16), other=np.arange(5))
    return made.getvalue()


def sound(width: int, channels: int = 2, rate: int = 16000) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(bytes(range(48)) * width)
    return made.getvalue()


def raw_sound(bits: int, rate: int = 16000, form: int = 1) -> bytes:
    """Returns a .wav file with a header that no writer makes."""
    header = struct.pack("<IHHIIHH", 16, form, 1, rate, rate * bits // 8, bits // 8, bits)
    return b"RIFF" + struct.pack("<I", 132) + b"WAVEfmt " + header + b"data" + struct.pack("<I", 96) + bytes(96)


def picture(kind: str, mode: str = "RGB") -> bytes:
    made = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    Image.fromarray(noise).convert(mode).save(made, kind)
    return made.getvalue()


SEEDS: dict[str, bytes] = {
    "floats.npy": npy(np.linspace(0, 1, 16, dtype=np.float32).reshape(1, 16)),
    "other order.npy": npy(np.asfortranarray(np.arange(32, dtype=">i2").reshape(2, 16))),
    "texts.npy": npy(np.array(["a", "bc"])),
    "fields.npy": npy(np.zeros(3, [("a", "<f4"), ("b", "<i2", (2,))])),
    "stored.npz": npz(np.savez),
    "packed.npz": npz(np.savez_compressed),
    **{f"{8 * width} bits.wav": sound(width) for width in (1, 2, 3, 4)},
    **{f"form {form}.wav": raw_sound(bits, form=form) for form, bits in ((3, 32), (3, 64), (6, 8), (7, 8))},
    **{f"picture.{kind.lower()}": picture(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")},
    "palette.png": picture("PNG", "P"),
    "ink.tiff": picture("TIFF", "CMYK"),
}


def mutants(data: bytes, seed: str) -> list[bytes]:
    """Yields files with bytes changed, cut or doubled, or with numbers that make sizes and offsets overflow."""
    rng, found = random.Random(seed), []
    numbers = [0, 1, 2, 3, 6, 48, 96, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1]
    for _ in range(MUTANTS):
        made = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            at = rng.randrange(1 + min(len(made), 200) if rng.random() < 0.7 else 1 + len(made))
            what = rng.randrange(6)
            if what < 2:
                made[at : at + 1] = bytes([rng.randrange(256)])
            elif what == 2:
                made[at : at + 4] = struct.pack(rng.choice("<>") + "I", rng.choice(numbers))
            elif what == 3:
                made[at : at + 2] = struct.pack(rng.choice("<>") + "H", rng.choice(numbers) & 0xFFFF)
            elif what == 4:
                made[at : at + rng.randrange(1, 60)] = made[:at][: rng.randrange(60)]
            elif at > 16:
                del made[at:]
        found.append(bytes(made))
    return found


def outcome(data: bytes, name: str, feed: Feed) -> str:
    """Nothing but an InputError, whose message is one line and names the file, leaves the reader."""
    try:
        reading = read_input(data, name, feed)
    except InputError as error:
        told = str(error)
    else:
        assert isinstance(reading.array, np.ndarray)
        return "read"
    assert name in told or feed.label() in told
    assert "\n" not in told
    return "refused"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEEDS)
def test_damaged_files_are_read_or_refused(name: str) -> None:
    found = [outcome(SEEDS[name], name, feed) for feed in FEEDS]
    found += [outcome(data, name, FEEDS[n % len(FEEDS)]) for n, data in enumerate(mutants(SEEDS[name], name))]
    assert found.count("refused") > MUTANTS // 20


HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (8, "
STRANGE: dict[str, bytes] = {
    "endless header.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", len(HEADER)) + HEADER,
    "deep header.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000,
    "huge.npy": npy(np.zeros(1, np.float32)).replace(b"(1,)", b"(9999999999999999999,)"),
    "objects.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", 61) + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(61),
    "not packed.npz": SEEDS["packed.npz"][:60] + b"\xff" * 60 + SEEDS["packed.npz"][120:],
    "48 bits.wav": raw_sound(48),
    "768 bits.wav": raw_sound(768),
    "slow.wav": raw_sound(16, 1),
    "bomb.png": SEEDS["picture.png"][:16] + struct.pack(">II", 60000, 60000) + SEEDS["picture.png"][24:],
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_files_that_libraries_fail_on_are_refused(name: str) -> None:
    for feed in FEEDS[:5]:
        assert outcome(STRANGE[name], name, feed) == "refused" or name == "slow.wav"


RAISED = (
    TypeError("a\nb"),
    KeyError("k"),
    RecursionError(),
    struct.error("s"),
    zlib.error("z"),
    MemoryError(),
    AssertionError(),
)
READERS = {
    "numpy.load": "floats.npy",
    "PIL.Image.open": "picture.png",
    "PIL.Image.Image.convert": "picture.png",
}


@pytest.mark.parametrize("reader", READERS)
def test_any_exception_of_a_library_becomes_an_input_error(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in RAISED:

        def fails(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(reader, fails)
        assert outcome(SEEDS[READERS[reader]], "given", FEEDS[1 if "picture" in READERS[reader] else 0]) == "refused"
        if reader == "numpy.load":
            assert outcome(SEEDS["stored.npz"], "given", FEEDS[0]) == "refused"


def test_libraries_read_in_one_place() -> None:
    """Calls of readers of other projects are within `with foreign(...)`."""
    readers = {"np.load", "Image.open", "zipfile.ZipFile", "arrow.parquet.ParquetFile", "soxr.resample"}
    readers |= {"self._file.read_row_group", "ImageOps.exif_transpose"}
    seen: set[str] = set()
    for path in [*SOURCES.glob("inputs/*.py"), *SOURCES.glob("batch/*.py"), SOURCES / "cli" / "feeding.py"]:
        tree = ast.parse(path.read_text())
        guarded = {
            id(below)
            for node in ast.walk(tree)
            if isinstance(node, ast.With) and any("foreign(" in ast.unparse(item) for item in node.items)
            for below in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in readers:
                seen.add(ast.unparse(node.func))
                assert id(node) in guarded, f"{path.name}:{node.lineno}"
    assert seen == readers


def test_a_batch_goes_on_after_such_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("ABS", [graph.input("x", (1, 16), signature=(-1, 16))], out=("y", (1, 16))))
    (tmp_path / "m.tflite").write_bytes(builder.build())
    (tmp_path / "good.npy").write_bytes(SEEDS["floats.npy"])
    names = [name for name in STRANGE if name != "slow.wav"]
    rows = [tmp_path / "good.bin"]
    rows[0].write_bytes(sound(2))
    for name in names:
        path = tmp_path / f"{name}.bin"  # not a table's suffix: each file is a row
        path.write_bytes(STRANGE[name])
        rows += [path, rows[0]]
    out = tmp_path / "out.npz"
    assert main(["batch", str(tmp_path / "m.tflite"), *map(str, rows), "--out", str(out), "--on-error", "skip"]) == 0
    assert f"{len(names)} rows failed" in capsys.readouterr().out
    with np.load(out, allow_pickle=False) as made:
        assert [bool(text) for text in made["error"]] == [False, *[True, False] * len(names)]


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        inputs.load_input("-", FEEDS[0])
