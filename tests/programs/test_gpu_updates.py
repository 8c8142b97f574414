"""Histograms, sums and writes at indices on a simulated GPU: random ones are NumPy's; enough threads.

Seeds 0 to 5 in `make test`, 300 in all. Each is called three times, with other numbers, the second time of other extents
where these are unknown.
"""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from gpu_programs import added_at, counted, embedding_gradient, set_at, threads_launched, updated_at

pytestmark = pytest.mark.one_of(2)


def maximum_of_each(b, x):
    found = np.full(37, -1000)
    for i in range(len(b)):
        found[b[i]] = max(found[b[i]], x[i])
    return found


def counted_and_added(y, at, v):
    y = y.copy()
    np.add.at(y, at, 1)
    np.add.at(y, at, v)
    return y


KINDS = ("counts", "counts", "sums", "sums", "rows", "last", "updates", "gradient", "both")


def draw(rng: np.random.Generator):
    """A function, and what makes arguments for it, of more or fewer indices."""
    kind = rng.choice(KINDS)
    dtype = rng.choice(["f4", "f8", "i4", "i8"])
    size, width = int(rng.integers(1, 60)), int(rng.integers(1, 9))
    index = rng.choice(["i4", "i8"])
    is_wild = rng.random() < 0.4

    def values(*shape: int) -> np.ndarray:
        if dtype[0] == "i":
            return rng.integers(-100, 100, shape).astype(dtype)
        found = rng.standard_normal(shape)
        if is_wild:
            found *= 10.0 ** rng.integers(-30 if dtype == "f4" else -200, 30 if dtype == "f4" else 200, shape)
        return found.astype(dtype)

    def indices(count: int, most: int, least: int | None = None) -> np.ndarray:
        return rng.integers(-most if least is None else least, most, count).astype(index)

    if kind == "counts":
        return (
            (counted, lambda n: (indices(n, 37),))
            if rng.random() < 0.7
            else (
                maximum_of_each,
                lambda n: (indices(n, 37), rng.integers(-100, 100, n)),
            )
        )
    if kind == "gradient":
        return embedding_gradient, lambda n: (values(size, width), indices(n, size))
    function = {
        "sums": added_at,
        "rows": added_at,
        "last": set_at,
        "updates": updated_at,
        "both": counted_and_added,
    }[kind]
    if kind == "rows" or rng.random() < 0.3:
        return function, lambda n: (values(size, width), indices(n, size), values(n, width))
    return function, lambda n: (values(size), indices(n, size), values(n))


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function, make = draw(rng)
    dynamic = bool(rng.random() < 0.5)
    compiled = nt.jit(function, target="cuda-sim:checked,random=2", dynamic=dynamic)
    count = int(rng.choice([0, 1, 2, 65, 200, 700]))
    for n in (count, count + 30 if dynamic else count, count):
        arguments = make(n)
        want = function(*[a.copy() for a in arguments])
        got = compiled(*arguments)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind == "i" or function is set_at:
            np.testing.assert_array_equal(got, want)
            continue
        # relative to the sum of all magnitudes: that is what the order of a sum may cost
        sizes = function(*[np.abs(a) if a.dtype.kind == "f" else a for a in arguments])
        assert np.all(np.abs(got - want) <= 40 * np.finfo(want.dtype).eps * np.abs(sizes))


@pytest.mark.parametrize("seed", range(6))
def test_random_updates(seed: int):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 300))
def test_more_random_updates(seed: int):
    check(seed)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_have_the_same_bits_in_each_order(dtype: str):
    """Of threads; of 1000 numbers of very different sizes, infinities among them where an element has no other."""
    rng = np.random.default_rng(3)
    at = rng.integers(0, 20, 1000)
    v = (rng.standard_normal(1000) * 10.0 ** rng.integers(-12, 12, 1000)).astype(dtype)
    v[at == 3], v[at == 4] = np.inf, -np.inf
    v[np.flatnonzero(at == 5)[:2]] = np.inf, -np.inf
    v[np.flatnonzero(at == 6)[0]] = np.nan
    v[at == 7] = 0
    y = np.zeros(20, dtype)
    y[8:] = -1.5
    found = {
        nt.jit(added_at, target=f"cuda-sim:checked,{order}")(y, at, v).tobytes()
        for order in ("forward", "reverse", "random=1", "random=2")
    }
    assert len(found) == 1
    result = np.frombuffer(found.pop(), dtype)
    assert result[3] == np.inf and result[4] == -np.inf and np.isnan(result[5]) and np.isnan(result[6])
    exact = [y[k].astype(np.longdouble) + v[at == k].astype(np.longdouble).sum() for k in range(20)]
    assert np.all(np.isclose(result, np.array(exact, "f8"), rtol=2 * np.finfo(dtype).eps, equal_nan=True))


CLIFFS = {
    "counts": (counted, ("i4[3000000]",)),
    "sums": (added_at, ("f4[1000]", "i4[3000000]", "f4[3000000]")),
    "rows": (added_at, ("f4[1000,128]", "i4[20000]", "f4[20000,128]")),
    "last": (set_at, ("f8[1000000]", "i8[2000000]", "f8[2000000]")),
    "gradient": (embedding_gradient, ("f4[50000,128]", "i4[8192]")),
}


@pytest.mark.parametrize("name", CLIFFS)
def test_no_kernel_of_much_work_has_few_threads(name: str):
    """The one that goes over the indices has 32 blocks of 128 threads or more, and none has one thread."""
    function, texts = CLIFFS[name]
    specs = [
        nt.spec(tuple(map(int, shape[:-1].split(","))), dtype)
        for dtype, shape in (text.split("[") for text in texts)
    ]
    text = nt.jit(function, target="cuda").lower(*specs).as_text("cuda")
    assert "one thread" not in text
    assert max(threads_launched(text)) >= 32 * 128
