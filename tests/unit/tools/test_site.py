"""The documentation as a site: generated pages are current, snippets are run by tests, and it builds."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from nestor.tools.docs import passes
from places import ROOT, TESTS

DOCS = ROOT / "docs"
SNIPPET = re.compile(r"^```python", re.MULTILINE)
READS = re.compile(r"""(?:environ(?:\.get\(|\[)|getenv\(|VARIABLE = |asked_for\()\s*"(NESTOR_[A-Z_]+)\"""")
ROOMS = ("analysis", "dialects", "frontend", "lowering", "runtime", "tools", "transforms")
OF_TESTS = {"NESTOR_TEST_WITHOUT_MLIR"}
WITH_TESTS_OF_THEIR_OWN = {
    "deploy": "programs/test_deploy_page.py",
    "debugging": "programs/test_debugging_page.py",
    "cuda": "unit/tools/test_cuda_docs.py",
}


def test_the_page_of_passes_is_current():
    assert (DOCS / "reference" / "passes.md").read_text() == passes.page()


def test_each_environment_variable_has_a_line():
    text = (DOCS / "reference" / "environment.md").read_text()
    named = set(re.findall(r"^\| `(NESTOR_[A-Z_]+)`", text, re.MULTILINE))
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    read = {name for file in files for name in READS.findall(file.read_text())}
    assert read - OF_TESTS == named


def test_each_page_with_snippets_has_a_test_that_runs_them():
    from_table = (TESTS / "programs" / "test_pages.py").read_text()
    names = set(re.findall(r'"([\w-]+)"', from_table))
    pages = [file for file in DOCS.rglob("*.md") if SNIPPET.search(file.read_text())]
    missing = [
        file.stem for file in pages if file.stem not in names and file.stem not in WITH_TESTS_OF_THEIR_OWN
    ]
    assert missing == []
    assert all((TESTS / test).exists() for test in WITH_TESTS_OF_THEIR_OWN.values())


def test_the_navigation_has_each_page_but_decisions_and_results():
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    there = {str(file.relative_to(DOCS)) for file in DOCS.rglob("*.md")}
    assert listed == {page for page in there if not page.startswith(("decisions/", "results/"))}


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs comes with the docs extra")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "nestor" in (tmp_path / "site" / "reference" / "api.html").read_text()
