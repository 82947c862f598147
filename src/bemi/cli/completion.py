"""``bemi completion``: completion of commands, options and file names in a shell.

The script is made from the parser, so it knows every option of this version, and the shell needs no Python to use it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from bemi.cli import program

_BASH = """\
# Completion for bemi.  In bash and zsh: eval "$(bemi completion bash)", or zsh in place of bash.
_bemi() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" place=1 command=""
    while [ $place -lt $COMP_CWORD ]; do
        local longer="$command${{command:+/}}${{COMP_WORDS[place]}}"
        case " {every} " in *" $longer "*) command="$longer" ;; esac
        place=$((place + 1))
    done
    local words=""
    case "$command" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    case "$word" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$word")) ;; esac
}}
complete -o filenames -F _bemi bemi"""

_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit"


def add_command(commands: Any) -> None:
    command = program.add(commands, "completion", "print a completion script for bash, zsh or fish")
    command.set_defaults(run=run, example='eval "$(bemi completion bash)"    # in ~/.bashrc, or zsh in ~/.zshrc')
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(options: argparse.Namespace) -> int:
    from bemi.cli import build_parser

    words = dict(_words((), build_parser()))
    print(_fish(words) if options.shell == "fish" else _bash(words, zsh=options.shell == "zsh"))
    return 0


def _words(path: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Every command, as a path, with its subcommands, choices and options."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += list(action.choices)
            for name, command in action.choices.items():
                yield from _words((*path, name), command)
        else:
            found += [option for option in action.option_strings if option.startswith("--")]
            found += [] if action.option_strings else list(action.choices or ())
    yield path, found


def _bash(words: dict[tuple[str, ...], list[str]], *, zsh: bool) -> str:
    cases = "\n".join(f'        "{"/".join(path)}") words="{" ".join(found)}" ;;' for path, found in words.items())
    script = _BASH.format(every=" ".join("/".join(path) for path in words if path), cases=cases)
    return f"{_ZSH}\n{script}" if zsh else script


def _fish(words: dict[tuple[str, ...], list[str]]) -> str:
    lines = ["# Completion for bemi.  In fish: bemi completion fish > ~/.config/fish/completions/bemi.fish"]
    for path, found in words.items():
        inside = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path) or "__fish_use_subcommand"
        for word in found:
            what = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c bemi -n '{inside}' {what}")
    return "\n".join(lines)
