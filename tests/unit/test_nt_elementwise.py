"""Every row of the elementwise table, on every element type it has, against the NumPy ufunc on special values."""

import itertools

import numpy as np
import pytest
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
    if kind_of(element) in row.expansions
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
    if row.name != "power":
        return columns
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


def evaluate(block, result, operands):
    """The value of `result` for one operand a block argument."""
    values = {arg: scalar(v, arg.type) for arg, v in zip(block.args, operands, strict=True)}
    for op in block.ops:
        if isinstance(op, ConstantOp):
            values[op.result] = constant(op)
        else:
            values[op.results[0]] = function(op)(*[values[v] for v in op.operands])
    return values[result]


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
        scalars = [evaluate(block, result, each) for each in zip(*operands, strict=True)]
        expected = compute(row, operands)
        if element == bf16 and row.result == "same":
            expected = np.array([bf16_round(v) for v in expected])
    actual = from_scalar(scalars, expected.dtype)
    where = [tuple(column[k] for column in operands) for k in range(len(actual))]
    for k, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert same(row, got, wanted), f"{row.name}{where[k]}: {got!r}, NumPy {wanted!r}"


def same(row, got, wanted):
    """Bit for bit; NaN payloads, the sign of a zero minimum or maximum, and the stated ULPs excepted."""
    if got.tobytes() == wanted.tobytes():
        return True
    if wanted.dtype.kind != "f":
        return False
    if np.isnan(wanted) or np.isnan(got):
        return bool(np.isnan(wanted) and np.isnan(got))
    if row.ufunc in ("maximum", "minimum", "fmax", "fmin", "clip"):
        return bool(got == wanted)
    distance = abs(int(ordered(got.reshape(1))[0]) - int(ordered(wanted.reshape(1))[0]))
    return distance <= row.ulp


def test_every_row_names_a_numpy_function():
    assert all(hasattr(np, row.ufunc) for row in ELEMENTWISE.values())


@pytest.mark.parametrize("name", ["maximum", "fmin", "equal", "add", "multiply", "bitwise_xor"])
def test_commutative_rows_commute(name):
    row = ELEMENTWISE[name]
    for dtype, element in BY_NAME.items():
        if kind_of(element) not in row.expansions or not row.commutative:
            continue
        for a, b in itertools.product(special_values(dtype), repeat=2):
            pair = np.array([a]), np.array([b])
            left, right = compute(row, pair), compute(row, pair[::-1])
            assert left[0] == right[0] or np.isnan(left[0]) == np.isnan(right[0])
