"""Files read as arrays for tensors: images, sound, arrays, text, raw bytes, by the tensor's type and quantization."""

from __future__ import annotations

import builtins
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image, features
from support.media import npy, npz, png, wav

from minilite.errors import InputError
from minilite.format.about import TensorMetadata
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.inputs import Feed, Reading, load_input

F32, U8, S8, S16, S32 = TensorType.FLOAT32, TensorType.UINT8, TensorType.INT8, TensorType.INT16, TensorType.INT32
BYTES = Quantization((1 / 127,), (-1,))
PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 14


def rounded(values: Any) -> Any:
    """Rounded to nearest, ties away from zero, as QUANTIZE does."""
    return np.copysign(np.floor(np.abs(values) + 0.5), values)


def feed(
    shape: tuple[int, ...], kind: TensorType = F32, quantization: Quantization = NOT_QUANTIZED, **told: Any
) -> Feed:
    """A tensor to be fed; -1 for what is open."""
    options = {key: told.pop(key) for key in ("mean", "std") if key in told}
    tensor = Tensor(0, "x", kind, tuple(abs(dim) for dim in shape), shape, quantization=quantization)
    return Feed.of(tensor, TensorMetadata(**told) if told else None)._replace(**options)


@pytest.fixture
def read(tmp_path: pathlib.Path) -> Any:
    """Returns a function that writes bytes to a file and reads the file for a tensor."""

    def read_(data: bytes, wanted: Feed) -> Reading:
        path = tmp_path / "given.file"
        path.write_bytes(data)
        return load_input(path, wanted)

    return read_


def test_pixels_of_bytes_stay_and_floats_are_normalized(read: Any) -> None:
    data = png(PIXELS)
    shape = (1, 2, 3, 3)
    np.testing.assert_array_equal(read(data, feed(shape, U8, BYTES)).array, PIXELS[None])
    less = read(data, feed(shape, S8, BYTES))
    assert less.array.dtype == np.int8
    np.testing.assert_array_equal(less.array, PIXELS[None].astype(int) - 128)
    np.testing.assert_allclose(read(data, feed(shape)).array, PIXELS[None] / 255, rtol=1e-6)
    assert read(data, feed(shape)).note == "3x2 RGB, (x - 0) / 255"
    told = {"mean": (1.0, 2.0, 3.0), "std": (2.0,)}
    np.testing.assert_allclose(read(data, feed(shape, **told)).array, (PIXELS[None] - [1.0, 2, 3]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(read(data, feed(shape, S32)).array, PIXELS[None])


def test_normalization_is_the_users_then_the_models(read: Any) -> None:
    """Inputs of bytes are normalized only if the user says so; then they are quantized by the tensor's scale."""
    data, shape = png(PIXELS), (1, 2, 3, 3)
    model = feed(shape)._replace(about=TensorMetadata(mean=(127.5,), std=(127.5,)))
    np.testing.assert_allclose(read(data, model).array, (PIXELS[None] - 127.5) / 127.5, rtol=1e-6)
    np.testing.assert_array_equal(read(data, model._replace(mean=(10.0,))).array, PIXELS[None] - np.float32(10))
    np.testing.assert_allclose(read(data, model._replace(std=(2.0,))).array, PIXELS[None] / 2, rtol=1e-6)
    quantized = feed(shape, S8, Quantization((0.5,), (-100,)), mean=(127.5,), std=(2.0,))
    expected = np.clip(rounded((PIXELS[None] - 127.5) / 2 / 0.5) - 100, -128, 127)
    np.testing.assert_array_equal(read(data, quantized).array, expected)
    for wrong, text in (
        ({"mean": (1.0, 2.0)}, "mean has 2 numbers, input 'x' (float32 of shape 1x2x3x3) takes 1 or 3"),
        ({"std": (0.0,)}, "std not 0"),
        ({"mean": (float("nan"),)}, "must be finite"),
    ):
        with pytest.raises(InputError, match=r"numbers|finite") as caught:
            read(data, feed(shape)._replace(**wrong))
        assert text in str(caught.value)
    with pytest.raises(InputError, match="takes no pixels"):
        read(data, feed(shape, TensorType.BOOL))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1, 2, 3, 3), (1, 2, 3, 3)),
        ((-1, -1, -1, 3), (1, 2, 3, 3)),
        ((1, 4, 6, 3), (1, 4, 6, 3)),
        ((1, 2, 3, 1), (1, 2, 3, 1)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        ((2, 3, 3), (2, 3, 3)),
        ((1, 3, 20, 30), (1, 3, 20, 30)),
        ((3, 20, 30), (3, 20, 30)),
        ((1, 20, 30), (1, 20, 30)),
        ((20, 30), (20, 30)),
        ((-1, 20, 30), (1, 20, 30)),
    ],
)
def test_layouts_of_images(read: Any, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert read(png(PIXELS), feed(shape, U8)).array.shape == expected


def test_channels_first_are_transposed_and_grey_is_mixed(read: Any) -> None:
    large = np.kron(PIXELS, np.ones((10, 10, 1), np.uint8))
    found = read(png(large), feed((1, 3, 20, 30), U8)).array
    np.testing.assert_array_equal(found[0], large.transpose(2, 0, 1))
    grey = read(png(np.full((2, 2, 3), 50, np.uint8)), feed((2, 2), U8)).array
    np.testing.assert_array_equal(grey, np.full((2, 2), 50))
    deep = np.full((2, 2), 0x1234, np.uint16)
    np.testing.assert_array_equal(read(png(deep), feed((2, 2), U8)).array, np.full((2, 2), 0x12))
    exif = Image.Exif()
    exif[274] = 6  # it lies on its side
    turned = png(np.arange(6, dtype=np.uint8).reshape(2, 3), exif=exif)
    assert read(turned, feed((-1, -1), U8)).array.tolist() == [[3, 0], [4, 1], [5, 2]]


def test_images_of_other_proportions(read: Any) -> None:
    """Four columns become two: the means of neighbours (stretch), the middle ones (crop), or all of them between black
    lines (pad)."""
    data = png(np.repeat(np.array([[10, 30, 50, 90]], np.uint8), 4, 0)[:2])
    wanted = feed((2, 2), U8)
    found = {fit: read(data, wanted._replace(fit=fit)) for fit in ("stretch", "crop", "pad")}
    assert found["crop"].array.tolist() == [[30, 50]] * 2
    assert [row[0] < row[1] for row in found["stretch"].array.tolist()] == [True, True]
    assert found["stretch"].array[0, 1] > 60
    notes = [reading.note for reading in found.values()]
    assert notes == [
        "4x2 L, stretched: scaled to 2x2",
        "4x2 L, the middle, scaled to 2x2",
        "4x2 L, padded with black, scaled to 2x2",
    ]
    assert read(data, feed((4, 4), U8)._replace(fit="pad")).array[:, 0].tolist() == [0, 10, 10, 0]
    line = png(np.full((1, 100), 7, np.uint8))
    assert read(line, feed((3, 3), U8)._replace(fit="pad")).array.tolist() == [[0, 0, 0], [7, 7, 7], [0, 0, 0]]
    assert read(data, feed((4, 8), U8)._replace(fit="pad")).note == "4x2 L, scaled to 8x4"  # the same proportions


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "TIFF", "WEBP", "JPEG", "PPM"])
def test_formats_of_images(read: Any, kind: str) -> None:
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("Pillow was built without libwebp")
    flat = np.full((8, 8, 3), 200, np.uint8)
    assert np.abs(read(png(flat, kind), feed((8, 8, 3), U8)).array.astype(int) - 200).max() <= 4


@pytest.mark.filterwarnings("default")
def test_images_that_do_not_fit_or_are_broken(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = png(PIXELS)
    for shape in ((4,), (1, 2, 3, 7), (2, 2, 3, 3), (1, 1, 2, 3, 3), (1, 256), (-1, 640), (1, 1, 257), (1, 1, 20, 3)):
        with pytest.raises(InputError, match="takes no image"):
            read(data, feed(shape, U8))
    for broken in (data[:40], b"\x89PNG\r\n\x1a\n" + b"x" * 50, b"BM nothing", b"\xff\xd8\xff\xe0"):
        with pytest.raises(InputError, match=r"given.file is an image that cannot be read: .") as caught:
            read(broken, feed((1, 2, 3, 3), U8))
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)
    with pytest.raises(InputError, match="exceeds limit of 4 pixels"):
        read(data, feed((1, 2, 3, 3), U8))


def test_images_without_pillow(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("PIL"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"is an image, and reading one takes Pillow: pip install pillow"):
        read(png(PIXELS), feed((1, 2, 3, 3), U8))


@pytest.mark.parametrize(("width", "most"), [(1, 1 << 7), (2, 1 << 15), (3, 1 << 23), (4, 1 << 31)])
def test_samples_become_floats_below_1(read: Any, width: int, most: int) -> None:
    samples = np.array([-most, -1, 0, 1, most - 1], np.int64)
    found = read(wav(samples, width=width), feed((-1,))).array
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, samples / most, atol=1e-7)


def test_sound_is_mixed_cut_filled_and_quantized(read: Any) -> None:
    stereo = np.array([[100, 300], [-200, 0], [0, 0], [50, 50]]) * 64
    mono = stereo.mean(axis=1) / 32768
    np.testing.assert_allclose(read(wav(stereo), feed((1, -1))).array, [mono], atol=1e-7)
    np.testing.assert_allclose(read(wav(stereo), feed((-1, -1))).array, [mono], atol=1e-7)
    np.testing.assert_allclose(read(wav(stereo), feed((1, 4, 1))).array[0, :, 0], mono, atol=1e-7)
    np.testing.assert_allclose(read(wav(stereo), feed((1, -1, 2))).array[0], stereo / 32768, atol=1e-7)
    cut = read(wav(stereo), feed((2,)))
    np.testing.assert_allclose(cut.array, mono[:2], atol=1e-7)
    assert cut.note == "0.00025 s of 16000 Hz, mean of 2 channels, the first 2 of 4 samples"
    filled = read(wav(stereo), feed((6,)))
    np.testing.assert_allclose(filled.array, [*mono, 0, 0], atol=1e-7)
    assert filled.note.endswith("2 samples of silence added")
    bytes_ = read(wav(stereo), feed((4,), S8, Quantization((1 / 128,), (3,)))).array
    np.testing.assert_array_equal(bytes_, np.clip(rounded(mono * 128) + 3, -128, 127))


@pytest.mark.parametrize("told", [{"sample_rate": 8000}, {"sample_rate": 44100}])
def test_sound_of_another_rate_is_resampled(read: Any, told: dict[str, int]) -> None:
    """A tone keeps its frequency; a tone above half the new rate is filtered out."""
    pytest.importorskip("soxr")
    rate = told["sample_rate"]
    tone, high = (np.sin(2 * np.pi * pitch * np.arange(16000) / 16000) for pitch in (440, 7000))
    data = wav(np.stack([tone, 0.5 * tone + high * (rate < 16000)], 1) * 16000)
    mixed = read(data, feed((-1,), **told))
    assert mixed.note == f"1 s of 16000 Hz, resampled to {rate} Hz, mean of 2 channels"
    assert read(data, feed((-1,))._replace(rate=rate)).note == mixed.note  # the user's comes first
    assert mixed.array.shape == (rate,)
    expected = 0.75 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate) * 16000 / 32768
    assert np.abs(mixed.array - expected)[500:-500].max() < 1e-3


def test_sound_of_another_rate_without_soxr(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soxr", None)
    text = (
        r"has 16000 samples per second, input 'x' .* takes 44100, and resampling takes soxr: pip install soxr, or sox"
    )
    with pytest.raises(InputError, match=text):
        read(wav(np.zeros(50)), feed((-1,), sample_rate=44100))


def test_sound_that_does_not_fit_or_is_broken(read: Any) -> None:
    data = wav(np.zeros(50))
    assert read(data, feed((-1,), sample_rate=16000)).array.shape == (50,)
    for shape in ((1, 3, 40), (1,), (1, 96, 96, 3)):
        with pytest.raises(InputError, match="takes no sound"):
            read(data, feed(shape))
    with pytest.raises(InputError, match=r"has 1 channels, input 'x' .* takes 2"):
        read(data, feed((1, -1, 2)))
    with pytest.raises(InputError, match="takes integers, and has no scale"):
        read(data, feed((-1,), S32))
    whole = read(wav([-32768, 5, 32767]), feed((1, -1), S16))
    assert (whole.array.tolist(), whole.array.dtype) == ([[-32768, 5, 32767]], np.int16)
    for broken in (data[:20], data[:44], b"RIFF\0\0\0\0WAVEfmt " + b"\xff" * 40):
        with pytest.raises(InputError, match=r"is a .wav file"):
            read(broken, feed((-1,)))


def test_arrays_of_the_same_kind_are_converted(read: Any) -> None:
    assert read(npy(np.ones((2, 2))), feed((2, 2)))[:2] == (pytest.approx(np.ones((2, 2))), "from float64")
    assert read(npy(np.ones(2, ">f4")), feed((2,))).array.dtype == np.float32
    assert read(npy([1, -2]), feed((2,), S8)).array.tolist() == [1, -2]
    with pytest.raises(InputError, match=r"has values from -200 to 1, input 'x' .* takes -128 to 127"):
        read(npy([1, -200]), feed((2,), S8))
    quantized = read(npy([0.5, 2.0]), feed((2,), U8, Quantization((0.25,), (10,))))
    assert (quantized.array.tolist(), quantized.note) == ([12, 18], "quantized")
    with pytest.raises(InputError, match=r"is of uint8, input 'x' .* takes float32: pixels become floats"):
        read(npy(PIXELS), feed((2, 3, 3)))
    with pytest.raises(InputError, match=r"is of int64, .* takes float32: save it with .astype\('float32'\)"):
        read(npy([1]), feed((1,)))
    with pytest.raises(InputError, match="of objects, must be of numbers or strings"):
        read(npy(np.array([{}], object)), feed((1,)))
    with pytest.raises(InputError, match=r"is a .npy file that cannot be read"):
        read(npy(np.ones(100))[:-50], feed((100,)))


def test_archives(read: Any) -> None:
    assert read(npz(x=np.ones(2, np.float32), y=np.zeros(3)), feed((2,))).array.tolist() == [1, 1]
    assert read(npz(other=np.ones(2, np.float32)), feed((2,))).array.tolist() == [1, 1]
    with pytest.raises(InputError, match="has a, b, and none has the name of input 'x'"):
        read(npz(a=np.ones(1), b=np.ones(1)), feed((1,)))
    with pytest.raises(InputError, match=r"is a zip archive that cannot be read as .npz file"):
        read(b"PK\x03\x04nothing", feed((1,)))


def test_raw_bytes_are_exactly_the_tensors(read: Any) -> None:
    values = np.arange(6, dtype=np.float32)
    assert read(values.tobytes(), feed((2, 3))).array.tolist() == values.reshape(2, 3).tolist()
    assert read(values.tobytes(), feed((-1, 2))).array.shape == (3, 2)
    for data, text in (
        (
            values.tobytes() + b"x",
            "has 25 bytes, raw data of input 'x' (float32 of shape 2x3) has 24; it is not a .npy",
        ),
        (
            b"<html><body>404",
            "has 15 bytes, raw data of input 'x' (float32 of shape 2x3) has 24; it looks like an HTML page",
        ),
        (b"1,2,3\n", "has 24; it looks like text that begins with '1,2,3', numbers go in as .npy"),
        (b"ID3\4", "it looks like sound in another format than .wav: ffmpeg -i FILE out.wav converts it"),
        (b"\0\0\0\x18ftypheic", "it looks like a video, or an image of a phone (.heic)"),
        (b"", "has 0 bytes"),
        (b"\0\0\0\0TFL3" + bytes(30), "is a .tflite model, not data for input 'x'"),
    ):
        with pytest.raises(InputError) as caught:
            read(data, feed((2, 3)))
        assert text in str(caught.value)


def test_text_is_for_strings(read: Any) -> None:
    assert read("one\n\nfünf\n".encode(), feed((-1,), TensorType.STRING)).array.tolist() == [
        b"one",
        b"",
        "fünf".encode(),
    ]
    assert read(npy(["a", "b"]), feed((-1,), TensorType.STRING)).array.tolist() == ["a", "b"]


def test_missing_files_and_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match=r"could not open 'absent.npy': no such file"):
        load_input("absent.npy", feed((1,)))
    with pytest.raises(InputError, match=r"is a directory$"):
        load_input(tmp_path, feed((1,)))
    (tmp_path / "cat.png").touch()
    with pytest.raises(InputError, match=r"no such file or directory: near it is '.*/cat\.png'$"):
        load_input(tmp_path / "cats.png", feed((1,)))

    class Stdin:
        buffer = type("Buffer", (), {"read": staticmethod(lambda: npy(np.float32([7])))})

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert load_input("-", feed((1,))).array.tolist() == [7]


def test_a_path_and_a_feed_are_wanted() -> None:
    with pytest.raises(
        InputError, match=r"^path is of type NoneType, must be a path; pass arrays to run\(\) directly$"
    ):
        load_input(None, feed((3,)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^path is of type ndarray"):
        load_input(PIXELS, feed((3,)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^feed is of type str, must be a Feed: Feed.of"):
        load_input("x.png", "x")  # type: ignore[arg-type]
