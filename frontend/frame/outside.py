"""Looking into objects from outside the compiled function: each look is noted, and calls look again (`captured.py`).

    CFG.gain            the attribute of an object, a class or a module
    TABLE["k"][0]       an item of a container
    for v in TABLE      all its items, and how many there are

What Python code of the program would compute (`__getattr__`, a descriptor, `__getitem__`) is refused, properties are
compiled as the calls that they are.
"""

from __future__ import annotations

import ast
from inspect import Parameter
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface.captured import Absent, Captured, Step, can_change, looked_up
from ..interface.errors import MissingAttributeError, Respecialise
from ..interface.ordinary import is_ordinary
from ..interface.suggestions import way_out
from ..interface.versioned import is_own
from ..values.values import READING, Static, Value
from .recursion import inline

if TYPE_CHECKING:
    from .frame import Frame

_UNCHANGING = (
    int, float, complex, str, bytes, range, slice, type(None), np.dtype, np.generic, np.ufunc, np.finfo, np.iinfo
)  # fmt: skip
_KINDS = frozenset((*_UNCHANGING, bool))
_OF_ARRAYS = (tuple, int, np.dtype, type(None))
_HINT = "read it outside, and pass what it gives as an argument"


def _reads() -> Captured:
    captured = READING.get()
    return Captured() if captured is None else captured


def found(owner: Any, step: Step, name: Any, value: Any) -> Value:
    """What a look has found: an array is an argument of the program from here on, all else is noted and compiled in."""
    reads = _reads()
    array = None if reads.take is None else reads.take(owner, step, name, value)
    return Static(reads.note(owner, step, name, value)) if array is None else array


# ---- attributes -------------------------------------------------------------------------------------


def attribute(frame: Frame, node: ast.AST, owner: Any, name: str) -> Value:
    """`owner.name` of an object from outside."""
    member = class_attribute(type(owner), name)
    if type(member) is property and isinstance(member.fget, FunctionType) and not is_own(member.fget):
        assert isinstance(node, ast.expr)
        class_of(owner)
        _reads().read(type(owner), Step.ATTRIBUTE, name)
        return inline(frame, node, member.fget, [Static(owner)], {})
    value, is_noted = _present(frame, node, owner, name)
    if isinstance(value, np.ndarray) and not frame.graph.spreads_objects and is_ordinary(type(owner)):
        raise Respecialise(objects=True, why=f"the attribute '{name}' of an argument is an array")
    if value is not Absent:
        return Static(value) if is_noted else found(owner, Step.ATTRIBUTE, name, value)
    _reads().note(owner, Step.ATTRIBUTE, name, value)
    try:
        value = getattr(owner, name)
    except AttributeError as error:
        frame.fail(node, str(error), way_out(error), MissingAttributeError)
    return Static(value)


def attribute_or_absent(frame: Frame, node: ast.AST, owner: Any, name: str) -> Any:
    """What an attribute is now, noted; Absent where there is none."""
    value, is_noted = _present(frame, node, owner, name)
    return value if is_noted else _reads().note(owner, Step.ATTRIBUTE, name, value)


def has_attribute(frame: Frame, node: ast.AST, owner: Any, name: str) -> bool:
    """`hasattr(owner, name)`, noted."""
    value, is_noted = _present(frame, node, owner, name)
    if not is_noted:
        found(owner, Step.ATTRIBUTE, name, value)
    return value is not Absent


def _present(frame: Frame, node: ast.AST, owner: Any, name: str) -> tuple[Any, bool]:
    """What an attribute is now, and whether nothing is to be noted of that."""
    kind = type(owner)
    member = class_attribute(kind, name)
    if _is_value(owner) or (_is_closed(kind) and not isinstance(member, _FIELDS)):
        return getattr(owner, name, Absent), True
    if not isinstance(owner, ModuleType):
        why = _why_computed(owner, name, member)
        if why is not None:
            frame.fail(
                node, f"the attribute '{name}' of {_a(kind)} is computed by {why} when it is read", _HINT
            )
    value = getattr(owner, name, Absent)
    if isinstance(owner, np.ndarray) and not isinstance(value, _OF_ARRAYS):
        _reads().whole(owner)
        return value, True
    return value, False


_FIELDS = (GetSetDescriptorType, MemberDescriptorType)


def is_own_attribute(owner: Any, name: str) -> bool:
    """Whether an attribute is the object's own, and setting it runs no code: setting it to what it is changes nothing."""
    kind = type(owner)
    member = class_attribute(kind, name)
    is_slot = isinstance(member, MemberDescriptorType)
    is_plain = member is Absent or not hasattr(type(member), "__set__")
    is_own = is_slot or (is_plain and name in getattr(owner, "__dict__", ()))
    return is_own and not isinstance(class_attribute(kind, "__setattr__"), FunctionType)


def _is_value(owner: Any) -> bool:
    """Whether nothing of it can change. Enumerations and other subclasses may have attributes."""
    return type(owner) in _KINDS or isinstance(owner, np.generic | np.dtype)


def _is_closed(kind: type) -> bool:
    """Whether the attributes of its objects are those of the class, which is one of C that nobody can change."""
    return (
        not kind.__flags__ & _HEAP_TYPE
        and not issubclass(kind, type | ModuleType)
        and not kind.__dictoffset__
    )


_HEAP_TYPE = 1 << 9


def class_attribute(kind: type, name: str) -> Any:
    """What a class has by this name, as it is in the class; Absent."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), Absent)


def _is_of_program(value: Any) -> bool:
    """Whether it is a Python function of the program."""
    return isinstance(value, FunctionType) and not is_own(value)


def _why_computed(owner: Any, name: str, found: Any) -> str | None:
    """What Python code gives an attribute, if any does."""
    kind = type(owner)
    if _is_of_program(class_attribute(kind, "__getattribute__")):
        return f"{kind.__name__}.__getattribute__"
    inner = class_attribute(owner, name) if isinstance(owner, type) else Absent
    for descriptor in (found, inner):
        if descriptor is Absent or descriptor is None:
            continue
        if _is_of_program(class_attribute(type(descriptor), "__get__")):
            return f"a {type(descriptor).__name__}"
        if isinstance(descriptor, property) and descriptor is found:
            return "a property"
    is_there = found is not Absent or inner is not Absent or name in getattr(owner, "__dict__", ())
    if not is_there and _is_of_program(class_attribute(kind, "__getattr__")):
        return f"{kind.__name__}.__getattr__"
    return None


def class_of(owner: Any) -> type:
    """The class of an object, noted where it can change."""
    kind = type(owner)
    if kind.__flags__ & _HEAP_TYPE and not isinstance(owner, type | ModuleType) and not is_own(kind):
        _reads().read(owner, Step.ATTRIBUTE, "__class__")
    return kind


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[:1] in 'AEIOU' else 'a'} {kind.__name__}"


# ---- items ------------------------------------------------------------------------------------------

SEQUENCES = (tuple, list)
ITERABLES = (tuple, list, str, dict, frozenset, set, bytes)


def item(owner: Any, index: Any) -> Value:
    """`owner[index]`, noted. Raises what Python raises."""
    kind = type(owner)
    if kind in (dict, list) and isinstance(index, _KEYS):
        value = looked_up(owner, Step.ITEM, index)
        if value is not Absent:
            return found(owner, Step.ITEM, index, value)
        _reads().note(owner, Step.ITEM, index, value)
        return Static(owner[index])
    if _is_plain_tuple(owner) and isinstance(index, int):
        return _item_of_tuple(owner, index)
    if can_change(owner) and kind is not tuple:
        _reads().whole(owner)
        if isinstance(owner, dict) and index not in owner:
            raise KeyError(index)  # one that makes items would be changed
    return Static(owner[index])


def _is_plain_tuple(owner: Any) -> bool:
    kind = type(owner)
    return (
        isinstance(owner, tuple) and kind.__getitem__ is tuple.__getitem__ and kind.__iter__ is tuple.__iter__
    )


def _item_of_tuple(owner: tuple[Any, ...], index: int) -> Value:
    """An item of what cannot change: nothing is to be noted."""
    value, reads = owner[index], _reads()
    array = None if reads.take is None else reads.take(owner, Step.ITEM, index % len(owner), value)
    return Static(value) if array is None else array


_KEYS = (int, str, float, bytes, tuple, type(None))


def has_item(owner: Any, key: Any) -> bool:
    """`key in owner`, noted."""
    if type(owner) is dict and isinstance(key, _KEYS):
        value = looked_up(owner, Step.ITEM, key)
        found(owner, Step.ITEM, key, value)
        return value is not Absent
    _reads().whole(owner)
    return key in owner


def items(owner: Any) -> list[Value]:
    """What iterating over a container gives, noted."""
    reads = _reads()
    if type(owner) is dict:
        return [Static(key) for key in reads.places(owner)]
    if type(owner) is list:
        return [item(owner, k) for k in reads.places(owner)]
    if _is_plain_tuple(owner):
        return [_item_of_tuple(owner, k) for k in range(len(owner))]
    reads.shallow(owner)
    return [Static(one) for one in owner]


def entries(owner: dict[Any, Any]) -> list[tuple[Any, Value]]:
    """The keys and values of a dict, noted."""
    reads = _reads()
    if type(owner) is dict:
        return [(key, _entry(owner, key)) for key in reads.places(owner)]
    reads.shallow(owner)
    return [(key, Static(value)) for key, value in owner.items()]


def _entry(owner: dict[Any, Any], key: Any) -> Value:
    """The value of a key, of any class, that is there."""
    return found(owner, Step.ITEM, key, looked_up(owner, Step.ITEM, key))


def default(function: FunctionType, parameter: Parameter) -> Value:
    """What a parameter of a function from outside is that is not given. Its code and defaults are noted."""
    named, values, code = function.__kwdefaults__ or {}, function.__defaults__ or (), function.__code__
    if named.get(parameter.name, Absent) is parameter.default:
        return item(named, parameter.name)
    own = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    position = own.index(parameter.name) if parameter.name in own else -1
    if position < 0 or values[position] is not parameter.default:  # by a __signature__ of its own
        return Static(parameter.default)
    return _item_of_tuple(values, position)


def length(owner: Any) -> int:
    """`len(owner)`, noted."""
    if type(owner) in (list, dict):
        return _reads().read(owner, Step.LENGTH)
    if can_change(owner):
        _reads().whole(owner)
    return len(owner)


def is_open_object(value: Any) -> bool:
    """Whether it is an object of a Python class that is not Python's own, or one with attributes that anybody sets."""
    kind = type(value)
    if isinstance(value, type | ModuleType | FunctionType) or not kind.__flags__ & _HEAP_TYPE:
        return False
    return not is_own(kind) or kind.__module__ in ("types", "argparse")
