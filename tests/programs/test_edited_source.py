"""A file that is edited after it was imported: what runs is not its text any more, and the text is not compiled."""

import __future__

import importlib.util
import linecache
import os
import sys

import nestor as nt
import numpy as np
import pytest


def forget_files():
    """What linecache knows of files; texts that were never files are in no other place."""
    for name in [name for name in linecache.cache if not name.startswith("<")]:
        del linecache.cache[name]


FIRST = """
import numpy as np

def helper(x):
    return x + 1

def f(x):
    return helper(x) * 2
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes a module, imports it; gives it and its file."""
    # Bytecode files know their source's age in whole seconds: Python itself would import the old text again.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "edited_module.py"

    def loaded(text):
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("edited_module", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["edited_module"] = module
        spec.loader.exec_module(module)
        return module, path

    yield loaded
    sys.modules.pop("edited_module", None)
    forget_files()


X = np.arange(4.0)


def test_a_fresh_file_is_compiled(load):
    module, _ = load(FIRST)
    assert np.array_equal(nt.jit(module.f)(X), module.f(X))


@pytest.mark.parametrize(("old", "new"), [("* 2", "* 3"), ("x + 1", "x + 5")], ids=["itself", "a helper"])
def test_an_edited_file_is_refused(load, old, new):
    module, path = load(FIRST)
    path.write_text(FIRST.replace(old, new))
    forget_files()
    with pytest.raises(nt.UnsupportedError, match="was changed after it was imported"):
        nt.jit(module.f)(X)


@pytest.mark.parametrize("inside", [False, True])
def test_a_text_that_a_file_with_future_imports_compiles_is_fresh(tmp_path, inside):
    """`compile` hands the flags of the file that calls it on to the code."""
    path = tmp_path / "compiled.py"
    text = f"from __future__ import annotations\n{FIRST}" if inside else FIRST
    path.write_text(text)
    flags = 0 if inside else __future__.annotations.compiler_flag
    space = {}
    exec(compile(text, str(path), "exec", flags, dont_inherit=True), space)
    assert np.array_equal(nt.jit(space["f"])(X), space["f"](X))


def test_an_edit_of_other_lines_is_none(load):
    """The code is that of the text still: comments behind it are not looked at."""
    module, path = load(FIRST)
    path.write_text(f"{FIRST}\n# a remark\n")
    forget_files()
    assert np.array_equal(nt.jit(module.f)(X), module.f(X))


def test_what_was_read_before_the_edit_is_compiled(load):
    """A traceback, say, has read the file: its text is the one that runs."""
    module, path = load(FIRST)
    linecache.getlines(str(path))
    path.write_text(FIRST.replace("* 2", "* 3"))
    assert np.array_equal(nt.jit(module.f)(X), module.f(X))


def test_an_edited_file_that_is_imported_again_is_compiled(load):
    module, _ = load(FIRST)
    nt.jit(module.f)(X)
    module, _ = load(FIRST.replace("* 2", "* 3"))
    assert np.array_equal(nt.jit(module.f)(X), (X + 1) * 3)


def test_a_compiled_function_goes_on(load):
    module, path = load(FIRST)
    fast = nt.jit(module.f)
    fast(X)
    path.write_text(FIRST.replace("* 2", "* 3"))
    forget_files()
    for x in (X, X[:3].copy(), X[:2].copy()):
        assert np.array_equal(fast(x), module.f(x))


def test_a_file_that_is_gone_is_read_no_more(load):
    module, path = load(FIRST)
    os.unlink(path)
    forget_files()
    with pytest.raises(
        nt.UnsupportedError, match=r"the text of 'f' is not known: there is no '.*edited_module\.py' to read"
    ):
        nt.jit(module.f)(X)


def test_an_edit_that_the_clock_does_not_show_is_refused(load):
    module, path = load(FIRST)
    before = os.stat(path).st_mtime - 1000
    path.write_text(FIRST.replace("* 2", "* 3"))
    os.utime(path, (before, before))
    forget_files()
    with pytest.raises(nt.UnsupportedError, match="the text is not what runs"):
        nt.jit(module.f)(X)


def test_a_text_of_linecache_that_is_not_the_code_is_not_compiled():
    space, file = {}, "<a cell>"
    old, new = "def g(x):\n    return x * 3\n", "def g(x):\n    return x * 4\n"
    exec(compile(old, file, "exec"), space)
    linecache.cache[file] = (len(new), None, new.splitlines(True), file)
    with pytest.raises(nt.UnsupportedError, match="the text is not what runs"):
        nt.jit(space["g"])(X)
    linecache.cache[file] = (len(old), None, old.splitlines(True), file)
    assert np.array_equal(nt.jit(space["g"])(X), X * 3)


def doubled(x):
    return x * 2


def test_code_that_was_replaced_is_not_compiled_as_its_text():
    code = doubled.__code__
    doubled.__code__ = code.replace(co_consts=tuple(5 if one == 2 else one for one in code.co_consts))
    try:
        with pytest.raises(nt.UnsupportedError, match="the text is not what runs"):
            nt.jit(doubled)(X)
    finally:
        doubled.__code__ = code
    assert np.array_equal(nt.jit(doubled)(X), X * 2)


def checked(x):
    assert x.size > 1, "short"
    return [v + (1 if v.ndim else 2) for v in (x, x)][1]


def test_asserts_that_an_importer_replaced_are_compiled_as_they_are_written():
    """pytest does that to this file: all else of the code must be that of the text."""
    assert any(name.startswith("@") for name in globals()), "pytest replaces asserts"
    assert np.array_equal(nt.jit(checked)(X), X + 1)
    with pytest.raises(AssertionError, match="short"):
        nt.jit(checked)(X[:1])
    code = checked.__code__
    inner = next(one for one in code.co_consts if hasattr(one, "co_code"))
    other = inner.replace(co_consts=tuple(7 if one == 1 else one for one in inner.co_consts))
    checked.__code__ = code.replace(co_consts=tuple(other if one is inner else one for one in code.co_consts))
    try:
        with pytest.raises(nt.UnsupportedError, match="the text is not what runs"):
            nt.jit(checked)(X)
    finally:
        checked.__code__ = code


INSIDE = """
class Base:
    def gain(self): return 2.0

class Layer(Base):
    def gain(self): return super().gain() + 1.0
    def apply(self, x): return x * self.gain()

def made(k):
    def f(x):
        return x * k
    return f

layer, closure = Layer(), made(5.0)
one, two = (lambda x: x + 1.0), (lambda x: x + 2.0)
"""


@pytest.mark.parametrize("name", ["layer.apply", "closure", "two"])
def test_code_whose_text_depends_on_what_it_is_inside_of(load, name):
    module, _ = load(INSIDE)
    function = eval(name, vars(module))
    assert np.array_equal(nt.jit(lambda x: function(x))(X), function(X))
