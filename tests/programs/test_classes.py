"""Objects of classes that a compiled function makes and changes, compared with Python on every target."""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import InitVar, dataclass, field
from functools import cached_property, total_ordering
from typing import Any, Generic, TypeVar

import nestor as nt
import numpy as np
import pytest
from agreement import same

pytestmark = pytest.mark.one_of(2)

X = np.array([1.0, -2.0, 3.0, 0.5])


class P:
    scale = 2.0
    count: int = 0

    def __init__(self, x, y=1.0, *, z=None):
        self.x = x
        self.y = y
        if z is not None:
            self.z = z

    def norm(self):
        return math.sqrt(float(self.x) ** 2 + self.y**2)

    def grow(self, k):
        self.x += k
        return self

    @property
    def tw(self):
        return self.x * 2

    @tw.setter
    def tw(self, v):
        self.x = v / 2

    @classmethod
    def unit(cls, v):
        return cls(v, v)

    @staticmethod
    def half(v):
        return v / 2

    def __call__(self, a):
        return a * self.x + self.y

    def __add__(self, o):
        if isinstance(o, P):
            return P(self.x + o.x, self.y + o.y)
        if isinstance(o, (int, float)):
            return P(self.x + o, self.y + o)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self):
        return P(-self.x, -self.y)

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __setitem__(self, k, v):
        if k == 0:
            self.x = v
        else:
            self.y = v

    def __len__(self):
        return 2

    def __iter__(self):
        return iter((self.x, self.y))

    def __contains__(self, v):
        return self.x == v or self.y == v

    def __eq__(self, o):
        return isinstance(o, P) and self.x == o.x and self.y == o.y

    def __lt__(self, o):
        return self.x < o.x


class Q(P):
    scale = 3.0

    def __init__(self, x):
        super().__init__(x, 5.0)
        self.w = x * self.scale

    def norm(self):
        return super().norm() + 1

    @classmethod
    def unit(cls, v):
        q = super().unit(v) if cls is P else cls(v)
        return q


def attributes_and_methods(a, b):
    p = P(a, b)
    p.x = p.x + 1
    p.y += 2
    q = p
    q.tw = 8.0
    return p.norm(), p.tw, p.scale, P.half(p.x), p.half(3), len(p), p[0], p[1], a in p, q is p, p


def inheritance(a, b):
    q = Q(a)
    r = Q.unit(b)
    s = P.unit(a)
    return q.norm(), q, r, s, isinstance(q, P), isinstance(s, Q), type(q) is Q, q.scale, type(s)(b).x


def operators(a, b):
    p = P(a, b) + P(b, a)
    q = p + 1.0
    r = 2 + q
    s = -r
    s[0] = 7.0
    s[1] += 1
    x, y = s
    t = sum(v for v in s)
    return p, q, r, s, x, y, t, p == q, p != q, p < q, P(a, b) == P(a, b), p(a), 3.0 in p


def changed_in_a_loop_over_elements(x):
    p = P(0.0, 0.0)
    for i in range(len(x)):
        p.x += x[i]
        if x[i] > 0:
            p.y += 1.0
    return p


def changed_in_a_loop(x, n):
    p = P(x, 0.0)
    for _i in range(n):
        p.x = np.tanh(p.x + 1)
        p.grow(0.5)
        if n > 2:
            p.y += 1.0
    return p.x, p.y


def changed_on_paths(x, k):
    p = P(x, 1.0)
    if k > 0:
        p.y = 2.0
        p.extra = 3
    else:
        p.extra = 4
        p.y = 7.5
    q = P(x, 2.0) if k > 1 else P(x + 1, 3.0)
    q.y += 1
    return p, q.x, q.y


@dataclass
class D:
    a: Any
    b: float = 2.0
    c: list = field(default_factory=list)
    d: float = field(init=False)
    n: InitVar[int] = 3

    def __post_init__(self, n):
        self.d = self.a * n
        self.c.append(self.b)

    def __add__(self, o):
        return D(self.a + o.a, self.b + o.b)

    def __matmul__(self, o):
        return self.a * o.b


@dataclass(frozen=True, order=True)
class F:
    a: float
    b: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "b", self.b * 2)

    @cached_property
    def s(self):
        return self.a + self.b


@dataclass(slots=True)
class S:
    x: Any
    y: int = 1


class Sl:
    __slots__ = ("x", "y")

    def __init__(self, x):
        self.x = x


def dataclasses_with_post_init(a, b):
    d = D(a)
    e = D(a, b, n=4)
    g = d + e
    d.c.append(a)
    return d, e, g, d @ e, dataclasses.replace(F(a), b=5.0)


def frozen_and_ordered(a, b):
    f = F(a)
    g = F(a, b)
    return f.b, f == g, f < g, f == F(a), f >= g, f.s, f, (f, 1) == (g, 1)


def slots(a):
    s = S(a)
    s.y += 1
    t = Sl(a)
    t.y = 2.0
    t.x = t.y + a
    return s, t, hasattr(t, "y"), hasattr(Sl(a), "y"), getattr(t, "z", 5)


def no_such_slot(a):
    t = Sl(a)
    t.z = 1
    return t


class Base(ABC):
    def __init__(self):
        self.v = 1.0

    @abstractmethod
    def f(self, x): ...
    def g(self, x):
        return self.f(x) + self.v


class Der(Base):
    def f(self, x):
        return x * 2


def abstract(x):
    return Der().g(x)


def abstract_itself(x):
    return Base()


@total_ordering
class T:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v

    def __bool__(self):
        return self.v > 0

    def __abs__(self):
        return abs(self.v)

    def __float__(self):
        return float(self.v)

    def __round__(self, n=0):
        return 3


def total_order(a, b):
    t = T(a)
    u = T(b)
    r = 1 if t else 2
    return t <= u, t > u, t >= u, not t, r, abs(t), float(t), round(t), max(a, b)


class Lin:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def __call__(self, x):
        return x @ self.w + self.b


class Net:
    def __init__(self, ws):
        self.layers = [Lin(w, 0.5) for w in ws]

    def __call__(self, x):
        for l in self.layers:
            x = np.tanh(l(x))
        return x


def layers(x, w, v):
    return Net([w, v])(x)


Tt = TypeVar("Tt")


class Stack(Generic[Tt]):
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    def __bool__(self):
        return len(self.items) > 0


def stack(a, b):
    s = Stack()
    s.push(a)
    s.push(b)
    t = s.pop()
    s.push(t * 2)
    total = 0.0
    while s:
        total = total + s.pop()
    return total, len(s), s


class Node:
    def __init__(self, v, nxt=None):
        self.v = v
        self.next = nxt


def linked(a, b):
    n = Node(a, Node(b))
    n.next.v += 1.0
    m = n.next
    m.v *= 2
    s = 0.0
    c = n
    while c is not None:
        s = s + c.v
        c = c.next
    return s, n


def deleted(a):
    p = P(a)
    del p.y
    p.q = 3
    return p, hasattr(p, "y"), hasattr(p, "q")


def no_such_attribute(a):
    p = P(a)
    return p.nope


class V:
    __array_ufunc__ = None

    def __init__(self, a):
        self.a = a

    def __rmul__(self, o):
        return V(o * self.a)

    def __mul__(self, o):
        return V(self.a * o)

    def __iadd__(self, o):
        self.a = self.a + o
        return self


def reflected(x):
    v = x * V(2.0)
    w = v
    v += 1.0
    u = np.float64(2.0) * V(x)
    return v, w is v, u, (x.sum() * V(3.0))


class Acc:
    def __init__(self):
        self.s = 0.0
        self.n = 0
        self.h = [0.0, 0.0]

    def add(self, v):
        self.s += v
        self.n += 1
        self.h[self.n % 2 if False else 0] += v
        return self

    @property
    def mean(self):
        return self.s / self.n


def accumulated(x):
    a = Acc()
    for v in x:
        if v > 0:
            a.add(v)
    return a.s, a.n, a.mean, a.h


def objects_in_lists(x):
    pts = [P(x[i], i) for i in range(3)]
    pts[0]
    tot = P(0.0, 0.0)
    for p in pts:
        tot = tot + p
    return tot, sorted([p.y for p in pts]), pts[1].x, pts


def made_anew_in_a_loop(x, n):
    p = P(0.0, 0.0)
    for i in range(n):
        p = P(p.x + x[i], p.y + 1.0)
    return p


def ended_early(x, n):
    p = P(0.0, 0.0)
    i = 0
    while i < n:
        p.x += x[i]
        i += 1
        if p.x > 3:
            break
    return p, i


def made_for_each_element(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        p = P(x[i], 1.0)
        p.x *= 2
        out[i] = (p + P(1.0, 2.0)).x + p.norm()
    return out


Y = np.array([-1.0, 2.0, -3.0, 2.5])

CASES = [
    (attributes_and_methods, (1.0, 2.0), (np.float32(3.0), 1.5)),
    (inheritance, (1.0, 2.0), (2, 3.5)),
    (operators, (1.0, 2.0), (3.0, 3.0)),
    (changed_in_a_loop_over_elements, (X,), (Y,)),
    (changed_in_a_loop, (X, 3), (Y, 1)),
    (changed_on_paths, (X, 2), (X, 0)),
    (dataclasses_with_post_init, (1.5, 2.5), (2.0, 1.0)),
    (frozen_and_ordered, (1.0, 2.0), (1.0, 0.5)),
    (slots, (1.0,), (X,)),
    (abstract, (X,), (Y,)),
    (total_order, (1.0, 2.0), (-1.0, -1.0)),
    (stack, (1.0, 2.0), (X, Y)),
    (linked, (1.0, 2.0), (X, 3.0)),
    (deleted, (1.0,), (X,)),
    (reflected, (X,), (Y,)),
    (accumulated, (X,), (Y[:3],)),
    (objects_in_lists, (X,), (Y,)),
    (made_anew_in_a_loop, (X, 3), (Y, 2)),
    (ended_early, (X, 3), (Y, 2)),
    (made_for_each_element, (X,), (Y[:0],)),
]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(("function", "first", "second"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_objects(function, first, second, target):
    compiled = nt.jit(function, target=target)
    for arguments in (first, second, first):
        same(compiled(*arguments), function(*arguments))


def test_layers():
    w, v = np.ones((4, 3)), np.ones((3, 2))
    same(nt.jit(layers)(X, w, v), layers(X, w, v), tolerance=1e-12)


REFUSED = [
    (no_such_slot, AttributeError, "'Sl' object has no attribute 'z'"),
    (no_such_attribute, AttributeError, "'P' object has no attribute 'nope'"),
    (abstract_itself, TypeError, "Can't instantiate abstract class Base"),
]


@pytest.mark.parametrize(("function", "error", "message"), REFUSED)
def test_errors_are_those_of_python(function, error, message):
    with pytest.raises(error, match=message):
        function(X)
    with pytest.raises(error, match=message):
        nt.jit(function)(X)


class Kept(dict):
    def __init__(self, x):
        self.x = x


class Watched:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)


class Meta(type):
    pass


class OfMeta(metaclass=Meta):
    pass


def dict_made(x):
    return Kept(x).x


def watched(x):
    w = Watched()
    w.x = x
    return w.x


def of_meta(x):
    return OfMeta()


def class_changed(x):
    P.count += 1
    return x


def attributes_as_dict(x):
    return len(D(x).__dict__)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (attributes_as_dict, "the attributes of an object as a dict are not supported"),
        (dict_made, "making a Kept is not supported: it is a dict"),
        (watched, "making a Watched is not supported: it has a __setattr__ of its own"),
        (of_meta, "its metaclass Meta is not compiled"),
        (class_changed, "changing the attribute 'count' of the class P is not supported"),
    ],
)
def test_refused(function, message):
    with pytest.raises(nt.UnsupportedError, match=message):
        nt.jit(function)(1.0)


class Named:
    """Has attributes that are called as those of arrays and of `nt.spec`s are."""

    def __init__(self, value):
        for name in (*NAMES, "dims"):
            setattr(self, name, value)
        self.scale = 2.0


NAMES = [name for name in dir(np.ndarray) if not name.startswith("_")]


def scaled_by(x, named):
    return x * named.scale, named.dims


@pytest.mark.one_of(1)
@pytest.mark.parametrize("value", [2.0, 3, "rows", (4, 5)])
def test_attributes_may_be_called_as_those_of_arrays(value):
    scaled, dims = nt.jit(scaled_by)(np.arange(3.0), Named(value))
    np.testing.assert_array_equal(scaled, np.arange(3.0) * 2)
    assert dims == value


class WithNew:
    def __new__(cls):
        return object.__new__(cls)


class WithDel:
    def __del__(self):
        X.sum()


class WithSetattr:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class WithDelattr:
    def __delattr__(self, name):
        object.__delattr__(self, name)


class WithGetattribute:
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class OfWithDel(WithDel):
    pass


def made_new(x):
    WithNew()
    return x


def made_del(x):
    WithDel()
    return x


def made_setattr(x):
    WithSetattr()
    return x


def made_delattr(x):
    WithDelattr()
    return x


def made_getattribute(x):
    WithGetattribute()
    return x


def made_of_del(x):
    OfWithDel()
    return x


@pytest.mark.one_of(1)
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (made_new, "__new__"),
        (made_del, "__del__"),
        (made_setattr, "__setattr__"),
        (made_delattr, "__delattr__"),
        (made_getattribute, "__getattribute__"),
        (made_of_del, "__del__"),
    ],
)
def test_objects_that_run_code_of_their_own_are_not_made(function, name):
    with pytest.raises(
        nt.UnsupportedError, match=f"making a .* is not supported: it has a {name} of its own"
    ):
        nt.jit(function)(1.0)


# ---- what is found in classes is looked at again -----------------------------------------------------


def twice(self):
    return self.x * 20


def added(self, other):
    return self.x - other


def other_init(self, x, y=1.0, *, z=None):
    self.x, self.y = x + 1, y


def uses(x):
    p = P(x)
    p.tw = 4.0
    return p.x, p.tw, p.norm(), p.scale, p + 1.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", 7.0),
        ("norm", twice),
        ("__init__", other_init),
        ("tw", property(twice, P.tw.fset)),
        ("__add__", added),
    ],
)
def test_changed_classes(name, value, monkeypatch):
    compiled = nt.jit(uses)
    same(compiled(2.0), uses(2.0))
    monkeypatch.setattr(P, name, value)
    same(compiled(2.0), uses(2.0))
    monkeypatch.undo()
    same(compiled(2.0), uses(2.0))


# ---- jitted methods and objects that are arguments ---------------------------------------------------


class Model:
    rate = 0.5

    def __init__(self, w):
        self.w = w
        self.steps = 2

    @property
    def half(self):
        return self.w / 2

    def inner(self, x):
        for _ in range(self.steps):
            x = np.tanh(x * self.w)
        return x

    @nt.jit
    def forward(self, x):
        return self.inner(x) + self.half * self.rate + self.bias(1.0)

    @classmethod
    def bias(cls, b):
        return cls.rate * b

    def __call__(self, x):
        return x * self.steps


class Small(Model):
    rate = 0.25

    def inner(self, x):
        return super().inner(x) + 1


def applied(model, x):
    return model(x) + model.inner(x).sum() + model.bias(2.0)


@pytest.mark.parametrize("kind", [Model, Small])
def test_objects_that_are_given(kind, monkeypatch):
    model, other = kind(0.5), kind(0.25)
    compiled = nt.jit(applied)
    for one in (model, other, model):
        same(one.forward(X), kind.forward.function(one, X), tolerance=1e-12)
        same(compiled(one, X), applied(one, X), tolerance=1e-12)
    model.steps, model.w = 3, 0.75
    monkeypatch.setattr(kind, "rate", 5.0)
    for one in (model, other, model):
        same(one.forward(X), kind.forward.function(one, X), tolerance=1e-12)
        same(compiled(one, X), applied(one, X), tolerance=1e-12)


# ---- objects that branches and loops make or change ---------------------------------------------------


class Cell:
    def __init__(self, a, b=0.0):
        self.a = a
        self.b = b
        self.h = [a, b]


def made_on_both_sides(x):
    p = Cell(x[0], 1.0) if x[0] > 0 else Cell(x[1], 2.0)
    p.b += x[2]
    q = p
    q.h.append(p.b)
    return p, q is p


def shown_twice(x):
    if x[0] > 0:
        p = Cell(x[0])
        p.a = x[1]
        t = (p, p)
    else:
        p = Cell(x[1])
        t = (p, p)
    p.b = 3.0
    return t[0].b, t[1], t[0] is p


def lists_on_both_sides(x):
    outer = []
    if x[0] > 0:
        t = [x[0]]
        t.append(x[1])
        outer.append(t)
    else:
        t = [x[1], x[2]]
        outer.append(t)
    t.append(2.0)
    return outer, t, outer[0] is t


def dicts_on_both_sides(x):
    d = {}
    if x[0] > 0:
        d["a"] = x[0]
        d["c"] = {"k": x[2]}
    else:
        d["a"] = x[2]
        d["c"] = {"k": x[1]}
    d["b"] = d["a"] * 2
    d["c"]["k"] += 1
    return d


def one_for_another(x):
    p = Cell(x[0])
    for i in range(len(x)):
        n = Cell(p.a + x[i], p.b + 1.0)
        n.h[0] += 1.0
        p = n
    p.a += 1.0
    p.h.append(2.0)
    return p


def until(x):
    p = Cell(x[0])
    i = 0
    while p.a < 5.0 and i < len(x):
        p = Cell(p.a + abs(x[i]))
        i += 1
    p.b = 1.0
    return p, i


def two_that_move_on(x):
    a, b = Cell(x[0]), Cell(x[1])
    for i in range(len(x)):
        a, b = b, Cell(a.a + b.a + x[i])
    b.a += 1.0
    return a, b


def attributes_and_items(x):
    p = Cell(0.0)
    for i in range(len(x)):
        p.a += x[i]
        if x[i] > 0:
            p.b += 1.0
        else:
            p.h[0] -= x[i]
    return float(p.a), p.b, float(p.h[0]), p.h[1]


def nested_loops(x):
    acc = [0.0, 0]
    for i in range(len(x)):
        for j in range(i):
            acc[0] += x[i] * x[j]
            acc[1] += 1
    return float(acc[0]), acc[1]


def a_dict_of_sums(x):
    d = {"s": 0.0, "n": 0}
    for v in x:
        if v < 0:
            continue
        d["s"] += v
        d["n"] += 1
    return float(d["s"]), d["n"]


def smoothed(x):
    out = np.zeros(len(x))
    p = Cell(1.0)
    for i in range(len(x)):
        p.a = p.a * 0.5 + x[i]
        out[i] = p.a
    return out, float(p.a)


def made_in_branches_of_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        p = Cell(x[i]) if False else Cell(-x[i], 1.0)
        if x[i] > 0:
            p = Cell(x[i])
        else:
            p = Cell(-x[i], 1.0)
        p.b += 1
        s += p.a * p.b
    return float(s)


class Generator:
    def __init__(self, seed):
        self.s = seed

    def next(self):
        self.s = (self.s * 1103515245 + 12345) % 2147483648
        return self.s / 2147483648


def random_numbers(x):
    g = Generator(42)
    t = 0.0
    for _ in range(len(x)):
        t += g.next()
    return t, g


LONG = np.arange(20.0) - 7
PATHS = [
    made_on_both_sides, shown_twice, lists_on_both_sides, dicts_on_both_sides, one_for_another, until, two_that_move_on,
    attributes_and_items, nested_loops, a_dict_of_sums, smoothed, made_in_branches_of_a_loop, random_numbers,
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"target": "interp"}], ids=str)
@pytest.mark.parametrize("function", PATHS)
def test_paths(function, options):
    compiled = nt.jit(function, **options)
    for x in (LONG, -LONG, LONG[3:9]):
        same(compiled(x), function(x), tolerance=1e-12)


def test_loops_over_elements_carry_attributes():
    text = nt.jit(attributes_and_items).lower(LONG).as_text("nt")
    assert "scf.for" not in text
    assert 'nest.for "i"' in text


def kept_from_before(x):
    p = Cell(0.0)
    q = p if x[0] > 0 else Cell(1.0)
    q.a += 1
    return p, q


def test_an_object_that_may_be_another():
    with pytest.raises(nt.UnsupportedError, match="changing a Cell that was made on some paths"):
        nt.jit(kept_from_before)(LONG)


class Steps:
    def __init__(self):
        self.n = 0
        self.s = 0.0

    def more(self):
        self.n += 1
        return self.n < 6

    def add(self, v):
        self.s += v
        return self.s


def changed_by_the_condition(x):
    c = Steps()
    s = 0.0
    while c.more():
        s += x[c.n % 4]
    return s, c


def sum_of_calls(x):
    c = Steps()
    return sum(c.add(v) for v in x), float(c.s)


def chosen_calls(x):
    c = Steps()
    y = c.add(1.0) if x[0] > 0 else c.add(2.0)
    return y, c.s


def appended(x):
    c = Steps()
    ys = []
    for i in range(len(x)):
        ys.append(c.add(x[i]))
    return np.array(ys), float(c.s)


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", [changed_by_the_condition, sum_of_calls, chosen_calls, appended])
def test_calls_that_change_their_object(function, target):
    compiled = nt.jit(function, target=target)
    for x in (LONG, -LONG, LONG[3:9]):
        same(compiled(x), function(x), tolerance=1e-12)


def vectorized(x):
    c = Steps()
    return np.vectorize(c.add)(x)


def until_it_is_large(x):
    c = Steps()
    while c.add(x[0]) < 20:
        pass
    return c


def on_some_paths(x):
    c = Steps()
    return x[0] > 100 and c.add(1.0) > 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (vectorized, "is changed by a function that is called for each element"),
        (until_it_is_large, "known at run time only, and assigns or changes an object"),
        (on_some_paths, "is changed in a part of an expression"),
    ],
)
def test_changes_that_are_refused(function, message):
    with pytest.raises(nt.UnsupportedError, match=message):
        nt.jit(function)(LONG)
