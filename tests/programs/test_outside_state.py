"""What a function reads outside is what is there at the call: containers, attributes, defaults, code, arrays, modules.

Each program is called until calls are native, then something outside changes, and changes back; every call must give what
Python gives.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections import OrderedDict, defaultdict
from typing import Any

import nestor as nt
import numpy as np
import pytest
from nestor.runtime.cpu import fast_call

pytestmark = pytest.mark.one_of(2)

X = np.linspace(0.5, 2.0, 6)
WARM = 40


class Plain:
    shared = 3.0

    def __init__(self, k: float = 2.0) -> None:
        self.k = k
        self.sizes = [1.0, 2.0]


class Slotted:
    __slots__ = ("k",)

    def __init__(self) -> None:
        self.k = 2.0


class WithProperty:
    def __init__(self) -> None:
        self.k = 2.0

    @property
    def double(self) -> float:
        return self.k * 2


class Late:
    k = 1.0


@dataclasses.dataclass
class Settings:
    gain: float = 2.0
    inner: Any = None


def world() -> types.ModuleType:
    """A module with fresh state, and the programs that read it."""
    module = types.ModuleType("outside_world")
    space = vars(module)
    space.update(np=np, math=math, functools=functools)
    space.update(L=[1.0, [2.0, 3.0]], D={"k": 2.0, "n": {"z": [1.5]}}, T=([1.0, 2.0], 3.0), S={1, 2, 3})
    space.update(P=Plain(), Q=Slotted(), R=WithProperty(), Plain=Plain, Late=Late, LATE=Late())
    space.update(
        CFG=Settings(2.0, Settings(3.0)), TABLE=OrderedDict(a=1.0, b=2.0), DEF=defaultdict(float, k=1.0)
    )
    space.update(
        W=np.array([1.0, 2.0, 3.0]), NAMES=["a", "b"], SPACE=types.SimpleNamespace(k=1.0), EMPTY=[], TEXT="a"
    )
    space.update(F=np.asfortranarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), B=np.zeros(5, bool), E=np.zeros(0))
    space.update(A=1.0, ROWS=[(1.0, 2.0), (3.0, 4.0)])
    return module


PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "an item of a list": ("x * L[0]", ["L[0] = 5.0", "L[0] = 5", "L[0] = True", "L[0] = 1.0"]),
    "an item from the end": ("x * TABLE2[-1]",
        ["TABLE2.append(7.0)", "TABLE2.pop()", "TABLE2[-1] = 9.0", "TABLE2[:] = [1.0]"]),
    "an item of an item": ("x * L[1][1]", ["L[1][1] = 9.0", "L[1] = [1.0, 4.0]", "L[1].insert(0, 6.0)"]),
    "an item of a dict": ("x * D['k']",
        ["D['k'] = 4.0", "D['other'] = 1", "D.update(k=np.float32(3))", "D.clear(); D['k'] = 8.0"]),
    "deep in a dict": ("x * D['n']['z'][0]", ["D['n']['z'][0] = 4.0", "D['n'] = {'z': [5.0]}", "D['n']['z'] = [6]"]),
    "a key that is looked for": (
        "x * (D['m'] if 'm' in D else 2.0)", ["D['m'] = 4.0", "D['m'] = 5.0", "del D['m']"]),
    "get": ("x * D.get('m', 2.0)", ["D['m'] = 4.0", "D['m'] = 5.0", "del D['m']"]),
    "the length of a list": ("x * len(L)", ["L.append(0)", "L.pop(); L.pop()"]),
    "the length of a dict": ("x * len(D)", ["D['q'] = 0", "del D['q']"]),
    "whether a list is empty": ("x * 2 if EMPTY else x", ["EMPTY.append(1)", "EMPTY.clear()"]),
    "a list in a loop": ("sum(v for v in TABLE2) * x", ["TABLE2.append(3.0)", "TABLE2[1] = 7.0", "TABLE2.reverse()"]),
    "the items of a dict": ("x * sum(v for k, v in D2.items() if k != 'a')",
        ["D2['c'] = 3.0", "D2['b'] = 5.0", "del D2['c']"]),
    "the order of a dict": ("x * [v for v in D2.values()][0]",
        ["D2['a'] = D2.pop('a')", "D2['b'] = 7.0; D2['a'] = D2.pop('a')"]),
    "an unpacked list": ("x * (lambda a, b: a - b)(*TABLE2)", ["TABLE2[0] = 9.0", "TABLE2.reverse()"]),
    "a list in a tuple": ("x * T[0][1]", ["T[0][1] = 9.0", "T[0].insert(0, 4.0)"]),
    "a tuple in a list": ("x * ROWS[1][0]", ["ROWS[1] = (7.0, 8.0)", "ROWS.pop(0); ROWS.append((9.0, 1.0))"]),
    "membership": ("x * 2 if 'b' in NAMES else x", ["NAMES.remove('b')", "NAMES.append('b')"]),
    "membership of a set": ("x * 2 if 3 in S else x", ["S.remove(3)", "S.add(3)", "S.add(9)"]),
    "a comparison of lists": ("x * 2 if NAMES == ['a', 'b'] else x", ["NAMES[0] = 'c'", "NAMES[0] = 'a'"]),
    "a builtin of a list": ("x * max(TABLE2)", ["TABLE2.append(30.0)", "TABLE2.clear(); TABLE2.append(2.0)"]),
    "an ordered dict": ("x * TABLE['a']", ["TABLE['a'] = 4.0", "TABLE.move_to_end('a')"]),
    "a dict with a factory": ("x * DEF['k']", ["DEF['k'] = 4.0", "DEF['l'] = 3.0"]),
    "an attribute": ("x * P.k", ["P.k = 4.0", "P.k = 5", "del P.k; Plain.k = 3.0", "P.k = 1.0; del Plain.k"]),
    "an item of an attribute": ("x * P.sizes[1]", ["P.sizes[1] = 4.0", "P.sizes = [3.0, 8.0]"]),
    "an attribute of a class": ("x * Plain.shared", ["Plain.shared = 7.0", "Plain.shared = 3.0"]),
    "an attribute that a class gives": ("x * P.shared",
        ["Plain.shared = 7.0", "P.shared = 9.0", "Plain.shared = 3.0; del P.shared"]),
    "a slot": ("x * Q.k", ["Q.k = 4.0", "Q.k = 5"]),
    "a property": ("x * R.double", ["R.k = 4.0", "R.k = 7"]),
    "an attribute that becomes a property": ("x * LATE.k", ["Late.k = property(five)", "Late.k = 1.0"]),
    "an attribute looked for": ("x * getattr(P, 'm', 2.0)",
        ["P.m = 4.0", "P.m = 3.0", "del P.m", "Plain.m = 6.0", "del Plain.m"]),
    "a dataclass": ("x * CFG.gain", ["CFG.gain = 4.0", "CFG.gain = 3"]),
    "a dataclass in a dataclass": ("x * CFG.inner.gain", ["CFG.inner.gain = 4.0", "CFG.inner = type(CFG)(7.0)"]),
    "a namespace": ("x * SPACE.k", ["SPACE.k = 4.0", "SPACE = type(SPACE)(k=5.0)"]),
    "the class of an object": ("x * 2 if isinstance(P, Plain) else x", ["P.__class__ = Late", "P.__class__ = Plain"]),
    "a default": ("helper(x)", ["helper.__defaults__ = (5.0,)", "helper.__defaults__ = (2.0,)"]),
    "a default by name": ("helper(x)", ["helper.__kwdefaults__ = {'by': 5.0}", "helper.__kwdefaults__['by'] = 7.0"]),
    "a default that can change": ("listed(x)", ["listed.__defaults__[0][0] = 5.0", "listed.__defaults__ = ([6.0],)"]),
    "the code of a helper": ("helper(x)", ["helper.__code__ = other.__code__", "helper = other"]),
    "an attribute of a function": ("x * helper.gain", ["helper.gain = 5.0", "helper.gain = 6"]),
    "an element of an array": ("x * W[1]", ["W[1] = 9.0", "W = W + 1", "W *= 2"]),
    "a sum of an array": ("x * W.sum()", ["W[1] = 9.0", "W.fill(2.0)"]),
    "the length of an array": ("x * W.shape[0]", ["W = np.ones(5)", "W = np.ones(7)"]),
    "a shape that is replaced in place": (
        "x * W.shape[0]", ["W.shape = (1, 3)", "W.shape = (3, 1)", "W.resize(4, refcheck=False)"]),
    "an element of a column-major array": ("x * F[1, 0]", ["F[1, 0] = 9.0", "F += 1.0", "F = np.ones((2, 3))"]),
    "an element of an array whose type is replaced": (
        "x * W.view('i8')[0]", ["W[0] = 3.0", "W = W.astype('f4')[::2].repeat(2)"]),
    "a mask": ("x * B.any()", ["B[2] = True", "B[2] = False"]),
    "an empty array": ("x * len(E)", ["E = np.zeros(3)", "E = np.zeros(0)"]),
    "elements in a tuple": ("x[:2] * np.array((W[0], W[2]))", ["W[2] = 9.0", "W[0] = 0.0"]),
    "numbers by np.array": ("x[:2] * np.array(TABLE2)", ["TABLE2[1] = 9.0", "TABLE2[0] = 0.0"]),
    "a function of NumPy": ("np.exp(x)", ["np.exp = doubled", "np.exp = np.sqrt", "np.exp = exp"]),
    "a function of math": ("x * math.sqrt(A)", ["math.sqrt = math.exp", "math.sqrt = sqrt", "A = 4.0"]),
    "a keyword of a partial": ("part(x)",
        ["part.keywords['k'] = 5.0", "part.keywords['by'] = 7.0", "part.keywords['k'] = 5", "part.keywords.clear()"]),
    "a partial that gets another state": ("part(x)",
        ["part.__setstate__((helper, (), {'k': 9.0}, {}))", "part.__setstate__((other, (), {'k': 9.0}, {}))"]),
    "a partial in a list": ("PARTS[0](x)",
        ["PARTS[0].keywords['k'] = 5.0", "PARTS[0] = functools.partial(other)", "PARTS[0].keywords['by'] = 4.0"]),
    "an array of a partial": ("with_array(x)",
        ["with_array.args[0][1] = 9.0", "with_array.__setstate__((added, (np.full(3, 4.0),), {}, {}))"]),
    "a builtin": ("x * len(NAMES)", ["len = five", "del len"]),
}  # fmt: skip

HELPERS = """
def helper(x, k=2.0, *, by=1.0):
    return x * k + by
def other(x, k=3.0, *, by=1.0):
    return x - k
def listed(x, ks=[2.0]):
    return x * ks[0]
def five(_):
    return 5.0
def doubled(x):
    return x + x
helper.gain = 3.0
def added(w, x):
    return x + w.sum()
part = functools.partial(helper, k=2.0)
PARTS = [functools.partial(helper, k=2.0)]
with_array = functools.partial(added, np.array([1.0, 2.0, 3.0]))
TABLE2 = [3.0, 1.0]
D2 = {"a": 2.0, "b": 4.0}
exp, sqrt = np.exp, math.sqrt
"""


class Program:
    """A function of one expression in a module of its own, whose source is a file."""

    def __init__(self, name: str, folder, **options: Any):
        text = HELPERS + f"def program(x):\n    return {PROGRAMS[name][0]}\n"
        file = folder / "outside_world.py"
        file.write_text(text)
        self.module = world()
        exec(compile(text, str(file), "exec"), vars(self.module))
        self.jitted = nt.jit(self.module.program, **options)

    def change(self, statement: str) -> None:
        exec(statement, vars(self.module))

    def check(self, x: np.ndarray) -> None:
        expected = self.module.program(x)
        found = self.jitted(x)
        assert type(found) is type(expected) and found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.fixture(autouse=True)
def as_before():
    """What the programs change of modules and classes is put back."""
    functions = np.exp, math.sqrt
    yield
    np.exp, math.sqrt = functions
    Plain.shared, Late.k = 3.0, 1.0
    for name in ("k", "m"):
        if name in vars(Plain):
            delattr(Plain, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_see_what_has_changed(name, tmp_path):
    program = Program(name, tmp_path)
    for _ in range(WARM):
        program.check(X)
    for change in PROGRAMS[name][1]:
        program.change(change)
        for n in (6, 6, 6, 5):
            program.check(X[:n])
        for _ in range(WARM if change is PROGRAMS[name][1][0] else 2):
            program.jitted(X)
        program.check(X)


SOME = (
    "an item of an item",
    "an item of a dict",
    "an attribute",
    "a default",
    "an element of an array",
    "a function of NumPy",
)


@pytest.mark.parametrize(
    "options", [{"dynamic": True}, {"target": "interp"}, {"target": "cuda-sim"}], ids=str
)
@pytest.mark.parametrize("name", SOME)
def test_with_unknown_extents_and_on_other_targets(name, options, tmp_path):
    program = Program(name, tmp_path, **options)
    for change in ("pass", *PROGRAMS[name][1]):
        program.change(change)
        for n in (6, 6, 5):
            program.check(X[:n])


NATIVE = [
    name
    for name in PROGRAMS
    if name not in ("membership of a set", "an ordered dict", "a dict with a factory")
]


@pytest.mark.skipif(not fast_call.available(), reason="no native calls on this interpreter")
@pytest.mark.parametrize("name", NATIVE)
def test_calls_stay_native(name, tmp_path):
    """Guards are no reason to answer calls in Python."""
    program = Program(name, tmp_path)
    for _ in range(WARM):
        program.jitted(X)
    before = fast_call.hits(program.jitted)
    program.jitted(X)
    assert fast_call.hits(program.jitted) == before + 1


def scaled_sum(x, k=1.0):
    return (x * x * k).sum()


MODES = {
    "grad": lambda f: nt.grad(f)(X),
    "vjp": lambda f: nt.vjp(f, X)[0],
    "jvp": lambda f: nt.jvp(f, (X,), (X,))[1],
    "vmap": lambda f: nt.vmap(f)(np.stack([X, X])),
    "jit": lambda f: nt.jit(f)(X),
}


@pytest.mark.parametrize("mode", MODES)
def test_functions_of_a_partial_see_what_it_is_bound_to(mode):
    f = functools.partial(scaled_sum, k=2.0)
    for _ in range(WARM):
        first = MODES[mode](f)
    f.keywords["k"] = 4.0
    np.testing.assert_allclose(MODES[mode](f), 2 * np.asarray(first))
    f.__setstate__((scaled_sum, (), {"k": 8}, {}))
    np.testing.assert_allclose(MODES[mode](f), 4 * np.asarray(first))


@pytest.mark.skipif(not fast_call.available(), reason="no native calls on this interpreter")
def test_a_jitted_partial_is_looked_at_in_native_calls():
    f = functools.partial(scaled_sum, k=2.0)
    jitted = nt.jit(f)
    for _ in range(WARM):
        jitted(X)
    before = fast_call.hits(jitted)
    first = jitted(X)
    assert fast_call.hits(jitted) == before + 1
    f.keywords["k"] = 4.0
    assert jitted(X) == 2 * first and jitted(X, k=1.0) == first / 2
