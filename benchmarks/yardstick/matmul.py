"""Products of matrices, alone and inside of something: an activation, and the uniformity of points on a sphere."""

from __future__ import annotations

import math

import numpy as np

from .row import Row, normal, weights


def matmul(x, w):
    return x @ w


def matmul_bias_relu(x, w, bias):
    return np.maximum(x @ w + bias, 0)


def _matmul_halide(with_bias):
    def make(hl, d, x, w, *bias):
        i, j, oi, oj, ii, ij = (hl.Var() for _ in range(6))
        k = hl.RDom([(0, d.n)])
        product, out = hl.Func("product"), hl.Func("out")
        product[i, j] = hl.f32(0)
        product[i, j] += x[k, j] * w[i, k]
        out[i, j] = hl.max(product[i, j] + bias[0][i], hl.f32(0)) if with_bias else product[i, j]
        if d.n % 32 == 0:
            out.tile(i, j, oi, oj, ii, ij, 32, 8).vectorize(ii, 16).unroll(ii).unroll(ij)
            out.reorder(ii, ij, oj, oi).parallel(oi)
            product.compute_at(out, oj).vectorize(i, 16).unroll(i).unroll(j)
            product.update().reorder(i, j, k).vectorize(i, 16).unroll(i).unroll(j)
        else:
            product.compute_root()
        return [out]

    return make


def uniformity_by_differences(x, t=2.0):
    n = x.shape[0]
    difference = x[:, None, :] - x[None, :, :]
    potentials = np.exp(-t * np.sum(difference * difference, axis=-1))
    return np.log((np.sum(potentials) - n) / (n * (n - 1)))


def uniformity_by_products(x, t=2.0):
    n = x.shape[0]
    squares = np.sum(x * x, axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (x @ x.T)
    return np.log((np.sum(np.exp(-t * distances)) - n) / (n * (n - 1)))


def _products_numba(nb):
    @nb.njit(parallel=True, error_model="numpy", fastmath={"reassoc", "contract"})
    def potentials(x, gram):
        n = gram.shape[0]
        total = 0.0
        for i in nb.prange(n):
            part = np.float32(0)
            for j in range(n):
                distance = gram[i, i] + gram[j, j] - np.float32(2) * gram[i, j]
                part += math.exp(np.float32(-2) * distance)
            total += part
        return np.log((total - n) / (n * (n - 1)))

    def uniformity(x):
        return potentials(x, x @ x.T)

    return uniformity


def _differences_numba(nb):
    @nb.njit(parallel=True, error_model="numpy", fastmath={"reassoc", "contract"})
    def uniformity(x):
        n, d = x.shape
        total = 0.0
        for pair in nb.prange(n // 2):  # a long row and a short one: the same work for every thread
            part = np.float32(0)
            short = np.int64(pair)
            for i in (short, n - 1 - short):
                for j in range(i + 1, n):
                    distance = np.float32(0)
                    for k in range(d):
                        distance += (x[i, k] - x[j, k]) * (x[i, k] - x[j, k])
                    part += math.exp(np.float32(-2) * distance)
            total += part
        return np.log(2 * total / (n * (n - 1)))

    return uniformity


def _differences_jax(jax, jnp):
    def uniformity(x):
        n = x.shape[0]
        difference = x[:, None, :] - x[None, :, :]
        potentials = jnp.exp(-2 * jnp.sum(difference * difference, -1))
        return jnp.log((jnp.sum(potentials) - n) / (n * (n - 1)))

    return uniformity


def _products_jax(jax, jnp):
    def uniformity(x):
        n = x.shape[0]
        squares = jnp.sum(x * x, 1)
        distances = squares[:, None] + squares[None, :] - 2 * (x @ x.T)
        return jnp.log((jnp.sum(jnp.exp(-2 * distances)) - n) / (n * (n - 1)))

    return uniformity


def _products_torch(torch):
    def uniformity(x):
        n = x.shape[0]
        squares = (x * x).sum(1)
        distances = squares[:, None] + squares[None, :] - 2 * (x @ x.t())
        return torch.log((torch.exp(-2 * distances).sum() - n) / (n * (n - 1)))

    return uniformity


def _products_onnx(d):
    return f"""
        two = Constant<value = float {{2.0}}>()  minus = Constant<value = float {{-2.0}}>()
        n = Constant<value = float {{{d.n}.0}}>()  pairs = Constant<value = float {{{d.n * (d.n - 1)}.0}}>()
        axis = Constant<value = int64[1] {{1}}>()  xt = Transpose<perm = [1, 0]>(x)  gram = MatMul(x, xt)
        squared = Mul(x, x)  column = ReduceSum<keepdims = 1>(squared, axis)  line = Transpose(column)
        both = Add(column, line)  twice = Mul(gram, two)  distances = Sub(both, twice)  scaled = Mul(distances, minus)
        e = Exp(scaled)  total = ReduceSum<keepdims = 0>(e)  others = Sub(total, n)  mean = Div(others, pairs)
        r0 = Log(mean)"""


def _points(rng, d):
    x = normal(rng, d.n, d.d)
    return [x / np.linalg.norm(x, axis=1, keepdims=True)]


def _pair(rng, d):
    return [normal(rng, d.n, d.n), weights(rng, d.n, d.n)]


def _square(d):
    return [((d.n, d.n), "f4")]


MATMUL_PEERS = {
    "jax": lambda jax, jnp: lambda x, w: x @ w,
    "torch": lambda torch: lambda x, w: x @ w,
    "torch-out": lambda torch: lambda out, x, w: torch.mm(x, w, out=out),
    "halide": _matmul_halide(False),
    "onnxruntime": "r0 = MatMul(x, w)",
}


def _matmul_row(n):
    return Row(
        f"matmul-{n}",
        f"matmul, {n} x {n}",
        {"n": n},
        {"n": 37},
        _pair,
        _square,
        matmul,
        lambda d: 2 * d.n**3,
        MATMUL_PEERS,
        tolerance=1e-4,
    )


def _scalar(d):
    return [((), "f4")]


POINTS = {"n": 1024, "d": 128}

ROWS = [
    *[_matmul_row(n) for n in (512, 1024, 2048)],
    Row(
        "matmul-bias-relu",
        "relu(x @ w + bias), 1024 x 1024",
        {"n": 1024},
        {"n": 37},
        lambda rng, d: [*_pair(rng, d), normal(rng, d.n)],
        _square,
        matmul_bias_relu,
        lambda d: 2 * d.n**3 + 2 * d.n**2,
        {
            "jax": lambda jax, jnp: lambda x, w, bias: jax.nn.relu(x @ w + bias),
            "torch": lambda torch: lambda x, w, bias: torch.relu_(torch.addmm(bias, x, w)),
            "halide": _matmul_halide(True),
            "onnxruntime": "product = MatMul(x, w)  y = Add(product, bias)  r0 = Relu(y)",
        },
        tolerance=1e-4,
    ),
    Row(
        "uniformity-products",
        "uniformity of (1024, 128) by products",
        POINTS,
        {"n": 22, "d": 5},
        _points,
        _scalar,
        uniformity_by_products,
        lambda d: 2 * d.n * d.n * d.d,
        {
            "numba": _products_numba,
            "jax": _products_jax,
            "torch": _products_torch,
            "onnxruntime": _products_onnx,
        },
        tolerance=1e-4,
    ),
    Row(
        "uniformity-differences",
        "uniformity of (1024, 128) by differences",
        POINTS,
        {"n": 22, "d": 5},
        _points,
        _scalar,
        uniformity_by_differences,
        lambda d: 2 * d.n * d.n * d.d,  # a subtraction and a multiply-add, of half the pairs
        {
            "numba": _differences_numba,
            "jax": _differences_jax,
            "torch": lambda torch: lambda x: torch.pdist(x).pow(2).mul(-2).exp().mean().log(),
        },
        reference=uniformity_by_products,
        tolerance=1e-4,
    ),
]
