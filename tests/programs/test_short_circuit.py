"""What Python does not compute in `and`, `or`, `a < b < c`, `x if c else y`, `all` and `any` cannot fail."""

import nestor as nt
import numpy as np
import pytest
from early_ends import TARGETS, ends_alike

pytestmark = pytest.mark.one_of(2)

OPTIONS = [{"target": t} for t in TARGETS] + [{"dynamic": True}]
names = pytest.mark.parametrize("options", OPTIONS, ids=["cpu", "interp", "cuda-sim", "dynamic"])
A = np.arange(4.0)


def index_and(a, i, n):
    if i < n and a[i] > 0:
        return 1
    return 0


def index_or(a, i, n):
    if i >= n or a[i] > 2:
        return 1
    return 0


def known_index(a, i, n):
    if i > 5 and a[6] > 0:
        return 1
    return 0


def in_a_while(a, i, n):
    w = 0
    while w < n and a[w] >= 0:
        w += 1
    return w


def in_a_while_on_arrays(a, i, n):
    w = 0
    while w < n and a[w] >= 0:
        a = a * 2 + 1
        w += 1
    return a


def after_a_break(a, i, n):
    w = 0
    while a[w] >= 0:
        w += 1
        if w == n:
            break
    return w


def chained(a, i, n):
    if 0 <= i < n and a[i] == 1:
        return a * 2
    return a * 3


def far(v):
    if v > 2:
        raise KeyError(v)
    return v + 1


def chained_calls(a, i, n):
    if i < n < far(n) < 3:
        return 1
    return far(0) if n < i < far(i) else 7


def expression(a, i, n):
    return (a[i] if 0 <= i < n else -1.0) + (a[0] if n > 9 else a[n - 1])


def divides(a, i, n):
    if (n != 0 and i // n > 0) or (n == 0 and i == 1):
        return 1
    return i % n if n else 5


def every(a, i, n):
    return all(a[q] >= 0 for q in range(n)), any(a[q] > i for q in (0, 3, 9))


def in_a_loop(a, i, n):
    c = 0.0
    for k in range(n):
        if (k < 3 and a[k] > 0) or k == i:
            c += 1
        c += a[k] if k < 2 else 10
    return c


def in_a_loop_on_arrays(a, i, n):
    t = 0.0
    for k in range(n):
        b = a * k
        if k < 3 and b[k] >= 0:
            a = a + b[k]
        t += a.sum()
    return t


def grow(a):
    a[0] += 1
    return a[0] > 1


def writes(a, i, n):
    c = 0
    if n > 1 and grow(a):
        c = 1
    for k in range(n):
        if k > i and grow(a):
            c += 1
    return c


def nested(a, i, n):
    if n > i > 2 and (a[i] < a[n] < 7 or not (i < n - 1 and a[n + 1] > 0)):
        return a.sum()
    return 0.0


def remainder_of_numbers(a, i, n):
    for k in range(i):
        a[k % 4] = 1.0
    if i == 0 or i < far(n % i) <= n - i:
        return 1
    return 2


def doubled(a, k):
    return a[k] * 2


def by_a_function(a, i, n):
    if i < n or doubled(a, 4) < 1.5:
        return 1
    if i > 2 and doubled(a, i + n) > doubled(a, i):
        return 2
    return 0


def by_take(a, i, n):
    return i < 4 and np.take(a, i) > 1


def other_elements_of_one_text(a, i, n):
    if all(a[q] >= 0 for q in range(min(i, 4))) or any(a[q] > 0 for q in range(i + n)):
        return 1
    return 0


def read_on_some_paths_before(a, i, n):
    if (n > 1 or a[i] > 0) or a[i] > 2:
        return 1
    if (a[0] if n > 2 else a[i]) > 0 or a[i] > -1:
        return 2
    if n < 1 < a[i] or a[i] < 1:
        return 3
    return 0


FUNCTIONS = [
    by_a_function, by_take, other_elements_of_one_text, read_on_some_paths_before,
    remainder_of_numbers,
    index_and, index_or, known_index, in_a_while, in_a_while_on_arrays, after_a_break, chained, chained_calls, expression,
    divides, every, in_a_loop, in_a_loop_on_arrays, writes, nested,
]  # fmt: skip
CALLS = [
    (A, i, n) for i, n in ((1, 3), (9, 3), (2, 9), (5, 5), (-1, 2), (3, 1), (0, 0), (7, 4), (1, 0), (3, 4))
]


@names
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_python_skips_is_skipped(function, options):
    kinds = ends_alike(function, CALLS[: 4 if options.get("target") == "cuda-sim" else None], **options)
    assert None in kinds


@pytest.mark.parametrize("function", [index_and, in_a_while, expression], ids=lambda f: f.__name__)
def test_nothing_is_read_without_checks_either(function):
    """What is skipped may be far outside of memory, `boundscheck=False` or not."""
    reached = [(A, 10**12, 3), (A, 1, 3)]
    ends_alike(function, reached, boundscheck=False)


def shown(n):
    print("shown", n)
    return n > 1


def prints(n, m):
    if (shown(n) and shown(m)) or 0 < m < shown(3) + 2:
        return 1
    return 0


def test_effects_of_what_is_skipped():
    for target in ("cpu", "interp"):
        ends_alike(prints, [(n, m) for n in range(3) for m in range(3)], target=target)


def test_operands_without_effects_are_not_branches():
    """Numbers are compared and joined as before."""

    def f(a, x):
        return a * 2 if 0 < x < 1 and x != 0.5 else a

    text = nt.jit(f).lower(A, 0.25).as_text("nt")
    assert text.count("scf.if") == 1


def test_elements_that_have_been_read_are_no_branch():
    """The right side reads what the left side has read."""

    def f(a, i):
        return 1.0 if abs(a[i]) > 1 and max(a[i], 2.0) < 3 else 0.0

    text = nt.jit(f).lower(A, 2).as_text("nt")
    assert text.count("scf.if") <= 1
