"""nt.checkpoint in reverse mode: its policy says what the forward half keeps; the rest is computed again.

    %y = nt.checkpoint "save-nothing"(%x, %w : ...) -> (tensor<8x4xf32>) {
    ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x4xf32>):
      %0 = nt.dot %a, %b ...
      %1 = nt.tanh %0 : tensor<8x4xf32>
      nt.yield %1 : tensor<8x4xf32>
    }
  becomes, where the cotangent %cy of %y is given, the same operation, and
    %x1, %w1, %cy1 = nt.optimization_barrier %x, %w, %cy : ...
    %0 = nt.dot %x1, %w1 ...                                    // again, after the cotangent is known
    ...                                                         // the reverse of the region

With another policy it has results more, which the derivative reads. What happens once (calls that draw or print) is kept
whatever the policy says. In forward mode the region is put in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects.checkpoint_policies import SAVE_ALL, SAVE_PRODUCTS
from ....dialects.nt.checkpoint_ops import CheckpointOp, OptimizationBarrierOp
from ....dialects.nt.ops import YieldOp
from ....dialects.nt.work import Role, role_of
from ..builder import Builder
from .counted import cotangent_type
from .outer_extents import OuterExtents
from .replay import Replay, Wanted, captured, copy_arguments, copy_into, stand_in

if TYPE_CHECKING:
    from ..reverse import Reverse

WANTED = {SAVE_ALL: Wanted.ALL, SAVE_PRODUCTS: Wanted.PRODUCTS}


def checkpoint_reverse(op: CheckpointOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    """Keep what the policy says, and compute the rest again behind the cotangents."""
    assert op.parent is not None
    inputs, policy = list(op.inputs), op.policy.data
    given = [k for k, c in enumerate(cotangents) if c is not None]
    reverse = Block(arg_types=[cotangent_type(op.results_[k]) for k in given])
    replay = Replay(op.body.block, reverse, [k for k, v in enumerate(inputs) if to.wants(v)], to)
    arguments = list(replay.primal.args)
    for k, cotangent in zip(given, reverse.args, strict=True):
        replay.inner.add(replay.ends[k], cotangent, masked=to.masked)
    replay.run()
    starts = [(inputs[k], v) for k, v in enumerate(arguments)] + [(v, v) for v in captured(op.body.block)]
    found = [(outer, replay.inner.take(v)) for outer, v in starts if to.wants(outer)]
    gradients = [(outer, c) for outer, c in found if c is not None]
    replay.inner.builder.add(scf.YieldOp(*[c for _, c in gradients]))
    before = Builder(op.parent, op, op.location)
    replay.alone(OuterExtents(replay.primal, before, dict(zip(arguments, inputs, strict=True))))
    kept = replay.cut(WANTED.get(policy, Wanted.NOTHING))
    values = _forward(op, replay, [v for v in kept if v not in arguments], to)
    values.update(zip(arguments, [to.now(v) for v in inputs], strict=True))
    stand_ins = {v: stand_in(v.type) for v in values}
    for value, other in stand_ins.items():
        value.name_hint, other.name_hint = value.name_hint, value.name_hint
    own = set(reverse.ops)
    replay.join_as({v: stand_ins[v] for v in values})
    again = [o for o in reverse.ops if o not in own]
    known: dict[SSAValue, SSAValue] = {stand_ins[v]: outer for v, outer in values.items()}
    known.update(zip(reverse.args, [cotangents[k] for k in given], strict=True))  # pyright: ignore
    if to.builder.mark is not None:
        for one in [inner for o in again for inner in o.walk()]:
            one.location = to.builder.mark.again(one.location)
    read = {v for o in again for v in o.operands} if policy != SAVE_ALL else set(stand_ins.values())
    _behind_barrier(to.builder, known, read & known.keys(), reverse.args)
    for old, new in known.items():
        old.replace_all_uses_with(new)
    *ops, end = reverse.ops
    totals = list(end.operands)
    reverse.erase_op(end)
    for inner in ops:
        inner.detach()
        to.builder.insert(inner)
    for (outer, _), total in zip(gradients, totals, strict=True):
        to.add(outer, total)


def _forward(
    op: CheckpointOp, replay: Replay, kept: Sequence[SSAValue], to: Reverse
) -> dict[SSAValue, SSAValue]:
    """Let the operation give what is kept as well; gives these results, by values of the replay."""
    if not kept:
        return {}
    assert op.parent is not None
    block = copy_arguments(replay.primal)
    mapping: dict[SSAValue, SSAValue] = dict(zip(replay.primal.args, block.args, strict=True))
    ends = copy_into(replay.primal, block, mapping)
    end = YieldOp(*ends, *[mapping[v] for v in kept])
    end.location = op.location
    block.add_op(end)
    types = [*[r.type for r in op.results_], *[v.type for v in kept]]
    new = CheckpointOp(op.policy.data, list(op.inputs), Region(block), types)
    new.location = op.location
    new.attributes.update(op.attributes)
    op.parent.insert_op_before(new, op)
    results = new.results_[len(op.results_) :]
    to.replace(op, new)
    return dict(zip(kept, results, strict=True))


def _behind_barrier(
    builder: Builder, known: dict[SSAValue, SSAValue], read: set[SSAValue], cotangents: Sequence[SSAValue]
) -> None:
    """Let what is computed again start from values behind a barrier, which waits for the cotangents.

    `known` says what is read in their places outside. Views are put behind it, and what they are views of goes through.
    """
    if not read:
        return
    views: dict[SSAValue, list[Operation]] = {}
    held: dict[SSAValue, SSAValue] = {}
    for value in known:
        if value not in read or not isinstance(value.type, TensorType):
            continue
        source = known[value]
        views[value] = []
        while role_of(source.owner) is Role.VIEW:
            assert isinstance(source.owner, Operation)
            views[value].append(source.owner)
            source = source.owner.operands[0]
        if role_of(source.owner) is not Role.SOURCE:
            held[value] = source
    if not held:
        return
    waits = [known[c] for c in cotangents if c.uses.get_length()]
    order = list(dict.fromkeys([*held.values(), *waits]))
    barrier = OptimizationBarrierOp(order)
    results = builder.add(barrier).results
    behind = dict(zip(order, results, strict=True))
    for value, result in behind.items():
        result.name_hint = value.name_hint
    for cotangent in cotangents:
        known[cotangent] = behind.get(known[cotangent], known[cotangent])
    for value, source in held.items():
        new = behind[source]
        for view in reversed(views[value]):
            copy = view.clone({view.operands[0]: new})
            copy.location = view.location
            builder.insert(copy)
            new = copy.results[0]
        known[value] = new
