"""Functions made of a text that hands their arguments on: what Nestor compiles in the place of a call from Python.

def grad_of_loss(w, x, *, scale):
    return _transform(_function)(w, x, scale=scale)
"""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ...runtime.disk_cache import blake2b
from .errors import DTypeError

FORWARDS = "nestor_forwards"
"""The attribute of such a function with the one that its arguments go to."""

ABOUT = "nestor_about"
"""The attribute of a function made of a text with the one that messages are about: they show where that is defined."""

OPENED = "nestor_opened"
"""The attribute of a function made of a text with the names of parameters that it differentiates: tuples of numbers are no
constants there."""

TEXT = "nestor_text"
"""The attribute of a function made of a text with the lines of that text: linecache may forget them, which holds no file."""

RECIPE = "nestor_recipe"
"""The attribute of a function made of a text with the call of a user that made it: where it is pickled, that is."""

ATTRIBUTES = frozenset((FORWARDS, ABOUT, OPENED, TEXT, RECIPE))
"""What functions made of a text have; other attributes may mean anything."""


class Recipe:
    """A call that gives a jitted function for another function: `nt.grad(loss, argnums=1)`."""

    def __init__(self, transform: Callable[..., Any], function: Any, options: dict[str, Any]):
        self.transform = transform
        self.function = function
        self.options = options

    def made(self) -> Any:
        """What the call gives."""
        return self.transform(self.function, **self.options)


def opened_parameters(function: Any) -> frozenset[str]:
    """The parameters of a function that are differentiated."""
    return vars(function).get(OPENED, frozenset()) if type(function) is FunctionType else frozenset()


def forwarder(
    function: Callable[..., Any], name: str, call: str, space: dict[str, Any], what: str
) -> FunctionType:
    """The function `name`, with the parameters of `function`, that returns `call`, in which {} stands for them.

    `space` has what the text of `call` names. Raises DTypeError for a function whose parameters cannot be known.
    """
    P = inspect.Parameter
    header, arguments = [], []
    parameters = list(parameters_of(function).parameters.values())
    for k, parameter in enumerate(parameters):
        star = {P.VAR_POSITIONAL: "*", P.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is P.KEYWORD_ONLY:
            header += [] if any(text.startswith("*") for text in header) else ["*"]
            arguments.append(f"{parameter.name}={parameter.name}")
        else:
            arguments.append(star + parameter.name)
        header.append(star + parameter.name)
        last = k + 1 == len(parameters) or parameters[k + 1].kind is not P.POSITIONAL_ONLY
        header += ["/"] if parameter.kind is P.POSITIONAL_ONLY and last else []
    text = f"def {name}({', '.join(header)}):\n    return {call.format(', '.join(arguments))}\n"
    made = made_of(text, name, space, f"<nt.{what} of {label_of(function)}")
    made.__doc__ = getattr(function, "__doc__", None)
    setattr(made, FORWARDS, function)
    take_defaults(made)
    return made


def forwarded(function: Any) -> Any:
    """The function that the arguments of a forwarder go to; None of others."""
    return vars(function).get(FORWARDS) if type(function) is FunctionType else None


def take_defaults(made: FunctionType) -> None:
    """Give a forwarder the defaults that its function has by now."""
    P = inspect.Parameter
    found = [p for p in parameters_of(forwarded(made)).parameters.values() if p.default is not P.empty]
    plain = tuple([p.default for p in found if p.kind is not P.KEYWORD_ONLY])
    named = {p.name: p.default for p in found if p.kind is P.KEYWORD_ONLY}
    if not _are_same(made.__defaults__ or (), plain):
        made.__defaults__ = plain
    old = made.__kwdefaults__ or {}
    if old.keys() != named.keys() or not _are_same(tuple(old.values()), tuple(named.values())):
        made.__kwdefaults__ = named


def _are_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def made_of(text: str, name: str, space: dict[str, Any], file: str) -> FunctionType:
    """The function `name` that a text defines, whose source is found under a name that begins with `file`."""
    file = f"{file}, {blake2b(text.encode(), digest_size=6).hexdigest()}>"
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)
    exec(compile(text, file, "exec"), space)
    made = space.pop(name)
    setattr(made, TEXT, lines)
    return made


def made_lines(function: FunctionType) -> list[str]:
    """The lines of the text that a function was made of; none of others, which functools.wraps may give its attributes."""
    return vars(function).get(TEXT, []) if is_text_made(function.__code__.co_filename) else []


def is_text_made(file: str) -> bool:
    """Whether a place is in a text that `made_of` compiled: no place that a message shows."""
    return file.startswith(("<nt.", "<the "))


def label_of(function: Any) -> str:
    """The name of a function as an identifier."""
    name = getattr(function, "__name__", None)
    name = name if isinstance(name, str) else type(function).__name__
    return "".join([c if c.isalnum() else "_" for c in name]).strip("_") or "function"


def parameters_of(function: Any) -> inspect.Signature:
    """The parameters of a function. Raises DTypeError where they cannot be known."""
    if isinstance(function, np.ufunc):  # its keywords say how NumPy computes
        P = inspect.Parameter
        return inspect.Signature([P(f"x{k + 1}", P.POSITIONAL_ONLY) for k in range(function.nin)])
    if isinstance(function, functools.partial) and isinstance(function.func, np.ufunc):
        rest = list(parameters_of(function.func).parameters.values())[len(function.args) :]
        return inspect.Signature(rest)
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise DTypeError(
            f"{function!r} has no parameters that can be known", hint="wrap it: def f(x): return g(x)"
        ) from None
