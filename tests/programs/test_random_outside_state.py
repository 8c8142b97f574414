"""Random programs that read outside state, which changes at random between calls: every call gives what Python gives.

A program is a sum of terms, each of which reads something outside by a path: a global, a cell, an item, an attribute, a
default, a key that may be missing, a length, a loop over a container. Between calls one to three things along such paths
are changed: replaced, changed inside, removed and put back, or set to an equal value.
One program in three runs on the CPU, with native calls; the others are interpreted, which compiles faster.
"""

from __future__ import annotations

import contextlib
import math
import random
import re
import types
from typing import Any

import nestor as nt
import numpy as np
import pytest
from sampling import seeds

pytestmark = pytest.mark.one_of(2)

X = np.linspace(0.5, 2.0, 4)
PROGRAMS, AT_ONCE, STEPS = 1000, 20, 5

TEXT = """
import math
class Plain:
    shared = 3.0
    table = [1.0, 2.0]
    def __init__(self, k, inner=None):
        self.k = k
        self.inner = inner
        self.sizes = [k, 2.0]
    @property
    def double(self):
        return self.k * 2
class Sub(Plain):
    shared = 4.0
class Slotted:
    __slots__ = ("k",)
    def __init__(self, k):
        self.k = k
G, H = 1.0, 2
L = [1.0, 2.0, [3.0, 4.0], (5.0, [6.0])]
N = [1.0, 2.0, 3.0]
D = {"a": 1.0, "b": [2.0, 3.0], "c": {"d": 4.0}}
M = {"u": 1.0, "v": 2.0}
P, Q, S = Plain(2.0, Plain(3.0)), Sub(5.0), Slotted(1.0)
W = np.array([1.0, 2.0, 3.0])
A, B = np.array([1.0, -2.0, 3.0, 0.5]), np.arange(4)
P.w, BOX = np.arange(4.0), {"w": [np.ones(4), 2.0], "v": (np.arange(4.0), 3.0)}
def helper(v, k=2.0, ks=[1.0, 2.0], *, by=1.0):
    return v * k + by + ks[1]
def other(v, k=3.0, ks=[4.0, 5.0], *, by=2.0):
    return v - k * by - ks[0]
sqrt, floor = math.sqrt, math.floor
absolute, square = np.abs, np.square
def make(cell, held):
    def program(x, own=1.0, items=[2.0, 3.0]):
        return {expression}
    def change(c, h):
        nonlocal cell, held
        cell, held = c, h
    return program, change, held
"""

TERMS = [
    "G", "H", "cell", "held[0]", "held[-1]", "own", "items[0]", "L[0]", "L[1]", "L[2][0]", "L[2][-1]", "L[3][0]",
    "L[3][1][0]", "N[0]", "N[-1]", "len(N)", "sum(v for v in N)", "max(N)", "D['a']", "D['b'][1]", "D['c']['d']",
    "D.get('e', 7.0)", "(D['e'] if 'e' in D else 8.0)", "len(D)", "sum(v for v in M.values())", "[v for v in M.values()][0]",
    "sum(v for k, v in M.items() if k != 'u')", "P.k", "P.inner.k", "P.sizes[0]", "P.shared", "P.double", "P.table[1]",
    "Plain.shared", "Q.k", "Q.shared", "Q.double", "S.k", "getattr(P, 'extra', 6.0)",
    "(1.0 if hasattr(Q, 'extra') else 2.0)",
    "(1.0 if isinstance(P, Sub) else 2.0)", "W[1]", "W.shape[0]", "helper(x)", "helper(x, by=G)", "math.sqrt(4.0)",
    "math.floor(2.5)", "(1.0 if N else 2.0)", "(1.0 if 2.0 in N else 3.0)", "(N[0] if len(N) > 2 else D['a'])", "np.abs(x)",
    "A", "A[::-1]", "(A * B)", "A[1]", "B[2]", "P.w", "BOX['w'][0]", "BOX['w'][-1]", "BOX['v'][0]", "(P.w + A).sum()",
    "(A if A.ndim else 2.0)", "sum(v for v in BOX['w'])", "(P.w if hasattr(P, 'w') else A)", "len(A)",
    "np.square(x)", "(lambda u, v: u - v)(*held)", "len(held)",
]  # fmt: skip


def number(draw: random.Random) -> str:
    """A number; small ones often, so that values repeat."""
    return draw.choice(
        ["1.0", "2.0", "3", "-4.5", "True", "0.0", "-0.0", "np.float32(1.5)", str(draw.randrange(9))]
    )


CHANGES = [
    "G = {n}", "H = {n}", "L[0] = {n}", "L[1] = {n}", "L[2][0] = {n}", "L[2] = [{n}, {m}]", "L[2].append({n})",
    "L[3] = ({n}, [{m}])", "L[3][1][0] = {n}", "L = [{n}, {m}, [{m}], ({n}, [{n}])]", "N.append({n})",
    "N.pop() if len(N) > 1 else N.append({n})", "N.reverse()", "N[0] = {n}", "N[:] = [{n}, {m}]", "N = [{n}, {m}, {n}]",
    "D['a'] = {n}", "D['b'][1] = {n}", "D['b'] = [{n}, {m}]", "D['c']['d'] = {n}", "D['c'] = {{'d': {n}}}", "D['e'] = {n}",
    "D.pop('e', None)", "D = dict(D)", "D['new'] = 1", "D.pop('new', None)", "M['u'] = {n}", "M['v'] = {n}", "M['w'] = {n}",
    "M.pop('w', None)", "M['u'] = M.pop('u')", "M = {{'v': {n}, 'u': {m}}}", "P.k = {n}", "P.inner.k = {n}",
    "P.inner = Plain({n})", "P.sizes[0] = {n}", "P.sizes = [{n}]", "P.shared = {n}", "vars(P).pop('shared', None)",
    "P.extra = {n}", "vars(P).pop('extra', None)", "P.__class__ = Sub", "P.__class__ = Plain", "P = Plain({n}, Plain({m}))",
    "Plain.shared = {n}", "Plain.table[1] = {n}", "Plain.table = [{n}, {m}]", "Sub.shared = {n}", "Sub.extra = 1",
    "vars(Sub).get('extra') and delattr(Sub, 'extra')", "Q.k = {n}", "S.k = {n}", "S = Slotted({n})", "W[1] = {n}",
    "W = np.array([{n}, {m}, 1.0, 2.0])", "W += 1.0", "helper.__defaults__ = ({n}, [{n}, {m}])",
    "helper.__defaults__[1][1] = {n}", "helper.__kwdefaults__['by'] = {n}", "helper.__kwdefaults__ = {{'by': {n}}}",
    "helper.__code__ = other.__code__", "helper = other", "program.__defaults__ = ({n}, [{m}, {n}])",
    "program.__defaults__[1][0] = {n}", "change({n}, [{n}, {m}])", "held[0] = {n}", "held.reverse()",
    "math.sqrt = math.exp", "math.sqrt = sqrt", "math.floor = math.ceil", "math.floor = floor", "np.abs = square",
    "A = A + {n}", "A[2] = {n}", "A = np.asarray(A, 'f4')", "A = np.arange(8.0)[::-2]", "A = {n}", "A = np.ones((2, 4))",
    "A = B", "B[1] = {m}", "B = B[::-1]", "B = B.astype('i2')", "B = np.arange(4.0)", "P.w = A", "P.w = {n}", "P.w *= 2",
    "P.w = np.arange(4.0)", "vars(P).pop('w', None)", "BOX['w'][0] = A", "BOX['w'][0] = {n}", "BOX['w'].reverse()",
    "BOX['w'] = [A, B]", "BOX['v'] = (P.w if hasattr(P, 'w') else A, {n})", "BOX['v'][0].fill({n})",
    "BOX = {{'w': [np.ones(4), {n}], 'v': (A, B)}}", "A = np.full(4, {n})", "helper.__defaults__ = (A, [{n}, {m}])",
    "np.abs = absolute", "np.square = absolute", "np.square = square",
]  # fmt: skip


class World:
    """A program in a module of its own, and what it reads."""

    def __init__(self, draw: random.Random, folder: Any, number: int):
        self.expression = " + ".join(["x", *(f"x * {t}" for t in draw.sample(TERMS, draw.randrange(1, 5)))])
        text = TEXT.replace("{expression}", self.expression)
        file = folder / f"outside_{number}.py"
        file.write_text(text)
        self.space: dict[str, Any] = vars(types.ModuleType("outside_world"))
        self.space["np"] = np
        exec(compile(text, str(file), "exec"), self.space)
        program, change, held = self.space["make"](1.0, [2.0, 3.0])
        self.space.update(program=program, change=change, held=held)
        self.jitted = nt.jit(program, target="interp" if number % 3 else "cpu")
        self.done: list[str] = []
        names = set(re.findall(r"\w+", self.expression)) - {"x", "np", "math", "k", "v"}
        self.near = [one for one in CHANGES if names & set(re.findall(r"\w+", one))] or CHANGES
        """Changes of what the program reads."""

    def change(self, statement: str) -> None:
        self.done.append(statement)
        with contextlib.suppress(ArithmeticError, LookupError, AttributeError, TypeError, ValueError):
            exec(statement, self.space)

    def check(self) -> None:
        """One call; what Python refuses must be refused."""
        expected, found = outcome(self.space["program"]), outcome(self.jitted)
        assert found == expected, (
            f"{self.expression}\nafter {'; '.join(self.done)}\ngives {found}, not {expected}"
        )


def outcome(function: Any) -> Any:
    try:
        result = function(X)
    except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError) as error:
        kinds = (ArithmeticError, LookupError, AttributeError, TypeError, ValueError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return result.dtype.str, np.round(result, 10).tolist()


FUNCTIONS = math.sqrt, math.floor, np.abs, np.square


def put_back() -> None:
    """Functions that a program has replaced are what they were."""
    math.sqrt, math.floor, np.abs, np.square = FUNCTIONS


@pytest.fixture(autouse=True)
def functions_are_put_back():
    yield
    put_back()


def judge(seed: int, folder: Any) -> str | None:
    """What a call of one program gives that is not Python's."""
    draw = random.Random(seed)
    put_back()
    try:
        world = World(draw, folder, seed % AT_ONCE)
        for _ in range(3):
            world.check()
        for _ in range(STEPS):
            for _ in range(draw.randrange(1, 4)):
                near = draw.choice((CHANGES, world.near, world.near))
                world.change(draw.choice(near).format(n=number(draw), m=number(draw)))
            for _ in range(draw.choice((1, 2, 3, 9))):
                world.check()
    except AssertionError as error:
        return str(error)
    finally:
        put_back()
    return None


@pytest.mark.parametrize("part", seeds(PROGRAMS // AT_ONCE))
def test_every_call_gives_what_python_gives(part, tmp_path):
    wrong = [judge(part * AT_ONCE + k, tmp_path) for k in range(AT_ONCE)]
    assert not any(wrong), "\n\n".join([one for one in wrong if one][:3])
