"""Gradients of plain loops that write in place, by every target, are central differences of the Python code."""

import nestor as nt
import numpy as np
import pytest
from in_place_programs import PROGRAMS

pytestmark = pytest.mark.one_of(4)

NAMES = {f.__name__: f for f in PROGRAMS}


def is_active(argument):
    return isinstance(argument, np.ndarray) and argument.dtype.kind == "f"


def copies(arguments):
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]


def differences(f, arguments, k, step=1e-6):
    found = np.zeros(arguments[k].shape)
    for place in np.ndindex(found.shape):
        values = []
        for sign in (1, -1):
            near = copies(arguments)
            near[k][place] += sign * step
            values.append(f(*near))
        found[place] = (values[0] - values[1]) / (2 * step)
    return found


def check(name, **how):
    """All calls, of one jitted gradient; arguments stay as they are."""
    f = NAMES[name]
    calls = PROGRAMS[f]
    active = [k for k, a in enumerate(calls[0]) if is_active(a)]
    gradient = nt.jit(nt.value_and_grad(f, argnums=tuple(active)), **how)
    for arguments in calls:
        before = copies(arguments)
        value, found = gradient(*arguments)
        np.testing.assert_allclose(value, f(*copies(arguments)), rtol=1e-12)
        for k, one in zip(active, found, strict=True):
            expected = differences(f, arguments, k)
            scale = 1 + np.abs(expected).max(initial=0)
            np.testing.assert_allclose(one, expected, rtol=2e-5, atol=1e-6 * scale)
        for one, other in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(one, other)


QUICK = (
    "lu",
    "product",
    "deriche",
    "soft_dtw",
    "dtw_of_one_row",
    "floyd_warshall",
    "relaxed",
    "newton_of_each",
    "walks",
    "rows_of_a_sparse_matrix",
    "double_pendulum",
    "scatter_add",
    "histogram",
    "bilinear",
)


def some(quick):
    return [n if n in quick else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]


def test_there_are_fifty_programs():
    assert len(PROGRAMS) >= 50


@pytest.mark.parametrize("name", some(QUICK))
def test_by_the_processor(name):
    check(name)


@pytest.mark.parametrize("name", some(("carried_number", "until", "walks", "mesh")))
def test_unknown_extents(name):
    check(name, dynamic=True)


@pytest.mark.parametrize(
    "name", some(("burgers", "counted_down", "clipped", "products_of_columns", "largest_sum"))
)
def test_by_the_interpreter(name):
    check(name, target="interp")


@pytest.mark.parametrize("name", some(("carried_number", "relaxed")))
def test_in_the_simulator(name):
    check(name, target="cuda-sim:checked")


@pytest.mark.parametrize("name", some(("reaction", "running_product", "counted_down")))
def test_both_modes_agree(name):
    """<J v, w> = <v, J' w>, with w = 1."""
    f = NAMES[name]
    arguments = PROGRAMS[f][0]
    active = [k for k, a in enumerate(arguments) if is_active(a)]
    rng = np.random.default_rng(2)
    directions = [rng.standard_normal(arguments[k].shape) for k in active]

    def of_active(*values):
        whole = list(arguments)
        for k, value in zip(active, values, strict=True):
            whole[k] = value
        return f(*whole)

    primals = tuple(arguments[k] for k in active)
    _, moved = nt.jvp(of_active, primals, tuple(directions))
    gradients = nt.grad(f, argnums=tuple(active))(*arguments)
    other = sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(moved, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["burgers", "product", "carried_number"])
def test_single_precision(name):
    f = NAMES[name]
    for arguments in PROGRAMS[f]:
        (x,) = (a.astype("f4") for a in arguments)
        found = nt.grad(f)(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, differences(f, [x.astype("f8")], 0), rtol=2e-3, atol=2e-3)


def counted(x, n):
    i, s = 0, 1.0
    while i < n:
        s = np.sin(s) * x[i]
        print("at", i)
        if s > 5.0:
            raise ValueError("large")
        i += 1
    return s


def test_a_loop_that_runs_twice_prints_and_checks_once(capsys):
    gradient = nt.grad(counted)
    gradient(np.array([1.0, 2.0, 3.0]), 3)
    assert capsys.readouterr().out == "at 0\nat 1\nat 2\n"
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        gradient(np.array([1.0, 2.0, 3.0]), 5)
    assert capsys.readouterr().out == "at 0\nat 1\nat 2\n"
    with pytest.raises(ValueError, match="large"):
        gradient(np.array([1.0, 20.0, 3.0]), 3)
    assert capsys.readouterr().out == "at 0\nat 1\n"


def recorded(x, out):
    i, s = 0, 0.5
    while s < 3.0 and i < 10:
        s = s + out[i] + x[0] * s * np.cos(x[1])
        out[i] = s
        i += 1
    return s * s


def test_a_loop_that_runs_twice_writes_its_arguments_once():
    gradient = nt.grad(recorded)
    for x in (np.array([0.5, 0.2]), np.array([9.0, 0.0])):
        found, expected = np.linspace(0, 1, 10), np.linspace(0, 1, 10)
        g = gradient(x, found)
        exact = differences(lambda x: recorded(x, np.linspace(0, 1, 10)), [x], 0)
        np.testing.assert_allclose(g, exact, rtol=1e-6)
        recorded(x, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


RATES = {"rate": 0.3}


def test_what_is_read_outside_is_read_in_every_call():
    def f(x):
        s = 1.0
        while s < 4.0:
            s = s + RATES["rate"] * x[0] * s
        return s

    gradient = nt.grad(f)
    for rate in (0.3, 1.5, 0.3):
        RATES["rate"] = rate
        np.testing.assert_allclose(gradient(np.array([0.9])), differences(f, [np.array([0.9])], 0), rtol=1e-6)


def repeated_sine(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = np.sin(s) * x[i] + 0.3
    return s


def until_two(x):
    s, i = 0.5, 0
    while s < 2.0 and i < 6:
        s = s + 0.3 * np.cos(s) * x[i % 5] ** 2
        i += 1
    return s * s


def in_a_loop_on_arrays(w):
    h, t = np.ones(w.shape[1]), 0.0
    for k in range(w.shape[0]):
        h = np.tanh(h * w[k]) + 0.1 * until_two(h) + repeated_sine(h)
        t = t + h.sum()
    return t


def in_a_while_loop_on_arrays(w):
    h, n = np.ones(w.shape[1]), 0
    while (h * h).sum() > 0.2 and n < 9:
        h = h * 0.6 * np.cos(w[0])
        h = h + 0.01 * until_two(h)
        n += 1
    return h.sum()


def in_a_branch(w):
    return until_two(w[0]) * repeated_sine(w[1]) if w.sum() > 0 else repeated_sine(w[0])


ROWS = np.random.default_rng(0).standard_normal((3, 5))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(in_a_loop_on_arrays, marks=SLOW),
        in_a_while_loop_on_arrays,
        pytest.param(in_a_branch, marks=SLOW),
    ],
)
def test_among_code_on_arrays(f):
    gradient = nt.grad(f)
    for w in (ROWS, -ROWS, ROWS[::-1]):
        np.testing.assert_allclose(gradient(w), differences(f, [w], 0), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", [pytest.param(repeated_sine, marks=SLOW), until_two])
def test_second_derivatives(f):
    x, d = ROWS[0], ROWS[1]
    gradient = nt.grad(f)
    expected = (gradient(x + 1e-5 * d) - gradient(x - 1e-5 * d)) / 2e-5
    np.testing.assert_allclose(nt.hvp(f, (x,), (d,)), expected, rtol=1e-5, atol=1e-6)
    twice = nt.grad(lambda x: np.sum(nt.grad(f)(x) * d))
    np.testing.assert_allclose(twice(x), expected, rtol=1e-5, atol=1e-6)


def test_of_each_row():
    expected = [differences(repeated_sine, [row], 0) for row in ROWS]
    np.testing.assert_allclose(nt.vmap(nt.grad(repeated_sine))(ROWS), expected, rtol=1e-6, atol=1e-8)
    expected = [differences(until_two, [row], 0) for row in ROWS]
    summed = nt.grad(lambda rows: nt.vmap(until_two)(rows).sum())
    np.testing.assert_allclose(summed(ROWS), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(nt.vmap(nt.grad(until_two))(ROWS), expected, rtol=1e-6, atol=1e-8)
    stacked = nt.vmap(nt.vmap(nt.grad(until_two)))(ROWS[None])
    np.testing.assert_allclose(stacked, [expected], rtol=1e-6, atol=1e-8)


def test_a_pullback_twice():
    _, pullback = nt.vjp(until_two, ROWS[0])
    (one,), (other,) = pullback(1.0), pullback(-2.0)
    np.testing.assert_allclose(one, differences(until_two, [ROWS[0]], 0), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other, -2 * one, rtol=1e-14)
