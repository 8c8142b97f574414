"""docs/numpy.md is current, and its reasons are about what is there and refused."""

import inspect

import nestor as nt
import numpy as np
import pytest
from nestor.tools.docs import numpy_coverage as docs
from places import ROOT

PAGE = ROOT / "docs" / "numpy.md"


def test_the_page_is_current():
    version = ".".join(np.__version__.split(".")[:2])
    if f"NumPy {version}:" not in PAGE.read_text():
        pytest.skip(f"the page is about another NumPy than {version}")
    assert PAGE.read_text() == docs.generate(), "make docs"


def test_reasons_are_about_what_there_is():
    there = {*docs.ufuncs(), *docs.array_members()}
    there.update(name for module in docs.MODULES.values() for name in docs.functions(module))
    for family, (reason, names) in docs.FAMILIES.items():
        assert reason
        assert not set(names.split()) - there, family


def test_every_function_is_said_to_be_compiled_or_refused():
    page = PAGE.read_text()
    for module in docs.MODULES.values():
        for name in docs.functions(module):
            assert f"`{name}`" in page or f".{name}(" in page


def test_what_is_said_of_ufuncs_is_so():
    """Each is compiled for some element type, or refused for all."""
    for name in docs.ufuncs():
        ufunc = getattr(np, name)
        if ufunc.signature is not None:
            continue
        compiled = [dtype for dtype in "?lLd" if _traces(ufunc, np.ones(3, dtype))]
        assert bool(compiled) == docs.is_compiled(ufunc), name


def _traces(ufunc, x):
    try:
        nt.trace(ufunc).lower(*[x] * ufunc.nin)
    except nt.NestorError:
        return False
    return True


@pytest.mark.parametrize("name", ["packbits", "save", "trim_zeros"])
def test_what_is_refused_is_refused(name):
    function = getattr(np, name)
    if docs.is_compiled(function):
        pytest.skip(f"np.{name} is compiled: choose another")
    with pytest.raises(nt.NestorError, match=f"np.{name} is not supported"):
        nt.trace(lambda x: function(x, x) if name == "save" else function(x))(np.ones(3))


@pytest.mark.parametrize("name", ["sum", "where", "reshape", "full_like"])
def test_parameters_are_those_of_handlers(name):
    handler = docs.handler_of(getattr(np, name))
    line = next(row for row in PAGE.read_text().splitlines() if row.startswith(f"* `np.{name}("))
    for parameter in list(inspect.signature(handler).parameters)[1:]:
        assert parameter in line
