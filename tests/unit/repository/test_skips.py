"""What is skipped where a tool is missing: every test says what it needs, and the end of the tests says what was skipped."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import skip_report
from nestor.tools import test_environment
from places import ROOT, UNIT

LIT = ROOT / "tests" / "filecheck"
_RUN = re.compile(r"(?://|#) RUN:(.*)")
_REQUIRES = re.compile(r"(?://|#) REQUIRES:(.*)")
_TOOL = re.compile(rf"(?<![\w-])({'|'.join(test_environment.MLIR_TOOLS)})(?![\w-])")


def words_of(pattern: re.Pattern, text: str) -> set[str]:
    """MLIR's tools in the lines of a kind."""
    return {word for line in pattern.findall(text) for word in _TOOL.findall(line)}


def unsaid(text: str) -> set[str]:
    """MLIR's tools that a test runs without requiring them."""
    return words_of(_RUN, text) - words_of(_REQUIRES, text)


def lit_files() -> list[Path]:
    return [path for path in sorted(LIT.rglob("*")) if path.suffix in (".mlir", ".test")]


def test_what_runs_a_tool_of_mlir_requires_it():
    texts = {str(path.relative_to(LIT)): path.read_text() for path in lit_files()}
    assert {name: unsaid(text) for name, text in texts.items() if unsaid(text)} == {}
    assert any(words_of(_RUN, text) for text in texts.values()), "none is found any more"


def test_the_search_for_tools():
    assert unsaid("// RUN: opt-tool %s | mlir-opt -o /dev/null") == {"mlir-opt"}
    assert unsaid("// REQUIRES: mlir-opt\n// RUN: mlir-opt %s | mlir-translate") == {"mlir-translate"}
    assert unsaid("// RUN: opt-tool %s --mlir-opt-like\n// mlir-opt agrees") == set()


@pytest.fixture
def fake_tools(tmp_path, monkeypatch):
    """A folder of commands with an mlir-opt among them, first on PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("mlir-opt", "other"):
        (folder / name).write_text("#!/bin/sh\necho here\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.delenv("NESTOR_TEST_WITHOUT_MLIR", raising=False)
    monkeypatch.setattr(test_environment, "MLIR_BIN", str(tmp_path / "nowhere"))
    return folder


def test_hidden_tools_are_neither_found_nor_on_the_path(fake_tools, tmp_path, monkeypatch):
    assert test_environment.mlir_tool("mlir-opt") == str(fake_tools / "mlir-opt")
    path = test_environment.path_of_tests(os.environ["PATH"], tmp_path / "links")
    assert shutil.which("mlir-opt", path=path) == str(fake_tools / "mlir-opt")

    monkeypatch.setenv("NESTOR_TEST_WITHOUT_MLIR", "1")
    assert test_environment.mlir_tool("mlir-opt") is None
    assert "NESTOR_TEST_WITHOUT_MLIR" in test_environment.no_mlir_tool("mlir-opt")
    assert any("mlir-opt" in line for line in test_environment.report())
    path = test_environment.path_of_tests(os.environ["PATH"], tmp_path / "links")
    assert shutil.which("mlir-opt", path=path) is None
    assert shutil.which("other", path=path) is not None


def test_lit_without_mlir(fake_tools, tmp_path, monkeypatch):
    """A test that requires mlir-opt is skipped, and the results say why."""
    monkeypatch.setenv("NESTOR_TEST_WITHOUT_MLIR", "1")
    results = tmp_path / "results.json"
    lit = Path(sys.executable).parent / "lit"
    files = [LIT / "dialects" / "ext" / name for name in ("amx.mlir", "amx-mlir-opt.mlir")]
    done = subprocess.run(
        [lit, "--output", results, *files], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    codes = {Path(test["name"]).name: test["code"] for test in json.loads(results.read_text())["tests"]}
    assert codes == {"amx.mlir": "PASS", "amx-mlir-opt.mlir": "UNSUPPORTED"}

    report = run_pytest(tmp_path, NESTOR_LIT_RESULTS=str(results))
    assert report[-4:-1] == [
        "3 tests were skipped, 2 of pytest and 1 of FileCheck:",
        "     2 no such tool here",
        "     1 there is no mlir-opt for FileCheck tests",
    ]
    assert re.fullmatch(r"1 passed, 2 skipped in [\d.]+s", report[-1]), "pytest's closing line stays the last"


@pytest.mark.parametrize(("number", "text"), [(1, "1 test was"), (2, "2 tests were"), (31, "31 tests were")])
def test_the_number_is_said_in_english(number, text):
    assert skip_report.summary(Counter(why=number), Counter())[0] == f"{text} skipped, {number} of pytest:"


def test_nothing_skipped(tmp_path):
    assert "no test was skipped" in run_pytest(tmp_path, "-k", "passes", "-p", "no:xdist")


def run_pytest(tmp_path: Path, *arguments: str, **environment: str) -> list[str]:
    """The lines that pytest prints for a test that passes and two that are skipped, one of them by its mark."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_passes(): pass\n"
        "def test_is_skipped(): pytest.skip('no such tool here')\n"
        "@pytest.mark.skipif(True, reason='no such tool here')\ndef test_is_marked(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "skip_report", *arguments, "test_it.py"]
    inherited = {name: value for name, value in os.environ.items() if name != "NESTOR_LIT_RESULTS"}
    environment = {**inherited, "PYTHONPATH": str(UNIT), **environment}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
