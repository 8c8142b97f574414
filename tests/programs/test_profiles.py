"""`profile=True`: programs for what the first calls had in common, and `hot_sizes=True`: for extents that come often.

Every call gives what NumPy gives, whatever the calls before it had."""

import pickle
import threading
import time

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

RATE = 0.5
WEIGHTS = np.arange(4.0)


def powered(x, n, flag):
    return np.where(flag, x * n, x - n).sum(axis=0), n, flag


def repeated(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
    return x


def decayed(x, n):
    return x * RATE + n


def weighted(x, n):
    return x * WEIGHTS + n


def narrow(x, n):
    return x + n


def written(x, n):
    x[1:] += n
    return x.sum()


def product(x, y):
    return (x * y).sum(axis=0) + x[0]


def same(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    assert type(got) is type(want)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def settled(compiled):
    """Wait for the threads that compile."""
    for one in [t for t in threading.enumerate() if t.name.startswith("nestor compiles")]:
        one.join()


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_what_four_calls_had_in_common(target):
    compiled, x = nt.jit(powered, profile=True, target=target), np.arange(12.0).reshape(4, 3)
    for _ in range(6):
        same(compiled(x, 3, True), powered(x, 3, True))
    assert compiled.cache_info()["compiled"] == 2
    said = compiled.explain(x, 3, True)
    assert "n = 3" in said and "flag = True" in said and "x: float64[4, 3]" in said
    assert "profile of 4 calls: a program for n = 3, flag = True, x: [4, 3]" in said
    for y, n, flag in ((x, 4, True), (x, 3, False), (x[:3], 3, True), (x, 3, True), (x[:2], -1, False)):
        same(compiled(y, n, flag), powered(y, n, flag))
    assert compiled.cache_info()["compiled"] == 2  # one program for all others
    assert "x: float64[x_0, x_1]" in compiled.explain(x[:3], 4, False)


def test_what_differs_stays_open():
    compiled = nt.jit(powered, profile=True)
    for n, flag in ((5, True), (6, True), (7, True), (8, True)):
        same(compiled(np.ones((n, 3)), n, flag), powered(np.ones((n, 3)), n, flag))
    said = compiled.explain(np.ones((9, 3)), 11, True)
    assert "a program for flag = True, x: [?, 3]" in said
    assert "n was 5, 6, 7, 8" in said and "axis 0 of x was 5, 6, 7, 8" in said
    assert "x: float64[x_0, 3]" in said


def test_nothing_in_common():
    compiled = nt.jit(narrow, profile=True)
    for n in (4, 5, 6, 7, 8):
        same(compiled(np.ones(n), n), narrow(np.ones(n), n))
    assert "nothing was the same" in compiled.explain(np.ones(4), 4)
    assert compiled.cache_info()["compiled"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_calls_in_any_order(seed):
    """Native ones too: each fits its program, or goes to the others."""
    rng = np.random.default_rng(seed)
    compiled = nt.jit(powered, profile=True)
    for _ in range(5):
        compiled(np.ones((4, 3)), 2, True)
    for _ in range(400):
        often = rng.random() < 0.6
        x = rng.random((4 if often else int(rng.choice([1, 4, 5])), 3))
        n, flag = (2, True) if often else (int(rng.integers(1, 4)), bool(rng.integers(2)))
        same(compiled(x, n, flag), powered(x, n, flag))
    assert compiled.cache_info()["hits"] > 300


def test_integers_and_bools_are_not_each_other():
    compiled = nt.jit(narrow, profile=True)
    for _ in range(40):
        same(compiled(np.ones(3), 1), narrow(np.ones(3), 1))
    for n in (True, False, 1.0, np.int8(1), 1, 0, np.True_):
        for _ in range(6):
            same(compiled(np.ones(3, np.int8), n), narrow(np.ones(3, np.int8), n))


def test_a_bool_alone():
    compiled = nt.jit(lambda x, flag: np.where(flag, x, -x), profile=True)
    for k in range(4):
        compiled(np.ones(3 + k), True)
    for k in range(100):
        np.testing.assert_array_equal(
            compiled(np.ones(3 + k % 5), k % 3 > 0), np.full(3 + k % 5, 1.0 if k % 3 else -1.0)
        )


def test_large_integers_are_numbers_of_the_run():
    compiled = nt.jit(narrow, profile=True)
    for _ in range(6):
        same(compiled(np.ones(3), 10**6), narrow(np.ones(3), 10**6))
    assert "n: int" in compiled.explain(np.ones(3), 10**6)


def test_values_outside_that_change():
    global RATE
    compiled = nt.jit(decayed, profile=True)
    try:
        for rate in (0.5, 0.25, 0.5, 3.0):
            RATE = rate
            for n in (1, 1, 1, 1, 2, 1):
                same(compiled(np.ones(4), n), decayed(np.ones(4), n))
    finally:
        RATE = 0.5


@pytest.mark.parametrize("options", [{"profile": True}, {"hot_sizes": True, "dynamic": True}])
def test_arrays_outside_that_change(options):
    global WEIGHTS
    compiled = nt.jit(weighted, **options)
    try:
        for k in range(90):
            if k % 30 == 0:
                WEIGHTS = np.arange(4.0) + k
            if k % 7 == 0:
                WEIGHTS[1] = k
            n, size = (3, 4) if k % 5 else (4, 1)
            same(compiled(np.ones(size), n), weighted(np.ones(size), n))
            if k % 40 == 39:
                settled(compiled)
    finally:
        settled(compiled)
        WEIGHTS = np.arange(4.0)


def test_loops_of_a_number_that_was_always_the_same():
    compiled = nt.jit(repeated, profile=True)
    for n in (3, 3, 3, 3, 3, 4, 0, 3, -1):
        same(compiled(np.arange(5.0), n), repeated(np.arange(5.0), n))


def test_errors_stay_those_of_the_call():
    compiled = nt.jit(lambda x, k: x[k] * 1.0, profile=True)
    for _ in range(5):
        with pytest.raises(IndexError):
            compiled(np.ones(3), 7)
    assert compiled(np.arange(9.0), 7) == 7.0
    byte = nt.jit(narrow, profile=True)
    for _ in range(6):
        with pytest.raises(OverflowError):
            byte(np.ones(3, np.int8), 300)
    same(byte(np.ones(3, np.int8), 3), narrow(np.ones(3, np.int8), 3))


def test_arguments_that_are_written():
    compiled = nt.jit(written, profile=True)
    for n in (2, 2, 2, 2, 2, 3, 2):
        for size in (5, 5, 6):
            ours, theirs = np.arange(float(size)), np.arange(float(size))
            same(compiled(ours, n), written(theirs, n))
            np.testing.assert_array_equal(ours, theirs)


def test_numbers_in_a_tuple_and_keywords():
    compiled = nt.jit(lambda pair, *, n=2: pair[0] * pair[1] + n, profile=True)
    for k, n in ((3, 2), (3, 2), (3, 2), (3, 2), (3, 2), (4, 2), (3, 5)):
        np.testing.assert_array_equal(compiled((np.ones(4), k), n=n), np.full(4, 1.0 * k + n))
        np.testing.assert_array_equal(compiled((np.ones(4), k)), np.full(4, 1.0 * k + 2))


def test_profiles_and_names_of_extents():
    compiled = nt.jit(narrow, profile=True, dynamic={"x": {0: nt.dim("batch", max=64)}})
    for n in (8, 8, 8, 8, 8, 9):
        same(compiled(np.ones(n), 3), narrow(np.ones(n), 3))
    assert compiled.cache_info()["compiled"] == 2 and "x: float64[batch], n = 3" in compiled.explain(
        np.ones(8), 3
    )
    with pytest.raises(nt.NestorError, match="declared as batch"):
        compiled(np.ones(65), 3)


def test_profiles_with_a_fallback():
    compiled = nt.jit(powered, profile=True, fallback="compile-later")
    for _ in range(12):
        same(compiled(np.ones((4, 3)), 3, True), powered(np.ones((4, 3)), 3, True))
        settled(compiled)
    assert "n = 3" in compiled.explain(np.ones((4, 3)), 3, True)


@pytest.mark.parametrize("options", [{"dynamic": True}, {}, {"dynamic": {"x": {0: "n"}, "y": {0: "n"}}}])
def test_sizes_that_come_often(options):
    rng = np.random.default_rng(0)
    compiled = nt.jit(product, hot_sizes=True, **options)
    compiled(np.ones((3, 2)), np.ones((3, 2)))
    for k in range(200):
        n = 64 if k % 2 else int(rng.integers(0, 90))
        x, y = rng.random((n, 2)), rng.random((n, 2))
        if n == 0:
            continue
        same(compiled(x, y), product(x, y))
    settled(compiled)
    said = compiled.explain(np.ones((64, 2)), np.ones((64, 2)))
    assert (
        "x: float64[64, 2]" in said
        and "sizes that come often have a program of their own: x: [64, 2]" in said
    )
    for _ in range(70):
        for n in (64, 5, 64, 63):
            x, y = rng.random((n, 2)), rng.random((n, 2))
            same(compiled(x, y), product(x, y))
    settled(compiled)


def test_no_call_waits_for_sizes(monkeypatch):
    """While the thread compiles, the program that was there before answers."""
    compiled = nt.jit(product, hot_sizes=True, dynamic=True)
    begun, may_go, make = threading.Event(), threading.Event(), type(compiled)._make_sizes

    def slowly(self, *given):
        begun.set()
        assert may_go.wait(60)
        return make(self, *given)

    monkeypatch.setattr(type(compiled), "_make_sizes", slowly)
    x = np.ones((6, 2))
    while not begun.is_set():
        same(compiled(x, x), product(x, x))
    began = time.perf_counter()
    for _ in range(300):
        same(compiled(x, x), product(x, x))
    assert time.perf_counter() - began < 30 and compiled.cache_info()["compiled"] == 1
    may_go.set()
    settled(compiled)
    assert compiled.cache_info()["compiled"] == 2


def test_as_many_sizes_as_there_may_be():
    from nestor.frontend.jit.specialise.profiles import HOT, MOST_HOT

    compiled = nt.jit(narrow, hot_sizes=True, dynamic=True)
    for size in range(2, 2 + MOST_HOT + 3):
        for _ in range(HOT + 2):
            same(compiled(np.ones(size), 1), np.full(size, 2.0))
        settled(compiled)
    assert compiled.cache_info()["compiled"] == 1 + MOST_HOT
    assert compiled.explain(np.ones(3), 1).count("no more will") == 1


def test_threads_see_what_numpy_gives():
    compiled, wrong = nt.jit(powered, profile=True, hot_sizes=True), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x, n, flag = (
                rng.random((int(rng.choice([4, 4, 7])), 3)),
                int(rng.choice([2, 2, 3])),
                bool(rng.random() < 0.8),
            )
            if not np.allclose(compiled(x, n, flag)[0], powered(x, n, flag)[0]):
                wrong.append((x.shape, n, flag))

    threads = [threading.Thread(target=work, args=[k]) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    settled(compiled)
    assert not wrong


def test_pickles_keep_the_options():
    again = pickle.loads(pickle.dumps(nt.jit(narrow, profile=True, hot_sizes=True)))
    assert again.given_options() == {"profile": True, "hot_sizes": True}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"profile": 3}, "profile=3"),
        ({"hot_sizes": "yes"}, "hot_sizes='yes'"),
        ({"hot_sizes": True, "dynamic": False}, "each size has a program"),
        ({"profile": True, "target": "cuda"}, "on target 'cuda'"),
    ],
)
def test_what_cannot_be_asked_for(options, says):
    with pytest.raises(nt.NestorError, match=says):
        nt.jit(narrow, **options)
