"""Reductions with a combiner of one's own, as loops that are differentiated as all loops are.

    %s, %k = nt.reduce custom (%x, %y) over [1] identity [0.0 : f64, 1.0 : f64] {
    ^bb0(%a: f64, %b: f64, %u: f64, %v: f64): ...; nt.yield %p, %q : f64, f64
    } : tensor<3x4xf64>, tensor<3x4xf64> -> tensor<3xf64>, tensor<3xf64>
  becomes
    %s, %k = nt.loops ins(%x, %y : ...) outs(%zeros, %ones : ...) {
    ^bb0(%xm: ..., %ym: ..., %sm: ..., %km: ...):
      nest.for "i" %i = 0 to 3 { nest.for "j" %j = 0 to 4 {
        %a = nest.load %sm[%i]; ...; nest.store %p, %sm[%i]; nest.store %q, %km[%i]
      } }
    }

The order of the loops is one of those that the reduction allows: that of the elements. In loops of the program, an
accumulation with such a combiner is written out in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, LoadOp, StoreOp
from ....dialects.nt.expand import Emitter
from ....dialects.nt.ops import ReduceOp, element_of, shape_of
from ....dialects.nt.region_ops import LoopsOp, YieldOp
from ....dialects.nt.types import kind_of
from ....lowering.nt_to_nest.scalars import from_storage, to_storage
from ..builder import Builder
from ..loops import Island, extents_of


def is_differentiated(op: Operation, active: Set[SSAValue], ends: Sequence[SSAValue]) -> bool:
    """Whether an operation is such a reduction, with a result that is used (or one of `ends`) and changes with `active`.

    Of a place (argmax) only the index is used, which does not.
    """
    if not isinstance(op, ReduceOp) or op.combiner.data != "custom":
        return False
    changing = [r for r in op.results_ if kind_of(element_of(r)) in "fc"]
    return any(r.first_use is not None or r in ends for r in changing) and any(v in active for v in op.inputs)


def as_loops(op: ReduceOp) -> tuple[list[Operation], list[SSAValue]]:
    """Put loops in the place of a reduction. Gives the operations that it becomes, and its results."""
    block, before = op.parent, op.prev_op
    assert block is not None and op.combine is not None
    builder = Builder(block, op, op.location)
    kept = [d for d in range(len(shape_of(op.inputs[0]))) if d not in op.reduced]
    sizes = builder.sizes_of(op.inputs[0], kept)
    starts: list[SSAValue] = []
    for k, result in enumerate(op.results_):
        assert isinstance(result.type, TensorType)
        starts.append(builder.uniform_of(op.identity_of(k), result.type, sizes))
    extents = extents_of(builder, op.inputs[0])
    island = Island(builder, op.inputs, starts)
    places = dict(
        zip([*kept, *op.reduced], island.loops([extents[d] for d in [*kept, *op.reduced]]), strict=True)
    )
    here = AffineList.of(*[places[d] for d in range(len(extents))])
    at = AffineList.of(*[places[d] for d in kept])
    emitter = Emitter(island.add, op.location)
    loaded = [island.load(out, at) for out in island.outs] + [island.load(one, here) for one in island.ins]
    elements = [element_of(v) for v in op.inputs]
    scalars = [from_storage(emitter, v, e) for v, e in zip(loaded, elements * 2, strict=True)]
    mapping: dict[SSAValue, SSAValue] = dict(zip(op.combine.block.args, scalars, strict=True))
    for inner in op.combine.block.ops:
        if not isinstance(inner, YieldOp):
            island.add(inner.clone(mapping))
            continue
        for out, value in zip(island.outs, inner.values, strict=True):
            storage = out.type.element_type  # pyright: ignore
            island.store(to_storage(emitter, mapping.get(value, value), storage), out, at)
    results = island.done()
    for old, new in zip(op.results_, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    made: list[Operation] = []
    first = before.next_op if before is not None else block.first_op
    while first is not None and first is not op:
        made.append(first)
        first = first.next_op
    block.erase_op(op)
    return made, results


def write_out(op: LoopsOp) -> None:
    """Accumulations with a combiner of one's own become loads, the combiner's operations, and stores."""
    for update in [o for o in op.walk() if isinstance(o, AccumulateOp)]:
        if update.combiner.data == "custom" and update.where is None and update.mask is None:
            _write_out(update)


def _write_out(update: AccumulateOp) -> None:
    block = update.parent
    assert block is not None and update.combine is not None

    def add(made: Operation) -> Operation:
        made.location = update.location
        block.insert_op_before(made, update)
        return made

    loaded = [add(LoadOp(memref, update.indices)).results[0] for memref in update.memrefs]
    body = update.combine.block
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, [*loaded, *update.values], strict=True))
    *inner, end = body.ops
    for one in inner:
        add(one.clone(mapping))
    for memref, value in zip(update.memrefs, end.operands, strict=True):
        add(StoreOp(mapping.get(value, value), memref, update.indices))
    block.erase_op(update)
