"""`nt.testing.check_reduction`: whether a function of `nt.reduce` is what it is declared to be.

    nt.testing.check_reduction(larger, (x, places), identity=(-np.inf, 0))

Elements, and subtotals of elements, are combined in two orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.tracebacks import boundary
from ..interface.errors import DTypeError
from ..jit.driver.jit import jit
from ..operations.own_reductions import broadcast_operands, combined, identities, reduce

Item = tuple[Any, ...]
"""An element of each array, or what some elements were combined to."""

_LONGEST_SUBTOTAL = 5


@boundary
def check_reduction(
    function: Callable[[Any, Any], Any],
    x: Any,
    /,
    *,
    identity: Any,
    rtol: float | None = None,
    samples: int = 200,
    seed: int = 0,
) -> list[str]:
    """Try whether `function` is associative and commutative, and `identity` neutral; what was compared, a text for each.

        nt.testing.check_reduction(lambda a, b: a + b, x, identity=0.0)
        # ['identity: 200 times', 'commutative: 200 times', 'associative: 200 times', 'compiled: as in Python']

    `x` is an array, or a tuple of arrays, as of `nt.reduce`: its elements are what is combined, so it has those that matter
    (equal ones, NaN, infinities). Elements are drawn with `seed`, and so are subtotals of a few elements. Numbers may differ
    by `rtol` of the largest among what was combined (1000 roundings of the dtype by default), whole numbers not at all.
    Last, the compiled reduction is compared with that of Python, from the first element to the last.

    Raises AssertionError with the first case of each kind that differs, DTypeError where `x` has no elements.
    """
    is_tuple = isinstance(x, tuple)
    arrays = broadcast_operands(x if is_tuple else (x,))
    neutral = identities(identity, is_tuple, [a.dtype for a in arrays])
    if not arrays[0].size:
        raise DTypeError("check_reduction: the arrays have no elements to combine")
    columns = [a.ravel() for a in arrays]
    rng = np.random.default_rng(seed)
    checks = _Checks(rtol)

    def both(a: Item, b: Item) -> Item:
        return combined(function, a, b, is_tuple)

    def drawn() -> Item:
        """An element; every second time what a few elements were combined to."""
        count = int(rng.integers(2, _LONGEST_SUBTOTAL + 1)) if rng.random() < 0.5 else 1
        places = rng.integers(0, len(columns[0]), count)
        item: Item = tuple(c[places[0]] for c in columns)
        for place in places[1:]:
            item = both(item, tuple(c[place] for c in columns))
        return item

    with np.errstate(all="ignore"):
        for _ in range(samples):
            a, b, c = drawn(), drawn(), drawn()
            if rng.random() < 0.25:
                b = a  # equal ones
            checks.compare("identity", (a,), f"f(identity, {_text(a)})", both(neutral, a), a)
            checks.compare("identity", (a,), f"f({_text(a)}, identity)", both(a, neutral), a)
            one, other = both(a, b), both(b, a)
            checks.compare(
                "commutative", (a, b), f"f(a, b) and f(b, a) of a={_text(a)}, b={_text(b)}", one, other
            )
            what = f"f(f(a, b), c) and f(a, f(b, c)) of a={_text(a)}, b={_text(b)}, c={_text(c)}"
            checks.compare("associative", (a, b, c), what, both(one, c), both(a, both(b, c)))
        wanted = reduce(function, x, identity=identity)
        found = jit(lambda x: reduce(function, x, identity=identity))(x)
    items = (wanted, found) if is_tuple else ((wanted,), (found,))
    elements = tuple(v for column in columns for v in column)
    checks.compare("compiled", (elements,), "the reduction in Python and the compiled one", *items)
    if checks.wrong:
        lines = "\n  ".join(checks.wrong.values())
        raise AssertionError(
            f"{getattr(function, '__name__', function)} cannot be reduced in any order:\n  {lines}"
        )
    return [
        *[f"{kind}: {samples} times" for kind in ("identity", "commutative", "associative")],
        "compiled: as in Python",
    ]


class _Checks:
    """The first case of each kind that differs."""

    def __init__(self, rtol: float | None):
        self.rtol = rtol
        self.wrong: dict[str, str] = {}

    def compare(self, kind: str, given: Sequence[Item], what: str, one: Item, other: Item) -> None:
        scale = max([0.0, *(abs(v) for item in (*given, one, other) for v in item if np.isfinite(v))])
        if not all(self._same(a, b, scale) for a, b in zip(one, other, strict=True)):
            self.wrong.setdefault(kind, f"{kind}: {what}: {_text(one)} and {_text(other)}")

    def _same(self, a: Any, b: Any, scale: float) -> bool:
        dtype = np.asarray(a).dtype
        if dtype.kind not in "fc":
            return bool(a == b)
        if np.isnan(a) or np.isnan(b):
            return bool(np.isnan(a) and np.isnan(b))
        rtol = 1e3 * float(np.finfo(dtype).eps) if self.rtol is None else self.rtol
        return bool(a == b or abs(a - b) <= rtol * scale)


def _text(item: Item) -> str:
    texts = [str(v) for v in item]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
