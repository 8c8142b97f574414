"""Slices whose bounds only the run knows: computed, read from arrays, of every integer type, clipped as Python clips them.

One compiled program is called with many bounds: inside, outside, negative, crossed, empty, of one element.
"""

import copy
import operator

import nestor as nt
import numpy as np
import pytest

from tests.unit.sampling import seeds

BOUNDS = [
    (1, 4),
    (0, 0),
    (3, 3),
    (4, 1),
    (-3, -1),
    (-9, 9),
    (2, 3),
    (-1, 90),
    (0, 7),
    (7, 7),
    (-7, -6),
    (90, -90),
]


def summed(a, p):
    return a[p[0] : p[1]].sum(), a[p[0] :].sum(), a[: p[1]].mean(), a[-p[0] :].sum()


def stepped(a, p):
    lo, hi = p[0], p[1]
    return a[lo:hi:2].sum(), a[lo:hi:-1].sum(), a[lo::-2].sum(), a[:hi:-3].sum(), a[::-1][lo:hi].sum()


def assigned(a, p):
    a[p[0] : p[1]] = 0
    a[p[1] :: 3] = -1
    return a


def updated(a, p):
    b = a * 2
    lo, hi = p[0], p[1]
    a[lo:hi] += b[lo:hi]
    a[lo:hi:-2] *= 3
    return a


def moved_within(a, p):
    lo = p[0]
    a[lo:][:2] = a[:2][: len(a[lo:])]
    return a


def written_through(a, p):
    v = a[p[0] :]
    if v.shape[0] > 2:
        v[0] = 100
        v[-1] = 200
    v *= 2
    w = v[: p[1]]
    w += 1
    return a, v.sum(), w.sum(), len(v), v.size


def ends(a, p):
    v = a[p[0] : p[1]]
    return v[0] + v[-1]


def products(a, p):
    return a[p[0] : p[1]] @ a[p[1] :], np.dot(a[p[0] :], a[p[0] :])


def broadcast(a, p):
    return (a[p[0] : p[1]] * a[p[0] :]).sum(), (a[: p[0]] + 1 < a[: p[1]]).sum()


def extremes(a, p):
    v = a[p[0] : p[1]]
    return v.max(), np.argmax(v), v.min() + np.argmin(v)


def statistics(a, p):
    v = a[p[0] : p[1]]
    return v.mean(), v.std(), v.prod(), v.any(), v.all(), np.median(v) if len(v) > 5 else 0.0


def from_the_largest(a, p):
    k = np.argmax(a)
    return a[k:].sum(), a[:k].sum(), a[k - 1 : k + 2].sum() + p[0]


def halved(a, p):
    out, n = a.copy(), a.shape[0]
    while n > 1:
        n //= 2
        out[:n] = out[:n] + out[n : 2 * n]
    return out


def growing_parts(a, p):
    s = 0.0
    for i in range(a.shape[0]):
        for k in range(i, a.shape[0]):
            s += a[:k].sum() - a[i - 2 : k].sum()
    return s


def sliced_objects(a, p):
    s = slice(p[0], p[1])
    t = slice(p[1], None, -1)
    a[s] = a[s] * 2
    return a[t].sum(), a[slice(p[0])].sum(), a, s.start + s.stop


def by_indices(a, p):
    order = np.array([3, 1, 4, 0, 2, 6, 5])[: a.shape[0]] % a.shape[0]
    return a[order[p[0] : p[1]]].sum()


def differences(a, p):
    v = a[p[0] :]
    return np.diff(v).sum(), np.cumsum(v).sum(), v[1:].sum() + v[:-1].sum(), np.sort(v).sum()


def chosen(a, p):
    v = a[p[0] : p[1]]
    return np.where(v > 2, v, 0.0).sum(), v[v > 2].sum()


def of_a_branch(a, p):
    if p[0] > 1:
        a[p[0] :] = 5
    else:
        a[: p[1]] += a[: p[1]]
    return a.sum()


PROGRAMS = [
    summed, stepped, assigned, updated, moved_within, written_through, ends, products, broadcast, extremes, statistics,
    from_the_largest, halved, growing_parts, sliced_objects, by_indices, differences, chosen, of_a_branch,
]  # fmt: skip
NATIVE = [updated, written_through, broadcast, extremes, growing_parts, sliced_objects, halved, ends]


def outcome(function, arguments):
    """What a call gives and leaves in its arguments; or its exception."""
    arguments = copy.deepcopy(arguments)
    try:
        with np.errstate(all="ignore"):
            return function(*arguments), arguments
    except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
        return error


def alike(got, wanted, what):
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted), what
        for ours, numpys in zip(got, wanted, strict=True):
            alike(ours, numpys, what)
        return
    if wanted is None or isinstance(wanted, slice):
        assert got == wanted
        return
    assert np.shape(got) == np.shape(wanted), what
    assert np.asarray(got).dtype == np.asarray(wanted).dtype, what
    np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=str(what))


def agrees(compiled, function, arguments):
    wanted, got = outcome(function, arguments), outcome(compiled, arguments)
    if isinstance(wanted, Exception):
        kinds = [k for k in (ValueError, IndexError, TypeError, ZeroDivisionError) if isinstance(wanted, k)]
        assert isinstance(got, tuple(kinds)), f"{arguments}: {got!r} for {wanted!r}"
        return
    assert not isinstance(got, Exception), f"{arguments}: {got!r}"
    alike(got, wanted, arguments)


pytestmark = [pytest.mark.one_of(5), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def call_with_all(function, lengths=(7, 5), **options):
    compiled = nt.jit(function, **options)
    for n in lengths:
        for bounds in BOUNDS:
            agrees(compiled, function, [np.arange(1.0, n + 1), np.array(bounds)])


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_bounds_read_from_an_array(function):
    call_with_all(function, target="cpu" if function in NATIVE else "interp", dynamic=True)


@pytest.mark.parametrize("function", [halved, broadcast, updated], ids=lambda f: f.__name__)
def test_bounds_in_kernels(function):
    """The host reads the sizes of temporaries back, and keeps the loops around them."""
    call_with_all(function, (7,), target="cuda-sim")


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_bounds_and_every_length(function, target, dynamic):
    call_with_all(function, (7, 1, 0, 5, 7), target=target, dynamic=dynamic)


# ---- rows of sparse matrices ------------------------------------------------------------------------


def rows_times(data, ptr, cols, x):
    y = np.zeros(len(ptr) - 1)
    for i in range(len(ptr) - 1):
        y[i] = data[ptr[i] : ptr[i + 1]] @ x[cols[ptr[i] : ptr[i + 1]]]
    return y


def rows_squared(data, ptr, cols, x):
    y = np.zeros(len(ptr) - 1)
    for i in range(len(ptr) - 1):
        lo, hi = ptr[i], ptr[i + 1]
        y[i] = (data[lo:hi] * data[lo:hi]).sum() + data[lo:hi].mean()
    return y


def rows_scaled(data, ptr, cols, x):
    for i in range(len(ptr) - 1):
        lo, hi = ptr[i], ptr[i + 1]
        data[lo:hi] *= x[i]
        data[lo:hi] += x[cols[lo:hi]]
    return data


@pytest.mark.parametrize(
    "function, dtype", [(rows_times, "i4"), (rows_squared, "u8"), (rows_scaled, "u1"), (rows_times, "i8")]
)
def test_rows_between_pointers(function, dtype):
    compiled = nt.jit(function, dynamic=True)
    for counts in ([2, 0, 5, 3], [1, 1, 1], [0, 0, 9, 0, 1], [10], [3, 99]):
        ptr = np.cumsum([0, *counts]).astype(dtype)
        n = 10
        cols = np.arange(n)[::-1] % max(len(counts), 4)
        agrees(compiled, function, [np.arange(1.0, n + 1), ptr, cols, np.arange(2.0, 12.0)])


def rows_of_two(a, b, p, q):
    y = np.zeros(len(p) - 1)
    for i in range(len(p) - 1):
        y[i] = (a[p[i] : p[i + 1]] * b[q[i] : q[i + 1]]).sum()
    return y


def test_bounds_of_many_choices():
    """Each bound is one of several numbers: isl is not asked about all combinations, of which there are thousands."""
    compiled = nt.jit(rows_of_two, dynamic=True)
    for counts in ([2, 0, 5, 3], [1, 1, 1], [1, 4], [10]):
        ptr = np.cumsum([0, *counts])
        agrees(compiled, rows_of_two, [np.arange(1.0, 11), np.arange(2.0, 12.0), ptr, ptr[-1] - ptr[::-1]])


def test_a_product_of_parts_that_differ_raises():
    compiled = nt.jit(products, dynamic=True)
    with pytest.raises(ValueError, match="product of matrices"):
        compiled(np.arange(7.0), np.array([1, 3]))


# ---- types of bounds --------------------------------------------------------------------------------


def tail(a, k):
    return a[k:].sum(), a[:k].sum()


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_bounds_of_every_integer_type(dtype):
    compiled, a = nt.jit(tail), np.arange(1.0, 7.0)
    info = np.iinfo(dtype)
    for k in (3, 0, 6, 100, -2, -100, int(info.min), int(info.max)):
        if info.min <= k <= info.max:
            number = np.dtype(dtype).type(k)
            for bound in (number, np.array(number)):
                agrees(compiled, tail, [a, bound])


@pytest.mark.parametrize("bound", [True, False, 2, -2, None])
def test_bounds_of_python(bound):
    agrees(nt.jit(tail), tail, [np.arange(1.0, 7.0), bound])


@pytest.mark.parametrize(
    "bound", [1.0, np.float64(1), np.bool_(True), np.array([1, 2]), np.array(1.0), np.array(True)]
)
def test_what_is_no_integer_is_refused(bound):
    with pytest.raises(TypeError):
        operator.index(bound)
    with pytest.raises(TypeError, match="slice indices must be integers"):
        nt.jit(tail)(np.arange(1.0, 7.0), bound)


class Place:
    def __init__(self, k):
        self.k = k

    def __index__(self):
        return int(self.k) + 1


def by_objects(a, p):
    first, last = Place(p[0]), Place(2)
    a[first:] += 1
    a[last] = 9
    a[:first] = a[last]
    return a[first:last].sum(), a[last], a


class Window:
    def __init__(self, a):
        self.a = a

    def __getitem__(self, key):
        return self.a[key].sum() + key.start


def by_an_object(a, p):
    return Window(a)[p[0] : p[1]]


@pytest.mark.parametrize("function", [by_objects, by_an_object], ids=lambda f: f.__name__)
def test_objects_as_bounds_and_sliced(function):
    call_with_all(function, (7,), target="interp")


class NoPlace(Place):
    def __index__(self):
        return self.k


def by_what_gives_no_int(a, p):
    return a[NoPlace(p[0]) :].sum()


def test_an_index_method_that_gives_no_int():
    with pytest.raises(TypeError, match="__index__ returned non-int"):
        nt.jit(by_what_gives_no_int)(np.arange(4.0), np.array([1, 2]))


def by_slice(a, s):
    a[s] += 1
    return a[s].sum()


def test_slices_as_arguments():
    compiled = nt.jit(by_slice)
    for s in (slice(1, 4), slice(None), slice(-2, None, -1), slice(9, 99), slice(1, 4), slice(4, 1)):
        agrees(compiled, by_slice, [np.arange(1.0, 7.0), s])


def far_index(a, k):
    return a[k[0]]


def test_a_large_unsigned_index_is_outside():
    compiled = nt.jit(far_index)
    assert compiled(np.arange(4.0), np.array([3], np.uint64)) == 3
    with pytest.raises(IndexError):
        compiled(np.arange(4.0), np.array([2**64 - 1], np.uint64))


def bounds_that_change(a, p):
    s = a[p[0] :].sum()
    for i in range(3):
        s += a[p[0] : p[1]].sum()
        p[0] += 1
        s += a[p[0] : p[1]].sum()
        p[1] = p[0] + i
        s += (a[p[0] : p[1]] * a[p[0] : p[1]]).sum()
    return s


def test_a_bound_is_read_anew_after_a_write():
    compiled = nt.jit(bounds_that_change, dynamic=True)
    for bounds in BOUNDS:
        agrees(compiled, bounds_that_change, [np.arange(1.0, 9.0), np.array(bounds)])


def test_views_and_read_only_and_strided_arguments():
    compiled = nt.jit(written_through, dynamic=True)
    base = np.arange(1.0, 15.0)
    for array in (base[::2], base[::-1], base[3:10]):
        ours, numpys = array.copy(), array.copy()
        views = (np.concatenate([ours, ours])[: len(ours)], numpys)
        alike(compiled(views[0], np.array([2, 3])), written_through(views[1], np.array([2, 3])), array)
    flipped = np.arange(1.0, 8.0)
    wanted = written_through(np.arange(1.0, 8.0)[::-1], np.array([2, 3]))
    alike(compiled(flipped[::-1], np.array([2, 3])), wanted, "reversed")
    fixed = np.arange(1.0, 8.0)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(fixed, np.array([2, 3]))
    alike(nt.jit(summed, dynamic=True)(fixed, np.array([2, 5])), summed(fixed, np.array([2, 5])), "read-only")


# ---- random programs --------------------------------------------------------------------------------


def random_program(rng):
    """Source of a program of a few statements with slices of random bounds and steps."""

    def bound():
        return rng.choice(["", "p[0]", "p[1]", "-p[0]", "p[1] - 1", "n // 2", "2", "-3", "k", "len(v)"])

    def part(array):
        step = rng.choice(["", "", "", ":2", ":-1", ":-2", ":3"])
        return f"{array}[{bound()}:{bound()}{step}]"

    def statement():
        return str(
            rng.choice(
                [
                    f"s += {part('a')}.sum()",
                    f"{part('a')} = {rng.integers(9)}",
                    f"{part('a')} += s",
                    f"v = {part('a')}",
                    f"v[{bound()}:] *= 2",
                    f"s += ({part('a')} * {part('b')}).sum()",
                    f"s += {part('v')}.max()",
                    f"{part('a')} = {part('b')}",
                    f"k = len({part('v')})",
                    f"b = {part('b')} + 1",
                    f"s += {part('b')} @ {part('a')}",
                ]
            )
        )

    lines = ["def program(a, b, p):", "    s, n, k, v = 0.0, len(a), p[1], a"]
    for _ in range(rng.integers(2, 5)):
        if rng.random() < 0.25:
            lines += [
                "    for i in range(n):",
                f"        s += {part('a').replace('k', 'i')}.sum()",
                f"        {part('a').replace('k', 'i')} += 1",
            ]
        else:
            lines.append(f"    {statement()}")
    return "\n".join([*lines, "    return s, a.sum()", ""])


@pytest.mark.parametrize("seed", seeds(20))
def test_random_programs(seed, tmp_path):
    """Ten calls each of a random program with random bounds and lengths."""
    rng = np.random.default_rng(seed)
    source = random_program(rng)
    path = tmp_path / "program.py"
    path.write_text(source)
    names = {"np": np}
    exec(compile(source, str(path), "exec"), names)
    function = names["program"]
    compiled = nt.jit(function, target="interp" if seed % 2 else "cpu", dynamic=True)
    for _ in range(10):
        n = int(rng.integers(0, 9))
        a, b = rng.integers(-9, 9, n).astype(float), rng.integers(-9, 9, n).astype(float)
        p = rng.integers(-n - 2, n + 3, 2)
        try:
            agrees(compiled, function, [a, b, p])
        except nt.UnsupportedError as error:  # pragma: no cover
            raise AssertionError(source) from error
