"""What operators and builtins call of an object's class: `a + b`, `a == b`, `len(a)`, `a[i]`, `for x in a`, `a(x)`.

v + w            type(v).__add__(v, w), then type(w).__radd__(w, v); a subclass on the right is asked first
v == w           type(v).__eq__(v, w), then of w, then whether they are one object
if v:            __bool__, then __len__, else True
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..frame.frame import Frame
from ..frame.instances import call_function, has_attributes, special_method
from ..frame.outside import class_attribute, class_of
from ..interface.captured import Step
from ..interface.errors import DTypeError
from ..interface.ordinary import is_generated
from ..values import arithmetic as arith
from ..values.values import Group, Iteration, Static, Value, describe, is_array, is_number
from .classes import type_of

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.MatMult: "matmul",
}  # fmt: skip
_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "** or pow()",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], tuple[str, str]] = {
    ast.USub: ("__neg__", "-"), ast.UAdd: ("__pos__", "+"), ast.Invert: ("__invert__", "~"),
}  # fmt: skip
_BUILTINS: dict[Any, str] = {
    builtins.abs: "__abs__", builtins.len: "__len__", builtins.float: "__float__", builtins.int: "__int__",
    builtins.round: "__round__", builtins.reversed: "__reversed__", builtins.str: "__str__", builtins.repr: "__repr__",
    math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__",
}  # fmt: skip
"""Builtins that are a call of a method of their argument's class."""


def name_of_class(value: Value, frame: Frame, node: ast.AST) -> str:
    return type_of(frame, node, value).__name__


def asked(frame: Frame, node: Any, value: Value, name: str, *args: Value) -> Value | None:
    """What a special method of `value` gives; None where there is none, or it is not implemented for `args`."""
    if not has_attributes(value):
        return None
    function = special_method(frame, value, name)
    if function is None:
        return None
    if is_generated(function):
        return None
    result = call_function(frame, node, function, [value, *args], {})
    return None if isinstance(result, Static) and result.raw is NotImplemented else result


# ---- arithmetic -------------------------------------------------------------------------------------


def binary(
    frame: Frame, node: Any, op: ast.operator, left: Value, right: Value, in_place: bool = False
) -> Value:
    """`left op right`, where one is an object of a class; `left op= right` for `in_place`."""
    name = _BINARY[type(op)]
    if in_place:
        made = asked(frame, node, left, f"__i{name}__", right)
        if made is not None:
            return made
    reflected = f"__r{name}__"
    if is_first(frame, node, left, right, reflected):
        made = asked(frame, node, right, reflected, left)
        if made is not None:
            return made
    made = asked(frame, node, left, f"__{name}__", right)
    if made is None and (type_of(frame, node, left) is not type_of(frame, node, right)):
        made = asked(frame, node, right, reflected, _as_numpy_gives(frame, node, left, right))
    if made is not None:
        return made
    names = f"'{name_of_class(left, frame, node)}' and '{name_of_class(right, frame, node)}'"
    symbol = _SYMBOLS[type(op)] + ("=" if in_place else "")
    hint = f"give one of the classes a method __{name}__, or compute with what the objects hold"
    frame.fail(node, f"unsupported operand type(s) for {symbol}: {names}", hint, DTypeError)


def is_first(frame: Frame, node: ast.AST, left: Value, right: Value, method: str) -> bool:
    """Whether the object on the right is asked first: its class is a subclass with a method of its own."""
    if not (has_attributes(left) and has_attributes(right)):
        return False
    first, second = type_of(frame, node, left), type_of(frame, node, right)
    is_subclass = first is not second and issubclass(second, first)
    return is_subclass and class_attribute(first, method) is not class_attribute(second, method)


def _as_numpy_gives(frame: Frame, node: ast.AST, left: Value, right: Value) -> Value:
    """What the method of the object on the right is given by a number or array on the left."""
    kind: Any = type_of(frame, node, right)
    if not is_number(left) or isinstance(arith.number_kind(frame.graph, left), type):
        return left
    if class_attribute(kind, "__array_ufunc__") is None:
        frame.captured.read(kind, Step.ATTRIBUTE, "__array_ufunc__")
        return left
    if is_array(left) or arith.number_kind(frame.graph, left) != np.float64:
        frame.fail(
            node,
            f"{describe(left)} with a {kind.__name__} on the right is not supported: NumPy makes an array of objects of it",
            f"write the {kind.__name__} on the left, or `__array_ufunc__ = None` in its class",
        )
    return arith.as_weak(left, float, arith.scalar_arguments([left]))


def unary(frame: Frame, node: ast.expr, op: ast.unaryop, operand: Value) -> Value:
    """`-operand` of an object."""
    name, symbol = _UNARY[type(op)]
    made = asked(frame, node, operand, name)
    if made is None:
        message = f"bad operand type for unary {symbol}: '{name_of_class(operand, frame, node)}'"
        frame.fail(node, message, None, DTypeError)
    return made


# ---- containers -------------------------------------------------------------------------------------


def item(frame: Frame, node: Any, owner: Value, key: Value) -> Value:
    """`owner[key]`."""
    made = asked(frame, node, owner, "__getitem__", key)
    if made is None:
        frame.fail(
            node, f"'{name_of_class(owner, frame, node)}' object is not subscriptable", None, DTypeError
        )
    return made


def set_item(frame: Frame, node: Any, owner: Value, key: Value, value: Value) -> None:
    """`owner[key] = value`."""
    if asked(frame, node, owner, "__setitem__", key, value) is None:
        what = f"'{name_of_class(owner, frame, node)}' object does not support item assignment"
        frame.fail(node, what, None, DTypeError)


def delete_item(frame: Frame, node: Any, owner: Value, key: Value) -> None:
    """`del owner[key]`."""
    if asked(frame, node, owner, "__delitem__", key) is None:
        what = f"'{name_of_class(owner, frame, node)}' object doesn't support item deletion"
        frame.fail(node, what, None, DTypeError)


def contains(frame: Frame, node: Any, owner: Value, thing: Value) -> Value | None:
    """`thing in owner`; None where the class has no method for it."""
    from .conditions import bool_

    made = asked(frame, node, owner, "__contains__", thing)
    return None if made is None else bool_(frame, node, made)


def items_of(frame: Frame, node: Any, owner: Value) -> Value:
    """What `for x in owner` goes through."""
    made = asked(frame, node, owner, "__iter__")
    if made is None:
        frame.fail(node, f"'{name_of_class(owner, frame, node)}' object is not iterable", None, DTypeError)
    if not isinstance(made, Iteration):
        what = f"iter() returned {describe(made)}, which is not an iterator"
        frame.fail(node, what, "return iter(...) of a list or of an array", DTypeError)
    return made


def truth_of(frame: Frame, node: Any, value: Value) -> Value:
    """What decides whether an object is true: its `__bool__`, its `__len__`, or that it is there."""
    made = asked(frame, node, value, "__bool__")
    if made is not None:
        return made
    length = asked(frame, node, value, "__len__")
    if length is None:
        return Static(True)
    return arith.operate(frame.graph, "not_equal", length, Static(0))


# ---- calls ------------------------------------------------------------------------------------------


def called(frame: Frame, node: Any, owner: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`owner(*args, **kwargs)`."""
    function = special_method(frame, owner, "__call__")
    if function is None:
        frame.fail(node, f"'{name_of_class(owner, frame, node)}' object is not callable", None, DTypeError)
    return call_function(frame, node, function, [owner, *args], kwargs)


def can_be_called(value: Value) -> bool:
    """Whether it is an object whose class has a `__call__` of the program."""
    if not has_attributes(value):
        return False
    kind = value.kind if isinstance(value, Group) else class_of(value.raw)  # pyright: ignore
    return isinstance(class_attribute(kind, "__call__"), FunctionType)


def builtin(
    frame: Frame, node: Any, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """`abs(p)`, `len(p)`, `float(p)` of an object, by its class; None for other calls."""
    try:
        name = _BUILTINS.get(target)
    except TypeError:
        return None
    if name is None or not args or kwargs or not has_attributes(args[0]):
        return None
    if target in (str, repr):
        return text_of(frame, node, args[0], name)
    return asked(frame, node, args[0], name, *args[1:])


def text_of(frame: Frame, node: Any, value: Value, method: str) -> Value | None:
    """`str(value)`, `repr(value)` or `f"{value}"` by methods of its class; None where they are Python's own."""
    if method == "__format__":
        made = asked(frame, node, value, method, Static(""))
        if made is not None:
            return made
    made = None if method == "__repr__" else asked(frame, node, value, "__str__")
    return asked(frame, node, value, "__repr__") if made is None else made
