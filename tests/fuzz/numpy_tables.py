"""What random programs are made of: templates of expressions, a line each. `{0}` is the first operand.

Whether a template fits its operands is found by evaluating it: a row needs no conditions of its own.
"""

from __future__ import annotations

from nestor.dialects.nt.elementwise import ELEMENTWISE as ROWS

DTYPES = ("f8", "f4", "i8", "i4", "?", "u1", "i1", "u8", "f2", "i2", "u4", "u2")

EXTENTS = (3, 4, 8, 5, 2, 17, 33, 7, 3, 4, 5, 1, 0)

FLOATS = ("1", "0.5", "-2", "3", "0", "-0.0", "np.nan", "np.inf", "-np.inf", "1e-3", "1e30", "0.1", "-7.25")
FLOATS_F2 = ("1", "0.5", "-2", "3", "0", "-0.0", "np.nan", "np.inf", "-np.inf", "1e-3", "6e4", "0.1", "-7.25")
SIGNED = ("1", "2", "-1", "0", "3", "7", "-5", "MIN", "MAX")
UNSIGNED = ("1", "2", "0", "3", "7", "5", "MAX")
BOOLS = ("1", "0")

SCALARS = (
    "2", "0.5", "3", "-1", "True", "0", "2.5", "-0.0", "7", "np.float32(1.5)", "np.int64(3)",
    "np.uint8(200)", "np.float64(-2)", "np.inf", "np.nan", "np.bool_(True)", "np.float16(0.1)",
    "np.int8(-3)",
)  # fmt: skip
"""Scalar arguments."""

LITERALS = ("1", "2", "0.5", "3", "-1", "0", "2.5", "0.1", "-3", "True", "np.pi", "7", "100")

# Drawn most often: cheap elementwise work, which fuses.
COMMON = (
    "({0} + {1})", "({0} * {1})", "({0} - {1})", "np.maximum({0}, {1})", "({0} / {1})", "(-{0})",
    "np.abs({0})", "np.where({0} > {1}, {0}, {1})", "({0} * {0})", "np.minimum({0}, {1})",
    "({0} * 2 + {1})", "np.sqrt(np.abs({0}))", "({0} + {1} * {2})", "np.where({0} < {1}, {2}, {1})",
)  # fmt: skip

ELEMENTWISE = (
    "({0} < {1})", "({0} <= {1})", "({0} == {1})", "({0} != {1})", "({0} > {1})", "({0} >= {1})",
    "({0} // {1})", "({0} % {1})", "({0} ** 2)", "({0} ** 3)", "({0} ** 0.5)", "np.power({0}, {1})",
    "({0} & {1})", "({0} | {1})", "({0} ^ {1})", "(~{0})", "({0} << ({1} & 7))", "({0} >> ({1} & 7))",
    "({0} << {1})", "({0} >> {1})", "np.where({0}, {1}, {2})", "np.clip({0}, {1}, {2})",
    "np.clip({0}, 0, 3)", "np.fmax({0}, {1})", "np.fmin({0}, {1})", "np.fmod({0}, {1})", "np.floor({0})",
    "np.ceil({0})", "np.trunc({0})", "np.rint({0})", "np.sign({0})", "np.square({0})", "np.reciprocal({0})",
    "np.isnan({0})", "np.isinf({0})", "np.isfinite({0})", "np.signbit({0})", "np.copysign({0}, {1})",
    "np.logical_and({0}, {1})", "np.logical_or({0}, {1})", "np.logical_not({0})",
    "np.logical_xor({0}, {1})", "np.sqrt({0})", "np.exp({0})", "np.log({0})", "np.sin({0})", "np.cos({0})",
    "np.tanh({0})", "np.arctan2({0}, {1})", "np.hypot({0}, {1})", "np.log1p({0})", "np.expm1({0})",
    "np.exp2({0})", "np.log2({0})", "np.log10({0})", "np.cbrt({0})", "np.arctan({0})", "np.sinh({0})",
    "np.tan({0})", "np.logaddexp({0}, {1})", "np.heaviside({0}, {1})", "np.divmod({0}, {1})[0]",
    "np.divmod({0}, {1})[1]", "np.modf({0})[0]", "np.frexp({0})[1]", "np.ldexp({0}, 2)",
    "np.nextafter({0}, {1})", "np.spacing({0})", "np.gcd({0}, {1})", "np.lcm({0}, {1})",
    "np.bitwise_count({0})", "np.deg2rad({0})", "np.add({0}, {1}, dtype=np.float64)",
    "np.subtract({0}, {1})", "np.float_power({0}, 2)", "np.positive({0})", "(2 - {0})", "(1 / {0})",
    "({0} + {1}).astype(np.float32)", "{0}.astype(np.float32)", "{0}.astype(np.float64)",
    "{0}.astype(np.int64)", "{0}.astype(np.int32)", "{0}.astype(np.uint8)", "{0}.astype(np.bool_)",
    "{0}.astype(np.float16)", "{0}.astype(np.int8)", "{0}.astype({1}.dtype)",
)  # fmt: skip

REDUCTIONS = (
    "{0}.sum()", "{0}.sum(axis=0)", "np.max({0})", "np.min({0}, axis=-1)", "{0}.mean()",
    "np.sum({0}, axis=1, keepdims=True)", "{0}.max(axis=0, keepdims=True)", "np.any({0} > 1)",
    "np.all({0} < 2)", "{0}.prod()", "np.mean({0}, axis=0)", "{0}.min()", "{0}.sum(axis=(0, 1))",
    "np.sum({0} * {0})", "np.sum({0}, dtype=np.float64)", "{0}.all(axis=0)", "{0}.any(axis=-1)",
    "{0}.var()", "np.std({0}, axis=0)", "{0}.prod(axis=0)", "np.add.reduce({0})",
    "np.maximum.reduce({0}, axis=0)",
)  # fmt: skip

VIEWS = (
    "{0}[1:]", "{0}[::2]", "{0}[::-1]", "{0}[:-1]", "{0}.T", "{0}[0]", "{0}[-1]", "{0}[:, 0]", "{0}[None]",
    "{0}[..., None]", "{0}[:, ::-1]", "{0}[1:-1]", "{0}[-1:0:-2]", "{0}[:, 1:]", "{0}.ravel()",
    "{0}.reshape(-1)", "np.transpose({0})", "np.expand_dims({0}, 0)", "np.squeeze({0})", "np.flip({0})",
    "np.flip({0}, 0)", "np.swapaxes({0}, 0, -1)", "{0}.copy()", "{0}[...]", "{0}[2:2]", "{0}[5:1]",
    "{0}[:100]", "np.broadcast_to({0}, (2,) + {0}.shape)", "np.ascontiguousarray({0})", "{0}[..., -1]",
    "{0}.reshape({0}.shape[::-1])", "np.asarray({0})",
)  # fmt: skip

WINDOWS = (
    "{0}[1:]", "{0}[::2]", "{0}[::-1]", "{0}[:-1]", "{0}.T", "{0}[0]", "{0}[:, 0]", "{0}[:, ::-1]", "{0}[1:-1]",
    "{0}[-1:0:-2]", "{0}[None]", "{0}[...]", "{0}",
)  # fmt: skip
"""Views that have a name of their own, and are written."""

REARRANGED = (
    "np.concatenate(({0}, {1}))", "np.stack(({0}, {0}))", "np.roll({0}, 1)", "np.argmax({0})", "{0}.argmin(axis=0)",
    "np.diff({0} > 1)", "np.vstack(({0}, {1}))", "np.where(np.isnan({0}), 0, {0})", "np.count_nonzero({0})",
)  # fmt: skip

CREATIONS = (
    "np.zeros_like({0})", "np.ones({0}.shape)", "np.arange(len({0}))", "np.full_like({0}, 2)",
    "np.zeros({0}.shape, dtype=np.int32)", "np.full({0}.shape, 1.5)",
    "np.arange({0}.size).reshape({0}.shape)", "np.ones_like({0})", "np.zeros(3)",
    "np.arange(0, {0}.size, 2)", "np.array({0})", "np.full({0}.shape, {0}.sum())",
)  # fmt: skip

NUMBERS = (
    "len({0})", "{0}.shape[0]", "{0}.size", "{0}.ndim", "float({0}.size)", "int({0}.ndim)", "{0}.shape[-1]",
)  # fmt: skip
"""Python's numbers, from arrays."""

SCALAR_EXPRESSIONS = (
    "({0} + {1})", "({0} * {1})", "({0} - {1})", "({0} / {1})", "({0} // {1})", "({0} % {1})", "({0} ** 2)",
    "abs({0})", "(-{0})", "min({0}, {1})", "max({0}, {1})", "float({0})", "int({0})", "bool({0})",
    "({0} < {1})", "({0} == {1})", "(not {0})", "np.sqrt({0})", "np.maximum({0}, {1})", "({0} and {1})",
    "({0} or {1})", "divmod({0}, {1})[1]",
)  # fmt: skip
"""Of Python's numbers, and of NumPy's scalars: elements and sums."""

ITEMS = (
    "1:", "0", "::2", ":", "-1", "::-1", ":-1", "1:3", "..., 0", ":, 0", "1:, :-1", "0, 0", "-1, 0", "...",
    "::2, 1:", "None, 0", "2:1", "1",
)  # fmt: skip
"""What is assigned to: `a[...] = `."""

AUGMENTED = ("+", "*", "-", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")

RANGES = (
    "range(len({0}))", "range({0}.shape[0])", "range(1, len({0}))", "range(len({0}) - 1)",
    "range(1, len({0}) - 1)", "range(len({0}) - 1, -1, -1)", "range(0, len({0}), 2)", "range(3)",
    "range(len({0}), 0, -2)", "range(2, {0}.size)", "range(-2, 2)",
)  # fmt: skip

CHOICES = ("({0} if {1} > 0 else {2})", "({0} if {0} < {1} else {1})")
"""Inside loops over elements."""

ELEMENTS = (
    "{0}[{i}]", "{0}[{i} - 1]", "{0}[0]", "{0}[-1]", "{0}[{i} // 2]", "{0}[-{i}]",
    "{0}[len({0}) - 1 - {i}]", "{0}[{i} + 1]", "{0}[{i} % 2]",
)  # fmt: skip
ELEMENTS_2D = (
    "{0}[{i}, {j}]", "{0}[{i}, {j} - 1]", "{0}[{i} - 1, {j}]", "{0}[{i}, 0]", "{0}[0, {j}]",
    "{0}[{j}, {i}]",
)  # fmt: skip

OF_ARRAYS = frozenset({*VIEWS, *REDUCTIONS, *CREATIONS, *WINDOWS, *REARRANGED})
"""Not of numbers: `np.squeeze(2)`, `(3).sum()`."""

OF_ONE_KIND = frozenset(
    {
        "min({0}, {1})",
        "max({0}, {1})",
        "({0} and {1})",
        "({0} or {1})",
        "({0} if {1} > 0 else {2})",
        "({0} if {0} < {1} else {1})",
    }
)
"""What of two kinds gives one or the other when it runs: compiled code has one."""

ULP_FUNCTIONS = {row.ufunc for row in ROWS.values() if row.ulp > 0} | {
    "float_power",
    "deg2rad",
    "rad2deg",
}
"""Functions whose results may differ from NumPy's by some units in the last place."""
