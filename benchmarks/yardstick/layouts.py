"""Moving and pairing elements: a transpose, an outer sum, and a sum of ten numbers (the cost of a call)."""

from __future__ import annotations

import numpy as np

from .row import MOVES, STREAMS, Row, normal


def transpose(x):
    return x.T.copy()


def _transpose_numba(nb):
    @nb.njit(parallel=True)
    def kernel(out, x):
        n, m = x.shape
        block = 32
        for i in nb.prange((n + block - 1) // block):
            for j in range(0, m, block):
                for a in range(j, min(j + block, m)):
                    for b in range(i * block, min((i + 1) * block, n)):
                        out[a, b] = x[b, a]

    return kernel


def _transpose_halide(hl, d, x):
    i, j, oi, oj, ii, ij = (hl.Var() for _ in range(6))
    out = hl.Func("transpose")
    out[i, j] = x[j, i]
    if d.n % 64 == 0:
        out.tile(i, j, oi, oj, ii, ij, 64, 16).vectorize(ii, 16).unroll(ij, 4).parallel(oj, 8)
    return [out]


def outer_add(x, y):
    return np.add.outer(x, y)


def _outer_numba(nb):
    @nb.njit(parallel=True)
    def kernel(out, x, y):
        for i in nb.prange(x.size):
            for j in range(y.size):
                out[i, j] = x[i] + y[j]

    return kernel


def _outer_halide(hl, d, x, y):
    i, j = hl.Var(), hl.Var()
    out = hl.Func("outer")
    out[i, j] = x[j] + y[i]
    out.vectorize(i, 16).parallel(j, 64)
    return [out]


def add(x, y):
    return x + y


def _add_numba(nb):
    @nb.njit
    def kernel(out, x, y):
        for i in range(x.size):
            out[i] = x[i] + y[i]

    return kernel


def _add_halide(hl, d, x, y):
    i, out = hl.Var(), hl.Func("add")
    out[i] = x[i] + y[i]
    return [out]


def _square(d):
    return [((d.n, d.n), "f4")]


ROWS = [
    Row(
        "transpose",
        "transpose, 4096 x 4096",
        {"n": 4096},
        {"n": 37},
        lambda rng, d: [normal(rng, d.n, d.n)],
        _square,
        transpose,
        lambda d: 0,
        {
            "numba": _transpose_numba,
            "jax": lambda jax, jnp: lambda x: x.T,
            "torch": lambda torch: lambda x: x.t().contiguous(),
            "torch-out": lambda torch: lambda out, x: out.copy_(x.t()),
            "halide": _transpose_halide,
            "onnxruntime": "r0 = Transpose<perm = [1, 0]>(x)",
        },
        tolerance=0.0,
        of_roof=MOVES,
    ),
    Row(
        "outer-add",
        "outer sum, 4096 + 4096",
        {"n": 4096},
        {"n": 37},
        lambda rng, d: [normal(rng, d.n), normal(rng, d.n)],
        _square,
        outer_add,
        lambda d: d.n * d.n,
        {
            "numba": _outer_numba,
            "jax": lambda jax, jnp: lambda x, y: x[:, None] + y,
            "torch": lambda torch: lambda x, y: x[:, None] + y,
            "torch-out": lambda torch: lambda out, x, y: torch.add(x[:, None], y, out=out),
            "halide": _outer_halide,
            "onnxruntime": """
                axis = Constant<value = int64[1] {1}>()  column = Unsqueeze(x, axis)  r0 = Add(column, y)""",
        },
        of_roof=STREAMS,
    ),
    Row(
        "add-10",
        "x + y on 10 elements",
        {"n": 10},
        {"n": 10},
        lambda rng, d: [normal(rng, d.n), normal(rng, d.n)],
        lambda d: [((d.n,), "f4")],
        add,
        lambda d: d.n,
        {
            "numexpr": "x + y",
            "numba": _add_numba,
            "numba-fresh": lambda nb: nb.njit(add),
            "jax": lambda jax, jnp: lambda x, y: x + y,
            "torch": lambda torch: lambda x, y: x + y,
            "torch-out": lambda torch: lambda out, x, y: torch.add(x, y, out=out),
            "halide": _add_halide,
            "onnxruntime": "r0 = Add(x, y)",
        },
    ),
]
