"""docs/command.md: its console blocks print what it shows; docs/command_json.md: its keys are those of the JSON."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import peer
from support.media import npy
from support.metadata import RGB, labelled, metadata, with_files

from minilite.cli import main
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "command.md"
KEYS = DOCUMENT.with_name("command_json.md")
BLOCK = re.compile(r"^```(python|console|sh|)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPEN = (
    "counters", "operators", "metadata", "about", "associated_files", "options", "inputs", "outputs", "steps", "ratios",
    "shares",
)  # fmt: skip
"""Keys whose own keys depend on the model, where the document says `.*`."""

SELDOM = (
    "rows[].steps",
    "diverging",
    "outputs[].other_",
    "findings[]",
    "rows[].changes",
    "delegated",
    "notes",
    "detections[]",
    "files[]",
    "groups[]",
    "tiles[]",
)
"""Lists of `compare` that are empty here, keys that `run` has only for detectors and for several files, and
groups of a model that `tile` and `plan` leave as it is."""


def steps(block: str) -> Iterator[tuple[str, str]]:
    """(command, what it prints) of a console block."""
    for part in block.split("\n$ "):
        command, _, shown = part.removeprefix("$ ").partition("\n")
        yield command, shown.rstrip("\n")


def test_commands_print_what_is_shown(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    function = f'minilite() {{ {shlex.quote(sys.executable)} -m minilite "$@"; }}\n'
    names: dict[str, Any] = {}
    printed, ran = "", 0
    for language, text in BLOCK.findall(DOCUMENT.read_text()):
        if language == "sh":  # other programs, which need not be installed
            continue
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)  # noqa: S102
            printed = out.getvalue()
            continue
        if not language:
            assert text == printed
            continue
        for command, shown in steps(text):
            if "--against litert" in command and not peer.HERE:
                continue
            done = subprocess.run(
                ["bash", "-c", function + command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            pattern = "(?s:.*?)".join(map(re.escape, shown.split("...")))
            assert re.fullmatch(pattern, done.stdout.rstrip("\n")), f"$ {command}\n{done.stdout}"
            ran += 1
    assert ran >= 8


def documented() -> dict[str, set[str]]:
    """The keys in the table by command."""
    keys = {}
    for commands, cell in re.findall(r"^\| (`[a-z][^|]*`) \| (.*) \|$", KEYS.read_text(), re.MULTILINE):
        found = set(re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", cell)))
        keys.update(dict.fromkeys(re.findall(r"`([^`]+)`", commands), found))
    return keys


def paths(value: Any, here: str = "") -> Iterator[str]:
    """Every key that leads to a plain value: a.b, a[].b; lists of plain values are plain."""
    if isinstance(value, dict):
        if here.split(".")[-1] in OPEN:
            yield f"{here}.*"
        else:
            for key, each in value.items():
                yield from paths(each, f"{here}.{key}" if here else key)
    elif isinstance(value, list) and value and holds_dicts(value):
        for each in value:
            yield from paths(each, f"{here}[]")
    elif value != []:
        yield here


def holds_dicts(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(holds_dicts, value)))


def everything() -> bytes:
    """A model with metadata, a signature, scratch, a second output of labels' numbers."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    weights = graph.constant("w", np.ones((4, 3, 3, 3), np.float32))
    x = graph.input("x", (1, 8, 8, 3))
    y = graph.node("CONV_2D", [x, weights], out=("y", (1, 4, 4, 4)), options={"stride_w": 2, "stride_h": 2})
    k = graph.constant("k", np.int32(2))
    best, numbers = graph.node(
        "TOPK_V2", [y, k], out=[("best", (1, 4, 4, 2)), ("numbers", (1, 4, 4, 2), TensorType.INT32)]
    )
    graph.output(y, best, numbers)
    builder.signature("main", {"x": x}, {"y": y})
    builder.metadata(
        "TFLITE_METADATA", metadata([RGB], [{0: "y"}, labelled("two.txt"), labelled("two.txt", 3)], name="m")
    )
    return with_files(builder.build(), {"two.txt": "a\nb\n"})


@pytest.fixture
def printed(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that gives the JSON of a command, whose MODEL is one with everything."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("m.tflite").write_bytes(everything())
    pathlib.Path("many").mkdir()
    pathlib.Path("many/x.npy").write_bytes(npy(np.ones((1, 8, 8, 3), np.float32)))
    with zipfile.ZipFile("m.task", "w") as archive:
        archive.write("m.tflite")
    pathlib.Path("x.npy").write_bytes(npy(np.ones((1, 8, 8, 3), np.float32)))

    def printed_(command: str) -> Any:
        special = {
            "run MODEL": "run m.tflite x.npy",
            "inspect BUNDLE": "inspect m.task",
            "run": "run",
            "batch": "batch m.tflite x.npy --out o.npz",
            "tile": "tile m.tflite o.tflite --budget 1MB",
            "check --for tflm": "check m.tflite --for xnnpack",
            "compare --inputs FOLDER": "compare m.tflite --against reference --inputs many",
            "compare": "compare m.tflite --against reference",
            "replay": "replay r.npz m.tflite",
            "cache": "cache --dir packed",
            "cache --clear": "cache --clear --dir packed",
        }
        if command == "replay":
            assert main(["run", "m.tflite", "--record", "r.npz"]) == 0
            capsys.readouterr()
        if command.startswith("cache"):
            assert main(["run", "m.tflite", "--cache-dir", "packed"]) == 0
            capsys.readouterr()
        words = special.get(command, f"{command} m.tflite").split()
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return printed_


@pytest.mark.parametrize("command", documented())
def test_keys_are_those_of_the_json(command: str, printed: Any) -> None:
    found = set(paths(printed(command)))
    listed = documented()[command]
    assert found - listed == set()
    assert {key for key in listed - found if not key.startswith(("frames[].scratch", *SELDOM))} == set()


def test_all_commands_with_json_are_listed() -> None:
    assert set(documented()) == {
        "run MODEL",
        "run",
        "batch",
        "inspect",
        "inspect BUNDLE",
        "check --for tflm",
        "inspect --check",
        "inspect --memory a=2K --memory b=1M",
        "plan",
        "plan --compare",
        "plan --for tflm",
        "plan --memory a=1K --memory b=1M",
        "plan --fit 1MB",
        "plan --sweep 1,8..10,8..10,3",
        "tile",
        "profile",
        "bench",
        "cache",
        "cache --clear",
        "compare",
        "compare --inputs FOLDER",
        "replay",
        "report",
    }
