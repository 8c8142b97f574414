"""The options of a jitted function, for a function that is made of it: what they say of parameters is said of its own.

    nt.grad(f)                    the parameters of f
    nt.vmap(f, in_axes=1)         {"x": {1: "n"}} is of a slice, and {"x": {2: "n"}} of all slices
    nt.jvp(f, (x, w), (dx, dw))   x is x0, its tangent t0; w is x1, its tangent t1
    nt.grad(partial(f, w=3.0))    what is said of w is kept where w can still be given

All options are carried but `fallback`: a derivative has no plain function that could answer in its place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

from ..interface.errors import UnsupportedError
from ..interface.forwarders import label_of, parameters_of
from ..jit.driver.jit_function import JitFunction

P = inspect.Parameter

BY_NAME = ("static_argnames", "constants")
"""The options that are names of parameters."""


def jitted_in(function: Any) -> JitFunction | None:
    """The jitted function that a function is, or a method or a `functools.partial` of; None for others."""
    while not isinstance(function, JitFunction):
        if isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            return None
    return function


def options_of(function: Any) -> dict[str, Any]:
    """The options of a jitted function, for another one with its parameters; none of others."""
    jitted = jitted_in(function)
    if jitted is None:
        return {}
    options = jitted.options()
    if jitted is function:
        return options
    known = parameters_of(function).parameters

    def same(name: str, parameter: inspect.Parameter) -> Iterator[tuple[str, int | None]]:
        yield from [(name, None)] if parameter.name in known else ()

    return _renamed(jitted, options, same)


def options_for_primals(function: Any, count: int, tangents: int = 0) -> dict[str, Any]:
    """The options for a function of `count` primals x0, x1, ... and of `tangents` tangents t0, t1, ... of them."""
    jitted = jitted_in(function)
    if jitted is None:
        return {}
    parameters = list(parameters_of(function).parameters.values())
    places = {one.name: k for k, one in enumerate(parameters) if one.kind != P.KEYWORD_ONLY}

    def numbered(name: str, parameter: inspect.Parameter) -> Iterator[tuple[str, int | None]]:
        place, rest = _place(places.get(parameter.name), name, parameter)
        if place is None or place >= count:
            return
        yield f"x{place}{rest}", None
        if place < tangents:
            yield f"t{place}{rest}", None

    options = _renamed(jitted, options_of(function), numbered)
    for word in BY_NAME:  # a tangent is no constant
        options[word] = tuple([name for name in options[word] if name.startswith("x")])
    return options


def options_for_slices(function: Any, in_axes: Any) -> dict[str, Any]:
    """The options for a function of all slices along `in_axes`. Raises UnsupportedError where it is not known which axis of
    all slices one is that a slice has."""
    jitted = jitted_in(function)
    if jitted is None:
        return {}
    parameters = list(parameters_of(function).parameters.values())
    places = {one.name: k for k, one in enumerate(parameters)}

    def sliced(name: str, parameter: inspect.Parameter) -> Iterator[tuple[str, int | None]]:
        place, _ = _place(places.get(parameter.name), name, parameter)
        if place is None:
            return
        if parameter.kind in (P.KEYWORD_ONLY, P.VAR_KEYWORD):
            at: Any = 0
        elif isinstance(in_axes, tuple | list):
            at = in_axes[place] if place < len(in_axes) else 0
        else:
            at = in_axes
        if at is not None and type(at) is not int:
            raise UnsupportedError(
                f"nt.vmap of {label_of(function)}: in_axes has a structure for '{parameter.name}', and `dynamic` names "
                f"axes of '{name}' in it",
                hint="say it of all slices: nt.jit(nt.vmap(g, in_axes=...), dynamic=...) of the plain function g",
            )
        yield name, at

    return _renamed(jitted, options_of(function), sliced)


Names = Callable[[str, inspect.Parameter], Iterator[tuple[str, int | None]]]
"""What an argument that `dynamic` names is called in the other function, and the axis of its slices."""


def _renamed(jitted: JitFunction, options: dict[str, Any], names: Names) -> dict[str, Any]:
    """The options with what they say of parameters under other names."""
    parameters = jitted.signature.parameters
    made = dict(options)
    for word in BY_NAME:
        found = [new for name in options[word] for new, _ in names(name, parameters[name])]
        made[word] = tuple(dict.fromkeys(found))
    if not isinstance(options["dynamic"], dict):
        return made
    dynamic: dict[str, dict[int, Any]] = {}
    for name, axes in options["dynamic"].items():
        parameter = _parameter_of(name, parameters.values())
        for new, at in names(name, parameter):
            dynamic[new] = {_of_all(jitted, name, axis, at): one for axis, one in axes.items()}
    made["dynamic"] = dynamic or None
    return made


def _parameter_of(name: str, parameters: Any) -> inspect.Parameter:
    """The parameter that an argument belongs to: `pair` of `pair_0`."""
    found = [one for one in parameters if name == one.name or name.startswith(f"{one.name}_")]
    return max(found, key=lambda one: len(one.name))


def _place(place: int | None, name: str, parameter: inspect.Parameter) -> tuple[int | None, str]:
    """The position of an argument, and how its name goes on: `_0` of `pair_0`; of `args_1_0`, which is beyond `args`, that
    of the item."""
    rest = name.removeprefix(parameter.name)
    if place is None or parameter.kind != P.VAR_POSITIONAL:
        return place, rest
    number, _, more = rest.removeprefix("_").partition("_")
    return (place + int(number), f"_{more}" if more else "") if number.isdecimal() else (None, rest)


def _of_all(jitted: JitFunction, name: str, axis: int, at: int | None) -> int:
    """The axis of all slices that `axis` of one is; slices are along axis `at`, None for what has none."""
    if at is None or (at == 0 and axis < 0) or (at == -1 and axis >= 0):
        return axis
    if (axis < 0) != (at < 0):
        raise UnsupportedError(
            f"nt.vmap of {label_of(jitted)}: `dynamic` counts axis {axis} of '{name}' from one end, and in_axes counts axis "
            f"{at} from the other: whether it comes before depends on the rank",
            hint="count both from the same end",
        )
    if axis < 0:
        return axis if axis > at else axis - 1
    return axis if axis < at else axis + 1
