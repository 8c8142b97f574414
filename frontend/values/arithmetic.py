"""Ufuncs and Python operators on values: promotion, the table of elementwise operations, affine integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...dialects.nt import ELEMENTWISE, DimOp, Elementwise
from ..interface.errors import (
    DivisionError,
    DTypeError,
    RangeError,
    Respecialise,
    ShapeError,
    UnsupportedError,
)
from ..interface.static_values import OPERATIONS, TEXT, methods_of, runs_own_code
from .assemble import fresh
from .contents import as_tensor
from .equal_extents import joined, may_repeat
from .extents import Affine
from .graph import Graph
from .integer_ranges import is_within, require_fit
from .masked import masked_operation, side_by_side, takes_selected
from .numbers import number_kind
from .overflow import check_arithmetic
from .promotion import WEAK_DTYPES, Operand, as_dtype, fits, ufunc_dtypes, weak_result
from .tensors import BOOL, as_array, as_readable, cast, constant, elementwise
from .values import (
    Array,
    Extents,
    Index,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_number,
    operand_of,
    shape_text,
)

if TYPE_CHECKING:
    from .islands import Island

UFUNC_CLIP: np.ufunc = np._core.umath.clip  # pyright: ignore
_ROWS: dict[str, Elementwise] = {
    row.ufunc: row for row in ELEMENTWISE.values() if not row.condition_first and row.reference is None
}
_SAME_AS = {"deg2rad": "radians", "rad2deg": "degrees", "fabs": "absolute", "float_power": "power"}
"""Ufuncs that compute what another one does, in types of their own."""
MOST_TERMS = 64
"""Values and quotients in an integer, beyond which its next quotient is computed, not written into every use of it."""

_IDENTITY_ON_INTEGERS = frozenset({"floor", "ceil", "trunc", "rint"})
_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})

PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "matmul": operator.matmul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": operator.invert,
    "absolute": abs,
}
"""Python's operator by the name of the ufunc it becomes on arrays."""

UFUNCS: dict[str, np.ufunc] = {name: getattr(np, name) for name in (*PYTHON_OPERATORS, "matmul")}
"""What operators do on arrays, whatever a program puts in the places of NumPy's functions."""


def operate(graph: Graph, name: str, *operands: Value) -> Value:
    """A Python operator: Python's own arithmetic on Python numbers, the ufunc called `name` otherwise."""
    if all(isinstance(o, Static) for o in operands):
        return _fold(graph, PYTHON_OPERATORS[name], [o.value for o in operands])  # pyright: ignore
    operands = _without_enums(operands)
    decided = _unlike(name, operands)
    if decided is not None:
        return decided
    for operand in operands:
        if not is_number(operand):
            raise graph.error(
                DTypeError, f"unsupported operand for {name}: {describe(operand)}", _hint(operand)
            )
    if takes_selected(graph, operands):
        return _of_masked(graph, name, lambda *plain: operate(graph, name, *plain), operands)
    if name == "power":
        return graph.language.composites["power"](graph, *operands, operator=True)
    if all(isinstance(operand_of(o), type) for o in operands):
        return _python_arithmetic(graph, name, operands)
    return apply(graph, UFUNCS[name], *operands)


def _without_enums(operands: tuple[Value, ...]) -> tuple[Value, ...]:
    """Members of an IntEnum as integers of Python; beside numbers of NumPy they stay, and count as its own."""
    if not any(map(_is_enum, operands)):
        return operands
    if not all(_is_enum(o) or (is_number(o) and isinstance(operand_of(o), type)) for o in operands):
        return operands
    return tuple([Static(int(o.value)) if isinstance(o, Static) and _is_enum(o) else o for o in operands])


def _is_enum(value: Value) -> bool:
    return isinstance(value, Static) and isinstance(value.raw, IntEnum)


def _unlike(name: str, operands: Sequence[Value]) -> Static | None:
    """A number of Python and what is none are not equal."""
    if name not in ("equal", "not_equal") or len(operands) != 2:
        return None
    is_plain = [is_number(o) and isinstance(operand_of(o), type) for o in operands]
    others = [
        o.raw for o, plain in zip(operands, is_plain, strict=True) if not plain and isinstance(o, Static)
    ]
    if is_plain.count(True) != 1 or not others or not isinstance(others[0], str | Enum | type | type(None)):
        return None
    return Static(name == "not_equal")


def _of_masked(graph: Graph, name: str, compute: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """An operation on what masks select: on the elements side by side, where it is no elementwise one, or would raise
    for elements that are not selected."""
    kinds = [number_kind(graph, o) for o in operands]
    may_raise = name == "power" and all(
        k is not float if isinstance(k, type) else k.kind in "iub" for k in kinds
    )
    if may_raise or getattr(UFUNCS.get(name) or getattr(np, name), "signature", None) is not None:
        return side_by_side(graph, compute, operands)
    return masked_operation(graph, compute, operands)


def _hint(operand: Value) -> str | None:
    if isinstance(operand, Static) and isinstance(operand.value, np.ndarray):
        return "make a plain array of numbers of it outside: np.asarray(x), x.astype(...)"
    return "numbers and arrays of numbers are computed with; convert it before the call"


def refuse_own_code(graph: Graph, values: Iterable[Any], methods: frozenset[str] = OPERATIONS) -> None:
    """Refuse what would run code of other classes than Python's and NumPy's while the program is compiled."""
    for value in values:
        if runs_own_code(value, methods):
            raise graph.error(
                UnsupportedError,
                f"this runs code of the class '{type(value).__name__}', which is not compiled",
                "read its attributes here, or compute it outside and pass what it gives",
            )


def _fold(graph: Graph, function: Callable[..., Any], values: Sequence[Any], **named: Any) -> Static:
    is_formatting = function is operator.mod and isinstance(values[0], str | bytes)
    refuse_own_code(graph, values, TEXT if is_formatting else methods_of(function.__name__))
    try:
        return Static(function(*values, **named))
    except ZeroDivisionError as error:
        _divides_by_zero(graph, str(error))
    except TypeError as error:
        raise graph.error(DTypeError, str(error)) from None
    except OverflowError as error:
        raise graph.error(RangeError, str(error)) from None
    except ValueError as error:
        raise graph.error(ShapeError, str(error)) from None


# ---- Python numbers ---------------------------------------------------------------------------------


def affine_of(value: Value) -> Affine | None:
    """The value as an affine integer, when it is one."""
    if isinstance(value, Index):
        return value.affine
    if isinstance(value, Static) and isinstance(value.value, int | np.integer):
        return Affine(int(value.value))
    return None


def index_value(affine: Affine) -> Value:
    """An affine integer as a value: a compile-time object where it is constant."""
    return Index(affine) if affine.terms else Static(affine.constant)


def _python_arithmetic(graph: Graph, name: str, operands: Sequence[Value]) -> Value:
    affine = _affine_arithmetic(graph, name, [affine_of(o) for o in operands])
    if affine is not None:
        return index_value(affine)
    if name in _COMPARISONS and len(operands) == 2:
        known = _affine_comparison(graph, name, affine_of(operands[0]), affine_of(operands[1]))
        if known is not None:
            return Static(known)
    if any(operand_of(o) is complex for o in operands):
        if name == "absolute":
            return _modulus(graph, operands[0])
        _require_complex(graph, name)
    if name.endswith("_shift"):
        _require_shift(graph, operands[1])
    if name in ("divide", "floor_divide", "remainder"):
        _require_nonzero(graph, name, *operands)
    kinds = tuple([operand_of(o) for o in operands])
    if name not in _COMPARISONS and not (name.startswith("bitwise") and set(kinds) == {bool}):
        operands = [_without_bool(graph, o) for o in operands]
    result = apply(graph, UFUNCS[name], *operands)
    weak = bool if name in _COMPARISONS else float if name == "divide" else weak_result(kinds)  # pyright: ignore
    if name.startswith("bitwise") and set(kinds) == {bool}:
        weak = bool
    if weak is int:
        check_arithmetic(graph, name, operands, result)
    return as_weak(result, weak, scalar_arguments(operands))


def _modulus(graph: Graph, operand: Value) -> Value:
    """abs() of a complex number of Python, which raises where it is no number and the parts are."""
    from .checks import check

    result = apply(graph, np.absolute, operand)
    grew = apply(graph, np.logical_and, apply(graph, np.isinf, result), apply(graph, np.isfinite, operand))
    check(graph, apply(graph, np.logical_not, grew), "OverflowError", "absolute value too large")
    return as_weak(result, float, scalar_arguments([operand]))


def _require_complex(graph: Graph, name: str) -> None:
    """Raise for an operator that Python's complex numbers do not have, or compute otherwise than NumPy's."""
    if name == "divide":
        raise graph.error(
            UnsupportedError,
            "a quotient of Python's complex numbers known at run time is not supported: Python computes it in its own way",
            "make it a number of NumPy: np.complex128(z)",
        )
    if name not in ("add", "subtract", "multiply", "negative", "positive", "equal", "not_equal"):
        raise graph.error(DTypeError, f"unsupported operand type for {name}: 'complex'")


def _without_bool(graph: Graph, value: Value) -> Value:
    """A Python bool as the int it is in arithmetic: -True is -1."""
    if operand_of(value) is not bool:
        return value
    if isinstance(value, Static):
        return Static(int(value.value))
    return as_weak(copy(graph, value, WEAK_DTYPES[int]), int, scalar_arguments([value]))


def as_weak(value: Value, weak: type, arguments: frozenset[int] | None) -> Value:
    """A scalar result as a Python number."""
    if isinstance(value, Tensor):
        return Tensor(value.ssa, value.dtype, (), True, weak, None, arguments)
    if isinstance(value, Scalar):
        return Scalar(value.ssa, value.dtype, weak)
    return value


def scalar_arguments(operands: Sequence[Value]) -> frozenset[int] | None:
    """The scalar arguments that Python numbers are computed from; None when they depend on anything else."""
    result: frozenset[int] = frozenset()
    for operand in operands:
        if isinstance(operand, Static):
            continue
        if isinstance(operand, Index):
            if any(atom.argument is None for atom in operand.affine.atoms()):
                return None
            result |= operand.affine.arguments()
        elif isinstance(operand, Tensor) and operand.arguments is not None:
            result |= operand.arguments
        else:
            return None
    return result


def require_static(graph: Graph, value: Value, what: str, hint: str | None = None) -> Any:
    """The compile-time value; compiles again with the scalar arguments it comes from baked in where that helps."""
    if isinstance(value, Static):
        refuse_own_code(graph, [value.value])
        return value.value
    if isinstance(value, Index | Tensor):
        arguments = scalar_arguments([value])
        if arguments:
            raise Respecialise(arguments, why=f"{what} must be known at compile time")
        if isinstance(value, Index) and value.affine.is_of_extents():
            raise Respecialise(shapes=True, why=f"{what} must be known at compile time")
        if isinstance(value, Tensor) and not value.extents and reads_extents(value.ssa):
            raise Respecialise(shapes=True, why=f"{what} must be known at compile time")
    raise graph.error(
        UnsupportedError, f"{what} must be known at compile time; this is {describe(value)}", hint
    )


def reads_extents(value: SSAValue) -> bool:
    """Whether a number is computed from unknown extents."""
    owner = value.owner
    return isinstance(owner, DimOp) or (
        isinstance(owner, Operation) and any(map(reads_extents, owner.operands))
    )


def _affine_arithmetic(graph: Graph, name: str, operands: Sequence[Affine | None]) -> Affine | None:
    if any(o is None for o in operands):
        return None
    a = operands[0]
    assert a is not None
    if len(operands) == 1:
        return {"negative": -a, "positive": a}.get(name)
    b = operands[1]
    assert b is not None
    if name == "add":
        return a + b
    if name == "subtract":
        return a - b
    if name == "multiply" and (a.known is not None or b.known is not None):
        return a * b.constant if b.known is not None else b * a.constant
    if a.size() > MOST_TERMS:
        return None
    if name.endswith("_shift") and b.known is not None and 0 <= b.known < 63:
        if name == "left_shift":
            return a * (1 << b.known)
        return graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, a, 1 << b.known)
    divisor = b.known
    if name in ("floor_divide", "remainder") and divisor is not None and divisor > 0:
        kind = AffineBinaryOpKind.FloorDiv if name == "floor_divide" else AffineBinaryOpKind.Mod
        return graph.assumptions.divided(kind, a, divisor)
    return None


def _affine_comparison(graph: Graph, name: str, a: Affine | None, b: Affine | None) -> bool | None:
    """A comparison of extents, when it can be decided."""
    if a is None or b is None:
        return None
    difference = (a - b).known
    if difference is not None:
        return PYTHON_OPERATORS[name](difference, 0)
    if a.over_dims() is not None and b.over_dims() is not None:
        raise Respecialise(shapes=True, why="a comparison of extents decides what is compiled")
    return None


def _divides_by_zero(graph: Graph, text: str) -> NoReturn:
    from .checks import fail

    fail(graph, graph.error(DivisionError, text), "ZeroDivisionError")


def _require_nonzero(graph: Graph, name: str, dividend: Value, divisor: Value) -> None:
    """Raise where a Python number is divided by zero. An argument that a quotient of integers depends on is compiled in: a
    known divisor says more of extents and bounds."""
    if isinstance(divisor, Static):
        if divisor.value == 0:
            _divides_by_zero(graph, "division by zero")
        return
    affine = affine_of(divisor)
    if affine is not None and (affine.lower_bound() or 0) > 0:
        return
    arguments = scalar_arguments([divisor]) if affine is not None and name != "divide" else None
    if arguments:
        raise Respecialise(arguments, why="a Python integer divides, and may be zero")
    from .checks import check

    if float in (operand_of(dividend), operand_of(divisor)):
        text = "float division by zero"
    else:
        text = "division by zero" if name == "divide" else "integer division or modulo by zero"
    check(graph, apply(graph, np.not_equal, divisor, Static(0)), "ZeroDivisionError", text)


def _require_shift(graph: Graph, amount: Value) -> None:
    """Python raises for a negative shift; NumPy does not."""
    affine = affine_of(amount)
    if affine is not None and affine.known is not None and affine.known < 0:
        raise graph.error(ShapeError, "negative shift count")
    if affine is not None and graph.assumptions.nonnegative(affine, "a shift is not negative"):
        return
    from .checks import check

    check(graph, apply(graph, np.greater_equal, amount, Static(0)), "ValueError", "negative shift count")


# ---- ufuncs -----------------------------------------------------------------------------------------


def apply(graph: Graph, ufunc: np.ufunc, *operands: Value, dtype: np.dtype | None = None) -> Value:
    """`ufunc(*operands)` with NumPy's promotion and broadcasting."""
    if all(isinstance(o, Static) for o in operands):
        named = {} if dtype is None else {"dtype": dtype}
        return _fold(graph, ufunc, [o.value for o in operands], **named)  # pyright: ignore
    if len(operands) != ufunc.nin:
        raise graph.error(DTypeError, f"np.{ufunc.__name__} takes {ufunc.nin} arguments, got {len(operands)}")
    if takes_selected(graph, operands):
        name = ufunc.__name__
        return _of_masked(graph, name, lambda *plain: apply(graph, ufunc, *plain, dtype=dtype), operands)
    composite = graph.language.composites.get(ufunc.__name__)
    if composite is not None:
        if dtype is not None:
            dtypes = compute_dtypes(graph, ufunc, operands, dtype)
            operands = tuple([copy(graph, o, d) for o, d in zip(operands, dtypes, strict=True)])
        return composite(graph, *operands)
    row = _ROWS.get(_SAME_AS.get(ufunc.__name__, ufunc.__name__))
    if row is None:
        known = sorted({*_ROWS, *_SAME_AS, *graph.language.composites})
        raise graph.error(
            UnsupportedError,
            f"np.{ufunc.__name__} is not supported",
            f"elementwise functions: {', '.join(known)}",
        )
    dtypes = compute_dtypes(graph, ufunc, operands, dtype)
    if row.name in _IDENTITY_ON_INTEGERS and dtypes[0].kind in "iub":
        return emit(graph, _ROWS["add"], [operands[0], Static(0)], (dtypes[0], dtypes[0]))
    if ufunc.__name__ in _COMPARISONS and {d.kind for d in dtypes} == {"i", "u"}:
        return _compare_mixed(graph, row, operands, dtypes)
    if nt_kind(dtypes[-1]) not in row.expansions:
        raise graph.error(UnsupportedError, f"np.{ufunc.__name__} on {dtypes[-1]} is not supported")
    return emit(graph, row, operands, dtypes)


def _compare_mixed(
    graph: Graph, row: Elementwise, operands: Sequence[Value], dtypes: Sequence[np.dtype]
) -> Value:
    """uint64 against int64, exactly: a negative number is below every unsigned one, the rest compare unsigned."""
    signed = 0 if dtypes[0].kind == "i" else 1
    when_negative = row.name in (("less", "less_equal") if signed == 0 else ("greater", "greater_equal"))
    answer = Static(np.bool_(when_negative or row.name == "not_equal"))
    negative = emit(graph, _ROWS["less"], [operands[signed], Static(0)], (dtypes[signed],) * 2)
    # A Python integer takes part as an int64: a negative one is decided by then.
    operands = [
        Static(max(o.value, 0)) if isinstance(o, Static) else copy(graph, o, d) if operand_of(o) is int else o
        for o, d in zip(operands, dtypes, strict=True)
    ]
    unsigned = emit(graph, row, operands, (np.dtype(np.uint64),) * 2)
    return emit(graph, ELEMENTWISE["select"], [negative, answer, unsigned], (BOOL,) * 3)


def _may_not_fit(graph: Graph, operand: Value, kind: Operand, dtype: np.dtype) -> bool:
    """Whether a Python integer may have a value that `dtype`, in which it would be compared, does not have."""
    if isinstance(operand, Static):
        return not fits(operand.value, dtype)
    if isinstance(operand, Index):
        return not is_within(graph, operand.affine, dtype)
    return (
        kind is int
        and isinstance(operand, Tensor | Scalar)
        and dtype.kind in "iu"
        and dtype != WEAK_DTYPES[int]
    )


def nt_kind(dtype: np.dtype) -> str:
    """The element kind of the tables: f, i, u or b. (ml_dtypes' bfloat16 has NumPy kind V.)"""
    return "f" if dtype.name == "bfloat16" else dtype.kind


def _way_out(ufunc: np.ufunc, kinds: Sequence[Any]) -> str:
    """What to do about operands for which NumPy has no loop."""
    if ufunc.__name__.startswith("bitwise_") or ufunc.__name__ in ("invert", "left_shift", "right_shift"):
        return "& | ^ ~ << >> are of integers and booleans: x.astype(int), np.logical_and for truth values"
    if all(kind is bool or np.dtype(kind).kind == "b" for kind in kinds):
        return "arithmetic of booleans: & | ^ ~ in its place, or x.astype(int) for numbers"
    accepted = sorted({loop.partition("->")[0] for loop in ufunc.types})
    return f"np.{ufunc.__name__} takes the dtypes {', '.join(accepted)}: x.astype(...) converts"


def compute_dtypes(
    graph: Graph, ufunc: np.ufunc, operands: Sequence[Value], dtype: np.dtype | None
) -> tuple[np.dtype, ...]:
    """The dtypes in which `ufunc` computes on `operands`; `dtype` is that of its result, where the call says it."""
    kinds = tuple([number_kind(graph, o) for o in operands])
    try:
        dtypes, _ = ufunc_dtypes(ufunc, kinds, dtype)
    except TypeError as error:
        raise graph.error(DTypeError, str(error), _way_out(ufunc, kinds)) from None
    if ufunc.__name__.startswith("logical_"):
        return (BOOL,) * len(kinds)
    if ufunc.__name__ in _COMPARISONS and any(
        _may_not_fit(graph, o, k, d) for o, k, d in zip(operands, kinds, dtypes, strict=True)
    ):
        # Compared by value: NumPy converts neither to the other's type.
        wide, widest = WEAK_DTYPES[int], np.dtype(np.uint64)
        return tuple(
            [d if d == widest and k is not int else wide for k, d in zip(kinds, dtypes, strict=True)]
        )
    return dtypes


def emit(graph: Graph, row: Elementwise, operands: Sequence[Value], dtypes: Sequence[np.dtype]) -> Value:
    """One operation of the table on operands converted to `dtypes`."""
    shapes = [extents_of(o) for o in operands]
    extents = broadcast_extents(graph, shapes, has_ones=True)
    if graph.island is not None:
        return graph.island.elementwise(row, operands, dtypes, extents)
    if any(may_repeat(graph, shape, extents) for shape in shapes):
        return _by_elements(graph, row, operands, dtypes, extents)
    tensors = [convert(graph, o, d) for o, d in zip(operands, dtypes, strict=True)]
    return finished(elementwise(graph, row, tensors, extents))


def _by_elements(
    graph: Graph, row: Elementwise, operands: Sequence[Value], dtypes: Sequence[np.dtype], extents: Extents
) -> Value:
    """An operation on arrays whose extents may turn out to be 1: an island, which finds out where they are read."""

    readable = [as_readable(o) for o in operands]

    def write(island: Island, target: Array) -> None:
        island.assign(target, island.elementwise(row, readable, dtypes, extents))

    return fresh(graph, BOOL if row.result == "bool" else dtypes[-1], extents, write)


def finished(tensor: Tensor) -> Value:
    """The result of a NumPy function: a scalar when it has rank 0, a fresh array otherwise."""
    return as_array(tensor) if tensor.extents else tensor


def convert(graph: Graph, value: Value, dtype: np.dtype) -> Tensor:
    """A value as a tensor of `dtype`; a Python integer must fit."""
    require_fit(graph, value, dtype)
    if isinstance(value, Static):
        ssa = constant(graph, as_dtype(value.value, dtype), dtype)
        return Tensor(ssa, dtype, (), True)
    return cast(graph, as_tensor(graph, value), dtype)


def broadcast_extents(graph: Graph, shapes: Sequence[Extents], has_ones: bool = False) -> Extents:
    """NumPy's broadcasting. Raises ShapeError; equalities of unknown extents become guards, or checks of the run.

    `has_ones`: who reads the operands does it by `own_index`, so that an extent may turn out to be 1.
    """
    rank = max(len(shape) for shape in shapes)
    result: list[Affine] = []
    for axis in range(-rank, 0):
        extent = Affine(1)
        for shape in shapes:
            if len(shape) < -axis or shape[axis].known == 1:
                continue
            both = shape[axis] if extent.known == 1 else joined(graph, extent, shape[axis], has_ones)
            if both is None:
                raise _mismatch(graph, shapes)
            extent = both
        result.append(extent)
    return tuple(result)


def _mismatch(graph: Graph, shapes: Sequence[Extents]) -> ShapeError:
    text = " ".join(shape_text(shape).replace(" ", "") for shape in shapes if shape)
    error = graph.error(
        ShapeError,
        f"operands could not be broadcast together with shapes {text}",
        "extents are equal or 1, counted from the last axis: x[:, None] adds an axis, x.T turns them round",
    )
    assert isinstance(error, ShapeError)
    return error


def copy(graph: Graph, value: Value, dtype: np.dtype) -> Value:
    """A fresh array (or scalar) of `dtype` with the elements of `value`."""
    if graph.island is not None:
        return graph.island.converted(value, dtype)
    return finished(replace(convert(graph, value, dtype), weak=None))
