"""Shape rules as texts: "(m,k),(k,n)->(m,n)", as NumPy's generalised ufuncs have them, without their loop dimensions.

    signature = parsed("(m,k),(k,n)->(m,n)")
    signature.inputs, signature.outputs         ((("m", "k"), ("k", "n")), (("m", "n"),))

`()` is a number, and an integer stands for an extent that is known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .errors import ShapeError

Dims = tuple[str | int, ...]

_GROUP = r"\(\s*(?:[A-Za-z_]\w*|\d+)?(?:\s*,\s*(?:[A-Za-z_]\w*|\d+))*\s*\)"
_LIST = rf"{_GROUP}(?:\s*,\s*{_GROUP})*"
_WHOLE = re.compile(rf"\s*({_LIST})?\s*->\s*({_LIST})\s*")


class Signature(NamedTuple):
    """The extents of operands and results, by name."""

    text: str
    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]

    def bound(
        self,
        shapes: Sequence[Sequence[Any]],
        same: Callable[[Any, Any], bool],
        name: str,
        shown: Callable[[Any], str] = str,
    ) -> dict[str | int, Any]:
        """The extents by name, of operands with these shapes; `same` says whether two are equal, `shown` what messages call
        one. Raises ShapeError."""
        if len(shapes) != len(self.inputs):
            raise ShapeError(
                f"{name} has {len(shapes)} operands, and its rule '{self.text}' {len(self.inputs)}"
            )
        found: dict[str | int, Any] = {}
        for k, (shape, dims) in enumerate(zip(shapes, self.inputs, strict=True)):
            if len(shape) != len(dims):
                wanted = ",".join(map(str, dims))
                raise ShapeError(
                    f"operand {k} of {name} has {len(shape)} axes, and the rule '{self.text}' wants ({wanted})",
                    hint="nt.vmap adds an axis to all that an operation works on",
                )
            for axis, (extent, dim) in enumerate(zip(shape, dims, strict=True)):
                known = found.setdefault(dim, extent) if isinstance(dim, str) else dim
                if known is not extent and not same(known, extent):
                    raise ShapeError(
                        f"axis {axis} of operand {k} of {name} has {shown(extent)} elements, and '{dim}' of the rule "
                        f"'{self.text}' is {shown(known)}",
                        hint="one name of the rule is one extent: pass arrays that fit it, or write shape= anew",
                    )
        return found

    def results(self, found: dict[str | int, Any]) -> list[tuple[Any, ...]]:
        """The shapes of the results."""
        return [tuple([found[d] if isinstance(d, str) else d for d in dims]) for dims in self.outputs]


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> Signature:
    """A text as a rule. Raises ShapeError."""
    matched = _WHOLE.fullmatch(text)
    if matched is None:
        raise ShapeError(
            f"'{text}' is not a shape rule",
            hint='write "(m,k),(k,n)->(m,n)"; () is a number, (3) an extent that is known',
        )
    inputs, outputs = (_groups(part or "") for part in matched.groups())
    known = {dim for dims in inputs for dim in dims}
    unknown = [dim for dims in outputs for dim in dims if isinstance(dim, str) and dim not in known]
    if unknown:
        raise ShapeError(
            f"'{text}' has a result with the extent '{unknown[0]}', which no operand has",
            hint="give shape= a function of the operands' nt.spec",
        )
    return Signature(text, inputs, outputs)


def _groups(text: str) -> tuple[Dims, ...]:
    groups = re.findall(_GROUP, text)
    return tuple([tuple(map(_dim, re.findall(r"\w+", group))) for group in groups])


def _dim(word: str) -> str | int:
    return int(word) if word.isdigit() else word
