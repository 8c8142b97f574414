"""Diagnostics name cells as notebooks do."""

import sys
from types import SimpleNamespace

from nestor.dialects.cells import cell_of
from nestor.dialects.diagnostic import Diagnostic, SourceLocation

FILE = "/tmp/ipykernel_7/123.py"


def test_a_cell_has_the_name_that_ipython_gives_it(monkeypatch):
    names = {FILE: ("Cell", "In[4]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert (
        cell_of(FILE) == "Cell In[4]"
        and cell_of("/tmp/ipykernel_7/5.py") is None
        and cell_of("user.py") is None
    )
    assert Diagnostic("error", "no", SourceLocation(FILE, 2, 3)).render() == "Cell In[4]:2:3: error: no"


def test_where_ipython_is_not_a_file_is_a_file(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert cell_of(FILE) is None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert cell_of(FILE) is None and str(SourceLocation(FILE, 2)) == f"{FILE}:2"
