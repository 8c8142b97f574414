"""What a new user tries on the first day: odd inputs, odd names, wrong calls, threads."""

import os
import pickle
import threading

import nestor as nt
import numpy as np
import pytest
from agreement import agrees


def sin(x):
    return np.sin(x)


def aligned_alloc(x):
    return (x.sum(axis=0) - x) * x.max()


def größe(α, _β, NULL):
    σ = 0.0
    for ι in range(len(α)):
        τ = α[ι] * _β[ι]
        if τ > 1:
            σ += τ
    return α * σ + NULL


@pytest.mark.parametrize("target", ["cpu", "cuda-sim"])
def test_names_of_the_c_library_and_beyond_ascii(target):
    x = np.arange(4.0)
    agrees(aligned_alloc, x, target=target)
    agrees(größe, x, x, x, target=target)
    agrees(sin, x, target=target, tolerance=1e-15)


def operands(n, v):
    return n and v, n or v, n > 0 and v > 0, not (n or v)


def chained(x):
    return 0 < x[0] < 3, x[0] and x[1], not x[0] > 1


def counting(n):
    return -n, n + n, n * 2, n // 2, n**2


def test_python_numbers_stay_pythons():
    for n, v in [(3, 4), (0, 4), (2.5, 4), (0.0, 2.5), (True, False)]:
        agrees(operands, n, v)
    agrees(chained, np.array([2.0, 5.0]))
    agrees(counting, True)
    agrees(counting, 3)


def total(x):
    c = 0
    for i in range(x.shape[0]):
        if x[i] % 2 == 0 and x[i] > 2:
            c += x[i]
        else:
            c -= 1
    return c


def test_a_loop_gives_a_variable_the_type_of_the_array():
    for dtype in ("i8", "i1", "f4", "f8"):
        agrees(total, np.arange(8).astype(dtype))


def jacobi(u, steps):
    v = u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u[:] = v
    return u


def running(x):
    y = np.empty_like(x)
    s = x[0] * 0
    for i in range(x.shape[0]):
        s = s + x[i]
        y[i] = s
    return y


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_loops_that_start_from_computed_values(target):
    agrees(jacobi, np.arange(8.0) ** 2, 3, target=target)
    agrees(running, np.arange(8.0), target=target)


def clipped(x):
    return np.clip(x, -1, 300), x.clip(1, None), np.clip(x, None, 10**9)


def large(x):
    return x + np.uint64(2**63 + 5), x + (2**63 + 7)


def test_integers_at_the_edge_of_their_type():
    agrees(clipped, np.array([0, 3, 255], np.uint8))
    agrees(large, np.arange(3, dtype=np.uint64))


def along(x, k):
    return x.sum(axis=k), x[k]


def last(x):
    return x.max(axis=-1)


def test_axes_and_indices():
    x = np.arange(6.0).reshape(2, 3)
    for k in (1, np.int64(1), np.int8(-1)):
        agrees(along, x, k)
    agrees(last, np.float64(3))
    for k, error in [(2, np.exceptions.AxisError), (1.0, TypeError)]:
        with pytest.raises(error):
            nt.jit(along)(x, k)


def both(x):
    return np.any(x > 0, axis=1), np.all(x > -9)


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_any_and_all(target):
    agrees(both, np.arange(6.0).reshape(2, 3) - 2, target=target)


def only_views(x):
    return x.T, x[1:], 3, x.shape


def test_a_program_without_kernels():
    agrees(only_views, np.ones((3, 4)), target="cuda-sim")


def folded(x):
    n, m, k = x.shape
    return x.reshape(n * m, k) * 2, max(n, m), n / m


def test_products_of_extents_are_compiled_for():
    agrees(folded, np.arange(24.0).reshape(2, 3, 4), dynamic=True)


def quotient(x, s):
    return x / s


def test_zeros_of_both_signs_are_two_constants():
    jitted = nt.jit(quotient, static_argnames="s")
    assert [jitted(np.ones(1), s)[0] for s in (0.0, -0.0, 0.0)] == [np.inf, -np.inf, np.inf]
    assert jitted.cache_info()["compiled"] == 2


def test_threads_get_one_program_and_a_child_computes():
    jitted, x, seen = nt.jit(quotient), np.random.default_rng(0).random((300, 400)), []
    threads = [
        threading.Thread(target=lambda: seen.append(np.array_equal(jitted(x, 3.0), x / 3.0)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 8
    assert jitted.cache_info()["compiled"] == 1
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(nt.jit(last)(x), x.max(axis=-1)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def rows(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_twenty_shapes_one_program():
    jitted = nt.jit(rows, dynamic=True)
    for n in range(2, 22):
        x = np.random.default_rng(n).random((n, n + 5))
        np.testing.assert_allclose(jitted(x), rows(x), rtol=1e-14)
    assert jitted.cache_info()["compiled"] == 1


def set_comprehension(x):
    return {i for i in range(3)}


def tries(x):
    try:
        return x
    except ValueError:
        return x + 1


def kept_iterator(x):
    pairs = enumerate(x)
    return list(pairs)


def strings(x):
    return np.zeros(3, dtype="S3")


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (
            set_comprehension,
            "returning a set that is made in compiled code is not supported",
            "make it of what",
        ),
        (tries, "try is not supported", "around the call"),
        (kept_iterator, "keeping an iterator is not supported", "list(...)"),
        (strings, "arrays of bytes24 are not supported", "element types"),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_what_is_not_compiled_says_where_and_what_to_do(function, message, hint):
    with pytest.raises(nt.NestorError) as caught:
        nt.jit(function)(np.arange(3.0))
    text = str(caught.value)
    assert "test_hostile.py:" in text
    assert "^" in text
    assert message in text
    assert hint in text.split("help:")[1]
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


class Model:
    def scale(self, x):
        return x


def test_wrong_calls_and_options():
    jitted, x = nt.jit(quotient), np.ones(2)
    for arguments, keywords in [
        ((), {}),
        ((x,), {}),
        ((x, 1, 2), {}),
        ((x, 1), {"t": 3}),
        ((x, 1), {"s": 3}),
    ]:
        with pytest.raises(TypeError, match=r"quotient\(\)"):
            jitted(*arguments, **keywords)
    for options in [{"static_argnums": 7}, {"static_argnames": "q"}, {"dynamic": 3}, {"fastmath": "quick"}]:
        with pytest.raises(TypeError):
            nt.jit(quotient, **options)
    assert nt.jit(Model().scale)(x).tolist() == Model().scale(x).tolist()
    with pytest.raises(TypeError, match="is not a function"):
        nt.jit(int)
    with pytest.raises(ValueError, match="negative extent"):
        nt.spec((3, -1))
    assert nt.jit(jitted)(x, 2.0).tolist() == [0.5, 0.5]
