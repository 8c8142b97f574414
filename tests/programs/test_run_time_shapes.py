"""Arrays whose shapes only the run knows: made of numbers read from arrays, of loop variables, of what was computed.

One compiled program is called with many numbers: some of them 0, 1, negative, and larger than memory.
"""

import nestor as nt
import numpy as np
import pytest

from tests.programs.test_run_time_slices import agrees, alike

NUMBERS = [(3, 4), (1, 1), (0, 3), (4, 2), (1, 5), (-1, 3), (2, -3), (7, 7), (9, 0)]
pytestmark = [pytest.mark.one_of(2), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def zeros(a, p):
    t = np.zeros(p[0])
    t += 2
    t[: p[1]] = a[0]
    return t.sum(), len(t), t.shape[0], t.size


def tables(a, p):
    t = np.ones((p[0], p[1])) * 2
    u = np.full((p[1], 3), 7, np.int32)
    return t.sum(), t.sum(axis=0).sum(), u.sum(), t.shape[0] * u.shape[0]


def filled(a, p):
    k = p[0]
    t = np.empty(k)
    for i in range(k):
        t[i] = i * a[0]
    u = np.zeros_like(t, dtype=np.int8)
    u[:] = 7
    return t.sum() + u.sum()


def counted(a, p):
    t = np.arange(p[0], p[1])
    u = np.arange(p[1], p[0], -2)
    return t.sum(), u.sum(), len(t), len(u), np.arange(p[0]) @ np.arange(p[0])


def repeated_along(a, p):
    return (np.zeros(p[0]) + a).sum(), (np.ones((p[0], 1)) * np.arange(p[1])).sum()


def in_a_loop(a, p):
    s = 0.0
    for i in range(len(a)):
        t = np.zeros(i)
        for j in range(i):
            t[j] = a[j] * p[0]
        s += (t * t).sum() + np.arange(i).sum() + np.ones((i, 2)).sum()
    return s


def squares(a, p):
    return np.eye(p[0]).sum(), np.zeros(p[0] * p[0]).sum(), np.zeros(p[0] ** 2).size


def given_back(a, p):
    t = np.zeros((p[0], 2))
    t[:, 1] = 5
    return t, np.arange(p[1]), a[p[0] :], a[p[0] :] * 2, len(a[p[1] :])


def given_back_from_a_loop(a, p):
    t = np.zeros(p[0])
    for i in range(len(t)):
        t[i] = i * i
    return t, t[1:]


def appended(a, p):
    ys = []
    for i in range(p[0]):
        ys.append(a[i % len(a)] * 2)
    return np.array(ys).sum(), len(ys)


def comprehended(a, p):
    ys = [a[i % len(a)] * i for i in range(p[0], p[1])]
    return np.array(ys).sum() + len(ys), [x for x in a[p[0] :]]


def reshaped(a, p):
    n = p[0]
    m = np.zeros(n * n).reshape(n, n)
    for i in range(n):
        m[i, i] = a[0]
    u = np.arange(n * 6).reshape(n, -1)
    return m, m.sum(axis=0), u.sum(axis=1), u.reshape(3, -1)[0].sum(), u.T.ravel()


def refitted(a, p):
    return a[p[0] :].reshape(p[1], 2).sum(axis=0)


def one_element(a, p):
    return a[p[0] : p[1]].item(), np.squeeze(a[p[0] : p[1]], axis=0) + 1


def on_two_paths(a, p):
    k = p[0]
    v = a[k:] if p[1] > 2 else a[k:] * 2
    t = np.zeros(max(k, 0))
    if p[1] > 2:
        t = t + np.ones(max(k, 0))
    t[: p[1]] = 4
    return v.sum(), v, t


def carried(a, p):
    v, i = a[p[0] :].copy(), 0
    while i < p[1]:
        v = np.tanh(v) + a[p[0] :]
        i += 1
    return v


def extremes_in_a_loop(a, p):
    s = 0.0
    for i in range(p[1]):
        s += a[i : p[0]].max() + a[: i + 1].mean()
    return s


PROGRAMS = [
    appended, comprehended, reshaped, refitted, one_element, on_two_paths, carried, extremes_in_a_loop, zeros, tables,
    filled, counted, repeated_along, in_a_loop, squares, given_back, given_back_from_a_loop,
]  # fmt: skip
NATIVE = [tables, filled, repeated_along, in_a_loop, given_back]


def call_with_all(function, lengths=(7, 5), **options):
    compiled = nt.jit(function, **options)
    for n in lengths:
        for numbers in NUMBERS:
            agrees(compiled, function, [np.arange(1.0, n + 1), np.array(numbers)])


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_read_from_an_array(function):
    call_with_all(function, target="cpu" if function in NATIVE else "interp", dynamic=True)


@pytest.mark.parametrize("function", [tables, in_a_loop], ids=lambda f: f.__name__)
def test_the_host_makes_what_kernels_use(function):
    call_with_all(function, (7,), target="cuda-sim")


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_and_every_length(function, target, dynamic):
    call_with_all(function, (7, 1, 5), target=target, dynamic=dynamic)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_what_is_larger_than_memory_raises(target):
    compiled = nt.jit(tables, target=target)
    for numbers in ((1 << 40, 1 << 40), (1 << 62, 1), (1 << 32, 1 << 32)):
        with pytest.raises((ValueError, MemoryError)):
            compiled(np.ones(3), np.array(numbers))
    alike(compiled(np.ones(3), np.array([2, 3])), tables(np.ones(3), np.array([2, 3])), "after it")


def parts(a, p):
    return a[p[0] : p[1]], a[p[0] :: -2], a[: p[1]]


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_parts_that_are_returned_are_views(target):
    compiled = nt.jit(parts, target=target, dynamic=True)
    for numbers in ((2, 4), (1, 3), (-3, 9), (0, 0), (4, 1)):
        a, b = np.arange(8.0), np.arange(8.0)
        for ours, numpys in zip(compiled(a, np.array(numbers)), parts(b, np.array(numbers)), strict=True):
            alike(ours, numpys, numbers)
            assert np.shares_memory(ours, a) == np.shares_memory(numpys, b)
            ours[:], numpys[:] = -1, -1
        alike(a, b, numbers)


def matrix_of_argument(n):
    m = np.zeros(n * n).reshape(n, n)
    m[0] = 1
    return m


def one_worked_out(a, p):
    return a.reshape(p[0], p[1], p[2])


def one_beside_a_number(a, p):
    u = np.reshape(a[p[3] :], (3, p[0]), order="F")
    return u * 2, u.sum(axis=0)


def two_worked_out(a, p):
    return a[p[3] :].reshape(-2, p[0], p[1])


@pytest.mark.parametrize("function", [one_worked_out, one_beside_a_number, two_worked_out])
@pytest.mark.parametrize("target", ["cpu", pytest.param("interp", marks=pytest.mark.slow)])
def test_one_negative_extent_of_the_run_is_worked_out(function, target):
    """Whichever it is, and any negative number; two are an error, and so is one beside no elements."""
    compiled = nt.jit(function, target=target, dynamic=True)
    rows = """2 3 -1 0   -1 3 2 0   2 -7 2 0   1 12 1 0   2 3 2 0   -1 -1 3 0   -1 -2 -3 0   0 -1 2 0   5 -1 1 0   12 1 0 0
    -1 1 1 12   -4 3 1 3   0 0 -1 12   0 3 -1 12   4 -5 1 6   4 1 -1 12   3 1 1 9   0 7 9 12"""
    numbers = np.array(rows.split(), int).reshape(-1, 4)
    for extents in [*numbers, [1 << 40, 1 << 40, -1, 12], [1 << 62, 4, -1, 0]]:
        agrees(compiled, function, [np.arange(12.0), np.array(extents)])


def literal(a):
    return a.reshape(-3, 2), np.reshape(a, -2), a.reshape((3, -5), order="F")


def test_a_negative_number_in_the_source_is_worked_out():
    for a in (np.arange(6.0), np.arange(12).reshape(3, 4)[::-1], np.zeros(0, "f4")):
        for dynamic in (None, True):
            agrees(nt.jit(literal, dynamic=dynamic), literal, [a])
    with pytest.raises(ValueError, match="one unknown"):
        nt.jit(lambda a: a.reshape(-2, -1))(np.arange(6.0))


def named(a):
    t = np.zeros(4)
    m = t.reshape(2, 2)
    m[0] = 1
    return t


def test_a_reshaped_array_without_another_name_is_written():
    compiled = nt.jit(matrix_of_argument)
    for n in (3, 2, 1):
        agrees(compiled, matrix_of_argument, [n])
    x = np.ones(2)
    agrees(nt.jit(named), named, [x])


def of_two_lengths(a, p):
    if p[1] > 2:
        v = a[p[0] :]
    else:
        v = a[: p[0]]
    return v.sum()


def test_an_array_of_one_length_or_another_is_refused():
    with pytest.raises(nt.UnsupportedError, match="on one path and"):
        nt.jit(of_two_lengths)(np.arange(4.0), np.array([3, 1]))


def squeezed(a, p):
    return np.squeeze(a[p[0] :])


def joined_by_count(a, p):
    return np.concatenate([a[p[0] :], np.full(p[1], 7.0)]), np.split(a, [p[0]])


def test_what_hangs_on_an_extent_of_one_is_refused():
    with pytest.raises(nt.UnsupportedError, match="name the axis"):
        nt.jit(squeezed)(np.arange(4.0), np.array([3]))
    with pytest.raises(nt.UnsupportedError, match="must be known at compile time"):
        nt.jit(joined_by_count)(np.arange(4.0), np.array([3, 2]))


EXPRESSIONS = """
np.flip(v)  np.pad(v,1)  np.tile(v,2)  np.outer(v,w)  np.where(v>2,w,0.)  np.clip(v,1,3)  np.linalg.norm(v)  np.argsort(v)
np.ptp(v)  np.atleast_2d(v)  v.reshape(-1,1)  v[:,None]*w[None,:]  np.concatenate([v,w])  np.stack([v,w])  np.average(v)
np.average(v,weights=v)  np.percentile(v,50)  np.maximum(v,w)  v@w  np.nansum(v)  np.nanmax(v)  np.append(v,1.)  np.diag(v)
m[p[0]:p[1]].sum(axis=0)  m[p[0]:p[1]].max(axis=1)  m[p[0]:p[1],p[0]:].T@m[p[0]:p[1]]  m[p[0]:p[1]]@m.T  m[p[0]:p[1]]+b[:4]
m[:,p[0]:p[1]]*v  m[p[0]:p[1]].ravel()  m[p[0]:p[1]].argmax(axis=0)  np.exp(v-v.max())  (v-v.mean())/v.std()  v.astype(int)
np.sum(v,keepdims=True)+v  v[v>2]  np.vstack([v,w])  np.column_stack([v,v])  np.zeros(v.shape)  np.ones((len(v),2))
np.kron(v,w)  np.interp(1.5,v,w)  np.allclose(v,w)  np.isfinite(v).all()  np.add.accumulate(v)  nt.nn.softmax(v)
"""


def program_of(expression, folder):
    path = folder / "program.py"
    source = f"def f(a, b, m, p):\n    v = a[p[0] : p[1]]\n    w = b[p[1] - 1 :]\n    return {expression}\n"
    path.write_text(source)
    names = {"np": np, "nt": nt}
    exec(compile(source, str(path), "exec"), names)
    return names["f"]


@pytest.mark.parametrize("target", ["interp", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", range(4))
def test_functions_of_parts(part, target, tmp_path):
    """Each function on parts of five, two, one and no elements: one program."""
    for expression in EXPRESSIONS.split()[part::4]:
        function = program_of(expression, tmp_path)
        compiled = nt.jit(function, target=target, dynamic=True)
        for numbers in ((1, 4), (2, 3), (3, 3), (0, 5), (4, 5), (0, 1)):
            a, b = np.array([3.0, 1, 4, 1, 5]), np.array([2.0, 7, 1, 8, 2])
            agrees(compiled, function, [a, b, np.arange(20.0).reshape(5, 4) % 7, np.array(numbers)])


def of_argument(n):
    return np.zeros(n**2), np.arange(n * 2), np.ones((n, n + 1)).sum()


def test_shapes_of_integer_arguments():
    compiled = nt.jit(of_argument)
    for n in (3, 1, 0, 4):
        agrees(compiled, of_argument, [n])
    with pytest.raises(ValueError, match="negative dimensions"):
        compiled(-1)


def of_types(k):
    return np.arange(k[0]), np.zeros(k[0]), np.arange(k[0], k[1])


@pytest.mark.parametrize("dtype", ["i1", "i4", "u4", "u8"])
def test_numbers_of_every_integer_type(dtype):
    compiled = nt.jit(of_types, target="interp")
    for numbers in ((3, 5), (0, 1), (1, 2)):
        agrees(compiled, of_types, [np.array(numbers, dtype)])
