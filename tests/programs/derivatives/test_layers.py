"""Gradients of layers against central differences of the same text run by NumPy, and what they keep between both halves."""

import re

import nestor as nt
import numpy as np
import pytest
from nestor import nn

RNG = np.random.default_rng(7)
X = RNG.normal(size=(5, 7))
IMAGES = (
    RNG.permutation(2 * 3 * 6 * 7).reshape(2, 3, 6, 7) / 50.0
)  # no ties, and gaps wider than a difference's step
LABELS = np.array([0, 6, 3, 3, 1])
IDS = np.array([[0, 3, 3], [1, -1, 0]])
STEP, TOLERANCE = 1e-6, 1e-7
"""Of central differences in float64; programs are smooth, of values of about 1."""


def cross_entropy(x):
    return nn.cross_entropy(x, LABELS)


def categorical(x):
    return np.take_along_axis(nn.log_softmax(x), LABELS[:, None], axis=1).sum()


def bernoulli(x):
    return -(np.logaddexp(0, x) - x * (x > 0.3)).mean()


def mixture(x):
    return nn.logsumexp(nn.log_softmax(x[0]) - 0.5 * (x[1:] - 0.1) ** 2, axis=-1).sum()


def largest(x):
    return np.sin(nn.max_pool(x, (2, 3))).sum()


def overlapping(x):
    return np.sin(nn.max_pool(x, (3, 2), stride=1, padding=1)).sum()


def means(x):
    return np.sin(nn.avg_pool(x, (3, 2), stride=(1, 2), padding=1)).sum()


def adaptive(x):
    return np.sin(nn.adaptive_avg_pool(x, (4, 3))).sum() + nn.adaptive_max_pool(x, (4, 3)).sum()


def rows_of_a_table(x):
    return np.sin(nn.embedding(x, IDS)).sum()


def interpolated(x):
    return np.sin(np.interp(x, np.linspace(-2.0, 2.0, 8), np.linspace(-1.0, 3.0, 8) ** 2)).sum()


def heights(x):
    return np.sin(np.interp(np.linspace(-0.5, 7.0, 13), np.arange(7.0), x[0])).sum()


def dropped(x):
    return np.sin(nn.dropout(np.tanh(x), 0.4, 3)).sum()


PROGRAMS = {
    "cross entropy": (cross_entropy, X),
    "cross entropy far out": (cross_entropy, X * 300),
    "categorical": (categorical, X),
    "bernoulli": (bernoulli, X),
    "mixture": (mixture, X),
    "max pooling": (largest, IMAGES),
    "max pooling of overlapping windows": (overlapping, IMAGES),
    "average pooling": (means, IMAGES),
    "adaptive pooling": (adaptive, IMAGES),
    "embedding": (rows_of_a_table, X),
    "places of an interpolation": (interpolated, X),
    "heights of an interpolation": (heights, X),
    "dropout": (dropped, X),
}
QUICK = ("cross entropy", "max pooling of overlapping windows", "embedding", "dropout")


def differences(f, x):
    found = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        low, high = x.copy(), x.copy()
        low[index] -= STEP
        high[index] += STEP
        found[index] = (f(high) - f(low)) / (2 * STEP)
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in PROGRAMS]
)
@pytest.mark.parametrize("dynamic", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_against_central_differences(name, dynamic):
    f, x = PROGRAMS[name]
    value, gradient = nt.jit(nt.value_and_grad(f), dynamic=dynamic)(x)

    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, x), atol=TOLERANCE * max(1, abs(value)))


def test_rows_of_a_table_are_added_up():
    gradient = nt.grad(lambda table, ids: (nn.embedding(table, ids) * 2.0).sum())
    for ids in (np.array([1, 1, -4]), np.array([], dtype=np.int64), np.array(2)):
        expected = np.zeros((4, 3))
        np.add.at(expected, ids, 2.0)
        np.testing.assert_array_equal(gradient(np.ones((4, 3)), ids), expected)
    with pytest.raises(IndexError):
        gradient(np.ones((4, 3)), np.array([4]))


def test_a_label_beside_minus_infinity():
    x = np.array([[0.5, -np.inf, 1.0]])
    gradient = nt.grad(nn.cross_entropy)(x, np.array([2]))

    np.testing.assert_allclose(gradient, nn.softmax(x) - np.array([[0.0, 0.0, 1.0]]), atol=1e-15)


def test_not_a_number_stays_in_its_rows():
    x = X.copy()
    x[1, 2] = np.nan
    gradient = nt.grad(cross_entropy)(x)

    assert np.isnan(gradient[1]).all()
    np.testing.assert_allclose(
        np.delete(gradient, 1, 0), np.delete(nt.grad(cross_entropy)(X), 1, 0), rtol=1e-12
    )


def test_the_mask_of_dropout_is_drawn_again_and_never_stored():
    def loss(x, w, v, key):
        return ((nn.dropout(np.tanh(x @ w), 0.4, key) @ v) ** 2).sum()

    arrays = [RNG.normal(size=s).astype("f4") for s in ((6, 5), (5, 9), (9, 4))]
    gradients = nt.grad(loss, argnums=(0, 1, 2))
    text = gradients.lower(*arrays, 3).as_text("nt-fused")
    handed_on = re.findall(r"nt\.yield .* : (.*)", text)

    assert text.count("nt.philox") == 2
    assert handed_on
    assert not re.search(r"x(i1|ui64|i32)>", "".join(handed_on))
    for key in (3, 4):
        kept = nn.dropout(np.ones((6, 9)), 0.4, key)
        x, w, v = (a.astype("f8") for a in arrays)
        t = np.tanh(x @ w)
        d_z = 2 * (t * kept @ v)
        d_h = (d_z @ v.T) * kept * (1 - t * t)
        expected = (d_h @ w.T, x.T @ d_h, (t * kept).T @ d_z)
        for made, right in zip(gradients(*arrays, key), expected, strict=True):
            np.testing.assert_allclose(made, right, rtol=2e-4, atol=2e-4)


def test_strided_rows_with_padding():
    """The rows of a tile of sums over windows are inside of its columns: channels after places."""

    def loss(x, w):
        return np.sin(nn.conv1d(x, w, stride=2, padding=1)).sum()

    for shape in ((3, 4, 7), (2, 6, 9), (1, 1, 2)):
        x, w = RNG.normal(size=shape), RNG.normal(size=(3, shape[1], 3))
        value, gradients = nt.value_and_grad(loss, (0, 1))(x, w)

        np.testing.assert_allclose(value, loss(x, w), rtol=1e-12)
        for k, (array, gradient) in enumerate(zip((x, w), gradients, strict=True)):
            for at in np.ndindex(array.shape):
                both = []
                for step in (STEP, -STEP):
                    moved = [x.copy(), w.copy()]
                    moved[k][at] += step
                    both.append(loss(*moved))
                np.testing.assert_allclose(gradient[at], (both[0] - both[1]) / (2 * STEP), atol=TOLERANCE)
