"""minilite cache, and --cache-dir of other commands."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilite
from minilite._native import packed
from minilite.cli import main

DIGITS = Path(minilite.__file__).parent / "data" / "digits.tflite"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copy(DIGITS, tmp_path / "model.tflite"))


@pytest.fixture
def folder(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the packed weights of the model, by `minilite run`."""
    monkeypatch.delenv("MINILITE_CACHE_DIR", raising=False)
    found = tmp_path / "kept"
    assert main(["run", str(model), "--cache-dir", str(found), "--shape", "1,16,16,1"]) == 0
    capsys.readouterr()
    return found


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["cache", *map(str, arguments)])
    return status, *capsys.readouterr()


def test_lists_files(folder: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = folder.iterdir()
    for arguments in ((), ("--list",), ("--verify",)):
        status, out, _ = run(capsys, "--dir", folder, *arguments)
        first, _, row = out.splitlines()
        assert status == 0
        assert first.startswith(f"{folder}: 1 file of packed weights, ")
        assert row.split()[0] == file.name
        assert row.split()[-2:] == ["model.tflite", "serves"]
    status, out, _ = run(capsys, "--dir", folder, "--json")
    (found,) = json.loads(out)["files"]
    assert found.pop("weights") > 1
    assert found == {
        "file": packed.file_name(str(model)),
        "bytes": file.stat().st_size,
        "model": str(model),
        "state": "serves",
        "damaged": False,
    }


def test_says_why_a_file_does_not_serve(folder: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = folder.iterdir()

    def state() -> str:
        status, out, _ = run(capsys, "--dir", folder, "--json")
        found = json.loads(out)["files"][0]
        assert status == int(found["damaged"])
        return str(found["state"])

    os.utime(model, ns=(1, 1))
    assert state() == "the model has changed"
    model.unlink()
    assert state() == "the model is gone"
    data = bytearray(file.read_bytes())
    data[8] ^= 1
    file.write_bytes(data)
    assert state() == "of another version of minilite"
    file.write_bytes(data[:50])
    assert state() == "the file has 50 bytes, packed weights have 128 or more"
    file.write_bytes(b"")
    assert state() == "the file has 0 bytes, packed weights have 128 or more"


def test_verify_reads_every_byte(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = folder.iterdir()
    data = bytearray(file.read_bytes())
    first = int.from_bytes(data[128 + 8 : 128 + 16], "little")
    data[first] ^= 1
    file.write_bytes(data)
    assert run(capsys, "--dir", folder)[0] == 0
    status, out, _ = run(capsys, "--dir", folder, "--verify", "--json")
    assert status == 1
    assert json.loads(out)["files"][0]["state"].startswith(f"bytes {first} to ")


def test_clear_removes_packed_weights_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = folder.iterdir()
    size = file.stat().st_size
    folder.joinpath(f".{file.name}.0123456789abcdef").write_bytes(b"part")
    folder.joinpath("mine.txt").write_text("mine")
    status, out, _ = run(capsys, "--dir", folder, "--clear", "--json")
    assert status == 0
    assert json.loads(out) == {"folder": str(folder), "removed": 2, "bytes": size + 4}
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert run(capsys, "--dir", folder, "--clear")[1] == f"{folder}: removed 0 files of 0 bytes\n"
    assert run(capsys, "--dir", folder)[1] == f"{folder}: 0 files of packed weights, 0 bytes\n"


def test_clear_goes_on_after_what_is_gone_or_in_use(
    folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on Windows, which removes no file that a process has mapped."""
    (serving,) = folder.iterdir()
    for name in ("gone", "in use", "other"):
        (folder / f"{name}.packed").write_bytes(b"1234")
    unlink = Path.unlink

    def refusing(path: Path, *given: Any, **more: Any) -> None:
        if path.stem == "in use":
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, *given, **more)
        if path.stem == "gone":
            raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "unlink", refusing)
    size = serving.stat().st_size + 4
    status, out, err = run(capsys, "--dir", folder, "--clear", "--json")
    assert status == 1
    assert json.loads(out) == {"folder": str(folder), "removed": 2, "bytes": size}
    assert err.count("\n") == 1
    assert "in use.packed" in err
    assert [path.name for path in folder.iterdir()] == ["in use.packed"]


def test_takes_the_folder_of_the_environment(
    folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys)
    assert (status, err) == (
        2,
        "minilite: cache takes a folder: --dir FOLDER, or the environment variable MINILITE_CACHE_DIR, which is not set\n",
    )
    monkeypatch.setenv("MINILITE_CACHE_DIR", str(folder))
    assert run(capsys)[1].startswith(f"{folder}: 1 file")
    status, _, err = run(capsys, "--dir", model)
    assert (status, err) == (1, f"minilite: '{model}' is not a folder: packed weights are kept in one\n")
    assert run(capsys, "--clear", "--verify")[::2] == (
        2,
        "minilite: cache takes one of --list, --verify and --clear: they do different things\n",
    )
    assert len(list(folder.iterdir())) == 1


def test_other_commands_take_the_folder(folder: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = folder.iterdir()
    time = file.stat().st_mtime_ns
    assert main(["profile", str(model), "--runs", "2", "--cache-dir", str(folder)]) == 0
    np.testing.assert_equal([path.stat().st_mtime_ns for path in folder.iterdir()], [time])  # nothing was added
    capsys.readouterr()
    assert main(["run", str(model), "--cache-dir", str(model)]) == 1
    assert "which is not a folder" in capsys.readouterr().err
    assert main(["run", "--cache-dir", str(folder)]) == 2
