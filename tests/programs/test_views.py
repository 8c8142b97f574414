"""Views, in-place updates and what results share with arguments."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees


def shift(a):
    a[1:] = a[:-1]
    return a


def reverse_in_place(a):
    a[:] = a[::-1]


def through_a_view(a):
    b = a[1:-1]
    b[:] = 0
    b += 1
    return a.sum(), b


def sees_the_update(a):
    b = a[::2]
    a[0] = 7
    return b + 1


def transposed_write(a):
    a.T[0] = 5


def stencil(x):
    y = np.zeros_like(x)
    y[1:-1] = 0.5 * (x[:-2] + x[2:])
    return y


def pieces(x):
    return x.T, x[1:], x[0], x[..., None], x[-1, 1:3], x


def helper(q):
    q += 1


def calls_a_writer(a):
    helper(a)
    return a.sum()


def windows(x):
    return x[2:-2] * 1, x[::3] + 0, x[-3:] + 0, x[5:2] + 0, x[::-2] + 0


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (shift, (7,)),
        (shift, (5, 3)),
        (reverse_in_place, (6,)),
        (through_a_view, (9,)),
        (sees_the_update, (6,)),
        (transposed_write, (4, 3)),
        (stencil, (8,)),
        (pieces, (3, 4)),
        (calls_a_writer, (3, 4)),
        (windows, (9,)),
        (windows, (3,)),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_agrees(function, shape, dynamic):
    agrees(function, np.arange(float(np.prod(shape))).reshape(shape), dynamic=dynamic)


def test_results_share_memory_as_numpys_do():
    x = np.arange(12.0).reshape(3, 4)
    transposed, rows, _, column, _, itself = nt.jit(pieces)(x)
    assert itself is x
    assert all(np.shares_memory(v, x) for v in (transposed, rows, column))


def test_read_only_array():
    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        nt.jit(shift)(a)


def reshaped_before(x):
    r = x.reshape(-1)
    x[0, 0] = 9
    return r * 1


def test_a_reshaped_view_shows_later_writes():
    agrees(reshaped_before, np.zeros((2, 2)))
    with pytest.raises(nt.UnsupportedError, match="reshaped view of 'x' is read after"):
        nt.jit(reshaped_before)(np.zeros((2, 4))[:, ::2])


def empty_new_axes(a):
    b = a[None][1:]
    return b, a[:, None][:, 1:], a[None][::-1][1:], a[None][:5], a[None, None, 1:][:, 2:], a[None][:0].T


@pytest.mark.parametrize(
    "a", [np.arange(3.0), np.arange(6)[::-2], np.zeros(0)], ids=["row-major", "backwards", "empty"]
)
def test_new_axes_that_are_cut_to_nothing_are_empty(a):
    jitted = agrees(empty_new_axes, a)
    assert [r.strides for r in jitted(a)] == [r.strides for r in empty_new_axes(a)]
