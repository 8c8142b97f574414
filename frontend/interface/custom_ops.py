"""`nt.custom_op`: operations of a user's own, each defined by one object.

    @nt.custom_op(shape="(n),()->(n)", c="void scaled(const double *x, int64_t n, double by, double *y, int64_t m) {...}")
    def scaled(x, by):
        return x * by                       # NumPy: what runs outside of compiled code, and in the interpreter

The object holds what was said; `frontend/operations/custom_op_values.py` compiles calls of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ...dialects.tracebacks import boundary
from .carried_texts import Texts, note_texts
from .custom_rules import CustomJvp, CustomRule, CustomVjp
from .errors import DTypeError, ShapeError, UnsupportedError
from .forwarders import parameters_of
from .launch_rules import Cuda, GridRule, check_text, cuda_of
from .op_signatures import parsed
from .own_schedules import Schedules, schedules_of
from .pickling import Pickled
from .spec import Spec, spec
from .texts_of import texts_of

Params = ParamSpec("Params")
Returned = TypeVar("Returned")

ELEMENTWISE = "elementwise"
"""The shape rule of operations that work on each element: operands are broadcast together."""

Code = tuple[str, str, str]
"""A language ("c", "llvm"), the name of the function, the text that defines it."""


class Primal:
    """An operation without its derivative: what a rule is the derivative of."""

    def __init__(self, op: CustomOp[Any, Any]):
        functools.update_wrapper(self, op.reference)
        self.op = op

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op.run_reference(*args, **kwargs)


class CustomOp(Pickled, Generic[Params, Returned]):
    """An operation of the user's. Called outside of compiled code it is its reference, with the shape rule checked."""

    def __init__(
        self,
        reference: Callable[Params, Returned],
        shape: str | Callable[..., Any] = ELEMENTWISE,
        dtype: Any = None,
        code: Code | None = None,
        decomposition: Callable[..., Any] | None = None,
        cuda: Cuda | None = None,
        schedules: Schedules = (),
    ):
        functools.update_wrapper(self, reference)
        self.reference = reference
        self.name: str = reference.__name__
        self.shape = shape
        self.dtype = dtype
        self.code = code
        self.decomposition = decomposition
        self.cuda = cuda
        self.schedules = schedules
        self.primal = Primal(self)
        self.rule: CustomRule | None = None

    # ---- derivatives ----------------------------------------------------------------------------------

    def def_vjp(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
    ) -> None:
        """Give the derivative for reverse mode: `forward(*args)` is (result, residuals), `backward(residuals, cotangent)`
        a tuple with a cotangent for each argument, None for zero; as of `nt.custom_vjp`."""
        rule = CustomVjp(self.primal, nondiff_argnums)
        rule.defvjp(forward, backward)
        self.rule = rule

    def def_jvp(
        self, jvp: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()
    ) -> Callable[..., Any]:
        """Give the derivative for forward mode, which reverse mode transposes: `jvp(primals, tangents)` is (result, its
        tangent), linear in the tangents; as of `nt.custom_jvp`. May be used as a decorator."""
        rule = CustomJvp(self.primal, nondiff_argnums)
        rule.defjvp(jvp)
        self.rule = rule
        return jvp

    # ---- calls outside of compiled code ---------------------------------------------------------------

    @boundary
    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Returned:
        for value in (*args, *kwargs.values()):
            hook = None if isinstance(value, np.ndarray | np.generic) else _hook_of(value)
            # An array that is being traced: the call is part of what is compiled. Those of other libraries know none.
            given: Any = NotImplemented if hook is None else hook(self, (type(value),), args, kwargs)
            if given is not NotImplemented:
                return given
        return self.run_reference(*args, **kwargs)

    def run_reference(self, *args: Any, **kwargs: Any) -> Any:
        """The reference, with the shape rule checked: of the operands before it runs, then of its results."""
        values = self.arguments(*args, **kwargs)
        specs = self.result_specs(
            [spec_of(self, k, value) for k, value in enumerate(values)], list(map(_kind, values))
        )
        function: Callable[..., Any] = self.reference
        given: Any = function(*map(_read_only, values))
        several = isinstance(specs, tuple)
        wanted = specs if several else (specs,)
        results = tuple(given) if several else (given,)
        if len(results) != len(wanted):
            raise ShapeError(f"{self.name} returned {len(results)} results, its rule says {len(wanted)}")
        checked = [checked_result(self.name, one, want) for one, want in zip(results, wanted, strict=True)]
        return tuple(checked) if several else checked[0]

    def arguments(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The arguments by position, defaults among them. Raises DTypeError."""
        try:
            bound = parameters_of(self.reference).bind(*args, **kwargs)
        except TypeError as error:
            raise DTypeError(f"{self.name}(): {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise DTypeError(f"{self.name} has arguments that are given by keyword only", hint=_BY_POSITION)
        return bound.args

    def result_specs(self, operands: Sequence[Spec], kinds: Sequence[Any]) -> Spec | tuple[Spec, ...]:
        """What the rule says of operands whose extents are known, which are promoted as `kinds` are. Raises ShapeError,
        DTypeError."""
        if callable(self.shape):
            return ruled_specs(self, self.shape(*operands))
        if self.shape == ELEMENTWISE:
            try:
                shapes = [np.broadcast_shapes(*[one.shape for one in operands])]  # pyright: ignore
            except ValueError as error:
                raise ShapeError(f"{self.name}: {error}") from None
        else:
            signature = parsed(self.shape)
            found = signature.bound([one.shape for one in operands], lambda a, b: a == b, self.name)
            shapes = signature.results(found)
        dtypes = result_dtypes(self, kinds, len(shapes))
        specs = [spec(one, dtype) for one, dtype in zip(shapes, dtypes, strict=True)]
        return specs[0] if len(specs) == 1 else tuple(specs)

    # ---- pickling -------------------------------------------------------------------------------------

    def _functions(self) -> list[Any]:
        rules = [one for one in (self.rule._rules() if self.rule is not None else ()) if one is not None]
        others = [one for one in (self.shape, self.decomposition) if callable(one)]
        return [self.reference, *others, *rules]

    def _pickled_as(self, by_value: bool = True) -> tuple[Any, ...]:
        texts = texts_of(self._functions()) if by_value else {}
        rule = self.rule
        derivative = None if rule is None else (type(rule), rule.nondiff_argnums, rule._rules())
        how = self.code, self.decomposition, self.cuda, self.schedules
        return self.reference, self.shape, self.dtype, how, derivative, texts

    def _take(
        self,
        reference: Any,
        shape: Any,
        dtype: Any,
        how: tuple[Any, Any, Any, Any],
        derivative: tuple[type[CustomRule], Any, Any] | None,
        texts: Texts,
    ) -> None:
        note_texts(texts)
        CustomOp.__init__(self, reference, shape, dtype, *how)
        if derivative is not None:
            kind, nondiff_argnums, rules = derivative
            self.rule = kind(self.primal, nondiff_argnums)
            self.rule._take_rules(*rules)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


_BY_POSITION = "an operation takes arrays and numbers by position; what else it needs it has from outside"


def spec_of(op: CustomOp[Any, Any], position: int, value: Any) -> Spec:
    """The type of an argument. Raises DTypeError for what is no array and no number."""
    if isinstance(value, np.ndarray | np.generic):
        return spec(value.shape, value.dtype)
    if isinstance(value, bool | int | float | complex):
        return spec((), np.dtype(type(value)))
    raise DTypeError(
        f"argument {position} of {op.name} is a {type(value).__name__}, not an array or a number",
        hint=_BY_POSITION,
    )


def result_dtypes(op: CustomOp[Any, Any], kinds: Sequence[Any], count: int) -> list[np.dtype]:
    """The dtypes of the results: as said, else NumPy's promotion of the operands', dtypes and numbers of Python. Raises
    ShapeError."""
    if op.dtype is None:
        return [np.result_type(*kinds)] * count
    dtypes = list(op.dtype) if isinstance(op.dtype, tuple) else [op.dtype] * count
    if len(dtypes) != count:
        raise ShapeError(f"dtype= of {op.name} names {len(dtypes)} results, and its rule has {count}")
    return dtypes


def _kind(value: Any) -> Any:
    """What stands for an argument in a promotion: a dtype, or a number of Python, which is weak."""
    return value.dtype if isinstance(value, np.ndarray | np.generic) else type(value)(0)


def ruled_specs(op: CustomOp[Any, Any], given: Any) -> Spec | tuple[Spec, ...]:
    """What a rule returned. Raises DTypeError where that is no nt.spec with extents that are known."""
    specs = given if isinstance(given, tuple | list) else (given,)
    for one in specs:
        if not isinstance(one, Spec) or not all(isinstance(e, int) for e in one.shape):
            raise DTypeError(
                f"the shape rule of {op.name} returned {one!r}",
                hint="it returns an nt.spec with known extents, or a tuple of them: nt.spec(x.shape, x.dtype)",
            )
    return tuple(specs) if isinstance(given, tuple | list) else given


def checked_result(name: str, value: Any, wanted: Spec) -> Any:
    """A result as it was declared: an array of its own, or a number. Raises ShapeError."""
    array = np.array(value, order="C")
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        raise ShapeError(
            f"{name} returned {array.dtype}{list(array.shape)}, and its shape rule says "
            f"{wanted.dtype}{list(wanted.shape)}",
            hint="mend the function, or its shape= and dtype=",
        )
    return array if array.shape else array[()]


def _hook_of(value: Any) -> Any:
    return getattr(value, "__array_function__", None)


def _read_only(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


# ---- definition -------------------------------------------------------------------------------------


@overload
def custom_op(
    reference: Callable[Params, Returned],
    *,
    shape: str | Callable[..., Any] = ...,
    dtype: Any = ...,
    c: str | None = ...,
    llvm: str | None = ...,
    cuda: str | None = ...,
    entry: str | None = ...,
    grid: GridRule | None = ...,
    block: int | tuple[int, ...] = ...,
    decomposition: Callable[..., Any] | None = ...,
    schedule: Any = ...,
) -> CustomOp[Params, Returned]: ...
@overload
def custom_op(
    reference: None = None,
    *,
    shape: str | Callable[..., Any] = ...,
    dtype: Any = ...,
    c: str | None = ...,
    llvm: str | None = ...,
    cuda: str | None = ...,
    entry: str | None = ...,
    grid: GridRule | None = ...,
    block: int | tuple[int, ...] = ...,
    decomposition: Callable[..., Any] | None = ...,
    schedule: Any = ...,
) -> Callable[[Callable[Params, Returned]], CustomOp[Params, Returned]]: ...
@boundary
def custom_op(
    reference: Callable[..., Any] | None = None,
    *,
    shape: str | Callable[..., Any] = ELEMENTWISE,
    dtype: Any = None,
    c: str | None = None,
    llvm: str | None = None,
    cuda: str | None = None,
    entry: str | None = None,
    grid: GridRule | None = None,
    block: int | tuple[int, ...] = 256,
    decomposition: Callable[..., Any] | None = None,
    schedule: Any = None,
) -> Any:
    """An operation of one's own, for compiled code and outside of it.

        @nt.custom_op(shape="(m,k),(k,n)->(m,n)", c=TEXT)
        def product(a, b):
            return a @ b

    `reference` is a NumPy function of arrays and numbers that computes new arrays: the oracle, what runs outside of
    compiled code, and what compiled code calls where nothing else is given. `shape` says what it returns: "elementwise" (the
    operands broadcast together), a text as of NumPy's generalised ufuncs, or a function of the operands' nt.spec that gives
    an nt.spec or a tuple of them; `dtype` one dtype, or a tuple of one for each result (default: np.result_type).
    `c` is C text, `llvm` is LLVM IR text, that defines the function `entry` (default: the reference's name); the
    program contains its machine code. `cuda` is CUDA C text with a kernel of that name, which GPUs run: in blocks of
    `block` threads (a number, or one for each axis), as many as `grid` says (a text such as "(n + 255) // 256, m", or a
    function of the operands' nt.spec); by default one thread for each element of the first result.
    `decomposition` is a function in NumPy that is compiled in its place: alone on the CPU, and beside `c`, `llvm` or
    `cuda` for other targets, derivatives and nt.vmap. `schedule` says how its loops run where they are its own, as
    `compile(schedule=)` takes it, or a dictionary of such for "cpu" and "cuda". `.def_vjp` and `.def_jvp` give
    derivatives. docs/custom-ops.md has the signatures of C, LLVM and CUDA functions. Raises DTypeError, ShapeError,
    UnsupportedError for a definition that is not one, FileError for a schedule that cannot be read.
    """
    if reference is None:
        return boundary(
            lambda function: custom_op(
                function,
                shape=shape,
                dtype=dtype,
                c=c,
                llvm=llvm,
                cuda=cuda,
                entry=entry,
                grid=grid,
                block=block,
                decomposition=decomposition,
                schedule=schedule,
            )
        )
    if isinstance(reference, Pickled) or not callable(reference) or inspect.isclass(reference):
        raise DTypeError(
            f"nt.custom_op of {reference!r}", hint="give it the plain function that is the reference"
        )
    if not isinstance(shape, str) and not callable(shape):
        raise DTypeError(f"shape={shape!r} is no shape rule", hint='a text such as "(n)->(n)", or a function')
    if isinstance(shape, str) and shape != ELEMENTWISE:
        parsed(shape)
    parameters_of(reference)
    if not hasattr(reference, "__name__"):
        raise DTypeError(f"{reference!r} has no name", hint="define it with def")
    if callable(shape) and dtype is not None:
        raise DTypeError("a shape rule that is a function says dtypes, too", hint="leave dtype= out")
    entry = _entry(reference, entry)
    code = _code(c, llvm, entry)
    kernel = cuda_of(reference, shape, cuda, entry, grid, block)
    schedules = schedules_of(schedule)
    if schedules and decomposition is None:
        raise UnsupportedError(
            "schedule= is of the loops of a decomposition, and there is none", hint="give decomposition="
        )
    return CustomOp(reference, shape, _dtypes(dtype), code, decomposition, kernel, schedules)


def _dtypes(dtype: Any) -> Any:
    if dtype is None:
        return None
    return (
        tuple([spec((), one).dtype for one in dtype]) if isinstance(dtype, tuple) else spec((), dtype).dtype
    )


def _entry(reference: Any, entry: str | None) -> str:
    name = reference.__name__ if entry is None else entry
    if not isinstance(name, str):
        raise DTypeError(f"entry= is {type(name).__name__}, not the name of a function")
    return name


def _code(c: str | None, llvm: str | None, entry: str) -> Code | None:
    given = [(language, text) for language, text in (("c", c), ("llvm", llvm)) if text is not None]
    if len(given) > 1:
        raise UnsupportedError(
            "an operation has C text or LLVM IR, not both", hint="leave one of c= and llvm= out"
        )
    if not given:
        return None
    language, text = given[0]
    check_text(language, text, entry)
    return language, entry, text
