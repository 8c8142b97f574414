"""Of loads of one element with nothing stored between them, one stays: a tape need not have its value twice.

%a = nest.load %v[%i] : memref<8xf64>                    %a = nest.load %v[%i] : memref<8xf64>
%b = nest.load %v[%i] : memref<8xf64>             ->
%c = arith.mulf %a, %b : f64                             %c = arith.mulf %a, %a : f64
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.sets.accesses import accesses_in, accesses_of, may_overlap
from ....analysis.nest.sets.domains import LoadGuards
from ....dialects.affine import AffineList
from ....dialects.nest import LoadOp


def merge_equal_loads(function: Operation) -> None:
    """Let equal loads of each block be one. Loads that run for some statements only stay."""
    guards = LoadGuards()
    loads = [op for op in function.walk() if isinstance(op, LoadOp)]
    everywhere = {op for op in loads if guards.of(op) is None}
    for region in function.regions:
        for block in region.blocks:
            _merge(block, everywhere)


def _merge(block: Block, everywhere: set[LoadOp]) -> None:
    known: dict[tuple[SSAValue, AffineList], LoadOp] = {}
    for op in list(block.ops):
        if isinstance(op, LoadOp):
            if op in everywhere:
                _merge_one(op, known.setdefault((op.memref, op.indices.canonical()), op))
            continue
        for region in op.regions:
            for inner in region.blocks:
                _merge(inner, everywhere)
        writes = [a for a in accesses_in(op) if a.writes]
        for key, load in list(known.items()):
            if any(may_overlap(a, b) for a in accesses_of(load) for b in writes):
                del known[key]


def _merge_one(op: LoadOp, first: LoadOp) -> None:
    if first is not op:
        op.result.replace_all_uses_with(first.result)
        assert op.parent is not None
        op.parent.erase_op(op)
