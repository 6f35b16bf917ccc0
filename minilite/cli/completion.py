"""minilite completion: a script by which a shell completes the command's arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

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
        case $before in
            --planner|--strategy) words="{strategies}" ;;
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
        help="print a script that completes this command's arguments in a shell",
        description='Print a script for a shell: eval "$(minilite completion bash)" in ~/.bashrc, the same for zsh in ~/.zshrc.',
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> None:
    """Prints the script."""
    from minilite._native.memory import strategies
    from minilite.cli import parsers

    cases: list[str] = []
    choices: dict[str, Iterable[Any]] = {}
    found = parsers()
    for name, parser in found.items():
        words = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
        places = [str(word) for action in parser._actions if not action.option_strings for word in action.choices or ()]
        cases.append(f'            {name}) words="{" ".join(places or sorted(words))}" ;;')
        choices |= {
            action.option_strings[-1]: action.choices
            for action in parser._actions
            if action.choices and action.option_strings
        }
    lines = [
        f'            {option}) words="{" ".join(map(str, words))}" ;;' for option, words in sorted(choices.items())
    ]
    script = _SCRIPT.format(
        commands=" ".join(found), cases="\n".join(cases), strategies=" ".join(strategies()), choices="\n".join(lines)
    )
    print((_ZSH if options.shell == "zsh" else "") + script, end="")
