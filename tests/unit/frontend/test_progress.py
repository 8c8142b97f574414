"""A line on the terminal while a compilation takes long; nothing elsewhere, and nothing before."""

from __future__ import annotations

import io
import sys
import threading
import time
from types import SimpleNamespace

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.specialise import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def lines(monkeypatch):
    """The texts that a stand-in for `rich` shows, on a standard error that is a terminal."""
    shown = []

    class Live:
        def __init__(self, spinner, *, console, transient, auto_refresh, redirect_stdout, redirect_stderr):
            assert transient and not (auto_refresh or redirect_stdout or redirect_stderr)

        def __enter__(self):
            shown.append("begun")

        def __exit__(self, *error):
            shown.append("gone")

        def refresh(self):
            pass

    class Spinner:
        def __init__(self, name, text):
            shown.append(text)

        def update(self, text):
            shown.append(text)

    parts = {
        "rich": SimpleNamespace(),
        "rich.console": SimpleNamespace(Console=lambda stderr: None),
        "rich.live": SimpleNamespace(Live=Live),
        "rich.spinner": SimpleNamespace(Spinner=Spinner),
    }
    for name, module in parts.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=Terminal()))
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "REFRESH", 0.005)
    monkeypatch.delenv(progress.VARIABLE, raising=False)
    return shown


def until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    assert condition()


def test_the_line_names_function_and_stage_and_goes(lines):
    with progress.shown("simulate"):
        progress.at("nest-schedule-cpu")
        until(lambda: any("nest-schedule-cpu" in one for one in lines))
        with progress.shown("another"):  # it is part of the first
            progress.at("LLVM")
            until(lambda: any("LLVM" in one for one in lines))
    assert lines[0].startswith("compiling simulate: ") and lines[-1] == "gone"
    assert not any("another" in one for one in lines)
    assert not any(one.name == "nestor-progress" for one in threading.enumerate())


def test_an_exception_ends_it(lines):
    with pytest.raises(ZeroDivisionError), progress.shown("f"):
        until(lambda: "begun" in lines)
        raise ZeroDivisionError
    assert lines[-1] == "gone" and progress._present is None


def test_what_is_fast_shows_nothing(lines, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60.0)
    with progress.shown("f"):
        pass
    assert lines == []


@pytest.mark.parametrize("why", ["the variable", "no terminal", "no standard error", "a closed one"])
def test_it_is_off(lines, monkeypatch, why):
    closed = io.StringIO()
    closed.close()
    if why == "the variable":
        monkeypatch.setenv(progress.VARIABLE, "0")
    else:
        others = {"no terminal": io.StringIO(), "no standard error": None, "a closed one": closed}
        progress.sys.stderr = others[why]
    with progress.shown("f"):
        assert progress._present is None
    assert lines == []


def test_passes_of_a_compilation_are_its_stages(lines, monkeypatch):
    stages = []
    monkeypatch.setattr(progress, "at", stages.append)

    @nt.jit
    def doubled(x):
        return x * 2

    assert np.array_equal(doubled(np.ones(3)), np.full(3, 2.0))
    assert {"nt-fuse", "nest-schedule-cpu", "LLVM"} <= set(stages)
