"""Random numbers: Philox's known answers, and the same bits in NumPy and compiled for every target."""

import statistics

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor import random
from nestor.dialects.special import philox_words

pytestmark = pytest.mark.one_of(2)

TARGETS = ["cpu", "cuda-sim", "interp"]
each_target = pytest.mark.parametrize("target", TARGETS)
each_dtype = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda d: d.__name__)

KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Counter, key and result of philox4x32-10, from the known-answer tests of the paper's library."""


def joined(low, high):
    return np.uint64(low | high << 32)


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter, key, result):
    assert philox_words(tuple(map(np.uint64, counter)), joined(*key)) == result


def bits_of(counter, stream, key):
    return random.philox(counter, stream, key)


@each_target
def test_known_answers_compiled(target):
    columns = [
        np.array([joined(*c[:2]) for c, _, _ in KNOWN]),
        np.array([joined(*c[2:]) for c, _, _ in KNOWN]),
        np.array([joined(*k) for _, k, _ in KNOWN]),
    ]
    jitted = agrees(bits_of, *columns, target=target)
    np.testing.assert_array_equal(jitted(*columns), [joined(*r[:2]) for _, _, r in KNOWN])


def half(key):
    return random.uniform(key, (7, 9), np.float16), random.normal(key, (7, 9), np.float16)


def single(key):
    return random.uniform(key, (7, 9)), random.normal(key, (7, 9))


def double(key):
    return random.uniform(key, (7, 9), np.float64), random.normal(key, (7, 9), np.float64)


@each_target
@pytest.mark.parametrize("function", [half, single, double], ids=lambda f: f.__name__)
def test_same_numbers_everywhere(function, target):
    agrees(function, 5, target=target)


def shapes(key):
    return (
        random.bits(key, (5,)),
        random.bits(key, (2, 3, 4)),
        random.bits(key, (0, 3)),
        random.bits(key, (1, 6)),
    )


def like(key, x):
    return (
        random.rand_like(key, x),
        random.bernoulli(key, 0.25, x.shape),
        random.uniform(key, x.shape, low=-1.0),
    )


def steps(key, x):
    return random.bits(random.fold_in(key, 0), (4,)), random.bits(
        random.fold_in(random.fold_in(key, 1), 2), (4,)
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_shapes_and_keys(dynamic):
    agrees(shapes, 12345678901234, dynamic=dynamic)
    agrees(shapes, -3, dynamic=dynamic)
    agrees(shapes, np.int64(9), dynamic=dynamic)
    agrees(like, 1, np.zeros((6, 5), "f4"), dynamic=dynamic)
    agrees(like, 1, np.zeros((6, 5))[:, ::2], dynamic=dynamic)
    agrees(steps, 1, np.zeros(3), dynamic=dynamic)


def many(key):
    return (
        random.uniform(key, (400, 400)),
        random.normal(key, (400, 400)),
        random.normal(key, (400, 400), np.float64),
    )


def test_more_than_a_constant_holds():
    agrees(many, 3)


def test_keys_make_different_numbers():
    draws = [
        random.bits(key, (100,))
        for key in (0, 1, random.fold_in(0, 0), random.fold_in(0, 1), random.fold_in(1, 0))
    ]
    assert len(np.unique(np.concatenate(draws))) == 500


@each_dtype
def test_distributions(dtype):
    u = random.uniform(11, (200, 1000), dtype).astype(np.float64)
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * u.size)
    assert np.abs(np.histogram(u, 16, (0, 1))[0] - u.size / 16).max() < 5 * np.sqrt(u.size / 16)
    z = random.normal(11, (200, 1000), dtype).astype(np.float64)
    assert abs(z.mean()) < 4 / np.sqrt(z.size)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / z.size)
    assert abs((z**4).mean() - 3) < 4 * np.sqrt(96 / z.size)


def test_normal_is_the_inverse_of_its_distribution():
    exact = statistics.NormalDist().inv_cdf
    below = np.concatenate([np.linspace(-0.499, -1e-6, 500), -0.5 + 2.0 ** -np.arange(2, 50)])
    wanted = np.array([exact(q + 0.5) for q in below])
    for q, values in ((below, wanted), (-below, -wanted)):
        np.testing.assert_allclose(random._inverse_double(q), values, rtol=1e-13, atol=1e-15)
        near = np.abs(q) < 0.5 - 2.0**-24
        single = q[near].astype("f4")
        values = np.array([exact(float(v) + 0.5) for v in single])
        np.testing.assert_allclose(random._inverse_single(single), values, rtol=1e-6, atol=1e-7)


def walk(key, x, steps):
    for t in range(steps):
        x = x + random.normal(random.fold_in(key, t), x.shape, np.float64)
    return x


@each_target
def test_keys_of_a_loop(target):
    agrees(walk, 3, np.zeros((2, 5)), 12, target=target)
    agrees(walk, 3, np.zeros((2, 5)), 3, target=target, dynamic=True)


def elements(key, n):
    x = np.zeros(n)
    for i in range(n):
        x[i] = random.philox(np.uint64(i), np.uint64(0), np.uint64(key)) >> 40
    return x


def test_philox_of_elements():
    agrees(elements, 3, 6)


def wrong_counter(x):
    return random.philox(x, np.uint64(0), np.uint64(1))


def wrong_type(key):
    return random.uniform(key, (3,), np.int32)


def test_what_is_refused():
    with pytest.raises(nt.NestorError, match="philox takes uint64"):
        nt.jit(wrong_counter)(np.zeros(3))
    with pytest.raises(TypeError, match="random numbers are float16, float32 or float64"):
        nt.jit(wrong_type)(1)
    with pytest.raises(TypeError, match="random numbers are float16, float32 or float64"):
        random.uniform(1, (3,), np.int32)
    with pytest.raises(TypeError, match="unsigned"):
        random.philox(1.0, 2, 3)
