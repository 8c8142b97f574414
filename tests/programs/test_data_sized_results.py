"""Arrays whose length depends on elements: what masks select, as values inside of programs and as results."""

import copy
import gc
import weakref

import nestor as nt
import numpy as np
import pytest
from agreement import jitted, same

pytestmark = pytest.mark.one_of(2)

TARGETS = ("cpu", "interp")
RNG = np.random.default_rng(24)


def outcome(function, *arguments):
    """What a call returns, its arguments afterwards, or the kind of error that it raises."""
    with np.errstate(all="ignore"):
        try:
            return function(*arguments), arguments
        except Exception as error:
            return next(k for k in (IndexError, ValueError, type(error)) if isinstance(error, k))


def agrees_on(function, calls, tolerance=1e-12, **options):
    """One compiled function gives what NumPy gives, call after call."""
    compiled = jitted(function, **options)
    for arguments in calls:
        want = outcome(function, *copy.deepcopy(arguments))
        got = outcome(compiled, *copy.deepcopy(arguments))
        if isinstance(want, type) or isinstance(got, type):
            assert got is want, (got, want)
            continue
        same(got, want, tolerance)


def on_machine_code(programs, quick):
    """The programs on both targets: on the CPU, where they take LLVM a second, quick ones and the rest as slow tests."""
    return [pytest.param(p, "interp", id=f"{p.__name__}-interp") for p in programs] + [
        pytest.param(p, "cpu", marks=() if p in quick else pytest.mark.slow, id=f"{p.__name__}-cpu")
        for p in programs
    ]


X = RNG.standard_normal(11)
VECTORS = [
    (X,),
    (np.abs(X),),
    (-np.abs(X),),
    (X[::2],),
    (X[::-1],),
    (X[:1],),
    (X[:0],),
    (np.array([np.nan, np.inf, -np.inf, 0.0, 1.0]),),
    (np.abs(RNG.standard_normal(3000)) - 0.1,),
]
"""Some elements selected, all, none; strided, of one element, empty, special, long."""


def selected(x):
    return x[x > 0]


def kept(x):
    y = x[x > 0]
    return y, y.sum(), len(y), y.size, y.shape, y.ndim


def written(x):
    y = x[x > 0] * 2
    y += 1
    y[:1] = 7
    z = y
    z[::2] -= 1
    return y, y.sum()


def written_in_loop(x):
    y = x[x > 0]
    z = y
    s = 0.0
    for k in range(3):
        s += y.sum()
        z += k
    for i in range(len(y)):
        y[i] = y[i] * i + s
    return s, y


def iterated(x):
    s = np.float64(0)
    for v in x[x > 0]:
        s += v * v
    return s


def sides(x):
    m = x > 0
    y, z = x[m], x[~m]
    return np.concatenate([y, z]), np.sort(x[m]), np.argsort(z, kind="stable"), np.cumsum(y)


def statistics(x):
    y = x[np.abs(x) < 2]
    return y - y.mean(), y.std(), np.median(y), (y * 2).max(), y.min(), np.var(y * 3)


def views(x):
    y = x[x > 0]
    return y, y[::2], y[::-1], y[:3], y[:, None], y.reshape(-1, 1), y.T


def products(x):
    y = x[x > 0]
    return y @ y, y[:, None] * y[None, :], np.dot(x[x < 0], x[x < 0])


def elementwise(x):
    y = x[x > 0]
    return np.where(y > 1, y, 0), np.clip(y, 0, 1), y**2, -y, y > 1, np.exp(-y), y.astype("f4"), y.copy()


def in_a_list(x):
    parts = [x[x > 0], x[x < 0]]
    parts[0][:1] = 9
    return parts, {"first": parts[0], "second": x[x == 0]}


def assigned(x):
    x[x > 0] = x[x > 0] * 2
    y = x[x < 0] + 1
    x[x < 0] = y
    return x


def in_a_branch(x, flag):
    if flag > 0:
        s = x[x > 0].sum()
    else:
        y = x[x < 0]
        y[:1] = 0
        s = y.sum()
    return s


def bound_in_a_loop(x):
    total = 0.0
    for k in range(4):
        y = x[x > k * 0.5]
        total += (y * k).sum()
    return total


PROGRAMS = [
    selected,
    kept,
    written,
    written_in_loop,
    iterated,
    sides,
    statistics,
    views,
    products,
    elementwise,
]
PROGRAMS += [in_a_list, assigned, bound_in_a_loop]


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(("program", "target"), on_machine_code(PROGRAMS, [selected, kept]))
def test_vectors(program, target, dynamic):
    agrees_on(program, VECTORS[: 6 if target == "interp" else 9], target=target, dynamic=dynamic)


@pytest.mark.parametrize("target", TARGETS)
def test_in_a_branch(target):
    agrees_on(in_a_branch, [(X, 1), (X, -1), (X[:5], 1), (X[:0], -1)], target=target)


# ---- several axes ------------------------------------------------------------------------------------


def rows(x):
    return x[x[:, 0] > 0], x[x[:, 0] > 0].mean(axis=0), x[x[:, 0] > 0].sum(axis=1), x[x[:, 0] > 0].T


def columns(x):
    return x[:, x[0] > 0], x[0, x[0] > 0], x[x[:, 0] > 0, 1], x[x[:, 0] > 0][:, [0, 1]], x[:, None, x[0] > 0]


def everything(x):
    return x[x > 0], x[x > 0].sum(), x.T[x.T > 0]


def beside_indices(x):
    m = x[:, 0] > 0
    i = np.arange(len(x))
    return x[m, 0], x[0, x[0] > 0], x[i[m], 1]


def written_columns(x):
    x[:, x[0] > 0] = -1
    y = x[:, x[0] < 0]
    y[...] = 3
    return x, y


A = RNG.standard_normal((5, 4))
MATRICES = [(A,), (np.abs(A),), (-np.abs(A),), (A[::2],), (A[:, ::-1],), (A[:1],), (A[:2, :2],)]


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
    ("program", "target"),
    on_machine_code([rows, columns, everything, beside_indices, written_columns], [everything]),
)
def test_matrices(program, target, dynamic):
    calls = MATRICES if dynamic else MATRICES[:3]
    agrees_on(program, calls, target=target, dynamic=dynamic)


@pytest.mark.parametrize("target", TARGETS)
def test_more_axes(target):
    def middle(x, m):
        return x[:, m], x[0, :, m[0]] if x.ndim > 3 else x[:, m].sum(axis=0)

    x = RNG.standard_normal((3, 4, 2, 5))
    calls = [(x, x[0, :, :, 0] > 0), (x, x[0, :, :, 0] > 9), (x, x[0, :, :, 0] > -9)]
    agrees_on(middle, calls, target=target)


def by_rows(x, m):
    return x[m]


@pytest.mark.parametrize("target", TARGETS)
def test_masks_of_the_wrong_length(target):
    compiled = nt.jit(by_rows, target=target, dynamic=True)
    same(compiled(X, X > 0), X[X > 0])
    for x, m in [(X, X[:5] > 0), (X[:5], X > 0), (A, A[:, :2] > 0)]:
        with pytest.raises(IndexError, match="boolean index did not match"):
            by_rows(x, m)
        with pytest.raises(IndexError, match="boolean index did not match"):
            compiled(x, m)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("target", TARGETS)
def test_element_types(target, dtype):
    x = RNG.integers(0, 2, 9).astype(dtype)
    agrees_on(by_rows, [(x, x != 0), (x, x == 0), (x[:0], x[:0] == 0)], target=target)


@pytest.mark.parametrize("target", TARGETS)
def test_memory_order(target):
    f = np.asfortranarray(A)
    agrees_on(
        by_rows, [(f, f[:, 0] > 0), (f, f > 0), (f.T, f[0] > 0), (A[:, ::2], A[:, 0] > 0)], target=target
    )


# ---- lengths that differ -----------------------------------------------------------------------------


def added(x):
    return x[x > 0] + x[x < 0]


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_are_compared_when_the_program_runs(target):
    compiled = nt.jit(added, target=target)
    same(compiled(np.array([1.0, -2.0, 3.0, -4.0])), np.array([-1.0, -1.0]))
    for x in (np.zeros(4), np.array([1.0, -2, -3, -4]), np.array([-1.0, 2, 3]), np.array([-1.0])[:0]):
        same(compiled(x), added(x))
    with pytest.raises(ValueError, match="could not be broadcast"):
        compiled(np.array([1.0, 2.0, 3.0, -4.0, -5.0]))


# ---- results as arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [3, 100_000])
def test_results_own_their_memory(target, count):
    x = np.ones(count if target == "cpu" else min(count, 4000))
    compiled = nt.jit(selected, target=target)
    first = compiled(x)
    second = compiled(x)
    assert first.flags.writeable and first.flags.c_contiguous and first.flags.aligned
    assert not np.shares_memory(first, second) and not np.shares_memory(first, x)
    first[:] = 5
    same(second, x)
    part = first[1:]
    owner = weakref.ref(first)
    del first
    gc.collect()
    assert owner() is None or part.base is not None
    same(part, np.full(len(x) - 1, 5.0))


@pytest.mark.parametrize("target", TARGETS)
def test_views_of_results_share_their_memory(target):
    whole, part, *_ = nt.jit(views, target=target)(X)
    assert np.shares_memory(whole, part)
    whole[0] = 99
    assert part[0] == 99


@pytest.mark.parametrize("target", TARGETS)
def test_out(target):
    compiled = nt.jit(selected, target=target)
    out = np.zeros(3)
    assert compiled(np.array([1.0, -1, 2, 3]), out=out) is out
    same(out, np.array([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match=r"out= is float64\[3\], the result is float64\[1\]"):
        compiled(np.array([1.0, -1]), out=out)


def fails_afterwards(x):
    y = x[x > 0]
    assert y.sum() < 10
    return y


@pytest.mark.parametrize("target", TARGETS)
def test_a_check_that_fails(target):
    compiled = nt.jit(fails_afterwards, target=target)
    same(compiled(np.ones(4)), np.ones(4))
    with pytest.raises(AssertionError):
        compiled(np.ones(40))
    same(compiled(np.ones(4)), np.ones(4))


def test_reductions_of_what_a_mask_selects_make_no_array():
    def spread(x):
        y = x[x > 0]
        return (y * 2).sum() / len(y)

    text = nt.jit(spread).lower(X).as_text("nt")
    assert "nt.loops" not in text and "nt.empty" not in text


def test_the_ir_says_what_is_allocated():
    lowered = nt.jit(selected).lower(nt.spec(("n",), "f8"))
    assert "(tensor<?xf64> {nt.callee_allocated})" in lowered.as_text("nt")
    assert 'memref<2xi64> {nest.role = "out", nest.hands_over = memref<?xf64>}' in lowered.as_text("nest")
    assert "func.call @nestor_hand_over.f64.1(" in lowered.as_text("scf")
    assert "memmove" not in lowered.as_text("llvm")  # the buffer itself is handed over


@pytest.mark.parametrize("target", ["cuda", "cuda-sim"])
def test_a_gpu_refuses(target):
    with pytest.raises(
        nt.NestorError, match="a result whose extents depend on elements is not made on a GPU"
    ):
        nt.jit(selected).lower(X).as_text("cuda") if target == "cuda" else nt.jit(selected, target=target)(X)
