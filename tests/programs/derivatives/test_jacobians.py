"""nt.jacfwd, nt.jacrev and nt.hessian: closed forms, structures as JAX has them, and what they compose with."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

X = np.array([0.5, -1.0, 2.0, 0.25])
A = np.arange(12.0).reshape(3, 4) / 7 - 0.5
DYNAMIC = pytest.param({"dynamic": True}, marks=pytest.mark.slow)
BOTH = pytest.mark.parametrize("jacobian", [nt.jacfwd, nt.jacrev], ids=["jacfwd", "jacrev"])


def close(got, want, tolerance=1e-12):
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@BOTH
@pytest.mark.parametrize("options", [{}, DYNAMIC, {"target": "interp"}], ids=str)
def test_of_a_vector(jacobian, options):
    def f(x, a):
        return a @ np.sin(x)

    j = nt.jit(jacobian(f), **options)
    for x, a in ((X, A), (X[:2], A[:, 1:3]), (X[::-1], A[::-1, ::-1])):
        close(j(x, a), a * np.cos(x))


@BOTH
def test_of_other_vectors(jacobian):
    j = jacobian(lambda x, a: a @ np.sin(x))
    close(j(X[:1], A[:, :1]), A[:, :1] * np.cos(X[:1]))
    close(j(X, A[:1]), A[:1] * np.cos(X))
    close(j(X[:0], A[:, :0]), np.zeros((3, 0)))
    single = j(X.astype("f4"), A.astype("f4"))
    assert single.dtype == np.float32
    close(single, A * np.cos(X), 1e-6)


@BOTH
def test_of_a_matrix(jacobian):
    got = jacobian(lambda a: a @ a.T)(A)
    want = np.einsum("ik,jl->ijkl", np.eye(3), A) + np.einsum("jk,il->ijkl", np.eye(3), A)
    close(got, want)


@BOTH
def test_of_a_number(jacobian):
    close(jacobian(lambda s: s * X)(3.0), X)
    close(jacobian(lambda x: (x * x).sum())(X), 2 * X)
    close(jacobian(lambda s: s**3)(2.0), 12.0)


@BOTH
def test_structures(jacobian):
    """A leaf of the result is replaced by the structure of the argument."""

    def f(params, x):
        y = params["w"] @ x + params["b"]
        return y, {"norm": (y * y).sum()}

    params = {"w": A, "b": np.ones(3)}
    y = A @ X + 1
    first, second = jacobian(f)(params, X)
    close(first["w"], np.einsum("ik,l->ikl", np.eye(3), X))
    close(first["b"], np.eye(3))
    close(second["norm"]["w"], 2 * np.outer(y, X))
    close(second["norm"]["b"], 2 * y)


@BOTH
def test_argnums_argnames_and_aux(jacobian):
    def f(x, y, n):
        return x * y * n, x.shape[0]

    dx, dy = jacobian(lambda x, y: x * y * 3, argnums=(0, -1))(X, X + 1)
    close(dx, np.diag(3 * (X + 1)))
    close(dy, np.diag(3 * X))
    close(jacobian(lambda x, y: x * y, argnames="y")(X, X + 1), np.diag(X))
    j, size = jacobian(f, argnums=1, has_aux=True)(X, X, 2)
    close(j, np.diag(2 * X))
    assert size == 4


@BOTH
def test_in_compiled_code(jacobian):
    @nt.jit
    def newton(x, a):
        def residual(x):
            return x**3 + a

        for _ in range(12):
            x = x - np.linalg.solve(jacobian(residual)(x), residual(x))
        return x

    close(newton(np.array([1.0, 2.0]), np.array([-8.0, -27.0])), [2.0, 3.0], 1e-9)


def cubes(x):
    return ((A @ x) ** 3).sum() + np.exp(x.sum())


def hessian_of_cubes(x):
    return (A.T * (6 * A @ x)) @ A + np.exp(x.sum())


@pytest.mark.parametrize("options", [{}, DYNAMIC], ids=str)
def test_hessian(options):
    h = nt.jit(nt.hessian(cubes), **options)
    for x in (X, X + 1, X[::-1]):
        close(h(x), hessian_of_cubes(x), 1e-10)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_hessian_of_slices():
    h = np.zeros((4, 4))
    for i in range(3):
        h[i, i] += 1200 * X[i] ** 2 - 400 * X[i + 1] + 2
        h[i, i + 1] = h[i + 1, i] = -400 * X[i]
        h[i + 1, i + 1] += 200
    close(nt.hessian(rosenbrock)(X), h, 1e-10)


def test_hessian_of_several_arguments():
    (xx, xy), (yx, yy) = nt.hessian(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(X, X + 2)
    close(xx, np.diag(2 * (X + 2)))
    close(xy, np.diag(2 * X))
    close(yx, np.diag(2 * X))
    close(yy, np.zeros((4, 4)))


def test_hessian_of_a_structure():
    h = nt.hessian(lambda p: (p["w"] ** 2).sum() * p["s"])({"w": X, "s": 3.0})
    close(h["w"]["w"], 6 * np.eye(4))
    close(h["w"]["s"], 2 * X)
    close(h["s"]["w"], 2 * X)
    close(h["s"]["s"], 0.0)


def test_hessian_is_a_hvp_with_each_unit_vector():
    h = nt.hessian(cubes)(X)
    close(nt.hvp(cubes, (X,), (X,)), h @ X, 1e-10)


def test_of_slices_and_slices_of_them():
    points = np.stack([X, X + 1, -X])
    close(nt.vmap(nt.hessian(cubes))(points), np.stack(list(map(hessian_of_cubes, points))), 1e-10)
    close(nt.vmap(nt.jacrev(lambda x: np.sin(x)))(points), np.stack([np.diag(np.cos(p)) for p in points]))
    rows = nt.jacrev(lambda p: nt.vmap(lambda x: (x * x).sum())(p))(points)
    close(rows, np.einsum("ij,jk->ijk", np.eye(3), 2 * points))


def test_both_are_the_same_for_composed_programs():
    def f(x):
        h = nt.nn.softmax(A @ x)
        return np.cumsum(h) * np.tanh(h) + np.linalg.norm(x)

    step = 1e-6
    shifted = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(4)]
    for jacobian in (nt.jacfwd, nt.jacrev):
        close(jacobian(f)(X), np.stack(shifted, 1), 1e-8)


@BOTH
def test_prints_are_made_once(jacobian, capfd):
    def f(x):
        print("here", x[0])
        return x * 2

    jacobian(f)(X)
    assert capfd.readouterr().out == "here 0.5\n"


@BOTH
def test_what_is_refused(jacobian):
    with pytest.raises(TypeError, match="argnums"):
        jacobian(lambda n: n * 2.0)(np.arange(3))
    with pytest.raises(TypeError, match="only floats"):
        jacobian(lambda x: np.argsort(x))(X)
    with pytest.raises(TypeError, match="gradients are of real numbers"):
        jacobian(lambda z: z * z)(X + 1j)
    with pytest.raises(TypeError, match="is complex"):
        jacobian(lambda x: x * 1j)(X)
    with pytest.raises(ValueError, match="argnums names argument 3"):
        jacobian(lambda x: x, argnums=3)(X)
