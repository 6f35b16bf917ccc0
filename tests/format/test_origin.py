"""Bytes that are not a model: the error names the file and says what they look like."""

from __future__ import annotations

import pathlib

import pytest
from built import relu_chain
from support.foreign import FOREIGN

import minilite
from minilite.format.reader import load_model


@pytest.mark.parametrize("name", FOREIGN)
def test_the_file_and_its_likely_origin_are_named(name: str, tmp_path: pathlib.Path) -> None:
    data, text = FOREIGN[name]
    path = tmp_path / "my model.tflite"
    path.write_bytes(data)
    for read in (load_model, minilite.Interpreter, lambda path: load_model(path, "copy")):
        with pytest.raises(minilite.ModelFormatError) as caught:
            read(path)
        assert str(caught.value).startswith(f"The model is not a valid Flatbuffer buffer: {str(path)!r}: ")
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(minilite.ModelFormatError) as caught:
        minilite.Interpreter(model_content=data)
    assert text in str(caught.value)
    assert str(path) not in str(caught.value)
    assert ("looks like" in str(caught.value)) == text.startswith("it looks like")


def opened(path: object) -> str:
    """Returns the refusal of a path."""
    with pytest.raises(minilite.ModelNotFoundError) as caught:
        minilite.Interpreter(path)  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"Could not open {str(path)!r}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_folders_and_names_that_are_nearly_right(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("saved", "empty", "with", "m.mlpackage"):
        pathlib.Path(folder).mkdir()
    pathlib.Path("saved/saved_model.pb").touch()
    for name in ("with/b.tflite", "with/a.tflite", "mobilenet_v2.tflite"):
        pathlib.Path(name).write_bytes(relu_chain())
    converter = "tf.lite.TFLiteConverter.from_saved_model('saved')"
    assert opened("saved").endswith(f"it looks like a SavedModel, which has to be converted to .tflite: {converter}")
    assert opened(pathlib.Path("with")).endswith("is a directory: there is 'with/a.tflite' in it")
    assert opened("empty").endswith("is a directory: a .tflite file is wanted")
    assert "Core ML" in opened("m.mlpackage")
    assert opened("mobilenet_v3.tflite").endswith("no such file or directory: near it is 'mobilenet_v2.tflite'")
    assert opened("resnet.tflite").endswith("no such file or directory")
    assert opened("wiht/a.tflite").endswith("there is no folder 'wiht'")
    assert ": near it is 'with/" in opened("with/c.tflite")
    assert opened("~/m.tflite").endswith("the ~ is not expanded, os.path.expanduser does that")
    assert opened("https://example.com/m.tflite").endswith("it is an address, the file has to be downloaded first")
    assert opened(" mobilenet_v2.tflite ").endswith("without the blanks around it there is 'mobilenet_v2.tflite'")
    assert opened("'mobilenet_v2.tflite'").endswith("without the quotes around it there is 'mobilenet_v2.tflite'")
    assert opened("mobilenet_v2").endswith("near it is 'mobilenet_v2.tflite'")
    opened("x" * 5000)
    opened("a\0b")
