"""The paths that the documentation names exist, those in docstrings and comments too."""

import functools
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TREES = (
    "analysis",
    "dialects",
    "frontend",
    "lowering",
    "runtime",
    "tools",
    "transforms",
    "tests",
    "docs",
    "benchmarks",
    "examples",
)
PATH = re.compile(rf"`((?:{'|'.join(TREES)})/[\w./*-]*)`")
WRITTEN = "benchmarks/results/"  # by `make bench`: not in every checkout
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
NAMED = re.compile(
    r"(?<![\w/.<\"'$])((?:\w+/)+\w+\.(?:py|md|mlir|h|cpp))\b"
)  # as `cpu/streams.py`, from any folder on


def exists(path: str) -> bool:
    """Whether there is such a file or folder; a module may be named without its suffix."""
    place, _, name = path.rstrip("/").rpartition("/")
    folder = ROOT / place
    return folder.is_dir() and any(fnmatch(p.name, name) or p.stem == name for p in folder.iterdir())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page):
    missing = [path for path in PATH.findall(page.read_text()) if not exists(path)]
    assert not missing, f"{page.relative_to(ROOT)} names what is not there: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = CODE.sub("", page.read_text())
    links = [link for link in LINK.findall(text) if "://" not in link and WRITTEN not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing, f"{page.relative_to(ROOT)} links to what is not there: {missing}"


@pytest.mark.parametrize("package", [tree for tree in TREES if tree not in ("tests", "docs")])
def test_paths_that_code_names_exist(package):
    wrong = [
        f"{path.relative_to(ROOT)} names {name}"
        for path in (ROOT / package).rglob("*.py")
        for name in NAMED.findall(path.read_text())
        if not any(part in name for part in ("path/to/", "NAME")) and not is_end_of_a_path(name)
    ]
    assert not wrong


@functools.cache
def is_end_of_a_path(name: str) -> bool:
    return any(path.match(name) for tree in TREES for path in (ROOT / tree).rglob(Path(name).name))


def test_the_patterns_find_what_is_written():
    assert NAMED.findall("see cpu/streams.py, not x.py") == ["cpu/streams.py"]
    assert is_end_of_a_path("cpu/streams.py") and not is_end_of_a_path("cpu/no_such_file.py")
    assert PATH.findall("see `frontend/jit/driver/jit.py` and `lowering/`") == [
        "frontend/jit/driver/jit.py",
        "lowering/",
    ]
    assert LINK.findall("[a](docs/a.md#part) [b](../b.md)") == ["docs/a.md", "../b.md"]
    assert (
        exists("frontend/jit/driver/jit.py") and exists("lowering") and not exists("frontend/no_such_file.py")
    )
