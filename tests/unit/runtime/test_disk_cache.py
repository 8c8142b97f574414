"""The files of the cache: what is believed, what is not, and how large they may grow."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import types
from pathlib import Path

import nestor as nt
import pytest
from nestor.runtime import disk_cache
from nestor.runtime.disk_cache import Variant

ONE = Variant(b"conditions", b"program", b"code" * 100)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_what_is_written_is_read(folder):
    assert disk_cache.read("k") == []
    assert disk_cache.write("k", ONE)
    assert disk_cache.read("k") == [ONE] and disk_cache.read("other") == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only_file(folder).stat().st_mode) == 0o600


def test_variants_of_a_key(folder):
    many = [Variant(b"%d" % k, b"p", b"c") for k in range(disk_cache.MAX_VARIANTS + 3)]
    for one in many:
        disk_cache.write("k", one)
    assert disk_cache.read("k") == many[: -disk_cache.MAX_VARIANTS - 1 : -1]
    again = Variant(many[-2].conditions, b"newer", b"c")
    disk_cache.write("k", again)
    assert disk_cache.read("k")[:2] == [again, many[-1]]
    assert len(disk_cache.read("k")) == disk_cache.MAX_VARIANTS


def test_damaged_files_are_passed_over_and_replaced(folder):
    disk_cache.write("k", Variant(b"a", b"b", b"c" * 50))
    disk_cache.write("k", ONE)
    whole = only_file(folder).read_bytes()
    for cut in range(0, len(whole), 7):
        only_file(folder).write_bytes(whole[:cut])
        assert all(one in (ONE, Variant(b"a", b"b", b"c" * 50)) for one in disk_cache.read("k"))
    for at in range(0, len(whole), 5):
        only_file(folder).write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        assert len(disk_cache.read("k")) < 2
    assert disk_cache.write("k", ONE) and disk_cache.read("k") == [ONE]


def test_a_directory_that_others_may_write_to_is_not_used(folder):
    disk_cache.write("k", ONE)
    for mode in (0o777, 0o770, 0o1777):
        folder.chmod(mode)
        assert disk_cache.read("k") == [] and not disk_cache.write("k", ONE)
    folder.chmod(0o700)
    only_file(folder).chmod(0o666)
    assert disk_cache.read("k") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_what_belongs_to_another_user_is_not_used(folder):
    disk_cache.write("k", ONE)
    os.chown(only_file(folder), 12345, -1)
    assert disk_cache.read("k") == []
    os.chown(folder, 12345, -1)
    assert not disk_cache.write("k", ONE)


def test_links_are_not_followed(folder, tmp_path):
    disk_cache.write("k", ONE)
    real = tmp_path / "real"
    only_file(folder).rename(real)
    (folder / "k.kernels").symlink_to(real)
    assert disk_cache.read("k") == []
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert not disk_cache.write("k", ONE)


def test_a_place_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path / "file"))
    assert not disk_cache.write("k", ONE) and disk_cache.read("k") == [] and disk_cache.sizes() == (0, 0)
    monkeypatch.delenv("NESTOR_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert disk_cache.directory() is None and not disk_cache.write("k", ONE)


def test_off(folder, monkeypatch):
    disk_cache.write("k", ONE)
    monkeypatch.setenv("NESTOR_CACHE", "0")
    assert disk_cache.read("k") == [] and not disk_cache.write("k", ONE)


def test_the_oldest_go_when_there_is_no_room(folder, monkeypatch):
    for k in range(10):
        disk_cache.write(f"k{k}", Variant(b"c", b"p", bytes(1000)))
        os.utime(folder / f"k{k}.kernels", (1000 + k, 1000 + k))
    disk_cache.read("k2")  # used just now
    monkeypatch.setenv("NESTOR_CACHE_BYTES", "4000")
    monkeypatch.setattr(disk_cache, "_WRITTEN", iter([0]))
    disk_cache.write("new", Variant(b"c", b"p", bytes(1000)))
    left = {path.name for path in folder.iterdir()}
    assert left == {"new.kernels", "k2.kernels", "k9.kernels"}
    assert disk_cache.sizes()[0] == 3 and disk_cache.clear() == 3 and disk_cache.sizes() == (0, 0)


def test_processes_that_write_at_once(folder):
    script = (
        "from nestor.runtime import disk_cache as d\n"
        "for k in range(100):\n"
        "    d.write('k', d.Variant(b'c', b'p', bytes([k]) * 20000))\n"
        "    assert all(v.code == v.code[:1] * 20000 for v in d.read('k')) and d.read('k')\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [one.wait(timeout=60) for one in running] == [0, 0, 0]
    assert [path.name for path in folder.iterdir()] == ["k.kernels"]


def test_the_environment_is_that_of_the_files(tmp_path):
    """Another file of the package, another Python setting: another key."""
    script = "from nestor.runtime import disk_cache; print(disk_cache.environment(), disk_cache.settings())"

    def text(*flags, **variables):
        done = subprocess.run(
            [sys.executable, *flags, "-c", script],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    plain = text()
    assert plain == text(NESTOR_CACHE="1", NESTOR_POOL="0")
    assert plain != text("-O") and plain != text(NESTOR_SOMETHING="1")


def test_files_of_the_compiler(tmp_path, monkeypatch):
    """An edited file is noticed in a working copy; a package that was installed changes with its RECORD."""
    package, info = tmp_path / "nestor", tmp_path / f"nestor-{nt.__version__}.dist-info"
    for part in disk_cache._PARTS:
        (package / part / "inner").mkdir(parents=True)
        (package / part / "inner" / "one.py").write_text("1")
    monkeypatch.setattr(disk_cache, "_ROOT", str(package))

    def forget():
        disk_cache._SAME.clear()
        disk_cache._own_version.cache_clear()
        disk_cache.environment.cache_clear()

    one, other = (package / part / "inner" / "one.py" for part in ("transforms", "lowering"))
    loaded = types.ModuleType("nestor.transforms.inner.one")
    loaded.__file__ = str(one)
    monkeypatch.setitem(sys.modules, loaded.__name__, loaded)
    try:
        forget()
        assert disk_cache.makers() is None  # written after this process began
        monkeypatch.setattr(disk_cache, "_BEGAN", time.time_ns() + 10**9)
        made_by = disk_cache.makers()
        assert made_by is not None and [name for name, *_ in made_by] == ["transforms/inner/one.py"]
        other.write_text("22")  # which had no part in it
        forget()
        assert disk_cache.are_same(made_by)
        os.utime(one, ns=(1, 1))
        forget()
        assert not disk_cache.are_same(made_by)
        one.unlink()
        forget()
        assert not disk_cache.are_same(made_by) and disk_cache.makers() is None

        info.mkdir()
        (info / "RECORD").write_text("1")
        forget()
        before = disk_cache.environment()
        assert disk_cache.makers() == ()
        (info / "RECORD").write_text("22")
        forget()
        assert disk_cache.environment() != before
    finally:
        monkeypatch.undo()
        forget()
