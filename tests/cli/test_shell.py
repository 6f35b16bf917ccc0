"""The command in a shell: completion, closed pipes, widths, colours, Ctrl-C."""

from __future__ import annotations

import os
import pathlib
import pty
import shutil
import subprocess
import sys

import pytest
from support.metadata import passing

import minilite
from minilite._native.memory import strategies
from minilite.cli import COMMANDS, main, output
from minilite.comparison.compare import runtimes
from minilite.text import table

COMMAND = [sys.executable, "-m", "minilite"]


def completed(shell: str, words: list[str], folder: pathlib.Path) -> list[str]:
    """The completions that the shell's function gives for the last of these words."""
    script = subprocess.run([*COMMAND, "completion", shell], capture_output=True, text=True, check=True).stdout
    requested = f'COMP_WORDS=({" ".join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _minilite; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-euc", script + requested], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_names(tmp_path: pathlib.Path) -> None:
    assert completed("bash", ["minilite", ""], tmp_path) == list(COMMANDS)
    assert completed("bash", ["minilite", "pl"], tmp_path) == ["plan"]
    assert completed("bash", ["minilite", "run", "m.tflite", "--la"], tmp_path) == ["--labels"]
    assert completed("bash", ["minilite", "plan", "--com"], tmp_path) == ["--compare"]
    assert completed("bash", ["minilite", "run", "--planner", ""], tmp_path) == list(strategies())
    assert completed("bash", ["minilite", "run", "--resolver", "r"], tmp_path) == ["reference"]
    assert completed("bash", ["minilite", "completion", ""], tmp_path) == ["bash", "zsh", "fish"]
    assert completed("bash", ["minilite", "run", "m"], tmp_path) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_values_by_command(tmp_path: pathlib.Path) -> None:
    """An option of one name has other values in another command."""
    assert completed("bash", ["minilite", "run", "--fit", ""], tmp_path) == ["stretch", "crop", "pad"]
    assert completed("bash", ["minilite", "plan", "m.tflite", "--fit", ""], tmp_path) == []
    assert completed("bash", ["minilite", "compare", "m.tflite", "--against", ""], tmp_path) == list(runtimes())
    assert completed("bash", ["minilite", "bench", "m.tflite", "--against", ""], tmp_path) == ["litert"]


ZSH = """
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("zsh", ["zsh", "-f", "-i"])


def until(text):
    found = b""
    while text not in found and select.select([terminal], [], [], 60)[0]:
        found += os.read(terminal, 4096)
    return found


script, line, expected = sys.argv[1:]
os.write(terminal, f"PS1=; source {script}; echo rea''dy\\n".encode())
until(b"ready")
os.write(terminal, line.encode() + b"\\t")
print(expected.encode() in until(expected.encode()))
os.close(terminal)
"""
"""Types a line and a tab into zsh, and waits for what comes."""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("minilite pl", "minilite plan "),
        ("minilite run m.tflite --lab", "--labels "),
        ("minilite run --resolver ref", "reference "),
        ("minilite run --planner ", "shared_greedy_by_breadth"),
        ("minilite inspect mod", "model.tflite "),
    ],
)
def test_zsh_completes_the_same(line: str, expected: str, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        subprocess.run([*COMMAND, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
    )
    (tmp_path / "model.tflite").touch()
    plain = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    requested = [sys.executable, "-c", ZSH, str(script), line, expected]
    done = subprocess.run(requested, capture_output=True, text=True, check=True, cwd=tmp_path, env=plain)
    assert done.stdout == "True\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes_commands_options_and_names(tmp_path: pathlib.Path) -> None:
    script = subprocess.run([*COMMAND, "completion", "fish"], capture_output=True, text=True, check=True).stdout

    def answers(line: str) -> list[str]:
        requested = ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"]
        done = subprocess.run(requested, capture_output=True, text=True, check=True, cwd=tmp_path)
        return [answer.split("\t")[0] for answer in done.stdout.splitlines()]

    (tmp_path / "model.tflite").touch()
    assert sorted(answers("minilite ")) == sorted(COMMANDS)
    assert answers("minilite run m.tflite --lab") == ["--labels"]
    assert sorted(answers("minilite run --planner ")) == sorted(strategies())
    assert answers("minilite completion z") == ["zsh"]
    assert answers("minilite inspect mod") == ["model.tflite"]


@pytest.fixture
def model(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "model.tflite"
    path.write_bytes(passing((1, 200)))
    return str(path)


@pytest.mark.parametrize("line", ["run --json", "inspect --json", "--version", "--help"])
def test_a_closed_pipe_is_no_error(line: str, model: str) -> None:
    arguments = line.split()
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, *arguments, model], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def in_terminal(*arguments: str, columns: int = 0, **environment: str) -> tuple[int, str]:
    """The exit status and all that a command writes to a terminal of so many columns."""
    leader, follower = pty.openpty()
    if columns:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    plain = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    done = subprocess.Popen([*COMMAND, *arguments], stdout=follower, stderr=follower, env=plain | environment)
    os.close(follower)
    found = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        found += part
    os.close(leader)
    return done.wait(), found.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_lines_fit_the_terminal(columns: int, model: str) -> None:
    digits = str(pathlib.Path(minilite.__file__).with_name("data") / "digits.tflite")
    for arguments in (
        ["run", model],
        ["run"],
        ["plan", "--compare", model],
        ["compare", digits, "--against", "scalar"],
        *([c, m] for c in ("inspect", "profile") for m in (model, digits)),
    ):
        status, text = in_terminal(*arguments, columns=columns)
        assert status == 0
        assert max(map(len, text.splitlines())) <= columns


def test_narrow_tables_stay_readable() -> None:
    """Less important columns are left out before names become too short to read; long texts get more lines."""
    rows = [[0, "DEPTHWISE_CONV_2D", "1x48x48x8", "depthwise_conv_2d f32", 12.5, "part of 6"]] * 2
    header = ["node", "op", "output", "kernel", "us", "whole"]
    assert max(map(len, table(header, rows, width=60).splitlines())) <= 60
    assert "DEPT.._2D" not in table(header, rows, width=60, spare=("kernel", "output"))
    assert table(header, rows, width=60, spare=("kernel",)).splitlines()[0].split() == [
        "node",
        "op",
        "output",
        "us",
        "whole",
    ]
    words = [[0, "CONV_2D", "padding=SAME stride_w=2 fused_activation_function=RELU"]]
    assert table(["node", "operator", "options"], words, width=40).splitlines() == [
        "  node  operator",
        "     0  CONV_2D",
        "          padding=SAME stride_w=2",
        "          fused_activation_function=RELU",
    ]
    assert table(["node", "options"], [[0, "padding=SAME stride_w=2 stride_h=3"]], width=36).splitlines() == [
        "  node  options",
        "     0  padding=SAME stride_w=2",
        "        stride_h=3",
    ]


def test_nothing_is_coloured(model: str) -> None:
    """Output is not coloured, with NO_COLOR and without."""
    for environment in ({}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}):
        status, text = in_terminal("inspect", model, **environment)
        assert status == 0
        assert "\x1b[" not in text


def test_the_width_is_what_columns_says_else_100(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert output.width() == 77
    monkeypatch.setenv("COLUMNS", "1")
    assert output.width() == 40
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback: os.terminal_size((0, 0)))
    assert output.width() == 100


def test_interrupted_commands_say_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("minilite.cli.digits.run", interrupted)
    assert main(["run"]) == 130
    assert capsys.readouterr().err == "minilite: interrupted\n"


STRIKES = """
import atexit, os, signal, sys


class Strikes:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Strikes())
if {module!r} == "the end":
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""
"""Put into sitecustomize.py: Ctrl-C comes when a module is imported, or when Python ends."""


def struck(folder: pathlib.Path, module: str, *command: str, more: str = "") -> tuple[int, str]:
    """The exit status of a command, and what is written to stderr."""
    (folder / "sitecustomize.py").write_text(STRIKES.format(module=module) + more)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    found = subprocess.run(command or [*COMMAND, "run"], capture_output=True, text=True, check=False, env=environment)
    return found.returncode, found.stderr


THE_END = pytest.param(
    "the end", marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 calls no handler as it ends")
)


@pytest.mark.parametrize(
    "module", ["minilite.cli", "numpy", "numpy.linalg", "minilite.cli.run", "minilite.engine.program", THE_END]
)
def test_ctrl_c_ends_the_command_at_any_moment(module: str, tmp_path: pathlib.Path) -> None:
    """The command prints one line, no traceback, and ends with 130, whatever is being imported: numpy turns a
    KeyboardInterrupt into an ImportError."""
    assert struck(tmp_path, module) == (130, "minilite: interrupted\n")


@pytest.mark.parametrize(
    ("times", "printed"), [(1, "cleans up\nminilite: interrupted\n"), (2, "minilite: interrupted\n")]
)
def test_an_interrupt_that_is_swallowed_ends_the_command_too(times: int, printed: str, tmp_path: pathlib.Path) -> None:
    """If code swallows the KeyboardInterrupt, it is raised again after two seconds, and two seconds later the process
    ends."""
    swallows = f"""
import contextlib, time, minilite


def version(name):
    if name != "__version__":  # asked for during imports, which end at once
        return others(name)
    for k in range({times}):
        with contextlib.suppress(KeyboardInterrupt):
            if k == 0:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
    try:
        time.sleep(60)
    finally:
        sys.stderr.write("cleans up\\n")


others, minilite.__getattr__ = minilite.__getattr__, version
"""
    found = struck(tmp_path, "none", *COMMAND, "--version", more=swallows)
    assert found == (130, printed)


def test_an_interrupt_in_a_destructor_ends_the_command_too(tmp_path: pathlib.Path) -> None:
    """Python prints and drops what a destructor raises: the command prints its one line, and ends two seconds later."""
    drops = """
import time, minilite


class Interrupted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)


def version(name):
    if name == "__version__":
        Interrupted()
        time.sleep(60)
    return others(name)


others, minilite.__getattr__ = minilite.__getattr__, version
"""
    assert struck(tmp_path, "none", *COMMAND, "--version", more=drops) == (130, "minilite: interrupted\n")


def test_an_interrupted_command_may_take_long_to_leave_python(tmp_path: pathlib.Path) -> None:
    """At the end Python gives signals their default meaning: a timer that still ran then would kill the process."""
    slow = """
import time, minilite


class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(3)


def version(name):
    if name == "__version__":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    return others(name)


others, minilite.__getattr__, minilite.slow = minilite.__getattr__, version, Slow()
"""
    assert struck(tmp_path, "none", *COMMAND, "--version", more=slow) == (130, "minilite: interrupted\n")


def test_ctrl_c_is_left_to_who_ignores_it_and_to_programs(tmp_path: pathlib.Path) -> None:
    ignores = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    assert struck(tmp_path, "minilite.engine.program", more=ignores) == (0, "")
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), 2)\nexcept KeyboardInterrupt:\n    raise SystemExit(7)\n"
    )
    assert struck(tmp_path, "none", *COMMAND, "as", "all", str(program)) == (7, "")
