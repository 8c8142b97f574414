"""A wheel holds every package and every data file of the tree."""

import ast
import tomllib
from fnmatch import fnmatch

from places import ROOT

TOP = ("analysis", "dialects", "frontend", "lowering", "runtime", "tools", "transforms")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def _assigned(name):
    """What setup.py assigns to a name."""
    tree = ast.parse((ROOT / "setup.py").read_text())
    (found,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return found


def test_setuptools_looks_in_every_room():
    """Below a room it finds every folder with an `__init__.py`, which the next test demands."""
    rooms = _assigned("ROOMS")
    there = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks"}
    assert sorted(rooms) == sorted(TOP) == sorted(there)


def test_every_folder_with_python_is_a_package():
    for top in TOP:
        for path in (ROOT / top).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), (
                f"{path.parent.relative_to(ROOT)} has no __init__.py"
            )


def test_the_pages_and_the_demos_program_are_in_a_wheel():
    """A message that ends with `docs/errors.md` names a file that is there."""
    packages = _assigned("DATA")
    assert "examples" in packages and (ROOT / "examples" / "iou.py").exists()
    for page in (ROOT / "docs").rglob("*.md"):
        folder = ".".join(page.parent.relative_to(ROOT).parts)
        if folder != "docs.results":
            assert folder in packages and "*.md" in SETTINGS["package-data"][f"nestor.{folder}"], page


def test_every_data_file_is_listed():
    for top in TOP:
        for path in (ROOT / top).rglob("*"):
            if path.is_dir() or path.suffix in (".py", ".pyc"):
                continue
            package = ".".join(("nestor", *path.parent.relative_to(ROOT).parts))
            patterns = SETTINGS["package-data"].get(package, [])
            assert any(fnmatch(path.name, pattern) for pattern in patterns), path.relative_to(ROOT)
