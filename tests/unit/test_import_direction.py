"""Imports run one way: frontend -> transforms -> lowering -> dialects; runtime is called by frontend and tools only."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT = {
    "dialects": {"dialects"},
    "analysis": {"analysis", "dialects"},
    "lowering": {"lowering", "analysis", "dialects"},
    "transforms": {"transforms", "lowering", "analysis", "dialects"},
    "runtime": {"runtime", "lowering", "analysis", "dialects"},
    "frontend": {"frontend", "transforms", "lowering", "analysis", "dialects", "runtime"},
    "tools": {"tools", "frontend", "transforms", "lowering", "analysis", "dialects", "runtime"},
}


def imported_packages(path: Path) -> set[str]:
    """Top-level packages of Nestor that the module imports, wherever in it the import stands."""
    module = ("nestor", *path.relative_to(ROOT).with_suffix("").parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            package = module[: len(module) - node.level] if node.level else ()
            base = (*package, *(node.module or "").split(".")) if node.module else package
            names = [(*base, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        found |= {name[1] for name in names if len(name) > 1 and name[0] == "nestor"}
    return found & set(MAY_IMPORT)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package):
    wrong = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        extra = imported_packages(path) - MAY_IMPORT[package]
        if extra:
            wrong[str(path.relative_to(ROOT))] = sorted(extra)
    assert not wrong


def test_a_wrong_import_would_be_seen(tmp_path, monkeypatch):
    """The check itself: relative and absolute imports of a forbidden package are both found."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "dialects").mkdir()
    bad = tmp_path / "dialects" / "bad.py"
    bad.write_text("def f():\n    from ..lowering import x\n    import nestor.runtime.cpu.engine\n")
    assert imported_packages(bad) == {"lowering", "runtime"}


def test_no_python_files_at_the_root_but_the_package():
    """Any other would be packed into the wheel."""
    assert sorted(p.name for p in ROOT.glob("*.py")) == ["__init__.py", "setup.py"]
