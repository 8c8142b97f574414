"""What Dask knows calls and functions by: the same in each process, and another where anything that counts is another."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import nestor as nt
import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.one_of(4)

X = np.arange(60.0).reshape(20, 3)

TEXT = """
import nestor as nt, numpy as np, dask.array as da
from dask.base import tokenize
SCALE = 2.0
class Box:
    def __init__(self): self.k = 3.0
    def times(self, x): return x * self.k
BOX = Box()
def helper(x): return x + SCALE if "a" in {"a", "b", "c", "d"} else x
@nt.jit
def f(x): return helper(x) * BOX.k
def closed(c):
    return nt.jit(lambda x: x - x.mean(0) * c)
@nt.custom_vjp
def own(x): return x * 2
x = da.from_array(np.arange(60.).reshape(20, 3), chunks=(5, 3))
for one in (f, closed(2.0), nt.grad(lambda x: f(x).sum()), nt.jit(BOX.times), own):
    print(tokenize(one, ensure_deterministic=True))
print(f(x).name, closed(2.0)(x).name, x.map_blocks(f).name)
"""


def test_names_are_the_same_in_each_process(tmp_path):
    (tmp_path / "program.py").write_text(TEXT)
    said = {
        subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    lines = said.pop().split()
    assert len(lines) == 8 == len(set(lines))


def module(text: str, name: str = "one_name"):
    """A module of a name, whatever else has that name."""
    made = types.ModuleType(name)
    made.__file__ = f"/nowhere/{name}.py"
    exec(compile(text, made.__file__, "exec"), made.__dict__)
    return made


PLAIN = "def helper(x): return x * SCALE\ndef f(x): return helper(x) + TABLE[0]\nSCALE, TABLE = {}, {}"


def test_two_modules_of_one_name_with_other_globals(monkeypatch):
    tokens = set()
    for scale, table in ((2.0, [1.0]), (3.0, [1.0]), (2.0, [4.0])):
        made = module(PLAIN.format(scale, table))
        monkeypatch.setitem(sys.modules, "one_name", made)
        tokens.add(dask.base.tokenize(nt.jit(made.f)))
    assert len(tokens) == 3
    again = module(PLAIN.format(2.0, [1.0]))
    monkeypatch.setitem(sys.modules, "one_name", again)
    assert dask.base.tokenize(nt.jit(again.f)) in tokens


def test_what_a_token_counts():
    tokenize = dask.base.tokenize
    assert tokenize(nt.jit(lambda x: x + 1)) != tokenize(nt.jit(lambda x: x + 2))
    assert tokenize(nt.jit(np_add)) != tokenize(nt.jit(np_add, fastmath=True))
    assert tokenize(nt.jit(np_add)) == tokenize(nt.jit(np_add))
    around = []
    around.append(around)
    assert tokenize(nt.jit(lambda x: x + len(around)))


def np_add(x, k=1.0):
    return x + k


class Settings:
    def __init__(self):
        self.scale = 2.0
        self.shifts = [1.0, 2.0]


SETTINGS = Settings()
TABLE = {"k": 2.0}


def of_a_closure():
    k = 2.0

    def change():
        nonlocal k
        k = 5.0

    return nt.jit(lambda x: (x - x.mean(0)) * k), change


def of_an_attribute():
    return nt.jit(lambda x: x * SETTINGS.scale), lambda: setattr(SETTINGS, "scale", 9.0)


def of_a_list():
    return nt.jit(lambda x: x * SETTINGS.shifts[1]), lambda: SETTINGS.shifts.__setitem__(1, 9.0)


def of_a_dictionary():
    return nt.jit(lambda x: x.max(0) * TABLE["k"]), lambda: TABLE.update(k=9.0)


def of_an_array():
    w = np.array([1.0, 2.0, 3.0])
    return nt.jit(lambda x: x * w), lambda: w.__setitem__(0, 9.0)


def of_a_default():
    f = nt.jit(lambda x, k=2.0: x * k)
    return f, lambda: setattr(f.function, "__defaults__", (9.0,))


@pytest.mark.parametrize(
    "make", [of_a_closure, of_an_attribute, of_a_list, of_a_dictionary, of_an_array, of_a_default]
)
def test_results_are_those_of_the_time_of_the_call(make):
    """What is outside changes between the call and the computation, and then for the next call."""
    SETTINGS.__init__()
    TABLE["k"] = 2.0
    f, change = make()
    x = da.from_array(X, chunks=(6, 3))
    wanted, lazy = f(X), f(x)
    change()
    np.testing.assert_allclose(lazy.compute(scheduler="sync"), wanted, rtol=1e-14)
    later = f(x)
    assert later.name != lazy.name
    np.testing.assert_allclose(later.compute(scheduler="sync"), f(X), rtol=1e-14)
    assert not np.allclose(f(X), wanted)


# ---- gradients --------------------------------------------------------------------------------------


def roughness(x):
    """The cotangent of a row goes to the rows beside it, which may be of another chunk."""
    return ((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2).sum()


def spread(x):
    return np.log(((x - x.mean(0)) ** 2).mean() + 1)


def fit(x, w):
    return ((np.tanh(x @ w) - x[:, :1]) ** 2).mean()


@pytest.mark.one_of(3)
@pytest.mark.parametrize("chunks", [(6, 3), (1, 1), (7, 2)])
@pytest.mark.parametrize("loss", [roughness, spread])
def test_gradients_are_in_the_chunks_of_their_arguments(loss, chunks):
    x = da.from_array(np.sin(X), chunks=chunks)
    value, gradient = nt.jit(lambda x: nt.value_and_grad(loss)(x))(x)
    assert gradient.chunks == x.chunks
    value, gradient = dask.compute(value, gradient, scheduler="sync")
    wanted = nt.value_and_grad(loss)(np.sin(X))
    np.testing.assert_allclose(value, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-11, atol=1e-13)


def test_called_from_python():
    x, w = np.sin(X), np.cos(np.arange(6.0)).reshape(3, 2)
    lazy = nt.grad(fit, argnums=(0, 1))(da.from_array(x, chunks=(6, 3)), w)
    for got, wanted in zip(lazy, nt.grad(fit, argnums=(0, 1))(x, w), strict=True):
        assert isinstance(got, da.Array)
        np.testing.assert_allclose(got.compute(scheduler="sync"), wanted, rtol=1e-11, atol=1e-14)


def test_pullbacks():
    x = np.sin(X)

    def f(x):
        return x[1:] * x[:-1]

    wanted, pull = nt.vjp(f, x)
    cotangent = np.cos(wanted)
    (back,) = pull(cotangent)
    both = nt.jit(lambda x, c: (lambda pair: (pair[0], pair[1](c)))(nt.vjp(f, x)))
    y, (got,) = both(da.from_array(x, chunks=(6, 3)), da.from_array(cotangent, chunks=(5, 3)))
    np.testing.assert_array_equal(y.compute(scheduler="sync"), wanted)
    np.testing.assert_allclose(got.compute(scheduler="sync"), back, rtol=1e-13)
