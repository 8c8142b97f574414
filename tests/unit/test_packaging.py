"""pyproject.toml lists every package and every data file of the tree: a wheel would silently lack what it does not name."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP = ("dialects", "frontend", "lowering", "runtime", "tools", "transforms")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_package_is_listed():
    found = {"nestor"}
    for top in TOP:
        found |= {
            ".".join(("nestor", *p.parent.relative_to(ROOT).parts)) for p in (ROOT / top).rglob("__init__.py")
        }
    assert sorted(SETTINGS["packages"]) == sorted(found)


def test_every_folder_with_python_is_a_package():
    for top in TOP:
        for path in (ROOT / top).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), (
                f"{path.parent.relative_to(ROOT)} has no __init__.py"
            )


def test_every_data_file_is_listed():
    for top in TOP:
        for path in (ROOT / top).rglob("*"):
            if path.is_dir() or path.suffix in (".py", ".pyc"):
                continue
            package = ".".join(("nestor", *path.parent.relative_to(ROOT).parts))
            patterns = SETTINGS["package-data"].get(package, [])
            assert any(fnmatch(path.name, pattern) for pattern in patterns), path.relative_to(ROOT)
