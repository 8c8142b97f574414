"""docs/errors.md: each error that reaches users has a program that raises it, and the page is as the docstrings are."""

from __future__ import annotations

import importlib.util
import linecache

import nestor as nt
import numpy as np
import pytest
from nestor.tools.docs import errors as docs
from places import ROOT

NEEDS_A_GPU = ("DeviceError", "DeviceMemoryError")
TOO_LARGE = ("KernelMemoryError",)
"""Its program asks for 800 TB: what a system says to that is its own affair."""


def test_the_page_is_current():
    assert (ROOT / "docs" / "errors.md").read_text() == docs.page()


@pytest.mark.parametrize("kind", docs.documented(), ids=lambda kind: kind.__name__)
def test_the_program_raises_it(kind, tmp_path, monkeypatch):
    if kind.__name__ in NEEDS_A_GPU + TOO_LARGE:
        assert docs.example(kind)
        return
    monkeypatch.chdir(tmp_path)
    text, path = docs.example(kind), str(tmp_path / "example.py")
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    with pytest.raises(kind) as caught:
        exec(compile(text, path, "exec"), {"np": np, "nt": nt, "__name__": "example"})
    assert type(caught.value) is kind
    assert importlib.util.find_spec(kind.__module__) is not None
