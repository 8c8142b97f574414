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

The order of the loops is one of those that the reduction allows: that of the elements. They accumulate, which `write_out`
makes loads and stores of, as of the accumulations with such a combiner that a program has.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, LoadOp, StoreOp
from ....dialects.nt.ops import ReduceOp, element_of, shape_of
from ....dialects.nt.region_ops import LoopsOp
from ....dialects.nt.types import kind_of
from ....lowering.nt_to_nest.scalars import stored_combiner, stored_identity
from ..loops import Island, extents_of
from ..transposed import Recorder


def is_differentiated(op: Operation, active: Set[SSAValue], ends: Sequence[SSAValue]) -> bool:
    """Whether an operation is such a reduction, with a result that is used (or one of `ends`) and changes with `active`.

    Of a place (argmax) only the index is used, which does not.
    """
    if not isinstance(op, ReduceOp) or op.combiner.data != "custom":
        return False
    changing = [r for r in op.results_ if kind_of(element_of(r)) in "fc"]
    return any(r.first_use is not None or r in ends for r in changing) and any(v in active for v in op.inputs)


def as_loops(op: ReduceOp) -> tuple[list[Operation], list[SSAValue]]:
    """Put loops that accumulate in the place of a reduction. Gives the operations that it becomes, and its results."""
    block = op.parent
    assert block is not None and op.combine is not None and op.identity is not None
    builder = Recorder(block, op, op.location)
    kept = [d for d in range(len(shape_of(op.inputs[0]))) if d not in op.reduced]
    sizes = builder.sizes_of(op.inputs[0], kept)
    starts: list[SSAValue] = []
    for k, result in enumerate(op.results_):
        assert isinstance(result.type, TensorType)
        starts.append(builder.uniform_of(op.identity_of(k), result.type, sizes))
    extents, order = extents_of(builder, op.inputs[0]), [*kept, *op.reduced]
    island = Island(builder, op.inputs, starts)
    places = dict(zip(order, island.loops([extents[d] for d in order]), strict=True))
    here = AffineList.of(*[places[d] for d in range(len(extents))])
    storages: list[Attribute] = [memref.type.element_type for memref in island.outs]  # pyright: ignore
    elements = [element_of(v) for v in op.inputs]
    island.add(
        AccumulateOp(
            "custom",
            [island.load(one, here) for one in island.ins],
            island.outs,
            AffineList.of(*[places[d] for d in kept]),
            identity=stored_identity(op.identity, storages),
            combine=stored_combiner(op.combine.block, elements, storages, op.location),
        )
    )
    results = island.done()
    for old, new in zip(op.results_, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(op)
    return builder.made, results


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
