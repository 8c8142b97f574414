"""docs/house.md and docs/house.svg show the rooms and imports of today: `make docs` writes them."""

from xml.etree import ElementTree

import pytest
from nestor.tools.docs import house
from places import ROOT

DOCS = ROOT / "docs"


def test_the_page_is_current():
    assert (DOCS / "house.md").read_text() == house.page(), "run make docs, and look at the difference"


@pytest.fixture(scope="module")
def picture():
    return house.picture()


def test_the_picture_is_current(picture):
    assert (DOCS / "house.svg").read_text() == picture, "run make docs, and look at the difference"


def test_the_picture_has_all_rooms(picture):
    rooms = house.rooms_of(house.ROOT)
    assert {"analysis.nest.sets", "dialects", "transforms.schedulers.cpu"} <= set(rooms)
    assert "frontend.jit" not in rooms  # a folder of rooms alone
    drawn = [node for node in ElementTree.fromstring(picture).iter() if "room" in node.get("class", "")]
    assert len(drawn) == len(rooms)


def test_each_room_says_what_lives_in_it():
    assert [room for room in house.rooms_of(house.ROOT) if not house._sentence(room)] == []


@pytest.fixture
def tree(tmp_path):
    """Two rooms of `dialects` that import each other, one of them inside a function, and one of `analysis` above them."""
    files = {
        "dialects/a/__init__.py": "",
        "dialects/a/x.py": "def f():\n    from ..b import y\n",
        "dialects/b/__init__.py": "",
        "dialects/b/y.py": "import nestor.dialects.a.x\n",
        "analysis/c/__init__.py": "",
        "analysis/c/z.py": (
            "from typing import TYPE_CHECKING\nfrom ...dialects.a import x\nfrom ...dialects.a.x import f\n"
            "if TYPE_CHECKING:\n    from ...dialects.b import y\n"
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_imports_are_found_wherever_they_stand(tree):
    graph = house.imports_between_rooms(tree)
    assert graph == {
        "dialects.a": {"dialects.b"},
        "dialects.b": {"dialects.a"},
        "analysis.c": {"dialects.a"},
    }


def test_circles_share_a_row_and_what_imports_them_stands_above(tree):
    graph = house.imports_between_rooms(tree)
    assert house.circles(graph)["dialects.a"] == {"dialects.a", "dialects.b"}
    assert house.rows_of(graph) == [["analysis.c"], ["dialects.a", "dialects.b"]]
