"""Which products a quantised program computes with integers: a part of `explain`."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..specialise.stages import lowered_copy

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue

STAGES = ("nt-quantise", "nt-differentiate", "nt-batch", "nt-fuse-quantised", "canonicalize", "cse")


def quantised_products(module: ModuleOp) -> dict[str, dict[str, int]] | None:
    """The products by the types of their factors, "uint8 x int8" or "float32", each line with how many it has. None without
    `quantise`."""
    from ....dialects.attributes import NT_QUANTISE
    from ....dialects.diagnostic import op_location
    from ....dialects.nt import DotOp

    if not any(NT_QUANTISE in function.attributes for function in module.body.block.ops):
        return None
    found: dict[str, Counter[str]] = {}
    for op in lowered_copy(module, STAGES).walk():
        if isinstance(op, DotOp):
            types = [_factor(value) for value in op.operands]
            text = types[0] if len(set(types)) == 1 and "int" not in types[0] else " x ".join(types)
            place = op_location(op)
            line = "?" if place is None else f"{PurePath(place.file).name}:{place.line}"
            found.setdefault(text, Counter())[line] += 1
    return {text: dict(lines) for text, lines in sorted(found.items(), reverse=True)}


def quantised_lines(found: dict[str, dict[str, int]]) -> list[str]:
    """The same for people."""
    if not found:
        return ["no products"]
    return [
        f"{text}: {', '.join(line if count == 1 else f'{line} ({count})' for line, count in lines.items())}"
        for text, lines in found.items()
    ]


def _factor(value: SSAValue) -> str:
    """The type of a factor, of one that is made wider what it is made of."""
    from ....dialects.nt import CastOp
    from ....dialects.nt.ops import element_of
    from ....dialects.nt.types import TO_NAME

    owner = value.owner
    return TO_NAME[element_of(owner.source if isinstance(owner, CastOp) else value)]
