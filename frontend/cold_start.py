"""What makes a first call cheaper: the garbage collector paused, xDSL's operations defined and their assembly formats
compiled on demand, its constraints made and their unions simplified once, dataclasses defined quickly
(`quick_dataclasses.py`), modules found and read quickly (`quick_imports.py`) or not at all (`deferred_modules.py`),
LLVM loaded meanwhile.

A first call imports the compiler and compiles once; the figures here are of that (docs/decisions/0005-first-call.md).
"""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from inspect import get_annotations
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..runtime import llvm_library
from ..runtime.collector import collector_paused
from ..runtime.fork_lock import ForkLock, QuietLock
from .deferred_modules import FORMATS, TEXT, deferred_modules, is_deferred
from .quick_classes import Waiting, quick_classes
from .quick_dataclasses import Meanwhile, quick_dataclasses
from .quick_imports import quick_imports

if TYPE_CHECKING:
    from xdsl.irdl import OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram


@contextmanager
def cheaper_compilation() -> Iterator[None]:
    """All of this file, for the time of a compilation."""
    with (
        collector_paused(),
        quick_imports(),
        quick_classes(),
        deferred_modules(),
        quick_dataclasses(),
        unions_once(),
        constraints_once(),
        kinds_of_attributes(),
        definitions_on_demand(),
        formats_on_demand(),
    ):
        yield


def load_llvm_meanwhile() -> None:
    """Have another thread load the library of llvmlite: `ctypes` lets go of the interpreter while it is relocated.

    What calls it comes last, and then finds it there; where it is not, it loads it itself.
    """
    if "llvmlite.binding" not in sys.modules:
        thread = threading.Thread(target=_load_llvm, name="nestor-load-llvm", daemon=True)
        thread.start()
        if hasattr(os, "register_at_fork"):  # the child would wait for the loader's lock for ever
            os.register_at_fork(before=lambda: thread.join(QuietLock.PATIENCE))


def _load_llvm() -> None:
    library = llvm_library.path()
    if library is not None:
        load = ctypes.CDLL(None).dlopen
        load.argtypes, load.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
        load(os.fsencode(library), os.RTLD_NOW)


_formats, _formats_lent, _unions, _constraints, _kinds, _definitions = (Meanwhile() for _ in range(6))

_eager: Callable[[str, OpDef], FormatProgram] | None = None


@contextmanager
def formats_on_demand() -> Iterator[None]:
    """An operation of xDSL that is defined meanwhile compiles its `assembly_format` when it is first parsed or printed.

    Compiling a function in memory parses and prints almost none of them. A format that is wrong would then be found
    late; every format is compiled at once by `opt-tool`, which does not come this way.
    """
    if is_deferred(FORMATS):
        importer = "xdsl.irdl.operations", FORMATS, "FormatProgram"
        with _formats_lent.stands((TEXT, "lent", {importer: _Formats})):
            yield
        return
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    global _eager
    if FormatProgram.from_str is not _FormatOnDemand:
        _eager = FormatProgram.from_str
    with _formats.stands((FormatProgram, "from_str", staticmethod(_FormatOnDemand))):
        yield


class _FormatOnDemand:
    """Stands for a `FormatProgram` until it is needed."""

    def __init__(self, text: str, op_def: OpDef):
        self._text = text
        self._op_def = op_def

    def parse(self, *arguments: Any) -> Any:
        return self._program.parse(*arguments)

    def print(self, *arguments: Any) -> None:
        self._program.print(*arguments)

    @cached_property
    def _program(self) -> FormatProgram:
        return (_eager or _usual_formats())(self._text, self._op_def)


class _Formats:
    """Stands for xDSL's `FormatProgram` where that is not imported."""

    from_str = _FormatOnDemand


def _usual_formats() -> Callable[[str, OpDef], FormatProgram]:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    return FormatProgram.from_str


@contextmanager
def unions_once() -> Iterator[None]:
    """A union of constraints on attributes (`f32 | f64 | ...`) is simplified once, not for each operand that has it."""
    from xdsl.irdl.constraints import AnyOf

    with _unions.stands((AnyOf, "get", staticmethod(_remembered(AnyOf.get)))):
        yield


def _remembered(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which gives the same (immutable) thing again for arguments that are equal."""
    made: dict[tuple, Any] = {}

    def get(*constraints: Any) -> Any:
        try:
            found = made.get(constraints)
        except TypeError:  # one has no hash
            return make(*constraints)
        if found is None:
            found = made[constraints] = _of_classes(constraints) or make(*constraints)
        return found

    return get


def _of_classes(constraints: tuple[Any, ...]) -> Any:
    """A union of nothing but classes of attributes, of which equal ones fall together: xDSL compares each with each."""
    from xdsl.irdl import irdl_to_attr_constraint
    from xdsl.irdl.constraints import AnyOf, BaseAttr

    apart: dict[Any, None] = {}
    for constraint in map(irdl_to_attr_constraint, constraints):
        for part in constraint.attr_constrs if type(constraint) is AnyOf else (constraint,):
            if type(part) is not BaseAttr:
                return None
            apart[part] = None
    return AnyOf(tuple(apart)) if len(apart) > 1 else next(iter(apart), None)


@contextmanager
def constraints_once() -> Iterator[None]:
    """What a class or an annotation stands for as a constraint is found out once: of 750 that are asked for, 150 differ.
    So are the annotations of a class, which each attribute asks for of all its bases.
    """
    from xdsl import irdl
    from xdsl.irdl import attributes, operations

    made = _constraint_once(attributes.irdl_to_attr_constraint)
    with _constraints.stands(
        *((module, "irdl_to_attr_constraint", made) for module in (irdl, attributes, operations)),
        (attributes, "get_annotations", _annotations_once(inspect.get_annotations)),
    ):
        yield


def _annotations_once(read: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """The same function of a class, evaluated; who asks only looks at what it gets."""
    known: dict[Any, dict[str, Any]] = {}

    def get_annotations(cls: Any, *, eval_str: bool) -> dict[str, Any]:
        found = known.get(cls)
        if found is None:
            found = known[cls] = read(cls, eval_str=eval_str)
        return found

    return get_annotations


def _constraint_once(make: Callable[..., Any]) -> Callable[..., Any]:
    from xdsl.irdl.constraints import AttrConstraint

    made: dict[tuple[int, bool], tuple[Any, Any]] = {}
    """By the identity of what is kept beside it: annotations that are equal may differ in the order of their parts."""

    def irdl_to_attr_constraint(irdl: Any, *, allow_type_var: bool = False) -> Any:
        if isinstance(irdl, AttrConstraint):
            return irdl
        key = id(irdl), allow_type_var
        found = made.get(key)
        if found is None:
            found = made[key] = make(irdl, allow_type_var=allow_type_var), irdl
        return found[0]

    return irdl_to_attr_constraint


@contextmanager
def kinds_of_attributes() -> Iterator[None]:
    """That an attribute is data or has parameters is read off its class, where xDSL makes a union of two abstract ones."""
    from xdsl.ir import Attribute, Data, ParametrizedAttribute

    def __post_init__(self: Any) -> None:
        self._verify()
        bases = type(self).__mro__
        if ParametrizedAttribute not in bases and Data not in bases:
            raise TypeError("Attributes should only be Data or ParametrizedAttribute")

    with _kinds.stands((Attribute, "__post_init__", __post_init__)):
        yield


# ---- definitions of operations ------------------------------------------------------------------------

_define: Callable[[Any], Any]
_define_attribute: Callable[[Any], Any]


@contextmanager
def definitions_on_demand() -> Iterator[None]:
    """The class of an operation that is defined meanwhile is completed when something of its definition is looked at; of an
    attribute, the constraints of its parameters are made when one is.

    Of the operations that dialects define, a program has one in seven, of the attributes most. What is wrong with a
    definition would be found late; `opt-tool`, which does not come this way, completes each at once.
    """
    from xdsl import irdl
    from xdsl.irdl import attributes, operations

    global _define, _define_attribute
    if operations.irdl_op_definition is not _define_on_demand:
        _define = operations.irdl_op_definition
    if attributes.irdl_param_attr_definition is not _define_attribute_on_demand:
        _define_attribute = attributes.irdl_param_attr_definition
    name, of_attributes = "irdl_op_definition", "irdl_param_attr_definition"
    with _definitions.stands(
        (irdl, name, _define_on_demand),
        (operations, name, _define_on_demand),
        (attributes, of_attributes, _define_attribute_on_demand),
    ):
        yield


def _define_on_demand(cls: Any) -> Any:
    """What stands for `irdl_op_definition`."""
    if type(cls) is Waiting:
        cls.decorators.append(_define_now)
        return cls
    _incomplete[cls] = dict(cls.__dict__)
    for part in _PARTS if cls.assembly_format is None else (*_PARTS, *_FORMATTED):
        setattr(cls, part.name, part)
    return cls


def _define_now(cls: Any) -> Any:
    from xdsl.irdl import operations

    return operations.irdl_op_definition(cls)


_incomplete: dict[type, dict[str, Any]] = {}
"""What the author of a class wrote, of the classes that are not complete."""

_completing = ForkLock()


def _complete(cls: Any) -> None:
    with _completing:
        written = _incomplete.pop(cls, None)
        if written is None:
            return  # another thread was faster
        parts = [value for value in cls.__dict__.values() if type(value) is _PartOnDemand]
        later = {
            name: value
            for name, value in cls.__dict__.items()
            if written.get(name, _incomplete) is not value and type(value) is not _PartOnDemand
        }
        for name in (*[part.name for part in parts], *later):
            delattr(cls, name)
            if name in written:
                setattr(cls, name, written[name])
        try:
            _define(cls)
        except BaseException:
            _incomplete[cls] = written
            for part in parts:
                setattr(cls, part.name, part)
            raise
        finally:
            for name, value in later.items():
                setattr(cls, name, value)


class _PartOnDemand:
    """Stands for what a class that is not complete does not have yet. Objects are of complete classes: making one asks
    for the definition.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        _complete(next(cls for cls in owner.__mro__ if self.name in cls.__dict__))
        return getattr(owner if instance is None else instance, self.name)


_PARTS = tuple([_PartOnDemand(name) for name in ("traits", "verify_", "get_irdl_definition")])
_FORMATTED = tuple([_PartOnDemand(name) for name in ("parse", "print")])


# ---- definitions of attributes ------------------------------------------------------------------------


def _define_attribute_on_demand(cls: Any) -> Any:
    """What stands for `irdl_param_attr_definition`."""
    from xdsl.ir import TypedAttribute
    from xdsl.irdl import attributes
    from xdsl.utils.exceptions import PyRDLAttrDefinitionError
    from xdsl.utils.runtime_final import runtime_final

    if any(name in cls.__dict__ for name in ("get_irdl_definition", "get_type_index")):
        return _define_attribute(cls)
    made: list[Any] = []

    def get_irdl_definition(_: Any) -> Any:
        if not made:
            name = _name_without_parameters(cls)
            definition = attributes.ParamAttrDef
            made.append(definition.from_pyrdl(cls) if name is None else definition(name, []))
        return made[0]

    def get_type_index(_: Any) -> int:
        names = [name for name, _ in get_irdl_definition(cls).parameters]
        if "type" not in names:
            raise PyRDLAttrDefinitionError(f"TypedAttribute {cls.__name__} should have a 'type' parameter.")
        return names.index("type")

    cls.get_irdl_definition = classmethod(get_irdl_definition)
    if issubclass(cls, TypedAttribute):
        cls.get_type_index = classmethod(get_type_index)  # pyright: ignore
    return runtime_final(dataclass(frozen=True, init=False)(cls))


def _name_without_parameters(cls: Any) -> str | None:
    """The name of an attribute that has no parameters, as most that a first call makes have none; None for others.

    `ParamAttrDef.from_pyrdl` goes through all members and annotations of all bases; what these say is remembered here.
    """
    bases = [_said_of(base) for base in cls.__mro__]
    constants = frozenset().union(*[of_base[1] for of_base in bases])
    if any([fields or not values <= constants for fields, _, values in bases]):
        return None
    return next((vars(base)["name"] for base in cls.__mro__ if "name" in vars(base)), None)


_SAID: WeakKeyDictionary[type, tuple[frozenset[str], ...]] = WeakKeyDictionary()


def _said_of(base: type) -> tuple[frozenset[str], ...]:
    """The names of what a class says that are parameters, constants (`ClassVar`), and values that may be either."""
    if base not in _SAID:
        from xdsl.irdl import attributes
        from xdsl.utils.classvar import is_const_classvar
        from xdsl.utils.exceptions import PyRDLAttrDefinitionError

        annotations = get_annotations(base, eval_str=True)
        names = annotations.keys() - {"name", "parameters"}
        constants = {
            name for name in names if is_const_classvar(name, annotations[name], PyRDLAttrDefinitionError)
        }
        usual: Any = attributes._PARAMETRIZED_ATTRIBUTE_DICT_KEYS  # pyright: ignore[reportPrivateUsage]
        values = {
            name
            for name, value in vars(base).items()
            if not isinstance(value, _METHODS) and name != "name" and name not in usual
            if not (name.startswith("__") and name.endswith("__"))
        }
        _SAID[base] = frozenset(names - constants), frozenset(constants), frozenset(values)
    return _SAID[base]


_METHODS = (FunctionType, property, classmethod, staticmethod)
