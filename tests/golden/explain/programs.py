"""Fifteen situations of which `f.explain(...)` tells: the text of each is beside this file, `make golden` writes them anew.

Each gives the text for a format. The machine is x86-64, as which every processor of that kind can run.
"""

import os
import warnings

import nestor as nt
import numpy as np

X = np.linspace(0.0, 1.0, 8)
RATE = 0.5
SEEN = []


def jit(function, **options):
    return nt.jit(function, machine="x86-64", **options)


def mean_sine(x):
    return np.sin(x).sum() / x.size


def normalised(x):
    return x / x.sum()


def decayed(x):
    return x * RATE


def noted(x):
    SEEN.append(x.size)
    return x + 1


def power(x, n):
    y = x
    for _ in range(n - 1):
        y = y * x
    return y


def evaluated(x):
    return eval("x") + 1


def simulated(u, w):
    for _ in range(20):
        u = np.tanh(u * w)
    return (u * u).sum()


def doubled_in_place(x):
    x *= 2
    return x.sum()


def rows(x):
    return x / x.sum(1, keepdims=True)


def shifted(x):
    return x + 1


def inverse(x):
    return np.linalg.inv(x)


def first_compile(format):
    f = jit(mean_sine)
    f(X)
    return f.explain(X, format=format)


def second_shape(format):
    f = jit(normalised)
    f(X)
    f(X[:5])
    return f.explain(X[:5], format=format)


def another_dtype(format):
    f = jit(mean_sine)
    f(X)
    single = X.astype(np.float32)
    f(single)
    return f.explain(single, format=format)


def changed_global(format):
    global RATE
    f = jit(decayed)
    f(X)
    RATE = 0.25
    try:
        f(X)
        return f.explain(X, format=format)
    finally:
        RATE = 0.5


def fallback(format):
    f = jit(noted, fallback="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        f(X)
        f(X)
    return f.explain(X, format=format)


def static_argument(format):
    f = jit(power, static_argnames="n")
    f(X, 2)
    f(X, 3)
    return f.explain(X, 3, format=format)


def refused(format):
    return jit(evaluated).explain(X, format=format)


def broken_promise(format):
    f = jit(mean_sine, dynamic={"x": {0: nt.dim("n", max=100)}})
    f(X)
    return f.explain(np.ones(200), format=format)


def strict(format):
    return jit(inverse, strict=True).explain(np.eye(3), format=format)


def refused_gradient(format):
    return jit(nt.grad(rows)).explain(np.ones((4, 6)), format=format)


def gradient(format):
    f = jit(nt.grad(simulated))
    f(X, X)
    return f.explain(X, X, format=format)


def mutated_argument(format):
    f = jit(doubled_in_place)
    f(X.copy())
    return f.explain(X.copy(), format=format)


def from_the_disk(format):
    """The caller sets up a disk of its own."""
    jit(mean_sine)(X)
    f = jit(mean_sine)
    f(X)
    f(X)
    return f.explain(X, format=format)


def simulated_gpu(format):
    f = nt.jit(rows, target="cuda-sim")
    x = np.ones((4, 6))
    f(x)
    return f.explain(x, format=format)


def forgotten(format):
    f = jit(shifted, dynamic=False)
    before = os.environ.get("NESTOR_PROGRAMS")
    os.environ["NESTOR_PROGRAMS"] = "2"
    try:
        for n in (3, 4, 5, 3):
            f(X[:n])
        return f.explain(X[:3], format=format)
    finally:
        del os.environ["NESTOR_PROGRAMS"]
        if before is not None:
            os.environ["NESTOR_PROGRAMS"] = before


SITUATIONS = (
    first_compile,
    second_shape,
    another_dtype,
    changed_global,
    fallback,
    static_argument,
    refused,
    broken_promise,
    strict,
    refused_gradient,
    gradient,
    mutated_argument,
    from_the_disk,
    simulated_gpu,
    forgotten,
)
