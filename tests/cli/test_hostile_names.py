"""Names that a stranger wrote: none of them reaches a terminal, a picture or a message as it is."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
import xml.dom.minidom
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.metadata import labelled, metadata, with_files

import minilite
from minilite import errors, memory, terminal
from minilite.cli import COMMANDS, main
from minilite.comparison.compare import compare
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.litert.compiled_model import CompiledModel
from minilite.text import table, wrapped
from minilite.writing import npz_bytes

FORGED = "!forged"
EVIL = f"\x1b[2J\x9b1m\x00\x07\x7f\r\u202e\u2066\u2028\x85\n{FORGED}"
"""Clears the screen, sets colours, rings, turns the direction of text, and begins a line of its own."""
SHOWN = r"\u001b[2J"
FILE = EVIL.replace("\x00", "")
"""EVIL without the NUL, which names of files cannot have."""


def is_unsafe(letter: str) -> bool:
    """True if a terminal or a reader of XML may obey the character instead of showing it."""
    turns = unicodedata.bidirectional(letter) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
    marks = letter in "\u061c\u200e\u200f\ufffe\uffff"
    return turns or marks or unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")


def unsafe(text: str) -> str:
    """Returns the unsafe characters of printed text, apart from ends of lines, and the lines that a name began."""
    found = {letter for letter in text if letter != "\n" and is_unsafe(letter)}
    return "".join(sorted(found)) + "".join(line for line in text.splitlines() if line.startswith(FORGED))


def network(rows: int = 1) -> bytes:
    """Two inputs, two outputs, labels, a signature and metadata, in which all names are evil."""
    builder = ModelBuilder(description=f"model{EVIL}")
    graph = builder.subgraph(f"graph{EVIL}")
    x = graph.input(f"x{EVIL}", (rows, 4), signature=(-1, 4))
    y = graph.input(f"y{EVIL}", (rows, 4), signature=(-1, 4))
    added = graph.node("ADD", [x, y], out=(f"sum{EVIL}", (rows, 4)))
    weights = graph.constant(f"w{EVIL}", np.arange(12, dtype=np.float32).reshape(3, 4))
    scores = graph.node("FULLY_CONNECTED", [added, weights], out=(f"scores{EVIL}", (rows, 3)))
    graph.output(scores, graph.node("ABS", [added], out=(f"abs{EVIL}", (rows, 4))))
    builder.signature(f"key{EVIL}", {f"a{EVIL}": x, f"b{EVIL}": y}, {f"c{EVIL}": scores})
    builder.metadata(f"buffer{EVIL}", b"1")
    texts = {name: f"{name}{EVIL}" for name in ("name", "description", "version", "author", "license")}
    told = {0: f"tensor{EVIL}", 1: f"about{EVIL}"}
    labels = "labels.txt"
    builder.metadata("TFLITE_METADATA", metadata([told, told], [told | labelled(labels), told], **texts))
    return with_files(builder.build(), {labels: "\n".join(f"{n}{EVIL[:9]}" for n in range(3))})


def strings() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,), TensorType.STRING, signature=(-1,))
    graph.output(
        graph.node("EXPAND_DIMS", [x, graph.constant("axis", np.int32(0))], out=("y", (1, 1), TensorType.STRING))
    )
    return builder.build()


def refused() -> bytes:
    """Models with a custom operator that is not given, and with shapes that do not fit."""
    builder = ModelBuilder()
    graph = builder.subgraph(EVIL)
    x = graph.input(f"x{EVIL}", (1, 4))
    graph.output(graph.node(f"Custom{EVIL}", [x], out=(f"y{EVIL}", (1, 4)), custom=True))
    return builder.build()


def uneven() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph(EVIL)
    x, y = graph.input(f"x{EVIL}", (1, 4), signature=(-1, -1)), graph.input(f"y{EVIL}", (1, 4), signature=(-1, -1))
    graph.output(graph.node("ADD", [x, y], out=(f"z{EVIL}", (1, 4))))
    return builder.build()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("names")
    packed = with_files(network(), {f"more{FILE}": "1"})
    contents = {
        "packed": packed,
        "model": network(),
        "other": network(2),
        "strings": strings(),
        "refused": refused(),
        "uneven": uneven(),
    }
    for name, data in contents.items():
        (made / f"{name}{FILE}.tflite").write_bytes(data)
    (made / f"broken{FILE}.tflite").write_bytes(contents["model"][:200])
    (made / f"text{FILE}.txt").write_bytes(EVIL.encode())
    np.save(made / f"row{FILE}.npy", np.ones((1, 4), np.float32))
    rows = np.ones((3, 4), np.float32)
    (made / f"rows{FILE}.npz").write_bytes(npz_bytes({f"a{FILE}": rows, f"b{FILE}": rows}))
    (made / f"strange{FILE}.npz").write_bytes(npz_bytes({f"p{FILE}": rows, f"q{FILE}": rows}))
    interpreter = minilite.Interpreter(str(made / f"model{FILE}.tflite"))
    with interpreter.recording(made / f"calls{FILE}.npz"):
        interpreter.allocate_tensors()
        interpreter.invoke()
    return made


LINES = (
    "run MODEL", "run MODEL --json", "run MODEL --top 2", "run MODEL ROW", "run MODEL ROW --out out", "run MODEL NOWHERE",
    "run MODEL TEXT", "run MODEL STRANGE", "run MODEL --shape TEXT", "run MODEL --shape 1,4 --shape 1,4 --shape 1,4",
    "run MODEL --record made.npz", "run PACKED", "inspect PACKED", "run MODEL --labels ROW", "run STRINGS TEXT", "run STRINGS TEXT --json",
    "run STRINGS TEXT TEXT", "run REFUSED", "run BROKEN", "run NOWHERE", "run UNEVEN --shape 1,5", "run MODEL --planner TEXT",
    "run MODEL --out ROW", "run MODEL --draw out", "run TEXT MODEL", "run MODEL --level TEXT", "run MODEL --fit TEXT",
    "inspect MODEL", "inspect MODEL --json", "inspect MODEL --check", "inspect MODEL --check --json", "inspect REFUSED",
    "inspect REFUSED --check", "inspect REFUSED --check --json", "inspect UNEVEN --shape 1,5", "inspect BROKEN",
    "plan MODEL", "plan MODEL --json", "plan MODEL --map", "plan MODEL --compare", "plan MODEL --fit 1MB",
    "plan MODEL --sweep 1..3,4", "plan MODEL --sweep 1..3,4 --json", "plan UNEVEN --sweep 1..9,4", "plan MODEL --capacity 1",
    "plan MODEL --bind TEXT", "plan MODEL --write-offline offline.tflite", "plan MODEL --svg plan.svg", "plan --problem TEXT",
    "plan MODEL --sweep 1..3,4 --svg sizes.svg", "plan UNEVEN --sweep 1..9,4 --svg uneven.svg", "plan MODEL --fit TEXT",
    "check MODEL --for tflm", "check MODEL --for edgetpu --json", "check REFUSED --for xnnpack", "check BROKEN --for tflm",
    "check MODEL --for TEXT", "tile MODEL tiled.tflite --budget 1kB", "tile MODEL tiled.tflite --budget TEXT", "tile BROKEN tiled.tflite --budget 1kB",
    "profile MODEL --runs 2", "profile MODEL --runs 2 --json", "bench MODEL --runs 2", "bench MODEL --runs 2 --json",
    "compare MODEL --against scalar", "compare MODEL --against scalar --json", "compare MODEL OTHER", "compare MODEL STRINGS",
    "compare MODEL --against TEXT", "replay CALLS MODEL", "replay CALLS OTHER", "replay CALLS MODEL --json", "replay TEXT MODEL",
    "report MODEL --runs 1 -o -", "report MODEL --runs 1 -o page.html", "report UNEVEN --shape 1,5", "report MODEL --sweep TEXT",
    "batch MODEL ROWS --out made.csv", "batch MODEL STRANGE --out made.csv", "batch MODEL ROW --out made.csv",
    "batch STRINGS TEXT --out strings.npz", "batch REFUSED ROW --out made.csv", "batch MODEL ROWS --out ROW",
    "plan MODEL --write-offline MADE", "plan MODEL --svg MADE", "profile MODEL --runs 1 --trace MADE", "run MODEL --out MADE",
    "run MODEL --cache-dir MADE", "run MODEL --cache-dir TEXT", "cache --dir ROWS", "cache --dir ROWS --verify --json",
    "cache --dir ROWS --clear", "cache --dir NOWHERE", "cache --dir TEXT", "as TEXT TEXT", "as all NOWHERE", "completion bash", "completion TEXT", "TEXT", "run MODEL --TEXT", "--version", "run --help",
)  # fmt: skip


def told(line: str, folder: Path) -> list[str]:
    """Returns the arguments of a line; words in capitals become files with evil names."""
    files = {path.name.partition(FILE[:2])[0].upper(): str(path) for path in folder.iterdir() if FILE in path.name}
    files |= {"NOWHERE": f"nowhere{FILE}", "MADE": f"made{FILE}"}
    return [re.sub("[A-Z]{3,}", lambda found: files.get(found[0], found[0]), word) for word in line.split()]


@pytest.mark.parametrize("line", LINES)
def test_no_command_prints_a_name_as_it_is(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    try:
        status = main(told(line, folder))
    except SystemExit as end:
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    assert unsafe(out) == ""
    assert unsafe(err) == ""
    assert out if status == 0 else out or err
    if status and not line.startswith(("run REFUSED", "batch REFUSED", "inspect REFUSED")):
        assert err.count("\n") <= 1  # an error is one line


def test_the_walk_takes_every_command() -> None:
    assert {line.split()[0] for line in LINES} >= set(COMMANDS)


def test_a_level_of_the_environment_is_named_safely(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minilite", "run"], capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "MINILITE_ISA": FILE},
    )  # fmt: skip
    assert unsafe(done.stdout + done.stderr) == ""


def test_names_are_the_same_in_json(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON escapes them, so that a parser gives them back unchanged."""
    monkeypatch.chdir(folder)
    assert main(told("run MODEL --json", folder)) == 0
    assert json.loads(capsys.readouterr().out)["inputs"][0]["name"] == f"x{EVIL}"


def test_pictures_are_well_formed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for line in ("plan MODEL --svg plan.svg", "plan UNEVEN --sweep 1..9,4 --svg uneven.svg"):
        main(told(line, folder))
        drawing = Path(line.split()[-1]).read_text(encoding="utf-8")
        assert unsafe(drawing) == ""
        assert SHOWN in drawing
        xml.dom.minidom.parseString(drawing.encode())


def displays(folder: Path) -> Iterator[tuple[str, Any]]:
    """Objects that a Python program can print, by name."""
    path = str(folder / f"model{FILE}.tflite")
    interpreter = minilite.Interpreter(path)
    yield "interpreter before", interpreter
    interpreter.allocate_tensors()
    model = interpreter.model
    graph = model.subgraphs[0]
    yield "interpreter", interpreter
    yield "model", model
    yield "metadata", model.metadata
    yield "subgraph", graph
    yield "tensors", list(graph.tensors)
    yield "nodes", list(graph.nodes)
    yield "signatures", list(model.signatures)
    yield "runner", interpreter.get_signature_runner()
    plan = interpreter.memory
    assert plan is not None
    made = plan.to_memory_plan()
    yield from (("plan", plan), ("memory plan", made), ("map", made.memory_map()), ("table", made.table()))
    yield "difference", made.diff(memory.plan(made.records[:-1], "exact", names=made.names))
    yield "profile", interpreter.profile(2)
    yield "comparison", compare(model, against="scalar")
    yield "predictor", minilite.Predictor(path)
    yield "state", interpreter.get_state()
    yield "compiled", CompiledModel.from_file(path)
    yield "custom", minilite.load_model(str(folder / f"refused{FILE}.tflite"))


def test_displays_show_no_name_as_it_is(folder: Path) -> None:
    seen = 0
    for name, each in displays(folder):
        shown = {"str": str(each), "repr": repr(each)}
        for method in ("_repr_html_", "_repr_svg_"):
            if hasattr(each, method):
                shown[method] = getattr(each, method)()
        for way, text in shown.items():
            assert (name, way, unsafe(text)) == (name, way, "")
            seen += "[2J" in text
        if "_repr_svg_" in shown:
            xml.dom.minidom.parseString(shown["_repr_svg_"].encode())
    assert seen > 30


def errors_of(folder: Path) -> Iterator[Exception]:
    """Errors that name tensors, nodes, signatures, files: by Python and by C."""
    path = str(folder / f"model{FILE}.tflite")
    interpreter = minilite.Interpreter(path)
    interpreter.allocate_tensors()
    uneven = minilite.Interpreter(str(folder / f"uneven{FILE}.tflite"))
    uneven.resize_tensor_input(0, (1, 5))
    runner, plan = interpreter.get_signature_runner(), interpreter.memory
    assert plan is not None
    for call in (
        uneven.allocate_tensors,
        minilite.Interpreter(str(folder / f"refused{FILE}.tflite")).allocate_tensors,
        lambda: minilite.Interpreter(path + "?"),
        lambda: interpreter.set_tensor(0, np.ones(3, np.float32)),
        lambda: interpreter.get_signature_runner(EVIL),
        lambda: runner(**{EVIL: 1}),
        lambda: runner(),
        lambda: minilite.Predictor(path)({EVIL: [1]}),
        lambda: memory.plan(plan.to_memory_plan().records, capacity=1, names=dict.fromkeys(range(9), EVIL)),
    ):
        with pytest.raises(errors.MiniliteError) as caught:
            call()
        yield caught.value


def test_errors_show_no_name_as_it_is(folder: Path) -> None:
    for error in errors_of(folder):
        assert unsafe(str(error)) == ""
        assert "[2J" in str(error)
        if not isinstance(error, errors.UnsupportedOpError):
            assert "\n" not in str(error)


def test_every_character_that_is_unsafe_is_escaped() -> None:
    letters = list(map(chr, range(sys.maxunicode + 1)))
    assert [x for x in letters if errors.visible(x) != x] == [x for x in letters if is_unsafe(x)]
    assert errors.visible("a\nb\x1b é") == r"a\u000ab\u001b é"
    assert errors.visible_lines("a\nb\x1b é") == "a\nb\\u001b é"
    assert errors.shortened("a\n b\x1b") == r"a b\u001b"
    for text in (
        table(["", "name"], [[1, EVIL]]),
        wrapped(EVIL, None),
        wrapped(EVIL * 9, 40),
        str(errors.InputError(EVIL)),
    ):
        assert unsafe(text) == ""


# Standard output ------------------------------------------------------------------------------------------------------

ODD: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "closed": (">&-", {}),
    "full": (">/dev/full", {}),
    "nobody reads": ("| true", {}),
    "cp1252": ("", {"PYTHONIOENCODING": "cp1252"}),
}
"""Redirections of standard output and settings of the environment."""
PRINTING = (
    "run MODEL", "run MODEL --json", "inspect MODEL", "inspect MODEL --check", "plan MODEL", "plan MODEL --compare",
    "profile MODEL --runs 2", "bench MODEL --runs 2", "compare MODEL --against scalar", "replay CALLS MODEL",
    "report MODEL --runs 1 -o -", "report MODEL --runs 1 -o page.html", "batch MODEL ROWS --out made.npz",
    "completion bash", "--version", "--help", "run --help",
)  # fmt: skip


class Failing(io.StringIO):
    """A stream that takes nothing."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def buffer(self) -> Any:
        return self

    def write(self, text: object) -> int:
        raise OSError(self.number, os.strerror(self.number))


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose names only encodings of Unicode can represent, with inputs and a recording."""
    made = tmp_path_factory.mktemp("letters")
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("\u5165\u529b\U0001f600", (1, 4), signature=(-1, 4))
    graph.output(graph.node("ABS", [x], out=("\u51fa\u529b", (1, 4))))
    path = made / "\u6a21.tflite"
    path.write_bytes(builder.build())
    np.save(made / "rows.npy", np.ones((3, 4), np.float32))
    interpreter = minilite.Interpreter(str(path))
    with interpreter.recording(made / "calls.npz"):
        interpreter.allocate_tensors()
        interpreter.invoke()
    return made


def outcome(arguments: list[str]) -> int:
    """The exit status of a command in this process."""
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


STREAMS: Mapping[str, tuple[Callable[[], Any], int, str]] = {
    "cp1252": (lambda: io.TextIOWrapper(io.BytesIO(), "cp1252"), 0, ""),
    "utf-16": (lambda: io.TextIOWrapper(io.BytesIO(), "utf-16"), 0, ""),
    "closed": (lambda: None, 1, "minilite: standard output: it is closed\n"),
    "full": (lambda: Failing(errno.ENOSPC), 1, "minilite: standard output: no space left on device\n"),
    "read by nobody": (lambda: Failing(errno.EPIPE), 0, ""),
}
"""Standard outputs, the exit status, and what standard error says."""


@pytest.mark.parametrize("line", PRINTING)
@pytest.mark.parametrize("stream", ["cp1252", "closed"])
def test_any_standard_output_will_do(stream: str, line: str, letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command, in this process."""
    monkeypatch.chdir(letters)
    (letters / "made.npz").unlink(missing_ok=True)
    made, status, message = STREAMS[stream]
    told = io.StringIO()
    monkeypatch.setattr(sys, "stdout", made())
    monkeypatch.setattr(sys, "stderr", told)
    files = {"MODEL": "\u6a21.tflite", "ROWS": "rows.npy", "CALLS": "calls.npz"}
    assert (outcome([files.get(word, word) for word in line.split()]), told.getvalue()) == (status, message)


@pytest.mark.parametrize("stream", STREAMS)
def test_hostile_names_are_printed_in_one_line(stream: str, letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, JSON, a page, help; the same where standard error takes nothing either."""
    monkeypatch.chdir(letters)
    made, status, message = STREAMS[stream]
    for line in ("inspect MODEL", "run MODEL --json", "report MODEL --runs 0 -o -", "--version", "run --help"):
        told, out = io.StringIO(), made()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", told)
        arguments = line.replace("MODEL", "\u6a21.tflite").split()
        assert (outcome(arguments), told.getvalue()) == (status, message)
        if "--json" in line and status == 0 and not isinstance(out, Failing):
            text = out.buffer.getvalue().decode(out.encoding)
            assert json.loads(text)["inputs"][0]["name"] == "\u5165\u529b\U0001f600"
        for broken in (None, Failing(errno.EBADF)):
            monkeypatch.setattr(sys, "stdout", made())
            monkeypatch.setattr(sys, "stderr", broken)
            assert outcome(arguments) == status


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("odd", ODD)
def test_standard_output_of_a_process(odd: str, letters: Path) -> None:
    """The same in a process that a shell starts; Python prints nothing when it ends."""
    redirected, environment = ODD[odd]
    command = f"'{sys.executable}' -m minilite inspect \u6a21.tflite {redirected}; exit \"${{PIPESTATUS[0]}}\""
    done = subprocess.run(
        ["bash", "-c", command], cwd=letters, env={**os.environ, **environment}, check=False, capture_output=True
    )
    told = done.stderr.decode()
    assert (done.returncode, told.count("\n")) == (
        1 if odd in ("closed", "full") else 0,
        int(odd in ("closed", "full")),
    )
    assert told.startswith("minilite: standard output: ") or not told


def test_letters_that_a_stream_lacks_become_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "cp1252", newline="\n"))
    terminal.say("é \u5165 \U0001f600")
    terminal.deliver("\u5165")
    assert raw.getvalue() == b"\xe9 \\u5165 \\U0001f600\n\xe5\x85\xa5"
    assert not terminal.takes_all_letters()
    sys.stdout.close()
    with pytest.raises(OSError, match=r"standard output: it is closed"):
        terminal.say("x")
    monkeypatch.setattr(sys, "stderr", None)
    terminal.complain("x")
