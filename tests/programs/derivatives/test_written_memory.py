"""A function that writes to memory which it is differentiated with respect to is refused, by whatever name it writes."""

import nestor as nt
import numpy as np
import pytest

G = np.ones(3)
H = np.ones(3)


def first(x, y):
    y[0] = 5.0
    return (x * x).sum()


def loop(x, y):
    for i in range(3):
        y[i] += 2 * x[2 - i]
    return (x * x).sum()


def branch(x, y):
    if x[0] > 0:
        np.multiply(y, 2.0, out=y)
    return (x * x).sum()


def item(x, d):
    d["a"][0] = 5.0
    return (x * x).sum()


def outside(x):
    G[0] = 5.0
    return (x * x).sum()


class Model:
    def __init__(self):
        self.w = np.ones(3)

    def loss(self, w):
        self.w[0] = 5.0
        return (w * w).sum()


SHARING = {
    "the array": (first, lambda x: x),
    "all of it": (first, lambda x: x[:]),
    "all of it, reshaped": (first, lambda x: x.reshape(3, 1)[:, 0]),
    "backwards": (first, lambda x: x[::-1]),
    "a part": (first, lambda x: x[:2]),
    "an item of a dict": (item, lambda x: {"a": x}),
    "in a loop": (loop, lambda x: x),
    "in a branch, as out": (branch, lambda x: x),
}

MODES = {
    "grad": lambda f, x: nt.grad(f)(x),
    "jit": lambda f, x: nt.jit(lambda v: nt.value_and_grad(f)(v))(x),
    "jvp": lambda f, x: nt.jvp(f, (x,), (np.ones(3),)),
    "vjp": lambda f, x: nt.vjp(f, x),
    "linearize": lambda f, x: nt.linearize(f, x),
    "hvp": lambda f, x: nt.hvp(f, (x,), (np.ones(3),)),
    "jacrev": lambda f, x: nt.jacrev(f)(x),
    "jacfwd": lambda f, x: nt.jacfwd(f)(x),
}


def refused():
    return pytest.raises(nt.NestorError, match="writes to an array that shares memory with")


@pytest.mark.parametrize("case", SHARING)
def test_writes_through_another_argument_are_refused(case):
    function, other = SHARING[case]
    x = np.ones(3)
    gradient = nt.value_and_grad(function)
    gradient(np.ones(3), other(np.ones(3)))  # of arrays that share nothing it has a program
    with refused():
        gradient(x, other(x))
    with refused():
        nt.jit(lambda x, y: nt.value_and_grad(function)(x, y))(x, other(x))
    np.testing.assert_array_equal(x, np.ones(3))


@pytest.mark.parametrize("mode", MODES)
def test_writes_to_an_array_outside_that_is_the_argument_are_refused(mode):
    G[:] = 1.0
    with refused():
        MODES[mode](outside, G)
    np.testing.assert_array_equal(G, np.ones(3))


@pytest.mark.parametrize("mode", ["grad", "jit", "vjp"])
def test_methods_that_write_to_the_attribute_that_they_are_given_are_refused(mode):
    model = Model()
    with refused():
        MODES[mode](model.loss, model.w)
    np.testing.assert_array_equal(model.w, np.ones(3))


def same(x):
    return nt.grad(first)(x, x)


def window(x):
    return nt.grad(first)(x, x[:])


def of_closure(x):
    return nt.grad(lambda v: first(v, x))(x)


def of_local(x):
    z = x * 1.0
    return nt.grad(first)(z, z[::-1])


def chosen(x, y):
    z = x if x[1] > 0 else y
    return nt.grad(first)(z, x)


def chosen_in_branch(x, y):
    z = x
    if x[1] < 0:
        z = y
    return nt.grad(first)(z, y)


def carried(x, y):
    z = x
    for _ in range(2):
        z = y
    return nt.grad(first)(z, y)


def broadcast(x):
    return nt.grad(lambda v: first(v, x).sum())(np.broadcast_to(x, (2, 3)))


def reshaped(x):
    return nt.grad(first)(x.reshape(3, 1), x)


@pytest.mark.parametrize(
    "program", [same, window, of_closure, of_local, chosen, chosen_in_branch, carried, broadcast, reshaped]
)
def test_writes_to_what_compiled_code_differentiates_are_refused(program):
    x, y = np.ones(3), np.ones(3)
    with refused():
        nt.jit(program)(*[x, y][: program.__code__.co_argcount])
    np.testing.assert_array_equal([x, y], np.ones((2, 3)))


@nt.custom_vjp
def doubled(x):
    H[0] = 7.0
    return x * 2


doubled.defvjp(lambda x: (x * 2, None), lambda _, c: (c * 2,))


def test_functions_with_a_rule_write_to_no_memory_of_their_arguments():
    H[:] = 1.0
    with refused():
        nt.grad(lambda x: doubled(x).sum() + H.sum())(H)
    with refused():
        nt.jit(lambda x: nt.grad(lambda v: doubled(H).sum() * v)(x))(2.0)
    np.testing.assert_array_equal(H, np.ones(3))
    np.testing.assert_array_equal(nt.grad(lambda x: doubled(x).sum())(np.ones(3)), np.full(3, 2.0))
    assert H[0] == 7.0


def counting(x):
    G[0] = G[0] * 2
    return (x * G).sum()


@pytest.mark.parametrize("mode", ["vjp", "linearize"])
def test_pullbacks_are_of_what_the_function_read_before_it_wrote(mode):
    for turn in range(1, 4):
        G[:] = turn
        value, derivative = MODES[mode](counting, np.arange(1.0, 4.0))
        np.testing.assert_array_equal(G, [2 * turn, turn, turn])  # written once
        assert value == 7 * turn
        G[:] = -1.0
        if mode == "vjp":
            np.testing.assert_array_equal(derivative(1.0)[0], [2 * turn, turn, turn])
        else:
            assert derivative(np.ones(3)) == 4 * turn


def test_what_cannot_be_differentiated_is_refused_before_the_function_runs():
    G[:] = 1.0
    with pytest.raises(nt.NestorError, match="only floats"):
        nt.vjp(lambda x, n: counting(x) * n, np.ones(3), 3)
    np.testing.assert_array_equal(G, np.ones(3))


def test_writes_to_other_arrays_stay():
    x, y = np.ones(3), np.ones(3)
    value, gradient = nt.value_and_grad(loop)(x, y)
    assert value == 3.0
    np.testing.assert_array_equal(gradient, np.full(3, 2.0))
    np.testing.assert_array_equal(y, np.full(3, 3.0))


def overlapped(x, y, w):
    w[5] = 1.2 * (x * x).sum()
    return x[0] * y.sum()


@pytest.mark.parametrize("mode", MODES)
def test_writes_that_are_read_through_an_overlapping_array_are_refused(mode):
    b = np.arange(6.0)
    c = b[1:]
    with pytest.raises(nt.NestorError, match=r"writes to .* and uses .*, which overlaps it"):
        MODES[mode](lambda x: overlapped(x, c, b), np.ones(3))
    np.testing.assert_array_equal(b, np.arange(6.0))


def test_writes_are_read_through_another_name_of_the_same_array():
    for other in (lambda b: b, lambda b: b[:]):
        b = np.arange(6.0)
        value, gradient = nt.value_and_grad(overlapped)(np.ones(3), other(b), b)
        np.testing.assert_allclose(value, 13.6, rtol=1e-14)
        np.testing.assert_allclose(gradient, [13.6 + 2.4, 2.4, 2.4], rtol=1e-14)
    b = np.arange(6.0)
    gradient = nt.grad(lambda x: overlapped(x, b[1:], b))(np.ones(3))  # a view that the function takes
    np.testing.assert_allclose(gradient, [13.6 + 2.4, 2.4, 2.4], rtol=1e-14)


def test_overlapping_items_outside_are_read_as_they_are_after_writes():
    a = np.arange(1.0, 7.0)
    d = {"k": a, "l": a[1:]}

    def f(x):
        d["l"][0] = 5.0
        return (x * d["k"]).sum()

    assert nt.jit(f)(np.ones(6)) == 24.0
