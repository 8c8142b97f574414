"""The state of one function on its way to the llvm dialect: values, memory references, blocks, live buffers.

`FunctionBuilder` appends llvm operations to the current block while the source is walked once, in order.
A parallel body is a second builder whose `parent` is the function around it: a value that the body uses
but does not define becomes a parameter (or, for a constant, is made again) the moment it is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerType,
    SymbolRefAttr,
    VectorType,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import llvm as ext
from ...dialects.ext import llvm_intrinsics as intr
from ...dialects.ext.llvm_intrinsics import NO_FASTMATH
from .types import (
    ANYWHERE,
    C_CONVENTION,
    INBOUNDS,
    NO_BUNDLES,
    NO_SLP_HERE,
    NO_TAIL_CALL,
    NSW,
    PTR,
    SCALAR_LOOPS,
    SSA_INDEX,
    UNIT,
    VOID,
    MemRef,
    ModuleState,
    Size,
    index_list,
    int_attr,
    prefer_vectors_of,
)

Handler = Callable[["FunctionBuilder", Any], None]

_MODULES = {"llvm": llvm, "ext": ext, "intr": intr}


@functools.cache
def llvm_class(name: str) -> type[Operation]:
    """The class called `llvm.X` (xDSL's), `ext.X` or `intr.X` (ours): tables name it, for it is made when it is used."""
    module, _, kind = name.partition(".")
    return getattr(_MODULES[module], kind)


def _bits_of_bfloat(type: Attribute) -> Attribute | None:
    """The integers that bfloat16 are in memory, for LLVM's passes: of 22.1 some make vectors of bfloat16 (of 65, say) from
    scalars next to each other, which its code generation does not know. None of other types."""
    if isinstance(type, VectorType):
        return VectorType(i16, type.shape) if isinstance(type.element_type, BFloat16Type) else None
    return i16 if isinstance(type, BFloat16Type) else None


class FunctionBuilder:
    """Appends to one function. `name` is the source function's; `parent` is set for a parallel body."""

    def __init__(
        self,
        module: ModuleState,
        name: str,
        handler_of: Callable[[str], Handler | None],
        parent: FunctionBuilder | None = None,
    ):
        self.module = module
        self.name = name
        self.handler_of = handler_of
        self.parent = parent
        self.entry = self.block = Block()
        self.region = Region(self.entry)
        self.location: Any = None
        self.error_record: SSAValue | None = None
        self.has_scalar_loop = False
        self.may_use_slp = True
        self.may_fail = False
        self.parallel_regions = 0
        self.captured: dict[SSAValue, SSAValue] = {}
        self.noalias_arguments: set[SSAValue] = set()
        self.read: set[SSAValue] = set()
        self.written: set[SSAValue] = set()
        self._values: dict[SSAValue, SSAValue] = {}
        self._memrefs: dict[SSAValue, MemRef] = {}
        self._constants: dict[tuple[Any, Attribute], SSAValue] = {}
        self._prologue: list[Operation] = []
        self._buffers: list[list[MemRef]] = [[]]
        self._given_away: set[SSAValue] = set()
        self._exits: dict[tuple[SSAValue, ...], Block] = {}

    # --- values ------------------------------------------------------------------------------------------

    def value(self, source: SSAValue) -> SSAValue:
        """The llvm value of a scalar or vector of the source."""
        lowered = self._values.get(source)
        if lowered is not None:
            return lowered
        if self.parent is None:
            raise fail(
                source.owner,
                f"a value of type {source.type} is used here as a scalar or vector",
                error=LoweringError,
            )
        lowered = self._values[source] = self.capture(self.parent.value(source))
        return lowered

    def index(self, source: SSAValue) -> Size:
        """The llvm value of an index, as a Python integer where it is constant."""
        value = self.value(source)
        owner = value.owner
        return owner.value.value.data if isinstance(owner, llvm.ConstantOp) else value  # type: ignore[union-attr]

    def memref(self, source: SSAValue) -> MemRef:
        """The parts of a memref of the source."""
        ref = self._memrefs.get(source)
        if ref is not None:
            return ref
        if self.parent is None:
            raise fail(
                source.owner,
                "this memref cannot be traced to an argument or an allocation",
                error=LoweringError,
            )
        ref = self._memrefs[source] = self._capture_memref(self.parent.memref(source))
        return ref

    def bind(self, source: SSAValue, lowered: SSAValue) -> None:
        if (
            lowered.name_hint is None
            and source.name_hint is not None
            and not isinstance(lowered.owner, Block)
        ):
            lowered.name_hint = source.name_hint
        self._values[source] = lowered

    def bind_memref(self, source: SSAValue, ref: MemRef) -> None:
        self._memrefs[source] = ref

    def capture(self, outer: SSAValue) -> SSAValue:
        """What the enclosing function's value is called in this one: a constant, or a parameter."""
        if isinstance(outer.owner, llvm.ConstantOp):
            return self.constant_attribute(outer.owner.value, outer.type)
        if outer not in self.captured:
            arg = self.entry.insert_arg(outer.type, len(self.entry.args))
            arg.name_hint = outer.name_hint
            self.captured[outer] = arg
        return self.captured[outer]

    def _capture_memref(self, outer: MemRef) -> MemRef:
        base = self.capture(outer.base)
        if outer.noalias:
            self.noalias_arguments.add(base)
        return MemRef(
            base,
            self._capture_size(outer.offset),
            tuple(map(self._capture_size, outer.sizes)),
            tuple(map(self._capture_size, outer.strides)),
            outer.element,
            outer.noalias,
        )

    def _capture_size(self, size: Size) -> Size:
        return size if isinstance(size, int) else self.capture(size)

    # --- constants ---------------------------------------------------------------------------------------

    def constant_attribute(self, value: Attribute, type: Attribute) -> SSAValue:
        key = (value, type)
        found = self._constants.get(key)
        if found is None:
            op = llvm.ConstantOp.create(properties={"value": value}, result_types=[type])
            self._prologue.append(op)
            found = self._constants[key] = op.result
        return found

    def integer(self, value: int, type: IntegerType = i64) -> SSAValue:
        return self.constant_attribute(int_attr(value, type), type)

    def splat(self, value: float, type: Any) -> SSAValue:
        """A constant of a scalar or vector type, all elements alike."""
        if isinstance(type, VectorType):
            return self.dense([value], type)
        attribute = int_attr(int(value), type) if isinstance(type, IntegerType) else FloatAttr(value, type)
        return self.constant_attribute(attribute, type)

    def dense(self, values: Sequence[Any], vector: Any) -> SSAValue:
        return self.constant_attribute(DenseIntOrFPElementsAttr.from_list(vector, values), vector)

    def size(self, size: Size) -> SSAValue:
        return self.integer(size) if isinstance(size, int) else size

    # --- operations --------------------------------------------------------------------------------------

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute | None = None,
        properties: Mapping[str, Attribute] | None = None,
        hint: str | None = None,
    ) -> Any:
        """Append one operation; its result, or None when it has none."""
        op = kind.create(
            operands=operands,
            result_types=() if result is None else (result,),
            properties=properties or {},
            location=self.location,
        )
        self.block.add_op(op)
        if result is None:
            return None
        value = op.results[0]
        if hint is not None:
            value.name_hint = hint
        return value

    def binary(self, kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.emit(kind, (lhs, rhs), lhs.type)

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        code = llvm.ICmpPredicateFlag(predicate).to_int()
        result = VectorType(i1, lhs.type.shape) if isinstance(lhs.type, VectorType) else i1
        return self.emit(ext.ICmpOp, (lhs, rhs), result, {"predicate": int_attr(code)})

    def select(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.emit(ext.SelectOp, (condition, lhs, rhs), lhs.type, {"fastmathFlags": NO_FASTMATH})

    def add(self, lhs: Size, rhs: Size) -> Size:
        """Sum of two index quantities, folded where known; index arithmetic does not wrap."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if lhs == 0 or rhs == 0:
            return rhs if lhs == 0 else lhs
        return self.emit(llvm.AddOp, (self.size(lhs), self.size(rhs)), i64, {"overflowFlags": NSW})

    def multiply(self, lhs: Size, rhs: Size) -> Size:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs * rhs
        if lhs == 0 or rhs == 0:
            return 0
        if lhs == 1 or rhs == 1:
            return rhs if lhs == 1 else lhs
        return self.emit(llvm.MulOp, (self.size(lhs), self.size(rhs)), i64, {"overflowFlags": NSW})

    def gep(
        self,
        pointer: SSAValue,
        index: Size,
        element: Attribute,
        result: Attribute = PTR,
        inbounds: bool = True,
    ) -> SSAValue:
        if index == 0:
            return pointer
        properties = {
            "elem_type": element,
            "noWrapFlags": INBOUNDS if inbounds else ANYWHERE,
            "rawConstantIndices": SSA_INDEX,
        }
        if inbounds:
            properties["inbounds"] = UNIT
        if isinstance(index, int):
            index = self.integer(index)
        return self.emit(ext.GEPOp, (pointer, index), result, properties)

    def call(
        self, name: str, operands: Sequence[SSAValue], result: Attribute | None, fastmath: Any = None
    ) -> Any:
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(name),
            "fastmathFlags": fastmath or NO_FASTMATH,
            "CConv": C_CONVENTION,
            "op_bundle_sizes": NO_BUNDLES,
            "TailCallKind": NO_TAIL_CALL,
            "operandSegmentSizes": index_list(len(operands), 0),
        }
        return self.emit(llvm.CallOp, operands, result, properties)

    # --- blocks ------------------------------------------------------------------------------------------

    def new_block(self, types: Sequence[Attribute] = ()) -> Block:
        """A block that is not placed yet: see `start`."""
        return Block(arg_types=types)

    def start(self, block: Block) -> None:
        """Place `block` after the others and append to it from now on."""
        self.region.add_block(block)
        self.block = block

    def branch(
        self, target: Block, arguments: Sequence[SSAValue] = (), annotation: Attribute | None = None
    ) -> None:
        self._terminate(llvm.BrOp, arguments, [target], None, annotation)

    def branch_if(
        self,
        condition: SSAValue,
        then: Block,
        then_arguments: Sequence[SSAValue],
        otherwise: Block,
        else_arguments: Sequence[SSAValue],
        annotation: Attribute | None = None,
        profile: Mapping[str, Attribute] | None = None,
    ) -> None:
        """End the block with a branch; `profile` says where its ways are counted, or how often each is taken."""
        counts = index_list(1, len(then_arguments), len(else_arguments))
        operands = [condition, *then_arguments, *else_arguments]
        self._terminate(llvm.CondBrOp, operands, [then, otherwise], counts, annotation)
        assert self.block.last_op is not None
        self.block.last_op.attributes.update(profile or {})

    def _terminate(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        successors: Sequence[Block],
        segments: Attribute | None,
        annotation: Attribute | None,
    ) -> None:
        op = kind.create(
            operands=operands,
            successors=successors,
            properties={"operandSegmentSizes": segments} if segments else {},
            attributes={"loop_annotation": annotation} if annotation else {},
            location=self.location,
        )
        self.block.add_op(op)

    def lower_block(self, block: Block) -> Operation | None:
        """Lower the operations of a source block; the terminator is left to the caller, and returned."""
        self._buffers.append([])
        op = block.first_op
        last = block.last_op
        while op is not None and op is not last:
            self.lower(op)
            op = op.next_op
        terminator = last if last is not None and self.handler_of(last.name) is None else None
        if last is not None and terminator is None:
            self.lower(last)
        for ref in reversed(self._buffers.pop()):
            self.free(ref)
        return terminator

    def lower(self, op: Operation) -> None:
        handler = self.handler_of(op.name)
        if handler is None:
            raise fail(
                op,
                f"convert-to-llvm has no translation for {op.name}",
                hint=_HINTS.get(op.name.partition(".")[0]),
                error=LoweringError,
            )
        self.location = op.location
        handler(self, op)

    # --- buffers and errors ------------------------------------------------------------------------------

    def own_buffer(self, ref: MemRef) -> None:
        """Free `ref` at the end of the block that is being lowered, and on every error exit until then."""
        self._buffers[-1].append(ref)

    def release_buffer(self, op: Operation, ref: MemRef) -> None:
        """An explicit dealloc of a buffer of the block that is being lowered."""
        if ref.base in self._given_away:
            return
        mine = [owned for owned in self._buffers[-1] if owned.base is ref.base]
        if not mine:
            raise fail(
                op,
                "deallocates a buffer that is not allocated in the same block",
                hint="leave it out: a buffer is freed at the end of the block that allocates it",
                error=LoweringError,
            )
        self._buffers[-1].remove(mine[0])
        self.free(ref)

    def disown(self, ref: MemRef) -> bool:
        """Give away a buffer of the block that is being lowered, instead of freeing it; False where it is none."""
        mine = [owned for owned in self._buffers[-1] if owned.base is ref.base]
        if mine:
            self._buffers[-1].remove(mine[0])
            self._given_away.add(ref.base)
        return bool(mine)

    def free(self, ref: MemRef) -> None:
        self.call(self.module.declare("free", [PTR], VOID), [ref.base], None)

    def fail_unless(
        self, condition: SSAValue, code: Size, site: Size, value: Size = 0, extent: Size = 0
    ) -> None:
        """Go on when `condition` holds; else fill the error record, free the live buffers, and return."""
        self.may_fail = True
        go_on = self.new_block()
        record = [self.size(word) for word in (code, site, value, extent)]
        self.branch_if(condition, go_on, (), self._exit_block(), record)
        self.start(go_on)

    def _exit_block(self) -> Block:
        live = tuple(ref.base for scope in self._buffers for ref in scope)
        if live not in self._exits:
            self._exits[live] = self.new_block([i64] * 4)
        return self._exits[live]

    def _emit_exit(self, live: tuple[SSAValue, ...], block: Block) -> None:
        self.start(block)
        code = block.args[0]
        for argument, name in zip(block.args, ("code", "site", "value", "extent"), strict=True):
            argument.name_hint = name
        record = self.error()
        for k, word in enumerate(block.args):
            self.store(word, self.gep(record, k, i64))
        for base in reversed(live):
            self.call(self.module.declare("free", [PTR], VOID), [base], None)
        if self.parent is not None:
            self.emit(llvm.ReturnOp, ())
            return
        status = self.emit(llvm.TruncOp, (code,), i32)
        self.emit(llvm.ReturnOp, (status,))

    def error(self) -> SSAValue:
        """The pointer to the error record (a captured value in a parallel body)."""
        if self.error_record is None:
            assert self.parent is not None
            self.error_record = self.capture(self.parent.error())
        return self.error_record

    def load(
        self, pointer: SSAValue, type: Attribute, alignment: int = 8, hint: str | None = None
    ) -> SSAValue:
        properties = {"alignment": int_attr(alignment), "ordering": int_attr(0)}
        bits = _bits_of_bfloat(type)
        if bits is None:
            return self.emit(llvm.LoadOp, (pointer,), type, properties, hint)
        return self.emit(
            llvm.BitcastOp, (self.emit(llvm.LoadOp, (pointer,), bits, properties),), type, None, hint
        )

    def store(self, value: SSAValue, pointer: SSAValue, alignment: int = 8, streaming: bool = False) -> None:
        properties: dict[str, Attribute] = {
            "alignment": int_attr(alignment),
            "ordering": int_attr(0),
        }
        if streaming:
            properties["nontemporal"] = UNIT
        if (bits := _bits_of_bfloat(value.type)) is not None:
            value = self.emit(llvm.BitcastOp, (value,), bits)
        self.emit(llvm.StoreOp, (value, pointer), None, properties)

    def alloca(self, type: Attribute, alignment: int, hint: str | None = None) -> SSAValue:
        """Stack memory of the function, allocated on entry whatever block asks for it."""
        size = self.integer(1)
        op = llvm.AllocaOp.create(
            operands=[size],
            result_types=[PTR],
            properties={"alignment": int_attr(alignment), "elem_type": type},
            location=self.location,
        )
        if hint is not None:
            op.res.name_hint = hint
        self._prologue.append(op)
        return op.res

    def function_attributes(self) -> list[Attribute]:
        """String attributes of the function: vector width, and whether LLVM may vectorize loops here."""
        attributes = [prefer_vectors_of(self.module.cpu.vector_bits)]
        if self.has_scalar_loop:
            attributes.append(SCALAR_LOOPS)
            if not self.may_use_slp:
                attributes.append(NO_SLP_HERE)
        return attributes

    def finish(self) -> None:
        """Place the error exits, then constants and stack memory at the head of the entry block."""
        for live, block in self._exits.items():
            self._emit_exit(live, block)
        first = self.entry.first_op
        assert first is not None
        self.entry.insert_ops_before(self._prologue, first)


_HINTS = {
    "nt": "run the pipeline up to convert-nest-to-scf first (-p cpu runs all of it)",
    "nest": "run convert-nest-to-scf first",
    "special": "run expand-math first: it writes functions as arithmetic",
    "math": "run expand-math first: it writes transcendental functions as arithmetic",
}
