"""`print` in compiled functions: the same text as Python's, when the program runs, in its order."""

import copy

import nestor as nt
import numpy as np
import pytest

RNG = np.random.default_rng(3)


def recurrent(xs, h):
    for t in range(len(xs)):
        h = h * 0.5 + xs[t]
        if t % 10 == 0:
            print("step", t, h.sum() > 2, f"{h.max():.3f} at {t:>4}")
    print(h, (h.min(), 1.5, None), sep="; ")
    return h


def elements(a):
    s = a[0] * 0
    for i in range(len(a)):
        s += a[i]
        if a[i] > 3:
            print(i, a[i], s, a[i] > 4, end=" |\n")
    print(a[::2], a.dtype, True, a + 1)
    return s


def python_numbers(n, x):
    k = 0
    while k < n:
        k += 1
        x = x / 2
        print(k, x, x > 1, [k, x], {"k": k}, f"{x!r:>8}|")
    print()


def two_dimensions(x):
    print(x, x.T, x.shape, x[:, 0], x[1, 1])
    x[0] = 0
    print(x)


def order_of_effects(a):
    print("before", a[0])
    a[0] = 7
    print("after", a[0])
    a += 1
    print("end", a[0])


PROGRAMS = [
    (recurrent, (RNG.integers(0, 8, (25, 3)) / 8, np.zeros(3))),
    (elements, (np.arange(7),)),
    (elements, (np.arange(7.0)[::-1],)),
    (elements, (np.arange(7, dtype=np.uint64) + np.uint64(2**63),)),
    (elements, (np.arange(7, dtype=np.float16),)),
    (python_numbers, (4, 10.0)),
    (two_dimensions, (RNG.integers(-9, 9, (3, 4)).astype(np.int8),)),
    (two_dimensions, (RNG.integers(0, 2, (3, 4)).astype(bool),)),
    (two_dimensions, (np.asfortranarray(RNG.integers(0, 8, (3, 4)) / 4),)),
    (order_of_effects, (np.zeros(3),)),
]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_print(function, arguments, target, capsys):
    function(*copy.deepcopy(arguments))
    expected = capsys.readouterr().out
    compiled = nt.jit(function, target=target)
    for _ in range(2):
        compiled(*copy.deepcopy(arguments))
        assert capsys.readouterr().out == expected


def noisy(x):
    for i in range(len(x)):
        print(x[i])
        x[i] = x[i] * 2


def test_a_loop_that_prints_stays_in_order():
    """No schedule may take its iterations apart."""
    text = nt.jit(noisy).lower(nt.spec((None,), "f8")).as_text("nest")
    assert "parallel" not in text and "vectorized" not in text
    assert text.index("func.call @nestor_print_begin") < text.index("func.call @nestor_print_end")


class Broken:
    def write(self, text):
        raise OSError("the pipe is closed")

    def flush(self):
        pass


def test_an_error_of_the_stream_is_raised(monkeypatch):
    compiled = nt.jit(noisy)
    compiled(np.zeros(0))
    monkeypatch.setattr("sys.stdout", Broken())
    with pytest.raises(OSError, match="the pipe is closed"):
        compiled(np.ones(3))


def wrong_format(x):
    print(f"{x.sum():zz}")
    return x[int(x[0])]


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_an_error_of_a_format_is_raised_once(target):
    compiled = nt.jit(wrong_format, target=target)
    for x in (np.ones(3), np.full(3, 7.0)):
        with pytest.raises(ValueError, match="Unknown format code 'z'"):
            compiled(x)
    nt.jit(noisy)(np.ones(3))


def to_a_file(x):
    print(x, file=None)


def an_array_function(x):
    print(np)
    print(x.sum)


@pytest.mark.parametrize(
    ("function", "target", "message"),
    [
        (to_a_file, "cpu", "print with file= is not supported"),
        (an_array_function, "cpu", "the method sum cannot be printed"),
        (noisy, "cuda-sim", "print is not supported on a GPU"),
    ],
)
def test_refusals(function, target, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function, target=target)(np.ones(3))
