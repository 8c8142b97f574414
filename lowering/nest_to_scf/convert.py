"""convert-nest-to-scf: loop nests become `scf`, `vector`, `memref` and `arith` for the CPU.

    func.func @f(%x: memref<?xf32>, %y: memref<?xf32> {nest.role = "out"}) {
      %n = memref.dim %x, %c0
      nest.for "i" %i = 0 to %n parallel {
        %a = nest.load %x[%i] : memref<?xf32>
        nest.store "y" %a, %y[%i] : memref<?xf32>
      }
    }

becomes

    func.func @f(%x: memref<?xf32> {nestor.noalias}, %y: memref<?xf32> {nestor.noalias}) {
      %n = memref.dim %x, %c0
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %a = memref.load %x[%i]
        memref.store %a, %y[%i]
      } {nestor.grain = 1 : i64}
    }

The forms it makes are those of docs/levels/scf.md. Statements, branches and buffers are
lowered in `body.py`, vectorized loops in `nest_to_scf/vectors.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...analysis.nest.check_sites import check_sites, site_table
from ...analysis.nest.kernels.loop_marks import parallel_around
from ...analysis.nest.values.linear_forms import Linear
from ...dialects.affine import AffineList
from ...dialects.attributes import ALIAS_SET, AMX, DESCENDING, GRAIN, NOALIAS, SITES, VNNI, WRITE
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.memref import PrefetchOp as FetchOp
from ...dialects.nest import AccumulateOp, ForOp, PrefetchOp
from ...dialects.walk import walk
from ..nest_common.body import NestBody
from ..nest_common.full_tiles import FullTiles
from ..nest_common.fused_products import allow_fma
from ..nest_common.index_arithmetic import IndexBuilder
from .vectors import VectorLoop


@dataclass(frozen=True, eq=False)
class ConvertNestToScfPass(ModulePass):
    """Lower every function of loop nests to scf, vector, memref and arith; see the module's docstring."""

    name = "convert-nest-to-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in walk(op):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                lower_function(function)


def lower_function(function: func.FuncOp) -> None:
    """Lower one function in place."""
    if len(function.body.blocks) != 1:
        raise fail(function, "a function of loop nests has one block", error=LoweringError)
    old = function.body.block
    new = Block(arg_types=[a.type for a in old.args])
    sites = check_sites(function)
    builder = IndexBuilder(new)
    body = CpuBody(builder, sites)
    for before, after in zip(old.args, new.args, strict=True):
        body.define(before, after)
    body.block(old)
    prepend(new, builder.prologue)
    set_arguments(function)
    if sites:
        function.attributes[SITES] = site_table(sites)
    function.body.detach_block(old)
    function.body.add_block(new)
    old.erase()


def prepend(block: Block, ops: list[Operation]) -> None:
    """Put `ops` at the start of `block`."""
    if not ops:
        return
    if block.first_op is None:
        block.add_ops(ops)
    else:
        block.insert_ops_before(ops, block.first_op)


def set_arguments(function: func.FuncOp) -> None:
    """`nestor.noalias` on the buffers that overlap no other argument; the other attributes end here."""
    before = (
        function.arg_attrs.data
        if function.arg_attrs is not None
        else [DictionaryAttr({})] * len(function.body.block.args)
    )
    noalias = DictionaryAttr({NOALIAS: UnitAttr()})
    after = [
        noalias
        if isinstance(arg.type, MemRefType) and ALIAS_SET not in attributes.data
        else DictionaryAttr({})
        for arg, attributes in zip(function.body.block.args, before, strict=True)
    ]
    function.properties["arg_attrs"] = ArrayAttr(after)
    function.attributes = {n: a for n, a in function.attributes.items() if not n.startswith(("nest.", "nt."))}


class CpuBody(NestBody):
    """Loop nests on the CPU: parallel loops become `scf.parallel`, vectorized ones vectors."""

    guards_copies = True
    frees_early = True

    def __init__(self, builder: IndexBuilder, sites: dict[Operation, int]):
        super().__init__(builder, sites)
        self.full_tiles = FullTiles()

    def loop_handlers(self) -> dict[str, Callable[[ForOp], None]]:
        return {**super().loop_handlers(), "parallel": self.parallel, "vectorized": self.vectorized}

    def parallel(self, op: ForOp) -> None:
        """One `scf.parallel` of one dimension; small buffers of the body stand at its start."""
        if (around := parallel_around(op)) is not None:
            raise fail(
                op,
                f'the loop "{op.label}" is parallel inside another parallel loop',
                hint="fuse the two loops, or mark only the outer one",
                notes=[(around, f'the loop "{around.label}"')],
                error=LoweringError,
            )
        builder = self.builder
        lower = self.one_of(op.lower, arith.MaxSIOp)
        upper = self.one_of(op.upper, arith.MinSIOp)
        step = builder.constant(op.step_value)
        outer, self.allocas, self.private = (self.allocas, self.private), [], set()
        body = self.loop_body(op, lambda: self.members(op))
        prepend(body, self.allocas)
        self.allocas, self.private = outer
        builder.location = op.location
        with builder.inside(body):
            builder.emit(scf.ReduceOp.create())
        attributes = {name: op.attributes[name] for name in (GRAIN, DESCENDING) if name in op.attributes}
        builder.emit(
            scf.ParallelOp.create(
                operands=(lower, upper, step),
                properties={"operandSegmentSizes": _PARALLEL_SEGMENTS},
                attributes={GRAIN: IntegerAttr(1, i64), **attributes},
                regions=[Region(body)],
            )
        )

    def members(self, op: ForOp) -> None:
        """The body of a serial or parallel loop, in two versions where full tiles need no questions."""
        tiles = [t for t in self.full_tiles.of(op) if t.constraint not in self.assumed]
        asked = dict.fromkeys(t.least(self.values) for t in tiles if t.is_repeated)
        if not asked:
            return self.block(op.body.block)
        fresh = {t.constraint for t in tiles if t.least(self.values) in asked}
        self.versions(asked, fresh, lambda: self.block(op.body.block), lambda: self.block(op.body.block))

    def versions(
        self,
        asked: Iterable[Linear],
        settled: set[AffineList],
        whole: Callable[[], None],
        edge: Callable[[], None],
    ) -> None:
        """`whole` where all forms `asked` are at least zero, with the constraints that this settles assumed; else `edge`."""
        builder = self.builder
        location = builder.location
        inside = self._all([builder.at_least_zero(form) for form in asked])
        blocks = [Block(), Block()]
        self.assumed |= settled
        with builder.inside(blocks[0]):
            whole()
        self.assumed -= settled
        with builder.inside(blocks[1]):
            edge()
        builder.location = location
        for block in blocks:
            block.add_op(scf.YieldOp.create())
        builder.emit(scf.IfOp.create(operands=(inside,), regions=[Region(block) for block in blocks]))

    def unrolled(self, op: ForOp) -> None:
        """Copies of the body; what they load across the lanes of vectors is read as rows first."""
        from .transposed_loads import TransposedTile, loads_across

        def copies() -> None:
            NestBody.unrolled(self, op)

        if loads := loads_across(op):
            TransposedTile(self, op, loads).lower(copies)
        else:
            copies()

    def combine(
        self, op: AccumulateOp, old: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        combined = super().combine(op, old, new)
        allow_fma(op, combined[0], new[0])
        return combined

    def prefetch(self, op: PrefetchOp) -> None:
        """Into all levels of the cache, alone there where it is going to be written."""
        is_write = WRITE in op.attributes
        self.builder.emit(FetchOp(self.value(op.memref), self.index_values(op.indices), is_write=is_write))

    def loop(self, op: ForOp) -> None:
        behind = op.next_op
        if isinstance(behind, ForOp) and AMX in behind.attributes:
            from .amx import is_zeroing

            if is_zeroing(op):
                return
        if isinstance(behind, ForOp) and VNNI in behind.attributes:
            from .vnni import is_zeroing

            if is_zeroing(op):
                return
        super().loop(op)

    def serial(self, op: ForOp) -> None:
        from .scans import VectorScan, scan_in

        if AMX in op.attributes:
            from .amx import lower_amx_tile

            return lower_amx_tile(self, op)
        if VNNI in op.attributes:
            from .vnni import lower_vnni_tile

            return lower_vnni_tile(self, op)
        if (update := scan_in(op)) is not None:
            return VectorScan(self, op, update).lower()
        super().serial(op)

    def vectorized(self, op: ForOp) -> None:
        VectorLoop(self, op).lower()


_PARALLEL_SEGMENTS: Attribute = DenseArrayBase.from_list(i32, [1, 1, 1, 0])
