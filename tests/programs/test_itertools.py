"""itertools in compiled code."""

import functools
import itertools
import operator

import nestor as nt
import numpy as np
import pytest
from agreement import same

X = np.array([1.5, -2.0, 3.0, 0.5])


def choices(x):
    pairs = [x[i] * x[j] for i, j in itertools.combinations(range(4), 2)]
    with_itself = sum(x[i] - x[j] for i, j in itertools.combinations_with_replacement((0, 2, 3), 2))
    orders = [functools.reduce(operator.sub, p) for p in itertools.permutations([x[0], x[1], 4.0])]
    two = [a - b for a, b in itertools.permutations(x, 2)]
    grid = [(a, b) for a, b in itertools.product("ab", (1, 2))]
    cube = sum(x[i] * x[j] * x[k] for i, j, k in itertools.product(range(2), repeat=3))
    none = (
        list(itertools.combinations([1], 2)),
        list(itertools.product()),
        list(itertools.permutations([], 0)),
    )
    return pairs, with_itself, orders, two, grid, cube, none


def sequences(x):
    chained = list(itertools.chain([x[0]], (1, 2), x[:2]))
    flat = list(itertools.chain.from_iterable([[1, x[1]], [], [3]]))
    parts = list(itertools.islice([1, 2, 3, 4], 1, None, 2)), list(itertools.islice(x, 2))
    longest = list(itertools.zip_longest([1, 2, 3], x[:2], fillvalue=0.0))
    powers = list(itertools.starmap(pow, [(2, 3), (3, 2)]))
    running = (
        list(itertools.accumulate([1, x[0], 3])),
        list(itertools.accumulate([2, 3], operator.mul, initial=5)),
    )
    return chained, flat, parts, longest, powers, running, list(itertools.repeat(x[0], 2))


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", [choices, sequences])
def test_spelled_out(f, target):
    compiled = nt.jit(f, target=target)
    for x in (X, X[::-1], np.array([np.nan, np.inf, -0.0, 7.0])):
        same(compiled(x), f(x))


def of_pairs(x):
    total, rising = 0.0, 0
    for a, b in itertools.pairwise(x):
        total += float(a * b)
        if b > a:
            rising += 1
    return total, rising


def of_a_part(x):
    total = 0.0
    for v in itertools.islice(x, 2, 100):
        total += float(v)
    return total


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("f", [of_pairs, of_a_part])
def test_counted(f, dynamic):
    compiled = nt.jit(f, dynamic=dynamic)
    for n in (300, 1, 0, 2, 101):
        x = np.random.default_rng(n).standard_normal(n)
        same(compiled(x), f(x))


def chosen_sums(x, target):
    found = []
    for size in (1, 2, 3):
        for c in itertools.combinations(range(4), size):
            if functools.reduce(operator.add, [x[i] for i in c]) == target:
                found.append(len(c))
    return found


def test_a_list_that_grows_in_loops_that_are_spelled_out():
    compiled = nt.jit(chosen_sums)
    for x, target in (([1, 2, 3, 4], 5), ([1, 1, 1, 1], 2), ([0, 0, 0, 0], 0), ([1, 2, 3, 4], 100)):
        assert compiled(np.array(x), target) == chosen_sums(np.array(x), target)


def test_what_is_refused():
    def many(x):
        return sum(p[0] for p in itertools.permutations(range(9)))

    def endless(x):
        return list(itertools.repeat(x))

    def negative(x):
        return list(itertools.combinations([1, 2], -1))

    with pytest.raises(
        nt.UnsupportedError, match="362880 items would be spelled out in code, more than 1024"
    ):
        nt.jit(many)(X)

    def with_itself(x):
        return [*itertools.combinations_with_replacement(range(x.size), 2)][-1]

    assert nt.jit(with_itself)(np.ones(44)) == (43, 43)  # of 990
    with pytest.raises(nt.UnsupportedError, match="1035 items would be spelled out"):
        nt.jit(with_itself)(np.ones(45))
    with pytest.raises(nt.UnsupportedError, match="repeat without a number of times never ends"):
        nt.jit(endless)(X)
    with pytest.raises(ValueError, match="r must be non-negative"):
        nt.jit(negative)(X)
