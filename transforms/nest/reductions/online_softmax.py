"""nest-online-softmax: a softmax of rows and the product that uses it, block by block of the rows, with a running maximum.

    nest.for "i" %i = 0 to 32 {
      %maximum = nest.alloc "maximum" : memref<f32>
      nest.store "maximum" %lowest, %maximum[] : memref<f32>
      nest.for "j" %j = 0 to %n {
        %a = nest.load %t[%i, %j] : memref<32x?xf32>
        nest.accumulate "maximum" maximum %a, %maximum[] : memref<f32>
      }
      %sum = nest.alloc "sum" : memref<f32>
      nest.store "sum" %zero, %sum[] : memref<f32>
      %m = nest.load %maximum[] : memref<f32>
      nest.for "j.1" %j = 0 to %n {
        %a = nest.load %t[%i, %j] : memref<32x?xf32>
        %d = arith.subf %a, %m : f32
        %e = math.exp %d : f32
        nest.store "e" %e, %t[%i, %j] : memref<32x?xf32>
        nest.accumulate "sum" add %e, %sum[] : memref<f32>
      }
      %s = nest.load %sum[] : memref<f32>
      nest.for "j.2" %j = 0 to %n {
        %e = nest.load %t[%i, %j] : memref<32x?xf32>
        %p = arith.divf %e, %s : f32
        nest.store "p" %p, %t[%i, %j] : memref<32x?xf32>
      }
    }
    ... %y is filled with zeros
    nest.for "i.1" %i = 0 to 32 {
      nest.for "l" %l = 0 to 64 {
        nest.for "j.3" %j = 0 to %n {
          %p = nest.load %t[%i, %j] : memref<32x?xf32>
          %b = nest.load %v[%j, %l] : memref<?x64xf32>
          %q = arith.mulf %p, %b : f32
          nest.accumulate "y" add %q, %y[%i, %l] : memref<32x64xf32>

with rows=i, product=i.1, factor=128 becomes

    nest.for "i.start" ... { -inf to %running_maximum[%i], 0 to %running_sum[%i] }
    nest.for "i.1.start" ... { 0 to %y_sums[%i, %l] }
    ... what sets %t
    nest.for "j.o" %o = 0 to %n ceildiv 128 {
      nest.for "i" %i = 0 to 32 {
        %before = nest.load %running_maximum[%i] : memref<32xf32>
        nest.for "j" %j = 0 to min(128, %n - 128 * %o) { ... nest.accumulate ... maximum %a, %running_maximum[%i] }
        ... %shift is the new maximum, or 0 where that is -inf
        ... exp(%before - %shift) to %scale[%i], and times %running_sum[%i]
        nest.for "j.1" ... { ... exp(%a - %shift) to %t[%i, 128 * %o + %j], and added to %running_sum[%i] }
      }
      nest.for "i.1.scale" ... { %y_sums[%i, %l] times %scale[%i] }
      nest.for "i.1" ... { nest.for "l" ... { nest.for "j.3" %j = 0 to 128 {
        ... nest.accumulate "y" add %q, %y_sums[%i, %l] where (128 * %o + %j < %n)
    }
    ... %y is filled with zeros
    nest.for "i.1.end" ... { nest.accumulate "y" add (%y_sums[%i, %l] / %running_sum[%i]), %y[%i, %l] }

With kept=true a row may also store what it computes of its maximum and its sum, say their logarithm:

      %m = nest.load %maximum[]   %s = nest.load %sum[]   ...   nest.store "l" %l, %l[%i]      // in "i", behind its loops
    becomes, behind "j.o",
    nest.for "i.kept" ... { %m = nest.load %running_maximum[%i]   %s = nest.load %running_sum[%i]   ... }

A block of scores is needed by its own iteration of "j.o" only, so that what computes the scores can be fused with that
loop, and %t be as large as a block. Results are those of the program up to rounding, as where a sum is reordered: sums are
of numbers up to exp(0) = 1 times elements of the other factor, and are divided at the end (where the program divides first,
a sum overflows later: of elements above the largest number / %n). A row whose scores are all -inf, or one of them NaN or
+inf, gives NaN as before; a block of nothing but -inf changes nothing. Where exponentials of 16 bits are added up in 32,
the running maximum has 16 bits and all else 32: what the program rounds before it divides (the scores, their exponentials)
is rounded so here, and neither the sum nor the quotients are; a sum above the largest number of 16 bits is no infinity then.
What scales the sums is approximate there (`afn`): both sums have its error, and the quotient has not.

Refused unless the rows are such a softmax, of a buffer with elements for all of its iterations, none of which is used after
the product; unless the product is linear in them; where there may be no score; and where what is between the two
writes what the product reads. M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018); T. Dao et
al., "FlashAttention" (2022). A rewrite of this kind has no name in TVM, Halide, Exo and NNC.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, FloatAttr, MemRefType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.sets.producers import top_in
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names, replace_index
from ..rewrite.sizes import size_of
from .online_softmax_plan import OnlineSoftmax, online_plan

# ---- rewriting --------------------------------------------------------------------------------------


def why_not_online_softmax(
    rows: ForOp, product: ForOp, factor: int, kept: bool = False
) -> NestorError | None:
    """The diagnostic that refuses to do the rows and the product block by block, None when it is legal."""
    plan = online_plan(rows, product, factor, kept)
    return plan if isinstance(plan, NestorError) else None


def online_softmax(rows: ForOp, product: ForOp, factor: int, kept: bool = False) -> tuple[ForOp, ...]:
    """Do the rows and the product block by block, of `factor` scores.

    The loops that start the rows and the sums, the one over blocks, and in it the rows, what scales the sums, and the
    product; the loop that ends the sums; and with `kept` the one that stores what rows keep. Raises the diagnostic of
    `why_not_online_softmax`.
    """
    plan = online_plan(rows, product, factor, kept)
    if isinstance(plan, NestorError):
        raise plan
    return _Rewriting(plan, factor).run()


def _first_use(plan: OnlineSoftmax) -> Operation:
    """The operation of the block that sets the scores first; the rows, where the bounds of loops are computed later."""
    block = plan.rows[0].parent
    assert block is not None
    ops = list(block.ops)
    summed = {
        op.memref
        for op in plan.exponents.body.block.ops
        if isinstance(op, LoadOp) and _is_summed_up(op.memref, block)
    }
    tops = [top_in(block, use.operation) for buffer in {plan.scores, *summed} for use in buffer.uses]
    first = min(tops, key=ops.index)
    operands = [value for loop in (*plan.rows, *plan.product) for value in loop.upper.operands]
    late = [v.owner for v in operands if isinstance(v.owner, Operation) and v.owner.parent is block]
    return first if all(ops.index(op) < ops.index(first) for op in late) else plan.rows[0]


def _is_summed_up(buffer: SSAValue, block: Block) -> bool:
    """Whether a buffer of the block has the sums of a nest: scores that have another type than their exponentials."""
    users = [use.operation for use in buffer.uses]
    is_own = isinstance(buffer.owner, AllocOp) and buffer.owner.parent is block
    return is_own and any(isinstance(op, AccumulateOp) for op in users)


def _longest(loop: ForOp) -> AffineList:
    """The iterations of a loop, or a constant that they are not more than."""
    numbers = [
        bound for k in range(len(loop.upper)) if (bound := loop.upper[k].canonical()).constants() is not None
    ]
    return numbers[0] if numbers else loop.upper[0].canonical()


class _Rewriting:
    def __init__(self, plan: OnlineSoftmax, factor: int):
        self.plan = plan
        self.factor = factor
        self.at = _first_use(plan)
        """Where the new buffers are made, and set: before the scores are."""
        assert isinstance(plan.sums.values[0].type, AnyFloat)
        assert isinstance(plan.shifted.result.type, AnyFloat)
        self.element = plan.sums.values[0].type
        """The type of the sums; that of the maximum may be narrower."""
        self.narrow = plan.shifted.result.type
        self.location = plan.rows[0].location
        self.count = plan.largest.upper
        self.bounds = [loop.upper for loop in plan.rows]

    def run(self) -> tuple[ForOp, ...]:
        plan, product = self.plan, self.plan.product[0]
        maximum = self._buffer(f"running_{buffer_name(plan.maximum.memref)}", plan.rows, self.narrow)
        total = self._buffer(f"running_{buffer_name(plan.total.memref)}", plan.rows)
        scale = self._buffer("scale", plan.rows)
        sums = self._buffer(f"{buffer_name(plan.sums.memrefs[0])}_sums", plan.others)
        start, ivs = self._loops(plan.rows, "start", None)
        self._set(start[-1], -inf, maximum, ivs)
        self._set(start[-1], 0.0, total, ivs)
        zeros, ivs = self._loops(plan.others, "start", None)
        self._set(zeros[-1], 0.0, sums, ivs)
        (name,) = fresh_names(product, f"{plan.largest.label}.o")
        blocks = ForOp(name, 0, self.count.divided(AffineBinaryOpKind.CeilDiv, self.factor).canonical())
        blocks.location, blocks.iv.name_hint = self.location, f"{plan.largest.iv.name_hint}_o"
        self._before(plan.rows[0], blocks)
        kept = self._keep(maximum, total) if plan.kept else []
        inside = blocks.body.block
        plan.rows[0].detach()
        inside.add_op(plan.rows[0])
        self._running_rows(blocks, maximum, total, scale)
        scaled = self._scale(inside, sums, scale)
        end = self._end(sums, total)
        product.detach()
        inside.add_op(product)
        self._block_of_product(blocks, sums)
        return start[0], zeros[0], blocks, plan.rows[0], scaled, product, end, *kept

    # ---- rows ----

    def _keep(self, maximum: AllocOp, total: AllocOp) -> list[ForOp]:
        """A nest behind the blocks in which rows store what they keep."""
        plan = self.plan
        loops, ivs = self._loops(plan.rows, "kept", None)
        loops[0].detach()
        self._before(plan.rows[0], loops[0])
        mapping: dict[SSAValue, SSAValue] = {a.iv: b.iv for a, b in zip(plan.rows, loops, strict=True)}
        running = {plan.maximum.memref: maximum, plan.total.memref: total}
        body = loops[-1].body.block
        for op in plan.kept:
            if isinstance(op, LoadOp):
                copy: Operation = LoadOp(running[op.memref].memref, ivs)
                copy.location, copy.results[0].name_hint = op.location, op.result.name_hint
                mapping[op.result] = copy.results[0]
            else:
                copy = op.clone(mapping)
            body.add_op(copy)
        for op in reversed(plan.kept):
            if not any(result.first_use is not None for result in op.results):
                self._erase(op)
        return loops[:1]

    def _running_rows(self, blocks: ForOp, maximum: AllocOp, total: AllocOp, scale: AllocOp) -> None:
        plan = self.plan
        row = plan.rows[-1]
        ivs = AffineList.of(*(loop.iv for loop in plan.rows))
        for loop in (plan.largest, plan.exponents):
            self._to_block(loop, blocks)
        divided = [op for op in row.body.block.ops if isinstance(op, ForOp)][2]
        self._erase(divided)
        largest, exponents, shifted = plan.largest, plan.exponents, plan.shifted
        before = LoadOp(maximum.memref, ivs)
        before.result.name_hint = "before"
        found = LoadOp(maximum.memref, ivs)
        lowest = arith.ConstantOp(FloatAttr(-inf, self.narrow))
        zero = arith.ConstantOp(FloatAttr(0.0, self.narrow))
        is_lowest = arith.CmpfOp(found.result, lowest.result, "oeq")
        shift = arith.SelectOp(is_lowest.result, zero.result, found.result)
        shift.result.name_hint = "shift"
        casts, (earlier, now) = self._widened(before.result, shift.result)
        less = arith.SubfOp(earlier, now)
        factor = math.ExpOp(less.result, self._flags())
        factor.result.name_hint = "rescale"
        old = LoadOp(total.memref, ivs)
        scaled = arith.MulfOp(old.result, factor.result)
        ops = [found, lowest, zero, is_lowest, shift, *casts, less, factor]
        ops += [StoreOp(factor.result, scale.memref, ivs, label="scale"), old, scaled]
        ops += [StoreOp(scaled.result, total.memref, ivs, label=plan.total.label.data)]
        for op in (before, *ops):
            op.location = shifted.location
        block = row.body.block
        block.insert_op_before(before, largest)
        block.insert_ops_before(ops, exponents)
        shifted.operands[1] = shift.result
        for loop, buffer in ((largest, maximum), (exponents, total)):
            update = next(op for op in loop.body.block.ops if isinstance(op, AccumulateOp))
            value = update.values[0]
            new = AccumulateOp(update.combiner.data, [value], [buffer.memref], ivs, label=update.statement)
            new.location = update.location
            new.attributes.update(update.attributes)
            loop.body.block.insert_op_before(new, update)
            self._erase(update)
        for variable in (plan.maximum, plan.total):
            for use in list(variable.memref.uses):
                for result in use.operation.results:  # what made the sum narrower
                    for user in list(result.uses):
                        self._erase(user.operation)
                self._erase(use.operation)
            self._erase(variable)

    def _flags(self) -> arith.FastMathFlagsAttr:
        """Sums of products and of exponentials are scaled by one number: where these have 16 bits, it may be off by more.

        What is left of its error is the share of a block in the row, which the rounded exponentials know less well.
        """
        return arith.FastMathFlagsAttr("none" if self.narrow == self.element else [FastMathFlag.APPROX_FUNC])

    def _widened(self, *values: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
        """The values in the type of the sums, and the operations that make them so."""
        if self.narrow == self.element:
            return [], list(values)
        casts: list[Operation] = [arith.ExtFOp(value, self.element) for value in values]
        return casts, [cast.results[0] for cast in casts]

    def _to_block(self, loop: ForOp, blocks: ForOp, is_masked: bool = False) -> None:
        """Let a loop along a row be over the part of it that a block has."""
        offset = AffineList.of(blocks.iv).times(self.factor)
        room = self.count.minus(offset).canonical()
        number = self.count.constants()
        is_whole = number is not None and number[0] % self.factor == 0
        replace_index(loop.iv, offset.plus(AffineList.of(loop.iv)).canonical())
        size = AffineList.of(self.factor)
        if is_whole or is_masked:
            loop.set_bounds(loop.lower, size)
        else:
            loop.set_bounds(loop.lower, size.concat(room).canonical())

    # ---- the sums ----

    def _scale(self, inside, sums: AllocOp, scale: AllocOp) -> ForOp:
        loops, ivs = self._loops(self.plan.others, "scale", inside)
        body = loops[-1].body.block
        old, factor = LoadOp(sums.memref, ivs), LoadOp(scale.memref, self._row_of(loops))
        new = arith.MulfOp(old.result, factor.result)
        self._add(body, old, factor, new, StoreOp(new.result, sums.memref, ivs, label="scale"))
        return loops[0]

    def _end(self, sums: AllocOp, total: AllocOp) -> ForOp:
        plan = self.plan
        loops, ivs = self._loops(plan.others, "end", None)
        mapping = {old.iv: new.iv for old, new in zip(plan.others, loops, strict=True)}
        value, by = LoadOp(sums.memref, ivs), LoadOp(total.memref, self._row_of(loops))
        quotient = arith.DivfOp(value.result, by.result)
        update = plan.sums
        indices = update.indices.substitute_all(mapping)
        add = AccumulateOp("add", [quotient.result], [update.memrefs[0]], indices, label=update.statement)
        self._add(loops[-1].body.block, value, by, quotient, add)
        loops[0].detach()
        self._before(plan.product[0], loops[0])
        return loops[0]

    def _block_of_product(self, blocks: ForOp, sums: AllocOp) -> None:
        plan = self.plan
        self._to_block(plan.term, blocks, is_masked=True)
        update = plan.sums
        index = AffineList.of(blocks.iv).times(self.factor).plus(AffineList.of(plan.term.iv))
        number = self.count.constants()
        is_whole = number is not None and number[0] % self.factor == 0
        where = None if is_whole else self.count.minus(index).add(-1).canonical()
        indices = AffineList.of(*(loop.iv for loop in plan.others))
        new = AccumulateOp(
            "add", list(update.values), [sums.memref], indices, label=update.statement, where=where
        )
        new.location = update.location
        new.attributes.update(update.attributes)
        assert update.parent is not None
        update.parent.insert_op_before(new, update)
        self._erase(update)

    def _row_of(self, loops: Sequence[ForOp]) -> AffineList:
        """The indices of a row, in loops over the elements of the sums."""
        of = dict(zip(self.plan.others, loops, strict=True))
        return AffineList.of(*(of[self.plan.same[loop]].iv for loop in self.plan.rows))

    # ---- making ----

    def _buffer(self, name: str, loops: Sequence[ForOp], element: AnyFloat | None = None) -> AllocOp:
        """A buffer with an element for each iteration of the loops."""
        sizes = [size_of(_longest(loop), self.at) for loop in loops]
        shape = [DYNAMIC_INDEX if not isinstance(n, int) else n for n in sizes]
        unknown = [n for n in sizes if not isinstance(n, int)]
        alloc = AllocOp(fresh_buffer_name(self.at, name), MemRefType(element or self.element, shape), unknown)
        alloc.location = self.location
        alloc.memref.name_hint = alloc.label.data
        self._before(self.at, alloc)
        return alloc

    def _loops(self, like: Sequence[ForOp], what: str, inside) -> tuple[list[ForOp], AffineList]:
        """A nest of loops like these, at the end of a block or before the product, and its variables."""
        names = fresh_names(like[0], *(f"{loop.label}.{what}" for loop in like))
        loops = [ForOp(name, 0, loop.upper) for name, loop in zip(names, like, strict=True)]
        for outer, inner in pairwise(loops):
            outer.body.block.add_op(inner)
        for loop, old in zip(loops, like, strict=True):
            loop.location, loop.iv.name_hint = old.location, old.iv.name_hint
        if inside is None:
            self._before(self.at, loops[0])
        else:
            inside.add_op(loops[0])
        return loops, AffineList.of(*(loop.iv for loop in loops))

    def _set(self, loop: ForOp, number: float, buffer: AllocOp, ivs: AffineList) -> None:
        element = buffer.memref.type.element_type
        assert isinstance(element, AnyFloat)
        constant = arith.ConstantOp(FloatAttr(number, element))
        store = StoreOp(constant.result, buffer.memref, ivs, label=buffer.label.data)
        self._add(loop.body.block, constant, store)

    def _add(self, block, *ops: Operation) -> None:
        for op in ops:
            op.location = self.plan.sums.location
            block.add_op(op)

    @staticmethod
    def _before(at: Operation, op: Operation) -> None:
        assert at.parent is not None
        at.parent.insert_op_before(op, at)

    @staticmethod
    def _erase(op: Operation) -> None:
        op.detach()
        op.erase()
