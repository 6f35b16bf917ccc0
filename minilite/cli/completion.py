"""minilite completion: prints a script by which a shell completes the command's arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minilite._native.kernels import level_names
from minilite._native.memory import strategies
from minilite.comparison.compare import runtimes
from minilite.terminal import say

if TYPE_CHECKING:
    from minilite.cli import Parser

_SCRIPT = """\
_minilite() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        words="{commands}"
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
        case "${{COMP_WORDS[1]}} $before" in
{choices}
        esac
        [[ $word == -* || $words != -* ]] || return 0
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _minilite minilite
"""
_ZSH = "autoload -Uz compinit bashcompinit\ncompinit\nbashcompinit\n"
"""zsh runs scripts for bash once these are loaded."""


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes arguments in a shell",
        description='Print a script for a shell: eval "$(minilite completion bash)" in ~/.bashrc, the same for zsh in ~/.zshrc; '
        "minilite completion fish | source in ~/.config/fish/config.fish.",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(execute=execute, parsers=commands.choices)


def execute(options: argparse.Namespace) -> None:
    """Prints the script."""
    if options.shell == "fish":
        say("\n".join(_fish(options.parsers)))
        return
    say((_ZSH if options.shell == "zsh" else "") + _bash(options.parsers), end="")


def _choices(action: argparse.Action) -> list[str]:
    """Returns the possible values of an argument, if they are known."""
    if {"--planner", "--strategy"} & {*action.option_strings}:
        return list(strategies())
    if "--level" in action.option_strings:
        return list(level_names())
    if "--against" in action.option_strings and not action.choices:
        return list(runtimes())
    return [str(word) for word in action.choices or ()]


def _bash(found: Mapping[str, Parser]) -> str:
    cases: list[str] = []
    choices: dict[str, list[str]] = {}
    for name, parser in found.items():
        words = [option for action in parser.arguments for option in action.option_strings if option.startswith("--")]
        places = [word for action in parser.arguments if not action.option_strings for word in _choices(action)]
        cases.append(f'            {name}) words="{" ".join(places or sorted(words))}" ;;')
        choices |= {
            f"{name} {action.option_strings[-1]}": known
            for action in parser.arguments
            if action.option_strings and (known := _choices(action))
        }
    lines = [f'            "{option}") words="{" ".join(words)}" ;;' for option, words in sorted(choices.items())]
    return _SCRIPT.format(commands=" ".join(found), cases="\n".join(cases), choices="\n".join(lines))


def _fish(found: Mapping[str, Parser]) -> list[str]:
    lines = [f"complete -c minilite -n __fish_use_subcommand -xa '{' '.join(found)}'"]
    for name, parser in found.items():
        head = f"complete -c minilite -n '__fish_seen_subcommand_from {name}'"
        for action in parser.arguments:
            known = _choices(action)
            given = f" -xa '{' '.join(known)}'" if known else "" if action.nargs == 0 else " -r"
            lines += [f"{head} -l {option[2:]}{given}" for option in action.option_strings if option.startswith("--")]
            if known and not action.option_strings:
                lines.append(f"{head}{given}")
    return lines
