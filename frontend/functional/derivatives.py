"""nt.grad, nt.value_and_grad, nt.jvp, nt.vjp, nt.linearize, nt.hvp and nt.stop_gradient, as Python calls them.

What runs is a jitted function of a text that says the same: one mechanism compiles both (`frontend/derivatives/`).

    nt.grad(loss)    ->    def grad_of_loss(w, x):
                               return _transform(_function, argnums=None, argnames=None, has_aux=False)(w, x)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ...dialects.tracebacks import boundary
from ..interface.errors import DTypeError, UnsupportedError
from ..interface.forwarders import ABOUT, OPENED, RECIPE, Recipe, forwarder, label_of, made_of
from ..interface.inside import inside
from ..jit.driver.adoption import Library
from ..jit.driver.jit import jit
from ..jit.driver.jit_function import JitFunction
from .bound import Bound, adopted, contents_outside, copied, held
from .carried_options import options_for_primals, options_of

if TYPE_CHECKING:
    from ..jit.driver.typed import Jitted, Kept, P, R

MOST_KEPT = 64
"""Maximum number of derivatives that are kept for later calls of nt.grad (and others) with the same function."""

_KEPT: OrderedDict[Any, tuple[Any, JitFunction]] = OrderedDict()
_LOCK = Lock()


@boundary
@inside("grad")
def grad(
    fun: Callable[P, R],
    argnums: int | Iterable[int] | None = None,
    *,
    argnames: str | Iterable[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jitted[P, Any]:
    """The function that computes the gradient of `fun`, which returns one real floating-point number (of shape ()).

        g = nt.grad(loss)(w, x)                    # with respect to the first argument
        gw, gb = nt.grad(loss, argnums=(0, 1))(w, b, x)

    `argnums` are positions of arguments that are floats, arrays of floats, or structures of them (tuples, lists, dicts,
    dataclasses, objects); an int gives the gradient, a tuple a tuple of them. `argnames` names them instead. The gradient
    has the structure, the shapes and the dtypes of the argument: NumPy arrays for arrays, floats for floats. It is taken
    at what arguments hold when the call begins. With `has_aux` the function returns (loss, aux), and the gradient
    function (gradient, aux).

    With `holomorphic=True` the arguments and the result are complex, and the gradient is the complex derivative of a
    holomorphic function, without conjugation.

    It is compiled as by `nt.jit`, once for each kind of arguments, with the options of `fun` where that is a jitted
    function; it takes other options as `nt.jit(nt.grad(fun), target=...)`. In compiled code it is called in the same way.

    Raises TypeError for an argument without derivatives (integers, bools), and for a loss that is None, complex or no
    float; ValueError for a loss that is an array, and for argnums and argnames that are no arguments.
    """
    return transformed(
        "grad", grad, fun, argnums=argnums, argnames=argnames, has_aux=has_aux, **_holomorphic(holomorphic)
    )


@boundary
@inside("value_and_grad")
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Iterable[int] | None = None,
    *,
    argnames: str | Iterable[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jitted[P, tuple[R, Any]]:
    """As `nt.grad`, for (value, gradient) at once: what `fun` returns, and its gradient."""
    return transformed(
        "value_and_grad",
        value_and_grad,
        fun,
        argnums=argnums,
        argnames=argnames,
        has_aux=has_aux,
        **_holomorphic(holomorphic),
    )


@boundary
@inside("jvp")
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """The result of `fun(*primals)`, and its derivative in the direction of `tangents` (forward mode).

        y, dy = nt.jvp(f, (x, w), (dx, dw))

    Primals are floats, complex numbers, arrays and structures of them; a tangent has the structure, shape and dtype of its
    primal, and `dy` those of `y`. With `has_aux` the function returns (y, aux), and nt.jvp (y, dy, aux).
    Raises TypeError for primals and results without derivatives (integers), ValueError for tangents that do not fit.
    """
    return _called("jvp", jvp, fun, primals, tangents, has_aux=bool(has_aux))


@boundary
@inside("hvp")
def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The product of the Hessian of `fun` with a vector: the derivative of `nt.grad(fun)` in the direction of `tangents`.

        hv = nt.hvp(loss, (w,), (v,))

    The function returns one real number. Of one primal the product has its structure; of several it is a tuple.
    Raises as nt.grad and nt.jvp do.
    """
    return _called("hvp", hvp, fun, primals, tangents)


@boundary
@inside("vjp")
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of `fun(*primals)`, and a function that pulls its cotangents back to the arguments (reverse mode).

        y, pullback = nt.vjp(f, x, w)
        gx, gw = pullback(dy)                       # the products of dy with the Jacobians; as often as wanted

    A cotangent has the structure, shapes and dtypes of the result. The pullback holds copies: what happens to `x` later, or
    to what `fun` reads outside, does not matter to it. With `has_aux` the function returns (y, aux), and nt.vjp
    (y, pullback, aux). What `fun` prints, it prints once.
    For complex numbers the pullback computes the transpose, without conjugation: `<pullback(c), t> == <c, J t>` with
    `<a, b> = sum(a * b)`.
    Raises TypeError for arguments and results without derivatives, ValueError for cotangents that do not fit.
    """
    kept, library = _held(fun, "vjp", primals)
    value, outside = _forward(fun, "vjp", primals, has_aux)
    result = value[0] if has_aux else value
    pull = _backward(
        fun, "pullback", "_transform(_function, ({primals}), {directions}, {aux})", pull_back, kept, has_aux
    )
    examples, _ = adopted((result,), ("the result",))
    back = Bound(
        pull, f"the pullback of {label_of(fun)}", examples, ("the cotangent",), kept, library, outside
    )
    return (result, back, value[1]) if has_aux else (result, back)


@boundary
@inside("linearize")
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of `fun(*primals)`, and its derivative there: a function of tangents, one for each primal.

        y, f_jvp = nt.linearize(f, x)
        dy = f_jvp(dx)                              # as nt.jvp(f, (x,), (dx,))[1]; as often as wanted

    Copies, `has_aux` and errors are as of nt.vjp.
    """
    kept, library = _held(fun, "linearize", primals)
    value, outside = _forward(fun, "linearize", primals, has_aux)
    result = value[0] if has_aux else value
    push = _backward(
        fun,
        "derivative",
        "_transform(_function, ({primals}), ({directions}), {aux})",
        push_forward,
        kept,
        has_aux,
        len(kept),
    )
    names = tuple([f"tangent {k}" for k in range(len(kept))])
    forward = Bound(push, f"the derivative of {label_of(fun)}", kept, names, kept, library, outside)
    return (result, forward, value[1]) if has_aux else (result, forward)


@inside("stop_gradient")
def stop_gradient(x: Kept) -> Kept:
    """The same numbers, which are constants for derivatives: `x` may be a structure; arrays are copied."""
    return copied(x)


@boundary
@inside("run forward")
def run_forward(fun: Any, name: str, primals: Any, aux: bool) -> Any:
    """What nt.vjp and nt.linearize run first, in compiled code only."""
    raise NotImplementedError


@boundary
@inside("pull back")
def pull_back(fun: Any, primals: Any, cotangent: Any, aux: bool) -> Any:
    """What a pullback runs, in compiled code only."""
    raise NotImplementedError


@boundary
@inside("push forward")
def push_forward(fun: Any, primals: Any, tangents: Any, aux: bool) -> Any:
    """What the derivative that nt.linearize gives runs, in compiled code only."""
    raise NotImplementedError


# ---- the texts that are compiled ---------------------------------------------------------------------


def transformed(
    kind: str,
    transform: Callable[..., Any],
    function: Any,
    opens: bool = True,
    carried: Callable[[Any], dict[str, Any]] = options_of,
    **options: Any,
) -> JitFunction:
    """The jitted function that calls what `transform` gives for a function; the same one for the same function.

    It `opens` the arguments that `options` name, or the first: these are differentiated. `carried` says which options of
    nt.jit it has from a jitted function.
    """
    _check_function(kind, function)
    for name, value in options.items():
        if isinstance(value, Iterable) and not isinstance(value, str | dict):
            options[name] = tuple(value)
    settings = ", ".join([f"{name}={value!r}" for name, value in options.items()])

    def make() -> JitFunction:
        name = f"{kind}_of_{label_of(function)}"
        given = f", {settings}" if settings else ""
        call = f"_transform(_function{given})".replace("{", "{{").replace("}", "}}") + "({})"
        space = {"_transform": transform, "_function": function}
        made = forwarder(function, name, call, space, kind)
        setattr(made, RECIPE, Recipe(transform, function, options))
        chosen = _chosen(made, **options) if opens else ()
        return _jitted(made, function, chosen, **carried(function))

    return _kept((kind, settings, _identity(function)), function, make)


def _holomorphic(asked: bool) -> dict[str, bool]:
    """The option as the text has it: only where it is asked for."""
    return {"holomorphic": True} if asked else {}


def _check_function(kind: str, function: Any) -> None:
    """Raise for what is no function, and for one that compiled code cannot contain."""
    if isinstance(function, Bound):
        raise UnsupportedError(
            f"nt.{kind} of {function.what}, which is called from Python: it holds copies of what it was made at",
            hint=f"make it inside: nt.{kind}(lambda c: nt.vjp(f, x)[1](c))",
        )
    if not callable(function):
        kind_of_value = f"a {type(function).__name__}"
        raise DTypeError(
            f"nt.{kind} takes a function, and is given {kind_of_value}",
            hint=f"nt.{kind}(f)(x), not nt.{kind}(f(x))" if kind not in _OF_PRIMALS else f"nt.{kind}(f, ...)",
        )


_OF_PRIMALS = ("jvp", "hvp", "vjp", "linearize")


def _jitted(
    made: FunctionType, function: Any, opened: Iterable[str] | None = None, **options: Any
) -> JitFunction:
    """A function made of a text; what is wrong with it is said of `function`. `opened` are the parameters that are
    differentiated, None all."""
    opened = made.__code__.co_varnames[: made.__code__.co_argcount] if opened is None else opened
    setattr(made, ABOUT, function)
    setattr(made, OPENED, frozenset(opened))
    return jit(made, **options)


def _chosen(made: FunctionType, argnums: Any = None, argnames: Any = None, **_: Any) -> list[str]:
    """The parameters that argnums and argnames mean; what is no parameter is refused when it is called."""
    code = made.__code__
    positional = code.co_varnames[: code.co_argcount]
    if argnums is None and argnames is None:
        argnums = 0
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    names = argnames if isinstance(argnames, tuple) else (argnames,)
    found = [positional[k] for k in numbers if isinstance(k, int) and -len(positional) <= k < len(positional)]
    return found + [name for name in names if isinstance(name, str)]


def _identity(function: Any) -> Any:
    """What tells functions apart: a bound method is another object each time that it is asked for."""
    if isinstance(function, MethodType):
        return id(function.__func__), id(function.__self__)
    return id(function)


def _kept(key: Any, function: Any, make: Callable[[], JitFunction]) -> JitFunction:
    with _LOCK:
        known = _KEPT.get(key)
        if known is not None:
            _KEPT.move_to_end(key)
            return known[1]
    made = make()
    with _LOCK:
        _KEPT[key] = function, made
        while len(_KEPT) > MOST_KEPT:
            _KEPT.popitem(last=False)
    return made


def _called(
    kind: str,
    transform: Callable[..., Any],
    function: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    **options: Any,
) -> Any:
    """What a function of primals and tangents gives."""
    _check_function(kind, function)
    for word, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise DTypeError(
                f"nt.{kind} of {label_of(function)}: {word} is a {type(given).__name__}, not a tuple of arguments",
                hint="(x,) for one",
            )
    names = [
        [f"{letter}{k}" for k in range(len(given))] for letter, given in (("x", primals), ("t", tangents))
    ]
    groups = [f"({''.join([f'{name}, ' for name in group])})" for group in names]
    settings = "".join([f", {name}={value!r}" for name, value in options.items()])

    def make() -> JitFunction:
        name = f"{kind}_of_{label_of(function)}"
        header = ", ".join([*names[0], *names[1]])
        text = f"def {name}({header}):\n    return _transform(_function, {', '.join(groups)}{settings})\n"
        space = {"_transform": transform, "_function": function}
        made = made_of(text, name, space, f"<nt.{kind} of {label_of(function)}")
        return _jitted(made, function, **options_for_primals(function, len(primals), len(tangents)))

    key = (kind, settings, len(primals), len(tangents), _identity(function))
    return _kept(key, function, make)(*primals, *tangents)


def _held(function: Any, kind: str, primals: tuple[Any, ...]) -> tuple[tuple[Any, ...], Library | None]:
    """Copies of the arguments as NumPy arrays, for a function of later calls, and the library that they were of."""
    _check_function(kind, function)
    what = f"nt.{kind} of {label_of(function)}"
    if options_of(function).get("target") == "cuda":
        raise UnsupportedError(
            f"{what}, by itself, is not supported on a GPU: it would hold copies there",
            hint="call it in a function that is compiled for the GPU",
        )
    arrays, library = adopted(primals, [f"argument {k}" for k in range(len(primals))])
    return tuple([held(one, what) for one in arrays]), library


def _forward(function: Any, kind: str, primals: tuple[Any, ...], has_aux: bool) -> tuple[Any, dict[Any, Any]]:
    """What the function returns, and copies of the arrays outside that it read, where it writes to any."""
    names = [f"x{k}" for k in range(len(primals))]
    given = "".join([f"{name}, " for name in names])

    def make() -> JitFunction:
        name = f"{kind}_of_{label_of(function)}"
        call = f"_transform(_function, {kind!r}, ({given}), {bool(has_aux)})"
        text = f"def {name}({', '.join(names)}):\n    return {call}\n"
        space = {"_transform": run_forward, "_function": function}
        made = made_of(text, name, space, f"<nt.{kind} of {label_of(function)}")
        return _jitted(made, function, **options_for_primals(function, len(primals)))

    run = _kept(("forward", kind, len(primals), bool(has_aux), _identity(function)), function, make)
    outside = contents_outside(run, primals)
    return run(*primals), outside


def _backward(
    function: Any,
    what: str,
    call: str,
    transform: Callable[..., Any],
    primals: Sequence[Any],
    has_aux: bool,
    directions: int | None = None,
) -> JitFunction:
    """The function of directions (None: one) and of primals that a pullback runs."""
    given = [f"x{k}" for k in range(len(primals))]
    along = ["c"] if directions is None else [f"t{k}" for k in range(directions)]

    def make() -> JitFunction:
        name = f"{what}_of_{label_of(function)}"
        body = call.format(
            primals="".join([f"{x}, " for x in given]),
            directions="c" if directions is None else "".join([f"{t}, " for t in along]),
            aux=bool(has_aux),
        )
        text = f"def {name}({', '.join([*along, *given])}):\n    return {body}\n"
        space = {"_transform": transform, "_function": function}
        made = made_of(text, name, space, f"<the {what} of {label_of(function)}")
        options = options_for_primals(function, len(primals), directions or 0)
        options["constants"] = ()  # a pullback holds copies, which it alone reads
        return _jitted(made, function, **options)

    return _kept((what, len(primals), bool(has_aux), _identity(function)), function, make)
