"""What programs cost: counted by hand, by a run of the loops in Python, and said to be least where data decides."""

from __future__ import annotations

import json

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.costs.operations import Work, work_of
from nestor.dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from nestor.frontend.jit.driver.inspection import extents_of, function_of, numbers_for
from nestor.frontend.jit.explain.derivatives import Halves


def cost(function, *arguments, extents=None, **options):
    return nt.jit(function, **options).lower(*arguments).cost_analysis(extents)


# ---- by hand ------------------------------------------------------------------------------------------------


def iou(x1, y1, w1, h1, x2, y2, w2, h2, eps=1e-5):
    xi = np.maximum(x1, x2)
    yi = np.maximum(y1, y2)
    wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
    hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
    inter = wi * hi
    return inter / (w1 * h1 + w2 * h2 - inter + eps)


def product(a, b):
    return a @ b


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def stencil(u, rounds):
    for _ in range(rounds):
        v = u.copy()
        v[1:-1] = (u[:-2] + 2 * u[1:-1] + u[2:]) / 4
        u = v
    return u


def triangle(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i):
            s += a[i, j] * 2
    return s


def loss(w, x):
    return (np.tanh(x @ w) ** 2).sum()


def until(u, tol):
    change = tol + 1
    while change >= tol:
        w = u.copy()
        w[1:-1] = (u[:-2] + u[2:]) / 2
        change = np.sum((w - u) ** 2)
        u = w
    return u


def test_intersection_over_union():
    found = cost(iou, *[nt.spec((10,), "f4")] * 8)
    # 4 + 1 + 1 additions, 2 + 1 subtractions, 2 minima, 4 maxima, 3 products, 1 quotient
    assert (found.flops, found.transcendentals) == (190, 0)
    assert (found.bytes_read, found.bytes_written, len(found.nests)) == (8 * 40, 40, 1)
    assert found.arithmetic_intensity == 190 / 360 and found.is_exact
    assert found.nests[0].line == iou.__code__.co_firstlineno + 1 and found.nests[0].file == __file__


def test_a_product_reads_each_matrix_once():
    found = cost(product, nt.spec((40, 50), "f8"), nt.spec((50, 60), "f8"))
    assert found.flops == 2 * 40 * 50 * 60
    assert (found.bytes_read, found.bytes_written) == (8 * (40 * 50 + 50 * 60), 8 * 40 * 60)


def test_softmax_of_rows_for_given_extents():
    low = nt.jit(softmax, dynamic=True).lower(np.ones((4, 5)))
    found = low.cost_analysis({"x": (40, 50)})
    # a maximum, a subtraction, an addition and a division an element
    assert (found.flops, found.transcendentals) == (4 * 2000, 2000)
    assert (found.bytes_read, found.bytes_written) == (8 * 2000, 8 * 2000)
    assert low.cost_analysis({"x_0": 40, "x_1": 50}) == found


def test_a_stencil_in_a_time_loop_runs_its_nests_once_a_round():
    found = cost(stencil, nt.spec((9,), "f8"), 5, extents={"rounds": 5})
    assert found.flops == 5 * 7 * 4
    times = [nest.times for nest in found.nests]
    # two buffers before; two rounds at a time, a sweep into each; the last odd round, which is copied
    assert times == [1, 1, 2, 2, 1, 1]
    assert found.bytes_read == 2 * 72 + 5 * 72 + 72 and found.bytes_written == 2 * 72 + 5 * 56 + 72


def test_rounds_that_nobody_knows_are_not_counted():
    found = cost(stencil, nt.spec((9,), "f8"), 5)
    assert not found.is_exact and found.flops == 0 and found.arithmetic_intensity is None
    assert [nest.times for nest in found.nests] == [1, 1, None, None, None, None]
    assert "at least" in repr(found) and "loop '_'" in found.reasons[0]


def test_a_while_loop_is_counted_up_to_its_first_round():
    found = cost(until, nt.spec((9,), "f8"), 1e-3)
    assert found.flops == 1 and (found.bytes_read, found.bytes_written) == (2 * 72, 2 * 72)  # two buffers
    assert len(found.reasons) == 1 and "while loop at line" in found.reasons[0]


@pytest.mark.parametrize("n", [7, 1000])
def test_a_triangle_has_half_of_the_square(n):
    found = cost(triangle, np.ones((7, 7)), dynamic=True, extents={"a": (n, n)})
    assert found.flops == n * (n - 1)
    assert found.bytes_read == 8 * (n * (n - 1) // 2 + 1) and found.bytes_written == 8


def test_a_gradient_counts_both_halves():
    found = cost(nt.grad(loss), nt.spec((5, 3), "f8"), nt.spec((4, 5), "f8"))
    # two products; t + t, t * t, 1 - t * t, and their product
    assert found.flops == 2 * (2 * 4 * 5 * 3) + 4 * 12 and found.transcendentals == 12
    assert found.is_exact


def test_extents_beyond_what_is_enumerated_are_exact():
    def smoothed(x, w):
        y = np.zeros(x.size - w.size + 1)
        for i in range(y.size):
            for j in range(w.size):
                y[i] += x[i + j] * w[j]
        return y

    n = 10_000_000
    found = cost(smoothed, nt.spec((n,), "f8"), nt.spec((9,), "f8"))
    assert found.is_exact and found.flops == 2 * 9 * (n - 8)
    assert found.bytes_read == 8 * (n + 9 + n - 8)


def test_deep_triangles_are_counted_by_pairs_of_loops():
    def triples(a):
        s = 0.0
        for i in range(a.size):
            for j in range(i):
                for k in range(j):
                    s += a[i] * a[j] * a[k]
        return s

    n = 2000
    found = cost(triples, nt.spec((n,), "f8"))
    assert found.is_exact and found.flops == 3 * (n * (n - 1) * (n - 2) // 6)
    assert found.bytes_read == 8 * (n + 1)


# ---- what data decides --------------------------------------------------------------------------------------


def test_branches_of_data_count_what_both_sides_do():
    def branches(x):
        y = np.zeros_like(x)
        for i in range(x.size):
            if x[i] > 0:
                y[i] = x[i] * 2
            else:
                y[i] = x[i] + x[i] * 3
            if i > 2:
                y[i] += 1.0
        return y

    found = cost(branches, nt.spec((10,), "f8"))
    assert found.flops == 10 + 7 and "depends on data" in found.reasons[0]


def test_what_data_indexes_is_named():
    found = cost(gathered, nt.spec((10,), "f8"), nt.spec((4,), "i8"))
    assert not found.is_exact and any("indexed by data" in one for one in found.reasons)
    assert found.bytes_written >= 32


def gathered(x, i):
    return x[i] * 2


def test_calls_of_python_are_named():
    def ordered(x):
        return np.sort(x) + 1

    found = cost(ordered, nt.spec((5,), "f8"))
    assert found.flops == 5 and found.reasons[0].startswith("the call of 'numpy.sort' at line ")


# ---- extents that are refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extents", "message"),
    [
        (None, r'give shapes: extents={"x": \(4, 5\)}'),
        ({"x_0": 3}, "for any x_1"),
        ({"y": (3, 4)}, "'y' is no extent of softmax"),
        ({"x": (3, 4, 5)}, "'x' has 2 axes, not 3"),
        ({"x": (3, 4), "x_0": 5}, "3 and 5 at once"),
        ({"x": (1, 4)}, "extents of 0 and 1"),
    ],
)
def test_extents_that_do_not_fit_are_refused(extents, message):
    with pytest.raises(nt.NestorError, match=message):
        cost(softmax, np.ones((4, 5)), dynamic=True, extents=extents)


def test_an_extent_of_a_static_program_is_what_it_is():
    with pytest.raises(nt.NestorError, match="the extent 4 where 5 is given"):
        cost(softmax, np.ones((4, 5)), extents={"x": (5, 5)})
    assert cost(softmax, np.ones((4, 5)), extents={"x": (4, 5)}).flops == 80


def test_the_result_is_plain_data_too():
    found = cost(stencil, nt.spec((9,), "f8"), 5)
    again = json.loads(json.dumps(found.as_dict()))
    assert again["bytes_accessed"] == found.bytes_accessed and len(again["nests"]) == 6
    assert again["is_exact"] is False and again["nests"][2]["times"] is None


# ---- against a run of the loops -----------------------------------------------------------------------------


def rotated(a, b):
    for i in range(a.shape[0]):
        for j in range(i, a.shape[1], 2):
            b[(i * 3 + j) % 4, j] = a[i, j] * 2 + a[j, i]


def banded(a, b):
    n = a.shape[0]
    for i in range(n):
        for j in range(max(i - 2, 0), min(i + 3, n)):
            if j > 2:
                b[i, j] += a[i, j] * a[j, i]
            else:
                b[i, 0] += a[i, i]


def history(a, b):
    u = a[0].copy()
    for t in range(b.shape[0]):
        w = u.copy()
        w[1:-1] = u[:-2] + u[2:]
        u = w
        b[t] = u


def shrinking(a, b):
    u = a[0].copy()
    for t in range(3):
        for i in range(t, u.size - t):
            b[0, i] = u[i] * 2
        for i in range(t, u.size - t):
            u[i] = b[0, i] + 1


def strided(a, b):
    b[::2, 1:] = a[::2, :-1] * 3
    b[1::2, ::3] = a[:-1:2, ::3] + 1


def eliminated(a, b):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            b[i, k] = b[i, k] / b[k, k]
            for j in range(k + 1, n):
                b[i, j] -= b[i, k] * b[k, j]


def factored(a, b):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                b[i, j] -= b[i, k] * b[k, j]
            b[i, j] /= b[j, j]
        for j in range(i, n):
            for k in range(i):
                b[i, j] -= b[i, k] * b[k, j]


def columns(a, b):
    b[:] = a / a.sum(0)


def all_in_one(a, b):
    b[:] = a @ a.T + np.outer(a[0], a[:, 1]) * np.exp(a)


@pytest.mark.parametrize(
    "program", [rotated, banded, history, shrinking, strided, eliminated, factored, columns, all_in_one]
)
@pytest.mark.parametrize("n", [4, 7])
def test_counts_are_those_of_a_run(program, n):
    low = nt.jit(program, boundscheck=False).lower(np.ones((n, n)), np.ones((n, n)))
    found = low.cost_analysis()
    function = function_of(Halves(low.program.module).lowered(), low.program.name)
    extents = extents_of(low.program, function, numbers_for(low.program, None))
    assert found.is_exact
    ran = Run(function, extents)
    # of a nest that runs several times: all runs together
    assert Work(found.flops, found.transcendentals, found.integer_operations) == ran.work
    names = {op.label for op in function.walk() if isinstance(op, ForOp)}
    for nest in found.nests:
        root = nest.name.split(", ")[0]
        assert root in names
        if nest.note:
            continue
        reads, writes = ran.traffic(root)
        if any(root in other.note.split() for other in found.nests):
            reads -= writes  # it starts from what another nest fills
        assert nest.bytes_written == 8 * writes
        assert nest.bytes_read <= 8 * reads
        if not ran.rereads(root):
            assert nest.bytes_read == 8 * reads


class Run:
    """The loops of a function, run one iteration after the other."""

    def __init__(self, function, extents):
        self._extents = extents
        self.work = Work()
        self._values = {}
        self._touched = {}
        self._runs = []
        self._block(function.body.block)

    def _block(self, block):
        for op in block.ops:
            self._run(op)

    def _run(self, op):
        if isinstance(op, ForOp):
            first = max(self._extents.affine(op.lower, self._values))
            end = min(self._extents.affine(op.upper, self._values))
            entry = (op, {}, {})
            self._touched.setdefault(op.label, []).append(entry)
            self._runs.append(entry)
            for value in range(first, end, op.step_value):
                self._values[op.iv] = value
                self._block(op.body.block)
            self._runs.pop()
        elif op.name in ("nest.if", "scf.if"):
            taken = bool(self._extents.value(op.operands[0], self._values))
            region = op.regions[0 if taken else 1] if taken or len(op.regions) > 1 else None
            if region is not None:
                self._block(region.block)
        elif isinstance(op, LoadOp | StoreOp | AccumulateOp):
            self._access(op)
        else:
            self.work = self.work.plus(work_of(op))

    def _access(self, op):
        where = op.where if isinstance(op, StoreOp | AccumulateOp) else None
        if where is not None and min(self._extents.affine(where, self._values)) < 0:
            return
        self.work = self.work.plus(work_of(op))
        indices = tuple(self._extents.affine(op.indices, self._values))
        for buffer in op.memrefs if isinstance(op, AccumulateOp) else [op.memref]:
            for root, reads, writes in self._runs:
                if any(buffer.owner is inner for inner in root.walk()):
                    continue
                if not isinstance(op, StoreOp):
                    reads.setdefault((buffer, indices), (buffer, indices) in writes)
                if not isinstance(op, LoadOp):
                    writes[buffer, indices] = True

    def traffic(self, label):
        runs = self._touched[label]
        return sum(len(reads) for _, reads, _ in runs), sum(len(writes) for _, _, writes in runs)

    def rereads(self, label):
        """Whether a nest reads what it has written."""
        return any(any(reads.values()) for _, reads, _ in self._touched[label])
