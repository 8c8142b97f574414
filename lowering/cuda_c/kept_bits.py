"""16-bit floats that a kernel only moves: their bits are kept as they are, and no conversion is written.

%x = scf.if %t { memref.load %in[%i] } else { 0.0 }      unsigned short x;
memref.store %x, %out[%j]                                if (t) { x = in[i]; } else { x = 0; }  out[j] = x;
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, OpResult, SSAValue

from .scope import is_shared
from .types import is_short_float
from .vector import is_local_vector


def passes_bits_on(op: memref.AllocaOp | memref.AllocOp) -> bool:
    """Whether a thread's 16-bit floats come from memory, or are constants, and go to memory: no arithmetic sees them."""
    type = op.memref.type
    assert isinstance(type, MemRefType)
    if not is_short_float(type.element_type):
        return False
    for use in op.memref.uses:
        user = use.operation
        if isinstance(user, memref.StoreOp) and user.memref is op.memref:
            if not _is_read_as_bits(user.value):
                return False
        elif isinstance(user, memref.LoadOp):
            stores = [of.operation for of in user.res.uses]
            if not all(isinstance(s, memref.StoreOp) and _is_of_memory(s) for s in stores):
                return False
        else:
            return False
    return True


def is_kept_as_bits(value: SSAValue) -> bool:
    """Whether a result of `scf.if` is a 16-bit float that comes from memory, or is constant, and is only stored."""
    if (
        not isinstance(value, OpResult)
        or not isinstance(value.op, scf.IfOp)
        or not is_short_float(value.type)
    ):
        return False
    if not all(isinstance(use.operation, memref.StoreOp) for use in value.uses):
        return False
    return all(_is_read_as_bits(given) for given in _given(value.op, value.index))


def _given(op: scf.IfOp, index: int) -> list[SSAValue]:
    """What the branches give for a result."""
    ends = [region.block.last_op for region in (op.true_region, op.false_region) if region.blocks]
    return [end.operands[index] for end in ends if end is not None]


def _is_read_as_bits(value: SSAValue) -> bool:
    if isinstance(value.owner, arith.ConstantOp) or is_kept_as_bits(value):
        return True
    return isinstance(value.owner, memref.LoadOp) and _is_of_memory(value.owner)


def _is_of_memory(op: Operation) -> bool:
    """Whether it loads or stores what is no thread's own, or what is stored together with other elements."""
    if not isinstance(op, memref.LoadOp | memref.StoreOp):
        return False
    owner = op.memref.owner
    return not isinstance(owner, memref.AllocaOp) or is_shared(op.memref.type) or is_local_vector(op.memref)
