"""Derivatives of islands: what copies, gathers and writes in place, in both modes, against central differences."""

import nestor as nt
import numpy as np
import pytest
from derivative_programs import check, run, run_passes
from nestor.dialects.attributes import NT_TAPES
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nt.ops import LoopsOp
from nestor.dialects.parse import parse_module

pytestmark = pytest.mark.one_of(4)

_RNG = np.random.default_rng(0)
X, Y = _RNG.standard_normal((2, 4, 5))
V, W = _RNG.standard_normal((2, 6))
I = np.array([0, 2, 2, 1])
J = np.array([-1, 3, 0, -2, 3])
B = np.array([True, False, True, True])


def add_at(y, i, x):
    y = y.copy()
    np.add.at(y, i, x)
    return y


def set_at(y, i, x):
    y = y.copy()
    y[i] = x * x
    return y


def add_shifted(y, x):
    y = y.copy()
    y[1:] += x[:-1] * x[1:]
    return y


def set_slices(y, x):
    y = y.copy()
    y[::2] = x[1::2] * 3
    y[1, 2:] *= 2
    y[-1] = x[0] * x[1]
    return y


def through_views(x):
    y = np.zeros((4, 5))
    row = y[1]
    row[:] = x[0] * x[1]
    y.T[2] += x[:, 0]
    y[::-1, ::2][0] = np.exp(x[2, ::2])
    return y


def masked_constant(x):
    x = x.copy()
    x[x > 0] = 0.5
    return x * x


def masked_rows(x, b):
    y = np.zeros(x.shape)
    y[b] = 2.0
    y[~b] += 1.0
    return y * x


def counted_places(x):
    y = np.zeros(20)
    k = 0
    for i in range(x.shape[0]):
        for j in range(i, x.shape[1], 2):
            if x[i, j] > 0:
                y[k] = x[i, j] * x[i, j]
                k += 1
    return y * k


def recurrence(x):
    y = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def two_back(x):
    y = x * 2
    for i in range(2, x.shape[0]):
        y[i] = y[i] - 0.3 * y[i - 1] + 0.2 * y[i - 2]
    return y


def product_with_the_one_before(x):
    y = x.copy()
    for i in range(1, y.shape[0]):
        y[i] = y[i] * y[i - 1]
    return y


def sweep(x):
    y = x.copy()
    for i in range(1, y.shape[0] - 1):
        for j in range(1, y.shape[1] - 1):
            y[i, j] = 0.25 * (y[i - 1, j] + y[i + 1, j] + y[i, j - 1] + y[i, j + 1])
    return y


def backward_sweep(x):
    y = x.copy()
    for i in range(y.shape[0] - 2, -1, -1):
        y[i] -= 0.3 * y[i + 1]
    return y


def in_steps(x):
    y = x.copy()
    for i in range(1, y.shape[0], 2):
        y[i] += 3 * y[i - 1]
    return y


def triangle(x):
    y = x.copy()
    for i in range(y.shape[0]):
        for j in range(i):
            y[i] -= 0.1 * y[j]
    return y


def jacobi(x):
    y = np.zeros(x.shape)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = np.sin(x[i - 1, j]) * x[i + 1, j] + np.exp(x[i, j - 1]) / (2 + x[i, j + 1] ** 2)
    return y


def stencil(x, w):
    y = np.zeros(x.shape)
    for i in range(1, x.shape[0] - 1):
        for j in range(2, x.shape[1] - 1):
            y[i, j] = x[i - 1, j] + x[i + 1, j] * w[i, j] + x[i, j - 2] + x[i, j + 1] - 4 * x[i, j] * x[i, j]
    return y


def sum_of_squares(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


def sums_in_a_cell(x):
    s, p = 1.0, 0.0
    for i in range(x.shape[0]):
        s += x[i] * np.sin(x[i])
        p -= x[i] - 2.0
    return s * p


def total_of_rows(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i] += x[i, j] ** 3
    return y


def branches(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[i] = x[i] * 2
        elif i > 2:
            y[i] = np.sin(x[i])
    return y


def swapped(x):
    y = x.copy()
    for i in range(0, y.shape[0] - 1, 2):
        y[i], y[i + 1] = y[i + 1], y[i]
    return y * x


def in_place_function(x):
    y = x.copy()
    for i in range(y.shape[0]):
        y[i] = np.exp(y[i]) * y[i]
    return y


def rows_scaled(x):
    y = x.copy()
    for i in range(y.shape[0]):
        scale = np.sqrt((x[i] * x[i]).sum())
        y[i] = y[i] / scale
    return y


def staged(x):
    y = x.copy()
    y[1:] = y[:-1] * y[1:]
    return y


def histogram_weights(i, w):
    h = np.zeros(4)
    for k in range(i.shape[0]):
        h[i[k]] += w[k] * w[k]
    return h


def from_the_end(x):
    y = np.zeros(3)
    for k in range(3):
        y[k] = x[-1 - k] * x[k - 3]
    return y


def extremes_of_rows(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i].max() * x[i].sum() - x[i, 1:].min()
    return y


def products_of_rows(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i].prod() + x[i, :3].prod()
    return y


def functions(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = np.hypot(x[i], 1.5) + np.logaddexp(x[i], 0.3) * np.tanh(x[i]) + abs(x[i])
        y[i] += np.maximum(x[i], 0.1) - np.sign(x[i]) * np.arctan2(x[i], 2.0) + np.clip(x[i], -0.5, 0.5)
        y[i] += np.remainder(x[i], 0.7) + (x[i] // 0.7) * x[i] + x[i] ** 3
    return y


def bodies(p):
    f = np.zeros(p.shape)
    for i in range(p.shape[0]):
        for j in range(p.shape[0]):
            if i != j:
                d = p[j] - p[i]
                r = np.sqrt((d * d).sum() + 0.1)
                f[i] += d / r**3
    return f


def softmax_of_rows(x):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        e = np.exp(x[i] - x[i].max())
        y[i] = e / e.sum()
    return y


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]
    return c


def substitution(a, b):
    x = np.zeros(b.shape[0])
    for i in range(b.shape[0]):
        s = b[i]
        for j in range(i):
            s -= a[i, j] * x[j]
        x[i] = s / (a[i, i] + 3)
    return x


def steps_in_time(u):
    u = u.copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
    return u


def interpolated(x, at):
    y = np.zeros(at.shape[0])
    for k in range(at.shape[0]):
        i = int(np.floor(at[k]))
        w = at[k] - i
        y[k] = (1 - w) * x[i, 0] + w * x[i + 1, 0]
    return y


def until(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            break
        s += x[i] * 2
    return s


def outer_scalar(x, s):
    c = np.sin(s.sum())
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] * c + float(i)
    return y


def several(x, w):
    a, b = np.zeros(x.shape[0]), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        a[i] = x[i] * w[i]
        b[x.shape[0] - 1 - i] = a[i] + w[i]
    return a, b


def overwritten_constant(x):
    y = x.copy()
    y[1:3] = 7.0
    y[2] += x[0]
    return y


PROGRAMS = {
    "gather": (lambda x, i: x[i], X, I),
    "gather from the end": (lambda x, j: x[j] * 2, X, J),
    "gather of one column": (lambda x, i: x[i, 1], X, I),
    "two index arrays": (lambda x, i, j: x[i, j], X, I, J[:4]),
    "take": (lambda x, i: np.take(x, i, axis=1), X, I),
    "take along": (lambda x, i: np.take_along_axis(x, i[:, None], axis=1), X, I),
    "add.at": (add_at, X, I, Y),
    "set at": (set_at, X, I, Y),
    "concatenate": (lambda x, y: np.concatenate([x, y, x]), X, Y),
    "concatenate of columns": (lambda x, y: np.concatenate([x, y[:, :2]], axis=1), X, Y),
    "stack": (lambda x, y: np.stack([x, y], axis=1), X, Y),
    "hstack and vstack": (lambda x, y: (np.hstack([x, y]), np.vstack([y, x])), X, Y),
    "pad": (lambda x: np.pad(x, ((1, 2), (0, 1))), X),
    "pad with the edge": (lambda x: np.pad(x, 1, mode="edge"), X),
    "pad by reflection": (lambda x: np.pad(x, 2, mode="reflect"), X),
    "roll": (lambda x: np.roll(x, 1, axis=0), X),
    "roll of all": (lambda x: np.roll(x, 3), X),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), X),
    "tile": (lambda x: np.tile(x, (2, 1)), X),
    "diag": (lambda v: np.diag(v), V),
    "diag of a matrix": (lambda x: np.diag(x) * 2, X),
    "tril": (lambda x: np.tril(x) + np.triu(x, 1), X),
    "insert": (lambda x: np.insert(x, 1, 3.0, axis=0), X),
    "delete": (lambda x: np.delete(x, 1, axis=0), X),
    "append": (lambda x, y: np.append(x, y), X, Y),
    "flip": (lambda x: np.flip(x, 1) * x, X),
    "add shifted": (add_shifted, X, Y),
    "set slices": (set_slices, X, Y),
    "through views": (through_views, X),
    "masked constant": (masked_constant, X),
    "masked rows": (masked_rows, X, B),
    "selected rows": (lambda x, b: x[b] * 2, X, B),
    "counted places": (counted_places, X),
    "recurrence": (recurrence, V),
    "two back": (two_back, V),
    "product with the one before": (product_with_the_one_before, V),
    "sweep": (sweep, X),
    "backward sweep": (backward_sweep, V),
    "in steps": (in_steps, V),
    "triangle": (triangle, V),
    "jacobi": (jacobi, X),
    "stencil": (stencil, X, Y),
    "sum of squares": (sum_of_squares, V),
    "sums in a cell": (sums_in_a_cell, V),
    "total of rows": (total_of_rows, X),
    "branches": (branches, V),
    "swapped": (swapped, V),
    "in place": (in_place_function, V),
    "rows scaled": (rows_scaled, X),
    "staged": (staged, V),
    "histogram": (histogram_weights, I, V[:4]),
    "from the end": (from_the_end, V),
    "extremes of rows": (extremes_of_rows, X),
    "products of rows": (products_of_rows, X),
    "product with a zero": (products_of_rows, np.where(np.arange(5) == 2, 0.0, X)),
    "functions": (functions, V),
    "bodies": (bodies, X),
    "softmax of rows": (softmax_of_rows, X),
    "matrix product": (product, X, Y),
    "substitution": (substitution, X[:, :4], V[:4]),
    "steps in time": (steps_in_time, V),
    "interpolated": (interpolated, X, np.array([0.3, 1.7, 2.2])),
    "until": (until, V),
    "convolve": (lambda v, w: np.convolve(v, w[:3]), V, W),
    "diff and gradient": (lambda v: np.diff(v, n=2) * np.gradient(v)[2:], V),
    "block and kron": (lambda x, y: np.block([[x, y]]).sum(0)[:3] * np.kron(x[:1], y[:1])[0, :3], X, Y),
    "outer scalar": (outer_scalar, V, W),
    "several": (several, V, W),
    "overwritten by a constant": (overwritten_constant, V),
    "empty": (lambda x, y: np.concatenate([x[:0], y]), X, Y),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if k % 3 == 2 else n for k, n in enumerate(PROGRAMS)]
)
def test_derivatives(name):
    check(*PROGRAMS[name])


DYNAMIC = (
    "gather",
    "counted places",
    "add.at",
    "concatenate",
    "pad",
    "pad by reflection",
    "roll of all",
    "diag",
    "add shifted",
    "set slices",
    "recurrence",
    "triangle",
    "jacobi",
    "swapped",
    "rows scaled",
    "staged",
    "from the end",
    "empty",
)


@pytest.mark.parametrize("name", DYNAMIC)
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)


def carried_product(x):
    y = x.copy()
    for _ in range(2):
        for i in range(1, y.shape[0]):
            y[i] = y[i] * y[i - 1]
    return y


def carried_number(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = np.sin(s) + x[i]
    return s


def while_loop(x):
    i, s = 0, 0.0
    while i < x.shape[0] and s < 3.0:
        s += x[i]
        i += 1
    return s


def steps_of_local_arrays(x):
    y = x.copy()
    for _ in range(3):
        d = np.zeros(y.shape[0])
        for i in range(1, y.shape[0]):
            d[i] = np.sin(y[i] * y[i - 1])
            d[i] = d[i] * d[i - 1] + y[i]
        for i in range(y.shape[0]):
            y[i] = y[i] + 0.1 * d[i] * d[i]
    return y


def guarded_by_what_changes(x):
    s, y = 0.5, np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if s > 0:
            y[i] = s * x[i]
            s = np.cos(s) * x[i]
        else:
            s = s * s + 0.1
            for j in range(i):
                if y[j] > s:
                    y[j] = y[j] * s
    return y


def triangle_in_place(x):
    y = np.zeros((x.shape[0], x.shape[0])) + x
    for i in range(1, x.shape[0]):
        for j in range(x.shape[0] - 1, i, -1):
            for k in range(i // 2):
                y[i, j] = y[i, j] * y[k, j] + y[j, k]
    return y


def inner_loop_of_data(x):
    s = 1.0
    for i in range(x.shape[0]):
        n = int(abs(x[i]) * 3) + i
        while n > 0:
            for _ in range(n % 3):
                s = np.sin(s * x[i]) + 0.3
            n = n - 2
    return s


def early_exit(x):
    s = 1.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = s * np.cos(x[j])
            if s < 0.3:
                s = s + 1.0
                break
        if x[i] * s > 1.0:
            continue
        s = s * s + 0.5
    return s


OVERWRITTEN = (
    carried_product,
    carried_number,
    while_loop,
    steps_of_local_arrays,
    guarded_by_what_changes,
    triangle_in_place,
    inner_loop_of_data,
    early_exit,
)


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("f", OVERWRITTEN)
def test_what_is_overwritten_is_kept(f, dynamic):
    check(f, V, dynamic=dynamic)


def primal_island(f, *arguments):
    """The island of the primal in the derivative's text: its kinds of tapes, and why they are there."""
    text = nt.grad(f).lower(*arguments).as_text("nt")
    module = run_passes(parse_module(text), "nt-differentiate")
    islands = [o for o in module.walk() if isinstance(o, LoopsOp) and NT_TAPES in o.attributes]
    if not islands:
        return []
    (island,) = islands
    reasons = [r.data for r in island.attributes[NT_TAPES]]
    return [(str(r.type), why) for r, why in zip(island.results, reasons, strict=True) if why]


def test_a_tape_has_the_fewest_bytes():
    def averages(x):
        x = x.copy()
        for _ in range(3):
            for i in range(1, x.shape[0] - 1):
                x[i] = np.sin(x[i - 1] + 2 * x[i] + x[i + 1])
        return x.sum()

    def largest(x):
        m = x[0]
        for i in range(1, x.shape[0]):
            m = max(m, x[i])
        return m

    def linear(x):
        x = x.copy()
        for _ in range(3):
            for i in range(1, x.shape[0] - 1):
                x[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
        return x.sum()

    def products(x):
        y, z = x.copy(), np.zeros(x.shape[0])
        for _ in range(3):
            for i in range(x.shape[0]):
                z[i] = 0.0
                for j in range(x.shape[0]):
                    z[i] += x[i] * x[j] * y[j]
            for i in range(x.shape[0]):
                y[i] = z[i]
        return y.sum()

    def twice(x):
        x = x.copy()
        for _ in range(3):
            for i in range(x.shape[0]):
                x[i] = x[i] * x[i] * x[i]
        return x.sum()

    # in each step y, not y once more for each row
    assert [kind for kind, _ in primal_island(products, V)] == ["tensor<3x6xf64>"]
    assert [kind for kind, _ in primal_island(twice, V)] == ["tensor<3x6xf64>"]
    ((kind, why),) = primal_island(averages, V)
    assert kind == "tensor<3x4xf64>"
    assert why == "'arith.addf' of \"x\", which is overwritten"
    ((kind, why),) = primal_island(largest, V)
    assert kind == "tensor<5xi8>"
    assert primal_island(linear, V) == []


def test_what_was_not_chosen_is_no_nan():
    def safe(x):
        y = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = np.sqrt(x[i]) if x[i] > 0 else 0.0
        return y

    (gradient,) = run("vjp", safe, [np.array([0.0, 1.0, 4.0])], [np.ones(3)], [0])
    np.testing.assert_array_equal(gradient, [0.0, 0.5, 0.25])


def test_extremes_that_tie_share():
    def largest(x):
        y = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = x[i].max()
        return y

    x = np.array([[1.0, 3.0, 3.0, 3.0], [2.0, 2.0, 0.0, 1.0]])
    (gradient,) = run("vjp", largest, [x], [np.array([6.0, 4.0])], [0])
    np.testing.assert_array_equal(gradient, [[0, 2, 2, 2], [2, 2, 0, 0]])
    (tangent,) = run("jvp", largest, [x], [np.array([[9.0, 1, 2, 6], [3, 5, 9, 9]])], [0])
    np.testing.assert_array_equal(tangent, [3.0, 4.0])


def test_a_function_that_is_smooth_where_its_operands_tie():
    def f(x, w):
        y = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = np.logaddexp(x[i], w[i]) + np.logaddexp2(x[i], w[i])
        return y

    x = np.array([1.0, -2.0, 0.0])
    for gradient in run("vjp", f, [x, x.copy()], [np.ones(3)], [0, 1]):
        np.testing.assert_allclose(gradient, [1.0, 1.0, 1.0], rtol=1e-12)


SECOND = {
    "gather": lambda x: np.sum(x[[0, 2, 2]] ** 3),
    "concatenate": lambda x: np.sum(np.concatenate([x, x * x]) ** 2),
    "sum of squares": lambda x: sum_of_squares(x) ** 2,
    "recurrence": lambda x: np.sum(recurrence(x * x) ** 2),
    "functions": lambda x: np.sum(functions(x)),
    "branches": lambda x: np.sum(branches(x) ** 2),
    "pad": lambda x: np.sum(np.pad(x, 2, mode="reflect") ** 3),
    "rows scaled": lambda x: np.sum(rows_scaled(x.reshape(2, 3)) ** 3),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ("functions", "pad") else n for n in SECOND]
)
def test_second_derivatives(name):
    f = SECOND[name]
    x, d = V.copy(), _RNG.standard_normal(V.shape)
    gradient = nt.grad(f)
    expected = (gradient(x + 1e-5 * d) - gradient(x - 1e-5 * d)) / 2e-5
    forward = nt.hvp(f, (x,), (d,))
    reverse = nt.grad(lambda x: np.sum(nt.grad(f)(x) * d))(x)
    for got in (forward, reverse):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_values_by_the_processor(dtype):
    @nt.jit
    def loss(x, y, i):
        z = np.concatenate([x[i], y])
        z[1:] += 0.5 * z[:-1] * y[0]
        for k in range(1, z.shape[0]):
            z[k] = z[k] + 0.25 * z[k - 1]
        return (z * z).sum()

    gradient = nt.grad(loss, argnums=(0, 1))
    for rows in (4, 2, 7):
        x, y = (_RNG.standard_normal((n, 3)).astype(dtype) for n in (rows, 2))
        i = _RNG.integers(-rows, rows, 5)
        exact = [np.zeros_like(a, np.float64) for a in (x, y)]
        for a, e in zip((x, y), exact, strict=True):
            for place in np.ndindex(a.shape):
                near = [b.astype(np.float64) for b in (x, y)]
                ends = []
                for sign in (1, -1):
                    moved = [b.copy() for b in near]
                    moved[0 if a is x else 1][place] += sign * 1e-6
                    ends.append(loss.__wrapped__(*moved, i))
                e[place] = (ends[0] - ends[1]) / 2e-6
        for got, e in zip(gradient(x, y, i), exact, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, e, rtol=2e-4 if dtype == np.float32 else 1e-6, atol=1e-4)
    with pytest.raises(IndexError):
        gradient(x, y, np.array([0, 99]))


def test_writes_to_what_overlaps_are_refused():
    def f(a, b):
        b[:] = a[:4] * 2
        return (a * a).sum() + b.sum()

    x = V.copy()
    with pytest.raises(NestorError, match="writes to an array that shares memory with a"):
        nt.grad(f)(x, x[2:])
    np.testing.assert_array_equal(x, V)
    got = nt.grad(f)(x, x[2:].copy())
    np.testing.assert_allclose(got, 2 * V + np.array([2.0, 2, 2, 2, 0, 0]), rtol=1e-14)


@pytest.mark.parametrize("dynamic", [False, True])
def test_stencils_of_few_elements(dynamic):
    gradient = nt.jit(nt.grad(lambda x, w: np.sum(stencil(x, w) * w)), dynamic=dynamic)
    for shape in ((6, 7), (3, 4), (3, 3), (2, 6), (7, 3), (1, 5), (0, 4), (4, 5)):
        x, w = _RNG.standard_normal((2, *shape))
        expected = np.zeros(shape)
        for place in np.ndindex(shape):
            moved = [x.copy(), x.copy()]
            moved[0][place] += 1e-6
            moved[1][place] -= 1e-6
            ends = [np.sum(stencil(m, w) * w) for m in moved]
            expected[place] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(gradient(x, w), expected, rtol=1e-6, atol=1e-7)
