"""nest-freeze: what depends on frozen arguments alone is computed by a function of its own, and passed in.

    func.func @f(%x: memref<64x512xf32>, %w: memref<512x512xf32> {nest.frozen}, %y: memref<64x512xf32> {nest.role = "out"}) {
      %panel = nest.alloc "panel" : memref<16x512x32xf32>
      nest.for ... { ... nest.store "panel" %a, %panel[...] }       // of %w
      nest.for ... { ... nest.load %panel[...] ... }
    }
  becomes
    func.func @f(%x: ..., %w: ..., %y: ..., %panel: memref<16x512x32xf32>) attributes {
        nestor.frozen = {function = "f_frozen", arguments = array<i64: 1>}} {
      nest.for ... { ... nest.load %panel[...] ... }
    }
    func.func @f_frozen(%w: memref<512x512xf32>, %panel: memref<16x512x32xf32> {nest.role = "out"}) {
      nest.for ... { ... nest.store "panel" %a, %panel[...] }
    }

An argument is `nest.frozen` where the caller promises that its elements are the same in every call. The caller then runs
`@f_frozen` once, with the arguments that `nestor.frozen` names, and gives `@f` what it has filled, after all others.
Only buffers of known extents move, and only whole nests of the function's block, in their order; a loop of one iteration
around several nests (what a schedule puts around a product with its panels) is removed first. Nests that can fail stay,
and so do those that fill a buffer again which what stays has read before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.loop_structure import is_check, structured_functions
from ....analysis.nest.sets.accesses import READ, accesses_of, argument_attribute, is_defined_outside
from ....analysis.nest.sets.frozen_buffers import is_frozen
from ....dialects.affine import AffineList
from ....dialects.attributes import DIMS, FROZEN_FUNCTION, ROLE
from ....dialects.nest import AllocOp, ForOp
from ..rewrite.loops import replace_index


def freeze(function: FuncOp) -> FuncOp | None:
    """Move what depends on frozen arguments alone to a function of its own; None where there is nothing."""
    if not any(is_frozen(argument) for argument in function.body.block.args):
        return None
    _open_unit_loops(function.body.block)
    plan = _Plan(function)
    return _outlined(function, plan) if plan.crossing else None


def _open_unit_loops(block: Block) -> None:
    """Remove loops of one iteration in which buffers are made. Bounds inside stay as a schedule has left them."""
    for loop in [op for op in block.ops if isinstance(op, ForOp)]:
        makes = any(isinstance(op, AllocOp) for op in loop.body.block.ops)
        if (
            not makes
            or loop.kind != "serial"
            or (loop.lower.constants(), loop.upper.constants()) != ((0,), (1,))
        ):
            continue
        replace_index(loop.iv, AffineList.of(0))
        for op in list(loop.body.block.ops):
            op.detach()
            block.insert_op_before(op, loop)
        loop.detach()
        loop.erase()


# ---- what can move ----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Plan:
    """What moves: nests in program order with what they need, and the buffers that the rest reads."""

    function: FuncOp
    moving: list[Operation] = field(default_factory=list)
    crossing: list[AllocOp] = field(default_factory=list)

    def __post_init__(self) -> None:
        block = self.function.body.block
        self._places = {op: k for k, op in enumerate(block.ops)}
        self._accesses = {op: [a for inner in op.walk() for a in accesses_of(inner)] for op in block.ops}
        self._outer = {op: _values_from_outside(op) for op in block.ops}
        self._failing = {op for op in block.ops if any(map(is_check, op.walk()))}
        self._touched: dict[SSAValue | None, dict[Operation, set[str]]] = {}
        for op, accesses in self._accesses.items():
            for access in accesses:
                self._touched.setdefault(access.root, {}).setdefault(op, set()).add(access.kind)
        buffers = {op for op in block.ops if isinstance(op, AllocOp) and _is_static(op)}
        while True:
            found = self._known(buffers)
            spoilt = {b for b in buffers if self._is_spoilt(b, found)}
            if not spoilt:
                break
            buffers -= spoilt
        self._choose(buffers, found)

    def _is_spoilt(self, alloc: AllocOp, found: set[Operation]) -> bool:
        """Whether what stays writes a buffer, or reads it before the last nest that writes it, which would come first."""
        writers, readers = self._users(alloc, True), self._users(alloc, False)
        if any(top not in found for top in writers):
            return True
        stays = [self._places[top] for top in readers if top not in found]
        return bool(stays and writers) and min(stays) < self._places[writers[-1]]

    def _known(self, buffers: set[AllocOp]) -> set[Operation]:
        """The operations of the block that need frozen arguments, numbers and `buffers` only, and write only these."""
        found: set[Operation] = set()
        for op in self.function.body.block.ops:
            if op in buffers or (
                not isinstance(op, AllocOp | ReturnOp) and self._is_known(op, buffers, found)
            ):
                found.add(op)
        return found

    def _is_known(self, op: Operation, buffers: set[AllocOp], found: set[Operation]) -> bool:
        if op in self._failing or not all(self._is_given(value, found) for value in self._outer[op]):
            return False
        for access in self._accesses[op]:
            root = access.root
            if root is None:
                return False
            own = isinstance(root.owner, AllocOp) and (
                root.owner in buffers or not is_defined_outside(root, op)
            )
            if not own and not (access.kind == READ and is_frozen(root)):
                return False
        return True

    def _is_given(self, value: SSAValue, found: set[Operation]) -> bool:
        """Whether a value is the same in every call: a frozen argument, or of an operation that is."""
        return value.owner in found if isinstance(value.owner, Operation) else is_frozen(value)

    def _users(self, alloc: AllocOp, wanted: bool) -> list[Operation]:
        """The operations of the block that write a buffer, or (not `wanted`) that read it only."""
        kinds: dict[Operation, set[str]] = {}
        for root in (alloc.memref, None):
            for op, found in self._touched.get(root, {}).items():
                kinds.setdefault(op, set()).update(found)
        users = [op for op, found in kinds.items() if (found != {READ}) == wanted]
        return sorted(users, key=self._places.__getitem__)

    def _writers(self, alloc: AllocOp) -> list[Operation]:
        return self._users(alloc, True)

    def _choose(self, buffers: set[AllocOp], found: set[Operation]) -> None:
        """The buffers that the rest reads and that depend on an argument, and all that fills them."""
        order = list(self.function.body.block.ops)
        for alloc in [op for op in order if isinstance(op, AllocOp) and op in buffers]:
            needed = self._needed([alloc, *self._writers(alloc)])
            reads = any(is_frozen(value) for op in needed for value in self._outer[op])
            if reads and any(top not in found for top in self._users(alloc, False)):
                self.crossing.append(alloc)
        needed = self._needed([op for alloc in self.crossing for op in (alloc, *self._writers(alloc))])
        self.moving = [op for op in order if op in needed]
        allocs = [op for op in self.moving if isinstance(op, AllocOp)]
        self.crossing = [a for a in allocs if any(top not in needed for top in self._users(a, False))]

    def _needed(self, wanted: list[Operation]) -> set[Operation]:
        """These operations, and those that they need: values, and what fills the buffers that they read."""
        needed: set[Operation] = set()
        work = list(wanted)
        while work:
            op = work.pop()
            if op in needed:
                continue
            needed.add(op)
            for value in self._outer[op]:
                if isinstance(value.owner, Operation):
                    work.append(value.owner)
                    if isinstance(value.owner, AllocOp):
                        work += self._writers(value.owner)
        return needed


def _values_from_outside(op: Operation) -> list[SSAValue]:
    """The operands of an operation, and of those in it, that are made outside of it."""
    return list(dict.fromkeys(v for inner in op.walk() for v in inner.operands if is_defined_outside(v, op)))


def _is_static(alloc: AllocOp) -> bool:
    return not alloc.operands and DYNAMIC_INDEX not in alloc.memref.type.get_shape()  # pyright: ignore


# ---- moving -----------------------------------------------------------------------------------------


def _outlined(function: FuncOp, plan: _Plan) -> FuncOp:
    """The function that fills the buffers; here they are arguments."""
    name = f"{function.sym_name.data}_frozen"
    arguments = list(function.body.block.args)
    given = [
        argument
        for argument in arguments
        if any(value is argument for op in plan.moving for one in op.walk() for value in one.operands)
    ]
    crossing = [alloc.memref for alloc in plan.crossing]
    body = Block(arg_types=[value.type for value in (*given, *crossing)])
    mapper: dict[SSAValue, SSAValue] = dict(zip((*given, *crossing), body.args, strict=True))
    for argument, value in zip(body.args, (*given, *crossing), strict=True):
        argument.name_hint = value.name_hint
    for op in plan.moving:
        if op not in plan.crossing:
            body.add_op(op.clone(mapper))
    body.add_op(ReturnOp())
    attributes = [_attributes(function, argument) for argument in given]
    attributes += [DictionaryAttr({ROLE: StringAttr("out")}) for _ in crossing]
    made = FuncOp(name, FunctionType.from_lists([a.type for a in body.args], []), Region(body))
    made.properties["arg_attrs"] = ArrayAttr(attributes)
    made.location = function.location
    module = function.parent
    assert module is not None
    module.insert_op_after(made, function)
    _pass_in(function, plan)
    places = DenseArrayBase.from_list(i64, [arguments.index(argument) for argument in given])
    function.attributes[FROZEN_FUNCTION] = DictionaryAttr({"function": StringAttr(name), "arguments": places})
    return made


def _attributes(function: FuncOp, argument: SSAValue) -> DictionaryAttr:
    """What is said of an argument, but not that it is frozen."""
    kept: dict[str, Attribute] = {}
    if (dims := argument_attribute(argument, DIMS)) is not None:
        kept[DIMS] = dims
    return DictionaryAttr(kept)


def _pass_in(function: FuncOp, plan: _Plan) -> None:
    """The buffers become the last arguments; nests that fill them go, and so does what nothing else uses."""
    block = function.body.block
    said = (
        list(function.arg_attrs.data)
        if function.arg_attrs is not None
        else [DictionaryAttr({})] * len(block.args)
    )
    for alloc in plan.crossing:
        argument = block.insert_arg(alloc.memref.type, len(block.args))
        argument.name_hint = alloc.memref.name_hint or buffer_name(alloc.memref)
        alloc.memref.replace_all_uses_with(argument)
        said.append(DictionaryAttr({}))
    for op in reversed(plan.moving):
        if op.regions or not any(list(result.uses) for result in op.results):
            op.detach()
            op.erase()
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
    function.properties["arg_attrs"] = ArrayAttr(said)


@dataclass(frozen=True, eq=False)
class NestFreezePass(ModulePass):
    """Move what depends on frozen arguments alone to functions of its own."""

    name = "nest-freeze"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in structured_functions(op):
            freeze(function)
