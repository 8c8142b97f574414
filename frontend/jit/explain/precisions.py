"""Which operations run in which type under `autocast`, and what the casts cost: a part of `explain`."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any

from ..specialise.stages import lowered_copy

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

STAGES = ("nt-differentiate", "nt-batch", "nt-autocast", "canonicalize", "cse")


def precisions(module: ModuleOp) -> dict[str, Any] | None:
    """The operations by type, each with how often there is one, and the casts: how many, and of how many bytes, read and
    written, as far as extents are known. None without an autocast."""
    from ....dialects.attributes import NT_AUTOCAST

    if not any(NT_AUTOCAST in function.attributes for function in module.body.block.ops):
        return None
    by_type: dict[str, Counter[str]] = {}
    casts, size, is_all = 0, 0, True
    for op in _computing(lowered_copy(module, STAGES)):
        element = _element(op)
        if op.name == "nt.cast":
            extents = op.operands[0].type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
            casts, is_all = casts + 1, is_all and min(extents, default=1) >= 0
            size += max(0, prod(extents)) * sum(v.type.element_type.size for v in (*op.operands, *op.results))  # pyright: ignore
        elif element is not None:
            by_type.setdefault(element, Counter())[_name(op)] += 1
    types = {element: dict(counts) for element, counts in sorted(by_type.items())}
    return {"types": types, "casts": casts, "bytes": size if is_all else None}


def precision_lines(found: dict[str, Any]) -> list[str]:
    """The same for people."""
    lines = []
    for element, counts in found["types"].items():
        texts = [name if count == 1 else f"{count} {name}" for name, count in counts.items()]
        lines.append(f"{element}: {', '.join(texts)}")
    size = "of extents that the run knows" if found["bytes"] is None else f"{found['bytes']} bytes"
    where = "read and written where a cast is not part of other loops"
    return [*lines, f"casts: {found['casts']}, {size} {where}" if found["casts"] else "casts: none"]


def _computing(op: Operation) -> list[Operation]:
    """The operations that compute, composites and islands as a whole."""
    from ....dialects.nt import CompositeOp
    from ....dialects.nt.work import Role, role_of

    found: list[Operation] = []
    for inner in [inner for region in op.regions for block in region.blocks for inner in block.ops]:
        if isinstance(inner, CompositeOp) or role_of(inner) in (Role.COMPUTES, Role.APART):
            found.append(inner)
        elif role_of(inner) is None:
            found += _computing(inner)
    return found


def _element(op: Operation) -> str | None:
    """The type that an operation computes in: of a product that of its factors."""
    from xdsl.dialects.builtin import TensorType

    values = [*op.operands, *op.results]
    floats = [v.type.element_type for v in values if isinstance(v.type, TensorType)]
    names = [str(one) for one in floats if str(one) in ("f16", "bf16", "f32", "f64")]
    return names[0] if names else None


def _name(op: Operation) -> str:
    from ....dialects.nt import CompositeOp, ReduceOp

    if isinstance(op, CompositeOp):
        return op.label.data
    if isinstance(op, ReduceOp):
        return f"reduce {op.combiner.data}"
    return op.name.removeprefix("nt.")
