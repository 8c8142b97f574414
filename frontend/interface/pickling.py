"""How functions of Nestor are pickled: by the name that they stand at, as Python's are, or by what they are made of.

    @nt.jit
    def f(x): ...                # by its name; in __main__ cloudpickle takes it by value, as it takes functions
    soft = nt.jit(plain)         # as `plain` is pickled, with the options
    nt.jit(lambda x: 2 * x)      # by value: cloudpickle has to be there

Which of both it is, the pickler decides: an object at a name is pickled as two of its attributes, its `nestor_tickets`.
They are plain functions of these names (`f.nestor_ticket`), and what the object is made of goes with one of them. Who takes
them by their names finds the object of that name; who takes them by value makes the object again.

`pickle` takes nothing by value. What no other process finds at a name is for it a text that cloudpickle wrote.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import os
import sys
import weakref
from contextvars import ContextVar
from types import FunctionType, MethodType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from .errors import NotPickledError

Made = TypeVar("Made", bound="Pickled")
Same = TypeVar("Same", bound="OneValue")

MAIN = ("__main__", "__mp_main__")
"""The names of the module that was started: other processes have another one, or run its file again."""


class OneValue:
    """To `copy` it is one value, as functions are: nothing in it changes."""

    __slots__ = ()

    def __copy__(self: Same) -> Same:
        return self

    def __deepcopy__(self: Same, memo: Any) -> Same:
        return self


class Pickled(OneValue):
    """What is made of a function, and stands where functions stand."""

    __slots__ = ()

    def _pickled_as(self, by_value: bool = True) -> tuple[Any, ...]:
        """What it is made of: `_take` makes it again of that. Functions that are pickled by value need their texts."""
        raise NotImplementedError

    def _take(self, *parts: Any) -> None:
        """Become what was pickled."""
        raise NotImplementedError

    def _functions(self) -> list[Any]:
        """The functions that it is made of; the first one may have given it its name."""
        raise NotImplementedError

    def _made_by(self) -> Any:
        """What to call for it with `_pickled_as`, where it has no name of its own; None: `_take` is enough."""
        return None

    def __reduce_ex__(self, protocol: Any) -> Any:
        place = _place_of(self)
        if place is not None and is_found(self):
            if int(protocol) >= 4:
                return _claimed, (self.nestor_ticket,), self.nestor_contents
            # The names of tickets have dots, which older forms do not know.
            is_its_own = getattr(self, "__module__", None) == place[0]
            if is_its_own and not (place[0] in MAIN and _pickler().startswith("cloudpickle")):
                return place[1]
        pickler = _pickler()
        by_value = _INSIDE.get() or pickler.startswith("cloudpickle")
        if not by_value and not all(map(is_found, self._functions())):
            sealed = _sealed(self, pickler)
            if sealed is not None:
                return sealed
            by_value = True
        parts, again = self._pickled_as(by_value), self._made_by()
        return (_blank, (type(self),), parts) if again is None else (again, (type(self), *parts))

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, FunctionType):
            own = _TICKETS.get(self)
            if own is not None and own[1] is state:
                return  # found by its name
            state = vars(state)[_CONTENTS]
        self._take(*state)

    @property
    def nestor_ticket(self) -> FunctionType:
        """What is pickled for it, by name or by value."""
        return _tickets(self)[0]

    @property
    def nestor_contents(self) -> FunctionType:
        """What is pickled behind that: by value, all that it is made of."""
        return _tickets(self)[1]


# ---- by name ----------------------------------------------------------------------------------------

_KIND, _CONTENTS = "nestor_kind", "nestor_parts"
"""The attributes of tickets: the class of the object, what it is made of."""

_TICKETS: WeakKeyDictionary[Pickled, tuple[FunctionType, FunctionType]] = WeakKeyDictionary()
_OWNERS: WeakKeyDictionary[FunctionType, weakref.ref[Pickled]] = WeakKeyDictionary()


class _Contents:
    """What an object is made of, asked for when it is pickled."""

    def __init__(self, owner: Pickled):
        self.owner = weakref.ref(owner)

    def __reduce__(self) -> Any:
        owner = self.owner()
        return tuple, ([] if owner is None else list(owner._pickled_as()),)


def _tickets(owner: Pickled) -> tuple[FunctionType, FunctionType]:
    place = _place_of(owner) or (owner.__module__, type(owner).__qualname__)
    made = _TICKETS.get(owner)
    if made is None:
        first, second = (
            FunctionType(_ticket.__code__, {}, name) for name in ("nestor_ticket", "nestor_contents")
        )
        setattr(first, _KIND, type(owner))
        setattr(second, _CONTENTS, _Contents(owner))
        made = _TICKETS.setdefault(owner, (first, second))
        _OWNERS[made[0]] = weakref.ref(owner)
    for one in made:
        one.__module__, one.__qualname__ = place[0], f"{place[1]}.{one.__name__}"
    return made


def _ticket() -> None:
    """The code of tickets."""


def _claimed(ticket: FunctionType) -> Pickled:
    """The object of a ticket that was found by its name; of one that came by value, an object that is not made yet."""
    reference = _OWNERS.get(ticket)
    owner = None if reference is None else reference()
    return _blank(vars(ticket)[_KIND]) if owner is None else owner


def _blank(kind: type[Made]) -> Made:
    """An object that is not made yet: what it is made of may name it."""
    return kind.__new__(kind)


def _place_of(thing: Any) -> tuple[str, str] | None:
    """The module and the name that something stands at; None where it stands at none of its names."""
    names = [thing, *(thing._functions()[:1] if isinstance(thing, Pickled) else ())]
    while isinstance(names[-1], Pickled | functools.partial):
        last = names[-1]
        names.append(last._functions()[0] if isinstance(last, Pickled) else last.func)
    for one in names:
        module, name = getattr(one, "__module__", None), getattr(one, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and _at(module, name) is thing:
            return module, name
    return None


def owner_of(function: FunctionType) -> Any:
    """The class that a method is defined in, as far as its name says; None of others."""
    name = function.__qualname__.rpartition(".")[0]
    return _at(function.__module__, name) if name else None


def _at(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def is_found(thing: Any) -> bool:
    """Whether `pickle` in another process finds what is pickled by its name, as far as that can be seen."""
    if isinstance(thing, functools.partial):
        return is_found(thing.func)
    if isinstance(thing, MethodType):
        owner = thing.__self__
        return is_found(owner if isinstance(owner, type) else type(owner))
    if not isinstance(thing, FunctionType | type | Pickled):
        return True
    place = _place_of(thing)
    if place is None:
        return isinstance(thing, Pickled) and all(map(is_found, thing._functions()))
    return place[0] not in MAIN or _is_in_file_of(sys.modules[place[0]], thing)


def _is_in_file_of(module: Any, thing: Any) -> bool:
    """Whether whoever runs the file of a module again has something that it defines: not a cell of a notebook, nor a text
    that was typed in, nor what stands under `if __name__ == "__main__"`."""
    file = getattr(module, "__file__", None)
    while isinstance(thing, Pickled):
        thing = thing._functions()[0]
    if not isinstance(file, str) or not isinstance(thing, FunctionType):
        return isinstance(file, str)
    code = thing.__code__
    is_there = os.path.basename(code.co_filename) == os.path.basename(file)
    return is_there and not any(code.co_firstlineno in lines for lines in _for_main_alone(file))


@functools.cache
def _for_main_alone(file: str) -> list[range]:
    """The lines of a file that run only where it is started."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    return [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in tree.body
        if isinstance(node, ast.If)
        and any(isinstance(one, ast.Name) and one.id == "__name__" for one in ast.walk(node.test))
    ]


# ---- by value ---------------------------------------------------------------------------------------

_INSIDE: ContextVar[bool] = ContextVar("INSIDE", default=False)
"""Whether a text for `pickle` is being written."""

_NUMBERS: WeakKeyDictionary[Pickled, int] = WeakKeyDictionary()
_BY_NUMBER: WeakValueDictionary[int, Pickled] = WeakValueDictionary()
_NEXT = itertools.count()


def _pickler() -> str:
    """The module that calls a pickler written in C, or has one written in Python (`pickle`).

    cloudpickle, and copies of it in other packages, take functions by value themselves, and keep what they share with all
    else that is pickled.
    """
    frame = sys._getframe(1)
    while frame.f_globals is globals() and frame.f_back is not None:
        frame = frame.f_back
    name = frame.f_globals.get("__name__")
    return name.rpartition(".")[2] if isinstance(name, str) else ""


def _sealed(thing: Pickled, pickler: str) -> tuple[Any, tuple[Any, ...]] | None:
    """An object by value for a pickler that takes nothing by value; None where it may take it. Raises NotPickledError."""
    name = getattr(thing, "__qualname__", repr(thing))
    try:
        import cloudpickle  # pyright: ignore[reportMissingImports]
    except ImportError:
        if pickler == "pickle":
            return None
        raise NotPickledError(
            f"'{name}' stands at no name that another process finds, and pickle takes no function by value",
            hint="install cloudpickle, or define it with `def` in a module",
        ) from None
    inside = _INSIDE.set(True)
    try:
        data = cloudpickle.dumps(thing)
    except NotPickledError:
        raise
    except Exception as error:  # of any object that the function reads
        raise NotPickledError(
            f"'{name}' cannot be pickled, for something that it reads cannot: {type(error).__name__}: {error}",
            hint="pass that as an argument, or make it in the process that runs the function",
        ) from error
    finally:
        _INSIDE.reset(inside)
    number = _NUMBERS.setdefault(thing, next(_NEXT))
    _BY_NUMBER[number] = thing
    return _unsealed, (_here(os.getpid()), number, data)


@functools.cache
def _here(process: int) -> bytes:
    """What tells this process from all others; a child of a fork is another one."""
    return os.urandom(8)


def _unsealed(process: bytes, number: int, data: bytes) -> Any:
    """The object itself in the process that pickled it, while it lives; its copy in others."""
    known = _BY_NUMBER.get(number) if process == _here(os.getpid()) else None
    if known is not None:
        return known
    import pickle

    return pickle.loads(data)
