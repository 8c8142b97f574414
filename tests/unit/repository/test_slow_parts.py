"""How the slow tests of one run are chosen."""

from types import SimpleNamespace

from sampling import chosen, pytest_collection_modifyitems
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
