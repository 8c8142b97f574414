"""What a notebook shows: HTML of one piece, escaped, of bounded size, that brings no styles of its own into the page."""

from __future__ import annotations

import base64
import copy
import pickle
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.driver import lowered_html
from nestor.frontend.jit.explain import cell_html

X, W = np.ones((8, 6)), np.ones((6, 4))


@nt.jit
def layer(x, w, kind="<i>&"):
    return np.tanh(x @ w).sum(axis=1) if kind != "none" else x[:, 0]


@nt.jit
def long(x):
    parts = [x]
    for k in (1, 2, 3, 4, 5) * 40:
        parts = [*parts[-3:], np.sin(parts[-1]) * k]
    return parts[-1] + parts[0]


@nt.jit
def nothing():
    return 3


class Read(HTMLParser):
    """Raises for a tag that is not closed where it has to be; keeps texts and tags."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def pictures(self):
        sources = [attrs["src"] for tag, attrs in self.tags if tag == "img"]
        return [base64.b64decode(one.removeprefix("data:image/svg+xml;base64,")).decode() for one in sources]


def shown(thing):
    html = thing._repr_html_()
    assert "<style" not in html and "<script" not in html and "<i>" not in html
    assert not re.search(r"(?:src|href)=.(?!data:)", html)
    return Read(html)


def test_a_lowered_function_shows_its_text_nests_and_schedule():
    low = layer.lower(X, W)
    read = shown(low)
    for text in (low.as_text(), str(low.schedule()), "lowered for x: float64[8, 6]", "kind = '<i>&'"):
        assert text.rstrip() in read.text
    (picture,) = read.pictures()
    assert ElementTree.fromstring(picture).tag.endswith("svg") and "for k = 0 to 6" in picture
    assert [tag for tag, _ in read.tags].count("details") == 4


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_a_compiled_function_shows_what_it_is_compiled_for(target):
    compiled = layer.lower(X, W).compile(target=target)
    assert (
        repr(compiled) == f"<layer compiled for {target}: x: float64[8, 6], w: float64[6, 4], kind = '<i>&'>"
    )
    read = shown(compiled)
    assert f"compiled for {target}" in read.text
    assert ("schedule.sequence" in read.text) == (target != "interp")
    assert ("annotate" in read.text or "gpu" in read.text or "vectorize" in read.text) == (
        target == "cpu"
    ) or (target == "cuda-sim")


def test_a_chosen_schedule_is_the_one_that_is_shown():
    low = layer.lower(X, W)
    schedule = nt.schedule(low)
    assert repr(schedule) == "<schedule of layer: 0 steps; loops i, j, i.1, j.1, k, i.2, j.2>"
    schedule.split("k", 3)
    assert "1 step;" in repr(schedule)
    assert repr(schedule).endswith(", j.2>"), "eight loops are shown"
    for read in (shown(schedule), shown(low.compile(schedule=schedule))):
        assert "schedule.split %k by 3" in read.text and 'nest.for "k.o"' in read.text
    schedule.split("i", 2)
    assert repr(schedule).endswith(", and 1 more>"), "and of nine the first eight"


def test_two_levels_stand_side_by_side():
    difference = layer.lower(X, W).diff("nt", "nt-fused")
    assert "--- nt\n+++ nt-fused\n" in str(difference) and "\n+    %result = nt.fusion" in str(difference)
    html = difference._repr_html_()
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.S)[1:]
    assert all(row.count("<td") == 2 for row in rows)
    assert {cell_html._NEW in row for row in rows} == {True, False}
    shown(difference)


@pytest.mark.parametrize("before", [0, 1, cell_html.MOST_LINES, cell_html.MOST_LINES + 1])
@pytest.mark.parametrize("after", [0, 1, cell_html.MOST_LINES, cell_html.MOST_LINES + 1])
def test_of_two_levels_it_is_said_where_one_is_cut(before, after):
    html = cell_html.of_difference("a\n" * before, "b\n" * after, ("before", "after"))
    most = max(before, after)
    cut = f"the first {cell_html.MOST_LINES} of {most} lines"
    assert (cut in html) == (most > cell_html.MOST_LINES)
    assert html.count("<tr>") == 1 + min(most, cell_html.MOST_LINES)


def test_equal_texts_have_no_marked_rows():
    html = layer.lower(X, W).diff("nt", "nt")._repr_html_()
    assert cell_html._NEW not in html and cell_html._GONE not in html


def test_long_programs_show_their_head_and_say_so(monkeypatch):
    low = long.lower(np.ones(8))
    read = shown(low)
    assert f"the first {cell_html.MOST_LINES} of" in read.text and 'print(low.as_text("nt"))' in read.text
    assert len(low._repr_html_()) < 200_000
    monkeypatch.setattr(lowered_html, "MOST_OPERATIONS", 100)
    assert "not shown: the program has" in shown(low).text
    monkeypatch.setattr(cell_html, "MOST_LOOPS", 1)
    assert "not drawn: there are 7 loops" in shown(nt.schedule(layer.lower(X, W))).text


def test_long_lines_are_cut():
    html = cell_html.code("x" * 5000 + "\x00\n", "")
    assert len(html) < 1000 and "(5001 characters)" in html and "\x00" not in html


def test_programs_without_anything_are_shown():
    assert "no arguments" in shown(nothing.lower()).text
    assert "none" in shown(nothing.lower().compile()).text


def test_a_compiled_function_that_was_pickled_is_shown():
    compiled = pickle.loads(pickle.dumps(layer.lower(X, W).compile()))
    assert "compiled for cpu" in shown(compiled).text and "layer compiled for cpu" in repr(compiled)


def test_an_explanation_is_text_and_a_page():
    said = layer.explain(X, W)
    assert repr(said) == str(said) and type(str(said)) is str
    assert said.splitlines()[0].startswith("layer on cpu")
    ((tag, attrs),) = shown(said).tags
    assert tag == "iframe" and attrs["srcdoc"] == layer.explain(X, W, format="html")
    for copied in (pickle.loads(pickle.dumps(said)), copy.deepcopy(said)):
        assert copied == said and type(copied) is str
