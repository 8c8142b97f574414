"""`nt.custom_vjp` and `nt.custom_jvp`: functions with derivatives that the user gives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects.tracebacks import boundary
from .carried_texts import Texts, note_texts
from .errors import DTypeError
from .pickling import Pickled
from .texts_of import texts_of


class CustomRule(Pickled):
    """A function with a derivative of the user's. Called by itself it is the function."""

    form: str = ""
    """How the rule is given, in messages."""

    def __init__(self, function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()):
        if not callable(function):
            raise DTypeError(f"{function!r} is not a function")
        functools.update_wrapper(self, function)
        self.function = function
        given = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        wrong = [k for k in given if not isinstance(k, int) or isinstance(k, bool) or k < 0]
        if wrong:
            raise DTypeError(
                f"nondiff_argnums has {wrong[0]!r} in it", hint="it names arguments by position, from 0 on"
            )
        self.nondiff_argnums = given

    def _rules(self) -> tuple[Callable[..., Any] | None, ...]:
        """The functions of its rule."""
        raise NotImplementedError

    def _take_rules(self, *rules: Callable[..., Any] | None) -> None:
        raise NotImplementedError

    def _functions(self) -> list[Any]:
        return [self.function, *[rule for rule in self._rules() if rule is not None]]

    def _pickled_as(self, by_value: bool = True) -> tuple[Any, ...]:
        texts = texts_of(self._functions()) if by_value else {}
        return self.function, self.nondiff_argnums, self._rules(), texts

    def _take(self, function: Any, nondiff_argnums: Any, rules: Any, texts: Texts) -> None:
        note_texts(texts)
        CustomRule.__init__(self, function, nondiff_argnums)
        self._take_rules(*rules)

    def __dask_tokenize__(self) -> Any:
        from .dask_tokens import token_of

        return token_of(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"<{name} with a derivative of its own>"


class CustomVjp(CustomRule):
    """A function with a rule for reverse mode: `defvjp` gives it."""

    form = ".defvjp(fwd, bwd)"

    def __init__(self, function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()):
        super().__init__(function, nondiff_argnums)
        self.forward: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None

    def _rules(self) -> tuple[Callable[..., Any] | None, ...]:
        return self.forward, self.backward

    def _take_rules(self, *rules: Callable[..., Any] | None) -> None:
        self.forward, self.backward = rules

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Give the rule: `forward(*args)` is (result, residuals), and `backward(residuals, cotangent)` a tuple with a
        cotangent for each argument, None for zero. Arguments of `nondiff_argnums` come before the residuals."""
        self.forward, self.backward = forward, backward


class CustomJvp(CustomRule):
    """A function with a rule for forward mode: `defjvp` gives it; reverse mode transposes it."""

    form = ".defjvp(jvp)"

    def __init__(self, function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()):
        super().__init__(function, nondiff_argnums)
        self.tangent: Callable[..., Any] | None = None

    def _rules(self) -> tuple[Callable[..., Any] | None, ...]:
        return (self.tangent,)

    def _take_rules(self, *rules: Callable[..., Any] | None) -> None:
        (self.tangent,) = rules

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule: `jvp(primals, tangents)` is (result, its tangent), linear in the tangents. Arguments of
        `nondiff_argnums` come before the primals. May be used as a decorator."""
        self.tangent = jvp
        return jvp


@boundary
def custom_vjp(fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> CustomVjp:
    """A function whose gradient the user says, for all that differentiates in reverse mode.

        @nt.custom_vjp
        def f(x, w): ...
        def fwd(x, w): return f(x, w), (x, w)              # the result, and what bwd needs
        def bwd(residuals, c): return cx, cw               # a cotangent for each argument; None for zero
        f.defvjp(fwd, bwd)

    Arguments that are no numbers, arrays or structures of them (and those that are to be given as they are) are named in
    `nondiff_argnums`: `bwd(*those, residuals, c)`. A cotangent has the structure, shapes and dtypes of its argument. Values
    that the function uses from outside must not be differentiated: pass them. Forward mode (nt.jvp) raises for it.
    What runs forward is `f` itself, so that the result of `fwd` has to be the same.
    """
    return CustomVjp(fun, nondiff_argnums)


@boundary
def custom_jvp(fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> CustomJvp:
    """A function whose tangent the user says, for forward and reverse mode.

        @nt.custom_jvp
        def f(x, w): ...
        @f.defjvp
        def f_jvp(primals, tangents):
            (x, w), (tx, tw) = primals, tangents
            return f(x, w), ...                            # the result, and its tangent: linear in tx, tw

    Arguments and `nondiff_argnums` are as of `nt.custom_vjp`.
    """
    return CustomJvp(fun, nondiff_argnums)
