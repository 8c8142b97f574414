"""nt.vmap from Python and in compiled code: axes, structures, what is the same for all slices, and what is refused."""

import sys
from dataclasses import dataclass
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from slices import assert_same, in_loop

pytestmark = pytest.mark.one_of(2)

X = np.random.default_rng(0).standard_normal((5, 4))
W = np.array([0.5, -1.0, 2.0, 3.0])


def weighted(x, w):
    return (x * w).sum()


# ---- axes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_axes", [0, 1, -1, -2])
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_axes(in_axes, out_axes):
    table = np.arange(24.0).reshape(4, 6)

    def both(x):
        return x * 2, np.outer(x, x)

    got = nt.vmap(both, in_axes, out_axes)(table)
    assert_same(got, in_loop(both, (table,), in_axes, out_axes), 0)


def test_axes_of_arguments():
    got = nt.vmap(weighted, in_axes=(1, None))(X.T, W)
    np.testing.assert_allclose(got, X @ W)
    assert nt.vmap(weighted, in_axes=[None, np.int64(0)])(W, X).shape == (5,)


def test_axes_of_structures():
    def f(pair, params):
        return pair[0] * params["w"] + pair[1], params["b"].sum()

    pair, params = (X, X[:, 0]), {"w": W, "b": X.T}
    first, second = nt.vmap(f, in_axes=((0, 0), {"w": None, "b": 1}))(pair, params)
    np.testing.assert_allclose(first, X * W + X[:, :1])
    np.testing.assert_allclose(second, X.sum(1))
    again = nt.vmap(f, in_axes=(0, {"w": None, "b": -1}))(pair, params)
    np.testing.assert_array_equal(again[0], first)


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


def test_objects():
    """An object is sliced as what it consists of, and given back as one."""

    def doubled(layer, x):
        return Layer(layer.w * 2, layer.b + x)

    got = nt.vmap(doubled, in_axes=(0, None))(Layer(X, X[:, 0]), 3.0)
    assert type(got) is Layer
    np.testing.assert_array_equal(got.w, X * 2)
    np.testing.assert_array_equal(got.b, X[:, 0] + 3)


def test_loops_over_elements_of_structures():
    """What has no name of its own, a value in a dict or of `*args`, is read in loops over elements too."""

    def running(params, *more):
        y = np.zeros_like(params["w"])
        for i in range(1, len(y)):
            y[i] = y[i - 1] + params["w"][i] * more[0][i]
        return y

    want = [running({"w": x}, x) for x in X]
    np.testing.assert_allclose(nt.vmap(running)({"w": X}, X), want)


# ---- slices that are done before others -----------------------------------------------------------------

TABLE = np.arange(1.0, 7.0)


def indices(step):
    i, total = 0, 0.0
    while i < len(TABLE):
        total += TABLE[i]
        i += step
    return total, i


def indices_down(n):
    k, total = n, 0.0
    while k >= 0:
        total += TABLE[k] / (k + 1)
        k -= 2
    return total, k


def quotients(n):
    total, left = 0, n
    while left > 0:
        total += 60 // left
        left -= 1
    return total


def loops_in_loops(n):
    rounds, k = 0, n
    while k > 1:
        while k % 2 == 0:
            k = k // 2
        rounds += 1
        k = k - 1
    return rounds


def parts(n):
    k, total = 0, TABLE * 0
    while k + n <= len(TABLE):
        total = total + TABLE[k : k + n].sum()
        k = k + n
    return total, k


def rows(step):
    i, total = 0, TABLE * 0
    while i < len(TABLE):
        total = total + TABLE * TABLE[i]
        i = i + step
    return total


def shares(n):
    total, left = TABLE * 0, n
    while left > 0:
        total = total + TABLE * (60 // left)
        left = left - 1
    return total


def refused_numbers(n):
    total, k = TABLE * 0, n
    while k > 0:
        total = total + TABLE
        k = k - 2
        if k < -1:
            raise ValueError("too far")
    return total


def elements(n):
    total, k = TABLE * 0, 0
    while k < len(TABLE):
        total[k] = n
        for j in range(k, len(TABLE)):
            total[j] += total[j - k] + TABLE[k]
        k = k + n
    return total


def part_of_a_branch(n):
    if n % 2 > 0:
        some = TABLE * n
    else:
        some = TABLE[:n].sum() + TABLE
    return some


ENDS = (
    indices,
    indices_down,
    quotients,
    loops_in_loops,
    parts,
    rows,
    shares,
    refused_numbers,
    elements,
    part_of_a_branch,
)


@pytest.mark.one_of(1)
@pytest.mark.parametrize("f", ENDS)
def test_what_fails_for_slices_that_are_done_is_not_done_for_them(f):
    """They are done at an index behind the end, at a divisor 0, at 0, which can be halved for ever."""
    numbers = np.array([5, 1, 2, 4, 3])
    want = [f(int(n)) for n in numbers]
    got = nt.vmap(f)(numbers)
    if isinstance(want[0], tuple):
        for ours, numpys in zip(got, zip(*want, strict=True), strict=True):
            np.testing.assert_allclose(ours, numpys)
    else:
        np.testing.assert_allclose(got, want)


# ---- keywords and defaults ------------------------------------------------------------------------------


def test_keywords_are_sliced_along_the_first_axis():
    def f(x, *, w):
        return (x * w).sum()

    np.testing.assert_allclose(nt.vmap(f, in_axes=(None,))(W, w=X), X @ W)
    np.testing.assert_allclose(nt.vmap(weighted)(X, w=X), (X * X).sum(1))

    @nt.jit
    def program(x, w):
        return nt.vmap(weighted, in_axes=(None,))(x, w=w)

    np.testing.assert_allclose(program(W, X), X @ W)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, 1), [0, -1], (0, None, 0)])
def test_an_axis_that_is_named_is_the_callers_whatever_has_a_default(in_axes):
    """A number has none, though a parameter with a default may be left out."""

    def f(x, scale=2.0, shift=0.0):
        return x * scale + shift

    given = (X, 3.0, 1.0)[: len(in_axes)]
    with pytest.raises(nt.NestorError, match="is a number, and has no axis"):
        nt.vmap(f, in_axes)(*given)
    with pytest.raises(nt.NestorError, match="is a number, and has no axis"):
        nt.jit(nt.vmap(f, in_axes))(*given)


def test_defaults_and_none_are_no_slices():
    def f(x, scale=2.0, mask=None):
        return x * scale if mask is None else x * mask

    np.testing.assert_array_equal(nt.vmap(f)(X), X * 2)
    np.testing.assert_array_equal(nt.vmap(f, (0, None))(X, 3), X * 3)
    np.testing.assert_array_equal(nt.vmap(f)(X, np.arange(5)), X * np.arange(5)[:, None])
    np.testing.assert_array_equal(nt.vmap(f, (0,))(X, 4), X * 4)
    np.testing.assert_array_equal(nt.vmap(f, (0, None, None))(X, 2, W), X * W)
    np.testing.assert_array_equal(nt.vmap(f)(X, mask=X), X * X)


def test_results_that_are_the_same_for_all():
    def f(x, w):
        return x.sum(), w * 2, x.shape[0], 7.5

    got = nt.vmap(f, (0, None), (0, None, None, None))(X, W)
    np.testing.assert_array_equal(got[1], W * 2)
    assert got[2] == 4 and got[3] == 7.5
    stacked = nt.vmap(f, (0, None))(X, W)
    assert_same(stacked, in_loop(f, (X, W), (0, None)), 1e-12)


def test_a_result_of_none():
    assert nt.vmap(lambda x: (x, None))(X)[1] is None


def test_a_slice_of_a_vector_is_a_number():
    def f(k, x):
        return x[k], sum([x[i] for i in range(3)]), isinstance(k, np.ndarray)

    k = np.array([3, 1, 0])
    assert_same(nt.vmap(f, (0, None))(k, W), in_loop(f, (k, W), (0, None)), 0)


# ---- calls ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"target": "interp"}], ids=str)
def test_later_calls_with_other_shapes_and_types(options):
    each = nt.jit(nt.vmap(weighted, (0, None)), **options)
    for x, w in (
        (X, W),
        (X[:2], W),
        (X[::-1, ::2], W[::2]),
        (X[:1], W),
        (X[:0], W),
        (X.astype("f4"), W.astype("f4")),
        (np.asfortranarray(X), W),
        (np.full((2, 4), np.nan), W),
        (X, W[:1]),
    ):
        want = np.sum(x * w, axis=1)
        got = each(x, w)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_read_only_and_overlapping_arguments():
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_allclose(nt.vmap(np.dot)(x, x), (x * x).sum(1))
    y = X.copy()
    np.testing.assert_allclose(nt.vmap(np.dot)(y[1:], y[:-1]), (y[1:] * y[:-1]).sum(1))


SCALE = 2.0
OFFSETS = np.ones(4)


def scaled(x):
    return x * SCALE + OFFSETS


def test_what_is_read_outside_is_read_at_each_call(monkeypatch):
    each = nt.vmap(scaled)
    np.testing.assert_array_equal(each(X), X * 2 + 1)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_array_equal(each(X), X * 5 + 1)
    OFFSETS[1] = 9.0
    try:
        np.testing.assert_array_equal(each(X), X * 5 + OFFSETS)
    finally:
        OFFSETS[1] = 1.0


def test_the_same_function_is_compiled_once():
    assert nt.vmap(weighted, (0, None)) is nt.vmap(weighted, (0, None))

    class Model:
        def forward(self, x):
            return (x * 2).sum()

    one, other = Model(), Model()
    assert nt.vmap(one.forward) is nt.vmap(one.forward)
    assert nt.vmap(one.forward) is not nt.vmap(other.forward)
    assert nt.grad(one.forward) is nt.grad(one.forward)


def test_a_function_that_is_jitted():
    np.testing.assert_allclose(nt.vmap(nt.jit(weighted), (0, None))(X, W), X @ W)


@pytest.mark.parametrize("function", [np.sum, np.max, np.argmax, np.var, np.linalg.norm, np.sort, np.diag])
def test_functions_of_numpy(function):
    """Their parameters with defaults are not sliced, and what NumPy has for one that is not given is not given."""
    assert_same(nt.vmap(function)(X), in_loop(function, (X,)), 1e-12)


def test_in_compiled_code():
    """Closures over values of the program, lambdas, methods of NumPy, and what comes of them goes on."""

    @nt.jit
    def program(x, w, n):
        s = (w * n).sum()
        rows = nt.vmap(lambda row: row * s + w)(x)
        return nt.vmap(np.linalg.norm, in_axes=1)(rows + 1) * n

    s = (W * 3).sum()
    np.testing.assert_allclose(program(X, W, 3), np.linalg.norm(X * s + W + 1, axis=0) * 3)
    np.testing.assert_allclose(program(X, W, 2.5), np.linalg.norm(X * W.sum() * 2.5 + W + 1, axis=0) * 2.5)


def test_slices_of_slices():
    def distance(a, b):
        return np.sqrt(((a - b) ** 2).sum())

    pairs = nt.vmap(nt.vmap(distance, (None, 0)), (0, None))
    want = np.sqrt(((X[:, None] - X[None, :3]) ** 2).sum(2))
    np.testing.assert_allclose(pairs(X, X[:3]), want)
    cube = np.arange(24.0).reshape(2, 3, 4)
    got = nt.vmap(nt.vmap(lambda x, k: x[k], (1, 0), 0), (0, None), 1)(cube, np.array([2, 0, 1, 1]))
    np.testing.assert_array_equal(got, np.stack([c[[2, 0, 1, 1], range(4)] for c in cube], 1))


def test_explain_and_text():
    each = nt.vmap(weighted, (0, None))
    text = each.lower(X, W).as_text("nt")
    assert "nt.batch @weighted" in text and "along [0, -1]" in text
    assert "nest.for" in each.lower(X, W).as_text("nest")


def test_what_runs_slice_by_slice_is_said():
    def counts(k):
        return np.bincount(k, minlength=3)

    numbers = np.array([[0, 1, 1], [2, 2, 2]])
    each = nt.vmap(counts)
    np.testing.assert_array_equal(each(numbers), [[1, 2, 0], [0, 0, 3]])
    assert "numpy.bincount" in each.explain(numbers) and "one slice after the other" in each.explain(numbers)


# ---- effects --------------------------------------------------------------------------------------------


def test_prints_are_made_for_each_slice_what_is_the_same_once(capfd):
    def f(x, w):
        print("w", w)
        print("x", x[0], x)
        return x

    nt.vmap(f, (0, None))(np.array([[1.0, 2.0], [3.0, 4.0]]), 7)
    assert capfd.readouterr().out == "w 7\nx 1.0 [1. 2.]\nx 3.0 [3. 4.]\n"


def test_checks_are_made_for_each_slice():
    def f(x, k):
        assert x.sum() < 10, "too much"
        return x[k]

    table, k = np.ones((3, 4)), np.array([0, 3, -1])
    each = nt.vmap(f)
    np.testing.assert_array_equal(each(table, k), np.ones(3))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        each(table, np.array([0, 4, 1]))
    table[1] = 5
    with pytest.raises(AssertionError, match="too much"):
        each(table, k)


def test_a_check_on_a_path_that_a_slice_does_not_take():
    def f(x, k):
        if k >= 0:
            return x[k]
        return 0.0

    got = nt.vmap(f, (None, 0))(W, np.array([2, -7, 0]))
    np.testing.assert_array_equal(got, [W[2], 0, W[0]])


def test_own_functions_are_called_for_each_slice():
    def f(x):
        return nt.custom_call(np.polyval, x, 2.0, result=nt.spec((), "f8"))

    np.testing.assert_allclose(nt.vmap(f)(X), [np.polyval(x, 2.0) for x in X])


# ---- what is refused ------------------------------------------------------------------------------------


def refused(error, text, function, *arguments, **axes):
    with pytest.raises(error, match=text):
        nt.vmap(function, **axes)(*arguments)


def test_numbers_of_slices_that_differ():
    text = "x has 5 slices along axis 0, and w has 4 along axis 0"
    refused(ValueError, text, weighted, X, W)
    with pytest.raises(ValueError, match=r"x has|number of slices"):
        nt.jit(nt.vmap(weighted), dynamic=True)(X, X[:3])


def test_an_axis_that_is_not_there():
    refused(ValueError, "x is an array with 2 axes, and has no axis 2", weighted, X, W, in_axes=(2, None))
    refused(ValueError, "w is a number, and has no axis 0", weighted, X, 3.0)
    refused(ValueError, "out_axes has 1 for result, whose stack has 1 axes", weighted, X, X, out_axes=1)


def test_nothing_is_sliced():
    refused(ValueError, "no argument is sliced", weighted, X, W, in_axes=None)


def test_axes_that_do_not_fit_the_arguments():
    refused(ValueError, "in_axes has 3 entries for 2 arguments", weighted, X, W, in_axes=(0, 0, None))
    refused(
        ValueError,
        "in_axes has .* for x, which is",
        weighted,
        X,
        W,
        in_axes=({"a": 0}, None),
    )
    refused(TypeError, "in_axes has 'rows' in it", weighted, X, W, in_axes=("rows", None))
    refused(TypeError, "out_axes has True in it", weighted, X, W, out_axes=True)


def test_what_has_no_slices():
    refused(TypeError, "kind is .* which has no slices", lambda x, kind: x, X, "sum")
    refused(TypeError, "of which there are no stacks", lambda x: (x, "done"), X)


def test_a_result_that_differs_is_not_the_same_for_all():
    refused(nt.NestorError, "differs from slice to slice", weighted, X, W, in_axes=(0, None), out_axes=None)


def test_writes_to_what_all_slices_share():
    total = np.zeros(4)

    def f(x):
        total[:] += x
        return x

    refused(nt.NestorError, "writes to 'total', which all slices share", f, X)

    def g(x):
        x[0] = 1
        return x

    refused(nt.NestorError, "g writes to x, of which it is given slices", g, X.copy())


def test_shapes_that_differ_from_slice_to_slice():
    refused(nt.NestorError, "depends on what is sliced|differ", lambda x, k: x[:k], X, np.arange(5))
