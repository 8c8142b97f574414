"""Files that are there whole or not at all: written beside their place, then renamed.

write_whole("f.nestor", data)
"""

from __future__ import annotations

import contextlib
import os


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` into a file, in the place of one that is there. Raises OSError, and leaves that one as it was."""
    target = os.fspath(path)
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(21, "Is a directory", target)
    temporary = os.path.join(folder, f".{name}-{os.getpid()}-{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
