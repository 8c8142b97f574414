"""Python's math module on numbers known at run time, compared with Python, errors included."""

import math

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

INF, NAN = float("inf"), float("nan")
VALUES = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.5,
    -7.25,
    1e-300,
    1e300,
    710.0,
    -745.0,
    INF,
    -INF,
    NAN,
    np.float32(0.25),
    3,
]


def of(function):
    name = function.__name__
    scope = {}
    source = f"import math\ndef f(x):\n    return math.{name}(x)\n"
    path = f"<math {name}>"
    import linecache

    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    exec(compile(source, path, "exec"), scope)
    return scope["f"]


FUNCTIONS = [
    math.sqrt, math.log, math.log2, math.log10, math.log1p, math.sin, math.cos, math.tan, math.asin, math.acos,
    math.atan, math.tanh, math.asinh, math.acosh, math.atanh, math.fabs, math.degrees, math.radians, math.exp,
    math.expm1, math.sinh, math.cosh, math.isnan, math.isinf, math.isfinite, math.floor, math.ceil, math.trunc,
    math.erf, math.erfc, math.lgamma, math.gamma,
]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(function, target):
    program = of(function)
    jitted = nt.jit(program, target=target)
    for value in VALUES:
        try:
            want = program(value)
        except (ValueError, OverflowError, TypeError) as error:
            with pytest.raises(type(error)):
                jitted(value)
            continue
        if isinstance(want, int) and not isinstance(want, bool) and abs(want) >= 2**63:
            with pytest.raises(OverflowError):
                jitted(value)
            continue
        got = jitted(value)
        assert type(got) is type(want), value
        # Python's lgamma and gamma are less exact formulas than most.
        near = 1e-14 if function in (math.lgamma, math.gamma) else 1e-15
        assert got == pytest.approx(want, rel=near, abs=0, nan_ok=True), value


def pair(x, y):
    return math.atan2(x, y), math.copysign(x, y), math.hypot(x, y), math.pi * x


def test_two_numbers():
    for x, y in [(1.5, -2.0), (-0.0, 3.0), (4.0, INF), (1.7e308, 1.7e308)]:
        assert nt.jit(pair)(x, y) == pytest.approx(pair(x, y), rel=1e-15)


def in_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.sqrt(x[i]) + math.floor(x[i])
    return out


def test_in_a_loop():
    x = np.arange(9.0) / 2
    np.testing.assert_array_equal(nt.jit(in_a_loop)(x), in_a_loop(x))
    with pytest.raises(ValueError, match=r"test_math.py:\d+:\d+: error: math domain error"):
        nt.jit(in_a_loop)(x - 1)


def unsupported(x):
    return math.fsum((x, x))


def test_others_are_refused():
    with pytest.raises(nt.UnsupportedError, match="fsum is not supported"):
        nt.jit(unsupported)(1.5)
