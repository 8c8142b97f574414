"""Entries of the cache that are no entries: each is a miss, and no call waits for one or fails because of one."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from nestor.runtime import disk_cache
from nestor.runtime.disk_cache import Variant

ONE = Variant(b"conditions", b"program", b"code" * 100)
OTHER = Variant(b"other", b"program", b"code" * 10)

CALL = """
import sys
import nestor as nt
import numpy as np

@nt.jit
def f(x):
    return x * 2

@nt.jit
def g(x, y):
    np.add(x, 1, out=y)
    return y.sum()

x, y = np.arange(4.0), np.zeros(4)
assert f(x).tolist() == [0, 2, 4, 6]
assert g(x, y) == 10 and y.tolist() == [1, 2, 3, 4]
stats = nt.cache.stats()
print(stats["hits"], stats["stored"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    (tmp_path / "kernels").mkdir(mode=0o700)
    return tmp_path / "kernels"


def call(folder: Path, **variables: str) -> list[int]:
    """A process that calls two functions: programs found, programs stored."""
    script = folder.parent / "script.py"
    script.write_text(CALL)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("wrapper"))


def test_an_entry_is_of_its_key(folder):
    """An entry under another name is damaged, whatever is in it."""
    disk_cache.write("one", ONE)
    disk_cache.write("two", OTHER)
    one, two = folder / "one.kernels", folder / "two.kernels"
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert disk_cache.read("one") == disk_cache.read("two") == []
    one.write_bytes(second + first)
    assert disk_cache.read("one") == [ONE]
    assert disk_cache.write("two", OTHER) and disk_cache.read("two") == [OTHER]


def test_programs_that_were_swapped_are_compiled_again(folder):
    assert call(folder) == [0, 2]
    files = entries(folder)
    contents = [path.read_bytes() for path in files]
    for path, data in zip(files, contents[1:] + contents[:1], strict=True):
        path.write_bytes(data)
    assert call(folder) == [0, 2]
    assert call(folder) == [2, 0]


def a_directory(path: Path) -> None:
    path.mkdir()


def a_full_directory(path: Path) -> None:
    path.mkdir()
    (path / "file").write_text("")


def a_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def a_socket(path: Path) -> None:
    place = os.getcwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name[-60:])
        os.rename(path.name[-60:], path.name)
    finally:
        os.chdir(place)


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def no_bytes(path: Path) -> None:
    path.write_bytes(b"")


def what_is_too_large(path: Path) -> None:
    path.write_bytes(b"")
    os.truncate(path, 1 << 40)


def what_is_not_readable(path: Path) -> None:
    path.write_bytes(b"nestor02")
    path.chmod(0)


def another_version(path: Path) -> None:
    path.write_bytes(b"nestor01" + bytes(400))


NO_ENTRIES = [
    a_directory,
    a_full_directory,
    a_pipe,
    a_socket,
    a_link_to_itself,
    a_link_to_nothing,
    no_bytes,
    what_is_too_large,
    what_is_not_readable,
    another_version,
]


@pytest.mark.parametrize("make", NO_ENTRIES)
def test_what_is_no_entry_is_a_miss(folder, make):
    make(folder / "k.kernels")
    assert disk_cache.read("k") == []
    is_stored = disk_cache.write("k", ONE)
    assert is_stored == (disk_cache.read("k") == [ONE]) == (make not in (a_directory, a_full_directory))
    assert [path.name for path in folder.iterdir()] == ["k.kernels"]


@pytest.mark.parametrize("make", [a_directory, a_pipe])
def test_calls_pass_over_what_is_no_entry(folder, make):
    assert call(folder) == [0, 2]
    for path in folder.iterdir():
        path.unlink()
        make(path)
    found, stored = call(folder)
    assert found == 0 and stored == (0 if make is a_directory else 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
def test_a_device_is_a_miss(folder):
    try:
        os.mknod(folder / "k.kernels", 0o600 | 0o020000, os.makedev(1, 5))  # zeros without end
    except OSError:
        pytest.skip("no devices here")
    assert disk_cache.read("k") == []


@pytest.mark.parametrize("fails", ["open", "write", "replace"])
def test_a_disk_that_is_full(folder, fails, monkeypatch):
    """Nothing is kept, nothing remains, and what was there stays."""
    disk_cache.write("k", ONE)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    usual = os.open
    if fails == "open":
        monkeypatch.setattr(
            disk_cache.os, "open", lambda *a, **k: full() if a[1] & os.O_CREAT else usual(*a, **k)
        )
    elif fails == "write":
        monkeypatch.setattr(disk_cache, "_VARIANT", type("Full", (), {"pack": full, "size": 48}))
        monkeypatch.setattr(disk_cache, "read", lambda key: [])
    else:
        monkeypatch.setattr(disk_cache.os, "replace", full)
    assert not disk_cache.write("k", OTHER) and not disk_cache.write("new", OTHER)
    monkeypatch.undo()
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(folder.parent))
    assert disk_cache.read("k") == [ONE]
    assert [path.name for path in folder.iterdir()] == ["k.kernels"]


def test_a_store_that_is_stopped_leaves_nothing(folder, monkeypatch):
    class Stopped(BaseException):
        pass

    def stop(*args, **kwargs):
        raise Stopped

    monkeypatch.setattr(disk_cache.os, "replace", stop)
    with pytest.raises(Stopped):
        disk_cache.write("k", ONE)
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_only_read(folder):
    """Programs are found, and none is stored (but by root, who may write anywhere)."""
    assert call(folder) == [0, 2]
    kept = {path: path.read_bytes() for path in entries(folder)}
    folder.chmod(0o500)
    try:
        assert call(folder) == [2, 0]
        for path in kept:
            path.write_bytes(b"")
        assert call(folder) == [0, 2 if os.geteuid() == 0 else 0]
    finally:
        folder.chmod(0o700)


def test_a_file_that_is_replaced_while_it_is_read(folder, monkeypatch):
    """What was opened is read to its end."""
    large = Variant(b"large", b"p", os.urandom(1 << 20))
    disk_cache.write("k", large)
    usual = os.fstat

    def replaced(handle):
        status = usual(handle)
        if not folder.joinpath("done").exists() and status.st_size > 1 << 20:
            folder.joinpath("done").touch()
            disk_cache.clear()
            disk_cache.write("k", ONE)
        return status

    monkeypatch.setattr(disk_cache.os, "fstat", replaced)
    assert disk_cache.read("k") == [large]
    assert disk_cache.read("k") == [ONE]


def test_a_file_that_is_cut_off_while_it_is_read(folder, monkeypatch):
    disk_cache.write("k", ONE)
    usual = os.fstat

    def cut(handle):
        status = usual(handle)
        os.truncate(folder / "k.kernels", 60)
        return status

    monkeypatch.setattr(disk_cache.os, "fstat", cut)
    assert disk_cache.read("k") == []
