"""`fallback=`: what has no program runs as the plain function, once, and says why."""

import time
import warnings

import nestor as nt
import numpy as np
import pytest

MODES = ("numpy", "compile-later")
CALLS = []


def refused(x):
    """Changes a list outside: not compiled."""
    CALLS.append(1)
    return x + len(CALLS)


def written(x, y):
    """Changes its argument, and is compiled."""
    x += y
    return x.sum()


def wait_for(compiled, *args):
    """Call until a program answers; what the calls gave."""
    given = []
    for _ in range(600):
        given.append(compiled(*args))
        if compiled.cache_info()["plain"] < len(given):
            return given
        time.sleep(0.05)
    raise AssertionError("no program was made")


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_what_is_refused_runs_once_and_says_why_once(target):
    compiled = nt.jit(refused, target=target, fallback="numpy")
    CALLS.clear()
    with pytest.warns(
        RuntimeWarning, match="refused is not compiled, and runs in Python: .*changing a list"
    ) as heard:
        results = [compiled(np.ones(n)) for n in (3, 0, 3, 5, 1, 3)]
    assert len(heard) == 1 and heard[0].filename == __file__
    for k, (n, result) in enumerate(zip((3, 0, 3, 5, 1, 3), results, strict=True), 1):
        np.testing.assert_array_equal(result, np.ones(n) + k)
    assert len(CALLS) == 6 and compiled.cache_info()["plain"] == 6
    said = compiled.explain(np.ones(3))
    assert said.startswith("refused runs in Python") and said.count("runs in Python: ") == 2


def test_what_is_not_refused_is_compiled():
    compiled = nt.jit(lambda x, y: x * y + 1, fallback="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            np.testing.assert_array_equal(compiled(np.arange(3.0), 2.0), [1, 3, 5])
    assert compiled.cache_info()["plain"] == 0 and compiled.cache_info()["compiled"] == 1


def test_arguments_that_cannot_be_passed():
    compiled = nt.jit(lambda x: x[::-1], fallback="numpy")
    text = np.array(["b", "a"])
    with pytest.warns(RuntimeWarning, match="arrays of dtype <U1 cannot be compiled"):
        assert compiled(text).tolist() == ["a", "b"]
    np.testing.assert_array_equal(compiled(np.arange(3)), [2, 1, 0])
    assert compiled.cache_info()["plain"] == 1


def test_compiled_later_with_the_same_results():
    compiled = nt.jit(written, fallback="compile-later")
    x, y = np.zeros(5), np.arange(5.0)
    given = wait_for(compiled, x, y)
    np.testing.assert_array_equal(x, y * len(given))  # each call has added once, whichever way it went
    np.testing.assert_allclose(given, [10.0 * k for k in range(1, len(given) + 1)])
    plain = compiled.cache_info()["plain"]
    for k in range(40):
        assert compiled(x, y) == 10.0 * (len(given) + k + 1)
    assert compiled.cache_info()["plain"] == plain


def test_refused_later():
    compiled = nt.jit(refused, fallback="compile-later")
    CALLS.clear()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for k in range(1, 600):
            assert compiled(np.zeros(1)) == k
            if heard:
                break
            time.sleep(0.05)
    assert "changing a list" in str(heard[0].message) and len(CALLS) == k


SCALE = 2.0


def scaled(x):
    return x * SCALE


@pytest.mark.parametrize("mode", MODES)
def test_values_outside_may_change_meanwhile(mode, monkeypatch):
    compiled = nt.jit(scaled, fallback=mode)
    for scale in (2.0, 3.0, 2.0, -1.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for n in (3, 4, 5, 3):
            np.testing.assert_array_equal(compiled(np.ones(n)), np.full(n, scale))
            time.sleep(0.02)


def cube(x):
    return CHOICE(x) * x


def test_what_was_refused_is_tried_again(monkeypatch):
    """It may have been something outside."""
    monkeypatch.setitem(globals(), "CHOICE", memoryview)
    compiled = nt.jit(cube, fallback="numpy")
    with pytest.warns(RuntimeWarning):
        np.testing.assert_array_equal(compiled(np.full(3, 4.0)), np.full(3, 16.0))
    monkeypatch.setitem(globals(), "CHOICE", np.sqrt)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(np.full(3, 4.0)), np.full(3, 8.0))
    assert compiled.cache_info()["compiled"] == 1


CHOICE = np.sqrt


@pytest.mark.parametrize("mode", MODES)
def test_exceptions_arrive_as_they_are(mode):
    class Mine(Exception):
        pass

    def failing(x):
        CALLS.append(1)
        raise Mine(x.size)

    compiled = nt.jit(failing, fallback=mode)
    CALLS.clear()
    for n in (3, 4):
        with warnings.catch_warnings(), pytest.raises(Mine) as error:
            warnings.simplefilter("ignore")
            compiled(np.ones(n))
        assert error.value.args == (n,) and error.value.__context__ is None
    assert len(CALLS) == 2


def test_errors_of_programs_do_not_fall_back():
    """A program has begun: what it wrote is written, and what it raises is raised."""

    def at(x, k):
        x[0] += 1
        return x[k]

    compiled = nt.jit(at, fallback="numpy")
    x = np.zeros(3)
    for k in range(1, 4):
        with pytest.raises(IndexError):
            compiled(x, 7)
        assert x[0] == k
    assert compiled.cache_info()["plain"] == 0


def test_out_of_the_call():
    compiled = nt.jit(lambda x: x + 1, fallback="compile-later")
    out = np.empty(3)
    assert compiled(np.ones(3), out=out) is out and out.tolist() == [2, 2, 2]
    with pytest.raises(nt.NestorError, match="changing a list"):  # the plain function takes no out
        nt.jit(refused, fallback="numpy")(np.ones(3), out=out)


def test_tensors_come_to_the_plain_function_as_they_are():
    torch = pytest.importorskip("torch")

    def kind(x):
        CALLS.append(1)
        x += 1
        return type(x)

    x = torch.zeros(3)
    with pytest.warns(RuntimeWarning):
        assert nt.jit(kind, fallback="numpy")(x) is torch.Tensor
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fallback": "python"}, "fallback='python'"),
        ({"fallback": True}, "fallback=True"),
        ({"fallback": "numpy", "strict": True}, "strict makes an error of what Python runs"),
        ({"fallback": "compile-later", "strict": "fast"}, "with strict='fast'"),
        ({"fallback": "numpy", "target": "cuda"}, "NumPy does not take arrays of the device"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(scaled, **options)


def test_tracing_has_none():
    with pytest.raises(nt.NestorError, match=r"nt\.trace has no fallback"):
        nt.trace(scaled, fallback="numpy")
