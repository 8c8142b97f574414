"""Compiled kernels on the disk: which directory, which files, and what a file must be to be believed.

A file holds the variants of one key, each with a digest of its own and of the key: what is cut off, damaged, of another
version or of another key is passed over, and so is what is no ordinary file. Files are written beside their place and
renamed, so that readers see an old one or a new one. What is loaded is run: the directory must belong to the user, and
nobody else may be able to write to it.

`NESTOR_CACHE=0` turns the cache off; `NESTOR_CACHE_DIR` says where it is (default: the user's cache directory);
`NESTOR_CACHE_BYTES` bounds it (default 512 MiB): the files that were used longest ago go first.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import os
import stat
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from operator import itemgetter

from .. import __version__
from .cpu.processor import linux_facts, may_use_tiles

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b  # which loads OpenSSL

MAX_VARIANTS = 8
"""Maximum number of variants of one key: the same call where it read other values from outside."""

_SUFFIX = ".kernels"
_MAGIC = b"nestor02"
_VARIANT = struct.Struct("<8sQQQ16s")
_PRUNE_EVERY = 32
_WRITTEN = itertools.count()


class Variant(tuple):
    """A stored program: what must hold for it to be used, what is known of it, its machine code."""

    __slots__ = ()

    def __new__(cls, conditions: bytes, program: bytes, code: bytes):
        return tuple.__new__(cls, (conditions, program, code))

    conditions, program, code = (property(itemgetter(k)) for k in range(3))


class Counts:
    """What this process did."""

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self.stored = 0


COUNTS = Counts()


def is_on() -> bool:
    """Whether the cache may be used here; where it is, and whether that can be trusted, is another matter."""
    return (
        os.environ.get("NESTOR_CACHE", "1") != "0"
        and hasattr(os, "geteuid")
        and os.open in os.supports_dir_fd
    )


def directory() -> str | None:
    """Where files are kept; None where there is no place for them."""
    root = os.environ.get("NESTOR_CACHE_DIR")
    if not root:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        if not os.path.isabs(base):
            return None
        root = os.path.join(base, "nestor")
    return os.path.join(root, "kernels")


def limit() -> int:
    """How many bytes all files may have."""
    try:
        return int(os.environ.get("NESTOR_CACHE_BYTES", 512 << 20))
    except ValueError:
        return 512 << 20


@contextlib.contextmanager
def _opened(create: bool) -> Iterator[int | None]:
    """The directory as a file descriptor; None where it is not there, or not to be trusted."""
    path = directory()
    if path is None or not is_on():
        yield None
        return
    try:
        if create:
            os.makedirs(path, mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        yield handle if _is_ours(os.fstat(handle)) else None
    finally:
        os.close(handle)


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# ---- reading ----------------------------------------------------------------------------------------


def read(key: str) -> list[Variant]:
    """The variants stored under a key, newest first; none where there is no file that can be believed."""
    with _opened(create=False) as folder:
        if folder is None:
            return []
        try:
            # A pipe that nobody writes to must not hold the call up.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
            handle = os.open(key + _SUFFIX, flags, dir_fd=folder)
        except OSError:
            return []
        try:
            data = _contents(handle)
            with contextlib.suppress(OSError):
                os.utime(handle)  # the file was used
        except OSError:
            return []
        finally:
            os.close(handle)
    return list(unpacked(key, data))


def _contents(handle: int) -> bytes:
    """All of a file; nothing where it is no ordinary one, not ours, or larger than all files may be. Raises OSError."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or not _is_ours(status) or status.st_size > limit():
        return b""
    parts = []
    while part := os.read(handle, status.st_size + 1):
        parts.append(part)
    return b"".join(parts)


def packed(key: str, variant: Variant) -> bytes:
    """A variant with its digest, as files hold it."""
    return b"".join((_VARIANT.pack(_MAGIC, *map(len, variant), _digest(key, variant)), *variant))


def unpacked(key: str, data: bytes) -> Iterator[Variant]:
    """The variants in `data` up to what is cut off, without those that are damaged or of another key."""
    at = 0
    while at + _VARIANT.size <= len(data):
        magic, *sizes, wanted = _VARIANT.unpack_from(data, at)
        start = at + _VARIANT.size
        at = start + sum(sizes)
        if magic != _MAGIC or at > len(data):
            return
        parts = []
        for size in sizes:
            parts.append(data[start : start + size])
            start += size
        variant = Variant(*parts)
        if _digest(key, variant) == wanted:
            yield variant


def _digest(key: str, variant: Variant) -> bytes:
    made = blake2b(digest_size=16)
    for part in (key.encode(), *variant):
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


# ---- writing ----------------------------------------------------------------------------------------


def write(key: str, variant: Variant) -> bool:
    """Store a variant, beside others of its key; whether that was possible."""
    others = [v for v in read(key) if v.conditions != variant.conditions][: MAX_VARIANTS - 1]
    with _opened(create=True) as folder:
        if folder is None:
            return False
        temporary = f".{key}-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
            with open(handle, "wb") as file:
                file.writelines([packed(key, one) for one in (variant, *others)])
            os.replace(temporary, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            if not isinstance(error, OSError):
                raise
            return False
        if next(_WRITTEN) % _PRUNE_EVERY == 0:
            _prune(folder)
    return True


def _files(folder: int) -> list[tuple[float, int, str]]:
    """When each file was used, its bytes, its name."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_mtime, status.st_size, entry.name))
    return found


_ABANDONED = 3600.0
"""Seconds after which a file that was being written belongs to a process that has died."""


def _prune(folder: int) -> None:
    """Remove the files that were used longest ago until the rest is within the limit."""
    files = sorted(_files(folder), reverse=True)
    newest, room = files[0][0] if files else 0.0, limit()
    for used, size, name in files:
        room -= size
        if room < 0 or (name.startswith(".") and newest - used > _ABANDONED):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)


def clear() -> int:
    """Remove all files; how many there were."""
    removed = 0
    with _opened(create=False) as folder:
        for *_, name in _files(folder) if folder is not None else ():
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
                removed += 1
    return removed


def sizes() -> tuple[int, int]:
    """How many files there are, and their bytes."""
    with _opened(create=False) as folder:
        files = _files(folder) if folder is not None else []
    return len(files), sum(size for _, size, _ in files)


# ---- what every key depends on ----------------------------------------------------------------------

_PARTS = ("analysis", "dialects", "frontend", "lowering", "runtime", "transforms")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = ("xdsl", "llvmlite", "islpy")
_OWN_SETTINGS = (
    "NESTOR_CACHE",
    "NESTOR_POOL",
    "NESTOR_FAST_CALL",
    "NESTOR_LOG",
    "NESTOR_DEBUG",
    "NESTOR_DISABLE",
)


@functools.cache
def environment() -> str:
    """A digest of what compiles and what runs the code: this package, its libraries, Python, the processor.

    Of a working copy it says only where that is: its files are looked at one by one (`makers`).
    """
    made = blake2b(digest_size=16)
    for text in (
        _ROOT,
        str(_own_version()),
        *_libraries(),
        sys.version,
        str(sys.flags.optimize),
        _processor(),
    ):
        made.update(text.encode())
        made.update(b"\0")
    return made.hexdigest()


def settings() -> str:
    """Environment variables that compilation may read."""
    items = sorted(
        item
        for item in os.environ.items()
        if item[0] == "CC" or (item[0].startswith("NESTOR_") and not item[0].startswith(_OWN_SETTINGS))
    )
    return repr(items)


@functools.cache
def _own_version() -> str | None:
    """What tells an installed package from another: its RECORD. None in a working copy, where files change one by one."""
    try:
        return _stamp(os.path.join(os.path.dirname(_ROOT), f"nestor-{__version__}.dist-info", "RECORD"))
    except OSError:
        return None


def _stamp(path: str) -> str:
    """A file, its size, and when it was written. Raises OSError."""
    status = os.stat(path)
    return f"{os.path.basename(path)} {status.st_size} {status.st_mtime_ns}"


def _libraries() -> Iterator[str]:
    """Where libraries are, and when they were installed: reading their versions would import them."""
    import numpy as np

    yield np.__version__
    for name in _LIBRARIES:
        spec = importlib.util.find_spec(name)
        folder = os.path.dirname(spec.origin) if spec is not None and spec.origin else ""
        yield f"{name} {folder}"
        for file in ("__init__.py", "_version.py"):
            with contextlib.suppress(OSError):
                yield _stamp(os.path.join(folder, file))


# ---- the files of a working copy --------------------------------------------------------------------

_BEGAN = time.time_ns()
_COARSE = 20_000_000
"""Nanoseconds by which a file system's clock may be late."""

Maker = tuple[str, int, int]
"""A file of this package, its size, when it was written."""


def makers() -> tuple[Maker, ...] | None:
    """The files that have a part in what was compiled: all that are loaded. None where one changed since, on the disk.

    Other files had no part in it. Of an installed package there are none, as its RECORD is in every key.
    """
    if _own_version() is not None:
        return ()
    found = []
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        name = path.removeprefix(_ROOT + os.sep)
        if name == path or name.partition(os.sep)[0] not in _PARTS:
            continue
        try:
            status = os.stat(path)
        except OSError:
            return None
        if status.st_ctime_ns > _BEGAN - _COARSE:
            return None
        found.append((name, status.st_size, status.st_mtime_ns))
    return tuple(found)


def are_same(files: Iterable[Maker]) -> bool:
    """Whether the files are as they were."""
    for file in files:
        if file not in _SAME:
            name, size, written = file
            try:
                status = os.stat(f"{_ROOT}/{name}")
            except OSError:
                return False
            if status.st_size != size or status.st_mtime_ns != written:
                return False
            _SAME.add(file)
    return True


_SAME: set[Maker] = set()
"""Files that were found to be as they were: programs of a process are all looked up by what they were then."""


_FACTS = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"CPU ", b"Features")


@functools.cache
def _processor() -> str:
    """The processor and its features, as Linux says it; elsewhere as LLVM does."""
    facts = [line for line in linux_facts().splitlines() if line.startswith(_FACTS)]
    facts.append(b"tiles" if may_use_tiles() else b"no tiles")
    if any(line.startswith((b"flags", b"Features")) for line in facts):
        return b"\n".join(facts).decode("utf-8", "replace")
    from .cpu.llvm_machine import host

    return repr(host())
