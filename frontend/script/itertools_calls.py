"""Functions of `itertools`: what they give is spelled out, or stays a count and an item for each index.

for p in itertools.permutations(range(3))     the body six times, p a tuple of known integers
for a, b in itertools.pairwise(x)             for k in range(len(x) - 1): a, b = x[k], x[k + 1]
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..control.sequences import count_of, listed, sequence
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.errors import DTypeError, ShapeError
from ..values.arithmetic import operate, require_static
from ..values.extents import Affine
from ..values.values import NOTHING, Group, Iteration, Static, Value
from .operators import combined

MOST_SPELLED_OUT = 1024
"""Maximum number of combinations, permutations or pairs that are spelled out in code."""


def _integer(frame: Frame, node: ast.Call, value: Value, what: str) -> int:
    number = require_static(frame.graph, value, what)
    if not isinstance(number, int):
        frame.fail(node, f"{what} must be an integer, not {number!r}", None, DTypeError)
    return number


def _size(frame: Frame, node: ast.Call, value: Value) -> int:
    number = _integer(frame, node, value, "the length of what is chosen")
    if number < 0:
        frame.fail(node, "r must be non-negative", None, ShapeError)
    return number


def _spelled_out(frame: Frame, node: ast.Call, count: int, items: Iterable[Sequence[Value]]) -> Iteration:
    """An iterator over tuples of values, of which there are `count`."""
    if count > MOST_SPELLED_OUT:
        frame.fail(
            node,
            f"{count} items would be spelled out in code, more than {MOST_SPELLED_OUT}",
            "pass an array of them as an argument: np.array(list(...))",
        )
    return _iterator([Group(tuple(one)) for one in items])


def _iterator(items: Sequence[Value]) -> Iteration:
    """An iterator over items that are spelled out."""
    return Iteration(Affine(len(items)), lambda k: items[k.value], True, True)  # pyright: ignore


def _combinations(frame: Frame, node: ast.Call, iterable: Value, r: Value) -> Value:
    items, size = listed(frame, node, iterable), _size(frame, node, r)
    return _spelled_out(frame, node, math.comb(len(items), size), itertools.combinations(items, size))


def _combinations_with_replacement(frame: Frame, node: ast.Call, iterable: Value, r: Value) -> Value:
    items, size = listed(frame, node, iterable), _size(frame, node, r)
    count = math.comb(len(items) + size - 1, size) if items else int(size == 0)
    return _spelled_out(frame, node, count, itertools.combinations_with_replacement(items, size))


def _permutations(frame: Frame, node: ast.Call, iterable: Value, r: Value = NOTHING) -> Value:
    items = listed(frame, node, iterable)
    is_whole = isinstance(r, Static) and r.value is None
    size = len(items) if is_whole else _size(frame, node, r)
    return _spelled_out(frame, node, math.perm(len(items), size), itertools.permutations(items, size))


_ONE = Static(1)


def _product(frame: Frame, node: ast.Call, *iterables: Value, repeat: Value = _ONE) -> Value:
    times = _integer(frame, node, repeat, "repeat")
    if times < 0:
        frame.fail(node, "repeat argument cannot be negative", None, ShapeError)
    lists = [listed(frame, node, one) for one in iterables] * times
    count = math.prod(map(len, lists))
    return _spelled_out(frame, node, count, itertools.product(*lists))


def _pairwise(frame: Frame, node: ast.Call, iterable: Value, /) -> Value:
    items = sequence(frame, node, iterable)
    if items.unrolled:
        return _iterator([Group(pair) for pair in itertools.pairwise(listed(frame, node, items))])
    count = items.count + -1
    count = Affine(max(0, count.known)) if count.known is not None else frame.graph.larger(count, Affine(0))

    def at(k: Value) -> Value:
        return Group((items.at(k), items.at(operate(frame.graph, "add", k, _ONE))))

    return Iteration(count, at, False, True)


def _islice(frame: Frame, node: ast.Call, iterable: Value, *bounds: Value) -> Value:
    if not 1 <= len(bounds) <= 3:
        frame.fail(node, f"islice expected 2 to 4 arguments, got {len(bounds) + 1}", None, DTypeError)
    given = [require_static(frame.graph, one, "a bound of islice") for one in bounds]
    part = slice(*given)
    if any(one is not None and (not isinstance(one, int) or one < 0) for one in given) or part.step == 0:
        text = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."
        frame.fail(node, text, None, ShapeError)
    items = sequence(frame, node, iterable)
    if items.unrolled or items.count.known is not None:
        start, stop, step = part.indices(count_of(frame, node, replace(items, unrolled=True)))
        places = range(start, stop, step)
        return Iteration(
            Affine(len(places)),
            lambda k: items.at(Static(places[k.value])),  # pyright: ignore
            True,
            True,
        )
    first, step = part.start or 0, part.step or 1
    end = items.count if part.stop is None else frame.graph.smaller(items.count, Affine(part.stop))
    if step != 1:
        frame.fail(
            node, "a step of islice over what is counted at run time is not supported", "slice it: x[::2]"
        )

    def at(k: Value) -> Value:
        return items.at(operate(frame.graph, "add", k, Static(first)))

    return Iteration(frame.graph.larger(end + -first, Affine(0)), at, False, True)


def _chain(frame: Frame, node: ast.Call, *iterables: Value) -> Value:
    return _iterator([item for one in iterables for item in listed(frame, node, one)])


def _chain_of(frame: Frame, node: ast.Call, iterable: Value, /) -> Value:
    return _chain(frame, node, *listed(frame, node, iterable))


def _repeat(frame: Frame, node: ast.Call, object: Value, times: Value | None = None) -> Value:
    if times is None:
        frame.fail(node, "repeat without a number of times never ends", "pass one: itertools.repeat(x, n)")
    count = max(0, _integer(frame, node, times, "the number of times"))
    return _iterator([object] * count)


def _starmap(frame: Frame, node: ast.Call, function: Value, iterable: Value, /) -> Value:
    items = sequence(frame, node, iterable)

    def at(k: Value) -> Value:
        return call(frame, node, function, list(listed(frame, node, items.at(k))), {})

    return Iteration(items.count, at, items.unrolled, True)


def _zip_longest(frame: Frame, node: ast.Call, *iterables: Value, fillvalue: Value = NOTHING) -> Value:
    lists = [listed(frame, node, one) for one in iterables]
    return _iterator([Group(row) for row in itertools.zip_longest(*lists, fillvalue=fillvalue)])


def _accumulate(
    frame: Frame, node: ast.Call, iterable: Value, func: Value = NOTHING, *, initial: Value = NOTHING
) -> Value:
    items = list(listed(frame, node, iterable))
    if not (isinstance(initial, Static) and initial.value is None):
        items.insert(0, initial)
    found: list[Value] = []
    for item in items:
        if not found:
            found.append(item)
        elif isinstance(func, Static) and func.value is None:
            found.append(combined(frame, node, ast.Add(), found[-1], item))
        else:
            found.append(call(frame, node, func, [found[-1], item], {}))
    return _iterator(found)


ITERTOOLS: dict[Any, Callable[..., Value]] = {
    itertools.combinations: _combinations,
    itertools.combinations_with_replacement: _combinations_with_replacement,
    itertools.permutations: _permutations,
    itertools.product: _product,
    itertools.pairwise: _pairwise,
    itertools.islice: _islice,
    itertools.chain: _chain,
    itertools.chain.from_iterable: _chain_of,
    itertools.repeat: _repeat,
    itertools.starmap: _starmap,
    itertools.zip_longest: _zip_longest,
    itertools.accumulate: _accumulate,
}
"""Called with the frame, the call, and the arguments as values."""
