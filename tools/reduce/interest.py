"""Whether a file is of interest: a command is run on it, and its output or exit status says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

FILE = "{}"
"""What stands for the file in a command."""

TOOL = "opt-tool"

_IMPORTED = (__name__.partition(".")[0] + ".", "xdsl.", "islpy", "llvmlite", "numpy")


@dataclass(frozen=True)
class Answer:
    """How a command ended: its exit status (negative for a signal, None where it took too long), and what it said."""

    status: int | None
    output: str


@dataclass(frozen=True)
class Question:
    """A command, and what makes its answer one of interest: a message that it prints, or its exit status."""

    command: tuple[str, ...]
    message: str | None = None
    status: int | None = None
    seconds: float = 60.0

    def holds_for(self, text: str) -> bool:
        """Whether a file with this text is of interest."""
        answer = self.answer(text)
        if self.message is not None and self.message not in answer.output:
            return False
        return self.status is None or answer.status == self.status

    def answer(self, text: str) -> Answer:
        """What the command says of a file with this text."""
        with tempfile.TemporaryDirectory(prefix="opt-tool-reduce-") as folder:
            file, output = Path(folder, "input.mlir"), Path(folder, "output")
            file.write_text(text, encoding="utf-8")
            command = [str(file) if word == FILE else word for word in self.command]
            if FILE not in self.command:
                command.append(str(file))
            with open(output, "wb") as sink:
                start = _forked if command[0] == TOOL else _started
                status = start(command, sink.fileno(), self.seconds)
            return Answer(status, output.read_text(encoding="utf-8", errors="replace"))


def _started(command: Sequence[str], output: int, seconds: float) -> int | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _forked(command: Sequence[str], output: int, seconds: float) -> int | None:
    """opt-tool in a child of this process, which has imported it: a run takes 30 ms where a new process takes 600."""
    from ..opt_tool.main import main

    sys.stdout.flush()
    sys.stderr.flush()
    came, told = os.pipe()
    child = os.fork()
    if child == 0:
        _be_opt_tool(main, command[1:], output, told)
    os.close(told)
    try:
        return _ended(child, seconds)
    finally:
        with os.fdopen(came) as names:
            _import_all(names.read().split())


def _ended(child: int, seconds: float) -> int | None:
    """The exit status of a child; None where it takes longer, and was ended."""
    until = time.monotonic() + seconds
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)


def _be_opt_tool(
    main: Callable[[Sequence[str]], int], arguments: Sequence[str], output: int, told: int
) -> NoReturn:
    """What the child does: run opt-tool, and tell what it has imported for that."""
    code, before = 3, set(sys.modules)
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        said, complained = os.fdopen(1, "w"), os.fdopen(2, "w")
        with said, complained, redirect_stdout(said), redirect_stderr(complained):
            code = main(arguments)
        with os.fdopen(told, "w") as names:
            names.write(" ".join(name for name in sys.modules if name not in before))
    finally:
        os._exit(code)


def _import_all(names: Sequence[str]) -> None:
    """Import what a child has imported, so that the next one finds it there."""
    for name in names:
        if name.startswith(_IMPORTED) and name not in sys.modules:
            with suppress(ImportError):
                import_module(name)
