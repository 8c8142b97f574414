"""Sums, the place of the largest element, and running sums."""

from __future__ import annotations

import numpy as np

from .row import MOVES, STREAMS, Row, normal, uniform

REORDERED = {"reassoc", "contract"}


def total(x):
    return np.sum(x)


def row_sum(x):
    return np.sum(x, axis=1)


def column_sum(x):
    return np.sum(x, axis=0)


def argmax_rows(x):
    return np.argmax(x, axis=1)


def cumsum(x):
    return np.cumsum(x)


def cumsum_rows(x):
    return np.cumsum(x, axis=1)


def _block_sum(nb):
    """A sum in vectors: numba makes them of a loop over a slice."""

    @nb.njit(fastmath=REORDERED)
    def block_sum(block):
        part = np.float32(0)
        for i in range(block.size):
            part += block[i]
        return part

    return block_sum


def _total_numba(nb):
    block_sum = _block_sum(nb)

    @nb.njit(parallel=True, fastmath=REORDERED)
    def kernel(x):
        parts = np.zeros(1024, np.float32)
        size = (x.size + 1023) // 1024
        for p in nb.prange(1024):
            parts[p] = block_sum(x[p * size : (p + 1) * size])
        return parts.sum()

    return kernel


def _total_halide(hl, d, x):
    """Sums of blocks by threads, in vectors; then the sum of these."""
    lanes, blocks = 64, 256
    part, whole = hl.Func("part"), hl.Func("whole")
    size = d.n // (lanes * blocks)
    tail = d.n - size * lanes * blocks
    v, b = hl.Var(), hl.Var()
    if size:
        r = hl.RDom([(0, size)])
        part[v, b] = hl.f32(0)
        part[v, b] += x[v + lanes * (r + size * b)]
        part.compute_root().vectorize(v, 16).parallel(b, 8)
        part.update().reorder(v, r, b).vectorize(v, 16).unroll(v).parallel(b, 8)
    whole[()] = hl.f32(0)
    if size:
        q = hl.RDom([(0, lanes), (0, blocks)])
        whole[()] += part[q.x, q.y]
    if tail:
        t = hl.RDom([(d.n - tail, tail)])
        whole[()] += x[t]
    return [whole]


def _row_sum_numba(nb):
    @nb.njit(parallel=True, fastmath=REORDERED)
    def kernel(out, x):
        for i in nb.prange(x.shape[0]):
            part = np.float32(0)
            for j in range(x.shape[1]):
                part += x[i, j]
            out[i] = part

    return kernel


def _row_sum_halide(hl, d, x):
    j, v, jo, ji = (hl.Var() for _ in range(4))
    out = hl.Func("row_sum")
    if d.m % 64:
        r = hl.RDom([(0, d.m)])
        out[j] = hl.f32(0)
        out[j] += x[r, j]
        return [out]
    r, q, part, lanes = hl.RDom([(0, d.m // 64)]), hl.RDom([(0, 64)]), hl.Func("part"), hl.Func("lanes")
    part[v, j] = hl.f32(0)
    part[v, j] += x[v + 64 * r, j]
    lanes[j] = hl.f32(0)
    lanes[j] += part[q, j]
    out[j] = lanes[j]
    out.split(j, jo, ji, 16).parallel(jo, 8)
    lanes.compute_at(out, ji).update().atomic().vectorize(q.x, 64)
    part.compute_at(out, ji).vectorize(v, 16).unroll(v)
    part.update().reorder(v, r).vectorize(v, 16).unroll(v)
    return [out]


def _column_sum_numba(nb):
    @nb.njit(parallel=True, fastmath=REORDERED)
    def kernel(out, x):
        n, m = x.shape
        parts = 32
        size = (n + parts - 1) // parts
        sums = np.zeros((parts, m), np.float32)
        for p in nb.prange(parts):
            for i in range(p * size, min(n, (p + 1) * size)):
                for j in range(m):
                    sums[p, j] += x[i, j]
        out[:] = sums.sum(0)

    return kernel


def _column_sum_halide(hl, d, x):
    i, p, out, parts = hl.Var(), hl.Var(), hl.Func("column_sum"), hl.Func("parts")
    if d.n % 32:
        r = hl.RDom([(0, d.n)])
        out[i] = hl.f32(0)
        out[i] += x[i, r]
        return [out]
    r, q = hl.RDom([(0, d.n // 32)]), hl.RDom([(0, 32)])
    parts[i, p] = hl.f32(0)
    parts[i, p] += x[i, r + d.n // 32 * p]
    out[i] = hl.f32(0)
    out[i] += parts[i, q]
    parts.compute_root().vectorize(i, 16).parallel(p)
    parts.update().reorder(i, r, p).vectorize(i, 16).parallel(p)
    out.vectorize(i, 16).update().reorder(i, q).vectorize(i, 16)
    return [out]


def _argmax_numba(nb):
    @nb.njit(parallel=True)
    def kernel(out, x):
        for i in nb.prange(x.shape[0]):
            largest = x[i, 0]
            for j in range(x.shape[1]):  # the value first: a loop of vectors
                largest = max(largest, x[i, j])
            for j in range(x.shape[1]):
                if x[i, j] == largest:
                    out[i] = j
                    break

    return kernel


def _cumsum_numba(nb):
    block_sum = _block_sum(nb)

    @nb.njit(parallel=True)
    def kernel(out, x):
        parts = 2048
        size = (x.size + parts - 1) // parts
        sums = np.zeros(parts + 1, np.float32)
        for p in nb.prange(parts):
            sums[p + 1] = block_sum(x[p * size : (p + 1) * size])
        sums = np.cumsum(sums)
        for p in nb.prange(parts):
            running = sums[p]
            source, target = x[p * size : (p + 1) * size], out[p * size : (p + 1) * size]
            for i in range(source.size):
                running += source[i]
                target[i] = running

    return kernel


def _cumsum_rows_numba(nb):
    @nb.njit(parallel=True)
    def kernel(out, x):
        n, m = x.shape
        for block in nb.prange((n + 7) // 8):  # eight chains of additions at a time
            lo, hi = block * 8, min(n, block * 8 + 8)
            running = np.zeros(8, np.float32)
            for j in range(m):
                for i in range(lo, hi):
                    running[i - lo] += x[i, j]
                    out[i, j] = running[i - lo]

    return kernel


def _cumsum_rows_halide(hl, d, x):
    i, j, out, scan = hl.Var(), hl.Var(), hl.Func("cumsum"), hl.Func("scan")
    r = hl.RDom([(1, d.m - 1)])
    scan[i, j] = x[i, j]
    scan[r, j] += scan[r - 1, j]
    out[i, j] = scan[i, j]
    if d.n % 8 == 0:
        jo, ji = hl.Var(), hl.Var()
        out.split(j, jo, ji, 8).reorder(i, ji, jo).vectorize(i, 16).parallel(jo, 8)
        scan.compute_at(out, jo).vectorize(i, 16)
        scan.update().reorder(j, r).unroll(j, 8)
    return [out]


def _matrix(rng, d):
    return [normal(rng, d.n, d.m)]


def _onnx_sum(axis):
    return f"axis = Constant<value = int64[1] {{{axis}}}>()  r0 = ReduceSum<keepdims = 0>(x, axis)"


def _onnx_cumsum(axis):
    return f"axis = Constant<value = int64 {{{axis}}}>()  r0 = CumSum(x, axis)"


MATRIX = {"n": 4096, "m": 1024}
SMALL = {"n": 7, "m": 37}
LONG, SHORT = {"n": 10_000_000}, {"n": 2003}

ROWS = [
    Row(
        "sum-10m",
        "sum of 10M",
        LONG,
        SHORT,
        lambda rng, d: [uniform(rng, d.n)],
        lambda d: [((), "f4")],
        total,
        lambda d: d.n,
        {
            "numexpr": "sum(x)",
            "numba": _total_numba,
            "jax": lambda jax, jnp: lambda x: jnp.sum(x),
            "torch": lambda torch: lambda x: torch.sum(x),
            "halide": _total_halide,
            "onnxruntime": _onnx_sum(0),
        },
        tolerance=1e-4,
        of_roof=STREAMS,
    ),
    Row(
        "row-sum",
        "sum of each row, 4096 x 1024",
        MATRIX,
        SMALL,
        _matrix,
        lambda d: [((d.n,), "f4")],
        row_sum,
        lambda d: d.n * d.m,
        {
            "numba": _row_sum_numba,
            "jax": lambda jax, jnp: lambda x: jnp.sum(x, 1),
            "torch": lambda torch: lambda x: torch.sum(x, 1),
            "halide": _row_sum_halide,
            "onnxruntime": _onnx_sum(1),
        },
        of_roof=STREAMS,
    ),
    Row(
        "column-sum",
        "sum of each column, 4096 x 1024",
        MATRIX,
        SMALL,
        _matrix,
        lambda d: [((d.m,), "f4")],
        column_sum,
        lambda d: d.n * d.m,
        {
            "numba": _column_sum_numba,
            "jax": lambda jax, jnp: lambda x: jnp.sum(x, 0),
            "torch": lambda torch: lambda x: torch.sum(x, 0),
            "halide": _column_sum_halide,
            "onnxruntime": _onnx_sum(0),
        },
        of_roof=STREAMS,
    ),
    Row(
        "argmax-rows",
        "argmax of each row, 4096 x 1024",
        MATRIX,
        SMALL,
        _matrix,
        lambda d: [((d.n,), "i8")],
        argmax_rows,
        lambda d: d.n * d.m,
        {
            "numba": _argmax_numba,
            "jax": lambda jax, jnp: lambda x: jnp.argmax(x, 1),
            "torch": lambda torch: lambda x: torch.argmax(x, 1),
            "onnxruntime": "r0 = ArgMax<axis = 1, keepdims = 0>(x)",
        },
        tolerance=0.0,
        of_roof=STREAMS,
    ),
    Row(
        "cumsum-10m",
        "cumsum of 10M",
        LONG,
        SHORT,
        lambda rng, d: [uniform(rng, d.n)],
        lambda d: [((d.n,), "f4")],
        cumsum,
        lambda d: d.n,
        {
            "numba": _cumsum_numba,
            "jax": lambda jax, jnp: lambda x: jnp.cumsum(x),
            "torch": lambda torch: lambda x: torch.cumsum(x, 0),
            "torch-out": lambda torch: lambda out, x: torch.cumsum(x, 0, out=out),
            "onnxruntime": _onnx_cumsum(0),
        },
        tolerance=1e-3,
        of_roof=MOVES,
    ),
    Row(
        "cumsum-rows",
        "cumsum of each row, 4096 x 1024",
        MATRIX,
        SMALL,
        _matrix,
        lambda d: [((d.n, d.m), "f4")],
        cumsum_rows,
        lambda d: d.n * d.m,
        {
            "numba": _cumsum_rows_numba,
            "jax": lambda jax, jnp: lambda x: jnp.cumsum(x, 1),
            "torch": lambda torch: lambda x: torch.cumsum(x, 1),
            "torch-out": lambda torch: lambda out, x: torch.cumsum(x, 1, out=out),
            "halide": _cumsum_rows_halide,
            "onnxruntime": _onnx_cumsum(1),
        },
        tolerance=1e-4,
        of_roof=MOVES,
    ),
]
