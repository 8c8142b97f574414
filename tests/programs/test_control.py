"""break, continue, early return, while, and branches and loops on whole arrays, compared with Python."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, same

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(11)


# ---- elements ---------------------------------------------------------------------------------------


def sum_until(a, limit):
    s = 0.0
    for i in range(len(a)):
        if a[i] > limit:
            break
        s += a[i]
    else:
        s = -s
    return s


def clear_positive(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] < 0:
            continue
        s += a[i]
        a[i] = 0
    return s


def find(a, v):
    for i in range(len(a)):
        if a[i] == v:
            return i
    return -1


def find_pair(a, total):
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] == total:
                return i, j
            if a[j] < 0:
                break
        if a[i] < 0:
            continue
    return -1, -1


def newton(x):
    r = 1.0
    while abs(r * r - x) > 1e-12:
        r = 0.5 * (r + x / r)
    return r


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def mandelbrot(out, limit):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            cr, ci = 3.0 * j / out.shape[1] - 2.0, 2.0 * i / out.shape[0] - 1.0
            zr, zi = 0.0, 0.0
            count = limit
            for k in range(limit):
                if zr * zr + zi * zi > 4:
                    count = k
                    break
                zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            out[i, j] = count


def backwards(a):
    last = -1
    for i in range(len(a) - 1, -1, -2):
        if a[i] > 3:
            last = i
            break
    return last


def safe_ratio(a, b):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = a[i] / b[i] if b[i] != 0 else -1.0
    return out


def guarded(a, k):
    hits = 0
    for i in range(len(a)):
        if (i + k < len(a) and a[i + k] > a[i]) or a[i] > 4:
            hits += 1
    return hits


SMALL = np.array([3.0, -1, 4, -5, 2, 9, 1])
ELEMENTS = [
    (sum_until, (np.arange(8.0), 4.5)),
    (sum_until, (np.arange(8.0), 40.0)),
    (clear_positive, (SMALL,)),
    (find, (SMALL, 4.0)),
    (find, (SMALL, 7.0)),
    (find, (SMALL[:0], 7.0)),
    (find_pair, (SMALL, 6.0)),
    (find_pair, (SMALL, 60.0)),
    (newton, (2.0,)),
    (insertion_sort, (SMALL,)),
    (insertion_sort, (RNG.random(33),)),
    (insertion_sort, (RNG.integers(-9, 9, 20).astype(np.int32)[::-1],)),
    (collatz, (27,)),
    (collatz, (1,)),
    (mandelbrot, (np.zeros((13, 17), np.int64), 50)),
    (backwards, (np.arange(7.0),)),
    (backwards, (np.zeros(4),)),
    (safe_ratio, (SMALL, np.array([1.0, 0, 2, 0, 3, 4, -0.0]))),
    (guarded, (SMALL, 2)),
]


@pytest.mark.parametrize(("function", "arguments"), ELEMENTS, ids=lambda p: getattr(p, "__name__", ""))
def test_elements(function, arguments):
    agrees(function, *arguments)


# ---- whole arrays -----------------------------------------------------------------------------------


def recurrent(xs, h, w):
    out = np.zeros_like(xs)
    for t in range(len(xs)):
        h = np.tanh(h * w + xs[t])
        out[t] = h
    return out, h


def over_rows(xs, h):
    c = np.zeros(4)
    for x in xs:
        h = np.tanh(h + x)
        c = c + h
    return h, c


def state_in_a_tuple(xs, n):
    state = (np.zeros(4), np.ones(4))
    for t in range(n):
        a, b = state
        state = (b + xs[t], a * 0.5)
    return state


def branch(x):
    if x.sum() > 2:
        y = np.exp(x)
        k = 1.0
    else:
        y = x * 2
        k = 2.5
    return y, k


def early(x):
    if x.sum() > 100:
        return x + 0
    y = x + 1
    if y.max() > 1.5:
        return y
    return y * 3


def nested_branch(x):
    if x.max() > 0.5:
        if x.min() < 0.1:
            x[0] = 7
        else:
            x = x[::-1] * 2
    return x.copy()


def halve_until(x, n):
    k = 0
    while True:
        x = x * 0.5
        k += 1
        if x.max() < 0.01 or k == n:
            break
    return x, k


def ping_pong(a, n):
    a = a.copy()
    b = a.copy()
    for _ in range(n):
        b[1:-1] = (a[:-2] + a[2:]) * 0.5
        a, b = b, a
    return a


def in_place(a, n):
    for t in range(n):
        if t % 3 == 0:
            a[1:] = a[:-1] + 1
        else:
            a *= 0.5
    return a.sum()


def swap_rows(a, n):
    p, q = a[0] + 0, a[1] + 0
    for _ in range(n):
        p, q = q, p
    return p, q


def previous(xs):
    before = xs[0] * 0
    total = before
    for x in xs:
        total = total + (x - before)
        before = x + 0
    return total, before


def loop_in_a_branch(x, n):
    s = x.sum()
    if s > 0:
        for _ in range(n):
            x = np.sin(x)
            s = s + x.max()
    return s


def count_above(x, n):
    count = 0
    for _ in range(n):
        x = x * 1.1
        if x.max() > 2:
            count += 1
    return count


ROWS = RNG.random((20, 4))
ARRAYS = [
    (recurrent, (ROWS, RNG.random(4), RNG.random(4))),
    (recurrent, (ROWS[:1], RNG.random(4), RNG.random(4))),
    (over_rows, (ROWS, RNG.random(4))),
    (over_rows, (ROWS.astype(np.float32)[::-1], RNG.random(4))),
    (state_in_a_tuple, (ROWS, 15)),
    (branch, (ROWS[0],)),
    (branch, (-ROWS[0],)),
    (early, (ROWS[0],)),
    (early, (ROWS[0] * 100,)),
    (early, (ROWS[0] - 5,)),
    (nested_branch, (np.linspace(0, 1, 9),)),
    (nested_branch, (np.linspace(0.2, 1, 9),)),
    (nested_branch, (np.linspace(0, 0.2, 9),)),
    (halve_until, (ROWS[1], 100)),
    (halve_until, (ROWS[1], 3)),
    (ping_pong, (RNG.random(30), 10)),
    (ping_pong, (RNG.random(30), 11)),
    (in_place, (RNG.random(12), 20)),
    (swap_rows, (ROWS, 20)),
    (swap_rows, (ROWS, 21)),
    (previous, (ROWS,)),
    (loop_in_a_branch, (ROWS[2], 12)),
    (loop_in_a_branch, (-ROWS[2], 12)),
    (count_above, (ROWS[3], 30)),
]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(("function", "arguments"), ARRAYS, ids=lambda p: getattr(p, "__name__", ""))
def test_arrays(function, arguments, target):
    agrees(function, *arguments, tolerance=1e-14, target=target)


ON_A_GPU = [
    case for case in ARRAYS if case[0] in (halve_until, loop_in_a_branch, recurrent, swap_rows, early)
]


@pytest.mark.parametrize(("function", "arguments"), ON_A_GPU, ids=lambda p: getattr(p, "__name__", ""))
def test_arrays_on_a_gpu(function, arguments):
    """The host reads conditions back from the device and launches the nests inside."""
    agrees(function, *arguments, tolerance=1e-12, target="cuda-sim")


@pytest.mark.parametrize(
    ("function", "arguments"), [(newton, (2.0,)), (collatz, (27,)), (find, (SMALL, 4.0))]
)
def test_elements_on_a_gpu(function, arguments):
    """A loop over numbers is one thread's."""
    agrees(function, *arguments, tolerance=1e-12, target="cuda-sim")


def test_a_loop_that_updates_a_slice_makes_no_copy():
    """The buffers that are carried are updated in place: no copy in the loop, and no temporary."""

    def program(xs, h):
        out = np.zeros_like(xs)
        for t in range(len(xs)):
            h = np.tanh(h + xs[t])
            out[t] = h
        return out

    text = nt.jit(program).lower(nt.spec((None, 4), "f8"), nt.spec((4,), "f8")).as_text("nest")
    loop = text[text.index('nest.for "t"') :]
    assert '"copy"' not in loop
    assert text.count("nest.alloc") == 1  # of h, which the caller keeps
    assert loop.count("nest.store") == 2


# ---- checks -----------------------------------------------------------------------------------------


def positive(x):
    assert x.min() > 0, "an element is not positive"
    return np.sqrt(x)


def divide(a, b):
    total = 0.0
    for i in range(len(a)):
        total += float(a[i]) / float(b[i])
    return total


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_assert_at_run_time(target):
    compiled = nt.jit(positive, target=target)
    np.testing.assert_array_equal(compiled(np.ones(3)), np.ones(3))
    with pytest.raises(AssertionError, match="an element is not positive") as caught:
        compiled(np.array([1.0, -1.0]))
    assert f"{__file__}:{positive.__code__.co_firstlineno + 1}:5" in str(caught.value)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_division_of_python_numbers(target):
    compiled = nt.jit(divide, target=target)
    assert compiled(np.ones(3), np.full(3, 2.0)) == 1.5
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        compiled(np.ones(3), np.array([1.0, 0.0, 1.0]))


# ---- refusals ---------------------------------------------------------------------------------------


def rebinds_what_the_caller_sees(a, n):
    for _ in range(n):
        a[0] = 1
        a = np.exp(a)
    return a


def sometimes_nothing(a):
    if a.sum() > 0:
        return a + 1


def helped(a):
    return sometimes_nothing(a)


def none_of_a_branch(a):
    if a[0] == 0:
        return None
    return a * 2


def none_of_a_loop(a):
    for i in range(len(a)):
        if a[i] == 0:
            return None
    return a


def place_or_none(a):
    for i in range(len(a)):
        if a[i] == 0.5:
            return i


def none_in_a_pair(a):
    i = 0
    while i < len(a):
        b = a * i
        if b.sum() == 3:
            return None, i
        i += 1
    return a, i


def nothing_in_any_case(a):
    for i in range(len(a)):
        if a[i] > 1:
            return
        a[i] = 2 * a[i] + 1


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize(
    "function",
    [sometimes_nothing, none_of_a_branch, none_of_a_loop, place_or_none, none_in_a_pair, nothing_in_any_case],
)
def test_functions_that_return_none_on_some_paths(function, target):
    compiled = nt.jit(function, target=target)
    for a in (np.zeros(3), np.array([0.5, 1.5, 0.0]), np.ones(3), np.array([0.25])):
        ours, numpys = a.copy(), a.copy()
        got, want = compiled(ours), function(numpys)
        same(got, want)
        same(ours, numpys)
        assert (got is ours) == (want is numpys)


def none_of_a_branch(a):
    if a[0] == 0:
        return None
    return a * 2


def none_of_a_loop(a):
    for i in range(len(a)):
        if a[i] == 0:
            return None
    return a * 2


def none_of_a_loop_on_arrays(a):
    i = 0
    while i < len(a):
        b = a * i
        if b.sum() == 3:
            return
        i += 1
    return b


def nothing_in_any_case(a):
    for i in range(len(a)):
        if a[i] > 1:
            return
        a[i] = 2 * a[i] + 1


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_functions_that_return_nothing_return_early(target):
    for a in (np.zeros(3), np.array([0.5, 1.5, 0.0]), np.ones(0)):
        agrees(nothing_in_any_case, a, target=target)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (rebinds_what_the_caller_sees, (np.ones(3), 20), "the caller sees what is written to it"),
        (helped, (np.ones(3),), "'sometimes_nothing' returns None on some paths only"),
    ],
)
def test_refusals(function, arguments, message):
    with pytest.raises(nt.UnsupportedError, match=message):
        nt.jit(function)(*arguments)


def constants_after_conditions(a, n):
    count = 0
    i = 3
    while count < n and (i < 5 or a[0] > 0):
        count += 1
        if (a[count] > 1 and i < 0) or (a[count] > 3 and i > 2) or (a[0] < 9 and (i >= 3 or a[7] > 100)):
            i += 1
    return count, i


def test_constants_after_conditions():
    agrees(constants_after_conditions, np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), 4)
    agrees(constants_after_conditions, np.array([-1.0, 2, 3, 4, 5, 6, 7, 8]), 4)
