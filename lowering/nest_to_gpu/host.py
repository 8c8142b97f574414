"""The host side of a kernel launch (part of convert-nest-to-gpu): arithmetic on extents, temporaries, launches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...analysis.nest.buffers import declared_space
from ...analysis.nest.calls import filled_by
from ...analysis.nest.check_sites import raises
from ...analysis.nest.kernels.barrier_places import THREAD_AXES, foreign_operation
from ...analysis.nest.kernels.gpu_accesses import accesses, is_bound
from ...analysis.nest.kernels.gpu_accesses import may_overlap as overlapping
from ...analysis.nest.kernels.loop_marks import block_shape, too_many_threads
from ...analysis.nest.values.linear_forms import Division, Linear, linear, terms_of
from ...dialects.attributes import ALIAS_SET, OUTLINED
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import gpu as gpu_ext
from ...dialects.nest import (
    BIND_AXES,
    AccumulateOp,
    AllocOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    PrefetchOp,
    StatementOp,
    StoreOp,
)
from ..nest_common.body import NestBody
from ..nest_common.custom_calls import launches
from ..nest_common.index_arithmetic import IndexBuilder
from ..nest_to_scf.convert import prepend
from .index_width import is_known_to_host
from .kernel import KernelBody
from .kernel_inputs import KernelInputs
from .own_launches import own_launch
from .tidy import tidy


class HostBody(NestBody):
    """The host side: arithmetic on extents, temporaries, and a launch for each nest."""

    def __init__(
        self,
        builder: IndexBuilder,
        sites: dict[Operation, int],
        function: func.FuncOp,
        taken: set[str],
        explicit_barriers: bool = False,
    ):
        super().__init__(builder, sites)
        self.function = function
        self.explicit_barriers = explicit_barriers
        self.module_name = f"{function.sym_name.data}_kernels"
        self.kernels: list[Operation] = []
        self.own_kernels: dict[str, Operation] = {}
        """Those whose text is the user's, by name."""
        self.launches: list[Operation] = []
        self.overlaps = _overlaps(function)
        self.taken = taken
        """The names of kernels so far, which CUDA C shares between all functions."""
        self.deferred: dict[SSAValue, Operation] = {}
        """Values that only kernels can compute, and the operations that do."""
        self.pending: list[Operation] = []
        """Statements that await the launch they share."""
        self.cells: set[SSAValue] = set()
        """Buffers of one element that stay with the host."""

    def block(self, block: Block) -> None:
        """Lower a block of the host's. What it reads back from the device is known in it, and not behind it."""
        outside = dict(self.deferred)
        super().block(block)
        self.deferred = outside

    def operation(self, op: Operation) -> None:
        if isinstance(op, AllocOp | LoadOp | StoreOp) and op.memref in self.cells:
            return self._cell(op)
        if isinstance(op, StoreOp | AccumulateOp):
            self.pending.append(op)
            return
        if isinstance(op, PrefetchOp):
            return self.prefetch(op)
        if isinstance(op, LoadOp) and self._is_pending(op.memref):
            self.end_of_block()
        if launches(op):
            self.end_of_block()
            return self._own_kernel(op)
        if isinstance(op, IfOp | scf.WhileOp | scf.ConditionOp):
            self.end_of_block()
            return self._control(op)
        if isinstance(op, AllocOp | ForOp) and _is_hosts(op):
            return self._sized(op)
        if isinstance(op, IndexOp) and any(v in self.deferred for v in op.operands):
            return self._check_index(op)
        if isinstance(op, LoadOp) or any(v in self.deferred for v in op.operands):
            return self._defer(op)
        if isinstance(op, ForOp):
            self.end_of_block()
            return self._nest(op)
        if isinstance(op, cf.AssertOp | IndexOp) or raises(op) or OUTLINED in op.attributes:
            self.end_of_block()  # what is written before it has been written when it fails
        if op.regions:
            self.end_of_block()
        super().operation(op)

    def _cell(self, op: AllocOp | LoadOp | StoreOp) -> None:
        """What is done with an element of the host's."""
        self.builder.location = op.location
        if isinstance(op, AllocOp):
            segments = DenseArrayBase.from_list(i32, [0, 0])
            made = memref.AllocaOp.create(
                result_types=(op.memref.type,), properties={"operandSegmentSizes": segments}
            )
            self.builder.emit(made)
            self.define(op.memref, made.memref)
        elif isinstance(op, LoadOp):
            load = memref.LoadOp.get(self.value(op.memref), [])
            self.builder.emit(load)
            self.define(op.result, load.res)
        else:
            self.builder.emit(memref.StoreOp.get(self.value(op.value), self.value(op.memref), []))

    def _is_pending(self, buffer: SSAValue) -> bool:
        """Whether a statement that waits writes `buffer`: what reads it belongs to a later kernel."""
        written = (accesses(op)[1] for op in self.pending)
        return any(self.may_overlap(buffer, other) for one in written for other in one)

    def end_of_block(self) -> None:
        """Launch the statements that wait."""
        pending, self.pending = self.pending, []
        if pending:
            self.launch(pending)

    def _runs(self, block: Block) -> list[tuple[tuple[()], list[Operation]]]:
        return [((), list(block.ops))]

    def _defer(self, op: Operation) -> None:
        if op.regions and not isinstance(op, ForOp):
            raise fail(
                op,
                f"'{op.name}' on the host depends on an element of a buffer of the device",
                hint="pass the value as a scalar argument",
                error=LoweringError,
            )
        if isinstance(op, ForOp | cf.AssertOp) or raises(op):
            self.end_of_block()
            return self.launch([op])
        self.deferred.update((result, op) for result in op.results)

    def _check_index(self, op: IndexOp) -> None:
        """The host checks an index that is in memory of the device: a kernel would do so only where it runs and uses it."""
        self.end_of_block()
        for operand in op.operands:
            self._read_back(operand, op)
        super().operation(op)

    def _nest(self, op: ForOp) -> None:
        if op.kind not in BIND_AXES and is_bound(op):
            return super().operation(op)
        self.launch([op])

    def _sized(self, op: AllocOp | ForOp) -> None:
        """A buffer, or a loop around such as kernels cannot make: the host reads the sizes and bounds back."""
        self.end_of_block()
        for operand in op.operands:
            self._read_back(operand, op)
        super().operation(op)

    def _control(self, op: IfOp | scf.WhileOp | scf.ConditionOp) -> None:
        """A branch or loop around bound nests is the host's, which reads its condition back; else it is one thread's."""
        if isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            assert condition is not None
            is_hosts = is_bound(op) or _is_hosts(op) or is_known_to_host(condition.operands[0])
        else:
            is_hosts = isinstance(op, scf.ConditionOp) or is_bound(op) or _is_hosts(op)
        if not is_hosts:
            return self.launch([op])
        if not isinstance(op, scf.WhileOp):
            self._read_back(op.operands[0], op)
        super().operation(op)

    def _read_back(self, value: SSAValue, user: Operation) -> None:
        """Compute a deferred value on the host, from elements read from the device."""
        op = self.deferred.pop(value, None)
        if op is None:
            return
        for operand in op.operands:
            self._read_back(operand, user)
        if not isinstance(op, LoadOp):
            return super().operation(op)
        self._check_unchanged(op, user, is_read_back=True)
        load = memref.LoadOp.get(self.value(op.memref), self.index_values(op.indices))
        load.location = op.location
        self.builder.emit(load)
        self.define(op.result, load.res)

    def alloc(self, op: AllocOp) -> None:
        """A temporary on the device, whatever its size."""
        buffer = op.memref.type
        assert isinstance(buffer, MemRefType)
        if (space := declared_space(buffer)) is not None:
            raise fail(
                op,
                f'the buffer "{op.label.data}" is to be in {space} memory, but no loop around it is bound',
                hint="make it inside the loops bound to blocks",
                error=LoweringError,
            )
        sizes = [self.value(v) for v in op.sizes]
        new = memref.AllocOp.create(
            operands=sizes,
            result_types=(buffer,),
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [len(sizes), 0])},
        )
        self.builder.emit(new)
        self.define(op.memref, new.memref)
        self.heap_buffers.append(new.memref)

    # ---- kernels ----

    def launch(self, unit: Sequence[Operation]) -> None:
        """Make a kernel of `unit` and launch it here."""
        block = Block()
        builder = IndexBuilder(block, divides_early=True)
        body = KernelBody(builder, self.sites, unit, self.overlaps, self._is_explicit(unit))
        inputs = KernelInputs(self, self.function, body, unit)
        body.values = inputs
        needed = self._imported(unit)
        inputs.import_buffers([*needed, *unit])
        for op in needed:
            body.operation(op)
        for op in unit:
            body.operation(op)
        builder.location = unit[-1].location
        builder.emit(gpu_ext.ReturnOp.create())
        prepend(block, builder.prologue)
        tidy(block)
        self.builder.location = unit[0].location
        inputs.set_flag()
        name = self._name(unit)
        grid, threads = self._grid(body), self._block(body)
        self.kernels.append(self._kernel(name, block, inputs, threads, unit[0]))
        target = SymbolRefAttr(self.module_name, [name])
        constants = [self.builder.constant(t) for t in threads]
        segments = [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, len(inputs.operands), 0]
        launch = gpu_ext.LaunchFuncOp.create(
            operands=(*grid, *constants, *inputs.operands),
            properties={"kernel": target, "operandSegmentSizes": DenseArrayBase.from_list(i32, segments)},
        )
        self.launches.append(self.builder.emit(launch))

    def _own_kernel(self, call: Operation) -> None:
        """Launch a kernel of the user's."""
        assert isinstance(call, func.CallOp)
        self.builder.location = call.location
        launch = own_launch(self.builder, call, [self.value(v) for v in call.arguments], self.module_name)
        self.own_kernels.setdefault(launch.name, launch.kernel)
        self.builder.emit(launch.launch)

    def _is_explicit(self, unit: Sequence[Operation]) -> bool:
        """Whether the barriers of a kernel are those that it holds: nest-insert-barriers sees all of it."""
        (nest, *rest) = unit
        is_bound_loop = isinstance(nest, ForOp) and nest.kind in BIND_AXES
        return self.explicit_barriers and is_bound_loop and not rest and foreign_operation(nest) is None

    def _imported(self, unit: Sequence[Operation]) -> list[Operation]:
        """The deferred operations that `unit` depends on, in order."""
        found: dict[Operation, None] = {}

        def visit(value: SSAValue) -> None:
            op = self.deferred.get(value)
            if op is None or op in found:
                return
            for operand in op.operands:
                visit(operand)
            found[op] = None
            if isinstance(op, LoadOp):
                self._check_unchanged(op, unit[0])

        for op in unit:
            for inner in op.walk():
                for operand in inner.operands:
                    visit(operand)
        return list(found)

    def _check_unchanged(self, load: LoadOp, user: Operation, is_read_back: bool = False) -> None:
        """A load that moves into a later kernel, where each thread does it, must still find what it found where it stood; so
        must one that the host does right before `user`."""
        between: list[Operation] = []
        op = load.next_op
        while op is not None and op is not user:
            between.append(op)
            op = op.next_op
        if op is None and user.parent is load.parent:
            return  # launched with statements before the load, which write nothing that it reads
        if is_bound(user) and not is_read_back:
            between.append(user)
        for inner in (inner for op in between for inner in op.walk()):
            buffers = inner.memrefs if isinstance(inner, AccumulateOp) else ()
            buffers = (inner.memref,) if isinstance(inner, StoreOp) else buffers
            if isinstance(inner, func.CallOp) and launches(inner):
                buffers = filled_by(inner) or ()
            if any(self.may_overlap(b, load.memref) for b in buffers):
                raise fail(
                    load,
                    "this element is used after its buffer is overwritten, and the host cannot keep it",
                    hint="keep it in a buffer of rank 0",
                    notes=[(inner, "overwritten here")],
                    error=LoweringError,
                )

    def may_overlap(self, one: SSAValue, other: SSAValue) -> bool:
        return overlapping(self.overlaps, one, other)

    def _name(self, unit: Sequence[Operation]) -> str:
        label = ""
        for op in unit:
            for inner in op.walk():
                if isinstance(inner, StatementOp) and inner.statement:
                    label = inner.statement
        return self._fresh_name(label or "kernel")

    def _fresh_name(self, label: str) -> str:
        base = f"{self.function.sym_name.data}_{label}"
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in base)
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def name_the_only_kernel(self) -> None:
        """A function that is one kernel gives it its own name: `iou_kernel`."""
        if len(self.launches) != 1:
            return
        self.taken.discard(self.kernels[0].attributes["sym_name"].data)  # pyright: ignore[reportAttributeAccessIssue]
        name = self._fresh_name("kernel")
        self.kernels[0].attributes["sym_name"] = StringAttr(name)
        self.launches[0].properties["kernel"] = SymbolRefAttr(self.module_name, [name])

    def _grid(self, body: KernelBody) -> list[SSAValue]:
        """The size of the grid along x, y and z."""
        sizes = []
        for letter in "xyz":
            spans = body.spans.get(f"block.{letter}", [])
            values = [self.builder.affine(_host_form(s, body.host_of)) for s in spans]
            size = values[0] if values else self.builder.constant(1)
            for other in values[1:]:
                size = self.builder.value(arith.MaxSIOp, (size, other))
            sizes.append(size)
        return sizes

    def _block(self, body: KernelBody) -> tuple[int, int, int]:
        """The threads of a block along x, y and z."""
        used = [axis for axis in THREAD_AXES if axis in body.loops_on]
        shape = block_shape(
            {axis: max([1, *(s.constant for s in body.spans.get(axis, []))]) for axis in used}
        )
        if (why := too_many_threads(shape)) is not None:
            raise fail(
                body.loops_on[used[0]][0],
                why,
                hint="split the loop by a smaller factor",
                error=LoweringError,
            )
        return shape

    def _kernel(
        self, name: str, block: Block, inputs: KernelInputs, threads: list[int], at: Operation
    ) -> Operation:
        kernel = gpu_ext.FuncOp.create(
            properties={
                "function_type": FunctionType.from_lists([a.type for a in block.args], []),
                "kernel": UnitAttr(),
            },
            attributes={
                "sym_name": StringAttr(name),
                "arg_attrs": ArrayAttr(inputs.attributes()),
                "gpu.known_block_size": DenseArrayBase.from_list(i32, threads),
            },
            regions=[Region(block)],
        )
        kernel.location = at.location
        return kernel


def _is_hosts(op: Operation) -> bool:
    """Whether a loop or branch does what no kernel does: makes a buffer as big as only the run knows, not in bound loops, or
    launches a kernel of the user's."""
    if isinstance(op, ForOp) and op.kind in BIND_AXES:
        return False
    if isinstance(op, AllocOp):
        return bool(op.sizes)
    if launches(op):
        return True
    return any(_is_hosts(inner) for region in op.regions for block in region.blocks for inner in block.ops)


def _host_form(form: Linear, host_of: dict[SSAValue, SSAValue]) -> Linear:
    """A form over values of the kernel as one over values of the host."""

    def atom(a: SSAValue | Division) -> SSAValue | Division:
        if isinstance(a, Division):
            return Division(a.kind, _host_form(a.numerator, host_of), a.divisor)
        return host_of[a]

    return linear(((atom(a), c) for a, c in terms_of(form)), form.constant)


def _overlaps(function: func.FuncOp) -> dict[SSAValue, SSAValue]:
    """Arguments with the same `nest.alias_set`, each mapped to the first of them."""
    first: dict[Attribute, SSAValue] = {}
    found: dict[SSAValue, SSAValue] = {}
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    for argument, given in zip(function.body.block.args, attributes, strict=False):
        if ALIAS_SET in given.data:
            found[argument] = first.setdefault(given.data[ALIAS_SET], argument)
    return found
