"""Small things of Python: operator, functools, methods of containers, sorting, match, lambdas, strings and indices."""

import operator
from dataclasses import dataclass
from functools import partial, reduce

import nestor as nt
import numpy as np
import pytest
from agreement import same

pytestmark = pytest.mark.one_of(2)

X = np.array([1.5, -2.0, 3.0, 0.5])


@dataclass
class Pair:
    left: float
    right: float


def reduced(x):
    return (
        reduce(operator.add, [x, x * 2, x + 1]),
        reduce(lambda a, b: a * b, [1, 2, x]),
        reduce(operator.mul, [x], 3),
    )


def partials(x):
    f = partial(np.power, x)
    g = partial(lambda a, b, c=1: a + b * c, x, c=3)
    return f(2), g(5)


def operator_functions(x):
    return (
        operator.add(x, 1),
        operator.itemgetter(1)([1, x]),
        operator.neg(x),
        operator.lt(1, 2),
        operator.truediv(x, 2),
        operator.attrgetter("shape")(x),
        operator.getitem([1, x], 1),
        operator.matmul(x, x),
        operator.not_(False),
        operator.contains([1, 2], 2),
        operator.methodcaller("sum")(x),
        operator.index(3),
        operator.floordiv(7, 2),
        operator.mod(7, 4),
        operator.and_(6, 3),
        operator.is_(None, None),
        operator.truth([1]),
        operator.concat([1], [2]),
        operator.abs(-3),
        operator.pos(x),
        operator.invert(5),
        operator.pow(2, 3),
        operator.sub(x, 1),
        operator.xor(5, 1),
        operator.lshift(1, 3),
        operator.rshift(8, 2),
        operator.or_(1, 2),
        operator.ne(x, 1),
        operator.ge(x, 1),
        operator.eq(x, 1),
    )


def list_methods(x):
    l = [3, 1, 2]
    l.sort()
    m = [3.0, 1.0]
    m.sort(reverse=True)
    l2 = ["b", "a"]
    l2.sort()
    l.extend((7, 8))
    l.remove(7)
    l.insert(1, x)
    return l, m, l2, [1, 8].index(8), [1, 2, 1].count(1), l.pop(), l.pop(0)


def sorted_numbers(x):
    a, b, c = x[0], x[1], x[2]
    return sorted([a, b, c]), min(a, b, c), max([a, b, c]), sorted([a, b, c], reverse=True)


def keys_known_at_compile_time(x):
    [(x[0], "a"), (x[1], "b")]
    return (
        max([1, -5, 3], key=abs),
        min(["aa", "b"], key=len),
        sorted([(2, "b"), (1, "a")]),
        sorted([-3, 1, 2], key=lambda v: -v),
        max({"a": 1, "b": 2}.items(), key=lambda kv: kv[1]),
        min([], default=4),
        max([3, 1], default=2),
    )


def keys_known_at_run_time(x):
    a, b, c = x[0], x[1], x[2]
    return max([a, b, c], key=abs), min([a, b, c], key=lambda v: v * v), sorted([a, b, c], key=abs)


def tuple_methods(x):
    t = (1, 2, 1, x)
    return t[:3].count(1), (1, 2, 3).index(2), (*t, 4), t[:2] * 2


def dict_methods(x):
    d = {"a": x, "b": 2}
    e = dict(d)
    e.update({"c": 3}, d=4)
    e.setdefault("z", []).append(1)
    d2 = {k: v for k, v in e.items() if k != "a"}
    del e["b"]
    e.pop("c")
    e.popitem()
    return (
        d,
        e,
        d2,
        list(d),
        len(e),
        "a" in e,
        list(e.values()),
        sorted(e),
        e.get("q", 7),
        dict.fromkeys(["u", "v"], 0),
        {**d, "a": 1},
        dict(zip("ab", (1, 2), strict=False)),
        d | {"k": 3},
    )


def sets(x):
    s = {1, 2, 3}
    t = {2, 3, 4}
    return (
        2 in s,
        len(s),
        len(s & t),
        len(s | t),
        sorted(s - t),
        s <= t,
        {1, 2} == {2, 1},
        sorted({v * v for v in (1, -1, 2)}),
        s.isdisjoint({9}),
        sorted(s.union(t)),
        sorted(frozenset([3, 1])),
    )


def zipped(x):
    out = 0.0
    for i, (a, b) in enumerate(zip(x, x[::-1], strict=True), start=2):
        out += i * a * b
    for a, b in zip((1, 2), (3, 4), strict=True):
        out += a * b
    return out


def reduced_by_builtins(x):
    return (
        any([x[0] > 0, x[1] > 0]),
        all(v > -5 for v in x),
        any(v > 100 for v in x),
        all([]),
        sum([1, 2], start=10),
        reduce(operator.iadd, [[1], [2]], []),
        sum((x, x), x),
        sum(x > 0),
    )


def numbers(x, n):
    return (
        divmod(7, 2),
        divmod(n, 3),
        divmod(x[0], 2.0),
        round(2.567, 2),
        round(x[0]),
        pow(2, 5),
        pow(2, 5, 7),
        pow(n, 2),
        pow(x, 2),
        round(x[0], 1),
        abs(-n),
        divmod(-n, 4),
        n**2,
        int(x[0]),
        float(n),
        bool(n),
        complex(1, 2).real,
    )


def h(*args, **kw):
    return sum(args) + kw.get("q", 0)


def stars(x):
    args = (x, 1)
    kw = {"q": 5}
    _first, *rest = [1, 2, 3]
    (a, b), c = (1, 2), 3
    return h(*args, **kw), h(x), h(*args, 2, q=1), rest, [*args, *rest], {**kw}, a + b + c


def walrus(x):
    if (n := len(x)) > 2:
        x = x * n
    y = [v for k in range(3) if (v := k * 2) > 0]
    while (n := n - 1) > 0:
        x = x + n
    return x, n, y


def match_numbers(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            return x * 2
        case k if k > 5:
            return x * k
        case _:
            return -x


def match_structures(x, p):
    match p:
        case Pair(a, 0.0):
            return a
        case Pair(left=a):
            return a * 2 + x
        case (a, b):
            return a + b
        case [a, *r]:
            return a + len(r)
        case {"k": v, **rest}:
            return v, rest
        case None:
            return x
        case "txt" | "t":
            return x * 7
        case int():
            return x * 8
        case float(v):
            return v


def twice_and_one(x):
    return x * 2 + 1


g19, h19 = (lambda x: x), (lambda y: y + 1)


def lambdas(x):
    return (
        twice_and_one(x),
        list(map(lambda v: v * 2, [1, x])),
        (lambda a, b=2: a * b)(x),
        sorted([3, 1], key=lambda v: -v),
    )


def one_of_two_functions(x):
    m = "sum" if x[0] > 0 else "mean"
    if m == "sum":
        return x.sum()
    return x.mean()


def key_chosen(x):
    m = "a" if x[0] > 0 else "b"
    d = {"a": x * 2, "b": x + 1}
    if x[1] > 100:
        raise KeyError(f"{m}!")
    return d[m], m == "a", m != "b", m in ("a", "c"), m


def set_at_an_argument(x, i):
    m = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    m[i][1] = x[0]
    m[0][i % 2] += 1.0
    v = m[i][0]
    l = [1, 2, 3]
    l[i] = 7
    return m, v, l, l[i], l[-i]


def set_in_an_unrolled_loop(x, i):
    l = [x[0], x[1]]
    for k in range(len(x)):
        l[k % 2] += x[k]
    return l


def slices(x):
    a = [1, 2, 3]
    b = a[:]
    b[0] = 9
    a[-1] = x
    a[0:2] = [5]
    c = a * 1
    del a[0]
    return (
        a,
        b,
        c,
        a == [x] if False else 0,
        [i for i in reversed([1, 2])],
        list(range(3)),
        tuple(a),
        [1, 2] < [1, 3],
        (1, 2),
        [1, 2, 3],
        3 in [1, 2],
        [[0] * 2 for _ in range(2)],
    )


def texts(x):
    it = 0
    for name in ("a", "b"):
        it += len(name)
    s = "x".join(["a", "b"])
    t = "abc".upper() + s[0]
    return (
        it,
        s,
        t,
        "%d" % 3,  # noqa: UP031
        f"{3:03d}",
        ["a", "b"],
        "abc"[::-1],
        str(3),
        "a" < "b",
        "ab" * 2,
        "b" in "abc",
        ord("a"),
        chr(98),
        "x".startswith("x"),
    )


def odds_and_ends(x):
    total = 0
    for a in x:
        total += a if a > 0 else 0
    else:
        total += 1
    try_ = [(a, b) for a in (1, 2) for b in (3, 4) if a != b]
    return (
        total,
        try_,
        list(zip(*[(1, 2), (3, 4)], strict=False)),
        [*map(max, (1, 5), (4, 2))],
        list(filter(None, [0, 1, 2])),
        list(enumerate("ab")),
        max((1, 2), (1, 3)),
        min("b", "a"),
        isinstance(x, np.ndarray),
        callable(h),
        int is int,
        id is not None,
        hash("a") == hash("a") if False else 1,
    )


# ---- indices and strings of the run ----


def nested_at_run_time(x, idx):
    m = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for k in range(len(idx)):
        m[idx[k] % 3][k % 2] = x[k]
        m[idx[k] % 3][0] += 1.0
    return np.array(m)


def counted(x, idx):
    h = [0, 0, 0]
    for k in range(len(idx)):
        h[idx[k]] += 1
    return h


def picked(x, idx):
    t = (10.0, 20.0, 30.0)
    s = 0.0
    for k in range(len(idx)):
        s += t[idx[k]]
    names = ["a", "b", "c"]
    return s, t[idx[0]], names[idx[1]]


def sorted_after(x, idx):
    l = [x[0], x[1], x[2]]
    l[idx[0]] = x[0] * 7
    l.sort()
    return l, max(l)


def sorted_down(x, idx):
    l = [x[0], x[1], x[2], x[3]]
    l[idx[0]] *= 2
    l.sort(reverse=True)
    p = sorted([(l[0], 1), (l[3], 2)])
    return l, p, min(l, key=lambda v: abs(v - 1)), sorted(l, key=lambda v: -v)


def text_in_a_loop(x, idx):
    s = 0.0
    for k in range(len(x)):
        m = "pos" if x[k] > 0 else "neg"
        s += 2.0 if m == "pos" else 1.0
    return s


def text_of_a_loop(x, idx):
    m = "a"
    for k in range(len(x)):
        if x[k] > 2:
            m = "big"
        elif x[k] < -1:
            m = "small"
    return m, len(m), m + "!", m.upper(), {"a": 1, "big": 2, "small": 3}[m]


def match_at_run_time(x, idx):
    match idx[0]:
        case 0:
            y = x[1]
        case 1 | 2:
            y = x[0]
        case k if k > 5:
            y = x[2] * k
        case _:
            y = -x[0]
    match (idx[1], x[0]):
        case (1, v) if v > 0:
            z = v
        case (a, b):
            z = a * b
    return y, z


def compared(x, idx):
    return [
        3 in [x[0], idx[0]],
        [1, x[0]].count(x[0]),
        (idx[0], 2) == (idx[1], 2),
        bool((idx[0], 1.0) < (idx[1], x[0])),
    ]


def one_item(x, idx):
    return [1, 2, 3][idx[2]]


Y = -X
I, J = np.array([1, 1, 0, 2]), np.array([0, 2, -1, 1])
LONG = np.arange(40.0) - 9
MANY = np.arange(40) % 3

CASES = [
    *[(f, (X,), (Y,)) for f in (
        reduced, partials, operator_functions, sorted_numbers, keys_known_at_compile_time, keys_known_at_run_time,
        tuple_methods, dict_methods, sets, zipped, reduced_by_builtins, stars, walrus, lambdas, slices, texts,
        odds_and_ends, one_of_two_functions, key_chosen,
    )],
    (list_methods, (X,), (Y,)),
    (numbers, (X, 5), (X, -7)),
    *[(match_numbers, (X, n), (Y, n + 1)) for n in (0, 2, 5)],
    *[(match_structures, (X, p), (Y, p)) for p in ((1, 2), [1, 2, 3], {"k": 3, "j": 1}, None, "t", 4, 2.5)],
    (match_structures, (X, Pair(2.0, 0.0)), (X, Pair(2.0, 1.0))),
    (set_at_an_argument, (X, 1), (X, -1)),
    (set_in_an_unrolled_loop, (X, 1), (Y, 1)),
    *[(f, (X, I), (Y, J)) for f in (
        nested_at_run_time, counted, picked, sorted_after, sorted_down, text_in_a_loop, text_of_a_loop,
        match_at_run_time, compared, one_item,
    )],
    *[(f, (LONG, MANY), (-LONG, MANY)) for f in (counted, picked, text_in_a_loop, text_of_a_loop)],
]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_small_python(case, target):
    function, *calls = case
    compiled = nt.jit(function, target=target)
    for arguments in (*calls, calls[0]):
        same(compiled(*arguments), function(*arguments))
