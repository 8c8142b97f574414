"""Ufuncs that are made of others, those with two results, and their methods: np.add.reduce, np.add.outer."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import apply, compute_dtypes, copy, emit, nt_kind, operate
from ...values.contents import as_view
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.promotion import WEAK_DTYPES
from ...values.tensors import BOOL, as_array
from ...values.values import Array, Group, Static, Tensor, Value, describe, extents_of, shape_text
from ...values.writes import check_writable
from ..invoke import invoke
from ..registry import dtype_of, handles, static
from ..shapes.orders import lay_out, requested

_UINT8, _INT32 = np.dtype(np.uint8), np.dtype(np.int32)
_LARGEST_EXPONENT = {"float16": 100, "bfloat16": 400, "float32": 400, "float64": 2200}
"""Scaling by more gives zero or infinity, whatever the number."""


COMPOSITES: dict[str, Callable[..., Value]] = {}
"""Ufuncs that are made of others, by name: `COMPOSITES["power"](graph, x, y)`."""


def composite(name: str) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Enter the decorated function for the ufunc called `name`."""

    def enter(function: Callable[..., Value]) -> Callable[..., Value]:
        COMPOSITES[name] = function
        return function

    return enter


def _of_products(name: str) -> Callable[..., Value]:
    """A ufunc of the module of products, which is imported when one is called."""

    def call(graph: Graph, *operands: Value) -> Value:
        from ..linalg.products import PRODUCTS

        return PRODUCTS[name](graph, *operands)

    return call


COMPOSITES.update({name: _of_products(name) for name in ("matmul", "vecdot", "matvec", "vecmat")})


@composite("power")
def _power(graph: Graph, base: Value, exponent: Value, *, operator: bool = False) -> Value:
    from .powers import power

    return power(graph, base, exponent, operator=operator)


@composite("positive")
def _positive(graph: Graph, operand: Value) -> Value:
    return copy(graph, operand, compute_dtypes(graph, np.positive, [operand], None)[0])


@composite("conjugate")
def _conjugate(graph: Graph, operand: Value) -> Value:
    dtype = compute_dtypes(graph, np.conjugate, [operand], None)[0]
    if dtype.kind == "c":
        return emit(graph, ELEMENTWISE["conjugate"], [operand], (dtype,))
    return copy(graph, operand, dtype)


@composite("invert")
def _invert(graph: Graph, operand: Value) -> Value:
    dtype = compute_dtypes(graph, np.invert, [operand], None)[0]
    if dtype == BOOL:
        return emit(graph, ELEMENTWISE["logical_not"], [operand], (BOOL,))
    ones = Static(dtype.type(-1 if dtype.kind == "i" else np.iinfo(dtype).max))
    return emit(graph, ELEMENTWISE["bitwise_xor"], [operand, ones], (dtype, dtype))


def _classified(name: str, of_integers: str) -> None:
    """isnan and the like: known of integers, which are compared with themselves."""
    ufunc: np.ufunc = getattr(np, name)

    @composite(name)
    def classify(graph: Graph, operand: Value) -> Value:
        dtype = compute_dtypes(graph, ufunc, [operand], None)[0]
        if nt_kind(dtype) in "fc":
            return emit(graph, ELEMENTWISE[name], [operand], (dtype,))
        return emit(graph, ELEMENTWISE[of_integers], [operand, operand], (dtype, dtype))


_classified("isnan", "not_equal")
_classified("isinf", "not_equal")
_classified("isfinite", "equal")


@composite("bitwise_count")
def _bitwise_count(graph: Graph, operand: Value) -> Value:
    dtype = compute_dtypes(graph, np.bitwise_count, [operand], None)[0]
    return copy(graph, emit(graph, ELEMENTWISE["bitwise_count"], [operand], (dtype,)), _UINT8)


@composite("ldexp")
def _ldexp(graph: Graph, operand: Value, exponent: Value) -> Value:
    """The exponent becomes a float, which is exact once it is limited to where it makes a difference."""
    dtype, integer = compute_dtypes(graph, np.ldexp, [operand, exponent], None)
    limit = _LARGEST_EXPONENT[dtype.name]
    if isinstance(exponent, Static):
        exponent = Static(float(np.clip(exponent.value, -limit, limit)))
    else:
        bounded = emit(graph, ELEMENTWISE["maximum"], [exponent, Static(-limit)], (integer, integer))
        exponent = emit(graph, ELEMENTWISE["minimum"], [bounded, Static(limit)], (integer, integer))
    return emit(graph, ELEMENTWISE["ldexp"], [operand, exponent], (dtype, dtype))


# ---- two results ------------------------------------------------------------------------------------


@composite("divmod")
def _divmod(graph: Graph, dividend: Value, divisor: Value) -> Value:
    return Group(tuple([apply(graph, f, dividend, divisor) for f in (np.floor_divide, np.remainder)]))


@handles(builtins.divmod)
def python_divmod(graph: Graph, a: Value, b: Value) -> Value:
    return Group(tuple([operate(graph, name, a, b) for name in ("floor_divide", "remainder")]))


@handles(builtins.pow)
def python_pow(graph: Graph, base: Value, exp: Value) -> Value:
    return operate(graph, "power", base, exp)


@composite("modf")
def _modf(graph: Graph, operand: Value) -> Value:
    """The fraction and the whole, both with the sign of the operand; nothing is left of an infinity."""
    dtype = compute_dtypes(graph, np.modf, [operand], None)[0]
    whole = emit(graph, ELEMENTWISE["trunc"], [operand], (dtype,))
    rest = emit(graph, ELEMENTWISE["subtract"], [operand, whole], (dtype, dtype))
    infinite = emit(graph, ELEMENTWISE["isinf"], [operand], (dtype,))
    rest = emit(graph, ELEMENTWISE["select"], [infinite, Static(0.0), rest], (BOOL, dtype, dtype))
    return Group((emit(graph, ELEMENTWISE["copysign"], [rest, operand], (dtype, dtype)), whole))


@composite("frexp")
def _frexp(graph: Graph, operand: Value) -> Value:
    dtype = compute_dtypes(graph, np.frexp, [operand], None)[0]
    mantissa = emit(graph, ELEMENTWISE["frexp_mantissa"], [operand], (dtype,))
    exponent = emit(graph, ELEMENTWISE["frexp_exponent"], [operand], (dtype,))
    return Group((mantissa, copy(graph, exponent, _INT32)))


# ---- calls ------------------------------------------------------------------------------------------


_OF_NUMPY = frozenset([one for one in vars(np).values() if isinstance(one, np.ufunc)])


def call_ufunc(graph: Graph, ufunc: np.ufunc, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`ufunc(*args, dtype=, out=, where=, casting=, order=)`; an operand too many is `out`, as in NumPy."""
    if ufunc not in _OF_NUMPY:
        raise graph.error(
            UnsupportedError,
            f"the ufunc '{ufunc.__name__}' is not one of NumPy's",
            "call it as it is: nt.custom_call(f, x, result=nt.spec(x.shape, x.dtype))",
        )
    dtype = dtype_of(graph, kwargs.pop("dtype", None))
    out = _given(kwargs.pop("out", args[ufunc.nin] if len(args) == ufunc.nin + 1 else None))
    mask = _given(kwargs.pop("where", None), True)
    rule: Any = static(graph, kwargs.pop("casting", None), "casting") or "same_kind"
    if rule not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        text = f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {rule!r})"
        raise graph.error(ShapeError, text)
    order = requested(graph, kwargs.pop("order", None), "K")
    kwargs.pop("subok", None)
    if kwargs:
        raise graph.error(
            UnsupportedError,
            f"np.{ufunc.__name__} with {', '.join(kwargs)}= is not supported",
            "keywords supported: dtype, out, where, casting, order, subok",
        )
    if dtype is not None and rule != "same_kind":
        args = [_cast(graph, ufunc, k, a, dtype, rule) for k, a in enumerate(args)]
    if mask is not None and out is None:
        raise graph.error(
            UnsupportedError,
            f"np.{ufunc.__name__} with where= leaves elements undefined without out=",
            "np.where(mask, f(x), y) gives the others a value",
        )
    result = apply(graph, ufunc, *(args if out is None else args[: ufunc.nin]), dtype=dtype)
    if out is None:
        return result if order == "K" else lay_out(graph, result, order, args[0])
    return _stored(graph, ufunc, out, result, mask, rule)


def _cast(graph: Graph, ufunc: np.ufunc, position: int, operand: Value, dtype: np.dtype, rule: Any) -> Value:
    """An operand in the element type of the call, by the rule of the call."""
    kind = number_kind(graph, operand)
    if isinstance(kind, type):
        return operand
    if not np.can_cast(kind, dtype, rule):
        raise graph.error(
            DTypeError,
            f"Cannot cast ufunc '{ufunc.__name__}' input {position} from {kind!r} to {dtype!r} with casting rule "
            f"'{rule}'",
        )
    return copy(graph, operand, dtype)


def _given(value: Value | None, default: object = None) -> Value | None:
    """A keyword's value; None where it has its default."""
    if isinstance(value, Static) and value.value is default:
        return None
    if isinstance(value, Group) and len(value.items) == 1:
        return value.items[0]  # out=(x,)
    return value


def _stored(
    graph: Graph, ufunc: np.ufunc, out: Value, result: Value, mask: Value | None, rule: Any = "same_kind"
) -> Value:
    """`out[mask] = result`; gives `out`."""
    from ...indexing.stores import overwrite
    from ...values.islands import open_island

    if not isinstance(out, Array) or isinstance(result, Group):
        what = "a tuple of arrays" if isinstance(result, Group) else describe(out)
        raise graph.error(DTypeError, f"np.{ufunc.__name__} with out= needs one array, not {what}")
    kind = number_kind(graph, result)
    if isinstance(kind, np.dtype) and not np.can_cast(kind, out.dtype, rule):
        raise graph.error(
            DTypeError,
            f"Cannot cast ufunc '{ufunc.__name__}' output from {kind!r} to {out.dtype!r} with casting rule '{rule}'",
        )
    operands = [v for v in (result, mask) if v is not None]
    if any(len(extents_of(v)) > len(out.extents) for v in operands):
        raise graph.error(
            ShapeError,
            f"non-broadcastable output operand with shape {shape_text(out.extents)} "
            f"doesn't match the broadcast shape {shape_text(max(map(extents_of, operands), key=len))}",
        )
    if mask is not None:
        if number_kind(graph, mask) not in (BOOL, bool):
            raise graph.error(DTypeError, f"where= takes an array of bool, not {describe(mask)}")
        result = emit(graph, ELEMENTWISE["select"], [mask, result, out], (BOOL, out.dtype, out.dtype))
    if graph.island is not None:
        graph.island.assign(out, result)
    elif out.whole and out.buffer.shared is None:
        overwrite(graph, out, result)
    else:
        check_writable(graph, out.buffer)
        with open_island(graph) as island:
            is_tensor = isinstance(result, Tensor) and result.extents
            island.assign(out, as_array(result) if is_tensor else result)  # pyright: ignore
    return out


# ---- methods ----------------------------------------------------------------------------------------

_REDUCTIONS = {
    "add": "sum_",
    "multiply": "prod",
    "maximum": "max_",
    "minimum": "min_",
    "logical_and": "all_",
    "logical_or": "any_",
}
_FIRST = Static(0)


def ufunc_method(
    graph: Graph, ufunc: np.ufunc, method: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`ufunc.method(*args, **kwargs)`."""
    name = f"np.{ufunc.__name__}.{method}"
    if method == "outer":
        return invoke(graph, name, lambda g, A, B: _outer(g, ufunc, A, B), args, kwargs)
    if method == "at":
        return invoke(graph, name, lambda g, a, indices, b=None: _at(g, ufunc, a, indices, b), args, kwargs)
    reduction = _REDUCTIONS.get(ufunc.__name__)
    if method == "reduce" and reduction is not None:
        from ..statistics import reductions

        # Unlike np.sum, the methods reduce the first axis by default.
        arguments = [*args, _FIRST] if len(args) == 1 and "axis" not in kwargs else args
        return invoke(graph, name, getattr(reductions, reduction), arguments, kwargs)
    if method == "reduce" and ufunc in (np.logaddexp, np.logaddexp2):
        from ..statistics.log_sums import reduce_by

        return invoke(graph, name, reduce_by(ufunc), args, kwargs)
    from ..statistics.scans import accumulate, reduce

    if method == "reduce" and ufunc.nin == 2 and ufunc.nout == 1:
        return invoke(graph, name, reduce(ufunc), args, kwargs)
    if method == "accumulate":
        return invoke(graph, name, accumulate(ufunc), args, kwargs)
    raise graph.error(
        UnsupportedError,
        f"{name} is not supported",
        "ufunc methods supported: reduce, accumulate, outer and at",
    )


def _outer(graph: Graph, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    """Every element of a with every element of b: the axes of a, then those of b."""
    from ...indexing.views import Slice, view

    a, b = _as_strong(graph, a), _as_strong(graph, b)
    rank = len(extents_of(b))
    if rank and extents_of(a):
        array = as_view(graph, a)
        a = view(graph, array, [*[Slice()] * len(array.axes), *[Static(None)] * rank])
    return apply(graph, ufunc, a, b)


def _at(graph: Graph, ufunc: np.ufunc, a: Value, indices: Value, b: Value | None) -> Value:
    from ...indexing.advanced import update_each

    return update_each(graph, ufunc, a, indices, None if b is None else _as_strong(graph, b))


def _as_strong(graph: Graph, value: Value) -> Value:
    """A Python number as the array that these methods make of it first: it promotes like one."""
    kind = number_kind(graph, value)
    if not isinstance(kind, type):
        return value
    return (
        Static(np.asarray(value.value)[()])
        if isinstance(value, Static)
        else copy(graph, value, WEAK_DTYPES[kind])
    )
