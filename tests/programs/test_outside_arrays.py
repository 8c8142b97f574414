"""Arrays from outside a function (globals, cells, attributes, items, fields, defaults) are read at each call.

Each program runs in two worlds with the same state, compiled in the one and by Python in the other. Between calls the
state changes in both: what an array has, which array a name is bound to, its dtype, shape and layout, what overlaps.
Results and the state after each call must be the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import UnsupportedError
from nestor.runtime.cpu import fast_call

pytestmark = pytest.mark.one_of(2)

WARM = 40

WORLD = """
import dataclasses, types
W = np.linspace(-1.0, 1.0, 5)
V = np.array([3, 1, 2, 0, 4])
M = np.arange(20.0).reshape(4, 5) - 7
F = np.asfortranarray(M)
ROWS = [np.full(5, 2.0), np.arange(5.0)]
PAIR = (np.full(5, 3.0), np.arange(5.0)[::-1])
TREE = {"w": np.ones(5), "inner": {"b": [np.arange(5.0)]}}
SPACE = types.SimpleNamespace(w=np.arange(5.0), inner=types.SimpleNamespace(b=np.ones(5)))
FLAG = np.array([True, False, True, True, False])
ZERO = np.array(2.5)
NONE = np.zeros((0, 5))
READ = np.arange(5.0); READ.flags.writeable = False

@dataclasses.dataclass
class Layer:
    w: object
    b: object = None
    table = np.full(5, 4.0)
    def forward(self, x):
        return x * self.w + self.b
    def learn(self, x):
        self.w[:] = self.w - 0.5 * x
        self.b += x
        return self.w

LAYER = Layer(np.ones(5), np.arange(5.0))

class Plain:
    shared = np.arange(5.0)
    def __init__(self):
        self.w = np.ones(5)
        self.layers = [Layer(np.ones(5), np.zeros(5)), Layer(np.arange(5.0), np.ones(5))]
    @property
    def twice(self):
        return self.w * 2
    def run(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x + self.shared

OBJECT = Plain()

def helper(x, w=np.full(5, 2.0), *, v=np.arange(5.0)):
    return x * w + v + W

def within(x):
    return helper(x) - helper(x, W, v=x)

def make(cell):
    def program(x, own=np.arange(5.0)):
        {body}
    def change(value):
        nonlocal cell
        cell = value
    return program, change

program, change = make(np.full(5, 6.0))
"""


def world(body: str, name: str, folder: Path) -> dict[str, Any]:
    text = WORLD.replace("{body}", body.replace("\n", "\n        "))
    file = folder / f"{name}.py"
    file.write_text(text)
    module = sys.modules[name] = types.ModuleType(name)  # dataclasses look their module up
    space: dict[str, Any] = vars(module)
    space.update(np=np, held=module)
    exec(compile(text, str(file), "exec"), space)
    return space


def rounded(array: Any) -> Any:
    return np.round(array, 9).tolist() if array.dtype.kind == "f" else array.tolist()


def state(space: dict[str, Any]) -> list[Any]:
    """The arrays of a world."""
    found: list[Any] = []

    def look(value: Any) -> None:
        if isinstance(value, np.ndarray | np.generic):
            found.append((value.dtype.str, rounded(value)))
        elif isinstance(value, dict):
            for item in value.values():
                look(item)
        elif isinstance(value, list | tuple):
            for item in value:
                look(item)
        elif hasattr(value, "__dict__") and not isinstance(
            value, type | types.FunctionType | types.ModuleType
        ):
            look(vars(value))

    for name in [
        "W",
        "V",
        "M",
        "F",
        "ROWS",
        "PAIR",
        "TREE",
        "SPACE",
        "FLAG",
        "ZERO",
        "READ",
        "LAYER",
        "OBJECT",
    ]:
        look(space.get(name))
    return found


def outcome(function: Any, *args: Any) -> Any:
    try:
        result = function(*args)
    except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError, NameError) as error:
        kinds = (ArithmeticError, IndexError, LookupError, AttributeError, TypeError, ValueError, NameError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    parts = result if isinstance(result, tuple | list) else [result]
    return [(type(one).__name__, str(np.asarray(one).dtype), rounded(np.asarray(one))) for one in parts]


X = np.array([0.5, -2.0, 1.0, 3.0, -0.25])


class Twins:
    """A program compiled in one world, and run by Python in another with the same state."""

    def __init__(self, body: str, folder: Path, target: str = "cpu", **options: Any):
        self.python, self.compiled = (
            world(body, f"outside_in_{name}", folder) for name in ("python", "compiled")
        )
        self.jitted = nt.jit(self.compiled["program"], target=target, **options)
        self.compiled["program"] = self.jitted.function
        self.done: list[str] = []

    def change(self, statement: str) -> None:
        self.done.append(statement)
        exec(statement, self.python)
        exec(statement, self.compiled)

    def check(self, argument: str = "X.copy()", times: int = 1) -> None:
        for _ in range(times):
            arguments = [eval(argument, {"X": X, "np": np}, space) for space in (self.python, self.compiled)]
            expected = outcome(self.python["program"], arguments[0])
            found = outcome(self.jitted, arguments[1])
            assert found == expected, self.done
            np.testing.assert_array_equal(arguments[1], arguments[0])
            assert state(self.compiled) == state(self.python), self.done


READS = {
    "a global": (
        "return x * W",
        ["W[1] = 9.0", "W = W * 2", "W = np.float64(3.0)", "W = W + np.zeros(5)", "W = W.astype('f4')", "W = 2",
         "W = np.arange(10.0)[::-2]", "W = np.ones((3, 5))", "W = np.ones((5, 1))", "W = np.ones(4)", "W = None",
         "W = np.arange(5)", "del W", "W = np.zeros(5, 'u1')", "W = np.ones(1)", "W = np.arange(5) * 1j"],
    ),
    "a cell": ("return x * cell", ["change(np.arange(5.0))", "change(2.0)", "change(np.ones((2, 5), 'f4'))"]),
    "a default": ("return x * own", ["program.__defaults__ = (np.ones(5),)", "program.__defaults__[0][1] = 7.0"]),
    "items of a list": (
        "return x * ROWS[0] - ROWS[-1]",
        ["ROWS[0] = np.arange(5.0)", "ROWS.reverse()", "ROWS = [2.0, np.ones(5)]", "ROWS[0] = np.ones(5)", "ROWS.pop()"],
    ),
    "a loop over a list": (
        "for row in ROWS:\n    x = x * row\nreturn x",
        ["ROWS.append(np.full(5, 0.5))", "ROWS[1] = 2.0", "ROWS[1] = np.arange(5, dtype='i2')", "ROWS.clear()"],
    ),
    "a tuple": (
        "w, b = PAIR\nreturn x * w + b",
        ["PAIR[0][2] = 8.0", "PAIR = (np.ones(5), 2.0)", "PAIR = (np.ones(5, 'f4'), np.zeros((2, 5)))"],
    ),
    "items of dicts": (
        "return x * TREE['w'] + TREE['inner']['b'][0] * len(TREE)",
        ["TREE['w'] = np.arange(5.0)", "TREE['inner']['b'][0] = np.ones(5)", "TREE['inner'] = {'b': [1.0]}",
         "TREE['new'] = 1", "TREE = {'w': np.ones(5), 'inner': {'b': (np.zeros(5),)}}", "del TREE['w']"],
    ),
    "all of a dict": (
        "for key, value in TREE['inner'].items():\n    x = x + value[0] * len(key)\nreturn x",
        ["TREE['inner']['more'] = [np.arange(5.0)]", "TREE['inner']['b'][0][3] = 5.0", "TREE['inner'].pop('b')"],
    ),
    "a key that may be missing": (
        "return x * TREE.get('g', 2.0) + (TREE['w'] if 'w' in TREE else 0)",
        ["TREE['g'] = np.arange(5.0)", "TREE['w'] = TREE['w'] + 1", "TREE.pop('w')", "TREE.pop('g')"],
    ),
    "attributes": (
        "return x * SPACE.w + SPACE.inner.b",
        ["SPACE.w = np.ones(5)", "SPACE.inner.b[1] = 4", "SPACE.inner = types.SimpleNamespace(b=np.arange(5))",
         "SPACE.w = 3.0", "SPACE.w = np.ones(5)", "del SPACE.w"],
    ),
    "an attribute that may be missing": (
        "return x + (SPACE.w if hasattr(SPACE, 'w') else 1.0) * getattr(SPACE, 'g', 2.0)",
        ["SPACE.g = np.arange(5.0)", "SPACE.w = SPACE.w * 2", "del SPACE.w", "del SPACE.g"],
    ),
    "fields of a dataclass": (
        "return x * LAYER.w + LAYER.b + LAYER.table",
        ["LAYER.w = np.arange(5.0)", "LAYER.b = 2.0", "LAYER.table = np.ones(5)", "LAYER = Layer(np.ones(5), np.ones(5))",
         "Layer.table = np.zeros(5)"],
    ),
    "methods": (
        "return OBJECT.run(x) + OBJECT.twice",
        ["OBJECT.w = np.arange(5.0)", "OBJECT.layers[0].w[1] = 5.0", "OBJECT.layers.pop()", "OBJECT = Plain()",
         "Plain.shared = np.ones(5)"],
    ),
    "functions that are called, and their defaults": (
        "return within(x)",
        ["W = np.ones(5)", "helper.__defaults__ = (np.arange(5.0),)", "helper.__kwdefaults__['v'] = np.ones(5)",
         "helper.__defaults__[0][1] = 3.0", "helper.__kwdefaults__ = {'v': 1.0}"],
    ),
    "in a loop": (
        "s = 0.0\nfor i in range(len(x)):\n    s += x[i] * W[i]\nreturn s",
        ["W[1] = 9.0", "W = np.arange(10.0)[::2]", "W = np.ones(3)", "W = np.arange(5, dtype='i4')"],
    ),
    "in a branch": (
        "if x[0] > 0:\n    return x * W\nreturn x * M[0]",
        ["W = W * 2", "M = M.astype('f4')", "M = np.ones((1, 5))"],
    ),
    "as an index": (
        "return x[V] * x[FLAG].sum()",
        ["V[:] = V[::-1]", "V = np.array([0, -1, 2, 3, 1], 'i1')", "FLAG[0] = False", "V[0] = 7"],
    ),
    "an element as an index": ("return x[V[0]] * W[V[1]]", ["V[0] = 1", "V[1] = -2", "V[0] = 9"]),
    "what must be known": (
        "return np.ones((V[0], V[1] + 1)).sum() * x", ["V[0] = 2", "V = np.array([1, 1])", "V = np.array([4, 2], 'i2')"],
    ),
    "an order of axes": (
        "return np.sort(x)[:, None].transpose((V[1], V[3])) + W", ["V[1] = 0; V[3] = 1", "W = W * 2"],
    ),
    "other layouts": (
        "return F @ x + M.T[:, 0].sum() + F.T.sum(axis=0)",
        ["F = F * 2", "M = M[::-1]", "F = F[:, ::-1]", "F = np.ascontiguousarray(F)"],
    ),
    "of rank 0, and empty": ("return x * ZERO + NONE.sum(axis=0)", ["ZERO[()] = 4", "NONE = np.ones((2, 5))"]),
    "facts only": ("return x * len(W) + W.ndim + M.shape[0]", ["W = np.ones(3)", "M = np.ones((2, 2))", "W[0] = 5"]),
    "whether it is None": (
        "return x if W is None else x * W", ["W = None", "W = np.arange(5.0)", "W = np.ones((2, 5))"],
    ),
    "objects that are returned": (
        "return W, M[1:], ROWS[0], x", ["W = W + 1", "W[0] = 5", "ROWS[0] = np.arange(5)", "M = M.T"],
    ),
    "under two names": ("return x * W + W2", ["W2 = np.ones(5)", "W2 = W", "W[0] = 5", "W2 = W[::-1]"]),
    "read-only": ("return READ + x", ["READ = READ * 2", "READ = np.broadcast_to(np.ones(1), (5,))"]),
}  # fmt: skip

WRITES = {
    "elements of a global": (
        "W[0] += 1\nW[1:3] = x[:2]\nreturn W.sum()",
        ["W = W.astype('f4')", "W = np.arange(10.0)[::2]", "W = np.arange(5)", "W = READ", "W = np.ones((5, 2))"],
    ),
    "all of one": ("W[:] = x * 2\nreturn W", ["W = np.zeros(5, 'f4')", "W = np.zeros((2, 5))", "W = np.zeros(4)"]),
    "an attribute": (
        "LAYER.learn(x)\nreturn LAYER.b + 0",
        ["LAYER.w = np.zeros(5)", "LAYER.b = LAYER.w", "LAYER.b = LAYER.w[::-1]"],
    ),
    "augmented": (
        "SPACE.w += x\nSPACE.inner.b *= 2\nTREE['w'] -= 1\nROWS[0] += x\nreturn SPACE.w",
        ["SPACE.w = np.ones(5, 'f4')", "SPACE.inner.b = SPACE.w", "TREE['w'] = np.ones((2, 5))", "ROWS[0] = ROWS[1]"],
    ),
    "written in a loop": (
        "for i in range(len(W)):\n    W[i] += x[i] * i\nreturn x + W",
        ["W = np.arange(10.0)[::-2]", "W = np.ones(5, 'f4')", "W = np.zeros(1)"],
    ),
    "in a while loop, and on a path": (
        "k = 0\nwhile x[k] < 2.5:\n    W[k] = k\n    k += 1\nif x[1] > 0:\n    ROWS[0][:] = x\nreturn k",
        ["W = np.ones(5, 'i4')"],
    ),
    "in control flow on whole arrays": (
        "h = x\nfor i in range(len(ROWS[0]) + 5):\n    h = np.tanh(h @ M.T @ M * 0.01 + W)\n    W[:] = h\nreturn h",
        ["W = np.zeros(5)", "M = M[:2]"],
    ),
    "through out=": ("np.add(x, W, out=W)\nnp.multiply(W, 2, out=M[1])\nreturn W", ["W = M[1]", "W = np.ones(5)"]),
    "by an index array": ("W[V] = x\nnp.add.at(M[0], V, W)\nreturn W", ["V[0] = 2", "V[0] = 11"]),
    "read before and after": ("a = W + 0\nW[:] = x\nreturn a, W + 1", ["W = W.astype('f4')"]),
    "one that overlaps another": (
        "W[1:] = ROWS[0][:-1]\nreturn ROWS[0] + W", ["ROWS[0] = W", "ROWS[0] = W[::-1]", "ROWS[0] = np.ones(5)"],
    ),
    "through another name": (
        "alias = W\nalias[0] = 7\nview = M[1:]\nview[0] = x\nreturn W[0] + M.sum()", ["M = F", "W = M[2]"],
    ),
    "the argument is the array": ("x[0] += 1\nreturn W * x", ["W = np.ones(5)"]),
}  # fmt: skip


def run(body: str, changes: list[str], folder: Path, target: str, warm: int, **options: Any) -> Twins:
    twins = Twins(body, folder, target, **options)
    if "W2" in body:
        twins.change("W2 = np.arange(5.0)")
    twins.check(times=warm)
    for statement in changes:
        twins.change(statement)
        twins.check(times=2)
    twins.check(times=warm)
    return twins


@pytest.mark.parametrize("name", READS)
def test_arrays_from_outside_are_read_at_each_call(name, tmp_path):
    run(*READS[name], tmp_path, "cpu", WARM)


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_seen_outside(name, tmp_path):
    run(*WRITES[name], tmp_path, "cpu", WARM)


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_the_interpreter_agrees(name, tmp_path):
    run(*{**READS, **WRITES}[name], tmp_path, "interp", 1)


@pytest.mark.parametrize(
    "name",
    [
        "a global",
        "a cell",
        pytest.param("in a loop", marks=pytest.mark.slow),
        "elements of a global",
        "all of one",
    ],
)
def test_the_simulator_agrees(name, tmp_path):
    body, changes = {**READS, **WRITES}[name]
    run(body, changes[:3], tmp_path, "cuda-sim", 1)


@pytest.mark.parametrize(
    "name", ["a global", "items of a list", "in a loop", "elements of a global", "all of one"]
)
def test_of_any_extent(name, tmp_path):
    run(*{**READS, **WRITES}[name], tmp_path, "cpu", 3, dynamic=True)


# ---- overlap ----------------------------------------------------------------------------------------


def test_an_argument_in_the_memory_of_an_array_from_outside(tmp_path):
    """The argument that is written is the array, a part of it, or its reverse; and apart again."""
    twins = Twins("x[1:] = W[:-1]\nW[0] = x[2]\nreturn x + W", tmp_path)
    for argument in ("X.copy()", "W", "W[::-1]", "X.copy()", "M[0]", "W"):
        twins.check(argument, times=3)
    twins.change("W = M[0]")
    for argument in ("M[0]", "M[0, ::-1]", "X.copy()", "M.T[:, 0]", "M.ravel()[2:7]"):
        twins.check(argument, times=WARM if argument == "X.copy()" else 2)


# ---- what it costs, and what is compiled -------------------------------------------------------------


def test_new_arrays_of_the_same_type_compile_nothing(tmp_path):
    twins = Twins("return x * W + LAYER.w @ TREE['w'] + PAIR[1]", tmp_path)
    twins.check()
    for _ in range(5):
        twins.change("W = W + 1; LAYER.w = LAYER.w * 2; TREE['w'] = np.arange(5.0); PAIR[1][:] = 2.0")
        twins.check()
    assert twins.jitted.cache_info()["compiled"] == 1
    twins.change("W = W.astype('f4')")
    twins.check()
    assert twins.jitted.cache_info()["compiled"] == 2


@pytest.mark.skipif(not fast_call.available(), reason="calls are native on CPython with NumPy's layouts only")
def test_calls_are_native(tmp_path):
    for body in (
        "return x * W + cell",
        "return x + LAYER.w * own",
        "W[0] = 1\nreturn x",
        "return ROWS[0] + PAIR[1]",
    ):
        twins = Twins(body, tmp_path)
        twins.check(times=WARM)
        before = fast_call.hits(twins.jitted)
        twins.check(times=10)
        assert fast_call.hits(twins.jitted) == before + 10
        twins.change("W = W + 1; LAYER.w = LAYER.w + 1; ROWS[0] = ROWS[0] * 2; change(np.ones(5))")
        twins.check(times=3)


@pytest.mark.skipif(not fast_call.available(), reason="calls are native on CPython with NumPy's layouts only")
def test_native_calls_take_what_is_bound_now(tmp_path):
    """Globals, cells and items are read natively; an array lives as long as its name or a call needs it, no longer."""
    twins = Twins("return x * W + cell + ROWS[-1] + TREE['w'] + own", tmp_path)
    twins.check(times=WARM)
    before = fast_call.hits(twins.jitted)
    for k in range(5):
        twins.change(
            f"W = W + {k}; change(np.full(5, {k}.0)); ROWS[-1] = np.arange(5.0) * {k}; TREE['w'] = W * 2"
        )
        twins.check(times=3)
    assert fast_call.hits(twins.jitted) == before + 15
    space = twins.compiled
    old = weakref.ref(space["W"])
    space["W"] = np.ones(5)
    assert old() is None
    count = sys.getrefcount(space["W"])
    for _ in range(100):
        twins.jitted(X)
    now = sys.getrefcount(space["W"])
    assert now == count
    for value in (np.ones(5, "f4"), 2.0, np.ones((5, 1))):
        twins.change("W = 1.0")
        for each in (twins.python, twins.compiled):
            each["W"] = value
        twins.check(times=3)


def test_other_threads_may_bind_it_meanwhile(tmp_path):
    space = world("return np.sqrt(W) + 0 * x[0]", "outside_in_threads", tmp_path)
    space["W"] = np.ones(200_000)
    jitted = nt.jit(space["program"])
    for _ in range(WARM):
        jitted(X)
    stop = threading.Event()

    def bind() -> None:
        k = 1
        while not stop.is_set():
            space["W"] = np.full(200_000, float(k * k))
            k = k % 50 + 1

    thread = threading.Thread(target=bind)
    thread.start()
    try:
        for _ in range(200):
            result = jitted(X)
            assert result[0] == result[-1] == int(result[0]) and (result == result[0]).all()
    finally:
        stop.set()
        thread.join()


def test_extents_that_change_are_left_open(tmp_path):
    twins = Twins("return x[:len(W)] * W", tmp_path)
    for length in (5, 4, 3, 2, 1, 0):
        twins.change(f"W = np.arange({length}.0)")
        twins.check(times=2)
    assert twins.jitted.cache_info()["compiled"] <= 5


def test_methods_of_many_objects(tmp_path):
    space = world("return x", "objects", tmp_path)
    layer = space["Layer"]
    forward = nt.jit(layer.forward)
    objects = [layer(np.full(5, float(k)), np.arange(5.0) * k) for k in range(4)]
    for _ in range(WARM):
        for one in objects:
            np.testing.assert_array_equal(forward(one, X), layer.forward(one, X))
    for one in objects:
        one.w, one.b = one.b, one.w
        np.testing.assert_array_equal(forward(one, X), layer.forward(one, X))


def test_jitted_functions_that_are_called(tmp_path):
    twins = Twins("return inner(x) + W", tmp_path)
    twins.change("def inner(x): return x * W + ROWS[0]")
    file = tmp_path / "inner.py"
    file.write_text("def inner(x):\n    return x * W + ROWS[0]\n")
    for space in (twins.python, twins.compiled):
        exec(compile(file.read_text(), str(file), "exec"), space)
    twins.compiled["inner"] = nt.jit(twins.compiled["inner"])
    for statement in ("pass", "W = W * 2", "ROWS[0] = np.ones(5)", "ROWS[0][1] = 4", "W = 2.0"):
        twins.change(statement)
        twins.check(times=2)


def test_stages_show_the_arrays(tmp_path):
    twins = Twins("W[0] += 1\nreturn x * W + LAYER.w", tmp_path)
    twins.compiled["W"][:] = 1.0
    lowered = twins.jitted.lower(X)
    text = lowered.as_text()
    assert "%W: tensor<5xf64>" in text and "%LAYER_w: tensor<5xf64>" in text and "nt.mutated" in text
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(X), X * [2.0, 1, 1, 1, 1] + 1)
    assert twins.compiled["W"][0] == 2.0
    twins.compiled["W"] = np.ones(5)
    np.testing.assert_array_equal(compiled(X), X * [2.0, 1, 1, 1, 1] + 1)
    assert "W: float64[5] (from outside, read at each call, written by the call)" in twins.jitted.explain(X)
    for other in (np.ones(4), np.ones(5, "f4"), 2.0):
        twins.compiled["W"] = other
        with pytest.raises((UnsupportedError, TypeError)):
            compiled(X)
    assert "nest.store" in lowered.as_text("nest")


def test_what_is_written_must_not_be_read_only(tmp_path):
    twins = Twins("READ[0] = 1\nreturn x", tmp_path)
    twins.check(times=2)
    with pytest.raises(ValueError, match="read-only"):
        twins.jitted(X)


def test_an_array_of_another_kind_is_refused_where_it_is_used(tmp_path):
    twins = Twins("return x * W", tmp_path)
    for text in (
        "np.ones(5, np.clongdouble)",
        "np.array(list('abcde'))",
        "np.ma.ones(5)",
        "np.array([None] * 5)",
        "np.ones(5, '>f8')",
    ):
        twins.compiled["W"] = eval(text)
        with pytest.raises(nt.NestorError):
            twins.jitted(X)
    twins.compiled["W"] = np.ones(5)
    np.testing.assert_array_equal(twins.jitted(X), X)


# ---- other processes, other libraries -----------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np, nestor as nt
from nestor.runtime.disk_cache import COUNTS
W = np.array(eval(sys.argv[1]))
TREE = {"w": [np.full(3, 2.0)]}
@nt.jit
def f(x):
    TREE["w"][0][:] += 1
    return x * W + TREE["w"][0]
print(f(np.ones(3)).tolist(), TREE["w"][0].tolist(), COUNTS.hits, COUNTS.stored)
"""


def test_another_process_with_other_arrays(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    kept = {**os.environ, "NESTOR_CACHE": "1", "NESTOR_CACHE_DIR": str(tmp_path)}
    seen = []
    for text in ("[1.0, 2.0, 3.0]", "[4.0, 5.0, 6.0]", "[1, 2, 3]", "[7, 8, 9]"):
        run = subprocess.run(
            [sys.executable, str(file), text], capture_output=True, text=True, env=kept, check=True
        )
        expected = np.ones(3) * np.array(eval(text)) + 3.0
        values, _, counts = run.stdout.strip().rpartition("] ")
        assert values == f"{expected.tolist()} [3.0, 3.0, 3.0", run.stdout
        seen.append(counts)
    assert seen == ["0 1", "1 0", "0 1", "1 0"]


def test_tensors_of_torch(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    space = world("LAYER.w[0] = 3\nreturn x * W + LAYER.w", "tensors", tmp_path)
    jitted = nt.jit(space["program"])
    space["W"], space["LAYER"].w = torch.arange(5.0), torch.ones(5)
    for _ in range(3):
        result = jitted(torch.ones(5))
        assert isinstance(result, torch.Tensor) and result.tolist() == [3.0, 2, 3, 4, 5]
    assert space["LAYER"].w.tolist() == [3.0, 1, 1, 1, 1]
    space["W"] = np.arange(5.0, dtype="f4")
    assert isinstance(jitted(np.ones(5, "f4")), torch.Tensor)
    space["LAYER"].w = np.ones(5)
    assert isinstance(jitted(np.ones(5, "f4")), np.ndarray)
