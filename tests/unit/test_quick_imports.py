"""Modules that are imported quickly are those which importlib finds, with the same code, and stale bytecode is not taken."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import nestor
import pytest
import xdsl
import xdsl.dialects
from nestor.frontend import quick_imports
from nestor.frontend.quick_imports import quick_imports as quickly

SOURCE = "value = 1\n"


def _finder() -> Any:
    finder = quick_imports._Finder()  # one that has listed no folder
    return finder


def _names(package: Any) -> list[str]:
    folder = Path(package.__path__[0])
    files = [path for path in folder.iterdir() if path.suffix == ".py" and path.stem != "__init__"]
    folders = [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    return sorted(path.stem for path in [*files, *folders])


@pytest.mark.parametrize("package", [nestor, nestor.frontend, xdsl, xdsl.dialects], ids=lambda p: p.__name__)
def test_modules_are_those_of_importlib(package: Any):
    names = _names(package)
    finder = _finder()
    for name in names:
        full = f"{package.__name__}.{name}"
        quick, usual = (each.find_spec(full, package.__path__) for each in (finder, PathFinder))
        assert quick is not None and usual is not None
        for member in ("name", "origin", "cached", "has_location", "submodule_search_locations", "parent"):
            assert getattr(quick, member) == getattr(usual, member)
        assert quick.loader.get_code(full) == usual.loader.get_code(full)  # pyright: ignore
        assert quick.loader.get_filename(full) == usual.loader.get_filename(full)  # pyright: ignore
    assert len(names) > 3


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "nestor_quick_imports"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(quick_imports, "_PACKAGES", frozenset([folder.name]))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    importlib.import_module(folder.name)
    yield folder
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def _value(folder: Path) -> int:
    name = f"{folder.name}.one"
    sys.modules.pop(name, None)
    with quickly():
        module = importlib.import_module(name)
    assert type(module.__loader__) is quick_imports._Loader
    return module.value


def test_bytecode_is_of_its_source(package: Path):
    source = package / "one.py"
    bytecode = Path(importlib.util.cache_from_source(str(source)))
    assert _value(package) == 1 and bytecode.exists()
    assert _value(package) == 1
    source.write_text(SOURCE.replace("1", "22"))  # another size
    assert _value(package) == 22
    source.write_text(SOURCE.replace("1", "33"))
    os.utime(source, (1, 1))  # another time
    assert _value(package) == 33
    bytecode.write_bytes(b"\0" * 16 + bytecode.read_bytes()[16:])
    assert _value(package) == 33
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    source.write_text(SOURCE.replace("1", "44"))
    os.utime(source, (1, 1))
    assert _value(package) == 44


def test_bytecode_that_was_taken_is_that_of_the_file(package: Path):
    """The bytecode of other code with the time and size of the source is taken, as by importlib: it is what is read."""
    source = package / "one.py"
    status = source.stat()
    source.write_text(SOURCE.replace("1", "7"))
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    source.write_text(SOURCE)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert _value(package) == 7


@pytest.mark.parametrize("other", ["one.pyc", "one.so", "one"])
def test_what_has_a_namesake_is_left_to_importlib(package: Path, other: str):
    path = package / other
    path.mkdir() if other == "one" else path.touch()
    assert _finder().find_spec(f"{package.name}.one", [str(package)]) is None


def test_other_packages_and_what_is_not_there_are_left_to_importlib(package: Path):
    folders = [str(package)]
    assert _finder().find_spec(f"{package.name}.one", folders) is not None
    assert _finder().find_spec(f"{package.name}.two", folders) is None
    assert _finder().find_spec("numpy.one", folders) is None
    assert _finder().find_spec(f"{package.name}.one", [*folders, *folders]) is None
    assert _finder().find_spec(package.name, None) is None


def test_the_finders_are_as_they_were(monkeypatch: pytest.MonkeyPatch):
    before = [*sys.meta_path]
    with quickly():
        assert sys.meta_path[1:] == before
        with quickly():
            assert sys.meta_path[1:] == before
        assert sys.meta_path[1:] == before
    assert sys.meta_path == before
    monkeypatch.setattr(sys, "pycache_prefix", "/elsewhere")
    with quickly():
        assert sys.meta_path == before
