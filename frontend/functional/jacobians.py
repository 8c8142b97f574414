"""nt.jacfwd, nt.jacrev and nt.hessian, as Python calls them: jitted functions of texts (`derivatives.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...dialects.tracebacks import boundary
from ..interface.inside import inside
from .derivatives import transformed

if TYPE_CHECKING:
    from ..jit.driver.typed import Jitted, P, R


@boundary
@inside("jacfwd")
def jacfwd(
    fun: Callable[P, R],
    argnums: int | Iterable[int] | None = None,
    *,
    argnames: str | Iterable[str] | None = None,
    has_aux: bool = False,
) -> Jitted[P, Any]:
    """The function that computes the Jacobian of `fun`, column by column (forward mode): for few inputs and many results.

        j = nt.jacfwd(f)(x)                        # of the shape of f(x), then that of x

    Each number or array in the result is replaced by its derivatives with respect to the arguments that `argnums` or
    `argnames` name (by default the first), which have the structure of these: an array of the shape of the result followed
    by that of the argument, of the dtype of the result. With `has_aux` the function returns (result, aux), and this one
    (Jacobian, aux). All columns are computed at once, by `nt.vmap` of `nt.jvp`.

    Raises TypeError for arguments and results that are not real floats, ValueError for argnums that are no arguments.
    """
    return transformed("jacfwd", jacfwd, fun, argnums=argnums, argnames=argnames, has_aux=has_aux)


@boundary
@inside("jacrev")
def jacrev(
    fun: Callable[P, R],
    argnums: int | Iterable[int] | None = None,
    *,
    argnames: str | Iterable[str] | None = None,
    has_aux: bool = False,
) -> Jitted[P, Any]:
    """As `nt.jacfwd`, row by row (reverse mode): for few results and many inputs; of the dtype of the argument."""
    return transformed("jacrev", jacrev, fun, argnums=argnums, argnames=argnames, has_aux=has_aux)


@boundary
@inside("hessian")
def hessian(
    fun: Callable[P, R],
    argnums: int | Iterable[int] | None = None,
    *,
    argnames: str | Iterable[str] | None = None,
    has_aux: bool = False,
) -> Jitted[P, Any]:
    """The function that computes the second derivatives of `fun`: `nt.jacfwd(nt.jacrev(fun))`.

        h = nt.hessian(loss)(x)                    # of the shape of x, twice, where loss returns a number

    Of several arguments (`argnums=(0, 1)`) it has blocks: `h[i][j]` is with respect to argument i and argument j. Where
    products with vectors are enough, `nt.hvp` does not compute the matrix. Raises as nt.jacfwd does.
    """
    return transformed("hessian", hessian, fun, argnums=argnums, argnames=argnames, has_aux=has_aux)
