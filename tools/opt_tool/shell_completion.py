"""`--completion SHELL`: a script that completes options, and the passes, targets and machines that they take.

The script holds the names of the day it was printed; it starts nothing of Nestor's when a key is pressed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ...analysis.machine import CPUS, GPUS
from ...dialects.registry import EXTENDED, OWN, UPSTREAM
from .command_line import make_parser
from .resolve import known_names
from .targets import TARGETS

_LISTS = ("passes", "pass_pipeline", "print_ir_before", "print_ir_after", "show_dialects")
"""Options whose value is names with commas between them."""

_NAMES: dict[str, Callable[[], list[str]]] = {
    "passes": known_names,
    "pass_pipeline": known_names,
    "print_ir_before": known_names,
    "print_ir_after": known_names,
    "target": lambda: list(TARGETS),
    "machine": lambda: ["host", *CPUS, *GPUS],
    "show_dialects": lambda: [*OWN, *EXTENDED, *UPSTREAM],
}
"""What may follow an option; where nothing is said, a file."""


def completion_script(shell: str) -> str:
    """The script for `bash`, `zsh` or `fish`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _actions() -> list[argparse.Action]:
    return [action for action in make_parser()._actions if action.option_strings]


def _spelled(action: argparse.Action) -> list[str]:
    return list(action.option_strings)


def _names(action: argparse.Action) -> list[str] | None:
    """What may be its value: none of it (a flag), names, or (None) a file or free text."""
    if action.nargs == 0:
        return []
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    found = _NAMES.get(action.dest)
    return found() if found is not None else None


_BASH = """\
# opt-tool completion for bash: source it, or put it into ~/.local/share/bash-completion/completions/opt-tool
_opt_tool_names() {
    # names after the last comma or parenthesis of the word; with "=" in COMP_WORDBREAKS, bash cuts "--option=" off
    local before="" word="$cur"
    if [[ $2 == list && $word == *[,\\(]* ]]; then
        before="${word%"${word##*[,(]}"}"
    fi
    COMPREPLY=($(compgen -P "$before" -W "$1" -- "${word#"$before"}"))
}
_opt_tool() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev=""
    ((COMP_CWORD > 0)) && prev="${COMP_WORDS[COMP_CWORD-1]}"
    [[ $cur == "=" ]] && cur=""
    [[ $prev == "=" ]] && prev="${COMP_WORDS[COMP_CWORD-2]}"
    COMPREPLY=()
    compopt +o nospace 2>/dev/null
    case "$prev" in
@CASES@
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "@OPTIONS@" -- "$cur"))
    else
        compopt -o default -o filenames 2>/dev/null
    fi
}
complete -F _opt_tool opt-tool
"""


def _bash() -> str:
    cases = []
    for action in _actions():
        names = _names(action)
        if names == []:
            continue
        pattern = "|".join(_spelled(action))
        if names is None:
            cases.append(f"        {pattern}) compopt -o default -o filenames 2>/dev/null; return ;;")
            continue
        kind = "list" if action.dest in _LISTS else "one"
        no_space = "compopt -o nospace 2>/dev/null; " if kind == "list" else ""
        offer = f'{no_space}_opt_tool_names "{" ".join(names)}" {kind}; return'
        if _is_optional(action):
            offer = f"[[ $cur == -* ]] || {{ {offer}; }}"
        cases.append(f"        {pattern}) {offer} ;;")
    options = " ".join(spelled for action in _actions() for spelled in _spelled(action))
    return _BASH.replace("@CASES@", "\n".join(cases)).replace("@OPTIONS@", options)


def _is_optional(action: argparse.Action) -> bool:
    """The value may be absent."""
    return action.nargs == "?"


_ZSH = """\
#compdef opt-tool
# opt-tool completion for zsh: a file called _opt-tool in a folder of $fpath, or sourced after compinit
_opt_tool_list() {
    # names with commas or parentheses between them
    compset -P '*[,(]'
    compadd -q -S '' -- "$@"
}
_opt-tool() {
    _arguments -S \\
@ARGUMENTS@
        '1:input:_files'
}
if [[ $funcstack[1] == _opt-tool ]]; then _opt-tool "$@"; else compdef _opt-tool opt-tool; fi
"""


def _zsh() -> str:
    lines = []
    for action in _actions():
        names = _names(action)
        help_text = (action.help or "").replace("\\", "").translate(str.maketrans("[]:'", "()\u2236\u2019"))
        for spelled in _spelled(action):
            repeat = "*" if isinstance(action, argparse._AppendAction) else ""
            equals = "=" if spelled.startswith("--") and names != [] else ""
            value = "" if names == [] else _zsh_value(action, names)
            lines.append(f"        '{repeat}{spelled}{equals}[{help_text}]{value}' \\")
    return _ZSH.replace("@ARGUMENTS@", "\n".join(lines))


def _zsh_value(action: argparse.Action, names: list[str] | None) -> str:
    separator = "::" if _is_optional(action) else ":"
    title = (action.metavar or action.dest) if isinstance(action.metavar, str) else action.dest
    title = title.replace(":", " ")
    if names is None:
        return f"{separator}{title}:_files"
    if action.dest in _LISTS:
        return f"{separator}{title}:_opt_tool_list {' '.join(names)}"
    return f"{separator}{title}:({' '.join(names)})"


_FISH = """\
# opt-tool completion for fish: ~/.config/fish/completions/opt-tool.fish
function __opt_tool_list
    # names after the last comma or parenthesis of the word
    set -l before (string match -r -- '^(?:-[^=]*=)?(.*[,(])' (commandline -ct))[2]
    printf "%s\\n" "$before"$argv
end
@LINES@
"""


def _fish() -> str:
    lines = []
    for action in _actions():
        words = []
        for spelled in _spelled(action):
            words.append(f"-l {spelled[2:]}" if spelled.startswith("--") else f"-s {spelled[1:]}")
        names = _names(action)
        text = (action.help or "").replace("\\", "\\\\").replace("'", "\\'")
        if names is None:
            words.append("-r -F")
        elif names and action.dest in _LISTS:
            words.append(f"-r -f -a '(__opt_tool_list {' '.join(names)})'")
        elif names:
            words.append(f"-r -f -a '{' '.join(names)}'")
        lines.append(f"complete -c opt-tool {' '.join(words)} -d '{text}'")
    return _FISH.replace("@LINES@", "\n".join(lines))
