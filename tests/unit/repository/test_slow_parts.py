"""How the slow tests of one run are chosen."""

import importlib.util
import subprocess
from types import SimpleNamespace

import pytest
from places import ROOT
from sampling import chosen, pytest_collection_modifyitems
from slow_parts import OVER, SHARES, is_in_turn, not_reached

pytest_plugins = ["pytester"]

TESTS = [f"tests/unit/{file}.py::test_{k}[{k}]" for file in "ab" for k in range(200)]


@pytest.fixture
def slow_turn():
    spec = importlib.util.spec_from_file_location("slow_turn", ROOT / "tests" / "slow_turn.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_turns_in_a_row_have_each_test_once():
    for first in (0, 3, 50):
        turns = [[test for test in TESTS if is_in_turn(test, first + k)] for k in range(SHARES)]
        assert sorted(test for turn in turns for test in turn) == sorted(TESTS)
        assert all(len(turn) > 80 for turn in turns)
        assert all(
            any("/a.py" in test for test in turn) and any("/b.py" in test for test in turn) for turn in turns
        )


def test_whole_programs_are_in_each_turn():
    assert all(is_in_turn("tests/programs/whole/test_whole_programs.py::test_f[x]", k) for k in range(SHARES))


def test_a_turn_leaves_out_the_slow_tests_of_others_alone(pytester):
    pytester.makepyfile("""
        import pytest
        @pytest.mark.slow
        @pytest.mark.parametrize("k", range(40))
        def test_slow(k): pass
        @pytest.mark.parametrize("k", range(10))
        def test_quick(k): pass
    """)
    counts = []
    for turn in range(SHARES):
        done = pytester.inline_run("-p", "slow_parts", "-p", "no:xdist", "--slow-turn", str(turn))
        counts.append(len(done.listoutcomes()[0]) - 10)
    assert sum(counts) == 40 and min(counts) > 0


def test_each_landing_has_the_next_turn(slow_turn):
    hour = 3600
    landings = [[0, 600, hour], [hour + slow_turn.PAUSE, 3 * hour], [6 * hour], [8 * hour, 8 * hour + 5]]
    times = [time for landing in landings for time in landing]
    ends = [landing[-1] for landing in landings]
    assert [slow_turn.pauses(time for time in times if time <= end) for end in ends] == [0, 1, 2, 3]
    assert slow_turn.pauses([]) == 0
    assert slow_turn.pauses(reversed(times)) == 3


def test_the_turn_is_that_of_the_history_and_of_the_clock_where_there_is_none(slow_turn, tmp_path):
    assert slow_turn.turn(folder=tmp_path, now=5 * slow_turn.SLOT + 1) == 5

    def git(*arguments, **environment):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, env=environment, capture_output=True)

    git("init", "-q")
    for k in range(3):
        date = f"{1_700_000_000 + k * slow_turn.PAUSE} +0000"
        name = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a",
        }
        git("commit", "-q", "--allow-empty", "-m", "x", GIT_COMMITTER_DATE=date, GIT_AUTHOR_DATE=date, **name)
        assert slow_turn.turn(folder=tmp_path, now=0) == k
    assert slow_turn.turn("HEAD~1", folder=tmp_path, now=0) == 1
    git("clone", "-q", "--depth", "1", tmp_path.as_uri(), "shallow")
    assert slow_turn.turn(folder=tmp_path / "shallow", now=7 * slow_turn.SLOT) == 7


def test_what_was_not_reached_is_listed_by_file():
    reports = [
        SimpleNamespace(longrepr=("x", 1, f"Skipped: {OVER}"), nodeid="tests/a.py::t[1]"),
        SimpleNamespace(longrepr=("x", 1, f"Skipped: {OVER}"), nodeid="tests/a.py::t[2]"),
        SimpleNamespace(longrepr=("x", 1, "Skipped: no torch"), nodeid="tests/b.py::t"),
    ]
    assert not_reached(reports) == ["there was no time for 2 slow tests:", "     2 tests/a.py"]
    assert not_reached(reports[2:]) == []


class Case:
    """A case of a test, as pytest collects it."""

    def __init__(self, name: str, case: int, *markers: str):
        self.nodeid, self.originalname = f"tests/a.py::{name}[{case}]", name
        self.callspec = SimpleNamespace(params={"case": case})
        self.markers = dict.fromkeys(markers)
        if "one_of" in self.markers:
            self.markers["one_of"] = SimpleNamespace(args=(3,))

    def get_closest_marker(self, name):
        return SimpleNamespace() if self.markers.get(name, 0) is None else self.markers.get(name)

    def iter_markers(self, name):
        return iter(())

    def add_marker(self, name):
        self.markers[name] = None


def test_of_the_cases_of_a_test_some_are_quick():
    cases = [Case("f", k, "one_of") for k in range(7)] + [Case("g", 0, "one_of"), Case("h", 0), Case("h", 1)]
    already = [Case("f", 9, "one_of", "slow")]
    pytest_collection_modifyitems([*already, *cases])
    assert [c.nodeid.partition("::")[2] for c in cases if c.get_closest_marker("slow") is None] == [
        "f[0]", "f[3]", "f[6]", "g[0]", "h[0]", "h[1]",
    ]  # fmt: skip


def test_of_a_grid_the_diagonals_are_quick():
    grid = [{"f": f, "target": target} for f in "abcd" for target in ("cpu", "interp")]
    assert [tuple(grid[k].values()) for k in sorted(chosen(grid, 2))] == [
        ("a", "cpu"), ("b", "interp"), ("c", "cpu"), ("d", "interp"),
    ]  # fmt: skip
    small = [{"f": f, "target": target} for f in "ab" for target in ("cpu", "interp")]
    assert chosen(small, 3) == {0, 3}
    assert chosen([{}], 3) == {0}
