"""nest-split-steps: a function with a loop over steps as three: the first steps, a few more, and what is after the loop.

    func.func @f(%x, %y out) {
      ... %y[i] = %x[i]
      nest.for "t" %t = 0 to 20 { ... %y[i] = %y[i - 1] + %y[i + 1] }
      ... %y[i] *= 2
    }

becomes with count=2

    func.func @f_before(%x, %y out) {
      ... %y[i] = %x[i]
      ... %y[i] = %y[i - 1] + %y[i + 1]                  // two times
    }
    func.func @f_steps(%x, %y out, %y_before, %t_first) {
      ... %y[i] = %y_before[i]
      ... %y[i] = %y[i - 1] + %y[i + 1]                  // two times
    }
    func.func @f_after(%x, %y out, %y_before) {
      ... %y[i] = %y_before[i]
      ... %y[i] *= 2
    }

so that a chunk of `y` after many steps is computed from chunks of `y` after fewer, with the halo of a few. What one function
hands on to another is a buffer that it writes and that one reads: a result of the first, an input of the second. Inputs and
results of the function stay arguments of each. The number of the first step is an argument where steps use it.

A loop over steps is directly in the function, and no index depends on the number of a step (`nest-unroll-steps`). Refused
where an operation is not known to read or write elements, and where a number that was read before the loop is of a buffer
that changes after. No other system has this as a rewrite; trapezoids in time (Frigo and Strumpen) and Pochoir's zoids cut
both axes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.memref import DimOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import structured_functions
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.values.extent_keys import extent_key
from ....dialects.affine import AffineList
from ....dialects.attributes import DIMS, ROLE
from ....dialects.diagnostic import fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, IndexOp, LoadOp, StoreOp, YieldOp
from ....dialects.nest.common import INDEX
from ..cleanup.eliminate_dead import eliminate_dead
from ..rewrite.loops import fresh_names
from .unroll import constant_trips, unroll, why_not_unroll
from .unroll_steps import is_step

BEFORE, STEPS, AFTER = "before", "steps", "after"
"""The three functions."""


@dataclass(eq=False)
class Stage:
    """One of the three functions: what it takes and gives, by the number of a buffer (`SplitLoop.buffers`)."""

    function: FuncOp
    takes: dict[int, int] = field(default_factory=dict)
    """The argument that holds a buffer as the function before has left it."""
    gives: dict[int, int] = field(default_factory=dict)
    """The argument that a buffer is written to."""
    first: int | None = None
    """The argument that is the number of the first step."""


def step_loop(function: FuncOp, more_than: int) -> ForOp | None:
    """The first loop over more than so many steps, a constant number, that is directly in a function."""
    for loop in function.body.block.ops:
        if not isinstance(loop, ForOp) or not is_step(loop) or loop.kind != "serial" or loop.step_value != 1:
            continue
        if (constant_trips(loop) or 0) > more_than and loop.lower.constants() == (0,):
            return loop
    return None


class SplitLoop:
    """A function around a loop over steps: which buffers are written and read where."""

    def __init__(self, function: FuncOp, loop: ForOp):
        self.function, self.loop = function, loop
        self.steps = constant_trips(loop) or 0
        ops = list(function.body.block.ops)
        at = ops.index(loop)
        self.parts = {BEFORE: ops[:at], STEPS: [loop], AFTER: ops[at + 1 :]}
        made = [op.memref for op in ops if isinstance(op, AllocOp)]
        results = [a for a, one in zip(function.args, _attributes(function), strict=True) if ROLE in one]
        self.results = list(range(len(results)))
        """The numbers of the buffers that are results."""
        self.buffers: list[SSAValue] = [*results, *made]
        number = {buffer: k for k, buffer in enumerate(self.buffers)}
        self.written: dict[str, set[int]] = {}
        self.touched: dict[str, set[int]] = {}
        for part, inside in self.parts.items():
            writes = [buffer for op in inside for buffer in _written(op)]
            reads = [buffer for op in inside for buffer in _read(op)]
            self.written[part] = {number[one] for one in writes if one in number}
            self.touched[part] = {number[one] for one in (*writes, *reads) if one in number}
        self._check()

    def _check(self) -> None:
        for op in self.function.walk():
            known = LoadOp | StoreOp | AccumulateOp | AllocOp | ForOp | IfOp | IndexOp | YieldOp | ReturnOp
            known = known | DimOp | FuncOp
            has_buffers = any(isinstance(one.type, MemRefType) for one in (*op.operands, *op.results))
            is_pure = is_side_effect_free(op) and not has_buffers
            is_own_check = isinstance(op, IndexOp) and op.parent is self.function.body.block
            if (not isinstance(op, known) and not is_pure) or is_own_check:
                raise fail(op, "cannot split steps: it is not known what the operation reads and writes")
        changed = {self.buffers[k] for k in self.written[STEPS] | self.written[AFTER]}
        for op in self.parts[BEFORE]:
            if isinstance(op, LoadOp) and self._is_needed_later(op):
                later = self.parts[BEFORE][self.parts[BEFORE].index(op) + 1 :]
                again = {buffer for one in later for buffer in _written(one)} | changed
                if root_of(op.memref) in again:
                    raise fail(op, "cannot split steps: what is read before the loop changes after")

    def _is_needed_later(self, load: LoadOp) -> bool:
        todo, seen = [load], set[Operation]()
        before = set(self.parts[BEFORE])
        while todo:
            for user in [use.operation for result in todo.pop().results for use in result.uses]:
                top = _top(user, self.function)
                if top not in before:
                    return True
                if user is top and user not in seen:
                    seen.add(user)
                    todo.append(user)  # pyright: ignore[reportArgumentType]
        return False

    # ---- what each of the functions takes and gives --------------------------------------------------

    def taken(self, part: str) -> set[int]:
        """The buffers that a function takes as the ones before have left them."""
        earlier = self.written[BEFORE] if part == STEPS else self.written[BEFORE] | self.written[STEPS]
        own = self.written[STEPS] if part == STEPS else set()
        return set() if part == BEFORE else self._needed(part) & (earlier | own)

    def given(self, part: str) -> set[int]:
        """The buffers that a function writes and that others, or the caller, read."""
        if part == AFTER:
            return self.written[AFTER] & set(self.results)
        wanted = {*self._needed(STEPS), *self._needed(AFTER), *self.results}
        written = self.written[part] | (self.written[STEPS] if part == BEFORE else set())
        return written & wanted

    def last_writer(self, result: int) -> str | None:
        """The function that writes a result last."""
        return next((part for part in (AFTER, STEPS, BEFORE) if result in self.written[part]), None)

    def _needed(self, part: str) -> set[int]:
        """What a part touches, and what was read before the loop for it."""
        loads = [op for op in self.parts[BEFORE] if isinstance(op, LoadOp) and self._is_needed_later(op)]
        read = {
            k for k, buffer in enumerate(self.buffers) if any(root_of(op.memref) is buffer for op in loads)
        }
        return self.touched[part] | read

    # ---- the functions --------------------------------------------------------------------------------

    def make(self, part: str, count: int = 1) -> Stage:
        """Make the function one of the three, in place. The first does `count` steps as well, the second that many."""
        function, block = self.function, self.function.body.block
        taken, given = self.taken(part), self.given(part)
        stage = Stage(function)
        anchor = self.loop if part == STEPS else self._first_statement(self.parts[AFTER])
        attributes = _attributes(function)
        if part != BEFORE:
            for k in sorted(taken):
                stage.takes[k] = self._take(k, is_written=k in self.written[part], before=anchor)
                attributes.append(self._said(self.buffers[k]))
            self._erase([op for op in self.parts[BEFORE] if not isinstance(op, LoadOp)])
        if part == AFTER:
            self._erase(self.parts[STEPS])
        if part == STEPS and self.loop.iv.uses:
            stage.first = len(block.args)
            first = block.insert_arg(INDEX, len(block.args))
            first.name_hint = f"{self.loop.label}_first"
            attributes.append({})
            self._count_from(first)
        for k in sorted(given):
            if k in self.results:
                stage.gives[k] = _place(self.buffers[k])
                continue
            stage.gives[k] = len(block.args)
            attributes.append(self._said(self.buffers[k]) | {ROLE: StringAttr("out")})
            self._give(k)
        _sign(function, attributes)
        if part != AFTER:
            self._erase(self.parts[AFTER])
            self.loop.set_bounds(AffineList.of(0), AffineList.of(count))
            if (refusal := why_not_unroll(self.loop)) is not None:
                raise refusal
            unroll(self.loop)
        eliminate_dead(function)
        return stage

    def _take(self, k: int, *, is_written: bool, before: Operation) -> int:
        """An argument for a buffer as it was left: copied to the buffer where that is written, else in its place."""
        buffer, block = self.buffers[k], self.function.body.block
        place = len(block.args)
        argument = block.insert_arg(buffer.type, place)
        argument.name_hint = f"{buffer.name_hint or 'buffer'}_before"
        if is_written:
            _copy(argument, buffer, before)
            for op in self.parts[BEFORE]:  # what is read before the loop for later
                if isinstance(op, LoadOp) and root_of(op.memref) is buffer:
                    op.operands = [argument if value is buffer else value for value in op.operands]
            return place
        mine = {*self.parts[BEFORE]}
        for use in list(buffer.uses):
            op = use.operation
            if isinstance(op, LoadOp) or _top(op, self.function) not in mine:
                op.operands = [argument if value is buffer else value for value in op.operands]
        return place

    def _give(self, k: int) -> None:
        """The buffer is an argument that is written."""
        buffer, block = self.buffers[k], self.function.body.block
        argument = block.insert_arg(buffer.type, len(block.args))
        argument.name_hint = buffer.name_hint
        owner = buffer.owner
        assert isinstance(owner, AllocOp)
        buffer.replace_all_uses_with(argument)
        self.buffers[k] = argument
        for part in self.parts.values():
            if owner in part:
                part.remove(owner)
        owner.detach()
        owner.erase()

    def _count_from(self, first: SSAValue) -> None:
        loop = self.loop
        uses = list(loop.iv.uses)
        number = arith.AddiOp(loop.iv, first)
        number.location = loop.location
        at = loop.body.block.first_op
        assert at is not None
        loop.body.block.insert_op_before(number, at)
        for use in uses:
            use.operation.operands[use.index] = number.result

    def _said(self, buffer: SSAValue) -> dict[str, Attribute]:
        """The names of the extents of a buffer, for an argument like it."""
        assert isinstance(buffer.type, MemRefType)
        keys = [extent_key(buffer, axis) for axis in range(buffer.type.get_num_dims())]
        if not all(isinstance(key, str | int) for key in keys):
            return {}
        names = [IntegerAttr(key, i64) if isinstance(key, int) else StringAttr(str(key)) for key in keys]
        return {DIMS: ArrayAttr(names)}

    def _first_statement(self, ops: Sequence[Operation]) -> Operation:
        return next(op for op in ops if not is_side_effect_free(op) or isinstance(op, ReturnOp))

    def _erase(self, ops: Sequence[Operation]) -> None:
        """Erase the statements among these, and what is not used any more."""
        block = self.function.body.block
        for op in reversed(ops):
            is_statement = isinstance(op, ForOp | IfOp | StoreOp | AccumulateOp)
            if op.parent is block and (is_statement or _is_unused(op)) and not isinstance(op, ReturnOp):
                op.detach()
                op.erase()


def _is_unused(op: Operation) -> bool:
    is_plain = isinstance(op, LoadOp | AllocOp) or is_side_effect_free(op)
    return is_plain and bool(op.results) and not any(result.uses for result in op.results)


def _top(op: Operation, function: FuncOp) -> Operation:
    """The operation of the function's block that one is in."""
    while op.parent is not function.body.block:
        around = op.parent_op()
        assert around is not None
        op = around
    return op


def _written(op: Operation) -> list[SSAValue]:
    found: list[SSAValue] = []
    for inner in op.walk():
        if isinstance(inner, StoreOp):
            found.append(root_of(inner.memref))
        elif isinstance(inner, AccumulateOp):
            found += map(root_of, inner.memrefs)
    return found


def _read(op: Operation) -> list[SSAValue]:
    """The buffers that an operation reads; updates read what they write."""
    found: list[SSAValue] = []
    for inner in op.walk():
        if isinstance(inner, LoadOp):
            found.append(root_of(inner.memref))
        elif isinstance(inner, AccumulateOp):
            found += map(root_of, inner.memrefs)
    return found


def _place(argument: SSAValue) -> int:
    owner = argument.owner
    assert isinstance(owner, Block)
    return next(k for k, one in enumerate(owner.args) if one is argument)


def _copy(source: SSAValue, target: SSAValue, before: Operation) -> None:
    """A nest that copies a buffer, in front of an operation."""
    assert isinstance(target.type, MemRefType) and before.parent is not None
    owner, shape = target.owner, target.type.get_shape()
    sizes = iter(owner.sizes if isinstance(owner, AllocOp) else ())
    extents: list[SSAValue | int] = []
    for axis, extent in enumerate(shape):
        if extent != DYNAMIC_INDEX:
            extents.append(extent)
        elif isinstance(owner, AllocOp):
            extents.append(next(sizes))
        else:
            number = arith.ConstantOp(IntegerAttr(axis, INDEX))
            size = DimOp(target, number.result)
            for op in (number, size):
                op.location = before.location
                before.parent.insert_op_before(op, before)
            extents.append(size.result)
    variables: list[SSAValue] = []
    block, outer = before.parent, before
    name = target.name_hint or "copy"
    loops: list[ForOp] = []
    for axis, extent in enumerate(extents):
        loop = ForOp(fresh_names(before, f"{name}.{axis}")[0], 0, extent)
        loop.location = before.location
        if loops:
            block.add_op(loop)
        else:
            block.insert_op_before(loop, outer)
        loops.append(loop)
        block = loop.body.block
        variables.append(loop.iv)
    load = LoadOp(source, AffineList.of(*variables))
    store = StoreOp(load.result, target, AffineList.of(*variables), label=name)
    for op in (load, store):
        op.location = before.location
        if loops:
            block.add_op(op)
        else:
            block.insert_op_before(op, before)


def _attributes(function: FuncOp) -> list[dict[str, Attribute]]:
    if function.arg_attrs is None:
        return [{} for _ in function.args]
    return [dict(one.data) for one in function.arg_attrs]


def _sign(function: FuncOp, attributes: Sequence[dict[str, Attribute]]) -> None:
    function.function_type = FunctionType.from_lists([a.type for a in function.args], [])
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(one) for one in attributes])


@dataclass(frozen=True, eq=False)
class NestSplitStepsPass(ModulePass):
    """Split functions with a loop over steps: what is before it with `count` steps, as many more, what is after it."""

    name = "nest-split-steps"

    count: int = 4
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in structured_functions(op, self.func):
            if step_loop(function, self.count) is None:
                continue
            for part in (BEFORE, STEPS, AFTER):
                copy = function.clone()
                for one, other in zip(function.walk(), copy.walk(), strict=True):
                    other.location = one.location
                copy.properties["sym_name"] = StringAttr(f"{function.sym_name.data}_{part}")
                op.body.block.insert_op_before(copy, function)
                loop = step_loop(copy, self.count)
                assert loop is not None
                SplitLoop(copy, loop).make(part, self.count)
            function.detach()
            function.erase()
