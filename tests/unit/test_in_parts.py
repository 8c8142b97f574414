"""The parts that `make test` runs have each file of tests once, and their failures are told."""

import importlib.util
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def in_parts():
    spec = importlib.util.spec_from_file_location("in_parts", ROOT / "tests" / "in_parts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_file_of_tests_is_in_one_part(in_parts):
    files = Counter(path for part in in_parts.parts() for path in part)
    assert set(files.values()) == {1}
    all_of_them = {path for path in (ROOT / "tests").rglob("test_*.py") if "filecheck" not in path.parts}
    assert set(files) == all_of_them
    assert in_parts.parts()[0][0].parent.name == "whole"


def test_a_part_that_fails_is_told_and_the_others_run(in_parts, monkeypatch, capsys):
    ran = []

    def run(command, **options):
        ran.append(command)
        return subprocess.CompletedProcess(command, 1 if len(ran) == 2 else 0)

    monkeypatch.setattr(in_parts.subprocess, "run", run)
    assert in_parts.main(["-x"]) == 1
    assert len(ran) == in_parts.PARTS
    assert "failed: part 2" in capsys.readouterr().out
