"""Divisions by what a loop does not change give the quotients of the machine's division, to the last bit."""

import numpy as np
import pytest
from cpu_kernels import Kernel
from nestor.lowering.to_llvm.expand_division import expand_division
from parsed import parse_module

COLUMNS = 256
BITS = {"f32": (np.float32, np.uint32, 32), "f64": (np.float64, np.uint64, 64)}
WINDOWS = {"f32": (-63, 65, 60), "f64": (-511, 513, 500)}
"""Exponents: the least and the first too large one of a dividend, the largest of a divisor."""


def text(element: str, lanes: int) -> str:
    """Rows of x are divided by the elements of s: vectors, in a loop."""
    vector = f"vector<{lanes}x{element}>"
    return f"""
    func.func @apply(%x: memref<?x{COLUMNS}x{element}>, %s: memref<?x{element}>,
                     %o: memref<?x{COLUMNS}x{element}> {{nestor.noalias}}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %step = arith.constant {lanes} : index
      %m = arith.constant {COLUMNS} : index
      %n = memref.dim %x, %c0 : memref<?x{COLUMNS}x{element}>
      scf.for %i = %c0 to %n step %c1 {{
        %d = memref.load %s[%i] : memref<?x{element}>
        scf.for %j = %c0 to %m step %step {{
          %a = vector.load %x[%i, %j] : memref<?x{COLUMNS}x{element}>, {vector}
          %b = vector.broadcast %d : {element} to {vector}
          %q = arith.divf %a, %b : {vector}
          vector.store %q, %o[%i, %j] : memref<?x{COLUMNS}x{element}>, {vector}
        }}
      }}
      func.return
    }}
    """


@pytest.fixture(scope="module", params=[("f32", 16), ("f32", 64), ("f64", 8)], ids=str)
def divide(request):
    """The element type, and a function that divides rows by the elements of a vector."""
    element, lanes = request.param
    module = parse_module(text(element, lanes), "rows")
    expand_division(module)
    assert str(module).count("math.fma") == 2
    kernel = Kernel(str(module))

    def apply(x, s):
        quotients = np.empty_like(x)
        assert kernel(x, s, quotients)[0] == 0
        return quotients

    return element, apply


def check(divide, x, s) -> None:
    element, apply = divide
    dtype, integer, _ = BITS[element]
    x, s = np.ascontiguousarray(x, dtype), np.ascontiguousarray(s, dtype)
    with np.errstate(all="ignore"):
        exact = x / s[:, None]
    quotients = apply(x, s)
    same = (quotients.view(integer) == exact.view(integer)) | (np.isnan(quotients) & np.isnan(exact))
    assert same.all(), [(x[i, j], s[i], quotients[i, j], exact[i, j]) for i, j in np.argwhere(~same)[:3]]


@pytest.mark.parametrize("precision", range(3, 9))
def test_every_pair_of_short_numbers(precision):
    """What the docstring of the pass proves, for all numbers of a few bits: their arithmetic is exact in double."""

    def rounded(values):
        mantissa, exponent = np.frexp(values)
        return np.ldexp(np.rint(np.ldexp(mantissa, precision)), exponent - precision)

    numbers = np.arange(1 << (precision - 1), 1 << precision, dtype=np.float64)
    a, b = numbers[:, None], numbers
    inverse = rounded(1 / b)
    near = rounded(a * inverse)
    exact = rounded(a / b)
    assert (near != exact).any(), "the correction is needed"
    np.testing.assert_array_equal(rounded(near + rounded(a - b * near) * inverse), exact)


def mantissas(rng, dtype, *shape):
    return (1 + rng.random(shape)).astype(dtype)


def test_usual_numbers(divide):
    rng, dtype = np.random.default_rng(1), BITS[divide[0]][0]
    check(
        divide,
        mantissas(rng, dtype, 4000, COLUMNS) * rng.choice([-1, 1], 4000)[:, None],
        mantissas(rng, dtype, 4000),
    )


def test_quotients_next_to_the_middle_of_two_numbers(divide):
    rng, dtype = np.random.default_rng(2), BITS[divide[0]][0]
    s, q = mantissas(rng, dtype, 2000), mantissas(rng, dtype, 2000, COLUMNS)
    middle = q.astype(np.longdouble) + np.spacing(q).astype(np.longdouble) / 2
    x = (middle * s.astype(np.longdouble)[:, None]).astype(dtype)
    for neighbour in (x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(9))):
        check(divide, neighbour, s)


def test_divisors_of_many_ones_or_zeros(divide):
    rng, dtype = np.random.default_rng(3), BITS[divide[0]][0]
    units = np.arange(1, 33) * np.spacing(dtype(1))
    s = np.concatenate([2 - units, 1 + units, np.exp2(np.arange(-20.0, 21.0))]).astype(dtype)
    check(divide, mantissas(rng, dtype, len(s), COLUMNS), s)


def test_all_bits(divide):
    dtype, integer, width = BITS[divide[0]]
    rng = np.random.default_rng(4)
    x, s = (rng.integers(0, 1 << width, shape, integer).view(dtype) for shape in ((3000, COLUMNS), 3000))
    check(divide, x, s)


def test_the_edges_of_the_windows(divide):
    dtype = BITS[divide[0]][0]
    rng = np.random.default_rng(5)
    low, high, large = WINDOWS[divide[0]]
    exponents = [low - 2, low - 1, low, low + 1, 0, high - 2, high - 1, high, high + 1]
    for sign in (-1, 1):
        for divisor in (-large - 1, -large, -large + 1, 0, large - 1, large, large + 1):
            x = np.ldexp(mantissas(rng, dtype, len(exponents), COLUMNS), np.array(exponents)[:, None])
            s = np.ldexp(mantissas(rng, dtype, len(exponents)), divisor) * sign
            s[:2] = np.ldexp(dtype(1), divisor)
            check(divide, x, s)


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.0]


@pytest.mark.parametrize("place", [0, 5, COLUMNS - 1])
def test_special_numbers_in_one_lane(divide, place):
    dtype = BITS[divide[0]][0]
    special = [*SPECIAL, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max]
    x = np.ones((len(special) ** 2, COLUMNS), dtype)
    x[:, place] = np.repeat(special, len(special))
    check(divide, x, np.tile(special, len(special)))
