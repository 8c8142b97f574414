"""Arrays joined, split, repeated, padded and turned, against NumPy: dtypes, memory orders, empty and small extents."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(2)


def joined(a, b):
    return (
        np.concatenate([a, b]),
        np.concatenate((a, b, a), axis=-1),
        np.concatenate([a, b], axis=None),
        np.concatenate([a * 2, b.T.T + 1], axis=1, dtype=np.float64),
    )


def stacked(a, b):
    return np.stack([a, b]), np.stack((a, b), axis=-1), np.stack([a, b + 1], 1), np.stack(a)


def stacks(a, b):
    return np.vstack([a, b]), np.hstack([a, b]), np.dstack([a, b]), np.column_stack([a, b])


def rows(a, b):
    return (
        np.vstack([a, b]),
        np.hstack([a, b, 3]),
        np.dstack((a, b)),
        np.column_stack((a, b)),
        np.stack([a, b]),
    )


def numbers(a, b):
    return np.stack([a.sum(), b.max(), 3]), np.hstack([a.sum(), 2.5]), np.atleast_1d(a.sum())


def halves(a):
    first, second = np.split(a, 2)
    return first + second, np.split(a, [1, 3])[1] + 0, np.array_split(a, 3)[2] + 0


def columns(a):
    left, right = np.hsplit(a, 2)
    above, below = np.vsplit(a, 2)
    return left - right, above + below, np.array_split(a, 3, axis=1)[1] * 1


def depths(a):
    x, y = np.dsplit(a, 2)
    return x + y


def tiled(a):
    return (
        np.tile(a, 2),
        np.tile(a, (2, 1)),
        np.tile(a, (3, 1, 2)),
        np.tile(a, 0),
        np.tile(a, 1),
        np.tile(a, 20),
    )


def repeated(a):
    return np.repeat(a, 3), np.repeat(a, 2, axis=0), a.repeat(5, axis=-1), np.repeat(a, 0), a.repeat(1)


def repeated_each(a):
    return np.repeat(a, [1, 0, 3], axis=0)


def rolled(a):
    return (
        np.roll(a, 1),
        np.roll(a, -2, axis=0),
        np.roll(a, (1, 2), axis=(0, 1)),
        np.roll(a, 0),
        np.roll(a, 50, 1),
    )


def turned(a):
    return np.flip(a), np.flip(a, 0), np.fliplr(a), np.flipud(a), np.flip(a, (0, 1))


def quarters(a):
    return np.rot90(a), np.rot90(a, 2), np.rot90(a, -1), np.rot90(a, 4), np.rot90(a, 1, (1, 0))


def moved(a):
    return (
        np.moveaxis(a, 0, -1),
        np.moveaxis(a, [0, 1], [-1, 0]),
        np.rollaxis(a, 2),
        np.rollaxis(a, 0, 3),
        np.swapaxes(a, 0, 2),
        np.matrix_transpose(a),
        np.permute_dims(a, (2, 0, 1)),
    )


def ranks(a):
    return (
        np.atleast_1d(a),
        np.atleast_2d(a),
        np.atleast_3d(a),
        np.expand_dims(a, (0, -1)),
        np.squeeze(a[None]),
    )


def reshaped(a):
    return (
        a.reshape(-1) + 0,
        np.reshape(a, (2, -1)) + 0,
        a.ravel(order="F") + 0,
        a.reshape((2, -1), order="F") + 0,
        a.flatten(),
        a.flatten("F"),
    )


def spread(a, b):
    x, y = np.broadcast_arrays(a, b[0])
    return x + 0, y + 0, np.broadcast_to(b, (2, *b.shape)) + 0


def grid(a, b):
    x, y = np.meshgrid(a, b)
    return x, y, *np.meshgrid(a, b, indexing="ij"), *np.meshgrid(a, b, sparse=True), np.meshgrid(a)[0]


def open_grid(a, b):
    x, y = np.ix_(a, b)
    return x * y, np.multiply.outer(a, b)


def padded(a):
    return (
        np.pad(a, 1),
        np.pad(a, ((0, 2), (1, 0))),
        np.pad(a, 2, constant_values=7),
        np.pad(a, 1, "constant", constant_values=(1, 2)),
        np.pad(a, 1, "edge"),
        np.pad(a, ((1, 0), (0, 2)), mode="edge"),
    )


def mirrored(a):
    return np.pad(a, 1, "reflect"), np.pad(a, (1, 2), "symmetric"), np.pad(a, ((2, 1), (0, 1)), "wrap")


def far(a):
    return np.pad(a, 9, "reflect"), np.pad(a, 7, "symmetric"), np.pad(a, 8, "wrap"), np.pad(a, 0, "reflect")


def edited(a):
    return (
        np.append(a, a * 2),
        np.append(a, [[1, 2, 3]], axis=0),
        np.delete(a, 1, axis=0),
        np.delete(a, [0, -1], axis=1),
        np.delete(a, 2),
        np.insert(a, 1, 5, axis=0),
        np.insert(a, -1, a[:, 0], axis=1),
        np.insert(a, 3, 9),
    )


PAIRS = [joined, stacked, stacks]
MATRICES = [halves, columns, tiled, repeated, rolled, turned, quarters, reshaped, padded, mirrored]


def matrix(dtype, order="C"):
    table = np.arange(24).reshape(4, 6).astype(dtype)
    return np.asfortranarray(table) if order == "F" else table


LONG = [joined, stacks, tiled, padded, mirrored]
"""Programs of many nests, each of which transposes tiles where a matrix is by columns."""


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", PAIRS)
def test_two_matrices(function, dynamic):
    a = matrix("f4")
    agrees(function, a, a[::-1] * 2, dynamic=dynamic)
    if not (dynamic and function in LONG):
        agrees(function, matrix("i2", "F"), matrix("f4", "F"), dynamic=dynamic)


@pytest.mark.parametrize(
    "function", [pytest.param(f, marks=[pytest.mark.slow] if f is tiled else []) for f in MATRICES]
)
def test_a_matrix_of_any_extents(function):
    """Of `tiled`, which has most nests, among slow tests; `repeated` and `stacks` repeat as well."""
    agrees(function, matrix("u1", "C" if function in LONG else "F"), dynamic=True)


@pytest.mark.parametrize("function", MATRICES)
def test_a_matrix_by_columns(function):
    agrees(function, matrix("u1", "F"))


def in_layouts():
    """By rows or backwards in turn; the other is slow."""
    for k, function in enumerate(MATRICES):
        for backwards in (False, True):
            yield pytest.param(function, backwards, marks=[pytest.mark.slow] if k % 2 != backwards else [])


@pytest.mark.parametrize(("function", "backwards"), list(in_layouts()))
def test_a_matrix(function, backwards):
    agrees(function, matrix("i8")[::-1, ::-1] if backwards else matrix("f8"))


@pytest.mark.slow
@pytest.mark.parametrize("function", LONG)
def test_long_programs_by_columns_of_any_extents(function):
    arguments = [matrix("i2", "F"), matrix("f4", "F")] if function in PAIRS else [matrix("u1", "F")]
    agrees(function, *arguments, dynamic=True)


@pytest.mark.parametrize("function", [rows, numbers, spread])
def test_vectors(function):
    a = np.arange(5, dtype="i4")
    if function is spread:
        agrees(function, a, np.arange(15.0).reshape(3, 5))
    else:
        agrees(function, a, a.astype("f4") / 2)
        agrees(function, a[::-2], a[:3])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [grid, open_grid])
def test_grids(function, dynamic):
    agrees(function, np.arange(3), np.arange(4.0), dynamic=dynamic)


@pytest.mark.parametrize("function", [moved, depths])
def test_cubes(function):
    agrees(function, np.arange(24.0).reshape(2, 3, 4))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (1,), (0,)])
def test_ranks(shape):
    agrees(ranks, np.ones(shape))


@pytest.mark.parametrize(
    "shape", [(1, 1), *(pytest.param(s, marks=pytest.mark.slow) for s in ((1, 4), (2, 1))), (3, 2)]
)
def test_pads_wider_than_the_array(shape):
    agrees(far, np.arange(np.prod(shape)).reshape(shape))


def test_repeats_and_edits():
    agrees(repeated_each, np.arange(6.0).reshape(3, 2))
    agrees(edited, np.arange(9).reshape(3, 3))
    agrees(edited, np.arange(9.0).reshape(3, 3), dynamic=True)


@pytest.mark.parametrize("function", [joined, stacks])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 3)])
def test_empty_and_single(function, shape):
    agrees(function, np.ones(shape), np.zeros(shape))


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
@pytest.mark.parametrize("function", [tiled, rolled, padded, mirrored, reshaped])
def test_targets(function, target):
    agrees(function, matrix("f4"), target=target)


def in_a_loop(x):
    y = np.zeros((len(x), 5))
    for i in range(len(x)):
        row = np.concatenate([x[i, 1:], x[i, :1]])
        y[i, :] = np.pad(np.roll(row, 1), (1, 1))[:5] + np.tile(row[:1], 5) + np.repeat(row[:1], 5)
    return y


def test_inside_loops():
    agrees(in_a_loop, np.arange(12.0).reshape(3, 4))
    agrees(in_a_loop, np.arange(12.0).reshape(3, 4), dynamic=True)


def not_shared(x):
    y = np.concatenate([x, x])
    t = np.tile(x, 2)
    x[0] = 100
    y[1] = 50
    return y, t


def test_results_are_new_arrays():
    agrees(not_shared, np.arange(4.0))


ERRORS = [
    (
        lambda: _concatenate_ranks,
        (np.ones(2), np.ones((2, 2))),
        ValueError,
        "must have same number of dimensions",
    ),
    (
        lambda: _concatenate,
        (np.ones((2, 3)), np.ones((2, 4))),
        ValueError,
        "along dimension 1, the array at index 0",
    ),
    (lambda: _stack, (np.ones(2), np.ones(3)), ValueError, "must have the same shape"),
    (lambda: _split, (np.ones(5), np.ones(1)), ValueError, "equal division"),
    (lambda: _odd_pad, (np.ones(5), np.ones(1)), nt.UnsupportedError, "np.pad with mode 'linear_ramp'"),
    (lambda: _order_k, (np.ones((2, 2)), np.ones(1)), nt.UnsupportedError, "order='K'"),
]


def _concatenate_ranks(a, b):
    return np.concatenate([a, b])


def _concatenate(a, b):
    return np.concatenate([a, b])


def _stack(a, b):
    return np.stack([a, b])


def _split(a, b):
    return np.split(a, 2)[0] + b


def _odd_pad(a, b):
    return np.pad(a, 1, "linear_ramp")


def _order_k(a, b):
    return a.ravel(order="K")


@pytest.mark.parametrize(("function", "arguments", "error", "message"), ERRORS)
def test_refusals(function, arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        nt.jit(function()).lower(*arguments)
    assert isinstance(caught.value, nt.NestorError)
    assert "^" in str(caught.value)


OF_SCALARS = {
    "squeeze": lambda x: (np.squeeze(x.sum()), x[0].squeeze(), np.squeeze(x.sum(), axis=0), np.squeeze(3.0)),
    "a new axis": lambda x: (np.sin(x.sum())[None], x[0][np.newaxis, None], x.sum()[..., None]),
    "nothing": lambda x: (x.sum()[()], x.sum()[...], np.float32(2)[None]),
    "reshape": lambda x: (x.sum().reshape(1), np.reshape(x[0], (1, 1)), x.sum().ravel(), x[1].flatten()),
    "transpose": lambda x: (x.sum().T, np.transpose(x.sum()), np.expand_dims(x.sum(), 0)),
    "joined": lambda x: np.concatenate([x.sum()[None], x]),
}


@pytest.mark.parametrize("name", OF_SCALARS)
def test_scalars_of_numpy_are_arrays_of_rank_0_to_these(name):
    agrees(OF_SCALARS[name], np.arange(1.0, 4.0))
    agrees(OF_SCALARS[name], np.arange(1, 4), dynamic=True)


def test_a_scalar_has_no_items():
    with pytest.raises(IndexError):
        nt.jit(lambda x: x.sum()[0])(np.ones(3))


def test_new_axes_of_scalars_in_loops():
    def f(x):
        t = np.zeros(3)
        for i in range(3):
            t[i : i + 1] = np.sin(x[i])[None]
        return t

    agrees(f, np.arange(3.0), tolerance=1e-15)


def test_derivatives_through_squeezed_scalars():
    def f(x):
        return (np.sin(np.squeeze(x.sum()))[None] * x).sum()

    x = np.arange(1.0, 4.0)
    expected = np.sin(6.0) + np.cos(6.0) * 6.0
    np.testing.assert_allclose(nt.grad(f)(x), np.full(3, expected))
    np.testing.assert_allclose(nt.jvp(f, (x,), (np.ones(3),))[1], 3 * expected)
