"""Calls: NumPy functions through their tables, array methods, and Python functions inlined."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from enum import Enum
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ...dialects.tracebacks import is_boundary
from ..frame.frame import Frame
from ..frame.instances import call_function, construct, is_record, refuse_outside
from ..frame.objects import as_now, call_method, change_made, is_made, is_outside_change
from ..frame.recursion import inline
from ..interface.captured import Step
from ..interface.custom_ops import CustomOp, Primal
from ..interface.custom_rules import CustomRule
from ..interface.errors import DTypeError
from ..interface.inside import name_inside
from ..interface.ordinary import is_generated
from ..interface.parameters import bound
from ..interface.versioned import is_own, is_versioned
from ..numpy_api.elements import ufuncs
from ..numpy_api.families import FUNCTIONS, METHODS
from ..numpy_api.invoke import invoke, invoke_numpy
from ..values.callees import Callee
from ..values.values import Chosen, Closure, Exceptional, Group, Method, Rows, Static, Value, describe
from . import special_methods
from .chosen import as_text, by_option
from .folding import fold, is_changing, is_numpy, module_of, name_of
from .refused_calls import RANDOM_HINT, is_random, why_refused
from .temporaries import taken_over
from .texts import text_call


def call(frame: Frame, node: ast.Call, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`function(*args, **kwargs)`."""
    args = [as_now(frame, a) for a in args]
    if isinstance(function, Method) and isinstance(function.receiver, Group | Rows):
        function = replace(function, receiver=as_now(frame, function.receiver))
    if isinstance(function, Closure):
        return inline(frame, node, function, args, kwargs)
    if isinstance(function, Method) and isinstance(function.receiver, Rows):
        from ..control.rows import ROWS_METHODS
        from .list_searches import LIST_METHODS

        known = {**ROWS_METHODS, **LIST_METHODS}
        if function.name not in known:
            what = f"the method '{function.name}' of {describe(function.receiver)} is not supported"
            frame.fail(node, what, f"methods: {', '.join(sorted(known))}")
        method, least, most = known[function.name]
        if function.name == "sort" and list(kwargs) == ["reverse"]:
            args, kwargs = [*args, kwargs["reverse"]], {}
        if not least <= len(args) <= most or kwargs:
            given = ", ".join([*["..."] * len(args), *[f"{name}=..." for name in kwargs]])
            what = f"list.{function.name}({given}) of a list that a loop makes is not supported"
            hint = "make an array of it, and of that the order: a[np.argsort(a[:, 0])]" if kwargs else None
            frame.fail(node, what, hint, DTypeError)
        return method(frame, node, function.receiver, *args)
    is_extreme = isinstance(function, Static) and (function.raw is min or function.raw is max)
    if is_extreme and len(args) == 1 and isinstance(args[0], Rows) and not kwargs:
        from .list_searches import extreme

        return extreme(frame, node, args[0], function.raw)  # pyright: ignore
    is_sorted = isinstance(function, Static) and function.raw is sorted
    if is_sorted and len(args) == 1 and isinstance(args[0], Rows) and not {*kwargs} - {"reverse"}:
        from .list_searches import in_order

        return in_order(frame, node, args[0], *kwargs.values())
    is_stack = isinstance(function, Static) and function.raw is np.stack
    if is_stack and len(args) == 1 and isinstance(args[0], Rows) and not kwargs:
        from ..control.rows import stacked

        return stacked(frame, node, args[0], "need at least one array to stack")
    args = [_of_rows(frame, node, function, a) if isinstance(a, Rows) else a for a in args]
    if isinstance(function, Method) and isinstance(function.receiver, Chosen):
        name = function.name
        return by_option(
            frame,
            node,
            function.receiver,
            lambda one: call(frame, node, frame.attribute(node, one.raw, name), args, kwargs),  # pyright: ignore
        )
    if isinstance(function, Method) and is_made(frame, function.receiver):
        change = partial(_method_of_made, function.name, kwargs)
        return change_made(frame, node, function.receiver, change, args)
    if isinstance(function, Method) and function.function is not None:
        return call_function(frame, node, function.function, [function.receiver, *args], kwargs)
    if isinstance(function, Method) and isinstance(function.receiver, Group):
        return call_method(frame, node, function, args, kwargs)
    if isinstance(function, Method):
        result = invoke(
            frame.graph, f".{function.name}()", METHODS[function.name], [function.receiver, *args], kwargs
        )
        return taken_over(frame, node, result) if function.name == "reshape" else result
    if special_methods.can_be_called(function):
        return special_methods.called(frame, node, function, args, kwargs)
    if not isinstance(function, Static):
        frame.fail(
            node, f"{describe(function)} cannot be called", "its items are taken with x[...]", DTypeError
        )
    target = function.raw
    if isinstance(target, np.ufunc):
        return ufuncs.call_ufunc(frame.graph, target, args, kwargs)
    owner = getattr(target, "__self__", None)
    if isinstance(owner, np.ufunc):
        return ufuncs.ufunc_method(frame.graph, owner, target.__name__, args, kwargs)
    return _call_known(frame, node, target, args, kwargs)


def _method_of_made(name: str, kwargs: dict[str, Value], owner: Any, *args: Any) -> Any:
    if kwargs:
        raise TypeError(f"{type(owner).__name__}.{name}() takes no keyword arguments")
    return getattr(owner, name)(*args)


def _call_known(
    frame: Frame, node: ast.Call, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A call of a function that is known and no ufunc."""
    if is_random(target):
        what = f"{name_of(target)} is not supported in compiled code: it keeps a state, which calls change"
        frame.fail(node, what, RANDOM_HINT)
    if isinstance(target, MethodType):
        return call_function(frame, node, target.__func__, [Static(target.__self__), *args], kwargs)
    if not isinstance(target, FunctionType) and any(isinstance(a, Chosen) for a in (*args, *kwargs.values())):
        return _for_each_string(frame, node, target, args, kwargs)
    made = special_methods.builtin(frame, node, target, args, kwargs)
    if made is not None:
        return made
    if isinstance(target, type) and issubclass(target, BaseException):
        return Exceptional(target, tuple(args), tuple(kwargs.items()))
    if isinstance(target, type) and issubclass(target, np.generic) and len(args) == 1 and not kwargs:
        from ..numpy_api.elements.python_builtins import numpy_scalar

        return numpy_scalar(frame.graph, np.dtype(target), args[0])
    if is_numpy(target) and not isinstance(target, np.vectorize):
        handler = _entry(FUNCTIONS, target)
        if handler is not None:
            return invoke_numpy(frame.graph, name_of(target), target, handler, args, kwargs)
    from .applied import APPLIED, Bound, Vectorized, vectorized_call
    from .python_calls import PYTHON
    from .python_library import library_call

    made = library_call(frame, node, target, args, kwargs)
    if made is not None:
        return made
    if isinstance(target, Vectorized | np.vectorize):
        return vectorized_call(frame, node, target, args, kwargs)
    if isinstance(target, Bound):
        return call(frame, node, target.function, [*args, *target.args], {**kwargs, **target.kwargs})
    if isinstance(target, Callee):
        return target.call(frame, node, args, kwargs)
    if isinstance(target, CustomRule):
        from ..derivatives.rules import ruled_call

        return ruled_call(frame, node, target, args, kwargs)
    if isinstance(target, CustomOp | Primal):
        from ..operations.custom_op_values import op_call, primal_call

        is_op = isinstance(target, CustomOp)
        return (op_call if is_op else primal_call)(frame, node, target if is_op else target.op, args, kwargs)
    python_call = _entry(PYTHON, target) or _entry(APPLIED, target) or _inside(target)
    if python_call is not None:
        return _called(frame, node, target, python_call, args, kwargs)
    handler = None if _is_of_program(target) else _entry(FUNCTIONS, target)
    if handler is not None and not _all_static(args, kwargs, target):
        return invoke(frame.graph, name_of(target), handler, args, kwargs)
    if handler is not None and isinstance(target, FunctionType) and not is_numpy(target):
        return fold(frame, node, target, args, kwargs)
    if hasattr(type(target), "lower"):
        target = frame.captured.read(target, Step.ATTRIBUTE, "__wrapped__")
    if is_boundary(target):
        hint = "call it outside, and give what is computed from it as an argument"
        frame.fail(node, f"{name_of(target)} is not supported in compiled code", hint)
    if isinstance(target, FunctionType) and not is_numpy(target):
        from .composites import MARK, composite_call

        if hasattr(target, MARK):
            return composite_call(
                frame, target, args, kwargs, lambda: inline(frame, node, target, args, kwargs)
            )
        return inline(frame, node, target, args, kwargs)
    if args and isinstance(args[0], Group) and (is_generated(target) or target in _OF_OBJECT):
        return call_function(frame, node, target, args, kwargs)
    if is_record(target) or _is_made_here(target):
        return construct(frame, node, target, args, kwargs)
    if is_outside_change(target):
        refuse_outside(frame, node, f"a {type(target.__self__).__name__}")
    if target is print:
        from .printing import print_

        return print_(frame, node, args, kwargs)
    refused = None if is_changing(target) else why_refused(target)
    if refused is not None:
        frame.fail(node, f"{name_of(target)} is not supported in compiled code: {refused[0]}", refused[1])
    if _foldable(target) and _all_static(args, kwargs, target):
        return fold(frame, node, target, args, kwargs)
    text = text_call(target, args, kwargs)
    if text is not None:
        return text
    frame.fail(node, f"{name_of(target)} is not supported in compiled code", _instead(target))


def _for_each_string(
    frame: Frame, node: ast.Call, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A call with a string that is chosen at run time: compiled for each that it may be."""
    if target is print or (isinstance(target, type) and issubclass(target, BaseException)):
        texts = [as_text(a) if isinstance(a, Chosen) else a for a in args]
        return _call_known(frame, node, target, texts, kwargs)
    chosen = next(a for a in (*args, *kwargs.values()) if isinstance(a, Chosen))

    def compute(one: Value) -> Value:
        given = [one if a is chosen else a for a in args]
        named = {name: one if a is chosen else a for name, a in kwargs.items()}
        return _call_known(frame, node, target, given, named)

    return by_option(frame, node, chosen, compute)


def _of_rows(frame: Frame, node: ast.Call, function: Value, rows: Rows) -> Value:
    """A list that a loop makes as an argument: functions of NumPy take it for an array of its items."""
    from ..control.rows import joined_rows, stacked

    target = function.raw if isinstance(function, Static) else None
    if not is_numpy(target) or isinstance(target, type):
        return rows
    if target is np.concatenate:
        return Group((joined_rows(frame, node, rows),))
    whole = stacked(frame, node, rows)
    if target in (np.stack, np.vstack, np.hstack, np.dstack, np.column_stack):
        frame.fail(
            node,
            f"{name_of(target)} of a list that a loop makes is not supported",
            "use np.stack(ys), and views",
        )
    return whole


def _instead(target: Any) -> str:
    """What to do about a call that is not compiled."""
    if is_numpy(target):
        return "call it outside the compiled function; docs/numpy.md lists what is supported"
    if is_changing(target):
        return (
            "it may give another answer each time: call it outside, and pass what it returns as an argument"
        )
    return "return the values it needs, and call it outside the compiled function"


def _entry(table: dict[Any, Any], target: Any) -> Any:
    try:
        return table.get(target)
    except TypeError:
        return None


def _inside(target: Any) -> Any:
    """What stands for a function of Nestor in compiled code."""
    name = name_inside(target)
    if name is None:
        return None
    if name == "jit":
        return _jitted
    from ..derivatives.table import INSIDE_CALLS

    return INSIDE_CALLS[name]


def _jitted(frame: Frame, node: ast.Call, function: Value, **options: Value) -> Value:
    """`nt.jit(f)`: the function, which is compiled with what calls it."""
    if options:
        hint = "give them to the nt.jit of the function around it, or call nt.jit outside"
        frame.fail(
            node, f"the option {next(iter(options))} of nt.jit is not supported in compiled code", hint
        )
    return function


def _called(
    frame: Frame, node: ast.Call, target: Any, handler: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A builtin that may call functions of the program."""
    try:
        bound(inspect.signature(handler), (frame, node, *args), kwargs)
    except TypeError as error:
        frame.fail(node, f"{name_of(target)}(): {error}", None, DTypeError)
    return handler(frame, node, *args, **kwargs)


def _is_of_program(target: Any) -> bool:
    """Whether a function can only be one of the program's: no table has it."""
    root = (getattr(target, "__module__", None) or "").split(".")[0]
    return isinstance(target, FunctionType) and root not in ("numpy", __name__.split(".")[0])


def _all_static(args: list[Value], kwargs: dict[str, Value], target: Any) -> bool:
    """Whether a call can be evaluated now: not one that makes an array."""
    if is_numpy(target) or target is range:
        return False
    return all(
        isinstance(v, Static) or (isinstance(v, Group) and _all_static(list(v.items), {}, None))
        for v in (*args, *kwargs.values())
    )


_OF_OBJECT = (object.__init__, object.__setattr__, object.__delattr__)


def _is_made_here(target: Any) -> bool:
    """Whether it is a class of the program: objects of enumerations there are already."""
    is_class = isinstance(target, type) and not is_own(target)
    return is_class and not issubclass(target, Enum | np.generic)


def _foldable(target: Any) -> bool:
    """Pure functions of Python itself: builtins, math, types, methods of constants."""
    if inspect.isbuiltin(target):
        return is_versioned(module_of(target)) and not is_changing(target)
    of = target if isinstance(target, type) else getattr(target, "__objclass__", None)
    return of is not None and is_own(of)
