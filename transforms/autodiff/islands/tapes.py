"""Integers that a loop overwrites and its derivative needs are kept: a counter that is an index, a condition.

    nest.for "i" %i = 0 to %n {                       nest.for "i" %i = 0 to %n {
      %k = nest.load %count[]                   ->      %k = nest.load %count[] ; nest.store %k, %tape[%i]

A tape has an axis for each loop around the load, of as many iterations as that has at most: the primal fills it, the
adjoint reads it. (Numbers that are differentiated are not kept: such loops are refused.)
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineDimExpr

from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.domains import LoadGuards
from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import ForOp, IfOp, LoadOp, StoreOp
from ....dialects.nt.ops import EmptyOp, LoopsOp
from ...nest.rewrite.loops import materialise
from ..reverse import Reverse
from .primal import Primal
from .refusals import refused


class Tapes:
    """The tapes of one island."""

    def __init__(self, primal: Primal, to: Reverse):
        self._primal, self._to = primal, to
        self._made: dict[LoadOp, tuple[SSAValue, AffineList]] = {}

    def of(self, load: LoadOp) -> tuple[SSAValue, AffineList]:
        """A tensor that will hold what `load` gave, and where: an index for each loop around it."""
        if load not in self._made:
            self._made[load] = self._make(load)
        return self._made[load]

    def _make(self, load: LoadOp) -> tuple[SSAValue, AffineList]:
        if LoadGuards().of(load) is not None:
            raise refused(load, "what is read only where a statement needs it is not kept")
        outer = load.parent_op()
        while outer is not self._primal.copy.function:
            if not isinstance(outer, ForOp | IfOp):
                raise refused(load, f"what is read in '{outer.name if outer else '?'}' is not kept")
            outer = outer.parent_op()
        extents, places = AffineList.of(), AffineList.of()
        for loop in enclosing_loops(load):
            first = self._extreme(loop.lower[0], load, least=True)
            count = self._extreme(loop.upper[0], load, least=False).minus(first)
            place = AffineList.of(loop.iv).minus(first)
            if loop.step_value != 1:
                count = count.divided(AffineBinaryOpKind.CeilDiv, loop.step_value)
                place = place.divided(AffineBinaryOpKind.FloorDiv, loop.step_value)
            extents, places = extents.concat(count), places.concat(place)
        return self._tensor(load, extents.canonical()), places.canonical()

    def _extreme(self, bound: AffineList, load: LoadOp, least: bool) -> AffineList:
        """The least or the largest value of a bound, for all iterations of the loops around it."""
        bound = bound.canonical()
        while True:
            loops = {v: v.owner.parent_op() for v in bound.operands if isinstance(v.owner, Block)}
            inner = next((v for v, op in loops.items() if isinstance(op, ForOp)), None)
            if inner is None:
                break
            loop = loops[inner]
            assert isinstance(loop, ForOp)
            terms, _ = linear_terms(bound.exprs[0])
            atoms = [a for a in terms if isinstance(a, AffineDimExpr) and bound.operands[a.position] is inner]
            if len(atoms) != 1 or len(terms) != sum(isinstance(a, AffineDimExpr) for a in terms):
                raise refused(load, "how often the loops around it run is not linear in their variables")
            at_start = (terms[atoms[0]] > 0) == least
            bound = bound.substitute(inner, loop.lower[0] if at_start else loop.upper[0].add(-1))
        known = set(self._primal.copy.inside.values())
        if any(v not in known for v in bound.operands):
            raise refused(load, "how often the loops around it run is known in the loop only")
        return bound

    def _tensor(self, load: LoadOp, extents: AffineList) -> SSAValue:
        op = self._primal.op
        assert op.parent is not None
        outside = {inner: outer for outer, inner in self._primal.copy.inside.items()}
        shape: list[int] = []
        sizes = AffineList.of()
        for extent in extents:
            number = extent.constants()
            if number is not None:
                shape.append(max(0, number[0]))
                continue
            shape.append(DYNAMIC_INDEX)
            size = materialise(extent.substitute_all(outside), op.parent, op)
            zero = self._before(arith.ConstantOp(IntegerAttr(0, IndexType())))
            sizes = sizes.concat(AffineList.of(self._before(arith.MaxSIOp(size, zero))))
        result = self._before(EmptyOp(TensorType(load.result.type, shape), sizes))
        result.name_hint = f"{load.memref.name_hint or 'value'}_tape"
        return result

    def _before(self, op: Operation) -> SSAValue:
        """Put an operation before the island."""
        island = self._primal.op
        assert island.parent is not None
        op.location = island.location
        island.parent.insert_op_before(op, island)
        return op.results[0]

    def fill(self) -> dict[SSAValue, SSAValue]:
        """Let the primal fill the tapes; gives the filled ones by the empty ones."""
        if not self._made:
            return {}
        primal, op = self._primal, self._primal.op
        assert op.parent is not None
        body = op.body.block
        for load, (tape, places) in self._made.items():
            original = primal.original[load]
            assert isinstance(original, LoadOp) and original.parent is not None
            known = {loop.iv: primal.original[loop].iv for loop in enclosing_loops(load)}  # pyright: ignore
            known |= {inner: outer for outer, inner in primal.copy.inside.items()}
            buffer = body.insert_arg(MemRefType(load.result.type, tape.type.get_shape()), len(body.args))  # pyright: ignore
            buffer.name_hint = tape.name_hint
            store = StoreOp(original.result, buffer, places.substitute_all(known))
            store.location = original.location
            original.parent.insert_op_after(store, original)
        tapes = [tape for tape, _ in self._made.values()]
        new = LoopsOp(list(op.inputs), [*op.outputs, *tapes], op.detach_region(op.body))
        new.location = op.location
        new.attributes.update(op.attributes)
        op.parent.insert_op_before(new, op)
        count = len(op.results)
        self._to.replace(op, new)
        primal.op = new
        return dict(zip(tapes, new.results[count:], strict=True))
