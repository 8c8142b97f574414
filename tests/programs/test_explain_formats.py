"""`f.explain(...)` in fifteen situations, against the texts of tests/golden/explain; the same as JSON, and one page of HTML.

NESTOR_UPDATE_GOLDEN=1 python -m pytest tests/programs/test_explain_formats.py     writes them anew
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from html.parser import HTMLParser

import nestor as nt
import numpy as np
import pytest
from places import TESTS

pytestmark = pytest.mark.one_of(2)

GOLDEN = TESTS / "golden" / "explain"
PAGES = ("gradient", "refused")
REFUSED = ("refused", "broken_promise", "strict", "refused_gradient", "fallback")


def _programs():
    found = importlib.util.spec_from_file_location("explained_programs", GOLDEN / "programs.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


PROGRAMS = _programs()
SITUATIONS = {one.__name__: one for one in PROGRAMS.SITUATIONS}
KEYS = {
    "name", "target", "status", "arguments", "assumes", "nests", "derivatives", "products", "kernels", "strategies",
    "calls", "chunks", "precisions", "quantised", "remarks", "refusal", "history",
}  # fmt: skip


@pytest.fixture
def said(tmp_path, monkeypatch):
    """What a situation gives in a format, with paths that do not depend on where the project is."""

    def text(name, format="text"):
        if name == "from_the_disk":
            monkeypatch.setenv("NESTOR_CACHE", "1")
            monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path / format))
        return SITUATIONS[name](format).replace(f"{GOLDEN}{os.sep}", "")

    return text


def agree(text, path):
    if os.environ.get("NESTOR_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), "the text has changed: make golden, and look at the difference"


@pytest.mark.parametrize("name", SITUATIONS)
def test_text(name, said):
    agree(said(name) + "\n", GOLDEN / f"{name}.txt")


@pytest.mark.parametrize("name", SITUATIONS)
def test_json_has_the_facts_of_the_text(name, said):
    facts, text = json.loads(said(name, "json")), said(name)
    assert set(facts) == KEYS
    assert text.startswith(facts["name"]) and facts["status"] in text.splitlines()[0]
    for one in facts["arguments"]:
        assert f"  {one['name']}" in text and one["type"] in text
    for one in facts["nests"]:
        assert f"  {', '.join(one['loops'])}: {one['loads']} load" in text
        assert one["file"] == "programs.py" and one["line"] > 0
    history = text[text.index("history:") :].splitlines()[1:]
    said_of_it = [one["text"] for one in facts["history"]] or ["nothing has been compiled"]
    assert [line.strip() for line in history] == said_of_it
    assert (facts["refusal"] is not None) == (facts["status"] in ("refused", "runs in Python"))
    if facts["refusal"] is not None:
        assert facts["refusal"]["message"] in text and all(
            way in text for way in facts["refusal"]["ways_out"]
        )


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_history_says_nothing_twice_and_nothing_else(name, said):
    """A program that answers is the last that was made; none is both made and not made."""
    facts = json.loads(said(name, "json"))
    texts = [one["text"] for one in facts["history"]]
    assert (texts or facts["status"] == "refused") and len(set(texts)) == len(texts)
    made = [t for t in texts if t.startswith(("compiled for", "taken from the disk for"))]
    if facts["refusal"] is None:
        assert bool(made) == (facts["status"] == "compiled")
    assert all(one["times"] == 1 for one in facts["history"])


class Checked(HTMLParser):
    """That tags are closed in order, and what they ask for."""

    EMPTY = ("meta", "br", "img", "link")

    def __init__(self):
        super().__init__()
        self.open, self.asked, self.seen = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.asked += [value for key, value in attrs if key in ("src", "href", "xlink:href")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", SITUATIONS)
def test_pages_are_whole_and_need_nothing_else(name, said):
    page = said(name, "html")
    checked = Checked()
    checked.feed(page)
    assert not checked.open and not checked.asked
    assert not {"script", "link", "img", "iframe"} & checked.seen
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "prefers-color-scheme:dark" in page
    assert ("svg" in checked.seen) == (name not in REFUSED)


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name, said):
    agree(said(name, "html"), GOLDEN / f"{name}.html")


def test_a_call_raises_what_is_explained():
    """The same message, and nothing that is explained as refused has an answer."""
    for f, x in (
        (PROGRAMS.jit(PROGRAMS.evaluated), PROGRAMS.X),
        (PROGRAMS.jit(PROGRAMS.inverse, strict=True), np.eye(3)),
        (nt.jit(PROGRAMS.rows, strict="fast", target="interp"), np.ones((2, 3))),
        (PROGRAMS.jit(PROGRAMS.rows), np.ones(3)),
        (PROGRAMS.jit(PROGRAMS.rows), object()),
        (nt.grad(PROGRAMS.rows), np.ones((4, 6))),
        (nt.trace(PROGRAMS.noted), "text"),
    ):
        facts = json.loads(f.explain(x, format="json"))
        try:
            f(x)
        except nt.NestorError as error:
            assert facts["status"] == "refused" and facts["refusal"]["message"] == error.diagnostic.message
        else:
            assert facts["status"] != "refused"
    with pytest.raises(TypeError, match="its parameters"):
        PROGRAMS.jit(PROGRAMS.rows).explain()


# ---- what golden texts cannot say ---------------------------------------------------------------------------


def test_a_format_that_is_none_is_refused():
    with pytest.raises(TypeError, match="formats: text, json, html"):
        nt.jit(PROGRAMS.mean_sine).explain(PROGRAMS.X, format="pdf")


def test_a_parameter_of_that_name_stays_the_functions():
    def written(format):
        return format * 2

    assert "  format: float64[3]" in nt.jit(written).explain(format=np.ones(3))


def test_what_is_only_looked_at_has_not_been_compiled():
    f = nt.jit(PROGRAMS.mean_sine)
    for _ in range(2):
        assert f.explain(PROGRAMS.X).endswith("history:\n  nothing has been compiled")
    f.lower(PROGRAMS.X)
    assert "not compiled yet" in f.explain(PROGRAMS.X)
    f(PROGRAMS.X)
    assert f.explain(PROGRAMS.X).count("compiled for") == 1


def test_integers_that_programs_are_made_for_are_told_once():
    def spread(x, n):
        return np.arange(n) + x

    f = nt.jit(spread)
    f(1.0, 3)
    f(1.0, 4)
    history = json.loads(f.explain(1.0, 4, format="json"))["history"]
    known = [one["text"] for one in history if "must be known" in one["text"]]
    assert known == [
        "the value of n must be known, a program for each value: the length of np.arange depends on it"
    ]
