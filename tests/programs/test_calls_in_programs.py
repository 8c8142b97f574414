"""Programs in which compiled loops and calls of NumPy take turns."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

RNG = np.random.default_rng(2)


def kalman(z, a, h, q, r, x, p):
    """The states of a Kalman filter, one measurement after the other."""
    states = np.zeros((len(z), len(x)))
    for k in range(len(z)):
        x = a @ x
        p = a @ p @ a.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        x = x + gain @ (z[k] - h @ x)
        p = p - gain @ h @ p
        states[k] = x
    return states, p


def components(x, k):
    """The first principal components, up to their signs, and the variances."""
    centred = x - x.mean(axis=0)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    return np.abs(centred @ vt[:k].T), s**2 / (len(x) - 1)


def covariance(a, b):
    return np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2)


def gaussian_process(x, y, at):
    factor = np.linalg.cholesky(covariance(x, x) + 1e-2 * np.eye(len(x)))
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    v = np.linalg.solve(factor, covariance(x, at))
    return covariance(at, x) @ alpha, 1 - (v**2).sum(axis=0), np.log(np.diag(factor)).sum()


def suppressed(boxes, scores):
    """Of boxes that are near a better one nothing is kept."""
    order = np.argsort(-scores)
    sorted_boxes = boxes[order]
    keep = np.ones(len(boxes), dtype=bool)
    for i in range(len(boxes)):
        if keep[i]:
            for j in range(i + 1, len(boxes)):
                if abs(sorted_boxes[i, 0] - sorted_boxes[j, 0]) < 0.2:
                    keep[j] = False
    return keep, scores[order]


def sizes_of_clusters(x, centres):
    distances = ((x[:, None, :] - centres[None]) ** 2).sum(axis=-1)
    labels = distances.argmin(axis=1)
    return np.bincount(labels, minlength=len(centres)), labels


def equalised(x):
    counts, edges = np.histogram(x, 16, range=(0.0, 1.0))
    share = np.cumsum(counts) / x.size
    return np.interp(x.ravel(), (edges[1:] + edges[:-1]) / 2, share).reshape(x.shape)


UNIT = np.eye(3)
MEASURED = (
    RNG.random((6, 2)),
    UNIT + 0.1 * RNG.random((3, 3)),
    RNG.random((2, 3)),
    0.1 * UNIT,
    0.2 * np.eye(2),
)
PROGRAMS = [
    (kalman, (*MEASURED, np.zeros(3), UNIT)),
    (components, (RNG.random((9, 4)), 2)),
    (gaussian_process, (RNG.random(5), RNG.random(5), RNG.random(4))),
    (suppressed, (RNG.random((8, 2)), RNG.random(8))),
    (sizes_of_clusters, (RNG.random((20, 3)), RNG.random((4, 3)))),
    (equalised, (RNG.random((5, 6)),)),
]


def cases():
    """Every program on each target; the filter, which compiles long, in machine code only among slow tests."""
    for function, arguments in PROGRAMS:
        for target in ("cpu", "interp"):
            marks = [pytest.mark.slow] if function is kalman and target == "cpu" else []
            yield pytest.param(function, arguments, target, marks=marks, id=f"{function.__name__}-{target}")


@pytest.mark.parametrize(("function", "arguments", "target"), list(cases()))
def test_programs(function, arguments, target):
    agrees(function, *arguments, target=target, tolerance=1e-9)


def test_extents_that_are_not_known():
    f = nt.jit(sizes_of_clusters, dynamic=True)
    for n, k in ((20, 4), (30, 5)):
        x, centres = RNG.random((n, 3)), RNG.random((k, 3))
        for got, want in zip(f(x, centres), sizes_of_clusters(x, centres), strict=True):
            np.testing.assert_array_equal(got, want)
    assert f.cache_info()["compiled"] == 1


def corners(a, n):
    total = 0.0
    for k in range(n):
        total += np.linalg.det(a[: k + 1, : k + 1])
    return total


def determinant(a):
    return np.linalg.det(a)


def test_a_slice_that_may_reach_over_the_end_is_not_called_oblong():
    for shape, n in (((3, 3), 2), ((4, 4), 9)):  # both extents are the same expression
        matrix = RNG.random(shape)
        np.testing.assert_allclose(nt.jit(corners)(matrix, n), corners(matrix, n), rtol=1e-12)
    for shape in ((5, 3), (3, 5)):
        with pytest.raises(nt.UnsupportedError, match="is square is known at run time only") as caught:
            nt.jit(corners)(RNG.random(shape), 2)
        assert "help: slice it within its extents" in str(caught.value)
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        nt.jit(determinant)(np.ones((2, 3)))
