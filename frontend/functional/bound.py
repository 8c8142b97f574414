"""A pullback of Python: a compiled program with copies of what it was made at, and directions that are checked.

y, pullback = nt.vjp(f, x)       the program and a copy of x, and of the arrays that f reads outside
pullback(c)                      c has the structure, shapes and dtypes of y; the program runs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError
from ...dialects.tracebacks import boundaries
from ..interface.errors import DTypeError, NotPickledError, ShapeError, UnsupportedError
from ..interface.ordinary import attributes_of, is_ordinary
from ..interface.pickling import OneValue
from ..interface.structures import build, parts_of
from ..jit.call.invoke import Invocation
from ..jit.driver.adoption import Adoption, Library, is_foreign
from ..jit.driver.call_arguments import CallArguments
from ..jit.driver.jit_function import JitFunction
from ..jit.driver.refused_program import Refused
from ..jit.driver.saved import contents, opened


def copied(value: Any) -> Any:
    """A value with copies of its arrays, in the same structure."""
    if isinstance(value, np.ndarray):
        return np.array(value, order="K", copy=True)
    parts = _parts(value)
    if parts is None:
        return value
    names, items = parts
    return build(type(value), names, [copied(item) for item in items])


def adopted(values: Sequence[Any], names: Sequence[str]) -> tuple[tuple[Any, ...], Library | None]:
    """Values with NumPy arrays in the place of those of other libraries, and the first of these libraries."""
    made = Adoption(False)
    return tuple([made.take(name, value) for name, value in zip(names, values, strict=True)]), made.library


def held(value: Any, what: str) -> Any:
    """A copy of an argument. Raises UnsupportedError for what cannot be copied: objects with arrays of other libraries."""
    if is_foreign(value):
        kind = type(value).__name__
        raise UnsupportedError(
            f"{what} holds copies of NumPy arrays and numbers, and is given an object with a {kind} in it",
            hint="pass np.asarray(x); nt.grad and nt.jvp take arrays of other libraries",
        )
    parts = _parts(value)
    for item in () if parts is None else parts[1]:
        held(item, what)
    return copied(value)


def contents_outside(function: JitFunction, arguments: Sequence[Any]) -> dict[Any, Any]:
    """Copies of the arrays outside that a call with these arguments is going to read, by the keys of their inputs; none
    where it writes to no array."""
    names = [f"argument {k}" for k in range(len(arguments))]
    invocation, values = function.bound(*adopted(arguments, names)[0])
    program = invocation.program
    if not program.written:
        return {}
    own = len(program.arguments) - len(program.inputs)
    return {one.key: copied(value) for one, value in zip(program.inputs, values[own:], strict=True)}


def _parts(value: Any) -> tuple[tuple[Any, ...] | None, Sequence[Any]] | None:
    """The names and items of a structure or an object of a class; None for others."""
    if is_ordinary(type(value)) and parts_of(value) is None:
        found = attributes_of(value)
        return tuple(found), list(found.values())
    return parts_of(value)


@boundaries
class Bound(OneValue):
    """The program of a jitted function, bound to what its arguments are from the first direction on.

    `examples` are values of the kinds that its directions have, called `names`; `held` are the other arguments. What it
    gives is in the kind of `library`, None: of NumPy, or of the library of the first direction that is of one. `outside`
    are contents that arrays outside had when the function ran, by the keys of their inputs: others have not changed since.
    """

    def __init__(
        self,
        function: JitFunction,
        what: str,
        examples: Sequence[Any],
        names: Sequence[str],
        held: Sequence[Any],
        library: Library | None,
        outside: Mapping[Any, Any],
    ):
        self._library = library
        self.what = what
        self._function: CallArguments = function
        self._held = tuple(held)
        self._names = names
        self._examples = [_empty_like(one, name, what) for one, name in zip(examples, names, strict=True)]
        self._invocation, self._values = function.bound(*self._examples, *held)
        if self._invocation.touches:
            raise UnsupportedError(
                f"{what}: lists, dicts and objects that the function changes are not supported"
            )
        names_of_leaves, values, _ = function._leaves((*self._examples, *held), {})
        first = function.signature.parameters
        self._more: tuple[str, ...] = ()
        """The names of arrays from outside that a program which was pickled takes."""
        self._count = names_of_leaves.index(list(first)[len(self._examples)])
        """How many values those of the directions are."""
        # Arrays outside that it was given are in the memory of others.
        inputs = zip(self._invocation.program.inputs, self._values[len(values) :], strict=True)
        self._values[len(values) :] = [
            outside[place.key] if place.key in outside else copied(one) for place, one in inputs
        ]

    def __reduce_ex__(self, protocol: Any) -> Any:
        invocation = self._invocation
        data = contents(
            self._function, invocation.program, invocation.kernel, "pickled", NotPickledError, has_inputs=True
        )
        names = (*self._more, *[one.name for one in invocation.program.inputs])
        parts = {
            "what": self.what,
            "_library": self._library,
            "_names": tuple(self._names),
            "_examples": self._examples,
            "_held": self._held,
            "_values": self._values,
            "_count": self._count,
            "_more": names,
        }
        return _unpickled, ((data, parts),)

    def __call__(self, *directions: Any, **named: Any) -> Any:
        """What the program gives for these directions. Raises TypeError and ValueError for those that do not fit."""
        if named:
            raise DTypeError(
                f"{self.what} takes {', '.join(self._names)} by position: '{next(iter(named))}' is given by name",
                hint=f"it is called with ({', '.join(self._names)})",
            )
        if len(directions) != len(self._names):
            raise DTypeError(
                f"{self.what} takes {', '.join(self._names)}: {len(directions)} are given",
                hint="what has a structure is given as one argument of the same structure",
            )
        made = Adoption(False)
        made.library = self._library
        arrays = [made.take(name, one) for name, one in zip(self._names, directions, strict=True)]
        given = zip(self._examples, arrays, self._names, strict=True)
        taken = [self._taken(example, direction, name) for example, direction, name in given]
        values = self._function._leaves((*taken, *self._held), {})[1]
        found = self._invocation([*values[: self._count], *self._values[self._count :]])
        return found if made.library is None else made.results(found)

    def __repr__(self) -> str:
        return f"<{self.what}>"

    def _taken(self, example: Any, given: Any, name: str) -> Any:
        """A direction in the dtypes and memory orders that the program takes."""
        parts = _parts(example)
        if parts is None:
            return self._leaf(example, given, name)
        names, items = parts
        others = _parts(given)
        is_alike = others is not None and others[0] == names and len(others[1]) == len(items)
        if type(given) is not type(example) or others is None or not is_alike:
            raise ShapeError(f"{self.what}: {name} is {_form(given)} instead of {_form(example)}")
        keys = range(len(items)) if names is None else names
        taken = [
            self._taken(item, other, f"{name}[{key!r}]")
            for key, item, other in zip(keys, items, others[1], strict=True)
        ]
        return build(type(example), names, taken)

    def _leaf(self, example: Any, given: Any, name: str) -> Any:
        if example is None:
            if given is not None:
                raise ShapeError(f"{self.what}: {name} is {_form(given)} instead of None")
            return None
        if isinstance(given, bool | str) or not isinstance(
            given, np.ndarray | np.generic | int | float | complex
        ):
            raise DTypeError(f"{self.what}: {name} is {_form(given)} instead of {_form(example)}")
        is_weak = isinstance(given, int | float | complex) and not isinstance(given, np.generic)
        wanted = np.asarray(example)
        array = np.asarray(given)
        if array.shape != wanted.shape:
            raise ShapeError(
                f"{self.what}: {name} has the shape {array.shape} instead of {wanted.shape}",
                hint="cotangents are like the function's result, tangents like its arguments: np.ones_like(...)",
            )
        fits = np.can_cast(array.dtype, wanted.dtype, "same_kind") if is_weak else array.dtype == wanted.dtype
        if not fits:
            raise DTypeError(
                f"{self.what}: {name} has the dtype {array.dtype} instead of {wanted.dtype}",
                hint=f"convert it: {name}.astype(...)" if name.isidentifier() else "convert it: .astype(...)",
            )
        if isinstance(example, np.ndarray):
            return np.ascontiguousarray(array, wanted.dtype).reshape(wanted.shape)
        return type(example)(given)


def _unpickled(pickled: tuple[bytes, dict[str, Any]]) -> Bound | Refused:
    """What was pickled: the same program, with what it holds."""
    data, parts = pickled
    try:
        owner, program, kernel = opened(parts["what"], data)
    except NestorError as error:
        return Refused(_unpickled, pickled, error)
    made = Bound.__new__(Bound)
    vars(made).update(parts)
    made._function = owner
    names, values, groups = owner._leaves((*made._examples, *made._held), {})
    more = made._values[len(values) :]
    groups = [*groups, *[None] * len(more)] if groups else groups
    types = owner._types([*names, *made._more], [*values, *more], groups)
    made._invocation = Invocation(program, kernel, types)
    return made


def _empty_like(value: Any, name: str, what: str, in_object: bool = False) -> Any:
    """A value of the structure, shapes and dtypes of another one, with arrays of its own in row-major order. Attributes of
    objects that have no derivatives become None."""
    is_number = isinstance(value, float | complex | np.inexact)
    if isinstance(value, np.ndarray) and (not in_object or isinstance(value.dtype.type(0), np.inexact)):
        return np.zeros(value.shape, value.dtype)
    parts = _parts(value)
    if parts is not None:
        names, items = parts
        inner = in_object or not isinstance(value, tuple | list | dict)
        return build(type(value), names, [_empty_like(item, name, what, inner) for item in items])
    if is_number or value is None:
        return value
    if in_object:
        return None
    raise DTypeError(
        f"{what}: {name} would be that of {_form(value)}: only floats and complex numbers have derivatives",
        hint="only what is differentiated is given here: nt.linearize(lambda x: f(x, n), x)"
        if name.startswith("tangent")
        else "with has_aux=True the function may return (result, aux), and aux has none",
    )


def _form(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    parts = parts_of(value)
    if parts is not None:
        return f"a {type(value).__name__} of {len(parts[1])}"
    return f"{value!r}" if isinstance(value, int | float | complex | None) else f"a {type(value).__name__}"
