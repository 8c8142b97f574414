"""nest-registerise: elements of a buffer that are the same in all iterations of a loop are kept in registers meanwhile.

    nest.for "k" %k = 0 to %n {
      %a = nest.load %x[%k]
      nest.accumulate "s" add %a, %s[%i]
    }

with buffer=s, loop=k becomes

    %s_acc = nest.alloc "s_acc" : memref<f32, 5 : i64>
    %b = nest.load %s[%i]
    nest.store "s_acc" %b, %s_acc[] where (%n >= 1)
    nest.for "k" %k = 0 to %n {
      %a = nest.load %x[%k]
      nest.accumulate "s" add %a, %s_acc[]
    }
    %c = nest.load %s_acc[]
    nest.store "s" %c, %s[%i] where (%n >= 1)

Every element of the buffer with fixed indices gets a register, several of them where there are several. It is stored back
where something in the loop writes it, and not loaded where each iteration writes it first. Loads and stores are made
where the loop runs, if an access is then certain, or else where the element is in the buffer; everywhere, if a statement
before the loop, in its block, has written the element.

Refused when another access of the loop is not proved to touch other elements, when something in it can fail after it
wrote an element, when threads inside would share a register, and when no access is certain and the element may never have
been written, or be written by other threads. Scalar replacement of compilers; `stage_mem` with a window of one element in
Exo; no name of their own in Halide and TVM; `registerize` in NNC.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, may_fail
from ....analysis.nest.sets.accesses import (
    WRITE,
    Access,
    access_notes,
    atomic_update,
    is_defined_outside,
    may_alias,
    root_of,
)
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.domains import LoadGuards
from ....analysis.nest.sets.integer_sets import System, difference
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import erase_unused, fresh_buffer_name, space_attribute, why_not_space
from ..rewrite.private_accumulators import (
    inside_buffer,
    is_reached,
    is_shared_out,
    is_touched_before,
    is_written,
    where_not_empty,
)

NOTHING = AffineList((), ())
"""The indices of a buffer of one element; the domain that is everywhere."""


@dataclass(frozen=True, eq=False)
class Register:
    """An element and the accesses that go to it; loaded before the loop and stored after it in the domain `where`."""

    indices: AffineList
    accesses: list[Access]
    where: AffineList
    loads: bool
    made: list[Operation]

    @property
    def goes_back(self) -> bool:
        return any(access.writes for access in self.accesses)


def why_not_registerise(
    buffer: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to keep elements of `buffer` in registers in `loop`, None when it is legal."""
    plan = _plan(_value(buffer), loop, dependences or analyse(loop))
    return plan if isinstance(plan, NestorError) else _tidy(plan)


def _tidy(plan: list[Register]) -> None:
    """Remove what was made for registers and is of no use."""
    for register in reversed(plan):
        erase_unused(register.made)


def _value(buffer: AllocOp | SSAValue) -> SSAValue:
    return buffer.memref if isinstance(buffer, AllocOp) else buffer


def _action(loop: ForOp, buffer: SSAValue) -> str:
    return f'registerise the buffer "{buffer_name(buffer)}" in the loop "{loop.label}"'


def _plan(buffer: SSAValue, loop: ForOp, dependences: Dependences) -> list[Register] | NestorError:
    def refuse(reason: str, hint: str | None = None, notes=()) -> NestorError:
        return fail(loop, f"cannot {_action(loop, buffer)}: {reason}", hint=hint, notes=notes)

    refusal = refuse_marked(loop, "registerise") or refuse_in_vector(loop, "registerise")
    if refusal is not None:
        return refusal
    if not is_defined_outside(buffer, loop):
        return refuse("it is made inside the loop", notes=[(buffer.owner, "here")])
    accesses = dependences.accesses_in(loop)
    elements = _elements(loop, buffer, accesses)
    if not elements:
        return refuse("no access to it goes to one element in all iterations")
    for indices, own in elements:
        if (shared := atomic_update(own)) is not None:
            return refuse(
                "other iterations update it at the same time", notes=[(shared, "by this statement")]
            )
        if (found := _why_not_apart(loop, buffer, indices, own, accesses)) is not None:
            return refuse(*found)
    element = buffer.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
    users = [access.op for _, own in elements for access in own]
    refusal = why_not_space(loop, _action(loop, buffer), "local", (), element, enclosing_loops(loop), users)
    if refusal is not None:
        return refusal
    registers: list[Register] = []
    for indices, own in elements:
        register = _register(loop, buffer, indices, own)
        if register is None:
            _tidy(registers)
            reason = (
                "no access to the element is certain, and it may be unwritten, or written by other threads"
            )
            return refuse(reason, notes=access_notes(own[:1], "uses"))
        registers.append(register)
    return registers


def _elements(loop: ForOp, buffer: SSAValue, accesses: list[Access]) -> list[tuple[AffineList, list[Access]]]:
    """The elements of `buffer` that are fixed in `loop`, with the accesses to each."""
    found: list[tuple[AffineList, list[Access]]] = []
    for access in accesses:
        if access.buffer is not buffer or access.indices is None:
            continue
        indices = access.indices.canonical()
        if not all(is_defined_outside(value, loop) for value in indices.operands):
            continue
        known = next((own for other, own in found if other == indices), None)
        if known is None:
            found.append((indices, [access]))
        else:
            known.append(access)
    return found


def _why_not_apart(
    loop: ForOp, buffer: SSAValue, indices: AffineList, own: list[Access], accesses: list[Access]
) -> tuple | None:
    """Why the element cannot be kept apart from its buffer meanwhile: a reason, a hint, notes."""
    for access in own:
        if isinstance(access.op, AccumulateOp) and len(access.op.memrefs) > 1:
            note = [(access.op, "the reduction is here")]
            return "a reduction updates it together with another buffer, at the same indices", None, note
    writes = any(access.writes for access in own)
    if writes and (check := may_fail(loop)) is not None:
        hint = "nest-prove-bounds removes the checks that cannot fail"
        reason = "an error in the loop would lose what was written before it"
        return reason, hint, [(check, "this check can fail")]
    for other in accesses:
        if other in own or not (writes or other.writes):
            continue
        if other.root is not None and not may_alias(root_of(buffer), other.root):
            continue
        if other.buffer is not buffer or _may_touch(loop, other, indices):
            notes = [*access_notes(own[:1], "uses"), (other.op, "the other access is here")]
            return "another access in the loop may touch the element", None, notes
    return None


def _may_touch(loop: ForOp, other: Access, indices: AffineList) -> bool:
    """Whether an instance of `other` touches the element during a run of `loop`."""
    assert other.indices is not None
    system = System(loop)
    system.require_reached(other.op, "t")
    for outer in enclosing_loops(loop):
        system.name(outer.iv, "t")
    if other.where is not None:
        for terms in system.linear(other.where, "t"):
            system.require_not_negative(terms)
    for index, element in zip(system.linear(other.indices, "t"), system.linear(indices, "t"), strict=True):
        system.require_zero(difference(index, element))
    return system.has_solution()


def _register(loop: ForOp, buffer: SSAValue, indices: AffineList, own: list[Access]) -> Register | None:
    """How the element is loaded and stored back; None when it is not known where that is harmless.

    A statement beside the loop may have written it. Or an access of each iteration is certain where the loop runs. Where
    none is, or for the sake of no domain at all, the element may be loaded and stored wherever it exists, if it has been
    written and no other thread may write it.
    """
    writes = any(access.writes for access in own)
    certain = [access for access in own if _is_certain(access, loop)]
    starts_written = bool(certain) and certain[0] is own[0] and own[0].kind == WRITE
    if is_touched_before([buffer], indices, loop):
        return Register(indices, own, NOTHING, not starts_written or not _always_runs(loop), [])
    is_given = is_written(buffer, loop)
    inside, made = inside_buffer(buffer, [indices[axis] for axis in range(len(indices))], loop)
    if is_given and not (writes and is_shared_out(buffer, loop)) and not (certain and inside):
        return Register(indices, own, inside, not starts_written or not _always_runs(loop), made)
    erase_unused(made)
    if certain and (certain[0] is own[0] or is_given):
        return Register(indices, own, where_not_empty(loop), not starts_written, [])
    if is_given and not (writes and is_shared_out(buffer, loop)):
        inside, made = inside_buffer(buffer, [indices[axis] for axis in range(len(indices))], loop)
        return Register(indices, own, inside, True, made)
    return None


def _always_runs(loop: ForOp) -> bool:
    return len(where_not_empty(loop)) == 0


def _is_certain(access: Access, loop: ForOp) -> bool:
    """Whether the access is made in each iteration of `loop`: also a load is guarded by the domains that need it."""
    op = access.op
    if isinstance(op, LoadOp) and LoadGuards().of(op) is not None:
        return False
    if isinstance(op, (StoreOp, AccumulateOp)) and (op.where is not None or op.mask is not None):
        return False
    return is_reached(op, loop)


# ---- rewriting --------------------------------------------------------------------------------------


def registerise(
    buffer: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None
) -> tuple[AllocOp, ...]:
    """Keep the elements of `buffer` that are fixed in `loop` in registers, which are returned.

    Raises the diagnostic of `why_not_registerise`.
    """
    dependences = dependences or analyse(loop)
    plan = _plan(_value(buffer), loop, dependences)
    if isinstance(plan, NestorError):
        raise plan
    registers = tuple(_carry_out(loop, _value(buffer), register) for register in plan)
    _tidy(plan)
    return registers


def _carry_out(loop: ForOp, buffer: SSAValue, register: Register) -> AllocOp:
    assert isinstance(buffer.type, MemRefType) and loop.parent is not None
    name = fresh_buffer_name(loop, f"{buffer_name(buffer)}_acc")
    alloc = AllocOp(name, MemRefType(buffer.type.element_type, [], memory_space=space_attribute("local")))
    where = register.where if register.where else None
    before: list[Operation] = [alloc]
    if register.loads:
        load = LoadOp(buffer, register.indices)
        before += [load, StoreOp(load.result, alloc.memref, NOTHING, label=name, where=where)]
    after: list[Operation] = []
    if register.goes_back:
        load = LoadOp(alloc.memref, NOTHING)
        label = next(a.op.statement for a in register.accesses if not isinstance(a.op, LoadOp))  # pyright: ignore
        after = [load, StoreOp(load.result, buffer, register.indices, label=label, where=where)]
    for op in (*before, *after):
        op.location = register.accesses[0].op.location
    for op in before:
        loop.parent.insert_op_before(op, loop)
    for op in reversed(after):
        loop.parent.insert_op_after(op, loop)
    for access in register.accesses:
        _redirect(access.op, buffer, alloc.memref)
    return alloc


def _redirect(op: Operation, buffer: SSAValue, register: SSAValue) -> None:
    assert isinstance(op, LoadOp | StoreOp | AccumulateOp)
    for k, operand in enumerate(op.operands):
        if operand is buffer:
            op.operands[k] = register
    op.set_indices(NOTHING)
