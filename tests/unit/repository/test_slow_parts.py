"""How the slow tests of one run are chosen."""

from types import SimpleNamespace

from slow_parts import OVER, in_turn, not_reached

FILES = ["unit/a.py", "unit/a.py", "programs/whole/w.py", "unit/b.py", "unit/c.py", "unit/a.py"]


def test_whole_programs_are_first_and_the_others_begin_where_the_commit_says():
    items = list(range(6))
    assert in_turn(items, FILES, "00000000aa") == [2, 0, 1, 5, 3, 4]
    assert in_turn(items, FILES, "00000001aa") == [2, 3, 4, 0, 1, 5]
    assert in_turn(items, FILES, "00000002aa") == [2, 4, 0, 1, 5, 3]
    assert in_turn([7], ["programs/whole/w.py"], "00000001") == [7]


def test_every_test_is_in_turn_once():
    for commit in ("0000000a", "ffffffff", "12345678"):
        assert sorted(in_turn(range(6), FILES, commit)) == list(range(6))


def test_what_was_not_reached_is_listed_by_file():
    reports = [
        SimpleNamespace(longrepr=("x", 1, f"Skipped: {OVER}"), nodeid="tests/a.py::t[1]"),
        SimpleNamespace(longrepr=("x", 1, f"Skipped: {OVER}"), nodeid="tests/a.py::t[2]"),
        SimpleNamespace(longrepr=("x", 1, "Skipped: no torch"), nodeid="tests/b.py::t"),
    ]
    assert not_reached(reports) == ["there was no time for 2 slow tests:", "     2 tests/a.py"]
    assert not_reached(reports[2:]) == []
