"""`nt.custom_call` and `nt.spec` in compiled code.

y = nt.custom_call(f, x, result=nt.spec((4,), "f8"))
->  %y = nt.custom_call ordered "prog.f"(%x) {kinds = ["array"], several = false} : (tensor<4xf64>) -> tensor<4xf64>
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...runtime.custom_calls import name_of
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.custom_ops import custom_op
from ..interface.errors import DTypeError
from ..interface.forks import Forked, fork, wait
from ..interface.spec import Spec, spec
from ..numpy_api.custom_calls import Result, python_call
from ..numpy_api.registry import static
from ..numpy_api.shapes.reshaping import array_shape
from ..values.arithmetic import index_value
from ..values.graph import element_type
from ..values.numbers import number_kind
from ..values.values import (
    NOTHING,
    Closure,
    Extents,
    Group,
    Static,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
)
from .own_calls import custom_call
from .own_reduction_values import reduce_
from .own_reductions import reduce

_NO_SHAPE, _DOUBLE, _C = Static(()), Static("f8"), Static("c")


def spec_(
    frame: Frame, node: ast.Call, shape: Value = _NO_SHAPE, dtype: Value = _DOUBLE, layout: Value = _C
) -> Value:
    """`nt.spec` of extents that may be known at run time only."""
    extents = array_shape(frame.graph, [shape])
    made = spec((), static(frame.graph, dtype, "a dtype"), layout=static(frame.graph, layout, "layout"))
    return Group((Group(tuple(map(index_value, extents))), Static(made.dtype)), Spec, ("shape", "dtype"))


def custom_call_(
    frame: Frame, node: ast.Call, function: Value, *args: Value, result: Value = NOTHING
) -> Value:
    """A call of a function of Python."""
    if isinstance(function, Closure) or not isinstance(function, Static) or not callable(function.value):
        frame.fail(
            node,
            f"nt.custom_call of {describe(function)}",
            "define the function outside the compiled one: Python calls it",
            DTypeError,
        )
    kinds = [
        kind_of_operand(frame, _place_of(node, k + 1), arg, "nt.custom_call with")
        for k, arg in enumerate(args)
    ]
    specs = specs_of(frame, node, result)
    target = name_of(function.value)
    several = is_several(result)
    given = python_call(
        frame.graph, target, args, specs or [], ordered=True, kinds=tuple(kinds), several=several
    )
    if specs is None:
        return Static(None)
    return Group(tuple(given)) if several else given[0]


def _place_of(node: ast.Call, position: int) -> ast.AST:
    """An argument in the text of a call; all of the call where it is not there by itself."""
    return node.args[position] if position < len(node.args) else node


def kind_of_operand(frame: Frame, node: ast.AST, value: Value, what: str) -> str:
    """How an operand is given to the function."""
    if not is_number(value) or (isinstance(value, Static) and isinstance(value.value, np.ndarray)):
        frame.fail(
            node,
            f"{what} {describe(value)}",
            "give it arrays and numbers; what else it needs it can have from functools.partial, outside",
            DTypeError,
        )
    if is_array(value) or extents_of(value):
        return "array"
    kind = number_kind(frame.graph, value)
    return kind.__name__ if isinstance(kind, type) else "scalar"


def is_several(result: Value) -> bool:
    """Whether a declared result is a tuple of them."""
    if isinstance(result, Group):
        return result.kind is not Spec
    return isinstance(result, Static) and isinstance(result.value, tuple | list)


def specs_of(
    frame: Frame, node: ast.Call, result: Value, what: str = "result= of nt.custom_call"
) -> list[Result] | None:
    """The results that are declared, None for none; `what` declares them, in messages."""
    if isinstance(result, Static) and result.value is None:
        return None
    parts: list[Any] = [result]
    if is_several(result):
        parts = list(result.items) if isinstance(result, Group) else [Static(v) for v in result.value]  # pyright: ignore
    return [_spec(frame, node, one, what) for one in parts]


def _spec(frame: Frame, node: ast.Call, value: Value, what: str) -> Result:
    extents: Extents
    if isinstance(value, Static) and isinstance(value.value, Spec):
        dtype = value.value.dtype
        unknown = [e for e in value.value.shape if not isinstance(e, int)]
        if unknown:
            frame.fail(
                node,
                f"{what} has the extent {unknown[0]!r}, which is not known",
                "give integers: nt.spec(x.shape, x.dtype)",
                DTypeError,
            )
        extents = array_shape(frame.graph, [Static(value.value.shape)])
    elif isinstance(value, Group) and value.kind is Spec:
        extents, kind = array_shape(frame.graph, [value.items[0]]), value.items[1]
        dtype = static(frame.graph, kind, "a dtype")
    else:
        frame.fail(node, f"{what} is an nt.spec, or a tuple of them, not {describe(value)}", None, DTypeError)
    element_type(dtype, frame.graph.place)
    return Result(dtype, extents, is_array=bool(extents))


def fork_(frame: Frame, node: ast.Call, function: Value, *args: Value, **kwargs: Value) -> Value:
    """A call that is made where it stands."""
    return Group((call(frame, node, function, list(args), kwargs),), Forked, ("result",))


def wait_(frame: Frame, node: ast.Call, forked: Value) -> Value:
    """What `fork_` has computed."""
    if not isinstance(forked, Group) or forked.kind is not Forked:
        frame.fail(
            node,
            f"nt.wait of {describe(forked)}: it takes what nt.fork gives",
            "nt.wait(nt.fork(f, x))",
            DTypeError,
        )
    return forked.items[0]


def custom_op_(frame: Frame, node: ast.Call, *args: Value, **kwargs: Value) -> Value:
    """Operations are defined outside."""
    frame.fail(
        node,
        "nt.custom_op is not supported in compiled code",
        "define the operation outside, and call it here",
    )


OWN_CALLS = {
    custom_call: custom_call_,
    custom_op: custom_op_,
    spec: spec_,
    fork: fork_,
    wait: wait_,
    reduce: reduce_,
}
"""For the table of what is called with the frame (`python_calls.py`)."""
