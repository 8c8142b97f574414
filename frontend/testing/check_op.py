"""`nt.testing.check_op`: whether all that an operation of the user's is made of says the same as its reference.

    nt.testing.check_op(scaled, x, 2.0)

The operands are tried as they are, with odd extents, strided, transposed and empty; derivatives are compared with finite
differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError
from ...dialects.tracebacks import boundary
from ..functional.derivatives import jvp, vjp
from ..interface.custom_ops import CustomOp
from ..interface.custom_rules import CustomJvp
from ..interface.errors import DTypeError
from ..jit.driver.jit import jit

Operands = tuple[Any, ...]


class _Checks:
    """What was compared, and what differs."""

    def __init__(self, op: CustomOp[..., Any], rtol: float | None, atol: float):
        self.op = op
        self.rtol = rtol
        self.atol = atol
        self.done: list[str] = []
        self.wrong: list[str] = []

    def tolerance(self, dtype: np.dtype) -> float:
        if dtype.kind not in "fc":
            return 0.0
        return 1e3 * float(np.finfo(dtype).eps) if self.rtol is None else self.rtol

    def compare(self, what: str, run: Callable[[], Any], wanted: Sequence[np.ndarray]) -> None:
        """Run something, and note how it differs from the reference."""
        try:
            found = _arrays(run())
        except Exception as error:  # of any of the user's functions
            self.wrong.append(f"{what}: {type(error).__name__}: {error}")
            return
        self.done.append(what)
        if len(found) != len(wanted):
            self.wrong.append(f"{what}: {len(found)} results, the reference has {len(wanted)}")
            return
        for k, (one, want) in enumerate(zip(found, wanted, strict=True)):
            differs = self._difference(one, want)
            if differs is not None:
                place = f"result {k}, " if len(wanted) > 1 else ""
                self.wrong.append(f"{what}: {place}{differs}")

    def _difference(self, found: np.ndarray, wanted: np.ndarray) -> str | None:
        if found.dtype != wanted.dtype or found.shape != wanted.shape:
            return f"{found.dtype}{list(found.shape)}, the reference has {wanted.dtype}{list(wanted.shape)}"
        rtol = self.tolerance(wanted.dtype)
        with np.errstate(all="ignore"):
            same = np.isclose(found, wanted, rtol=rtol, atol=self.atol, equal_nan=True)
        if same.all():
            return None
        at = tuple(map(int, np.argwhere(~same)[0]))
        count = f"{int((~same).sum())} of {same.size} elements differ"
        return f"{count} by more than rtol={rtol:g}: at {list(at)} {found[at]!r}, the reference has {wanted[at]!r}"


@boundary
def check_op(
    op: CustomOp[..., Any],
    /,
    *args: Any,
    rtol: float | None = None,
    atol: float = 0.0,
    derivative_rtol: float = 1e-4,
    seed: int = 0,
) -> list[str]:
    """Compare all that an `nt.custom_op` is made of with its reference; what was compared, a text for each.

        nt.testing.check_op(product, a, b)
        # ['as given: rule', 'as given: interp', 'as given: cpu', ..., 'empty: cpu', 'derivative of argument 0', ...]

    `args` are arrays and numbers as of a call. They are tried as they are, with other (odd) extents, strided, transposed in
    memory, and empty; where the shape rule refuses such, that is said in the place of the comparisons. Compared are the
    rule, the interpreter, the CPU (code, decomposition or call of Python), unknown extents, the decomposition by itself, and
    the simulated GPU where it has something to run; then the derivative that was given, or that of the decomposition, in
    a random direction of `seed`, with central differences of the reference. `rtol` is 1000 roundings of the result's dtype
    by default; whole numbers are compared exactly.

    Raises AssertionError with all that differs, DTypeError for what is no operation.
    """
    if not isinstance(op, CustomOp):
        raise DTypeError(f"check_op of {type(op).__name__}: it takes what nt.custom_op gives")
    checks = _Checks(op, rtol, atol)
    given = op.arguments(*args)
    for name, operands in _variants(given):
        _check_values(checks, name, operands, is_first=name == "as given")
    _check_derivative(checks, given, derivative_rtol, seed)
    if checks.wrong:
        lines = "\n  ".join(checks.wrong)
        raise AssertionError(f"{op.name} is not what its reference is:\n  {lines}")
    return checks.done


# ---- operands -------------------------------------------------------------------------------------------


def _variants(args: Operands) -> Iterator[tuple[str, Operands]]:
    """The operands in other forms; extents that are equal stay equal."""
    yield "as given", args
    extents = sorted({e for a in args if isinstance(a, np.ndarray) for e in a.shape})
    if not extents:
        return
    odd = {e: max(3, e + 1 + e % 2) + 2 * k for k, e in enumerate(extents)}
    yield "odd extents", _with_extents(args, odd)
    yield "strided", _each_array(args, _strided)
    yield "transposed in memory", _each_array(args, np.asfortranarray)
    for extent in extents:
        yield f"empty, {extent} as 0", _with_extents(args, {e: 0 if e == extent else e for e in extents})


def _each_array(args: Operands, change: Callable[[np.ndarray], np.ndarray]) -> Operands:
    return tuple([change(a) if isinstance(a, np.ndarray) else a for a in args])


def _with_extents(args: Operands, extents: dict[int, int]) -> Operands:
    return _each_array(args, lambda a: np.resize(a, tuple([extents[e] for e in a.shape])))


def _strided(array: np.ndarray) -> np.ndarray:
    """The same elements, every second one of a larger array, the first axis backwards."""
    if not array.ndim:
        return array
    wide = np.zeros(tuple([2 * e + 1 for e in array.shape]), array.dtype)
    view = wide[tuple([slice(1, None, 2)] * array.ndim)][::-1]
    view[...] = array
    return view


# ---- values ---------------------------------------------------------------------------------------------


def _check_values(checks: _Checks, name: str, args: Operands, is_first: bool) -> None:
    op = checks.op
    try:
        wanted = _arrays(op.reference(*_copies(args)))
    except Exception as error:  # of the user's function: nothing to compare with
        checks.done.append(f"{name}: not compared, the reference raises {type(error).__name__}")
        if is_first:
            checks.wrong.append(f"{name}: the reference raises {type(error).__name__}: {error}")
        return
    try:
        op.run_reference(*args)
    except NestorError as error:
        text = f"{name}: rule: {error.diagnostic.message}"
        # A rule that names an extent refuses others, which is no difference.
        is_refusal = not is_first and "returned" not in error.diagnostic.message
        (checks.done if is_refusal else checks.wrong).append(text)
        return
    except Exception as error:
        checks.wrong.append(f"{name}: {type(error).__name__}: {error}")
        return
    checks.done.append(f"{name}: rule")
    for what, run in _ways(op, is_first):
        before = _copies(args)
        checks.compare(f"{name}: {what}", lambda run=run: run(*args), wanted)
        if not all(_is_same(a, b) for a, b in zip(args, before, strict=True)):
            checks.wrong.append(f"{name}: {what} writes to its operands")


def _ways(op: CustomOp[..., Any], is_first: bool) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What computes the operation beside the reference."""
    yield "interp", jit(op, target="interp")
    yield "cpu", jit(op)
    if is_first:
        yield "cpu, unknown extents", jit(op, dynamic=True)
    if op.decomposition is not None:
        yield "decomposition", jit(op.decomposition)
    if op.cuda is not None:
        # A kernel may depend on the order of its threads.
        for order in ("forward", "reverse"):
            yield f"kernel, {order}", jit(op, target=f"cuda-sim:checked,{order}")
    elif op.decomposition is not None:
        yield "cuda-sim", jit(op, target="cuda-sim")


def _copies(args: Operands) -> Operands:
    return _each_array(args, np.copy)


def _is_same(a: Any, b: Any) -> bool:
    return not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes()


def _arrays(value: Any) -> list[np.ndarray]:
    return [np.asarray(one) for one in (value if isinstance(value, tuple | list) else (value,))]


# ---- derivatives ----------------------------------------------------------------------------------------


def _check_derivative(checks: _Checks, args: Operands, rtol: float, seed: int) -> None:
    op = checks.op
    if op.rule is None and op.decomposition is None:
        checks.done.append("derivative: none is given")
        return
    skipped = set(op.rule.nondiff_argnums) if op.rule is not None else set()
    chosen = [k for k, a in enumerate(args) if k not in skipped and np.asarray(a).dtype.kind == "f"]
    generator = np.random.default_rng(seed)
    wide = [_wide(a) if k in chosen else a for k, a in enumerate(args)]
    try:
        results = _arrays(op.reference(*_copies(tuple(wide))))
    except Exception:  # nothing to compare with: it was said above
        return
    floats = [k for k, one in enumerate(results) if one.dtype.kind == "f"]
    weights = [generator.standard_normal(one.shape) if k in floats else None for k, one in enumerate(results)]
    for k in chosen:
        direction = generator.standard_normal(np.shape(wide[k]))
        try:
            found = _derivative(op, wide, k, direction, weights)
        except Exception as error:
            checks.wrong.append(f"derivative of argument {k}: {type(error).__name__}: {error}")
            continue
        wanted = _difference_quotient(op, wide, k, direction, weights)
        checks.done.append(f"derivative of argument {k}")
        if not np.isclose(found, wanted, rtol=rtol, atol=rtol, equal_nan=True):
            checks.wrong.append(
                f"derivative of argument {k}: {found!r} in a random direction, finite differences give {wanted!r}"
            )


def _wide(value: Any) -> Any:
    """A number or an array in float64, in which differences are small."""
    return value.astype(np.float64) if isinstance(value, np.ndarray | np.generic) else float(value)


def _derivative(op: CustomOp[..., Any], args: list[Any], k: int, direction: Any, weights: list[Any]) -> float:
    """The derivative of the weighted sum of the results along a direction of one argument."""

    def of_one(value: Any) -> Any:
        return op(*args[:k], value, *args[k + 1 :])

    value = np.asarray(args[k])
    if isinstance(op.rule, CustomJvp):
        tangents = _arrays(jvp(of_one, (value,), (np.asarray(direction),))[1])
        return float(sum([(w * t).sum() for w, t in zip(weights, tangents, strict=True) if w is not None]))
    result, pullback = vjp(of_one, value)
    parts = _arrays(result)
    seeds = [np.zeros(()) if w is None else w.astype(p.dtype) for w, p in zip(weights, parts, strict=True)]
    given = tuple(seeds) if isinstance(result, tuple) else seeds[0]
    return float((np.asarray(pullback(given)[0]) * direction).sum())


def _difference_quotient(
    op: CustomOp[..., Any], args: list[Any], k: int, direction: Any, weights: list[Any]
) -> float:
    step = float(np.finfo(np.float64).eps ** (1 / 3)) * max(1.0, float(np.abs(args[k]).max(initial=0.0)))

    def at(distance: float) -> float:
        moved = [*args[:k], args[k] + distance * direction, *args[k + 1 :]]
        results = _arrays(op.reference(*moved))
        return float(sum([(w * r).sum() for w, r in zip(weights, results, strict=True) if w is not None]))

    return (at(step) - at(-step)) / (2 * step)
