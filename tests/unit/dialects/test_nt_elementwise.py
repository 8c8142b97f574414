"""Every row of the elementwise table, on every element type it has, against the NumPy ufunc on special values."""

import itertools

import numpy as np
import pytest
from nestor.dialects import special
from nestor.dialects.nt.constants import compute, dtype_of
from nestor.dialects.nt.elementwise import ELEMENTWISE, Elementwise
from nestor.dialects.nt.expand import Emitter
from nestor.dialects.nt.types import BY_NAME, kind_of, scalar_type, width_of
from nestor.runtime.scalar_eval import bf16_round, constant, function, scalar
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import bf16, i1
from xdsl.ir import Block

CASES = [
    (row, name)
    for row in ELEMENTWISE.values()
    for name, element in BY_NAME.items()
    # Complex numbers are compared where they run (test_complex.py).
    if kind_of(element) != "c"
    and row.result != "complex"
    # The neighbours of a bfloat16 are not those that NumPy finds in float32; they have a test of their own.
    and kind_of(element) in row.expansions
    and not (row.on_bits and element == bf16)
]


def special_values(name):
    """Zeros of both signs, ones, halves, extremes, denormals, infinities, NaN; the ends of integer ranges."""
    element = BY_NAME[name]
    if kind_of(element) == "b":
        return np.array([False, True])
    if kind_of(element) in "iu":
        limits = np.iinfo(dtype_of(element))
        inside = [v for v in (0, 1, 2, 3, 7, -1, -2, -5) if v >= limits.min]
        return np.array([limits.min, limits.max, limits.max - 1, *inside], dtype_of(element))
    numbers = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.75, 1e-3, 100.0]
    edges = [np.finfo(np.float16).max, np.finfo(np.float16).tiny, np.inf]
    if width_of(element) > 16 or element == bf16:
        edges += [1e-40, 1.2e-38, 3e38]
    values = [sign * v for v in numbers + edges for sign in (1.0, -1.0)] + [np.nan]
    array = np.array(values, np.float32 if width_of(element) < 64 else np.float64).astype(dtype_of(element))
    return np.array([bf16_round(v) for v in array]) if element == bf16 else array


def operands_of(row, name):
    """All combinations of special values, as one array an operand."""
    values = special_values(name)
    if row.arity == 3:
        values = values[:: max(1, len(values) // 8)]
    columns = [values] * row.arity
    if row.condition_first:
        columns[0] = np.array([False, True])
    grids = np.meshgrid(*columns, indexing="ij")
    columns = [grid.ravel() for grid in grids]
    if row.name == "ldexp":
        limit = {np.dtype(np.float16): 100, np.dtype(np.float64): 2200}.get(values.dtype, 400)
        numbers = [0, 1, -1, 3, 10, -10, limit // 4, -limit // 4, limit // 2, -limit // 2 - 2, limit, -limit]
        grids = np.meshgrid(values, np.array(numbers, values.dtype), indexing="ij")
        return [grid.ravel() for grid in grids]
    if row.name != "power":
        return columns
    if columns[0].dtype.kind in "iu":  # a negative exponent is the frontend's to refuse
        settled = columns[1] >= 0
        return [column[settled] for column in columns]
    # NumPy itself has two answers for (-inf) ** 0.5: pow's in arrays of exponents, sqrt's for one exponent.
    settled = (columns[0] != -np.inf) | (columns[1] != 0.5)
    return [column[settled] for column in columns]


def expand(row, element):
    """The scalar expansion as a block: its arguments are the operands; also its result."""
    types = [scalar_type(element)] * row.arity
    if row.condition_first:
        types[0] = i1
    block = Block(arg_types=types)
    result = row.expansions[kind_of(element)](Emitter(block.add_op), *block.args)
    for op in block.ops:
        op.verify()
    return block, result


def evaluate(block, result, rows):
    """The values of `result`, for rows of one operand a block argument."""
    constants = {op.result: constant(op) for op in block.ops if isinstance(op, ConstantOp)}
    steps = [
        (op.results[0], function(op), tuple(op.operands))
        for op in block.ops
        if not isinstance(op, ConstantOp)
    ]
    found = []
    for row in rows:
        values = constants | {arg: scalar(v, arg.type) for arg, v in zip(block.args, row, strict=True)}
        for step, compute_one, operands in steps:
            values[step] = compute_one(*[values[v] for v in operands])
        found.append(values[result])
    return found


def from_scalar(values, dtype):
    """Scalars of the interpreter (signless integers) as an array of `dtype`."""
    array = np.array(values)
    return array.view(dtype) if dtype.kind == "u" else array.astype(dtype)


def ordered(array):
    """Floats as integers in their order: neighbours differ by one."""
    bits = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    return np.where(bits < 0, np.int64(-(1 << (8 * array.dtype.itemsize - 1))) - bits, bits)


@pytest.mark.parametrize(("row", "name"), CASES, ids=[f"{row.name}-{name}" for row, name in CASES])
def test_expansion_agrees_with_numpy(row: Elementwise, name: str):
    element = BY_NAME[name]
    operands = operands_of(row, name)
    block, result = expand(row, element)
    with np.errstate(all="ignore"):
        scalars = evaluate(block, result, zip(*operands, strict=True))
        expected = compute(row, operands)
        if element == bf16 and row.result == "same":
            expected = np.array([bf16_round(v) for v in expected])
    actual = from_scalar(scalars, expected.dtype)
    where = [tuple(column[k] for column in operands) for k in range(len(actual))]
    for k, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert same(row, got, wanted, where[k]), f"{row.name}{where[k]}: {got!r}, NumPy {wanted!r}"


def same(row, got, wanted, operands):
    """Bit for bit; NaN payloads, the sign of a zero minimum or maximum, and the stated ULPs excepted."""
    if got.tobytes() == wanted.tobytes():
        return True
    if wanted.dtype.kind != "f":
        return False
    if np.isnan(wanted) or np.isnan(got):
        return bool(np.isnan(wanted) and np.isnan(got))
    if row.ufunc in ("maximum", "minimum", "fmax", "fmin", "clip"):
        return bool(got == wanted)
    if row.name.startswith("logaddexp"):
        # The sum of an operand and a logarithm may cancel: the error is that of the larger of the three.
        scale = max(abs(v) for v in (*operands, wanted) if np.isfinite(v))
        return bool(abs(got - wanted) <= row.ulp * np.spacing(scale))
    distance = abs(int(ordered(got.reshape(1))[0]) - int(ordered(wanted.reshape(1))[0]))
    return distance <= row.ulp


@pytest.mark.parametrize("name", ["nextafter", "spacing"])
def test_neighbours_of_bfloat16(name):
    row = ELEMENTWISE[name]
    block, result = expand(row, bf16)
    values = [v for v in special_values("bfloat16") if v != 0.0]
    step = 2.0**-7
    for a in values:
        b = np.float32(0.0)
        (got,) = evaluate(block, result, [[a, b][: row.arity]])
        if name == "nextafter":
            wanted = a if np.isnan(a) else toward_zero(a)
        elif np.isfinite(a):
            exponent = max(int(np.frexp(a)[1]) - 1, -126)
            wanted = np.float32(np.copysign(step * 2.0**exponent, a))
            # Beyond the largest number is infinity.
            wanted = wanted if np.isfinite(bf16_round(a + wanted)) else np.float32(np.copysign(np.inf, a))
        else:
            wanted = np.float32(np.nan)
        assert got.tobytes() == wanted.tobytes() or (np.isnan(got) and np.isnan(wanted)), (a, got, wanted)


def toward_zero(a):
    """The next bfloat16 on the way to zero: one less in the upper half of the bits of a float32."""
    return (np.float32(a).view(np.uint32) - np.uint32(1 << 16)).view(np.float32)


def test_every_row_names_a_numpy_function():
    ours = {*special.__all__, "philox", "complex"}
    assert {row.ufunc for row in ELEMENTWISE.values() if not hasattr(np, row.ufunc)} == ours
    assert all(ELEMENTWISE[name].reference is not None for name in ours)


@pytest.mark.parametrize("name", ["maximum", "fmin", "equal", "add", "multiply", "bitwise_xor"])
def test_commutative_rows_commute(name):
    row = ELEMENTWISE[name]
    for dtype, element in BY_NAME.items():
        if kind_of(element) not in row.expansions or not row.commutative or kind_of(element) == "c":
            continue
        for a, b in itertools.product(special_values(dtype), repeat=2):
            pair = np.array([a]), np.array([b])
            left, right = compute(row, pair), compute(row, pair[::-1])
            assert left[0] == right[0] or np.isnan(left[0]) == np.isnan(right[0])
