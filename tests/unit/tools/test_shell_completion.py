"""`opt-tool --completion`: what the shells themselves offer once they have read the script."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time

import pytest
from nestor.tools.opt_tool.command_line import make_parser
from nestor.tools.opt_tool.main import main
from nestor.tools.opt_tool.resolve import known_names
from nestor.tools.opt_tool.targets import TARGETS

SECONDS = 20

OFFERED = [
    ("--print-ir-d", ["--print-ir-diff"]),
    ("-p cse,nest-unm", ["cse,nest-unmask"]),
    ("--print-ir-after cse,nest-unm", ["cse,nest-unmask"]),
    ("in.mlir -t llv", ["llvm-ir"]),
    ("--machine rtx40", ["rtx4090"]),
    ("--mode sh", ["shuffled"]),
    ("--completion fi", ["fish"]),
    ("--help targ", ["targets"]),
    ("--show-dialects nt,sche", ["nt,schedule"]),
]


def script(shell, folder):
    path = folder / f"opt-tool.{shell}"
    assert main(["--completion", shell, "-o", str(path)]) == 0
    return path


def needs(shell):
    return pytest.mark.skipif(
        shutil.which(shell) is None, reason=f"no {shell} (Debian: apt-get install {shell})"
    )


def bash_offers(path, *words):
    """COMPREPLY after the script's function has seen these words."""
    text = (
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _opt_tool; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", text, str(path), *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def fish_offers(path, line):
    text = f"source {path}; complete -C 'opt-tool {line}'"
    done = subprocess.run(["fish", "-c", text], capture_output=True, text=True, check=True)
    return [entry.partition("\t")[0] for entry in done.stdout.splitlines()]


@needs("bash")
@pytest.mark.parametrize(("line", "offered"), OFFERED)
def test_bash(line, offered, tmp_path):
    assert bash_offers(script("bash", tmp_path), "opt-tool", *line.split()) == offered


@needs("bash")
def test_bash_completes_inside_of_pipelines_and_after_an_equals_sign(tmp_path):
    path = script("bash", tmp_path)
    assert bash_offers(path, "opt-tool", "-p", "func.func(nest-unm") == ["func.func(nest-unmask"]
    assert bash_offers(path, "opt-tool", "--passes", "=", "cse,nest-unm") == ["cse,nest-unmask"]
    anchored = bash_offers(path, "opt-tool", "--pass-pipeline", "=", "builtin.module(cse,nest-unm")
    assert anchored == ["builtin.module(cse,nest-unmask"]
    assert bash_offers(path, "opt-tool", "--target", "=") == list(TARGETS)
    assert set(bash_offers(path, "opt-tool", "-p", "")) == set(known_names())
    spelled = {one for action in make_parser()._actions for one in action.option_strings}
    assert set(bash_offers(path, "opt-tool", "-")) == spelled
    assert bash_offers(path, "opt-tool", "-o", "x") == []  # files: bash does that itself


@needs("fish")
@pytest.mark.parametrize(
    ("line", "offered"), [*OFFERED, ("--passes=cse,nest-unm", ["--passes=cse,nest-unmask"])]
)
def test_fish(line, offered, tmp_path):
    assert fish_offers(script("fish", tmp_path), line) == offered


@needs("zsh")
@pytest.mark.parametrize(("line", "offered"), OFFERED)
def test_zsh(line, offered, tmp_path):
    done = zsh_line(script("zsh", tmp_path), f"opt-tool {line}", tmp_path)
    assert done == f"opt-tool {' '.join([*line.split()[:-1], *offered])}"


def zsh_line(path, line, home):
    """The line after a TAB at its end, in an interactive zsh: afterwards a command prints it."""
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(home), "COLUMNS": "300"}
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
    try:
        os.write(terminal, f"autoload -U compinit; compinit -u -D; source {path}; print re''ady\n".encode())
        read_until(terminal, b"ready\r")
        # TAB, start of line, a command in front, end of line, a quote
        os.write(terminal, line.encode() + b"\t")
        os.write(terminal, b"\x01print -r -- '<''<\x05>''>'\n")
        answer = read_until(terminal, b">>\r")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return answer.rpartition(b"<<")[2].partition(b">>")[0].decode().strip()


def read_until(terminal, mark):
    text, end = b"", time.monotonic() + SECONDS
    while mark not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536)
    assert mark in text, text
    return text
