"""Kernels of the user's (`nt.custom_op` with `cuda=`): their texts, and how many blocks and threads a launch of one has.

  grid="(m + 15) // 16, n"                                 names of the shape rule
  grid=lambda x, w: (-(-x.shape[0] // 16), w.shape[1])     a function of the operands, as shape= may be
becomes, once, where the operation is defined,
  ("(d0_0 + 15) // 16", "d1_1")                            (`lowering/abi/launch_rules.py`)
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from ...dialects.diagnostic import NestorError
from ...dialects.gpu_limits import MAX_THREADS
from ...lowering.abi.launch_rules import CHOICES, OPERATORS, extent
from .errors import DTypeError, ShapeError, UnsupportedError
from .forwarders import parameters_of
from .op_signatures import parsed

GridRule = str | Callable[..., Any]

_GRID = (
    'a text of extents, "(n + 255) // 256, m", or a function of the operands that gives one to three of them'
)


class Cuda(NamedTuple):
    """A kernel: the function of the text, the text, blocks along each axis (none: by elements), threads along each."""

    entry: str
    source: str
    grid: tuple[str, ...]
    block: tuple[int, ...]


class _Extent:
    """An extent that is not known yet: what is computed of it is a text."""

    def __init__(self, text: str):
        self.text = text

    def _joined(self, other: Any, sign: str, reverse: bool = False) -> _Extent:
        one, two = (other, self) if reverse else (self, other)
        if sign in ("//", "%") and not (type(two) is int and two > 0):
            raise DTypeError(
                f"grid= divides by {two if type(two) is int else 'an extent'}",
                hint="it may divide by positive whole numbers that are known",
            )
        return _Extent(f"({_text(one)} {sign} {_text(two)})")

    def __add__(self, other: Any) -> _Extent:
        return self._joined(other, "+")

    def __radd__(self, other: Any) -> _Extent:
        return self._joined(other, "+", True)

    def __sub__(self, other: Any) -> _Extent:
        return self._joined(other, "-")

    def __rsub__(self, other: Any) -> _Extent:
        return self._joined(other, "-", True)

    def __mul__(self, other: Any) -> _Extent:
        return self._joined(other, "*")

    def __rmul__(self, other: Any) -> _Extent:
        return self._joined(other, "*", True)

    def __floordiv__(self, other: Any) -> _Extent:
        return self._joined(other, "//")

    def __rfloordiv__(self, other: Any) -> _Extent:
        return self._joined(other, "//", True)

    def __mod__(self, other: Any) -> _Extent:
        return self._joined(other, "%")

    def __rmod__(self, other: Any) -> _Extent:
        return self._joined(other, "%", True)

    def __neg__(self) -> _Extent:
        return self._joined(0, "-", True)

    def _refuse(self, *_: Any) -> Any:
        raise DTypeError(
            "grid= asks what an extent is, which is not known where the operation is defined",
            hint='compute with + - * // %; a text may say min and max: grid="min(n, 64)"',
        )

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __bool__ = __index__ = __int__ = __float__ = __truediv__ = __rtruediv__ = _refuse
    __hash__ = None  # pyright: ignore


class _Shape(Sequence):
    """The shape of an operand whose number of axes the rule does not say."""

    def __init__(self, position: int):
        self._position = position

    def __getitem__(self, axis: Any) -> Any:
        if type(axis) is not int or axis < 0:
            raise DTypeError(
                f"grid= asks for axis {axis!r} of an operand",
                hint="count axes from 0: shape= does not say how many",
            )
        return _Extent(extent(self._position, axis))

    def __len__(self) -> int:
        raise DTypeError(
            "grid= asks how many axes an operand has, which shape= does not say", hint="take them one by one"
        )

    def __iter__(self) -> Iterator[Any]:
        len(self)
        yield from ()


class _Operand(NamedTuple):
    """What a rule gets for an operand."""

    shape: Sequence[Any]


def check_text(keyword: str, text: Any, entry: str) -> None:
    """Raise DTypeError for what is no text, or no name of a function of one."""
    if not isinstance(text, str):
        raise DTypeError(f"{keyword}= is {type(text).__name__}, not a text")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", entry):
        raise DTypeError(f"'{entry}' is no name of a function in {keyword}", hint="entry= names it")


def cuda_of(
    reference: Callable[..., Any],
    shape: Any,
    text: Any,
    entry: str,
    grid: Any,
    block: Any,
) -> Cuda | None:
    """The kernel of an operation, None for none. Raises DTypeError, ShapeError, UnsupportedError."""
    if text is None:
        if grid is not None or block != 256:
            raise UnsupportedError(
                "grid= and block= are of a kernel, and there is no cuda=",
                hint="leave them out, or give cuda=",
            )
        return None
    check_text("cuda", text, entry)
    threads = _block(block)
    if grid is None:
        if len(threads) > 1:
            raise ShapeError(
                f"block={block!r} has {len(threads)} axes, and nothing says how many blocks there are",
                hint=f"give grid=: {_GRID}",
            )
        return Cuda(entry, text, (), threads)
    if shape == "elementwise":
        raise UnsupportedError(
            "an elementwise operation has one thread for each element",
            hint="leave grid= out, or give another shape=",
        )
    operands = _operands(reference, shape)
    return Cuda(entry, text, _grid(grid, operands, _names(shape)), threads)


def _block(block: Any) -> tuple[int, ...]:
    threads = block if isinstance(block, tuple) else (block,)
    if not 1 <= len(threads) <= 3 or not all(type(n) is int and n > 0 for n in threads):
        raise DTypeError(
            f"block={block!r}", hint="threads along one to three axes: block=256, block=(16, 16)"
        )
    if prod(threads) > MAX_THREADS or (len(threads) == 3 and threads[2] > 64):
        raise ShapeError(
            f"block={block!r} has {prod(threads)} threads",
            hint=f"a block has at most {MAX_THREADS} threads, 64 of them along z",
        )
    return threads


def _operands(reference: Callable[..., Any], shape: Any) -> dict[str, _Operand]:
    """The operands by the names of the reference's parameters."""
    names = list(parameters_of(reference).parameters)
    if not isinstance(shape, str):
        return {name: _Operand(_Shape(k)) for k, name in enumerate(names)}
    dims = parsed(shape).inputs
    shapes = [
        tuple([d if isinstance(d, int) else _Extent(extent(k, axis)) for axis, d in enumerate(one)])
        for k, one in enumerate(dims)
    ]
    return {names[k] if k < len(names) else f"operand {k}": _Operand(one) for k, one in enumerate(shapes)}


def _names(shape: Any) -> dict[str, _Extent]:
    """The extents that the shape rule names."""
    found: dict[str, _Extent] = {}
    for k, dims in enumerate(parsed(shape).inputs if isinstance(shape, str) else ()):
        for axis, dim in enumerate(dims):
            if isinstance(dim, str):
                found.setdefault(dim, _Extent(extent(k, axis)))
    return found


def _grid(grid: Any, operands: Mapping[str, _Operand], names: Mapping[str, _Extent]) -> tuple[str, ...]:
    if isinstance(grid, str):
        given = _of_text(grid, {**operands, **names})
    elif callable(grid):
        given = _of_function(grid, list(operands.values()))
    else:
        given = grid
    blocks = given if isinstance(given, tuple | list) else (given,)
    if not 1 <= len(blocks) <= 3:
        raise DTypeError(f"grid= gives {len(blocks)} values", hint=_GRID)
    for n in blocks:
        if type(n) is not int and not isinstance(n, _Extent):
            raise DTypeError(f"grid= gives {n!r}, which is no whole number", hint=_GRID)
    return tuple([_text(n) for n in blocks])


def _of_function(grid: Callable[..., Any], operands: Sequence[_Operand]) -> Any:
    try:
        return grid(*operands)
    except NestorError:
        raise
    except Exception as error:  # of the user's function
        raise DTypeError(f"grid= raises {type(error).__name__}: {error}", hint=_GRID) from error


def _text(value: Any) -> str:
    if isinstance(value, _Extent):
        return value.text
    if type(value) is not int:
        raise DTypeError(f"grid= computes with {value!r}", hint="it computes with extents and whole numbers")
    return str(value) if value >= 0 else f"(0 - {-value})"


# ---- texts ------------------------------------------------------------------------------------------


def _of_text(text: str, names: Mapping[str, Any]) -> Any:
    """What a text of names computes."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise DTypeError(f"grid='{text}' is no expression: {error.msg}", hint=_GRID) from None
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    return tuple([_value(part, text, names) for part in parts])


def _value(node: ast.expr, text: str, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _applied(
            OPERATORS[type(node.op)], _value(node.left, text, names), _value(node.right, text, names)
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, text, names)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and isinstance(names.get(node.id), _Extent):
        return names[node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHOICES:
        values = [_value(one, text, names) for one in node.args]
        if len(values) == 2 and not node.keywords:
            return _Extent(f"{node.func.id}({_text(values[0])}, {_text(values[1])})")
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        owner = node.value.value
        operand = names.get(owner.id) if isinstance(owner, ast.Name) else None
        axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(operand, _Operand) and node.value.attr == "shape" and type(axis) is int:
            return _axis(operand, axis, text)
    known = ", ".join([name for name, one in names.items() if isinstance(one, _Extent)])
    raise DTypeError(
        f"grid='{text}': what is '{ast.unparse(node)}'?",
        hint=f"{f'extents here: {known}; ' if known else ''}x.shape[0] of operands, + - * // %, min and max of two",
    )


def _axis(operand: _Operand, axis: int, text: str) -> Any:
    try:
        return operand.shape[axis]
    except IndexError:
        raise DTypeError(
            f"grid='{text}' asks for axis {axis}, and the operand has {len(operand.shape)}"
        ) from None


def _applied(sign: str, one: Any, two: Any) -> Any:
    if type(one) is int and type(two) is int and (sign in "+-*" or two > 0):
        return _WHOLE[sign](one, two)
    return (one if isinstance(one, _Extent) else _Extent(_text(one)))._joined(two, sign)


_WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
