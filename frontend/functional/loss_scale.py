"""`nt.LossScale`: gradients of float16 that neither vanish nor overflow (P. Micikevicius and others, Mixed precision
training, 2018)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface.errors import UnsupportedError
from ..interface.forwarders import label_of
from ..interface.inside import inside
from ..jit.driver.jit import jit
from .carried_options import jitted_in
from .derivatives import value_and_grad

if TYPE_CHECKING:
    from ..jit.driver.typed import P, R

SMALLEST = 1.0
LARGEST = 2.0**24
"""The bounds of a factor."""


class LossScale:
    """Factor of a loss while its gradients are computed, found by trying.

        scale = nt.LossScale()
        step = scale.value_and_grad(nt.jit(loss, autocast="f16"))
        for x, y in batches:
            value, gradient = step(w, x, y)
            w -= 0.1 * gradient

    In 16 bits gradients below 6e-8 are 0, and those above 65504 infinite. A loss times `factor` has larger ones; they are
    divided by it again. Where one is not finite, the factor is halved and they are computed again, down to a factor of
    1: what is not finite then is returned. After `every` calls without that it is doubled, up to 2**24. Factors are powers
    of two, so they round nothing.

    `factor` is the present one and may be read and saved. One object serves several functions and threads.
    Raises ValueError for a factor that is not a power of two from 1 to 2**24, and for `every` below 1.
    """

    def __init__(self, factor: float = 2.0**15, every: int = 2000):
        if not SMALLEST <= factor <= LARGEST or np.frexp(factor)[0] != 0.5:
            raise ValueError(f"nt.LossScale: factor is a power of two from 1 to 2**24, not {factor}")
        if every < 1:
            raise ValueError(f"nt.LossScale: every is a number of calls, at least 1, not {every}")
        self.factor = float(factor)
        self.every = int(every)
        self._calls = 0
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"LossScale(factor={self.factor:g}, every={self.every})"

    def __reduce__(self) -> tuple[Any, ...]:
        return LossScale, (self.factor, self.every)

    def value_and_grad(
        self, fun: Callable[P, R], argnums: int | Iterable[int] = 0, *, has_aux: bool = False
    ) -> Callable[P, tuple[R, Any]]:
        """As `nt.value_and_grad`, by way of the loss times the factor: (value, gradient), both as without it.

        Compiled with the options of a jitted `fun`. A call whose gradients overflow calls `fun` again.
        Raises UnsupportedError for a jitted function that names parameters in `constants`, `static_argnames` or `dynamic`.
        """
        _found_by_trying()
        step = jit(_scaled(fun, argnums, has_aux), **_options(fun))

        @functools.wraps(fun, updated=())
        def answer(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Any]:
            while True:
                factor = self.factor
                value, gradient, is_finite = step(factor, args, kwargs)
                if self._next(factor, bool(is_finite)):
                    return value, gradient

        return answer

    def _next(self, factor: float, is_finite: bool) -> bool:
        """Whether the gradients of a factor are those to return; the factor of the next call is set."""
        with self._lock:
            if not is_finite:
                self._calls = 0
                self.factor = max(SMALLEST, min(self.factor, factor / 2))
                return factor == SMALLEST
            self._calls += 1
            if self._calls >= self.every:
                self._calls = 0
                self.factor = min(self.factor * 2, LARGEST)
            return True


def _scaled(fun: Any, argnums: Any, has_aux: bool) -> Callable[..., Any]:
    """The function of (factor, arguments, named arguments) that has value, gradients, and whether these are finite."""

    def step(factor, args, kwargs):
        def scaled_loss(*args):
            if has_aux:
                value, aux = fun(*args, **kwargs)
                return value * factor, (value, aux)
            value = fun(*args, **kwargs)
            return value * factor, value

        (_, value), gradient = value_and_grad(scaled_loss, argnums, has_aux=True)(*args)
        leaves = _leaves(gradient)
        is_finite = True
        for leaf in leaves:
            is_finite = is_finite & np.isfinite(leaf).all()
        return value, _with_leaves(gradient, [leaf / factor for leaf in leaves]), is_finite

    return step


@inside("find by trying")
def _found_by_trying() -> None:
    """Nothing; in compiled code a refusal."""


@inside("leaves")
def _leaves(structure: Any) -> list[Any]:
    """The numbers and arrays of a structure, in order: in compiled code."""
    raise NotImplementedError


@inside("with leaves")
def _with_leaves(structure: Any, leaves: list[Any]) -> Any:
    """A structure with other numbers and arrays: in compiled code."""
    raise NotImplementedError


def _options(fun: Any) -> dict[str, Any]:
    jitted = jitted_in(fun)
    if jitted is None:
        return {}
    options = jitted.options()
    for word in ("constants", "static_argnames", "dynamic"):
        if isinstance(options[word], (tuple, dict)) and options[word]:
            raise UnsupportedError(
                f"nt.LossScale: {label_of(fun)} names parameters in `{word}`, which are arguments of another function here",
                hint="give the plain function, or one that is jitted without it",
            )
    return options
