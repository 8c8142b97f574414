"""What a program may compute: NumPy run several times, each time with the freedom that the numerics rule gives.

The rule (DESIGN, numerics and safety): results are NumPy's to the bit, except that

* transcendental functions may be `MOST_ULP` units in the last place off;
* sums and products of floating-point numbers may be evaluated in another order, with the error bound of a sum in order;
* the sign of a zero that `minimum` and `maximum` choose among zeros of both signs is free, and so is that of a NaN;
* numbers that an integer type cannot hold become any integer.

`perturbed(source)` is the program with the calls concerned replaced; each run of it makes other choices. What is the
same in all runs must be met to the bit.
"""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np
from numpy_tables import ULP_FUNCTIONS

MOST_ULP = 4

_SUMS = frozenset({"sum", "prod", "mean", "var", "std"})
_CHOICES = frozenset({"maximum", "minimum", "fmax", "fmin", "clip", "max", "min"})
_SIGNS = frozenset({"signbit", "copysign"})
_NAMES = ULP_FUNCTIONS | _SUMS | _CHOICES | _SIGNS
_METHODS = _SUMS | {"max", "min", "clip", "astype"}
_REDUCES = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


_UPDATES = {
    ast.Pow: "ipow", ast.Div: "itruediv", ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Mod: "imod",
    ast.FloorDiv: "ifloordiv",
}  # fmt: skip
"""In-place operators of arithmetic, and their functions in `operator`."""


def _read(target: ast.expr) -> ast.expr:
    """The value that a target has so far."""
    return ast.parse(ast.unparse(target), mode="eval").body


class _Replace(ast.NodeTransformer):
    """Sends the calls that have some freedom to an object `free`."""

    def __init__(self):
        self.found = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute):
            return node
        owner = function.value
        if isinstance(owner, ast.Name) and owner.id == "np":
            if function.attr in _NAMES:
                return self._call("function", node, [ast.Constant(function.attr), *node.args])
        elif isinstance(owner, ast.Attribute) and function.attr == "reduce" and owner.attr in _REDUCES:
            axis = [] if len(node.args) > 1 or node.keywords else [ast.Constant(0)]
            return self._call("function", node, [ast.Constant(_REDUCES[owner.attr]), *node.args, *axis])
        elif function.attr in _METHODS:
            return self._call("method", node, [ast.Constant(function.attr), owner, *node.args])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return self._call("power", node, [node.left, node.right])
        if isinstance(node.op, ast.MatMult):
            return self._call("matmul", node, [node.left, node.right])
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`x[i] = y`: what becomes of `y` is sent to `free`."""
        self.generic_visit(node)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            node.value = self._stored(node, node.targets[0], node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`x[i] += y`, and `x **= y`: what is stored is sent to `free`."""
        self.generic_visit(node)
        operator = _UPDATES.get(type(node.op))
        if operator is None or not (isinstance(node.target, ast.Subscript) or operator == "ipow"):
            return node
        value = self._call("updated", node, [ast.Constant(operator), _read(node.target), node.value])
        if isinstance(node.target, ast.Subscript):
            value = self._stored(node, node.target, value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _stored(self, node: ast.AST, target: ast.Subscript, value: ast.expr) -> ast.expr:
        return self._call("stored", node, [_read(target.value), value])

    def _call(self, name: str, node: ast.AST, args: list[ast.expr]) -> ast.expr:
        self.found = True
        keywords = node.keywords if isinstance(node, ast.Call) else []
        function = ast.Attribute(ast.Name("free", ast.Load()), name, ast.Load())
        return ast.copy_location(ast.Call(function, args, keywords), node)


def perturbed(source: str) -> str | None:
    """The program with its freedoms marked; None when it has none."""
    replace = _Replace()
    tree = ast.fix_missing_locations(replace.visit(ast.parse(source)))
    return ast.unparse(tree) if replace.found else None


class Freedom:
    """Makes the choices of one run; errors are `times` as large as they may be."""

    def __init__(self, seed: int, times: float = 1):
        self.seed, self.rng = seed, np.random.default_rng(seed)
        self.times = times

    def function(self, name: str, *args: Any, **kwargs: Any) -> Any:
        result = getattr(np, name)(*args, **kwargs)
        if name in ULP_FUNCTIONS:
            return self._units(result)
        if name in _SUMS:
            return self._reordered(name, result, args, kwargs)
        if name in _SIGNS:
            return self._sign(result, args[-1])
        return self._chosen(result, args)

    def method(self, name: str, owner: Any, *args: Any, **kwargs: Any) -> Any:
        result = getattr(owner, name)(*args, **kwargs)
        if not isinstance(owner, np.ndarray | np.generic):
            return result
        if name == "astype":
            return self._converted(owner, result)
        if name in _SUMS:
            return self._reordered(name, result, (owner, *args), kwargs)
        return self._chosen(result, (owner, *args))

    def power(self, base: Any, exponent: Any) -> Any:
        result = base**exponent
        return result if isinstance(exponent, int) and exponent == 2 else self._units(result)

    def updated(self, name: str, target: Any, value: Any) -> Any:
        """`target **= value` and the like; an array is changed in place."""
        result = getattr(operator, name)(target, value)
        if name == "ipow" and not (isinstance(value, int) and value == 2):
            result = self._units(result)
        if isinstance(target, np.ndarray) and result is not target:
            target[...] = result
            return target
        return result

    def stored(self, array: Any, value: Any) -> Any:
        """What an array of integers makes of floating-point numbers."""
        is_integral = isinstance(array, np.ndarray) and array.dtype.kind in "iu"
        if is_integral and isinstance(value, float | np.floating | np.ndarray):
            values = np.asarray(value)
            return self._converted(values, values.astype(array.dtype))
        return value

    def matmul(self, a: Any, b: Any) -> Any:
        result = a @ b
        if not _is_float(result):
            return result
        return self._within(result, a.shape[-1] * np.finfo(result.dtype).eps * (np.abs(a) @ np.abs(b)))

    def _coin(self, like: Any) -> np.ndarray:
        """Yes or no for each element. Of two runs one says no to all and one yes, so that no element is always the same."""
        if self.seed < 2:
            return np.full(np.shape(like), self.seed == 1)
        return self.rng.choice([True, False], np.shape(like))

    def _units(self, result: Any) -> Any:
        """Off by some units in the last place."""
        if not _is_float(result):
            return result
        return self._within(result, MOST_ULP * np.abs(np.spacing(result)))

    def _within(self, result: Any, bound: Any, zeros: bool = False) -> Any:
        """A number at most `bound` away. Where the result or the bound is not finite, or the result is zero, the result."""
        share = self.rng.choice([-1.0, 1.0, 0.5, -0.5], np.shape(result))
        moved = np.asarray(result, "f8") + self.times * share * np.asarray(bound, "f8")
        moved = np.where(np.isfinite(moved) & (zeros | (np.asarray(result) != 0)), moved, result)
        return _like(moved, result)

    def _reordered(self, name: str, result: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A sum or product in another order, with the error of one that adds up in order."""
        if not _is_float(result):
            return result
        x = np.asarray(args[0]).astype(result.dtype)
        if x.ndim == 0 or x.size == 0:
            return result
        axis = args[1] if len(args) > 1 else kwargs.get("axis")
        keep = {"axis": axis, "keepdims": kwargs.get("keepdims", False)}
        axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
        shuffled = x
        for one in axes:
            shuffled = shuffled.take(self.rng.permutation(x.shape[one]), one)
        again = np.asarray(getattr(shuffled, name)(**keep))
        count, eps = x.size / max(1, again.size), np.finfo(result.dtype).eps
        wide = np.abs(x.astype("f8"))
        if name == "prod":
            bound = count * eps * np.abs(again.astype("f8"))
        elif name in ("sum", "mean"):
            bound = count * eps * np.asarray(getattr(wide, name)(**keep))
        else:  # the mean is off, and so is each deviation from it
            off = (count + 4) * eps * np.asarray(wide.mean(**keep))
            spread = np.asarray(again, "f8") if name == "std" else np.sqrt(np.asarray(again, "f8"))
            moved = self._within(spread, (count + 4) * eps * spread + off, zeros=True)
            return _like(np.abs(moved) if name == "std" else np.square(moved), result)
        return _like(np.asarray(self._within(again, bound)), result)

    def _chosen(self, result: Any, operands: Any) -> Any:
        """Zeros of any sign, where the operands have zeros."""
        if not _is_float(result):
            return result
        sign = np.where(self._coin(result), -1.0, 1.0)
        zeros = np.copysign(np.zeros(np.shape(result)), sign)
        return _like(np.where(np.asarray(result) == 0, zeros, result), result)

    def _sign(self, result: Any, of: Any) -> Any:
        """What depends on the sign of a NaN."""
        nan = np.isnan(np.asarray(of, "f8"))
        flip = nan & self._coin(result)
        other = ~np.asarray(result) if np.asarray(result).dtype == bool else -np.asarray(result)
        return _like(np.where(flip, other, result), result)

    def _converted(self, x: Any, result: Any) -> Any:
        """Floating-point numbers as integers: any integer where there is none."""
        if not _is_float(x) or result.dtype.kind not in "iu":
            return result
        info = np.iinfo(result.dtype)
        wide = np.trunc(np.asarray(x, "f8"))
        # 2**63 - 1 is no float64: the next one is above it
        outside = ~((wide >= float(info.min)) & (wide < float(info.max) + (float(info.max) < 2**53)))
        any_integer = self.rng.integers(info.min, info.max, np.shape(result), result.dtype)
        any_integer = np.where(self._coin(result), 0, any_integer).astype(
            result.dtype
        )  # 0: the one that is false
        return _like(np.where(outside, any_integer, result), result)


def _is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f"


def _like(values: Any, result: Any) -> Any:
    """`values` in the type, kind and memory order of `result`."""
    if not isinstance(result, np.ndarray):
        return np.asarray(values).astype(result.dtype)[()]
    copied = np.empty_like(result)
    copied[...] = values
    return copied
