"""`opt-tool` and `filecheck` for the tests here, forked from a process that has imported them.

A run of `opt-tool` on a test takes 30 ms, its imports 500 ms, and there are more than a thousand such runs. `start()`,
called by lit.cfg.py, writes two small programs of these names into a directory that is put on PATH: such a program sends
its arguments, its environment and its files (standard input, output, error) to the server, which forks a child that goes
on with them as if it had been started so, and gives back the child's exit status. No run sees what another one did.

That everything has been imported already hides an import that is missing: `NESTOR_LIT_PLAIN=1` (as in `make test-all`)
starts every tool on its own.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import NoReturn

_MAINS = {"opt-tool": "nestor.tools.opt_tool.main", "filecheck": "filecheck.main"}
_PACKAGES = ("dialects", "analysis", "transforms", "lowering", "tools", "frontend", "runtime")
_FIRST = ("nestor.tools.opt_tool.main", "nestor.tools.opt_tool.driver", "filecheck.main")
_MODULES = (
    "islpy",
    "llvmlite.binding",
    "numpy",
    "xdsl.transforms.canonicalize",
    "xdsl.transforms.dead_code_elimination",
)
_SOCKET = "server"
_MANY = 8
"""From this request on everything is imported: for a test or two it would cost more than it saves."""

_CLIENT = """#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
import os, sys, _socket
place, name = os.path.split(os.path.abspath(sys.argv[0]))
s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
s.connect(place + "/{socket}")
words = [name, os.getcwd(), str(len(sys.argv) - 1), *sys.argv[1:], *(f"{{k}}={{v}}" for k, v in os.environ.items())]
text = "\\0".join(words).encode("utf-8", "surrogateescape")
s.sendmsg([len(text).to_bytes(4, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, {fds})])
while text:
    text = text[s.send(text):]
answer = s.recv(1)
if not answer:
    sys.exit("the server of tests/filecheck/tool_server.py has gone")
os._exit(answer[0])
"""


def start() -> str:
    """Start a server that ends with this process; the directory of its programs, to be put on PATH."""
    directory = Path(tempfile.mkdtemp(prefix="nestor-lit-tools-"))
    text = _CLIENT.format(python=sys.executable, socket=_SOCKET, fds=array.array("i", [0, 1, 2]).tobytes())
    for name in _MAINS:
        (directory / name).write_text(text)
        (directory / name).chmod(stat.S_IRWXU)
    # The server's standard input is a pipe that nobody writes to: it ends when this process does.
    server = subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore::DeprecationWarning", __file__, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    if server.stdout.readline() != b"ready\n":
        raise RuntimeError(
            "the server of tests/filecheck/tool_server.py does not start (NESTOR_LIT_PLAIN=1 needs none)"
        )
    _running.append(server)
    return str(directory)


_running: list[subprocess.Popen[bytes]] = []
"""Held to the end of the process."""


_NOT_OF_TOOLS = "nestor.frontend.pytorch."
"""Modules that import what may not be installed, and that no tool uses."""


def _import_first() -> None:
    for name in _FIRST:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every page


def _import_all() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    for package in _PACKAGES:
        path = importlib.import_module(f"nestor.{package}").__path__
        for module in pkgutil.walk_packages(path, f"nestor.{package}."):
            if not module.name.endswith("__main__") and not module.name.startswith(_NOT_OF_TOOLS):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _request(connection: socket.socket) -> tuple[list[str], list[int]]:
    """The words that a program sent, and its three files."""
    connection.settimeout(120)
    head, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    for _, _, data in ancillary:
        files.frombytes(data)
    size, text = int.from_bytes(head, "little"), b""
    while len(text) < size:
        part = connection.recv(size - len(text))
        if not part:
            raise OSError("the program has gone")
        text += part
    return text.decode("utf-8", "surrogateescape").split("\0"), files.tolist()


def _become(words: list[str], files: list[int]) -> None:
    """Make this child what the program would be after its imports."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    name, place, count = words[0], words[1], int(words[2])
    os.chdir(place)
    sys.argv = [name, *words[3 : 3 + count]]
    os.environ.clear()
    os.environ.update(word.partition("=")[::2] for word in words[3 + count :])


def _serve(directory: str) -> str:
    """Answer requests until standard input ends. Returns in children only: the tool to run."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.join(directory, _SOCKET))
    listening.listen(64)
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno())
    selector = selectors.DefaultSelector()
    for source in (listening, woken, sys.stdin):
        selector.register(source, selectors.EVENT_READ)
    os.write(1, b"ready\n")
    _import_first()
    requests = 0
    children: dict[int, socket.socket] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return ""
            if key.fileobj is woken:
                woken.recv(4096)
                _answer(children)
                continue
            connection = listening.accept()[0]
            try:
                words, files = _request(connection)
            except OSError:
                connection.close()  # its program has gone
                continue
            requests += 1
            if requests == _MANY:
                _import_all()
            child = os.fork()
            if child == 0:
                for other in (listening, woken, waker, selector, connection, *children.values()):
                    other.close()
                _become(words, files)
                return words[0]
            for file in files:
                os.close(file)
            children[child] = connection


def _answer(children: dict[int, socket.socket]) -> None:
    """Tell the programs whose children have ended how they ended (a signal as the shell says it)."""
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        code = os.waitstatus_to_exitcode(status)
        connection = children.pop(child)
        with contextlib.suppress(OSError):  # its program was stopped
            connection.sendall(bytes([code if code >= 0 else 128 - code]))
        connection.close()


def _run(tool: str) -> NoReturn:
    """Run a tool in a child, and end as the interpreter does, but for taking its modules apart.

    That would touch, and so copy, all pages that the child shares with the server: 80 ms, most of a run.
    """
    try:
        status = importlib.import_module(_MAINS[tool]).main()
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:  # as the interpreter says it: the reader has gone
        os.write(2, f"Exception ignored in: {sys.stdout!r}\n{type(error).__name__}: {error}\n".encode())
        os._exit(120)
    os._exit((status or 0) & 0xFF)


def _main() -> None:
    tool = _serve(sys.argv[1])
    if tool:
        _run(tool)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    _main()
