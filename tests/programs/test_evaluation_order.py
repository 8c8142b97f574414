"""Lists, dicts and names that an operand, argument or index changes: what was evaluated before it sees the change, as in
Python, and nothing is evaluated twice."""

import nestor as nt
import numpy as np
import pytest
from agreement import same


def methods(x):
    a, b, c, d = [1, 2, 3], [1, 2, 3], [1, 2, 3], {"a": 1, "b": 2}
    a.append(a.pop(0))
    b.insert(1, b.pop(0))
    c.extend([c.pop(), c.pop(0)])
    d.update(c=d.pop("a"))
    return a, b, c, d


def operands(x):
    q, r, s, t = [1, 2, 3], [1, 2, 3], [1, 2, 3], [[1, 2], 3]
    q += [q.pop()]
    return q, r + [r.pop()], s == [1, 2] + [s.pop()], t[0] + [t[0].pop()], t, s * s.pop()  # noqa: RUF005


def length_and(q, v):
    return len(q) * 10 + v


def arguments(x):
    q, r = [1, 2, 3], [4, 5, 6]
    return length_and(q, q.pop()), q.index(q.pop(0) + 1), q, max(r, key=lambda v: -v), sum([x[0]], r.pop()), r


def items(x):
    q, r, m, p = [3, 1, 2], [3, 1, 2], [[1, 2], [3, 4]], [0, 1]
    q[q.pop() - 2] = q.pop() + 7
    r[0] += r.pop()
    r[r.pop() - 1] *= 2
    m[p.pop()][p.pop()] += 5
    k = [3, 1, 2, 0]
    del k[k.pop()]
    return q, r, m, p, k


def nested(x):
    m, p = [[1, 2], [3, 4]], [0, 1]
    first = m[p.pop()][0]
    m[p.pop()][1] = x[0]
    return first, m, p


def elements(x):
    y, q, k = x.copy(), [0, 1], 1
    y[q.pop()] += 5
    y[q.pop()] = 7
    y[(k := k + 1)] = 9
    y[(k := k + 1)] += 1
    return y, q, k


def next_place(q):
    q.append(1)
    return len(q) - 1


def functions(x):
    y, q, r = x.copy(), [], [0, 1, 5]

    def another():
        r.append(len(r))
        return len(r) - 4

    y[next_place(q)] = 5
    y[next_place(q)] += 2
    y[another()] = 3
    y[another()] *= 2
    return y, q, r, [[1], [2], [3]][next_place(q)][0], q


def bounds(x):
    y, q = np.arange(12.0).reshape(3, 4), [1, 2, 3]
    y[q.pop() - 3 :, 1 : q.pop()] += x[0]
    y[0, :: next_place(q)] = x[1]
    return y, q, x[q.pop() :], x[next_place(q) : next_place(q) + 2]


def unpacked(x):
    y, q = np.arange(12.0).reshape(3, 4), [(0, 1), (1, 2)]
    y[(*q.pop(),)] += x[0]

    def place():
        return q.pop()

    y[(*place(), ...)] *= 3
    return y, q


def reductions(x):
    q = []

    def more(values):
        q.append(len(q))
        return values

    def own(k):
        q.append(k)
        return q

    sums = sum(more([1.0, x[0]])), sum(more((x[1], 2)), more(5.0)), sum(more(x)), sum(own(7), more(0))
    some = any(more([False, x[0] > 3])), all(more([True, x[0] > 0])), any(more(x > 2))
    made = sum(v * more(2) for v in more(range(3))), sum((v for v in more(x)), more(1.0))
    joined = sum([[k] for k in more([1, 2])], more([]))
    return sums, some, made, joined, max(more([1, 2])), q


def keys(x):
    d, names = {"a": 1, "b": 2}, ["a", "b"]
    d[names.pop()] += 10
    d[names.pop()] = x[1]
    return d, names


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    "f",
    [methods, operands, arguments, items, nested, elements, functions, bounds, unpacked, reductions, keys],
)
def test_each_change_is_seen_once(f, target):
    compiled = nt.jit(f, target=target)
    for x in (np.arange(5.0) + 1, np.ones(6)[::-1]):
        same(compiled(x), f(x))


def turned(n):
    q = []
    for i in range(n):
        if i % 3:
            q.append(i)
    q.append(q.pop(0))
    q.append(q.pop())
    return q, q.count(q.pop()), q.index(q.pop(0) + 2), q.pop() in q


def shortened(n):
    q = []
    for i in range(n):
        q.append(i)
    q.remove(q.pop() - 1)
    return q


@pytest.mark.parametrize("f", [turned, shortened])
def test_lists_of_loops(f):
    compiled = nt.jit(f)
    for n in (100, 130):
        same(compiled(n), f(n))


def starts(x):
    q, r, n = [1, 2, 3, 4], [5, 6, 7], [0]

    def changed(v):
        n[0] += 1
        return v

    one = sum((10 * v for v in [q.pop(), q.pop()]), q.pop())
    two = sum(([v, r.pop()] for v in [r.pop()]), [r.pop()])
    return one, two, q, r, sum(changed(x), changed(1.0)), sum((v for v in changed(x)), changed(2.0)), n


def bases_of_indices(x):
    q, d, k = [1, 2, 3, 4, 5], {"a": 3}, 0
    one = [q[-1], len(q), 7][q.pop(0) % 3]
    two = [len(q), d.setdefault("z", len(q)), k][q.pop() % 3]
    three = [[k, 10], [k, 20]][k][(k := k + 1)]
    rows = [[1, 2], [3, 4]]
    four = rows[k][(k := k - 1)]
    five = [q, [9, 9, 9, 9]][0][len([q.pop()])]
    return one, two, three, four, five, q, d, k, x[k] + [k, x[k]][(k := k + 1)]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", [starts, bases_of_indices])
def test_what_stands_left_is_evaluated_first(f, target):
    compiled = nt.jit(f, target=target)
    for x in (np.arange(5.0) + 1, np.ones(6)[::-1]):
        same(compiled(x), f(x))
