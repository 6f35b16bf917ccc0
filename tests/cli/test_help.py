"""The help of the commands: groups, examples that the commands take, words in place of a command."""

from __future__ import annotations

import contextlib
import shlex

import pytest

from minilite.cli import COMMANDS, _parsed, main, parsers
from minilite.cli.help import EXAMPLES, SYNONYMS


def helped(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the text of a help, which ends with status 0."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code
    return capsys.readouterr().out


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    text = helped([], capsys)
    assert text == helped(["--help"], capsys) == helped(["help"], capsys)
    assert all(f"\n    {name} " in text for name in COMMANDS)
    assert helped(["help", "plan"], capsys) == helped(["plan", "--help"], capsys)
    assert helped(["-V"], capsys) == helped(["--version"], capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_examples_that_it_takes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = helped([command, "--help"], capsys)
    assert text.count("\nexamples:\n") == 1
    assert EXAMPLES[command]
    for line, about in EXAMPLES[command]:
        assert f"  {line}\n      {about}" in text
        words = shlex.split(line)
        if words[0] != "minilite":  # a line for a file of the shell
            assert f"minilite {command}" in line
            continue
        assert words[1] == command
        _parsed(words[1:])


def test_options_are_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    text = helped(["run", "--help"], capsys)
    parts = {title: text.index(f"\n{title}:\n") for title in ("inputs", "outputs", "running", "memory", "examples")}
    assert parts["inputs"] < text.index("\n  --shape") < parts["outputs"] < text.index("\n  -o ") < parts["examples"]
    assert text.index("\n  --threads", parts["running"]) > parts["running"]
    plan = helped(["plan", "--help"], capsys)
    assert plan.index("\nsizes:\n") < plan.index("\n  --fit ")


def test_every_option_is_in_a_group_or_known_to_have_none() -> None:
    """A new option is put where people look for it."""
    alone = {
        "--help",
        "--check",
        "--unfused",
        "--tolerance",
        "--against",
        "--compare",
        "--problem",
        "--for",
        "--most-work",
    }
    alone |= {"--threshold", "--inputs", "--fit", "--workers", "--scheduler", "--dir", "--list", "--verify", "--clear"}
    for command, parser in parsers([*COMMANDS])[1].items():
        plain = {
            option
            for action in parser._optionals._group_actions
            for option in action.option_strings
            if option.startswith("--")
        }
        assert plain <= alone, command


@pytest.mark.parametrize(("word", "meant"), SYNONYMS.items())
def test_words_that_people_try(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert meant in COMMANDS
    with pytest.raises(SystemExit) as ended:
        main([word])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"minilite: there is no command '{word}', did you mean {meant}?\n"


def test_errors_of_options_begin_alike(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("run m.tflite --top 0", "plan m.tflite --alignment x"):
        with contextlib.suppress(SystemExit):
            assert main(line.split()) == 2
        assert capsys.readouterr().err.startswith(f"minilite: {line.split()[2]}: takes ")
