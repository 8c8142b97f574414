"""Which values and buffers of an island carry derivatives: what depends on some, and what others depend on."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from ..missing import missing
from .refusals import refused
from .scalars import carries_scalar


def stored_by(op: Operation) -> Sequence[SSAValue]:
    """The values that a statement stores, or adds."""
    return op.values if isinstance(op, AccumulateOp) else [op.value]  # pyright: ignore


def varied(function: Operation, starts: set[SSAValue]) -> set[SSAValue]:
    """The values and buffers that depend on `starts`."""
    found = set(starts)
    ops = [op for op in function.walk() if op is not function]
    while True:
        before = len(found)
        for op in ops:
            if isinstance(op, LoadOp):
                if op.memref in found and carries_scalar(op.result.type):
                    found.add(op.result)
            elif isinstance(op, StoreOp | AccumulateOp):
                buffers = [op.memref] if isinstance(op, StoreOp) else op.memrefs
                if any(v in found for v in (*stored_by(op), *buffers)):
                    found.update(buffers)
            elif op.results and not op.regions and any(v in found for v in op.operands):
                if isinstance(op, arith.BitcastOp):
                    raise missing(op)
                found.update(r for r in op.results if carries_scalar(r.type))
        if len(found) == before:
            _require_no_results(ops, found)
            return found


def _require_no_results(ops: Sequence[Operation], found: set[SSAValue]) -> None:
    """Loops and branches of islands leave what they compute in buffers. Raises for others that carry derivatives."""
    for op in ops:
        if not op.regions or not any(carries_scalar(r.type) for r in op.results):
            continue
        if any(v in found for inner in op.walk() for v in inner.operands):
            raise refused(op, f"'{op.name}' gives a number that is no element of a buffer")


def useful(function: Operation, ends: set[SSAValue]) -> set[SSAValue]:
    """The values and buffers on which the final contents of `ends` depend."""
    found = set(ends)
    ops = [op for op in function.walk() if op is not function][::-1]
    while True:
        before = len(found)
        for op in ops:
            if isinstance(op, LoadOp):
                if op.result in found:
                    found.add(op.memref)
            elif isinstance(op, StoreOp | AccumulateOp):
                buffers = [op.memref] if isinstance(op, StoreOp) else op.memrefs
                if any(b in found for b in buffers):
                    found.update((*stored_by(op), *buffers))
            elif any(r in found for r in op.results) and not isinstance(op, AllocOp):
                found.update(v for v in op.operands if carries_scalar(v.type))
        if len(found) == before:
            return found
