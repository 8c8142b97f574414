"""Reading input and writing output: bytes in, pieces of text out, files written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass

from ...dialects.diagnostic import NestorError, SourceLocation

_SPLIT_MARKER = re.compile(r"^// -----[ \t\r]*$", re.MULTILINE)


_BYTECODE = b"ML\xefR"
"""What every file of MLIR bytecode starts with."""


@dataclass(frozen=True)
class Chunk:
    """A piece of the input, and the line of the file at which it starts."""

    text: str
    first_line: int


def read_input(path: str) -> tuple[str, str]:
    """The text of `path` (`-` is standard input) and the name that locations carry."""
    name = "<stdin>" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else _read_file(path)
    except OSError as error:
        raise NestorError(f"cannot read input file '{path}': {error.strerror or error}") from error
    return _decode(data, name), name


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _decode(data: bytes, name: str) -> str:
    if data.startswith(_BYTECODE):
        raise NestorError(
            f"{name} is MLIR bytecode: opt-tool reads text",
            hint="mlir-opt --allow-unregistered-dialect FILE prints it as text",
        )
    if (nul := data.find(b"\0")) >= 0:
        place = _byte_place(data, nul, name)
        raise NestorError("the input contains a NUL byte: it is not textual IR", place)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _byte_place(data, error.start, name)
        raise NestorError(f"invalid UTF-8: byte 0x{data[error.start]:02x}", place) from error


def _byte_place(data: bytes, at: int, name: str) -> SourceLocation:
    return SourceLocation(name, data.count(b"\n", 0, at) + 1, at - data.rfind(b"\n", 0, at))


def split_chunks(text: str) -> list[Chunk]:
    """The pieces of `text` between lines `// -----`."""
    chunks: list[Chunk] = []
    start = 0
    for marker in _SPLIT_MARKER.finditer(text):
        chunks.append(Chunk(text[start : marker.start()], text.count("\n", 0, start) + 1))
        start = marker.end()
    chunks.append(Chunk(text[start:], text.count("\n", 0, start) + 1))
    return chunks


@contextmanager
def off_standard_output() -> Iterator[None]:
    """What a user's Python file prints inside goes to standard error: standard output is for the IR alone."""
    printed = sys.stdout
    printed.flush()
    try:
        kept = os.dup(1)
    except OSError:  # closed: nothing can be written to it anyway
        with redirect_stdout(sys.stderr):
            yield
        return
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        printed.flush()
        os.dup2(kept, 1)
        os.close(kept)


def write_output(path: str, output: str | bytes) -> None:
    """Write it to `path` (`-` is standard output). A regular file is replaced in one step."""
    data = output if isinstance(output, bytes) else output.encode("utf-8")
    if path != "-":
        write_bytes(path, data)
    elif isinstance(output, bytes) and sys.stdout.isatty():
        raise NestorError("this output is no text", hint="-o FILE writes it to a file")
    else:
        _write_to_stdout(data)


def _write_to_stdout(data: bytes) -> None:
    """All of it, in UTF-8: an unbuffered stream may take a part, and the locale may not have every character."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # replaced by one that takes text only
        sys.stdout.write(data.decode("utf-8"))
        return
    sys.stdout.flush()
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) or 0 :]
    stream.flush()


def write_bytes(path: str, data: bytes) -> None:
    """Write `data` to the file `path`. A regular file is replaced in one step."""
    try:
        _write_file(os.path.realpath(path), data)
    except OSError as error:
        raise NestorError(f"cannot write output file '{path}': {error.strerror or error}") from error


def _write_file(path: str, data: bytes) -> None:
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:
            file.write(data)
        return
    import tempfile

    mode = _final_mode(path)
    handle, temporary = tempfile.mkstemp(prefix=".opt-tool-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _final_mode(path: str) -> int:
    if os.path.exists(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied")
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
