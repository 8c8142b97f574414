"""The parts that `make test` runs have each file of tests once, and their failures are told."""

import importlib.util
import subprocess
import time
from collections import Counter

import pytest
from places import ROOT


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


def test_slow_tests_begin_with_whole_programs_and_then_with_another_part_in_each_turn(in_parts):
    starts = set()
    for k in range(in_parts.PARTS):
        whole, *fifths = in_parts.parts(k)
        assert {path.parent.name for path in whole} == {"whole"}
        assert sorted(path for part in (whole, *fifths) for path in part) == sorted(
            path for part in in_parts.parts() for path in part
        )
        starts.add(fifths[0][0])
    assert len(starts) == in_parts.PARTS


def test_the_minutes_are_those_of_all_parts(in_parts, monkeypatch):
    ends = []

    def run(command, env, **options):
        ends.append(env[in_parts.UNTIL])
        assert "--slow-minutes" not in command and command[3:5] == ["-q", "--slow-turn"]
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setenv(in_parts.UNTIL, "")
    monkeypatch.setattr(in_parts.subprocess, "run", run)
    assert in_parts.main(["-q", "--slow-minutes", "2", "--slow-turn", "3"]) == 0
    assert len(ends) == in_parts.PARTS + 1 and len(set(ends)) == 1
    assert 0 < float(ends[0]) - time.time() <= 120


def test_what_others_run_is_left_out(in_parts, monkeypatch):
    ran = []

    def run(command, **options):
        ran.append(command[3:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(in_parts.subprocess, "run", run)
    given = ["--slow-turn", "3"]
    assert in_parts.main(given) == 0
    every, ran[:] = [*ran], []
    assert in_parts.main([*given, "--without", "tests/programs/whole"]) == 0
    assert ran == every[1:] and all("/whole/" in file for file in every[0][2:])
    with pytest.raises(SystemExit, match=r"there are no tests in .*programs/holes"):
        in_parts.main([*given, "--without", "tests/programs/holes"])


@pytest.mark.parametrize(("codes", "end"), [((5, 0, 5, 0, 0), 0), ((5, 5, 5, 5, 5), 5), ((5, 0, 1, 5, 0), 1)])
def test_a_part_without_tests_fails_where_no_part_has_any(in_parts, monkeypatch, codes, end):
    given = iter(codes)
    monkeypatch.setattr(
        in_parts.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, next(given))
    )
    assert in_parts.main([]) == end
